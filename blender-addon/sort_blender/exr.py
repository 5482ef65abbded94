"""Pictures in OpenEXR files. Reads what sort-render writes: scan lines, half or float, plain or zip; all channels by
name, and the texts of the header. Writes channels plainly, for Blender to read: it takes passes out of a file alone,
and there only under the names that it gives to them itself."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .messages import SortError

MAGIC = 20000630
LONG_NAMES = 0x400  # flag of the version: names may have more than 31 bytes
LINES = {0: 1, 2: 1, 3: 16}  # compression: none, one line, sixteen lines: lines of a block
TYPES = {1: np.dtype("<f2"), 2: np.dtype("<f4")}


@dataclass(frozen=True)
class Picture:
    """channels: float32 [rows from the bottom, columns]."""
    width: int
    height: int
    channels: dict[str, np.ndarray]
    texts: dict[str, str]

    def stack(self, names: list[str]) -> np.ndarray:
        """float32 [pixels, channels] as Blender's passes hold them."""
        return np.stack([self.channels[name].ravel() for name in names], axis=1)


def read(path: Path) -> Picture:
    try:
        return _read(path.read_bytes())
    except (OSError, struct.error, zlib.error, ValueError, KeyError, IndexError) as error:
        raise SortError(f"the picture could not be read back: {error!r}") from error


def _read(data: bytes) -> Picture:
    if struct.unpack_from("<I", data)[0] != MAGIC:
        raise ValueError("this is no EXR file")
    header, at = _header(data)
    kinds = _channels(header["channels"])
    x0, y0, x1, y1 = struct.unpack("<4i", header["dataWindow"])
    width, height = x1 - x0 + 1, y1 - y0 + 1
    compression = header["compression"][0]
    lines = LINES[compression]
    out = {name: np.empty((height, width), np.float32) for name, _ in kinds}
    for offset in np.frombuffer(data, "<u8", -(-height // lines), at):
        y, size = struct.unpack_from("<2i", data, int(offset))
        rows = min(lines, y1 + 1 - y)
        raw_bytes = rows * width * sum(kind.itemsize for _, kind in kinds)
        block = _unpack(data[int(offset) + 8:int(offset) + 8 + size], raw_bytes, compression)
        begin = 0
        table = block.reshape(rows, -1)
        for name, kind in kinds:
            end = begin + width * kind.itemsize
            values = np.ascontiguousarray(table[:, begin:end]).view(kind)
            out[name][height - (y - y0) - rows:height - (y - y0)] = values[::-1]
            begin = end
    texts = {name: value.decode("utf-8", "replace") for name, value in header.items() if name in header.texts}
    return Picture(width, height, out, texts)


def write(path: Path, width: int, height: int, channels: dict[str, np.ndarray]) -> None:
    """`channels`: float32 [pixels], rows from the bottom, by name. Not compressed."""
    names = sorted(channels)
    listed = b"".join(name.encode() + b"\0" + struct.pack("<iB3xii", 2, 0, 1, 1) for name in names) + b"\0"
    window = struct.pack("<4i", 0, 0, width - 1, height - 1)
    header = struct.pack("<II", MAGIC, 2 | (LONG_NAMES if max(map(len, names)) > 31 else 0))
    for name, kind, value in ((b"channels", b"chlist", listed), (b"compression", b"compression", b"\0"),
                              (b"dataWindow", b"box2i", window), (b"displayWindow", b"box2i", window),
                              (b"lineOrder", b"lineOrder", b"\0"), (b"pixelAspectRatio", b"float", struct.pack("<f", 1)),
                              (b"screenWindowCenter", b"v2f", struct.pack("<2f", 0, 0)),
                              (b"screenWindowWidth", b"float", struct.pack("<f", 1))):
        header += name + b"\0" + kind + b"\0" + struct.pack("<i", len(value)) + value
    header += b"\0"
    line_bytes = 4 * width * len(names)
    block = np.dtype([("y", "<i4"), ("size", "<i4"), ("data", "<f4", (len(names), width))])
    lines = np.empty(height, block)
    lines["y"], lines["size"] = np.arange(height), line_bytes
    for k, name in enumerate(names):
        lines["data"][:, k] = channels[name].reshape(height, width)[::-1]
    offsets = len(header) + 8 * height + np.arange(height, dtype="<u8") * block.itemsize
    with open(path, "wb") as out:
        out.write(header)
        offsets.astype("<u8").tofile(out)
        lines.tofile(out)


class _Header(dict):
    def __init__(self) -> None:
        super().__init__()
        self.texts: set[str] = set()


def _header(data: bytes) -> tuple[_Header, int]:
    header, at = _Header(), 8
    while data[at]:
        end = data.index(0, at)
        name = data[at:end].decode("utf-8", "replace")
        at = end + 1
        end = data.index(0, at)
        kind = data[at:end]
        size = struct.unpack_from("<i", data, end + 1)[0]
        at = end + 5 + size
        header[name] = data[at - size:at]
        if kind == b"string":
            header.texts.add(name)
    return header, at + 1


def _channels(data: bytes) -> list[tuple[str, np.dtype]]:
    kinds, at = [], 0
    while data[at]:
        end = data.index(0, at)
        kinds.append((data[at:end].decode(), TYPES[struct.unpack_from("<i", data, end + 1)[0]]))
        at = end + 17
    return kinds


def _unpack(stored: bytes, size: int, compression: int) -> np.ndarray:
    if compression == 0 or len(stored) == size:
        return np.frombuffer(stored, np.uint8, size)
    coded = np.frombuffer(zlib.decompress(stored), np.uint8)
    if len(coded) != size:
        raise ValueError("a block of another size than the header says")
    # Each byte is the difference to the one before it, plus 128; then even bytes before odd ones.
    steps = coded - np.uint8(128)
    steps[0] = coded[0]
    plain = np.cumsum(steps, dtype=np.uint8)
    out = np.empty(size, np.uint8)
    half = (size + 1) // 2
    out[0::2], out[1::2] = plain[:half], plain[half:]
    return out
