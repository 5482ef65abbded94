"""The pass Vector: where things are in the frames before and after. The depsgraph is evaluated anew at both; what was seen there is
kept by instance, and put into the records of the export proper, which is of the frame itself."""

from __future__ import annotations

import math
from collections.abc import Callable

import bpy
import numpy as np
from mathutils import Matrix

from . import axes
from .mesh import Shape, read_shape
from .motion import STILL, deforming, key_of

NAMES = ("previous", "next")  # fields of records
OF_NO_NEIGHBOUR = {"type", "clip_m"}  # fields of cameras


def is_asked_for(scene: bpy.types.Scene, view_layer: bpy.types.ViewLayer) -> bool:
    """Not beside motion blur, as in Cycles."""
    return view_layer.use_pass_vector and not (scene.render.use_motion_blur and view_layer.use_motion_blur)


class Neighbours:
    """gather() first."""

    def __init__(self) -> None:
        self._matrices: list[dict[tuple, Matrix]] = []
        self._shapes: list[dict[str, np.ndarray]] = []
        self._cameras: list[dict[str, dict]] = []

    def gather(self, depsgraph: bpy.types.Depsgraph, frame_set: Callable[[int, float], None],
               camera_records: Callable[[], dict[str, dict]]) -> None:
        """frame_set(frame, subframe) evaluates `depsgraph` at that time. Leaves it at the frame itself. camera_records(): the cameras'
        records by view, as they are then."""
        frame = depsgraph.scene.frame_current_final
        for time in (frame - 1, frame + 1):
            frame_set(math.floor(time), time - math.floor(time))
            self._cameras.append(camera_records())
            self._matrices.append({key_of(instance): instance.matrix_world.copy() for instance in depsgraph.object_instances})
            shapes = {}
            for obj in deforming(depsgraph):
                mesh = obj.to_mesh()
                if mesh:
                    shapes[obj.name_full] = read_shape(mesh).positions
                obj.to_mesh_clear()
            self._shapes.append(shapes)
        frame_set(math.floor(frame), frame - math.floor(frame))

    def placement(self, instance: bpy.types.DepsgraphObjectInstance, local: Matrix | None = None) -> dict:
        """The fields of its record that say where it is in the other frames; none for what stands still or is not there in both.
        `local`: where a part of it is in it."""
        local = local or Matrix()
        found = [matrices[key_of(instance)] for matrices in self._matrices if key_of(instance) in matrices]
        if len(found) < 2 or all(_is_same(matrix, instance.matrix_world) for matrix in found):
            return {}
        thick = [axes.with_thickness(matrix @ local) for matrix in found]
        return {} if None in thick else {name: axes.place(matrix) for name, matrix in zip(NAMES, thick)}

    def camera(self, view: str, record: dict) -> dict:
        """The same for the camera of a view, as `record` has it in the frame itself."""
        found = [cameras[view] for cameras in self._cameras]
        if all(other == record for other in found) or any(other.get("type") != record.get("type") for other in found):
            return {}
        return {name: {k: v for k, v in other.items() if k not in OF_NO_NEIGHBOUR} for name, other in zip(NAMES, found)}

    def has_shapes_of(self, obj: bpy.types.Object) -> bool:
        """Whether it may deform."""
        return all(obj.name_full in shapes for shapes in self._shapes)

    def shapes_of(self, obj: bpy.types.Object, positions: np.ndarray) -> list[Shape]:
        """In both frames. `positions`: in the frame itself. Empty: it does not deform, or its vertices come and go."""
        found = [shapes[obj.name_full] for shapes in self._shapes if obj.name_full in shapes]
        if len(found) < 2 or any(shape.shape != positions.shape for shape in found) or all(
                np.allclose(shape, positions, rtol=0, atol=STILL) for shape in found):
            return []
        return [Shape(shape, None) for shape in found]


def _is_same(a: Matrix, b: Matrix) -> bool:
    return all(abs(x - y) <= STILL * max(1.0, abs(y)) for ra, rb in zip(a, b) for x, y in zip(ra, rb))
