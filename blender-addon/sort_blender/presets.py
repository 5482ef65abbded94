"""Presets: sets of settings to begin with, in the header of the Sampling panel, followed by those that the artist has saved."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
from bl_operators.presets import AddPresetBase
from bl_ui.utils import PresetPanel

from . import registration


@dataclass(frozen=True)
class Preset:
    label: str
    meaning: str  # with what it costs
    values: dict[str, object]


PRESETS = {
    "PREVIEW": Preset("Preview", "To look at light and materials: 32 samples at most and four bounces, without noise after denoising", {
        "use_adaptive": True, "adaptive_error": 0.05, "samples": 32, "use_denoising": True, "denoiser": "nfor", "max_depth": 5,
        "diffuse_bounces": 2, "glossy_bounces": 3, "transmission_bounces": 4, "clamp_indirect": 5.0}),
    "FINAL": Preset("Final", "Stops each pixel when it is clean, after 1024 samples at most: as long as the noise of the scene takes", {
        "use_adaptive": True, "adaptive_error": 0.01, "samples": 1024, "use_denoising": True, "denoiser": "nfor", "max_depth": 13,
        "diffuse_bounces": 4, "glossy_bounces": 4, "transmission_bounces": 12, "clamp_indirect": 10.0}),
    "INTERIOR": Preset("Interior", "For rooms lit by little: twice the diffuse bounces of Final and up to 2048 samples, so two to four times its time", {
        "use_adaptive": True, "adaptive_error": 0.01, "samples": 2048, "use_denoising": True, "denoiser": "nfor", "max_depth": 17,
        "diffuse_bounces": 8, "glossy_bounces": 6, "transmission_bounces": 12, "clamp_indirect": 10.0}),
    "REFERENCE": Preset("Reference", "Nothing that changes the mean of the light: every pixel gets 4096 samples, no clamps, no blur, no denoiser", {
        "use_adaptive": False, "samples": 4096, "use_denoising": False, "max_depth": 65, "diffuse_bounces": 64, "glossy_bounces": 64,
        "transmission_bounces": 64, "clamp_direct": 0.0, "clamp_indirect": 0.0, "filter_glossy": 0.0}),
}
# What a preset that an artist saves holds.
SAVED = sorted({name for preset in PRESETS.values() for name in preset.values})


class SORT_OT_apply_preset(bpy.types.Operator):
    """Use the settings of a preset; others stay as they are"""
    bl_idname = "sort.apply_preset"
    bl_label = "Apply Preset"
    bl_options = {"UNDO", "INTERNAL"}

    preset: bpy.props.EnumProperty(name="Preset", items=[(key, preset.label, preset.meaning) for key, preset in PRESETS.items()])

    @classmethod
    def description(cls, context: bpy.types.Context, properties: bpy.types.OperatorProperties) -> str:
        return PRESETS[properties.preset].meaning

    def execute(self, context: bpy.types.Context) -> set[str]:
        for name, value in PRESETS[self.preset].values.items():
            setattr(context.scene.sort, name, value)
        return {"FINISHED"}


class SORT_OT_preset_add(AddPresetBase, bpy.types.Operator):
    """Save the present settings of sampling and light paths as a preset, or remove one"""
    bl_idname = "sort.preset_add"
    bl_label = "Add Preset"
    preset_menu = "SORT_PT_presets"
    preset_defines = ["settings = bpy.context.scene.sort"]
    preset_values = [f"settings.{name}" for name in SAVED]
    preset_subdir = "sort/render"


class SORT_PT_presets(PresetPanel, bpy.types.Panel):
    bl_label = "SORT Presets"
    preset_subdir = "sort/render"
    preset_operator = "script.execute_preset"
    preset_add_operator = "sort.preset_add"

    def draw(self, context: bpy.types.Context) -> None:
        column = self.layout.column()
        for key, preset in PRESETS.items():
            column.operator("sort.apply_preset", text=preset.label).preset = key
        PresetPanel.draw(self, context)


register, unregister = registration.pair((SORT_OT_apply_preset, SORT_OT_preset_add, SORT_PT_presets))
