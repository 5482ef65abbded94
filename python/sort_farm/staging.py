"""Textures on a node's own disk: converted once for the farm, copied once to each node."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path
from typing import Callable

from . import files
from .errors import FarmError
from .manifest import Manifest


def _copy_missing(source: Path, target: Path) -> None:
    for folder, names, entries in os.walk(source):
        names.sort()
        to = target / Path(folder).relative_to(source)
        to.mkdir(parents=True, exist_ok=True)
        for entry in entries:
            final = to / entry
            if entry.startswith(".") or final.exists():
                continue
            new = final.with_name(f".{entry}.{files.own_name()}")
            try:
                shutil.copyfile(Path(folder, entry), new)
                os.replace(new, final)
            finally:
                files.remove(new)


def cache_for(manifest: Manifest, tell: Callable[[str], None]) -> Path:
    """The folder of textures for a renderer on this machine: the farm's own, or that of the node after one process has
    copied what is new. A node whose disk is full reads the farm's."""
    if not manifest.local_cache:
        files.make_folder(manifest.cache)
        return manifest.cache
    local = Path(os.path.expandvars(manifest.local_cache))
    try:
        local.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open(local / ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if manifest.cache.exists():
                _copy_missing(manifest.cache, local)
    except OSError as why:
        tell(f"{why.filename or local}: {files.reason(why)}: textures are read from {manifest.cache} instead")
        return manifest.cache
    except FarmError as why:
        tell(f"{why}: textures are read from {manifest.cache} instead")
        return manifest.cache
    return local
