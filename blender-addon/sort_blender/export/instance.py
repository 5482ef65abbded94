"""Instances of the depsgraph: which objects are the same mesh, and what materials each wears."""

from __future__ import annotations

import bpy
import numpy as np

from ..messages import Report
from . import axes
from .material import MaterialExporter
from .mesh import MeshArrays, read_mesh
from .package import PackageWriter

# What curves, text and metaballs become are further instances of the depsgraph, of type MESH.
WITHOUT_PICTURE = {"EMPTY", "ARMATURE", "LATTICE", "CAMERA", "SPEAKER", "LIGHT_PROBE", "LIGHT",
                   "CURVE", "SURFACE", "FONT", "META"}
RAY_KINDS = ("visible_camera", "visible_diffuse", "visible_glossy", "visible_transmission",
             "visible_shadow")
SINGULAR = 1e-30


class _Mesh:
    """A mesh of the package."""

    def __init__(self, name: str, arrays: MeshArrays) -> None:
        self.name = name
        self.uv_name = arrays.uv_name
        self.slot_count = int(arrays.material_indices.max()) + 1


class InstanceExporter:
    def __init__(self, writer: PackageWriter, materials: MaterialExporter, report: Report) -> None:
        self._writer = writer
        self._materials = materials
        self._report = report
        # By address and attributes: objects that share a mesh share it here.
        self._meshes: dict[tuple[int, frozenset[str]], _Mesh | None] = {}

    def add(self, instance: bpy.types.DepsgraphObjectInstance) -> None:
        obj = instance.object
        if obj.type in WITHOUT_PICTURE:
            return
        where = f"Object '{obj.name}'"
        if obj.type != "MESH":
            self._report.warn(where, f"objects of type {obj.type} are not supported yet and are left out")
            return
        self._warn_of_flags(obj, where)
        mesh = self._mesh_of(obj, where)
        if mesh is None:
            return
        matrix = instance.matrix_world
        if abs(matrix.to_3x3().determinant()) < SINGULAR:
            self._report.warn(where, "it is scaled to nothing along an axis and is left out")
            return
        self._writer.add("instances", obj.name, {
            "mesh": mesh.name, "transform": axes.place(matrix),
            "materials": self._slots(obj, mesh)})

    def _warn_of_flags(self, obj: bpy.types.Object, where: str) -> None:
        if not all(getattr(obj, flag) for flag in RAY_KINDS):
            self._report.warn(where, "ray visibility is not supported yet: all rays see it")
        if obj.is_holdout or obj.is_shadow_catcher:
            self._report.warn(where, "holdout and shadow catcher are not supported yet")
        for system in obj.particle_systems:
            if system.settings.type == "HAIR" and system.settings.render_type == "PATH":
                self._report.warn(where, f"hair ('{system.name}') is not supported yet and is left out")

    def _mesh_of(self, obj: bpy.types.Object, where: str) -> _Mesh | None:
        worn = [slot.material for slot in obj.material_slots]
        wanted = frozenset().union(*(self._materials.attributes_of(material) for material in worn))
        key = (obj.data.as_pointer(), wanted)
        if key not in self._meshes:
            self._meshes[key] = self._write_mesh(obj, wanted, where)
        return self._meshes[key]

    def _write_mesh(self, obj: bpy.types.Object, wanted: frozenset[str], where: str) -> _Mesh | None:
        mesh = obj.to_mesh()
        try:
            arrays = read_mesh(mesh, wanted) if mesh else None
        finally:
            obj.to_mesh_clear()
        if arrays is None:
            return None
        if not np.isfinite(arrays.positions).all():
            self._report.warn(where, "some of its vertices are not at finite places; it is left out")
            return None
        if arrays.dropped_uv_sets:
            self._report.warn(where, f"{arrays.dropped_uv_sets} UV maps beyond the eighth are left out")
        return _Mesh(self._writer.add("meshes", obj.data.name, self._record(arrays)), arrays)

    def _record(self, arrays: MeshArrays) -> dict:
        kinds = [("positions", "float32", arrays.positions), ("indices", "uint32", arrays.indices)]
        if arrays.normals is not None:
            kinds.append(("normals", "float32", _clean_normals(arrays.normals)))
        if arrays.material_indices.any():
            kinds.append(("material_indices", "uint16", arrays.material_indices[:, None]))
        named = len(kinds)
        kinds += [(name, "float32", values) for name, values in arrays.attributes.items()]
        last = len(kinds)
        kinds += [("uv", "float32", np.nan_to_num(uv, posinf=0, neginf=0)) for uv in arrays.uv]
        written = self._writer.write_arrays([(kind, data) for _, kind, data in kinds])
        record = {"vertex_count": len(arrays.positions), "triangle_count": len(arrays.indices)}
        record.update((kinds[k][0], written[k]) for k in range(named))
        if arrays.attributes:
            record["attributes"] = dict(zip(arrays.attributes, written[named:last]))
        if arrays.uv:
            record["uv"] = written[last:]
        return record

    def _slots(self, obj: bpy.types.Object, mesh: _Mesh) -> list[str]:
        """As in Blender, faces of a slot that is not there wear the last one."""
        worn = [slot.material for slot in obj.material_slots] or [None]
        worn += [worn[-1]] * (mesh.slot_count - len(worn))
        return [self._materials.name_of(material, mesh.uv_name) for material in worn]


def _clean_normals(normals: np.ndarray) -> np.ndarray:
    """Unit length; zero, which means none, where Blender's has no direction."""
    lengths = np.sqrt(np.einsum("ij,ij->i", normals, normals))[:, None]
    good = np.isfinite(lengths) & (lengths > 1e-6)
    return np.where(good, normals / np.where(good, lengths, 1), 0)
