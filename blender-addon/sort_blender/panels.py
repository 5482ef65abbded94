"""Panels: SORT's own in the render properties, and Blender's panels for cameras, lights, materials and so
on, which are shown for engines that are listed in their COMPAT_ENGINES."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

import bpy

from . import farm, messages, registration, render_settings, resume
from .engine_name import ENGINE
from .presets import SORT_PT_presets
from .versions import EEVEE, shutter_settings

LINE_CHARACTERS = 64


class RenderPanel(bpy.types.Panel):
    """A panel of the render properties, for SORT alone."""
    bl_space_type = "PROPERTIES"
    bl_region_type = "WINDOW"
    bl_context = "render"
    COMPAT_ENGINES = {ENGINE}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return context.engine in cls.COMPAT_ENGINES


class _SettingsPanel(RenderPanel):
    names: tuple[str, ...] = ()

    def draw(self, context: bpy.types.Context) -> None:
        self.draw_names(context)

    def draw_names(self, context: bpy.types.Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        for name in self.names:
            layout.prop(context.scene.sort, name)


class SORT_PT_sampling(_SettingsPanel):
    bl_label = "Sampling"
    names = ("samples", "preview_samples", "guiding", "time_limit_s", "seed", "animate_seed", "keeps_interrupted")

    def draw_header_preset(self, context: bpy.types.Context) -> None:
        SORT_PT_presets.draw_panel_header(self.layout)

    def draw(self, context: bpy.types.Context) -> None:
        settings = context.scene.sort
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        row = layout.row(heading="Noise Threshold")
        row.prop(settings, "use_adaptive", text="")
        value = row.row()
        value.active = settings.use_adaptive
        value.prop(settings, "adaptive_error", text="")
        self.draw_names(context)
        if settings.keeps_interrupted and resume.is_waiting(context.scene):
            layout.operator("render.render", text="Resume Interrupted Render", icon="RENDER_STILL")


class SORT_PT_denoise(_SettingsPanel):
    bl_label = "Denoise"
    bl_parent_id = "SORT_PT_sampling"
    names = ("use_preview_denoising", "denoiser")

    def draw_header(self, context: bpy.types.Context) -> None:
        self.layout.prop(context.scene.sort, "use_denoising", text="")


class SORT_PT_light_paths(_SettingsPanel):
    bl_label = "Light Paths"
    names = ("integrator",)

    def draw(self, context: bpy.types.Context) -> None:
        self.draw_names(context)
        for name in render_settings.names_in(render_settings.LIGHT_PATHS):
            self.layout.prop(context.scene.sort, name)
        self.layout.operator("sort.take_cycles_settings", icon="IMPORT")


class SORT_PT_film(_SettingsPanel):
    bl_label = "Film"
    names = ("pixel_filter", "filter_width")

    def draw(self, context: bpy.types.Context) -> None:
        self.draw_names(context)
        self.layout.prop(context.scene.render, "film_transparent", text="Transparent")


class SORT_PT_motion_blur(RenderPanel):
    bl_label = "Motion Blur"
    bl_options = {"DEFAULT_CLOSED"}

    def draw_header(self, context: bpy.types.Context) -> None:
        self.layout.prop(context.scene.render, "use_motion_blur", text="")

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.active = context.scene.render.use_motion_blur
        settings = shutter_settings(context.scene)
        if settings:
            layout.prop(settings, "motion_blur_position", text="Position")
        layout.prop(context.scene.render, "motion_blur_shutter")


class SORT_PT_textures(_SettingsPanel):
    bl_label = "Textures"
    names = ("texture_memory_mib", "texture_filter", "mip_mode", "mip_bias")

    def draw(self, context: bpy.types.Context) -> None:
        self.draw_names(context)
        if messages.last().texture_use:
            _draw_text(self.layout.column(align=True), messages.last().texture_use, "INFO")
        self.layout.operator("sort.texture_report", text="Texture Report of the Last Render", icon="URL")


class SORT_PT_performance(_SettingsPanel):
    bl_label = "Performance"
    bl_options = {"DEFAULT_CLOSED"}
    names = ("cpu",)

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        render = context.scene.render
        layout.prop(render, "threads_mode")
        if render.threads_mode == "FIXED":
            layout.prop(render, "threads")
        self.draw_names(context)


class SORT_PT_passes(RenderPanel):
    bl_label = "Passes"
    bl_context = "view_layer"

    def draw(self, context: bpy.types.Context) -> None:
        layer = context.view_layer
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        column = layout.column(heading="Data", align=True)
        for name in ("use_pass_z", "use_pass_mist", "use_pass_position", "use_pass_normal", "use_pass_vector", "use_pass_uv",
                     "use_pass_object_index", "use_pass_material_index"):
            column.prop(layer, name)
        for name in ("use_pass_albedo", "use_pass_samples"):
            column.prop(layer.sort, name)
        if hasattr(layer, "cycles"):
            column.prop(layer.cycles, "denoising_store_passes", text="Denoising Data")
        for kind in ("diffuse", "glossy", "transmission"):
            row = layout.row(heading=kind.capitalize(), align=True)
            for part in ("direct", "indirect", "color"):
                row.prop(layer, f"use_pass_{kind}_{part}", text=part.capitalize(), toggle=True)
        column = layout.column(heading="Light", align=True)
        for name in ("use_pass_emit", "use_pass_environment", "use_pass_ambient_occlusion", "use_pass_shadow"):
            column.prop(layer, name)
        if layer.use_pass_ambient_occlusion and context.scene.world:
            column.prop(context.scene.world.light_settings, "distance", text="AO Distance")
        if hasattr(layer, "cycles"):
            column.prop(layer.cycles, "use_pass_shadow_catcher")
        column = layout.column(heading="Cryptomatte", align=True)
        column.prop(layer, "use_pass_cryptomatte_object", text="Object")
        column.prop(layer, "use_pass_cryptomatte_material", text="Material")
        row = layout.row()
        row.active = layer.use_pass_cryptomatte_object or layer.use_pass_cryptomatte_material
        row.prop(layer, "pass_cryptomatte_depth", text="Levels")


class SORT_PT_override(RenderPanel):
    bl_label = "Override"
    bl_context = "view_layer"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.prop(context.view_layer, "material_override")
        layout.prop(context.view_layer, "samples")


class SORT_PT_farm(_SettingsPanel):
    bl_label = "Farm"
    bl_options = {"DEFAULT_CLOSED"}
    names = ("farm_folder", "farm_frames", "farm_engine", "farm_part_minutes", "farm_packs_images")

    def draw(self, context: bpy.types.Context) -> None:
        self.draw_names(context)
        if context.scene.sort.farm_engine == "SLURM":
            self.layout.prop(context.scene.sort, "farm_options")
        self.layout.operator("sort.farm_submit", icon="RENDER_ANIMATION")
        row = self.layout.row(align=True)
        for name in ("sort.farm_resume", "sort.farm_stop", "sort.farm_page"):
            row.operator(name)
        column = self.layout.column(align=True)
        if farm.farm.status:
            _draw_text(column, farm.farm.status, "INFO")
        if farm.farm.error:
            _draw_text(column, farm.farm.error, "CANCEL")


class SORT_PT_messages(RenderPanel):
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


# Panels of all engines, whose settings SORT does not have: they would do nothing.
FOREIGN = {
    "RENDER_PT_simplify_greasepencil", "RENDER_PT_gpencil", "RENDER_PT_grease_pencil_render", "RENDER_PT_grease_pencil_viewport",
    "RENDER_PT_freestyle",
}
# Panels of Eevee whose settings SORT has too, as Cycles has them in panels of its own. A name may be of one version.
OF_EEVEE = {
    "DATA_PT_EEVEE_light", "NODE_DATA_PT_EEVEE_light", "DATA_PT_camera_dof", "DATA_PT_camera_dof_aperture",
    "EEVEE_MATERIAL_PT_context_material", "EEVEE_MATERIAL_PT_surface", "EEVEE_MATERIAL_PT_displacement",
    "EEVEE_MATERIAL_PT_settings", "EEVEE_NEXT_MATERIAL_PT_settings", "MATERIAL_PT_preview",
    "EEVEE_WORLD_PT_surface", "EEVEE_WORLD_PT_mist",
}


def _shared_panels() -> Iterator[type]:
    for panel in bpy.types.Panel.__subclasses__():
        engines = getattr(panel, "COMPAT_ENGINES", ())
        if ("BLENDER_RENDER" in engines and panel.__name__ not in FOREIGN) or (
                EEVEE in engines and panel.__name__ in OF_EEVEE):
            yield panel


_lent: list[type] = []  # Blender's panels that show SORT's settings too

CLASSES = (SORT_PT_sampling, SORT_PT_denoise, SORT_PT_light_paths, SORT_PT_film, SORT_PT_motion_blur, SORT_PT_textures, SORT_PT_performance,
           SORT_PT_farm, SORT_PT_messages, SORT_PT_passes, SORT_PT_override)


_register, _unregister = registration.pair(CLASSES)


def register() -> None:
    _register()
    _lent.extend(_shared_panels())
    for panel in _lent:
        panel.COMPAT_ENGINES.add(ENGINE)


def unregister() -> None:
    for panel in _lent:
        panel.COMPAT_ENGINES.discard(ENGINE)
    _lent.clear()
    _unregister()
