"""The renderer's settings in Blender. settings_table.py, which is generated, has their fields, ranges, defaults and meanings; FORMS and
ELSEWHERE add what only Blender knows. A row that neither names becomes a property at the end of the Light Paths panel and is exported."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import bpy

from . import settings_table
from .settings_table import Row

LIGHT_PATHS = "Light Paths"
BY_HAND = ""  # the panel of a property that panels.py places itself
BLENDER_INT_MAX = (1 << 31) - 1


@dataclass(frozen=True)
class Form:
    """How Blender shows a row. `name`: the property's name in saved files, if it is not the field's. `default`: Cycles' default, where the
    renderer's is another. `offset`: what the field has more than the property. `cost`: what a
    larger value takes and gives. `of_cycles`: the property's value in Cycles' settings."""
    label: str
    panel: str = LIGHT_PATHS
    name: str = ""
    default: float | None = None
    soft_max: float | None = None
    offset: int = 0
    cost: str = ""
    of_cycles: Callable | None = None
    exported: Callable[[bpy.types.Scene, bpy.types.ViewLayer], object] | None = None


def _bounces(label: str, name: str, default: int, cost: str) -> Form:
    """Blender counts bounces; the renderer counts surfaces, and the last one is still lit."""
    return Form(label, name=name, default=default, soft_max=64, offset=1, cost=cost, of_cycles=lambda cycles: getattr(cycles, name))


def _seed(scene: bpy.types.Scene, _: bpy.types.ViewLayer) -> int:
    """Returns the seed, which differs from frame to frame if the artist chose so."""
    settings = scene.sort
    return (settings.seed + scene.frame_current if settings.animate_seed else settings.seed) % (1 << 32)


NO_WORLD_OCCLUSION_M = 10.0  # Blender's default


FORMS = {
    "samples": Form("Samples", BY_HAND, soft_max=4096, cost="time grows in proportion; four times as many halve the noise", exported=lambda scene, layer: layer.samples or scene.sort.samples),
    "max_depth": Form("Max Depth", default=13, soft_max=64, cost="each one more takes time where paths go on, as in bright rooms and glass; too few darken them", of_cycles=lambda cycles: cycles.max_bounces + 1),
    "max_diffuse": _bounces("Diffuse", "diffuse_bounces", 4, "more take time in rooms with bright walls; too few darken them"),
    "max_glossy": _bounces("Glossy", "glossy_bounces", 4, "more take time between mirrors and metals only"),
    "max_transmission": _bounces("Transmission", "transmission_bounces", 12, "more take time in glass only; too few make it black"),
    "max_transparent": Form("Max Transparent", cost="leaves and hair with alpha take time for each; too few make them black"),
    "roulette_depth": Form("Min Light Bounces", name="min_light_bounces", default=2, soft_max=64, offset=1, cost="rooms with bright walls have less noise",
                           of_cycles=lambda cycles: max(cycles.min_light_bounces, 2)),
    "clamp_direct": Form("Clamp Direct", soft_max=100, cost="a limit takes no time; a low one darkens highlights", of_cycles=lambda cycles: cycles.sample_clamp_direct),
    "clamp_indirect": Form("Clamp Indirect", default=10, soft_max=100, cost="a limit takes no time", of_cycles=lambda cycles: cycles.sample_clamp_indirect),
    "filter_glossy": Form("Filter Glossy", default=1, soft_max=10, cost="takes no time", of_cycles=lambda cycles: cycles.blur_glossy),
    "light_threshold": Form("Light Threshold", default=0.01, soft_max=1, cost="more of it saves time where paths are long and dim",
                            of_cycles=lambda cycles: cycles.light_sampling_threshold),
    "seed": Form("Seed", BY_HAND, exported=_seed),
}

def occlusion_distance(scene: bpy.types.Scene) -> float:
    """Blender's 0 means that nothing darkens; the renderer's, that it chooses the distance."""
    return max(scene.world.light_settings.distance, 1e-6) if scene.world else NO_WORLD_OCCLUSION_M


# Rows that are no property of the add-on: Blender or Cycles has the setting already.
ELSEWHERE = {
    "transparent_film": lambda scene: scene.render.film_transparent,
    "film_exposure": lambda scene: getattr(getattr(scene, "cycles", None), "film_exposure", 1.0),
    "ao_distance_m": occlusion_distance,
}


def _shown() -> Iterator[tuple[Row, Form]]:
    """The rows that are properties. The table is looked at anew each time: a test adds a row to it."""
    for row in settings_table.ROWS:
        if row.field not in ELSEWHERE:
            yield row, FORMS.get(row.field) or Form(row.field.replace("_", " ").title())


def _name_of(row: Row, form: Form) -> str:
    return form.name or row.field


def _property_of(row: Row, form: Form) -> object:
    words = {"name": form.label, "description": ". ".join(text[0].upper() + text[1:] for text in (row.meaning, form.cost) if text)}
    default = row.default - form.offset if form.default is None else form.default
    if row.kind == "BOOL":
        return bpy.props.BoolProperty(default=bool(default), **words)
    number, most = float, row.most
    make = bpy.props.FloatProperty
    if row.kind == "U32":
        number, make, most = int, bpy.props.IntProperty, min(row.most - form.offset, BLENDER_INT_MAX)
    soft_max = most if form.soft_max is None else form.soft_max
    return make(default=number(default), min=number(row.least - form.offset), max=number(most), soft_max=number(soft_max), **words)


def properties() -> dict[str, object]:
    """Definitions by name, for the annotations of a PropertyGroup."""
    return {_name_of(row, form): _property_of(row, form) for row, form in _shown()}


def names_in(panel: str) -> list[str]:
    return [_name_of(row, form) for row, form in _shown() if form.panel == panel]


def of_cycles() -> dict[str, Callable]:
    """By property: its value in the settings of Cycles."""
    return {_name_of(row, form): form.of_cycles for row, form in _shown() if form.of_cycles}


def exported(scene: bpy.types.Scene, view_layer: bpy.types.ViewLayer, taken: dict) -> dict:
    """The fields of the package's settings. `taken`: values by property that count before the scene's own."""
    fields = {name: value(scene) for name, value in ELSEWHERE.items()}
    for row, form in _shown():
        name = _name_of(row, form)
        value = form.exported(scene, view_layer) if form.exported else taken.get(name, getattr(scene.sort, name))
        fields[row.field] = value + form.offset if form.offset else value
    return fields
