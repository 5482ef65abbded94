"""The add-on's preferences: where the renderer is, and whether all is there that a render needs."""

from __future__ import annotations

import bpy

from . import locate, material_library, registration
from .messages import SortError


class SortPreferences(bpy.types.AddonPreferences):
    bl_idname = __package__

    renderer: bpy.props.StringProperty(
        name="Renderer", subtype="FILE_PATH",
        description="sort-render, or the folder it is in. Empty: the bundled one, or the one on PATH")
    has_listed_materials: bpy.props.BoolProperty(options={"HIDDEN"})

    def draw(self, context: bpy.types.Context) -> None:
        self.layout.prop(self, "renderer")
        for find in (_renderer_line, _numpy_line):
            try:
                self.layout.label(text=find(), icon="CHECKMARK")
            except SortError as error:
                self.layout.label(text=str(error), icon="ERROR")
        material_library.draw(self.layout)


_versions: dict[str, str] = {}  # by program; drawing must not start a process each time


def _renderer_line() -> str:
    program = locate.find_renderer(renderer_preference())
    if str(program) not in _versions:
        _versions[str(program)] = locate.renderer_version(program)
    return f"{_versions[str(program)]}: {program}"


def _numpy_line() -> str:
    locate.require_numpy()
    return "numpy is installed"


def renderer_preference() -> str:
    addon = bpy.context.preferences.addons.get(__package__)
    return bpy.path.abspath(addon.preferences.renderer) if addon else ""


register, unregister = registration.pair((SortPreferences,))
