"""Textures and shaders on a node's own disk: converted once, into the farm's folder, and copied once to each node."""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from pathlib import Path
from typing import Callable

from . import files
from .interruption import Interruption
from .manifest import Manifest

POLL_S = 0.1


class Interrupted(Exception):
    """Somebody has asked for an end. What was copied stays."""


def _copy(source: Path, final: Path) -> None:
    """Under the node's lock, so the copy that a killed process has begun is overwritten. Renderers take converted files only if
    nobody else can have written them, whatever the umask."""
    new = final.with_name(f".{final.name}.copy")
    with open(source, "rb") as read, open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as written:
        os.fchmod(written.fileno(), 0o600)
        shutil.copyfileobj(read, written, 1 << 20)
    os.replace(new, final)


def _copy_missing(source: Path, target: Path, interruption: Interruption) -> None:
    for folder, names, entries in os.walk(source):
        names.sort()
        to = target / Path(folder).relative_to(source)
        to.mkdir(parents=True, exist_ok=True, mode=0o700)
        for entry in entries:
            if interruption.asked:
                raise Interrupted
            if not entry.startswith(".") and not entry.endswith(".lock") and not (to / entry).exists():
                _copy(Path(folder, entry), to / entry)


def _lock(path: Path, interruption: Interruption):
    """Waits until no other process of this node copies."""
    stream = open(path, "w")
    while True:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return stream
        except BlockingIOError:
            if interruption.asked:
                stream.close()
                raise Interrupted from None
            time.sleep(POLL_S)


def cache_for(manifest: Manifest, stamp: str, prepare: Callable[[Path], None], interruption: Interruption,
              tell: Callable[[str], None]) -> Path:
    """The cache for a renderer on this machine: the farm's own; or that of the node, once `prepare` has filled the farm's for the
    package of that stamp, and one process of the node has copied what is new. A node whose disk is full reads the farm's."""
    files.make_folder(manifest.cache)
    if not manifest.local_cache:
        return manifest.cache
    ready = manifest.cache / f".ready-{stamp}"
    if not ready.exists():
        prepare(manifest.cache)
        files.write_whole(ready, b"")
    local = Path(os.path.expandvars(manifest.local_cache))
    try:
        local.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _lock(local / ".lock", interruption):
            _copy_missing(manifest.cache, local, interruption)
    except OSError as why:
        tell(f"{why.filename or local}: {files.reason(why)}: textures are read from {manifest.cache} instead")
        return manifest.cache
    return local
