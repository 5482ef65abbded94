"""How large an image file says that it is, from its first bytes: asked before Blender is made to load it, which takes the file's word
and as much memory as that means."""

from __future__ import annotations

import os
import struct
from pathlib import Path

HEAD_BYTES = 1 << 16
BYTES_A_PIXEL = 32  # as bytes and floats, and what a reader needs beside them


def is_loadable(path: Path) -> bool:
    """Its pixels fit into this machine's memory by what its header says. Formats that are not known here are."""
    if not path.is_file():
        return False  # a pipe would never end
    try:
        with path.open("rb") as file:
            size = size_of(file.read(HEAD_BYTES))
    except OSError:
        return False
    if size is None:
        return True
    return size[0] * size[1] * BYTES_A_PIXEL < _memory_bytes()


def size_of(head: bytes) -> tuple[int, int] | None:
    """Width and height. None: of another format, or they are not in `head`."""
    for start, read in _FORMATS:
        if head.startswith(start):
            try:
                return read(head)
            except (struct.error, ValueError, IndexError):
                return None
    return None


def _memory_bytes() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 16 << 30


def _png(head: bytes) -> tuple[int, int]:
    return struct.unpack(">II", head[16:24])


def _bmp(head: bytes) -> tuple[int, int]:
    width, height = struct.unpack("<ii", head[18:26])
    return abs(width), abs(height)


def _radiance(head: bytes) -> tuple[int, int]:
    words = head[head.index(b"\n\n") + 2:].split(b"\n", 1)[0].split()
    return int(words[3]), int(words[1])


def _exr(head: bytes) -> tuple[int, int]:
    at = head.index(b"dataWindow\0box2i\0") + len(b"dataWindow\0box2i\0") + 4
    left, bottom, right, top = struct.unpack("<iiii", head[at:at + 16])
    return max(right - left + 1, 0), max(top - bottom + 1, 0)


def _jpeg(head: bytes) -> tuple[int, int]:
    at = 2
    while True:
        marker, length = struct.unpack(">HH", head[at:at + 4])
        if 0xFFC0 <= marker <= 0xFFCF and marker not in (0xFFC4, 0xFFC8, 0xFFCC):
            height, width = struct.unpack(">HH", head[at + 5:at + 9])
            return width, height
        at += 2 + length


def _tiff(head: bytes) -> tuple[int, int]:
    order = "<" if head[:2] == b"II" else ">"
    (at,) = struct.unpack(order + "I", head[4:8])
    (count,) = struct.unpack(order + "H", head[at:at + 2])
    found = {}
    for k in range(count):
        tag, kind = struct.unpack(order + "HH", head[at + 2 + 12 * k:at + 6 + 12 * k])
        value = head[at + 10 + 12 * k:at + 14 + 12 * k]
        found[tag] = struct.unpack(order + "H", value[:2])[0] if kind == 3 else struct.unpack(order + "I", value)[0]
    return found.get(256, 0), found.get(257, 0)


_FORMATS = ((b"\x89PNG", _png), (b"BM", _bmp), (b"#?", _radiance), (b"v/1\x01", _exr), (b"\xff\xd8", _jpeg),
            (b"II*\0", _tiff), (b"MM\0*", _tiff))
