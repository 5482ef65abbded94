"""Settings of Blender and Cycles that change Cycles' picture and that SORT does not follow: where one is not as usual, the report
says so. tests/blender/test_addon_settings.py goes through all settings that there are: each is followed, or stands here, or in
the test's list of those that do not matter, with the reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import bpy

from ..messages import Report

MISSING = object()


@dataclass(frozen=True)
class Setting:
    """`path`: from the thing that a row is about. `usual`: the value at which nothing is to be said. `only_with`: a path to a
    switch without which the setting has no effect."""
    path: str
    usual: object
    text: str
    only_with: str = ""


SCENE = (
    Setting("cycles.caustics_reflective", True, "caustics cannot be switched off yet: Reflective Caustics are rendered"),
    Setting("cycles.caustics_refractive", True, "caustics cannot be switched off yet: Refractive Caustics are rendered"),
    Setting("cycles.use_fast_gi", False, "Fast GI Approximation is not supported: all light is traced"),
    Setting("cycles.film_transparent_glass", False, "Transparent Glass is not supported yet: glass shows the world, not "
            "what the picture is laid over", "render.film_transparent"),
    Setting("cycles.rolling_shutter_type", "NONE", "a rolling shutter is not supported yet: all of the picture is exposed "
            "at once", "render.use_motion_blur"),
    Setting("cycles.use_camera_cull", False, "Camera Culling is not supported: objects out of view are rendered too",
            "render.use_simplify"),
    Setting("cycles.use_distance_cull", False, "Distance Culling is not supported: objects far off are rendered too",
            "render.use_simplify"),
)
VIEW_LAYER = (
    Setting("pass_alpha_threshold", 0.5, "the passes' Alpha Threshold is not supported: they are of the first surface"),
)
OBJECT = (
    Setting("cycles.use_adaptive_subdivision", False, "Adaptive Subdivision is not supported yet: the mesh is as the "
            "modifiers make it"),
    Setting("cycles.shadow_terminator_offset", 0.0, "Shading Offset of its Shadow Terminator is not supported"),
    Setting("cycles.shadow_terminator_geometry_offset", 0.1, "Geometry Offset of its Shadow Terminator is not supported"),
    Setting("shadow_terminator_shading_offset", 0.0, "Shading Offset of its Shadow Terminator is not supported"),
    Setting("shadow_terminator_geometry_offset", 0.1, "Geometry Offset of its Shadow Terminator is not supported"),
)
WORLD = (
    Setting("cycles.use_shadows", True, "Cast Shadow cannot be switched off yet: the world's light is shadowed"),
)
SPOT = (
    Setting("use_soft_falloff", True, "Soft Falloff of spots cannot be switched off yet: it has the shape of a disk", "shadow_soft_size"),
)
MATERIAL = (
    Setting("cycles.use_transparent_shadow", True, "Transparent Shadows cannot be switched off yet: light passes where it is "
            "transparent"),
    Setting("use_transparent_shadow", True, "Transparent Shadows cannot be switched off yet: light passes where it is "
            "transparent"),
)


def of_light(light: bpy.types.Light) -> tuple[Setting, ...]:
    return SPOT if light.type == "SPOT" else ()


def warn(thing: bpy.types.bpy_struct, settings: Iterable[Setting], where: str, report: Report) -> None:
    for setting in settings:
        value = _at(thing, setting.path)
        if value is MISSING or setting.only_with and not _at(thing, setting.only_with):
            continue
        is_usual = abs(value - setting.usual) < 1e-6 if isinstance(setting.usual, float) else value == setting.usual
        if not is_usual:
            report.warn(where, setting.text)


def _at(thing: object, path: str) -> object:
    for name in path.split("."):
        thing = getattr(thing, name, MISSING)
        if thing is None or thing is MISSING:
            return thing
    return thing
