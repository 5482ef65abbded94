"""Writes a scene package: a folder with scene.json and the arrays and images that it names."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np

NAME_BYTES_MAX = 255
SECTIONS = ("cameras", "meshes", "instances", "materials", "lights")
ARRAY_TYPES = {"float32": "<f4", "uint32": "<u4", "uint16": "<u2"}
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
NOT_IN_FILES = re.compile(r"[\x00-\x1f\x7f/\\:]")


def _cut(text: str, byte_count: int) -> str:
    return text.encode("utf-8", "replace")[:byte_count].decode("utf-8", "ignore")


def file_component(text: str) -> str:
    """`text` as one component of a file's path, not unique."""
    cleaned = _cut(NOT_IN_FILES.sub("_", text), 128)
    return "_" if cleaned in ("", ".", "..") else cleaned


class PackageWriter:
    """The folder is made; finish() writes scene.json, without which there is no package."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.settings: dict = {}
        self.environment: dict | None = None
        self._sections: dict[str, list[dict]] = {section: [] for section in SECTIONS}
        self._names: dict[str, set[str]] = {section: set() for section in SECTIONS}
        self._next: dict[tuple[str, str], int] = {}
        for sub in ("meshes", "textures"):
            (folder / sub).mkdir(parents=True)

    def add(self, section: str, wanted_name: str, record: dict) -> str:
        """The name it got: unique in its section."""
        name = self._unique(section, wanted_name)
        self._sections[section].append({"name": name, **record})
        return name

    def count(self, section: str) -> int:
        return len(self._sections[section])

    def _unique(self, section: str, wanted: str) -> str:
        base = _cut(CONTROL.sub("_", wanted), NAME_BYTES_MAX - 12) or "unnamed"
        taken = self._names[section]
        name = base
        while name in taken:
            number = self._next.get((section, base), 2)
            self._next[section, base] = number + 1
            name = f"{base} #{number}"
        taken.add(name)
        return name

    def write_arrays(self, arrays: list[tuple[str, np.ndarray]]) -> list[dict]:
        """Arrays of elements x components of one mesh, with their types, to one file; the ARRAY records."""
        file = f"meshes/{self.count('meshes')}.bin"
        records, offset = [], 0
        with open(self.folder / file, "wb") as out:
            for kind, array in arrays:
                data = np.ascontiguousarray(array, dtype=ARRAY_TYPES[kind])
                data.tofile(out)
                records.append({"file": file, "offset_bytes": offset, "type": kind,
                                "components": data.shape[1], "count": data.shape[0]})
                offset += data.nbytes
        return records

    def finish(self) -> None:
        scene = {"sort_package": 1, "settings": self.settings, **self._sections}
        if self.environment is not None:
            scene["environment"] = self.environment
        text = json.dumps(scene, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        (self.folder / "scene.json").write_text(text, encoding="utf-8")
