"""The cache that one export leaves for the next: the arrays of meshes and the bytes of images, as files in Blender's
own temporary folder, found by what they were made of. A package links to them, so that what did not change is
neither computed nor written again, and so that a file may go while a render still reads it.

Threads: final renders, previews and viewports export at the same time; every method may be called from any.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import bpy

EXPORTS_KEPT = 3  # what none of the last exports used goes


@dataclass
class Entry:
    path: Path
    facts: dict  # what the caller wants to know of it next time
    used_by: int  # number of the last export


class ExportCache:
    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._folder: Path | None = None
        self._entries: dict[str, Entry] = {}
        self._exports = 0
        self._files = 0

    def begin(self) -> None:
        """A new export."""
        with self._lock:
            if self._folder is None or not self._folder.is_dir():
                self._folder = Path(tempfile.mkdtemp(prefix="sort-cache-", dir=bpy.app.tempdir))
                self._entries.clear()
            self._exports += 1
            for key in [k for k, e in self._entries.items() if e.used_by <= self._exports - EXPORTS_KEPT]:
                self._entries.pop(key).path.unlink(missing_ok=True)

    def find(self, key: str) -> Entry | None:
        with self._lock:
            entry = self._entries.get(key)
            if entry:
                entry.used_by = self._exports
            return entry

    def make(self, key: str, write: Callable[[Path], dict]) -> Entry:
        """`write` makes the file and returns the facts."""
        with self._lock:
            self._files += 1
            path = self._folder / f"{self._files}.bin"
        facts = write(path)
        with self._lock:
            return self._entries.setdefault(key, Entry(path, facts, self._exports))

    def clear(self) -> None:
        with self._lock:
            if self._folder:
                shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
            self._entries.clear()


shared = ExportCache()
