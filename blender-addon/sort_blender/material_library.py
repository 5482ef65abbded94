"""The asset library of materials that the zip brings (scripts/material-library makes it), in Blender's asset browser: by itself when the
add-on is first there, and by a button in the preferences."""

from __future__ import annotations

from pathlib import Path

import bpy

from . import registration
from .versions import add_asset_library

NAME = "SORT Materials"
FOLDER = Path(__file__).parent / "materials"
FILE = FOLDER / "sort_materials.blend"


def is_listed() -> bool:
    """Whether the asset browser has it already, under whatever name."""
    libraries = bpy.context.preferences.filepaths.asset_libraries
    return any(library.path and Path(bpy.path.abspath(library.path)).resolve() == FOLDER.resolve() for library in libraries)


def put_into_browser() -> bool:
    """False: it is there already. One of its name whose folder is gone, as after the add-on has moved, gets the new folder."""
    if is_listed():
        return False
    for library in bpy.context.preferences.filepaths.asset_libraries:
        if library.name == NAME and not Path(bpy.path.abspath(library.path)).is_dir():
            library.path = str(FOLDER)
            break
    else:
        add_asset_library(NAME, str(FOLDER))
    bpy.context.preferences.is_dirty = True  # so that Blender saves them when it ends
    return True


def list_at_first() -> None:
    """Lists the library when it is first there, and where the add-on has moved; not after the artist has taken it out."""
    addon = bpy.context.preferences.addons.get(__package__)
    if not addon or not FILE.is_file():
        return
    has_moved = any(library.name == NAME and library.path and not Path(bpy.path.abspath(library.path)).is_dir()
                    for library in bpy.context.preferences.filepaths.asset_libraries)
    if has_moved or not addon.preferences.has_listed_materials:
        put_into_browser()
        addon.preferences.has_listed_materials = True


class SORT_OT_add_materials(bpy.types.Operator):
    """List the materials that come with SORT as a library of the asset browser, from which they are dragged onto objects"""
    bl_idname = "sort.add_materials"
    bl_label = "Add SORT's Materials to the Asset Browser"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if not FILE.is_file():
            cls.poll_message_set("This zip was packed without the materials: scripts/package-addon --bundle packs them")
            return False
        return True

    def execute(self, context: bpy.types.Context) -> set[str]:
        self.report({"INFO"}, f"The asset browser has now the library '{NAME}'" if put_into_browser()
                    else f"The asset browser lists {FOLDER} already")
        return {"FINISHED"}


def draw(layout: bpy.types.UILayout) -> None:
    layout.operator(SORT_OT_add_materials.bl_idname, icon="CHECKMARK" if is_listed() else "ASSET_MANAGER")


_register, _unregister = registration.pair((SORT_OT_add_materials,))


def register() -> None:
    _register()
    bpy.app.timers.register(list_at_first)  # while add-ons are enabled, Blender's data are closed


def unregister() -> None:
    if bpy.app.timers.is_registered(list_at_first):
        bpy.app.timers.unregister(list_at_first)
    _unregister()
