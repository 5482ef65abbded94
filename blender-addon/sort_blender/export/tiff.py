"""Writes a plain TIFF 6.0 file: one strip, not compressed, 8-bit or float samples, straight alpha."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

SHORT, LONG = 3, 4
HEADER_BYTES = 8


def write_tiff(path: Path, pixels: np.ndarray) -> None:
    """`pixels`: [rows from the top, columns, 1 to 4 channels], uint8 or float32."""
    height, width, channels = pixels.shape
    bits = pixels.itemsize * 8
    data = np.ascontiguousarray(pixels, dtype=pixels.dtype.newbyteorder("<"))
    colours = 3 if channels >= 3 else 1
    extra = channels - colours
    outside = HEADER_BYTES + data.nbytes + data.nbytes % 2  # values that do not fit their entry
    lists = b""

    def shorts(values: list[int]) -> bytes:
        """The value field of an entry; longer lists go behind the pixels."""
        nonlocal lists
        packed = struct.pack(f"<{len(values)}H", *values)
        if len(packed) <= 4:
            return packed.ljust(4, b"\0")
        at = outside + len(lists)
        lists += packed
        return struct.pack("<I", at)

    sample_format = 3 if pixels.dtype.kind == "f" else 1
    entries = [
        (256, LONG, 1, struct.pack("<I", width)),
        (257, LONG, 1, struct.pack("<I", height)),
        (258, SHORT, channels, shorts([bits] * channels)),
        (259, SHORT, 1, shorts([1])),  # no compression
        (262, SHORT, 1, shorts([2 if colours == 3 else 1])),  # RGB, or black is zero
        (273, LONG, 1, struct.pack("<I", HEADER_BYTES)),
        (277, SHORT, 1, shorts([channels])),
        (278, LONG, 1, struct.pack("<I", height)),
        (279, LONG, 1, struct.pack("<I", data.nbytes)),
        (284, SHORT, 1, shorts([1])),  # channels interleaved
    ]
    if extra:
        entries.append((338, SHORT, extra, shorts([2] * extra)))  # alpha is not in the colour
    entries.append((339, SHORT, channels, shorts([sample_format] * channels)))
    with open(path, "wb") as out:
        out.write(struct.pack("<2sHI", b"II", 42, outside + len(lists)))
        data.tofile(out)
        out.write(b"\0" * (data.nbytes % 2) + lists)
        out.write(struct.pack("<H", len(entries)))
        for tag, kind, count, value in entries:
            out.write(struct.pack("<HHI", tag, kind, count) + value)
        out.write(struct.pack("<I", 0))
