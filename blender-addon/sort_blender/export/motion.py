"""Motion blur: where things are over the shutter. The depsgraph is evaluated anew at each key; what was seen there
is kept by instance, and put into the records of the export proper, which is of the frame itself.

Keys lie at even times. Between two of Blender's, things turn at constant speed; in a package an object's points go on
straight lines (docs/decisions/0032-motion.md), so turns get further keys between.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import bpy
import numpy as np
from mathutils import Matrix

from ..messages import Report
from ..versions import shutter_settings
from . import axes, hair
from .mesh import Shape, read_shape

KEYS_MAX = 129
TURN_MAX = math.radians(20)  # between two keys; the middle of such an arc is off by 1.5 % of the radius
STILL = 1e-7
STILL_STRANDS_M = 1e-5  # Blender rounds them to single precision in the world


class Motion:
    """gather() first."""

    def __init__(self, scene: bpy.types.Scene, report: Report) -> None:
        self._report = report
        shutter = scene.render.motion_blur_shutter
        position = getattr(shutter_settings(scene), "motion_blur_position", "CENTER")
        start = {"START": 0.0, "CENTER": -shutter / 2, "END": -shutter}[position]
        steps = max((_steps(obj) for obj in scene.objects), default=1)
        self._times = [scene.frame_current_final + start + shutter * k / steps for k in range(steps + 1)]
        self._matrices: dict[tuple, list[Matrix]] = {}
        self._shapes: dict[str, list[Shape]] = {}
        self._strands: dict[tuple[str, str], list[hair.Strands]] = {}  # by object and particle system
        self._camera: list[Matrix] = []

    def gather(self, depsgraph: bpy.types.Depsgraph, camera: bpy.types.Object,
               frame_set: Callable[[int, float], None]) -> None:
        """frame_set(frame, subframe) evaluates `depsgraph` at that time. Leaves it at the frame itself."""
        frame = depsgraph.scene.frame_current_final
        for time in self._times:
            whole = math.floor(time)
            frame_set(whole, time - whole)
            self._camera.append(camera.evaluated_get(depsgraph).matrix_world.copy())
            for instance in depsgraph.object_instances:
                if _settings(instance.object, "use_motion_blur"):
                    self._matrices.setdefault(key_of(instance), []).append(instance.matrix_world.copy())
            for obj in deforming(depsgraph):
                if not _settings(obj, "use_motion_blur") or not _settings(obj, "use_deform_motion"):
                    continue
                mesh = obj.to_mesh()
                if mesh:
                    self._shapes.setdefault(obj.name_full, []).append(read_shape(mesh))
                obj.to_mesh_clear()
            self._gather_strands(depsgraph)
        whole = math.floor(frame)
        frame_set(whole, frame - whole)

    def _gather_strands(self, depsgraph: bpy.types.Depsgraph) -> None:
        for obj in depsgraph.objects:
            if not _settings(obj, "use_motion_blur") or not _settings(obj, "use_deform_motion"):
                continue
            for name in [""] if obj.type == "CURVES" else [system.name for system in hair.systems_of(obj, depsgraph.mode)]:
                found = hair.strands_of(obj, name, depsgraph.mode)
                if found:
                    self._strands.setdefault((obj.name_full, name), []).append(found)

    def strands_of(self, obj: bpy.types.Object, system_name: str) -> list[hair.Strands] | None:
        """Over the shutter. None: they do not move in their object."""
        keys = self._strands.get((obj.name_full, system_name), [])
        if len(keys) != len(self._times):
            return None
        if any(not np.array_equal(key.counts, keys[0].counts) for key in keys):
            self._report.warn(f"Object '{obj.name}'", "its strands come and go while the shutter is open: they are not "
                                                      "blurred by their motion in it")
            return None
        is_still = all(np.allclose(key.points, keys[0].points, rtol=0, atol=STILL_STRANDS_M) for key in keys)
        return None if is_still else keys

    def placement(self, instance: bpy.types.DepsgraphObjectInstance) -> dict | None:
        """The fields of the record of the instance, as it stands in the frame, that place it. None: it is a point."""
        keys = self._matrices.get(key_of(instance), [])
        if len(keys) != len(self._times):  # it is not there all the time, or is not to move
            keys = [instance.matrix_world]
        return _record(keys)

    def camera_keys(self) -> list[Matrix]:
        return _even_turns(self._camera)

    def shapes_of(self, obj: bpy.types.Object) -> list[Shape] | None:
        """None: it does not deform."""
        shapes = self._shapes.get(obj.name_full, [])
        if len(shapes) != len(self._times):
            return None
        first = shapes[0]
        if any(s.positions.shape != first.positions.shape or (s.normals is None) != (first.normals is None)
               or s.normals is not None and s.normals.shape != first.normals.shape for s in shapes):
            self._report.warn(f"Object '{obj.name}'", "its vertices come and go while the shutter is open: it is not "
                                                      "blurred by its deformation")
            return None
        is_still = all(np.allclose(s.positions, first.positions, rtol=0, atol=STILL) for s in shapes)
        return None if is_still else shapes


def _settings(obj: bpy.types.Object, name: str) -> bool:
    """Cycles' switches of an object, where its add-on is on."""
    return bool(getattr(getattr(obj, "cycles", None), name, True))


def _steps(obj: bpy.types.Object) -> int:
    """Intervals over the shutter, as Cycles counts them."""
    return 1 << min(getattr(getattr(obj, "cycles", None), "motion_steps", 1), 7)


def key_of(instance: bpy.types.DepsgraphObjectInstance) -> tuple:
    parent = instance.parent.name_full if instance.is_instance and instance.parent else ""
    return (instance.object.name_full, parent, tuple(instance.persistent_id) if parent else ())


def deforming(depsgraph: bpy.types.Depsgraph) -> Iterator[bpy.types.Object]:
    """Objects whose mesh may change: what a modifier, a shape key or a curve makes."""
    for obj in depsgraph.objects:
        if obj.type in ("MESH", "CURVE", "SURFACE", "FONT", "META") and (obj.modifiers or getattr(obj.data, "shape_keys", None)):
            yield obj


def _record(keys: list[Matrix]) -> dict | None:
    keys = _even_turns(keys)
    keys = [axes.with_thickness(key) for key in keys]
    if None in keys:
        return None
    placed = [axes.place(key) for key in keys]
    return {"transform": placed[0]} if len(placed) == 1 else {"motion": placed}


def _even_turns(keys: list[Matrix]) -> list[Matrix]:
    """One key for what stands still; enough of them for what turns."""
    if all(abs(a - b) <= STILL * max(1.0, abs(b)) for key in keys for ra, rb in zip(key, keys[0])
           for a, b in zip(ra, rb)):
        return [keys[0]]
    parts = [key.decompose() for key in keys]
    turn = max(a[1].rotation_difference(b[1]).angle for a, b in zip(parts, parts[1:]))
    between = min(math.ceil(min(turn, 2 * math.pi - turn) / TURN_MAX), (KEYS_MAX - 1) // (len(keys) - 1))
    if between < 2:
        return keys
    out = []
    for (place_a, turn_a, scale_a), (place_b, turn_b, scale_b) in zip(parts, parts[1:]):
        out += [Matrix.LocRotScale(place_a.lerp(place_b, k / between), turn_a.slerp(turn_b, k / between),
                                   scale_a.lerp(scale_b, k / between)) for k in range(between)]
    return out + [keys[-1]]
