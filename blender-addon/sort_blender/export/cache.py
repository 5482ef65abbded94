"""The cache that one export leaves for the next: the arrays of meshes and the bytes of images, as files in Blender's
own temporary folder, found by what they were made of. A package links to them, so that what did not change is
neither computed nor written again, and so that a file may go while a render still reads it.

Threads: final renders, previews and viewports export at the same time; every method may be called from any.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import bpy

EXPORTS_KEPT = 3  # what none of the last exports used goes


@dataclass
class Entry:
    path: Path
    facts: dict  # what the caller wants to know of it next time
    used_by: int  # number of the last export
    size_bytes: int = 1  # of its part of the file, if others have parts


class ExportCache:
    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._folder: Path | None = None
        self._entries: dict[str, Entry] = {}
        self._sizes: dict[Path, int] = {}  # of all entries that a file was made for
        self._dropped: dict[Path, int] = {}  # files that nothing finds any more, by the number of the export that began then
        self._exports = 0
        self._files = 0

    def begin(self) -> None:
        """A new export."""
        with self._lock:
            if self._folder is None or not self._folder.is_dir():
                self._folder = Path(tempfile.mkdtemp(prefix="sort-cache-", dir=bpy.app.tempdir))
                self._entries.clear()
                self._sizes.clear()
                self._dropped.clear()
            self._exports += 1
            self._drop_unused()

    def _drop_unused(self) -> None:
        """Files of which less than half was used of late, so that what is kept is no more than twice what is of use. An export beside this one
        may have found a part of such a file and not linked it yet: it stays for as long as what was found last."""
        used: dict[Path, int] = dict.fromkeys(self._sizes, 0)
        for entry in self._entries.values():
            if entry.used_by > self._exports - EXPORTS_KEPT:
                used[entry.path] += entry.size_bytes
        gone = {path for path, size_bytes in used.items() if 2 * size_bytes < self._sizes[path] or size_bytes == 0}
        self._entries = {key: entry for key, entry in self._entries.items() if entry.path not in gone}
        for path in gone:
            del self._sizes[path]
            self._dropped[path] = self._exports if used[path] else self._exports - EXPORTS_KEPT
        for path in [path for path, export in self._dropped.items() if export <= self._exports - EXPORTS_KEPT]:
            del self._dropped[path]
            path.unlink(missing_ok=True)

    def find(self, key: str) -> Entry | None:
        with self._lock:
            entry = self._entries.get(key)
            if entry:
                entry.used_by = self._exports
            return entry

    def make(self, key: str, write: Callable[[Path], dict]) -> Entry:
        """`write` makes the file and returns the facts."""
        path = self.new_path()
        facts = write(path)
        with self._lock:
            entry = self._entries.setdefault(key, Entry(path, facts, self._exports))
            self._sizes[entry.path] = entry.size_bytes
            return entry

    def new_path(self) -> Path:
        """Of a file of the cache, which is not there yet."""
        with self._lock:
            self._files += 1
            return self._folder / f"{self._files}.bin"

    def adopt(self, file: Path, path: Path, entries: dict[str, Entry]) -> None:
        """Takes all entries of a file, which stays where it is as well; `path`: of new_path(), where they say that it is. None of them if
        the file cannot be kept, as on a full disk or when the cache's folder is gone: the next export makes them again."""
        with self._lock:
            try:
                _link_or_copy(file, path)
            except OSError:
                return
            self._sizes[path] = sum(entry.size_bytes for entry in entries.values())
            for key, entry in entries.items():
                entry.used_by = self._exports
                self._entries.setdefault(key, entry)

    def clear(self) -> None:
        with self._lock:
            if self._folder:
                shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
            self._entries.clear()
            self._sizes.clear()
            self._dropped.clear()


def _link_or_copy(source: Path, target: Path) -> None:
    """Leaves no part of a copy behind."""
    try:
        os.link(source, target)
    except OSError:
        try:
            shutil.copyfile(source, target)
        except OSError:
            target.unlink(missing_ok=True)
            raise


class Pile:
    """The meshes of an export that no earlier one has made, in one file of its package: to make a file for each takes longer than to fill it. keep()
    leaves them to the exports after it, whose packages may then hold parts that nothing names: packages for keeps do without a pile."""

    def __init__(self, cache: ExportCache, package: Path) -> None:
        self._cache = cache
        self._kept = cache.new_path()
        self.file = f"meshes/pile {self._kept.name}"  # in the package
        self._path = package / self.file
        self._out: BinaryIO | None = None
        self._made: dict[str, Entry] = {}

    def find(self, key: str) -> Entry | None:
        return self._made.get(key) or self._cache.find(key)

    def make(self, key: str, write: Callable[[BinaryIO], dict]) -> Entry:
        """`write` appends to the file and returns the facts."""
        if self._out is None:
            self._out = open(self._path, "xb")
        begin = self._out.tell()
        facts = write(self._out)
        entry = Entry(self._kept, facts, 0, self._out.tell() - begin)
        self._made[key] = entry
        return entry

    def close(self) -> None:
        """At the end, whatever it is."""
        if self._out is not None:
            self._out.close()

    def keep(self) -> None:
        if self._out is not None:
            self._out.flush()
            self._cache.adopt(self._path, self._kept, self._made)


shared = ExportCache()
