"""Panels: SORT's own in the render properties, and Blender's panels for cameras, lights, materials and so
on, which are shown for engines that are listed in their COMPAT_ENGINES."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

import bpy

from . import messages
from .engine import ENGINE

LINE_CHARACTERS = 64


class _RenderPanel(bpy.types.Panel):
    bl_space_type = "PROPERTIES"
    bl_region_type = "WINDOW"
    bl_context = "render"
    COMPAT_ENGINES = {ENGINE}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return context.engine in cls.COMPAT_ENGINES


class SORT_PT_sampling(_RenderPanel):
    bl_label = "Sampling"

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        for name in ("samples", "max_depth", "seed", "filter_width"):
            layout.prop(context.scene.sort, name)


class SORT_PT_textures(_RenderPanel):
    bl_label = "Textures"

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.prop(context.scene.sort, "texture_memory_mib")


class SORT_PT_messages(_RenderPanel):
    bl_label = "Messages of the Last Render"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        report = messages.last()
        return super().poll(context) and bool(report.error or report.warnings)

    def draw(self, context: bpy.types.Context) -> None:
        column = self.layout.column(align=True)
        report = messages.last()
        if report.error:
            _draw_text(column, report.error, "CANCEL")
        for text in report.warnings:
            _draw_text(column, text, "ERROR")


def _draw_text(column: bpy.types.UILayout, text: str, icon: str) -> None:
    for paragraph in text.splitlines():
        for line in textwrap.wrap(paragraph, LINE_CHARACTERS):
            column.label(text=line, icon=icon)
            icon = "BLANK1"


# Settings that SORT does not have; the panels of these would do nothing.
FOREIGN = {
    "RENDER_PT_simplify_greasepencil", "RENDER_PT_gpencil", "RENDER_PT_freestyle",
    "VIEWLAYER_PT_filter", "VIEWLAYER_PT_layer_passes", "DATA_PT_EEVEE_shadow",
}


def _shared_panels() -> Iterator[type]:
    for panel in bpy.types.Panel.__subclasses__():
        engines = getattr(panel, "COMPAT_ENGINES", ())
        if panel.__name__ in FOREIGN or panel.__name__.startswith(("RENDER_PT_eevee", "RENDER_PT_opengl")):
            continue
        if "BLENDER_RENDER" in engines or (
                "BLENDER_EEVEE" in engines and panel.__name__.startswith(
                    ("EEVEE_MATERIAL_PT", "EEVEE_WORLD_PT", "DATA_PT_EEVEE", "MATERIAL_PT", "WORLD_PT",
                     "DATA_PT", "CAMERA_PT"))):
            yield panel


CLASSES = (SORT_PT_sampling, SORT_PT_textures, SORT_PT_messages)


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    for panel in _shared_panels():
        panel.COMPAT_ENGINES.add(ENGINE)


def unregister() -> None:
    for panel in bpy.types.Panel.__subclasses__():
        if ENGINE in getattr(panel, "COMPAT_ENGINES", ()) and panel not in CLASSES + (_RenderPanel,):
            panel.COMPAT_ENGINES.discard(ENGINE)
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
