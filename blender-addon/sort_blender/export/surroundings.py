"""The data that nodes use besides the material: the camera, the scene."""

from __future__ import annotations

from dataclasses import dataclass, field

import bpy
from mathutils import Matrix

from ..render_settings import NO_WORLD_OCCLUSION_M, occlusion_distance

LOOKS_ALONG_Z = Matrix(((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, -1, 0), (0, 0, 0, 1)))  # as Cycles' camera space
TO_UNIT_SQUARE = Matrix(((0.5, 0, 0, 0.5), (0, 0.5, 0, 0.5), (0, 0, 1, 0), (0, 0, 0, 1)))


def numbers(matrix: Matrix) -> list[float]:
    return [x for row in matrix for x in row]


@dataclass
class Surroundings:
    world_to_camera: Matrix = field(default_factory=Matrix)  # z up; the camera looks along +z
    world_to_window: Matrix | None = field(default_factory=Matrix)  # None: the picture is no plane
    depsgraph: bpy.types.Depsgraph | None = None
    occlusion_distance_m: float = NO_WORLD_OCCLUSION_M


def surroundings_of(depsgraph: bpy.types.Depsgraph, camera: bpy.types.Object | None) -> Surroundings:
    distance_m = occlusion_distance(depsgraph.scene_eval)
    if camera is None:
        return Surroundings(depsgraph=depsgraph, occlusion_distance_m=distance_m)
    camera = camera.evaluated_get(depsgraph)
    view = camera.matrix_world.normalized().inverted()
    window = None
    if camera.type == "CAMERA" and camera.data.type != "PANO":
        render = depsgraph.scene_eval.render
        projection = camera.calc_matrix_camera(
            depsgraph, x=max(render.resolution_x, 1), y=max(render.resolution_y, 1),
            scale_x=render.pixel_aspect_x, scale_y=render.pixel_aspect_y)
        window = TO_UNIT_SQUARE @ projection @ view
    return Surroundings(LOOKS_ALONG_Z @ view, window, depsgraph, distance_m)
