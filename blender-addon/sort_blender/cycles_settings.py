"""Bounces, clamps and the pixel filter, as the scene has them for Cycles.

When a scene is switched to SORT for the first time, it gets these; a button in the Light Paths panel takes them again. A
render does not wait for that: what the artist has not set counts as Cycles has it, so that `blender -b file.blend -E SORT`
renders the same. Without Cycles' add-on the defaults of properties.py hold.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import bpy

from . import registration
from .engine_name import ENGINE

FILTERS = {"BLACKMAN_HARRIS": "blackman-harris", "GAUSSIAN": "gaussian", "BOX": "box"}
BOX_WIDTH = 1.0  # of Cycles' box filter, whatever its setting says

# By setting of SORT: what it is, of the settings of Cycles.
TAKEN: dict[str, Callable] = {
    "max_depth": lambda cycles: cycles.max_bounces + 1,  # surfaces, of which the camera sees the first
    "diffuse_bounces": lambda cycles: cycles.diffuse_bounces,
    "glossy_bounces": lambda cycles: cycles.glossy_bounces,
    "transmission_bounces": lambda cycles: cycles.transmission_bounces,
    "clamp_direct": lambda cycles: cycles.sample_clamp_direct,
    "clamp_indirect": lambda cycles: cycles.sample_clamp_indirect,
    "filter_glossy": lambda cycles: cycles.blur_glossy,
    "pixel_filter": lambda cycles: FILTERS.get(cycles.pixel_filter_type, "blackman-harris"),
    "filter_width": lambda cycles: BOX_WIDTH if cycles.pixel_filter_type == "BOX" else cycles.filter_width,
}


def taken_from(scene: bpy.types.Scene) -> dict:
    """Values by setting, within their limits; none without Cycles."""
    cycles = getattr(scene, "cycles", None)
    return {name: _limited(scene.sort, name, value(cycles)) for name, value in TAKEN.items()} if cycles else {}


def _limited(settings: bpy.types.PropertyGroup, name: str, value: object) -> object:
    limits = settings.bl_rna.properties[name]
    return value if isinstance(value, str) else min(max(value, limits.hard_min), limits.hard_max)


def settings_of(scene: bpy.types.Scene) -> SimpleNamespace:
    """Those of TAKEN that a render of `scene` uses."""
    own = scene.sort
    found = {name: getattr(own, name) for name in TAKEN}
    return SimpleNamespace(**found | {name: value for name, value in taken_from(scene).items() if not own.is_property_set(name)})


def take(scene: bpy.types.Scene, is_anew: bool) -> None:
    """Writes them into the scene's own settings; unless anew, where the artist has set nothing."""
    for name, value in taken_from(scene).items():
        if is_anew or not scene.sort.is_property_set(name):
            setattr(scene.sort, name, value)


class SORT_OT_take_cycles_settings(bpy.types.Operator):
    """Take bounces, clamps, Filter Glossy and the pixel filter from the settings of Cycles"""
    bl_idname = "sort.take_cycles_settings"
    bl_label = "Take Cycles' Settings"
    bl_options = {"UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return hasattr(context.scene, "cycles")

    def execute(self, context: bpy.types.Context) -> set[str]:
        take(context.scene, is_anew=True)
        return {"FINISHED"}


def take_where_switched() -> None:
    """Scenes that are rendered by SORT and have not got their settings yet."""
    for scene in bpy.data.scenes:
        if scene.render.engine == ENGINE and scene.library is None:
            take(scene, is_anew=False)


@bpy.app.handlers.persistent
def _file_is_read(*_: object) -> None:
    _listen()  # which a new file ends
    take_where_switched()


_owner = object()  # of the subscription


def _listen() -> None:
    bpy.msgbus.clear_by_owner(_owner)
    bpy.msgbus.subscribe_rna(key=(bpy.types.RenderSettings, "engine"), owner=_owner, args=(), notify=take_where_switched)


_register, _unregister = registration.pair((SORT_OT_take_cycles_settings,))


def register() -> None:
    _register()
    bpy.app.handlers.load_post.append(_file_is_read)
    _listen()


def unregister() -> None:
    bpy.msgbus.clear_by_owner(_owner)
    bpy.app.handlers.load_post.remove(_file_is_read)
    _unregister()
