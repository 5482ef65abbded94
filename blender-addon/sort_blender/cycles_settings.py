"""Bounces, clamps, path guiding and the pixel filter, as the scene has them for Cycles.

When a scene is switched to SORT for the first time, it gets these; a button in the Light Paths panel takes them again. A
render does not wait for that: what the artist has not set counts as Cycles has it, so that `blender -b file.blend -E SORT`
renders the same. Without Cycles' add-on the properties' defaults hold.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import bpy

from . import registration, render_settings
from .engine_name import ENGINE

FILTERS = {"BLACKMAN_HARRIS": "blackman-harris", "GAUSSIAN": "gaussian", "BOX": "box"}
BOX_WIDTH = 1.0  # of Cycles' box filter, whatever its setting says

# By setting of SORT that is no row of the renderer's table: its value in the settings of Cycles.
OPTIONS: dict[str, Callable] = {
    "guiding": lambda cycles: "on" if getattr(cycles, "use_guiding", False) else "auto",
    "pixel_filter": lambda cycles: FILTERS.get(cycles.pixel_filter_type, "blackman-harris"),
    "filter_width": lambda cycles: BOX_WIDTH if cycles.pixel_filter_type == "BOX" else cycles.filter_width,
}


def _sources() -> dict[str, Callable]:
    return render_settings.of_cycles() | OPTIONS


def taken_from(scene: bpy.types.Scene) -> dict:
    """Values by setting, within their limits; none without Cycles."""
    cycles = getattr(scene, "cycles", None)
    return {name: _limited(scene.sort, name, value(cycles)) for name, value in _sources().items()} if cycles else {}


def _limited(settings: bpy.types.PropertyGroup, name: str, value: object) -> object:
    limits = settings.bl_rna.properties[name]
    return value if isinstance(value, (str, bool)) else min(max(value, limits.hard_min), limits.hard_max)


def unset_taken_from(scene: bpy.types.Scene) -> dict:
    """The values of taken_from() for settings that the artist has not set: a render uses these."""
    return {name: value for name, value in taken_from(scene).items() if not scene.sort.is_property_set(name)}


def options_of(scene: bpy.types.Scene) -> SimpleNamespace:
    """The settings of OPTIONS that a render of `scene` uses."""
    taken = unset_taken_from(scene)
    return SimpleNamespace(**{name: taken.get(name, getattr(scene.sort, name)) for name in OPTIONS})


def take(scene: bpy.types.Scene, is_anew: bool) -> None:
    """Writes the values of Cycles into the scene's own settings; unless `is_anew`, only into those that the artist has not set."""
    for name, value in (taken_from(scene) if is_anew else unset_taken_from(scene)).items():
        setattr(scene.sort, name, value)


class SORT_OT_take_cycles_settings(bpy.types.Operator):
    """Take bounces, clamps, Filter Glossy, path guiding and the pixel filter from the settings of Cycles"""
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
