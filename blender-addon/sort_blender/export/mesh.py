"""Any evaluated object that becomes a mesh, to the arrays of a package. No Python loop runs over vertices.

Blender keeps normals and uv per corner, a package per vertex. Corners of one vertex that agree in all
share it; a flat mesh without uv keeps Blender's vertices as they are.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import bpy
import numpy as np

from ..versions import has_corner_normals
from .attributes import get as _get
from .attributes import read_attributes

UV_SETS_MAX = 8
HASH_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@dataclass
class Shape:
    """The arrays that deformation changes, at one moment."""
    positions: np.ndarray  # float32 [Blender's vertices, 3]
    normals: np.ndarray | None  # float32 [corners, 3]; None: all faces are flat


@dataclass
class MeshArrays:
    positions: np.ndarray  # float32 [vertices, 3]
    indices: np.ndarray  # uint32 [triangles, 3]
    normals: np.ndarray | None  # float32 [vertices, 3]
    uv: list[np.ndarray]  # float32 [vertices, 2]; the render-active set first
    uv_name: str  # of the first set
    dropped_uv_sets: int
    material_indices: np.ndarray  # uint16 [triangles]
    attributes: dict[str, np.ndarray]  # float32 [vertices, 1 to 4]
    motion: list[tuple[np.ndarray, np.ndarray | None]]  # positions and normals of the keys after the first


def read_shape(mesh: bpy.types.Mesh) -> Shape:
    return Shape(_get(mesh.vertices, "co", np.float32, 3), _corner_normals(mesh))


def fingerprint(mesh: bpy.types.Mesh, wanted: frozenset[str], shapes: list[Shape] | None) -> str:
    """Returns a digest of everything that read_mesh makes its arrays of: equal digests mean equal arrays."""
    h = hashlib.blake2b(digest_size=16)

    def add(values: np.ndarray) -> None:
        h.update(str(values.shape).encode())
        h.update(values)
    add(_get(mesh.vertices, "co", np.float32, 3))
    add(_get(mesh.loops, "vertex_index", np.int32, 1))
    add(_get(mesh.polygons, "loop_start", np.int32, 1))
    add(_get(mesh.polygons, "material_index", np.int32, 1))
    add(_get(mesh.polygons, "use_smooth", bool, 1))
    if mesh.has_custom_normals or getattr(mesh, "use_auto_smooth", True):  # sharp edges count too
        normals = _corner_normals(mesh)
        add(np.empty(0) if normals is None else normals)
    for layer in mesh.uv_layers:
        h.update(f"{layer.name}\0{layer.active_render}".encode())
        add(_get(layer.data, "uv", np.float32, 2))
    if wanted:
        corner_vertices = _get(mesh.loops, "vertex_index", np.int32, 1)[:, 0]
        for name, values in read_attributes(mesh, wanted, corner_vertices).items():
            h.update(name.encode("utf-8", "replace"))
            add(values)
    for shape in shapes or ():
        add(shape.positions)
    return h.hexdigest()


def read_mesh(mesh: bpy.types.Mesh, wanted: frozenset[str] = frozenset(),
              shapes: list[Shape] | None = None) -> MeshArrays | None:
    """None: it has no triangles. `wanted`: attributes that its materials read (attributes.py). `shapes`: over the
    shutter, of the same vertices and corners; else it stands still."""
    mesh.calc_loop_triangles()
    triangle_count = len(mesh.loop_triangles)
    if triangle_count == 0:
        return None
    corners = _get(mesh.loop_triangles, "loops", np.int32, 3)  # corner indices, by triangle
    corner_vertices = _get(mesh.loops, "vertex_index", np.int32, 1)[:, 0]
    first, *later = shapes or [read_shape(mesh)]
    normals = first.normals
    layers = sorted(mesh.uv_layers, key=lambda layer: not layer.active_render)  # stable
    uv = [_get(layer.data, "uv", np.float32, 2) for layer in layers[:UV_SETS_MAX]]

    further = read_attributes(mesh, wanted, corner_vertices)
    attributes = ([] if normals is None else [normals]) + uv + list(further.values())
    keepers, corner_to_new = _share(corner_vertices, attributes, len(first.positions))

    def of_vertices(shape: Shape) -> tuple[np.ndarray, np.ndarray | None]:
        places = shape.positions if keepers is None else shape.positions[corner_vertices[keepers]]
        return places, None if normals is None or shape.normals is None else shape.normals[keepers]
    positions, vertex_normals = of_vertices(first)
    return MeshArrays(
        positions=positions,
        indices=corner_to_new[corners].astype(np.uint32),
        normals=vertex_normals,
        uv=[values[keepers] for values in uv],
        uv_name=layers[0].name if layers else "",
        dropped_uv_sets=max(len(layers) - UV_SETS_MAX, 0),
        material_indices=_get(mesh.loop_triangles, "material_index", np.int32, 1)[:, 0].astype(np.uint16),
        attributes={name: values[keepers] for name, values in further.items()},
        motion=[of_vertices(shape) for shape in later])


def _corner_normals(mesh: bpy.types.Mesh) -> np.ndarray | None:
    """None: all faces are flat."""
    smooth = np.empty(len(mesh.polygons), dtype=bool)
    mesh.polygons.foreach_get("use_smooth", smooth)
    if not smooth.any() and not mesh.has_custom_normals:
        return None
    if has_corner_normals(mesh):
        return _get(mesh.corner_normals, "vector", np.float32, 3)
    mesh.calc_normals_split()
    return _get(mesh.loops, "normal", np.float32, 3)


def _share(corner_vertices: np.ndarray, attributes: list[np.ndarray],
           vertex_count: int) -> tuple[np.ndarray | None, np.ndarray]:
    """The corners that stay as vertices (None: Blender's own vertices do), and the new vertex of every
    corner."""
    if not attributes:
        return None, corner_vertices
    words = [corner_vertices.astype(np.uint32)[:, None]]
    words += [np.ascontiguousarray(a + np.float32(0)).view(np.uint32) for a in attributes]  # -0 to 0
    keys = np.concatenate(words, axis=1)
    mixed = np.zeros(len(keys), dtype=np.uint64)
    for k in range(keys.shape[1]):
        mixed ^= keys[:, k]
        mixed *= HASH_FACTOR
        mixed ^= mixed >> np.uint64(29)
    _, keepers, corner_to_new = np.unique(mixed, return_index=True, return_inverse=True)
    if not np.array_equal(keys[keepers[corner_to_new]], keys):  # two keys with one hash
        _, keepers, corner_to_new = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return keepers, corner_to_new
