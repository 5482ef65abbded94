"""Instances of the depsgraph: which objects are the same mesh, and what materials each wears."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import bpy
import numpy as np

from ..messages import Report
from ..sort_package import PackageWriter, write_mesh
from . import axes, hair, unfollowed
from .attributes import finite
from .cache import Entry, ExportCache, Pile
from .columns import MeshColumns, find_normals
from .kept import KeptMeshes
from .layers import Layers
from .linking import Linking
from .material import MaterialExporter
from .mesh import MeshArrays, Shape, fingerprint, read_mesh
from .motion import Motion
from .neighbours import Neighbours
from .points import PointExporter

# Curves, text and metaballs become further instances of the depsgraph, of type MESH. Blender draws grease pencil over the picture itself.
WITHOUT_PICTURE = {"EMPTY", "ARMATURE", "LATTICE", "CAMERA", "SPEAKER", "LIGHT_PROBE", "LIGHT",
                   "CURVE", "SURFACE", "FONT", "META", "GPENCIL", "GREASEPENCIL"}
RAY_KINDS = ("camera", "diffuse", "glossy", "transmission", "shadow")


class _Mesh:
    """A mesh of the package."""

    def __init__(self, name: str, facts: dict) -> None:
        self.name = name
        self.uv_name: str = facts["uv_name"]
        self.slot_count: int = facts["slot_count"]


class InstanceExporter:
    """`strand_shape`: of curves, "ribbon" or "round". `pile`: for new meshes; None: each has a file of its own. `catcher`: as in ExportPlan."""

    def __init__(self, writer: PackageWriter, materials: MaterialExporter, cache: ExportCache, pile: Pile | None, motion: Motion | None,
                 neighbours: Neighbours | None, depsgraph: bpy.types.Depsgraph, layers: Layers, linking: Linking, strand_shape: str, kept: KeptMeshes,
                 catcher: str = "") -> None:
        self._writer = writer
        self._strand_shape = strand_shape
        self._materials = materials
        self._cache = cache
        self._pile = pile
        self._kept = kept
        self._catcher = catcher
        self._motion = motion
        self._neighbours = neighbours
        self._mode = depsgraph.mode
        self._view_layer = depsgraph.view_layer_eval
        self._collections = depsgraph.view_layer  # which alone answers for collections, not the evaluated copy
        self._layers = layers
        self._linking = linking
        self._report = linking.report
        self._points = PointExporter(writer)
        # By address and attributes: objects that share a mesh share it here.
        self._meshes: dict[tuple, _Mesh | None] = {}
        self._strands: dict[tuple[str, str], str] = {}  # by object and particle system
        self.indices: dict[str, int] = {}  # by name in the package: the object's pass index
        self.names: dict[str, str] = {}  # in the package, by full name: an object's own, rather than that of a copy

    @property
    def _store(self) -> ExportCache | Pile:
        """Of meshes."""
        return self._pile or self._cache

    def find_normals(self, depsgraph: bpy.types.Depsgraph, is_cancelled: Callable[[], bool]) -> None:
        """Of all meshes, one right after the other: Blender's threads share the work on each, and wait busily for the next."""
        for obj in depsgraph.objects:
            if is_cancelled():
                return
            if obj.type == "MESH" and not self._kept.has(obj):
                find_normals(obj.data)

    def add(self, instance: bpy.types.DepsgraphObjectInstance) -> None:
        obj = instance.object
        if obj.type in WITHOUT_PICTURE:
            return
        where = f"Object '{obj.name}'"
        unfollowed.warn(obj, unfollowed.OBJECT, where, self._report)
        if obj.type == "CURVES":
            self._add_strands(instance, "", where)
            return
        if obj.type == "POINTCLOUD":
            self._add_points(instance)
            return
        if obj.type != "MESH":
            self._report.warn(where, f"objects of type {obj.type} are not supported yet and are left out")
            return
        if self._is_shown(instance, "particles"):
            for system in hair.systems_of(obj, self._mode):
                self._add_strands(instance, system.name, where)
        mesh = self._mesh_of(instance, where) if self._is_shown(instance, "self") else None
        if mesh is None:
            return
        placed = self._placed(instance)
        if placed is None:
            return
        name = self._writer.add("instances", obj.name, {
            "mesh": mesh.name, **placed, **self._seen_by(instance), "materials": self._slots(obj, mesh),
            **self._materials.values_for(instance, self._worn(obj))})
        if not instance.is_instance:
            self.names[obj.name_full] = name
        self.names.setdefault(obj.name_full, name)
        if obj.pass_index:
            self.indices[name] = obj.pass_index

    def _placed(self, instance: bpy.types.DepsgraphObjectInstance) -> dict | None:
        """None: it is scaled to a point, and nothing of it is seen, or it is nowhere, which is said."""
        if not axes.is_somewhere(instance.matrix_world):
            self._report.warn(f"Object '{instance.object.name}'", "its place is no number; it is left out")
            return None
        if self._motion:
            return self._motion.placement(instance)
        matrix = axes.with_thickness(instance.matrix_world)
        if matrix is None:
            return None
        return {"transform": axes.place(matrix), **(self._neighbours.placement(instance) if self._neighbours else {})}

    def _add_points(self, instance: bpy.types.DepsgraphObjectInstance) -> None:
        material = self._worn(instance.object)[0]
        self._points.add(instance, self._materials.attributes_of(material), {
            **self._seen_by(instance), "materials": [self._materials.name_of(material, "")],
            **self._materials.values_for(instance, [material])}, self._neighbours)

    def _is_shown(self, instance: bpy.types.DepsgraphObjectInstance, what: str) -> bool:
        """`what`: "self" or "particles"."""
        if not (self._view_layer.use_solid if what == "self" else self._view_layer.use_strand):
            return False
        return instance.is_instance or getattr(instance, "show_" + what)

    def _add_strands(self, instance: bpy.types.DepsgraphObjectInstance, system_name: str, where: str) -> None:
        """`system_name`: of its particle system; "": the object is strands itself."""
        obj = instance.object
        key = (obj.name_full, system_name)
        if key not in self._strands:
            self._strands[key] = self._link_strands(obj, system_name, where)
        name = self._strands[key]
        if not name:
            return
        material = self._strands_wear(obj, system_name)
        placed = self._placed(instance)
        if placed is None:
            return
        wear = self._materials.name_of(material, "")
        self._writer.add("instances", f"{obj.name} {system_name}" if system_name else obj.name, {
            "curves": name, **placed, **self._seen_by(instance), "materials": [wear], **self._materials.values_for(instance, [material])})

    def _strands_wear(self, obj: bpy.types.Object, system_name: str) -> bpy.types.Material | None:
        worn = self._worn(obj)
        slot = obj.particle_systems[system_name].settings.material - 1 if system_name else 0
        return worn[min(slot, len(worn) - 1)]

    def _link_strands(self, obj: bpy.types.Object, system_name: str, where: str) -> str:
        """The name of the curves; "": there are none."""
        keys = self._motion.strands_of(obj, system_name) if self._motion else None
        strands = None if keys else hair.strands_of(obj, system_name, self._mode)
        keys = keys or ([strands] if strands else [])
        if not keys:
            return ""
        if not all(np.isfinite(key.points).all() for key in keys):
            self._report.warn(where, "some of its strands are not at finite places; they are left out")
            return ""
        wanted = self._materials.attributes_of(self._strands_wear(obj, system_name))
        entry = hair.make(keys, hair.values_of(obj, system_name, keys[0], wanted), self._strand_shape, self._cache)
        file = self._writer.link_file(entry.path, entry.facts["file"])
        return self._writer.add("curves", system_name or obj.data.name, _called(entry.facts["record"], file))

    def _worn(self, obj: bpy.types.Object) -> list[bpy.types.Material | None]:
        override = self._view_layer.material_override
        worn = [slot.material for slot in obj.material_slots] or [None]
        return [override] * len(worn) if override else worn

    def _mesh_of(self, instance: bpy.types.DepsgraphObjectInstance, where: str) -> _Mesh | None:
        obj = instance.object
        wanted = frozenset().union(*(self._materials.attributes_of(material) for material in self._worn(obj)))
        shapes = self._motion.shapes_of(obj) if self._motion else None
        moves = shapes or self._neighbours and self._neighbours.has_shapes_of(obj)
        key = (obj.data.as_pointer(), wanted, obj.name_full if moves else "")
        if key not in self._meshes:
            # What instances show may be the work of another object.
            entry = self._read(obj, wanted, shapes, may_keep=not (instance.is_instance or moves))
            self._meshes[key] = self._link_mesh(obj, entry, where) if entry else None
        return self._meshes[key]

    def _read(self, obj: bpy.types.Object, wanted: frozenset[str], shapes: list[Shape] | None, may_keep: bool) -> Entry | None:
        """None: it has no faces."""
        key = self._kept.find(obj, wanted) if may_keep else ""
        entry = self._store.find(key) if key else None
        if entry:
            return entry
        mesh = obj.to_mesh()
        try:
            if mesh is None or len(mesh.polygons) == 0:
                return None
            columns = MeshColumns(mesh, obj.data if isinstance(obj.data, bpy.types.Mesh) else None)
            beside = self._neighbours.shapes_of(obj, columns.positions) if self._neighbours else []
            if beside:
                shapes = [Shape(columns.positions, columns.corner_normals), *beside]
            key = fingerprint(mesh, columns, wanted, shapes) + ("-beside" if beside else "")
            if self._pile:
                key = f"piled {key}"  # for packages that may have piles
            entry = self._store.find(key) or self._make(key, mesh, columns, wanted, shapes, bool(beside))
        finally:
            obj.to_mesh_clear()
        if may_keep:
            self._kept.keep(obj, wanted, key)
        return entry

    def _link_mesh(self, obj: bpy.types.Object, entry: Entry, where: str) -> _Mesh | None:
        if "refused" in entry.facts:
            if entry.facts["refused"]:
                self._report.warn(where, entry.facts["refused"])
            return None
        if entry.facts["dropped_uv_sets"]:
            self._report.warn(where, f"{entry.facts['dropped_uv_sets']} UV maps beyond the eighth are left out")
        self._writer.link_file(entry.path, entry.facts["file"])
        return _Mesh(self._writer.add("meshes", obj.data.name, entry.facts["record"]), entry.facts)

    def _make(self, key: str, mesh: bpy.types.Mesh, columns: MeshColumns, wanted: frozenset[str], shapes: list[Shape] | None,
              is_beside: bool) -> Entry:
        def write(to: Path | BinaryIO) -> dict:
            arrays = read_mesh(mesh, columns, wanted, shapes)
            if arrays is None:
                return {"refused": ""}
            if not all(np.isfinite(places).all() for places in [arrays.positions] + [m[0] for m in arrays.motion]):
                return {"refused": "some of its vertices are not at finite places; it is left out"}
            file = self._pile.file if self._pile else f"meshes/{key}.bin"
            return {"file": file, "record": _write(to, file, arrays, is_beside), "uv_name": arrays.uv_name,
                    "slot_count": int(arrays.material_indices.max()) + 1, "dropped_uv_sets": arrays.dropped_uv_sets}
        return self._store.make(key, write)

    def _slots(self, obj: bpy.types.Object, mesh: _Mesh) -> list[str]:
        """As in Blender, faces of a slot that is not there wear the last one."""
        worn = self._worn(obj)
        worn += [worn[-1]] * (mesh.slot_count - len(worn))
        return [self._materials.name_of(material, mesh.uv_name) for material in worn]

    def _seen_by(self, instance: bpy.types.DepsgraphObjectInstance) -> dict:
        """The fields of the record that say which rays meet it: as for an instance of a collection, those that meet both
        the object and what carries it; and what group its light is of."""
        obj = instance.object
        carrier = instance.parent if instance.is_instance and instance.parent else obj
        fields = self._layers.light_group(obj.lightgroup)
        layer = self._collections
        hidden = [kind for kind in RAY_KINDS
                  if not (getattr(obj, "visible_" + kind) and getattr(carrier, "visible_" + kind))
                  or kind == "camera" and carrier.original.indirect_only_get(view_layer=layer)]
        if hidden:
            fields["invisible_to"] = hidden
        if carrier.is_holdout or carrier.original.holdout_get(view_layer=layer):
            fields["is_holdout"] = True
        if obj.is_shadow_catcher or carrier.is_shadow_catcher or carrier.name_full == self._catcher:
            fields["is_shadow_catcher"] = True
        for name in ("is_caustics_caster", "is_caustics_receiver"):
            if getattr(getattr(obj, "cycles", None), name, False):
                fields[name] = True
        links = self._linking.of_light(obj, carrier)
        return {**fields, **self._linking.of_object(obj, carrier), **({"light": links} if links else {})}


def _called(record: object, file: str) -> object:
    """The record of cached curves, whose arrays lie in `file` of this package."""
    if isinstance(record, list):
        return [_called(item, file) for item in record]
    if isinstance(record, dict):
        return {key: file if key == "file" else _called(item, file) for key, item in record.items()}
    return record


def _write(to: Path | BinaryIO, file: str, arrays: MeshArrays, is_beside: bool) -> dict:
    """`is_beside`: what moves is in the frames before and after, not over the shutter."""
    def flat(values: np.ndarray, kind: type = np.float32) -> np.ndarray:
        return np.ascontiguousarray(values, dtype=kind).ravel()

    def shape(positions: np.ndarray, normals: np.ndarray | None) -> dict:
        out = {"positions": flat(positions)}
        if arrays.normals is not None:
            out["normals"] = flat(_clean_normals(arrays.normals if normals is None else normals))
        return out
    return write_mesh(
        to, file, **shape(arrays.positions, arrays.normals), indices=flat(arrays.indices, np.uint32),
        material_indices=flat(arrays.material_indices, np.uint16) if arrays.material_indices.any() else None,
        attributes={name: (values.shape[1], flat(values)) for name, values in arrays.attributes.items()},
        uv=[flat(finite(uv)) for uv in arrays.uv],
        motion=[] if is_beside else [shape(*key) for key in arrays.motion],
        beside=[flat(key[0]) for key in arrays.motion] if is_beside else [])


def _clean_normals(normals: np.ndarray) -> np.ndarray:
    """Unit length; zero, which means none, where Blender's has no direction."""
    lengths = np.sqrt(np.einsum("ij,ij->i", normals, normals))[:, None]
    good = np.isfinite(lengths) & (lengths > 1e-6)
    if good.all():
        return normals / lengths
    return np.where(good, normals / np.where(good, lengths, 1), 0)
