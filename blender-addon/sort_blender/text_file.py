"""Text files that nodes name. Only regular ones are opened: a pipe would make Blender wait for ever, a device give bytes without end."""

from __future__ import annotations

from pathlib import Path

BYTES_MAX = 1 << 26


def read(path: Path, errors: str = "strict") -> str:
    """OSError, and UnicodeDecodeError where `errors` is strict."""
    if not path.is_file():
        raise OSError(f"there is no file {path}")
    if path.stat().st_size > BYTES_MAX:
        raise OSError(f"{path} is larger than {BYTES_MAX >> 20} MiB")
    return path.read_text(encoding="utf-8", errors=errors)
