"""The arrays of an evaluated mesh, as Blender has them. Attributes are copied as they lie in memory, a hundred times sooner than Blender's
properties of elements, which are read where a version has no attribute for them."""

from __future__ import annotations

from functools import cached_property

import bpy
import numpy as np

from ..versions import has_corner_normals
from .attributes import get, get_indices

FACES_AT_ONCE = 1 << 18  # of what is computed with arrays of 150 bytes a face
SMALL_CORNERS = 1 << 18

class MeshColumns:
    """Each array is read when it is first asked for, once. The mesh must not change meanwhile. `source`: the mesh that it is a copy of."""

    def __init__(self, mesh: bpy.types.Mesh, source: bpy.types.Mesh | None = None) -> None:
        self._mesh, self._source = mesh, source

    def _attribute(self, name: str, kind: str, domain: str, field: str, dtype: type, width: int) -> np.ndarray | None:
        """None: there is none of this name, or it is something else."""
        found = self._mesh.attributes.get(name)
        return get(found.data, field, dtype, width) if found and (found.data_type, found.domain) == (kind, domain) else None

    @cached_property
    def positions(self) -> np.ndarray:
        """float32 [vertices, 3]"""
        found = self._attribute("position", "FLOAT_VECTOR", "POINT", "vector", np.float32, 3)
        return get(self._mesh.vertices, "co", np.float32, 3) if found is None else found

    @cached_property
    def corner_vertices(self) -> np.ndarray:
        """int32 [corners]"""
        found = self._attribute(".corner_vert", "INT", "CORNER", "value", np.int32, 1)
        return (get_indices(self._mesh.loops, "vertex_index") if found is None else found)[:, 0]

    @cached_property
    def face_starts(self) -> np.ndarray:
        """int32 [faces]: the first corner of each."""
        return get_indices(self._mesh.polygons, "loop_start")[:, 0]

    @cached_property
    def face_materials(self) -> np.ndarray:
        """int32 [faces]. Where there is no such attribute all faces have the first material."""
        if "material_index" not in self._mesh.attributes:
            return np.zeros(len(self._mesh.polygons), np.int32)
        found = self._attribute("material_index", "INT", "FACE", "value", np.int32, 1)
        return (get_indices(self._mesh.polygons, "material_index") if found is None else found)[:, 0]

    @cached_property
    def is_smooth(self) -> np.ndarray:
        """bool [faces]. Since normals of corners are kept ready, faces are smooth where no attribute says that they are sharp."""
        if has_corner_normals(self._mesh) and "sharp_face" not in self._mesh.attributes:
            return np.ones(len(self._mesh.polygons), bool)
        is_sharp = self._attribute("sharp_face", "BOOLEAN", "FACE", "value", bool, 1)
        if is_sharp is not None:
            return ~is_sharp[:, 0]
        return get(self._mesh.polygons, "use_smooth", bool, 1)[:, 0]

    @cached_property
    def corner_normals(self) -> np.ndarray | None:
        """float32 [corners, 3]; None: all faces are flat."""
        if not self.is_smooth.any() and not self._mesh.has_custom_normals:
            return None
        if has_corner_normals(self._mesh):
            return get(self._mesh.corner_normals, "vector", np.float32, 3)
        self._mesh.calc_normals_split()
        return get(self._mesh.loops, "normal", np.float32, 3)

    @cached_property
    def vertex_normals(self) -> np.ndarray | None:
        """float32 [vertices, 3]; None: corners of a vertex may differ."""
        if not (self._mesh.normals_domain == "POINT" if has_corner_normals(self._mesh) else self._has_normals_of_vertices):
            return None
        source = self._source  # has them ready where, before 4.1, a copy would compute its own
        is_alike = source and not source.is_editmode and len(source.vertices) == len(self._mesh.vertices)
        return get((source if is_alike else self._mesh).vertex_normals, "vector", np.float32, 3)

    @property
    def _has_normals_of_vertices(self) -> bool:
        """Of a mesh that is told to compute normals of corners."""
        return not self._mesh.use_auto_smooth and not self._mesh.has_custom_normals and bool(self.is_smooth.all())

    @cached_property
    def uv(self) -> dict[str, np.ndarray]:
        """float32 [corners, 2] by name, in Blender's order."""
        return {layer.name: self._uv(layer) for layer in self._mesh.uv_layers}

    def _uv(self, layer: bpy.types.MeshUVLoopLayer) -> np.ndarray:
        found = self._attribute(layer.name, "FLOAT2", "CORNER", "vector", np.float32, 2)
        return get(layer.data, "uv", np.float32, 2) if found is None else found

    @cached_property
    def _face_triangles(self) -> np.ndarray | None:
        """int32 [faces]: how many each is divided into; None: some have more than four corners, and Blender divides them."""
        sizes = np.empty_like(self.face_starts)
        np.subtract(self.face_starts[1:], self.face_starts[:-1], out=sizes[:-1])
        sizes[-1:] = len(self.corner_vertices) - self.face_starts[-1:]
        return sizes - 2 if len(sizes) and 3 <= sizes.min() and sizes.max() <= 4 else None

    @cached_property
    def triangle_corners(self) -> np.ndarray:
        """int32 [triangles, 3]"""
        counts = self._face_triangles
        if counts is None:
            self._mesh.calc_loop_triangles()
            return get_indices(self._mesh.loop_triangles, "loops", 3)
        return divide_faces(self.face_starts, counts, self.corner_vertices, self.positions)

    @cached_property
    def triangle_materials(self) -> np.ndarray:
        """int32 [triangles]"""
        faces, counts = self.face_materials, self._face_triangles
        if counts is not None:
            return np.repeat(faces, counts)
        if (faces == faces[0]).all():
            return np.full(len(self.triangle_corners), faces[0])
        return get_indices(self._mesh.loop_triangles, "material_index")[:, 0]


def find_normals(mesh: bpy.types.Mesh) -> None:
    """Has Blender compute the normals that MeshColumns will read of a copy of `mesh`, which share them. Not of large meshes, where waking threads
    takes no time, and keeping all normals would take memory."""
    domain = getattr(mesh, "normals_domain", "POINT")
    if domain in ("POINT", "CORNER") and 0 < len(mesh.loops) <= SMALL_CORNERS:
        (mesh.vertex_normals if domain == "POINT" else mesh.corner_normals)[0]


def divide_faces(starts: np.ndarray, counts: np.ndarray, corner_vertices: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """int32 [triangles, 3]: the corners of triangles, face by face, as Blender divides faces of three and of four corners (`counts`: 1 and 2): from
    the first corner to the third, unless the second and the fourth lie on one side of this line."""
    corners = np.empty((int(counts.sum()), 3), np.int32)
    axes = np.ascontiguousarray(positions.T)
    done = 0  # triangles
    for begin in range(0, len(starts), FACES_AT_ONCE):
        part = slice(begin, begin + FACES_AT_ONCE)
        ends = np.cumsum(counts[part])
        is_quad = counts[part] == 2
        quads, second = starts[part][is_quad], ends[is_quad] - 1
        here = corners[done:done + int(ends[-1])]
        base = np.repeat(starts[part], counts[part])
        here[:, 0] = base
        base[second] += 1
        here[:, 1], here[:, 2] = base + 1, base + 2
        turned = second[_is_turned(axes.take(corner_vertices.take(quads + np.arange(4)[:, None]), axis=1))]
        here[turned - 1, 2] += 1
        here[turned, 0] += 1
        done += len(here)
    return corners


def _is_turned(quads: np.ndarray) -> np.ndarray:
    """bool [quads]: the second and the fourth corner lie on one side of the line from the first to the third. quads: float32 [3 axes, 4 corners, quads]."""
    with np.errstate(over="ignore", invalid="ignore"):  # far places
        (x2, x3, x4), (y2, y3, y4), (z2, z3, z4) = quads[:, 1:] - quads[:, :1]  # from the first corner to the others
        return (y2 * z3 - z2 * y3) * (y4 * z3 - z4 * y3) + (z2 * x3 - x2 * z3) * (z4 * x3 - x4 * z3) \
            + (x2 * y3 - y2 * x3) * (x4 * y3 - y4 * x3) > 0
