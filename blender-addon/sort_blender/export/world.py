"""The world: a colour, an environment image and its rotation, or else what its nodes make of a direction; the sun of a sky."""

from __future__ import annotations

import bpy
from mathutils import Euler, Matrix

from ..messages import Report
from ..versions import nodes_of
from . import axes, nodes, single, sky_node, unfollowed
from .layers import Layers
from .material import MaterialExporter

BLACK = {"color": [0.0, 0.0, 0.0]}
MAX_BOUNCES = 1024  # of Cycles' setting: without limit
# From a package environment's own frame, +z at the image's centre and +y at its top, to Blender's world,
# where Cycles has +x at the centre and +z at the top.
IMAGE_TO_BLENDER = Matrix(((0, 0, 1, 0), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 0, 1)))


def environment_record(world: bpy.types.World | None, layers: Layers, materials: MaterialExporter, report: Report) -> dict:
    """`world` is evaluated. A black sky is one all the same: without, the picture has holes (alpha)."""
    if world is None:
        return BLACK
    unfollowed.warn(world, unfollowed.WORLD, f"World '{world.name}'", report)
    group = layers.light_group(world.lightgroup)
    return {**_sky(world, group, materials, report), **group, **_paths(world)}


def _paths(world: bpy.types.World) -> dict:
    """Which rays see it."""
    fields: dict = {}
    visibility, settings = getattr(world, "cycles_visibility", None), getattr(world, "cycles", None)
    hidden = [kind for kind in ("camera", "diffuse", "glossy", "transmission")
              if visibility is not None and not getattr(visibility, kind)]
    if hidden:
        fields["invisible_to"] = hidden
    if settings is not None and settings.max_bounces < MAX_BOUNCES:
        fields["max_bounces"] = settings.max_bounces
    return {**fields, **_caustics(world)}


def _caustics(world: bpy.types.World) -> dict:
    """Whether casters of caustics throw its light on receivers; a sun of its own has the same fields."""
    return {"is_caustics_light": True} if getattr(getattr(world, "cycles", None), "is_caustics_light", False) else {}


def mist_settings(world: bpy.types.World | None) -> dict:
    """Fields of the settings."""
    if world is None:
        return {}
    mist = world.mist_settings
    return {"mist": {"start_m": max(mist.start, 0.0), "depth_m": max(mist.depth, 0.0), "falloff": mist.falloff.lower()}}


def _sky(world: bpy.types.World, group: dict, materials: MaterialExporter, report: Report) -> dict:
    tree = nodes_of(world)
    if tree is None:
        return {"color": list(world.color)}
    output = tree.get_output_node("CYCLES")
    if output is None:
        return BLACK
    if nodes.source_of(output, "Volume"):
        report.warn(f"World '{world.name}'", "its Volume is not supported yet and is left out")
    feed = nodes.source(output.inputs["Surface"])
    if feed is None:
        return BLACK
    sun = None
    if feed.node.type == "BACKGROUND":
        plain = _plain(feed.node, f"World '{world.name}'", materials, report)
        if plain:
            return plain
        sun = sky_node.sun_of(feed.node)
        if sun:
            sky_node.add_sun(sun, nodes.constant(feed.node.inputs["Strength"]), {**group, **_caustics(world)}, materials.images.writer)
    return {"material": materials.environment(world, output.inputs["Surface"], sun)}


def _even(colour: list[float], where: str, report: Report) -> dict:
    if single.fits(colour):
        return {"color": colour}
    report.warn(where, "its light is infinite or no number; it is black")
    return BLACK


def _plain(background: bpy.types.Node, where: str, materials: MaterialExporter, report: Report) -> dict | None:
    """What needs no shader: a colour, or an image that is only turned."""
    strength = nodes.constant(background.inputs["Strength"])
    colour = nodes.constant(background.inputs["Color"])
    if strength is None:
        return None
    if colour is not None:
        return _even([c * strength for c in colour], where, report)
    feed = nodes.source(background.inputs["Color"]).node
    if feed.type != "TEX_ENVIRONMENT" or feed.projection != "EQUIRECTANGULAR" or feed.interpolation == "Closest":
        return None
    turn = _rotation(feed)
    texture = materials.images.texture(feed.image, feed.image_user, f"{where}, node '{feed.name}'", wrap=None)
    if turn is None or texture is None or not 0 <= strength <= single.LARGEST:
        return None
    return {"image": texture, "transform": axes.place(turn @ IMAGE_TO_BLENDER), "strength": strength}


def _rotation(node: bpy.types.Node) -> Matrix | None:
    """From the frame in which the image is looked up to the world; None: it is more than a rotation."""
    feed = nodes.source_of(node, "Vector")
    if feed is None:
        return Matrix()
    turn = Matrix()
    if feed.node.type == "MAPPING":
        turn = _mapping_rotation(feed.node)
        feed = nodes.source_of(feed.node, "Vector")
    if turn is None or feed is None or feed.node.type != "TEX_COORD":
        return None
    is_direction = feed.socket.name == "Generated" or feed.socket.name == "Object" and feed.node.object is None
    return turn if is_direction else None


def _mapping_rotation(node: bpy.types.Node) -> Matrix | None:
    rotation = nodes.constant(node.inputs["Rotation"])
    scale = nodes.constant(node.inputs["Scale"])
    location = nodes.constant(node.inputs["Location"]) if "Location" in node.inputs else [0.0] * 3
    if rotation is None or scale != [1.0] * 3 or (location != [0.0] * 3 and node.vector_type != "VECTOR"):
        return None
    turn = Euler(rotation).to_matrix().to_4x4()
    # A point mapping turns the direction that is looked up, so the image turns the other way.
    return turn if node.vector_type == "TEXTURE" else turn.transposed()
