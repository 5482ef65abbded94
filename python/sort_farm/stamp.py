"""Whether a package is still the one that was planned, without reading all of it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from .errors import FarmError
from .files import reason

END_BYTES = 4096


def _feed(digest, path: Path, name: str) -> None:
    with open(path, "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        digest.update(f"{name}\0{size}\0".encode())
        if name.endswith("scene.json"):
            digest.update(stream.read())
            return
        digest.update(stream.read(END_BYTES))
        stream.seek(max(size - END_BYTES, 0))
        digest.update(stream.read(END_BYTES))


def _fail(why: OSError) -> None:
    raise why


def package_stamp(scene: Path) -> str:
    """A digest of the names and sizes of a package's files, all of its scene.json, and both ends of every other file.
    The sums of parts hold a digest of all that is in the scene besides its textures; this one sees textures too."""
    digest = hashlib.sha256()
    root = scene.parent if scene.name == "scene.json" else scene
    try:
        if not root.is_dir():
            _feed(digest, root, root.name)
            return digest.hexdigest()
        for folder, names, entries in os.walk(root, onerror=_fail):
            names.sort()
            for entry in sorted(entries):
                path = Path(folder, entry)
                _feed(digest, path, path.relative_to(root).as_posix())
    except OSError as why:
        raise FarmError(f"{why.filename or scene}: cannot be read: {reason(why)}") from None
    return digest.hexdigest()
