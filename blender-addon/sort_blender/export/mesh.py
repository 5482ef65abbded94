"""Any evaluated object that becomes a mesh, to the arrays of a package. No Python loop runs over vertices.

Blender keeps uv, and often normals, per corner, a package per vertex. Corners of one vertex that agree in all
share it; a mesh without anything per corner keeps Blender's vertices as they are.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import bpy
import numpy as np

from ..versions import has_corner_normals
from .attributes import read_attributes
from .columns import MeshColumns

UV_SETS_MAX = 8
CORNERS_AT_ONCE = 1 << 16  # that what NumPy makes on the way, of millions of them, is not more than all else
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
    columns = MeshColumns(mesh)
    return Shape(columns.positions, columns.corner_normals)


def fingerprint(mesh: bpy.types.Mesh, columns: MeshColumns, wanted: frozenset[str], shapes: list[Shape] | None) -> str:
    """Returns a digest of everything that read_mesh makes its arrays of (`columns`: of the mesh): equal digests mean equal arrays."""
    h = hashlib.sha1(usedforsecurity=False)  # the quickest one that every Python has

    def add(values: np.ndarray) -> None:
        h.update(str(values.shape).encode())
        h.update(values)
    for values in (columns.positions, columns.corner_vertices, columns.face_starts, columns.face_materials, columns.is_smooth):
        add(values)
    if shapes is None and has_corner_normals(mesh) and columns.vertex_normals is not None:
        add(columns.vertex_normals)
    elif mesh.has_custom_normals or getattr(mesh, "use_auto_smooth", True):  # sharp edges count too
        add(np.empty(0) if columns.corner_normals is None else columns.corner_normals)
    for layer in mesh.uv_layers:
        h.update(f"{layer.name}\0{layer.active_render}".encode())
        add(columns.uv[layer.name])
    if wanted:
        for name, values in read_attributes(mesh, wanted).items():
            h.update(f"{name}\0{values.is_of_vertices}".encode("utf-8", "replace"))
            add(values.array)
    for shape in shapes or ():
        add(shape.positions)
    return h.hexdigest()


def read_mesh(mesh: bpy.types.Mesh, columns: MeshColumns, wanted: frozenset[str] = frozenset(),
              shapes: list[Shape] | None = None) -> MeshArrays | None:
    """None: it has no triangles. `columns`: of the mesh. `wanted`: attributes that its materials read (attributes.py). `shapes`: over
    the shutter, of the same vertices and corners; else it stands still."""
    corners, corner_vertices = columns.triangle_corners, columns.corner_vertices
    if len(corners) == 0:
        return None
    smooth = columns.vertex_normals if shapes is None else None  # the normals of a mesh that has them per vertex
    first, *later = shapes or [Shape(columns.positions, columns.corner_normals if smooth is None else None)]
    normals = first.normals
    layers = sorted(mesh.uv_layers, key=lambda layer: not layer.active_render)  # stable
    uv = [columns.uv[layer.name] for layer in layers[:UV_SETS_MAX]]

    further = read_attributes(mesh, wanted)
    of_corners = ([] if normals is None else [normals]) + uv + [v.array for v in further.values() if not v.is_of_vertices]
    keepers, corner_to_new = _share(corner_vertices, of_corners, len(first.positions))
    kept_vertices = None if keepers is None else corner_vertices[keepers]

    def of_vertex(values: np.ndarray) -> np.ndarray:
        return values if kept_vertices is None else values.take(kept_vertices, axis=0)

    def of_vertices(shape: Shape) -> tuple[np.ndarray, np.ndarray | None]:
        return of_vertex(shape.positions), None if normals is None or shape.normals is None else shape.normals[keepers]
    positions, vertex_normals = of_vertices(first)
    return MeshArrays(
        positions=positions,
        indices=_vertices_of(corner_to_new, corners),
        normals=vertex_normals if smooth is None else of_vertex(smooth),
        uv=[values.take(keepers, axis=0) for values in uv],
        uv_name=layers[0].name if layers else "",
        dropped_uv_sets=max(len(layers) - UV_SETS_MAX, 0),
        material_indices=columns.triangle_materials.astype(np.uint16),
        attributes={name: of_vertex(v.array) if v.is_of_vertices else v.array[keepers] for name, v in further.items()},
        motion=[of_vertices(shape) for shape in later])


def _share(corner_vertices: np.ndarray, attributes: list[np.ndarray],
           vertex_count: int) -> tuple[np.ndarray | None, np.ndarray]:
    """The corners that stay as vertices (None: Blender's own vertices do), and the new vertex of every
    corner. A vertex of Blender stays for its first corner and those that agree with it; only the others, as at
    seams, are sorted."""
    if not attributes:
        return None, corner_vertices
    count = len(corner_vertices)
    first = np.full(vertex_count, -1, np.int32)
    for begin in range((count - 1) // CORNERS_AT_ONCE * CORNERS_AT_ONCE, -1, -CORNERS_AT_ONCE):
        part = corner_vertices[begin:begin + CORNERS_AT_ONCE]
        first[part[::-1]] = np.arange(begin + len(part) - 1, begin - 1, -1, dtype=np.int32)  # the last assignment counts
    is_used = first >= 0
    new_of_vertex = np.cumsum(is_used, dtype=np.int32) - np.int32(1)
    keepers, corner_to_new = first[is_used], np.empty(count, np.int32)
    columns = [(values[:, k], values[:, k].take(first)) for values in attributes for k in range(values.shape[1])]
    differing = []
    for begin in range(0, count, CORNERS_AT_ONCE):
        here = slice(begin, begin + CORNERS_AT_ONCE)
        part = corner_vertices[here].astype(np.intp)
        new_of_vertex.take(part, out=corner_to_new[here], mode="clip")
        differs = np.zeros(len(part), bool)
        for values, model in columns:
            differs |= model.take(part) != values[here]
        differing.append(np.flatnonzero(differs) + begin)
    others = np.concatenate(differing)
    if len(others):
        words = [np.ascontiguousarray(values[others] + np.float32(0)).view(np.uint32) for values in attributes]  # -0 to 0
        kept, new_of_other = _unique_rows(np.concatenate([corner_vertices[others].astype(np.uint32)[:, None], *words], axis=1))
        corner_to_new[others] = len(keepers) + new_of_other
        keepers = np.concatenate([keepers, others[kept]])
    return keepers, corner_to_new


def _vertices_of(corner_to_new: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """uint32, of the shape of `corners`."""
    out = np.empty(corners.shape, np.int32)
    for begin in range(0, len(corners), CORNERS_AT_ONCE):
        here = slice(begin, begin + CORNERS_AT_ONCE)
        out[here] = corner_to_new.take(corners[here])
    return out.view(np.uint32)


def _unique_rows(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns an index for each different row of uint32, and for each row the number of its like."""
    mixed = np.zeros(len(keys), dtype=np.uint64)
    for k in range(keys.shape[1]):
        mixed ^= keys[:, k]
        mixed *= HASH_FACTOR
        mixed ^= mixed >> np.uint64(29)
    _, kept, number = np.unique(mixed, return_index=True, return_inverse=True)
    if not np.array_equal(keys[kept[number]], keys):  # two rows with one hash
        _, kept, number = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return kept, number.reshape(-1)
