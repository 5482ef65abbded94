"""Panels of light groups and shader AOVs: lists in the view layer, and the group of an object and a world; what rays meet
an object."""

from __future__ import annotations

import bpy

from . import registration
from .engine_name import ENGINE
from .versions import AovPanel, LightGroupsPanel

WITH_SURFACE = {"MESH", "CURVE", "SURFACE", "FONT", "META", "CURVES", "POINTCLOUD"}


class SORT_PT_shader_aovs(AovPanel, bpy.types.Panel):
    bl_parent_id = "SORT_PT_passes"
    COMPAT_ENGINES = {ENGINE}


class SORT_PT_light_groups(LightGroupsPanel, bpy.types.Panel):
    bl_parent_id = "SORT_PT_passes"
    COMPAT_ENGINES = {ENGINE}


class _SettingsOf(bpy.types.Panel):
    bl_space_type = "PROPERTIES"
    bl_region_type = "WINDOW"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return context.engine == ENGINE and getattr(context, cls.bl_context) is not None

    def start(self) -> bpy.types.UILayout:
        self.layout.use_property_split = True
        self.layout.use_property_decorate = False
        return self.layout.column()


class SORT_PT_object_visibility(_SettingsOf):
    bl_label = "Visibility"
    bl_context = "object"

    def draw(self, context: bpy.types.Context) -> None:
        obj = context.object
        column = self.start()
        column.prop(obj, "hide_viewport", text="Show in Viewports", invert_checkbox=True, toggle=False)
        column.prop(obj, "hide_render", text="Show in Renders", invert_checkbox=True, toggle=False)
        if obj.type in WITH_SURFACE:
            column.prop(obj, "is_shadow_catcher")
            column.prop(obj, "is_holdout")
        column = self.layout.column(heading="Rays")
        for kind in ("camera", "diffuse", "glossy", "transmission") + (("shadow",) if obj.type != "LIGHT" else ()):
            column.prop(obj, f"visible_{kind}", text=kind.capitalize())


class SORT_PT_object_light_group(_SettingsOf):
    bl_label = "Light Group"
    bl_context = "object"

    def draw(self, context: bpy.types.Context) -> None:
        self.start().prop_search(context.object, "lightgroup", context.view_layer, "lightgroups", text="Light Group")


class SORT_PT_world_light_group(_SettingsOf):
    bl_label = "Light Group"
    bl_context = "world"

    def draw(self, context: bpy.types.Context) -> None:
        self.start().prop_search(context.world, "lightgroup", context.view_layer, "lightgroups", text="Light Group")


register, unregister = registration.pair((SORT_PT_shader_aovs, SORT_PT_light_groups, SORT_PT_object_visibility,
                                          SORT_PT_object_light_group, SORT_PT_world_light_group))
