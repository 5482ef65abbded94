"""Lights, in Cycles' units: point, spot and area lights have a power in watts, suns an irradiance.

With power P, Cycles gives point and spot lights the radiant intensity P / (4 pi), whatever their size and
cone, and area lights the radiance P / (4 area), and from 4 on P / (pi area).
"""

from __future__ import annotations

import math

import bpy
from mathutils import Matrix

from ..messages import Report
from ..sort_package import PackageWriter
from ..versions import LIGHTS_AS_3, LIGHTS_SHARE_SHADOW
from . import axes, folding, light_mesh, light_power, nodes, single, unfollowed
from .light_power import TOO_BRIGHT
from .material import MaterialExporter

POINT_INTENSITY = 1 / (4 * math.pi)  # W/sr a watt
RAY_KINDS = ("camera", "diffuse", "glossy", "transmission")
MAX_BOUNCES = 1024  # of Cycles' setting: without limit


def add_light(obj: bpy.types.Object, carrier: bpy.types.Object, object_to_world: Matrix, fields: dict, links: dict,
              writer: PackageWriter, materials: MaterialExporter, report: Report) -> None:
    """`obj` is evaluated. `carrier`: what instances it, else itself. `fields`: further ones of the record. `links`: by which it is
    for some objects only."""
    light = obj.data
    where = f"Light '{obj.name}'"
    matrix = axes.without_scale(object_to_world)
    if matrix is None:
        report.warn(where, "it is scaled to nothing along an axis, or is nowhere, and is left out")
        return
    if light.type == "AREA" and hasattr(light, "cycles") and light.cycles.is_portal:
        # No light of its own, and Cycles ignores all other settings. Where a disk is a hint, so is the square around it.
        record = {"size": _area_size(light, object_to_world), "transform": axes.place(matrix)}
        if single.fits(record):
            writer.add("portals", obj.name, record)
        else:
            report.warn(where, "it is infinitely large and is left out")
        return
    unfollowed.warn(obj, unfollowed.OBJECT, where, report)
    paths = {**_paths(obj, carrier), **links}
    if light_mesh.is_needed(light):
        if _finds_caustics(light):
            report.warn(where, "Shadow Caustics of lights with nodes are not supported: its light through glass is found as paths "
                               "find it")
        light_mesh.add(obj, matrix, object_to_world, fields, paths, writer, materials, report)
        return
    unfollowed.warn(light, unfollowed.of_light(light), where, report)
    colour, nodes_factor = _emitted(light, where, materials, report)
    if light.type == "AREA":
        record = _area(light, object_to_world, colour)
    else:
        record = {"POINT": _point, "SPOT": _spot, "SUN": _sun}[light.type](light, colour)
    if not single.fits(record):
        report.warn(where, TOO_BRIGHT)
        return
    if _finds_caustics(light):
        record["is_caustics_light"] = True
    writer.add("lights", obj.name, {**record, **nodes_factor, **fields, "transform": axes.place(matrix), "is_solid": False,
                                    **paths})


def _finds_caustics(light: bpy.types.Light) -> bool:
    return getattr(getattr(light, "cycles", None), "is_caustics_light", False)


def _paths(obj: bpy.types.Object, carrier: bpy.types.Object) -> dict:
    """Which rays it is for. `carrier`: what instances it, else itself. Cycles' cameras do not see lights but when asked
    to."""
    fields: dict = {}
    hidden = [kind for kind in RAY_KINDS
              if not (getattr(obj, "visible_" + kind) and (kind == "camera" or getattr(carrier, "visible_" + kind)))]
    if hidden:
        fields["invisible_to"] = hidden
    if not _casts_shadow(obj.data):
        fields["casts_shadows"] = False
    settings = getattr(obj.data, "cycles", None)
    if settings is not None:
        if not settings.use_multiple_importance_sampling:
            fields["is_sampled_only"] = True
        if settings.max_bounces < MAX_BOUNCES:
            fields["max_bounces"] = settings.max_bounces
    return fields


def _casts_shadow(light: bpy.types.Light) -> bool:
    if LIGHTS_SHARE_SHADOW:
        return light.use_shadow
    return getattr(getattr(light, "cycles", None), "cast_shadow", True)


def _emitted(light: bpy.types.Light, where: str, materials: MaterialExporter, report: Report) -> tuple[list[float], dict]:
    """Colour times power, and a field of the record that says what its nodes multiply it by, where they are more than an
    Emission of plain numbers."""
    colour = light_power.colour_of(light)
    if not light.use_nodes or light.node_tree is None:
        return colour, {}
    output = light.node_tree.get_output_node("CYCLES")
    feed = nodes.source(output.inputs["Surface"]) if output else None
    if feed is None:
        return [0.0, 0.0, 0.0], {}
    if feed.node.type == "EMISSION":
        tint, strength = (nodes.constant(feed.node.inputs[name]) for name in ("Color", "Strength"))
        if tint is not None and strength is not None:
            return [c * t * strength for c, t in zip(colour, tint)], {}
    if not folding.is_even(output.inputs["Surface"]):
        report.warn(where, "its nodes may differ from ray to ray; all of its light is as they have it for the middle of the sun, seen "
                           "by a reflection")
    return colour, {"material": materials.light_factor(where, output.inputs["Surface"])}


def _scaled(colour: list[float], factor: float) -> list[float]:
    return [c * factor for c in colour]


def _point(light: bpy.types.PointLight, colour: list[float]) -> dict:
    intensity = _scaled(colour, POINT_INTENSITY)
    radius = light.shadow_soft_size
    if radius <= 0 or getattr(light, "use_soft_falloff", LIGHTS_AS_3):  # which keeps the disk in later versions
        return {"type": "point", "intensity": intensity, "radius_m": radius}
    return {"type": "sphere", "radius_m": radius, "radiance": _scaled(intensity, 1 / (math.pi * radius ** 2))}


def _spot(light: bpy.types.SpotLight, colour: list[float]) -> dict:
    outer = light.spot_size / 2
    inner = math.acos(min(math.cos(outer) + light.spot_blend * (1 - math.cos(outer)), 1.0))
    outer_degrees = min(max(math.degrees(outer), 1e-4), 90.0)
    return {"type": "spot", "intensity": _scaled(colour, POINT_INTENSITY), "radius_m": light.shadow_soft_size,
            "falloff": "smooth_cosine" if LIGHTS_AS_3 else "smooth", "outer_angle_degrees": outer_degrees,
            "inner_angle_degrees": min(math.degrees(inner), outer_degrees * (1 - 1e-4))}


def _sun(light: bpy.types.SunLight, colour: list[float]) -> dict:
    return {"type": "distant", "irradiance": colour,
            "angle_degrees": min(math.degrees(light.angle), 179.999)}


def _area_size(light: bpy.types.AreaLight, object_to_world: Matrix) -> list[float]:
    is_even = light.shape in ("SQUARE", "DISK")
    width = light.size * object_to_world.col[0].xyz.length
    height = (light.size if is_even else light.size_y) * object_to_world.col[1].xyz.length
    return [max(width, 1e-6), max(height, 1e-6)]


def _area(light: bpy.types.AreaLight, object_to_world: Matrix, colour: list[float]) -> dict:
    size = _area_size(light, object_to_world)
    is_round = light.shape in ("DISK", "ELLIPSE")
    area = size[0] * size[1] * (math.pi / 4 if is_round else 1)
    record = {"type": "area_ellipse" if is_round else "area_rectangle", "size": size,
              "radiance": _scaled(colour, light_mesh.AREA_RADIANCE / (area if light_power.is_normalized(light) else 1))}
    if light_mesh.is_grid(light):
        record["spread_degrees"] = light_mesh.spread_degrees(light)
    return record
