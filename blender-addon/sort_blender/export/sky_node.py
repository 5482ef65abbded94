"""Sky Texture nodes: the table of the sky, and the sun as a light of its own."""

from __future__ import annotations

import math
from dataclasses import astuple
from typing import TYPE_CHECKING

import bpy
from mathutils import Vector

from ..versions import SUN_ADDS_TO_SKY, sky_dust, sky_model
from . import axes, nodes
from .background import BackgroundFailed
from .sky import Sky
from .sky_painter import MultipleSky, PaintedSky

if TYPE_CHECKING:
    from ..sort_package import PackageWriter

STRENGTH_MAX = 1e20  # far from where its irradiance is infinite
FULL_TURN_DEGREES = 179.999  # what a distant light can be


def unit_of(node: bpy.types.Node) -> str:
    return {"PREETHAM": "tex_sky_preetham", "HOSEK_WILKIE": "tex_sky_hosek"}.get(sky_model(node), "tex_sky_nishita")


def options(node: bpy.types.Node) -> dict:
    if sky_model(node) == "PREETHAM":
        return {"sun": list(node.sun_direction), "turbidity": node.turbidity}
    return {"sun": list(node.sun_direction if sky_model(node) == "HOSEK_WILKIE" else _direction(node))}


def finish(builder, node: bpy.types.Node, name: str) -> bool:
    model = sky_model(node)
    if model == "PREETHAM":
        return True
    if model == "HOSEK_WILKIE":
        return _finish_painted(builder, node, name)
    if model == "MULTIPLE_SCATTERING":
        builder.warn(node, "the ground below the horizon, and the sun's disc, are those of Single Scattering")
    elif model != "NISHITA":
        builder.warn(node, f"sky type {model} is not supported yet; light is scattered but once")
    if not builder.is_wired(f"{name}.coord"):  # with a disc there is no Vector
        builder.wire(builder.default_vector("position"), f"{name}.coord")
    sky = _sky(node)
    try:
        builder.bind_texture(name, "table", builder.images.table("sky", sky.key(), sky.table))
    except BackgroundFailed as error:
        builder.warn(node, f"sky type {model} is painted by Cycles, which could not be ({error}); light is scattered but once")
        sky = Sky(*astuple(sky))
        builder.bind_texture(name, "table", builder.images.table("sky", sky.key(), sky.table))
    if _has_disc(node):
        if node != builder.sun_node:
            builder.warn(node, "its sun is found by chance behind other nodes, which is noisy; as a light of its own it "
                               "stands straight behind Background")
        bottom, top = (list(colour * node.sun_intensity) for colour in sky.sun(node.sun_size))
        builder.parameters(name).update(half_angle=node.sun_size / 2, is_light=node == builder.sun_node,
                                        bottom=bottom, top=top, is_added=SUN_ADDS_TO_SKY)
    return True


def _finish_painted(builder, node: bpy.types.Node, name: str) -> bool:
    up = node.sun_direction
    sky = PaintedSky(math.atan2(up.z, math.hypot(up.x, up.y)), node.turbidity, node.ground_albedo)
    try:
        builder.bind_texture(name, "table", builder.images.table("sky", sky.key(), sky.table))
    except BackgroundFailed as error:
        builder.warn(node, f"sky type HOSEK_WILKIE is painted by Cycles, which could not be: {error}")
        return False
    return True


def sun_of(background: bpy.types.Node) -> bpy.types.Node | None:
    """The node whose sun can be a light: straight behind a Background of plain strength, in its usual place."""
    feed = nodes.source(background.inputs["Color"])
    if feed is None or feed.node.type != "TEX_SKY" or unit_of(feed.node) != "tex_sky_nishita" or not _has_disc(feed.node):
        return None
    strength = nodes.constant(background.inputs["Strength"])
    if strength is None or not abs(strength) < STRENGTH_MAX or nodes.source_of(feed.node, "Vector"):
        return None
    return feed.node


def add_sun(node: bpy.types.Node, strength: float, fields: dict, writer: PackageWriter) -> None:
    """Not seen by the camera, which sees the disc of the sky. `fields`: further ones of the record."""
    irradiance, elevation, angle = _sky(node).sun_light(node.sun_size)
    irradiance = irradiance * (node.sun_intensity * strength)
    if not any(irradiance):
        return
    horizontal = _direction(node).xy.normalized()
    toward = Vector((*(horizontal * math.cos(elevation)), math.sin(elevation)))
    turn = toward.to_track_quat("Z", "Y").to_matrix().to_4x4()
    writer.add("lights", "Sun of the sky", {
        "type": "distant", "irradiance": [float(x) for x in irradiance], "transform": axes.place(turn),
        "angle_degrees": min(math.degrees(angle), FULL_TURN_DEGREES), "invisible_to": ["camera"], **fields})


def _has_disc(node: bpy.types.Node) -> bool:
    return node.sun_disc and node.sun_size > 0 and node.sun_intensity > 0


def _direction(node: bpy.types.Node) -> Vector:
    """Toward the sun, z up; its rotation is clockwise from +y."""
    up, turn = node.sun_elevation, node.sun_rotation
    return Vector((math.sin(turn) * math.cos(up), math.cos(turn) * math.cos(up), math.sin(up)))


def _sky(node: bpy.types.Node) -> Sky:
    kind = MultipleSky if sky_model(node) == "MULTIPLE_SCATTERING" else Sky
    return kind(elevation=math.asin(min(max(math.sin(node.sun_elevation), -1), 1)), altitude_m=node.altitude,
                air=node.air_density, dust=sky_dust(node), ozone=node.ozone_density)
