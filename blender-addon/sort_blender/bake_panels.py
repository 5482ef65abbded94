"""The panels of Render Properties > Bake. Their settings are Blender's own, which Cycles has too, but for the type. Bake from Multires is
Blender's own work, whatever the engine."""

from __future__ import annotations

import bpy

from . import registration
from .panels import RenderPanel
from .versions import multires_setting

LIGHT = {"COMBINED", "DIFFUSE", "GLOSSY", "TRANSMISSION"}


def _columns(panel: bpy.types.Panel) -> bpy.types.UILayout:
    panel.layout.use_property_split = True
    panel.layout.use_property_decorate = False
    return panel.layout


def _is_multires(context: bpy.types.Context) -> bool:
    return getattr(*multires_setting(context.scene, "use_multires"))


def _multires(layout: bpy.types.UILayout, context: bpy.types.Context, name: str, **how: str) -> None:
    layout.prop(*multires_setting(context.scene, name), **how)


class SORT_PT_bake(RenderPanel):
    bl_label = "Bake"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout, kind = _columns(self), context.scene.sort.bake_type
        if _is_multires(context):
            layout.operator("object.bake_image", icon="RENDER_STILL")
            _multires(layout, context, "use_multires")
            _multires(layout, context, "type")
            return
        layout.operator("object.bake", icon="RENDER_STILL").type = kind
        _multires(layout, context, "use_multires")
        layout.prop(context.scene.sort, "bake_type")
        if kind in LIGHT | {"EMIT", "SHADOW"}:
            row = layout.row()
            row.active = context.scene.camera is not None
            row.prop(context.scene.render.bake, "view_from")


class SORT_PT_bake_influence(RenderPanel):
    bl_label = "Influence"
    bl_parent_id = "SORT_PT_bake"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return super().poll(context) and not _is_multires(context) and context.scene.sort.bake_type in LIGHT | {"NORMAL"}

    def draw(self, context: bpy.types.Context) -> None:
        layout, kind, bake = _columns(self), context.scene.sort.bake_type, context.scene.render.bake
        if kind == "NORMAL":
            layout.prop(bake, "normal_space", text="Space")
            for axis in "rgb":
                layout.prop(bake, f"normal_{axis}", text=f"Swizzle {axis.upper()}")
            return
        last = ("diffuse", "glossy", "transmission", "emit") if kind == "COMBINED" else ("color",)
        column = layout.column(heading="Contributions", align=True)
        for name in ("direct", "indirect", *last):
            column.prop(bake, f"use_pass_{name}")


class SORT_PT_bake_selected_to_active(RenderPanel):
    bl_label = "Selected to Active"
    bl_parent_id = "SORT_PT_bake"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return super().poll(context) and not _is_multires(context)

    def draw_header(self, context: bpy.types.Context) -> None:
        self.layout.prop(context.scene.render.bake, "use_selected_to_active", text="")

    def draw(self, context: bpy.types.Context) -> None:
        layout, bake = _columns(self), context.scene.render.bake
        layout.active = bake.use_selected_to_active
        layout.prop(bake, "use_cage", text="Cage")
        if bake.use_cage:
            layout.prop(bake, "cage_object")
        layout.prop(bake, "cage_extrusion", text="Extrusion")
        layout.prop(bake, "max_ray_distance")


class SORT_PT_bake_output(RenderPanel):
    bl_label = "Output"
    bl_parent_id = "SORT_PT_bake"

    def draw(self, context: bpy.types.Context) -> None:
        layout, bake = _columns(self), context.scene.render.bake
        if _is_multires(context):
            self._draw_multires(layout, context)
            return
        layout.prop(bake, "target")
        if bake.target != "IMAGE_TEXTURES":
            return
        layout.prop(bake, "use_clear", text="Clear Image")
        layout.prop(bake, "margin_type", text="Margin")
        layout.prop(bake, "margin", text="Size")

    @staticmethod
    def _draw_multires(layout: bpy.types.UILayout, context: bpy.types.Context) -> None:
        kind = getattr(*multires_setting(context.scene, "type"))
        _multires(layout, context, "use_clear", text="Clear Image")
        if kind != "NORMALS":
            _multires(layout, context, "use_lores_mesh")
        if kind == "VECTOR_DISPLACEMENT":
            layout.prop(context.scene.render.bake, "displacement_space", text="Space")
        _multires(layout, context, "margin_type", text="Margin")
        _multires(layout, context, "margin", text="Size")


register, unregister = registration.pair((SORT_PT_bake, SORT_PT_bake_influence, SORT_PT_bake_selected_to_active, SORT_PT_bake_output))
