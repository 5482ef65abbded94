#!/usr/bin/env python3
"""Makes the image fixtures of this folder. Needs oiiotool and maketx (package openimageio-tools).

Texel (x, y), channel c of an 8-bit file: (40 x + 20 y + 10 c) mod 256, of a 16-bit file 4000 x + 2000 y
+ 100 c, of a float file (4000 x + 2000 y + 100 c) / 1000 rounded to half. All are 5 x 3 unless the name
says otherwise. The test knows the same formulae.
"""
import os
import struct
import subprocess
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
WIDTH, HEIGHT = 5, 3


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(name, channels, bits, extra=b"", width=WIDTH, height=HEIGHT):
    color_type = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    rows = b""
    for y in range(height):
        rows += b"\0"
        for x in range(width):
            for c in range(channels):
                if bits == 8:
                    rows += struct.pack(">B", (40 * x + 20 * y + 10 * c) % 256)
                else:
                    rows += struct.pack(">H", 4000 * x + 2000 * y + 100 * c)
    header = struct.pack(">IIBBBBB", width, height, bits, color_type, 0, 0, 0)
    with open(os.path.join(HERE, name), "wb") as out:
        out.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra +
                  chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


def profile(curve):
    """An ICC profile of grey with that curve, as a chunk."""
    tags = struct.pack(">I4sII", 1, b"kTRC", 144, len(curve)) + curve + bytes(-len(curve) % 4)
    header = struct.pack(">I4sI4s4s4s", 128 + len(tags), b"none", 0x04300000, b"mntr", b"GRAY", b"XYZ ").ljust(36, b"\0")
    # not compressed: libpng wants a chunk of 132 bytes at least
    return chunk(b"iCCP", b"test\0\0" + zlib.compress((header + b"acsp").ljust(128, b"\0") + tags, 0))


def tool(*arguments):
    subprocess.run(["oiiotool", *arguments], cwd=HERE, check=True)


png("rgba_u8.png", 4, 8)
png("rgb_u8.png", 3, 8)
png("gray_alpha_u8.png", 2, 8)
png("gray_u16.png", 1, 16)
png("rgba_u16.png", 4, 16)
png("linear_u8.png", 3, 8, extra=chunk(b"gAMA", struct.pack(">I", 100000)))
# What a file says of its colours: each in 16 bits, which are linear where it says nothing.
SRGB, GAMMA = chunk(b"sRGB", b"\0"), chunk(b"gAMA", struct.pack(">I", 45455))
png("srgb_u16.png", 1, 16, extra=SRGB)
png("gamma_u16.png", 1, 16, extra=GAMMA)
png("cicp_srgb_u16.png", 3, 16, extra=chunk(b"cICP", bytes((1, 13, 0, 1))))
png("cicp_linear_u8.png", 3, 8, extra=chunk(b"cICP", bytes((1, 8, 0, 1))) + SRGB)
png("icc_linear_u8.png", 1, 8, extra=profile(struct.pack(">4sII", b"curv", 0, 0)))
png("icc_gamma_u16.png", 1, 16, extra=profile(struct.pack(">4sIIH", b"curv", 0, 1, 0x0233)))
png("icc_srgb_u16.png", 1, 16, extra=profile(
    struct.pack(">4sIHH5i", b"para", 0, 3, 0, *(round(v * 65536) for v in (2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045)))))
png("wide.png", 3, 16)  # the source of the float files below
FLOAT = "65.535,65.535,65.535"
tool("wide.png", "--mulc", FLOAT, "-d", "half", "--attrib", "oiio:ColorSpace", "Linear", "-o", "half.exr")
tool("wide.png", "--mulc", FLOAT, "-d", "float", "--compression", "none", "--attrib", "oiio:ColorSpace", "Linear",
     "-o", "float.tif")
tool("wide.png", "-d", "uint16", "--compression", "none", "-o", "u16.tif")
tool("wide.png", "-d", "int16", "-o", "int16.tif")
tool("wide.png", "--mulc", FLOAT, "-o", "float.hdr")
# a data window of 5 x 3 at (2, 1) in a display window of 9 x 6, and one that sticks out at the left
tool("half.exr", "--origin", "+2+1", "--fullsize", "9x6+0+0", "-d", "half", "-o", "window.exr")
tool("half.exr", "--origin", "-2-1", "--fullsize", "4x4+0+0", "-d", "half", "-o", "overscan.exr")
# six channels, R G B first
tool("half.exr", "half.exr", "--chappend", "--chnames", "R,G,B,x,y,z", "-d", "half", "-o", "channels.exr")
# two pictures in one file
tool("half.exr", "half.exr", "--siappend", "-d", "half", "-o", "parts.exr")
tool("rgba_u8.png", "-o", "rgba.tga")
tool("rgba_u8.png", "-d", "half", "-o", "rgba.exr")  # EXR holds colour with alpha multiplied in
tool("rgb_u8.png", "--resize", "32x24", "-o", "rgb.jpg")
# tiles of 16, 40 x 24 texels, with mip levels
png("tile_source.png", 3, 8, width=40, height=24)
subprocess.run(["maketx", "tile_source.png", "--tile", "16", "16", "--format", "tiff", "-d", "uint8", "--nchannels", "3",
                "-o", "tiled.tx"], cwd=HERE, check=True)
subprocess.run(["maketx", "tile_source.png", "--tile", "16", "16", "--format", "openexr", "-d", "half", "--nchannels",
                "3", "-o", "tiled.exr"], cwd=HERE, check=True)
os.remove(os.path.join(HERE, "tile_source.png"))
os.remove(os.path.join(HERE, "wide.png"))
with open(os.path.join(HERE, "half.exr"), "rb") as whole, open(os.path.join(HERE, "truncated.exr"), "wb") as out:
    out.write(whole.read()[:-40])
with open(os.path.join(HERE, "text.png"), "w") as out:
    out.write("This is no image.\n")
