"""A scene package, piece by piece: a folder with scene.json and the arrays and images that it names."""

from __future__ import annotations

import array
import filecmp
import itertools
import json
import os
import re
import shutil
import sys
import zlib
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import BinaryIO

NAME_BYTES_MAX = 255
SECTIONS = ("cameras", "meshes", "curves", "instances", "materials", "lights", "portals")
# type of scene.json -> code of the array module
ARRAY_CODES = {"float32": "f", "uint32": "I", "uint16": "H"}
# field of a mesh -> type and numbers an element; uv is a list of such
MESH_ARRAYS = {"positions": ("float32", 3), "indices": ("uint32", 3), "normals": ("float32", 3),
               "tangents": ("float32", 4), "material_indices": ("uint16", 1)}
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
NOT_IN_FILES = re.compile(r"[\x00-\x1f\x7f/\\:]")


def _cut(text: str, byte_count: int) -> str:
    return text.encode("utf-8", "replace")[:byte_count].decode("utf-8", "ignore")


def file_component(text: str) -> str:
    """`text` as one component of a file's path, not unique."""
    cleaned = _cut(NOT_IN_FILES.sub("_", text), 128)
    return "_" if cleaned in ("", ".", "..") else cleaned


def _little_endian(kind: str, values) -> bytes | memoryview:
    """Numbers of one type: an array of that type with a buffer is taken as it is, else any iterable."""
    code = ARRAY_CODES[kind]
    try:
        view = memoryview(values)
    except TypeError:
        data = array.array(code, values)
    else:
        if view.format != code and not (kind == "uint32" and view.format == "L" and view.itemsize == 4):
            raise TypeError(f"an array of {kind} is needed, not of format '{view.format}'")
        if sys.byteorder == "little":
            return view.cast("B") if view.contiguous and view.nbytes else view.tobytes()
        data = array.array(code, view.tobytes())
    if sys.byteorder == "big":
        data.byteswap()
    return data.tobytes()


class _ArrayFile:
    """The arrays of one entry of scene.json, one after the other; put() returns their ARRAY records, which call the
    file `file`."""

    def __init__(self, out: BinaryIO, file: str, compress: bool) -> None:
        self._out, self._file, self._compress, self._offset = out, file, compress, out.tell()

    def put(self, kind: str, components: int, values) -> dict:
        data = _little_endian(kind, values)
        stored = zlib.compress(data, 9) if self._compress else data
        entry = {"file": self._file, "offset_bytes": self._offset, "type": kind, "components": components,
                 "count": len(data) // (components * array.array(ARRAY_CODES[kind]).itemsize)}
        if self._compress:
            entry |= {"compression": "zlib", "stored_bytes": len(stored)}
        self._out.write(stored)
        self._offset += len(stored)
        return entry

    def common(self, uv, attributes) -> dict:
        record: dict = {}
        if uv:
            record["uv"] = [self.put("float32", 2, values) for values in uv]
        if attributes:
            record["attributes"] = {name: self.put("float32", components, values)
                                    for name, (components, values) in attributes.items()}
        return record


def write_mesh(to: str | Path | BinaryIO, file: str, *, positions, indices, normals=None, tangents=None, uv=(),
               material_indices=None, attributes=None, motion=(), beside=(), compress: bool = False) -> dict:
    """Writes the arrays of a mesh to a file: a path, or one open for writing, which may hold other meshes before it, at its end. Returns the mesh's record,
    in which the file is called `file`. Arrays are
    flat: 3 floats a vertex in `positions` and `normals`, 4 in `tangents`, 2 in each array of the list `uv`; 3 integers a
    triangle in `indices`, 1 in `material_indices`. `attributes`: name: (numbers a vertex, floats). `motion`: the shapes
    after the first over the shutter, each a dictionary with `positions` and, if the mesh has them, `normals`. `beside`: positions in the
    frames before and after, both or none."""
    with open(to, "wb") if isinstance(to, (str, Path)) else nullcontext(to) as out:
        arrays = _ArrayFile(out, file, compress)
        given = {"positions": positions, "indices": indices, "normals": normals, "tangents": tangents,
                 "material_indices": material_indices}
        record: dict = {field: arrays.put(*MESH_ARRAYS[field], values) for field, values in given.items()
                        if values is not None}
        record |= arrays.common(uv, attributes)
        if motion:
            record["motion"] = [{field: arrays.put("float32", 3, key[field]) for field in key} for key in motion]
        record |= {field: arrays.put("float32", 3, values) for field, values in zip(("previous", "next"), beside)}
    return {"vertex_count": record["positions"]["count"], "triangle_count": record["indices"]["count"], **record}


def write_curves(path: str | Path, file: str, *, basis: str, points, point_counts, shape: str = "round", uv=(),
                 material_indices=None, attributes=None, motion=(), compress: bool = False) -> dict:
    """Writes curves (hair, grass, wire) to `path`, and returns the record of `file` for scene.json. `points` is flat,
    x y z radius a control point, one curve after the other, and
    `point_counts` has the number of points of each. basis: "linear", "bezier", "b_spline" or "catmull_rom"; shape:
    "round" or "ribbon". Per curve: 2 floats in each array of the list `uv`, an integer in `material_indices`.
    `attributes`: name: (numbers an element, floats), per point or per curve. `motion`: `points` of the later keys."""
    with open(path, "wb") as out:
        to = _ArrayFile(out, file, compress)
        record: dict = {"points": to.put("float32", 4, points), "point_counts": to.put("uint32", 1, point_counts)}
        if material_indices is not None:
            record["material_indices"] = to.put("uint16", 1, material_indices)
        record |= to.common(uv, attributes)
        if motion:
            record["motion"] = [{"points": to.put("float32", 4, values)} for values in motion]
    return {"basis": basis, "shape": shape, "point_count": record["points"]["count"],
            "curve_count": record["point_counts"]["count"], **record}


def _numbered(name: str) -> Iterator[str]:
    """a/b.c, a/b-2.c, a/b-3.c ..."""
    stem, suffix = os.path.splitext(name)
    yield name
    for number in itertools.count(2):
        yield f"{stem}-{number}{suffix}"


class PackageWriter:
    """The folder is made; finish() writes scene.json, without which there is no package.

    settings, environment, name, credits, shader_aovs: the fields of scene.json, to be set by the caller."""

    def __init__(self, folder: str | Path, compress: bool = False) -> None:
        """compress: mesh arrays are stored with zlib."""
        self.folder = Path(folder)
        self.name = ""
        self.credits: list[str] = []
        self.shader_aovs: list[str] = []
        self.settings: dict = {}
        self.environment: dict | None = None
        self._compress = compress
        self._sections: dict[str, list[dict]] = {section: [] for section in SECTIONS}
        self._names: dict[str, set[str]] = {section: set() for section in SECTIONS}
        self._next: dict[tuple[str, str], int] = {}
        self._copied: dict[str, Path] = {}  # by name of the texture: where it came from
        self._linked: set[str] = set()  # files
        for sub in ("meshes", "textures"):
            (self.folder / sub).mkdir(parents=True)

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

    def add_mesh(self, wanted_name: str, **arrays) -> str:
        """The name it got. `arrays` as for write_mesh."""
        file = f"meshes/{self.count('meshes')}.bin"
        return self.add("meshes", wanted_name, write_mesh(self.folder / file, file, compress=self._compress, **arrays))

    def link_file(self, source: str | Path, file: str) -> str:
        """Puts what is at `source` into the package as `file`, once, without a copy where the file system can: `source`
        must not be changed in place after. Returns `file`."""
        if file not in self._linked:
            self._linked.add(file)
            target = self.folder / file
            if not target.exists():
                try:
                    os.link(source, target)
                except OSError:
                    shutil.copyfile(source, target)
        return file

    def add_curves(self, wanted_name: str, **arrays) -> str:
        """The name it got. `arrays` as for write_curves."""
        (self.folder / "curves").mkdir(exist_ok=True)
        file = f"curves/{self.count('curves')}.bin"
        return self.add("curves", wanted_name,
                        write_curves(self.folder / file, file, compress=self._compress, **arrays))

    def add_copies(self, wanted_name: str, transforms, **record) -> str:
        """Many instances of one mesh or curves, as one entry; the name that stands before their numbers. `transforms`: flat, the
        first three rows of each matrix, 12 floats a copy. `record`: the other fields, `mesh` and `materials` at least."""
        (self.folder / "instances").mkdir(exist_ok=True)
        file = f"instances/{self.count('instances')}.bin"
        with open(self.folder / file, "wb") as out:
            rows = _ArrayFile(out, file, self._compress).put("float32", 4, transforms)
        return self.add("instances", wanted_name, {**record, "transforms": rows})

    def add_shader(self, file_name: str, source: str) -> str:
        """SSL source of this package; what a material's `shader` names. Another source of the same name gets another."""
        (self.folder / "shaders").mkdir(exist_ok=True)
        for name in _numbered(f"shaders/{file_component(file_name)}"):
            path = self.folder / name
            if not path.exists():
                path.write_text(source, encoding="utf-8")
            if path.read_text(encoding="utf-8") == source:
                return name
        raise AssertionError

    def add_texture(self, source: str | Path, file_name: str | None = None) -> str:
        """Copies an image; what a binding's `file` names. It is copied once, and another of the same name gets another."""
        for name in _numbered(f"textures/{file_component(file_name or Path(source).name)}"):
            path = self.folder / name
            if not path.exists():
                shutil.copyfile(source, path)
                self._copied[name] = Path(source).resolve()
            if self._copied.get(name) == Path(source).resolve() or filecmp.cmp(source, path, shallow=False):
                return name
        raise AssertionError

    def finish(self) -> None:
        scene: dict = {"sort_package": 1}
        if self.name:
            scene["name"] = self.name
        if self.shader_aovs:
            scene["shader_aovs"] = self.shader_aovs
        if self.credits:
            scene["credits"] = self.credits
        scene |= {"settings": self.settings, **{name: records for name, records in self._sections.items() if records or name != "portals"}}
        if self.environment is not None:
            scene["environment"] = self.environment
        text = json.dumps(scene, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        # whole or not at all
        unfinished = self.folder / "scene.json.tmp"
        unfinished.write_text(text, encoding="utf-8")
        os.replace(unfinished, self.folder / "scene.json")
