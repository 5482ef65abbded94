"""The world: one background colour, or an environment image and its rotation."""

from __future__ import annotations

import bpy
from mathutils import Euler, Matrix

from ..messages import Report
from . import axes, nodes
from .image import ImageExporter

BLACK = {"color": [0.0, 0.0, 0.0]}
MAGENTA = [1.0, 0.0, 1.0]
# From a package environment's own frame, +z at the image's centre and +y at its top, to Blender's world,
# where Cycles has +x at the centre and +z at the top.
IMAGE_TO_BLENDER = Matrix(((0, 0, 1, 0), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 0, 1)))


def environment_record(world: bpy.types.World | None, images: ImageExporter, report: Report) -> dict:
    """`world` is evaluated. A black sky is one all the same: without, the picture has holes (alpha)."""
    if world is None:
        return BLACK
    if not world.use_nodes or world.node_tree is None:
        return {"color": list(world.color)}
    output = world.node_tree.get_output_node("CYCLES")
    if output is None:
        return BLACK
    where = f"World '{world.name}'"
    if nodes.source(output.inputs["Volume"]):
        report.warn(where, "its Volume is not supported yet and is left out")
    feed = nodes.source(output.inputs["Surface"])
    if feed is None:
        return BLACK
    if feed.node.type != "BACKGROUND":
        return _magenta(feed.node, where, report)
    background = feed.node
    strength = nodes.constant(background.inputs["Strength"])
    if strength is None:
        node = nodes.source(background.inputs["Strength"]).node
        strength = nodes.own_value(background.inputs["Strength"])
        report.warn(f"{where}, node '{node.name}'",
                    f"{node.bl_label} is not supported in Strength yet; {strength:g} is used")
    colour = nodes.constant(background.inputs["Color"])
    if colour is not None:
        record = {"color": [max(c, 0.0) for c in colour]}
    else:
        record = _image(nodes.source(background.inputs["Color"]).node, where, images, report)
    return {**record, "strength": max(strength, 0.0)}


def _magenta(node: bpy.types.Node, where: str, report: Report) -> dict:
    report.warn(f"{where}, node '{node.name}'", f"{node.bl_label} nodes are not supported yet; magenta")
    return {"color": MAGENTA}


def _image(node: bpy.types.Node, where: str, images: ImageExporter, report: Report) -> dict:
    if node.type != "TEX_ENVIRONMENT":
        return _magenta(node, where, report)
    at = f"{where}, node '{node.name}'"
    if node.projection != "EQUIRECTANGULAR":
        report.warn(at, f"projection {node.projection} is not supported yet; magenta")
        return {"color": MAGENTA}
    turn = _rotation(node, where, report)
    texture = images.texture(node.image, node.image_user, at, wrap=None)
    if texture is None:
        return {"color": MAGENTA}
    return {"image": texture, "transform": axes.place(turn @ IMAGE_TO_BLENDER)}


def _rotation(node: bpy.types.Node, where: str, report: Report) -> Matrix:
    """From the frame in which the image is looked up to the world."""
    feed = nodes.source(node.inputs["Vector"])
    if feed is None:
        return Matrix()
    turn = Matrix()
    if feed.node.type == "MAPPING":
        turn = _mapping_rotation(feed.node, where, report)
        feed = nodes.source(feed.node.inputs["Vector"])
    if feed is None or feed.node.type != "TEX_COORD" or feed.socket.name not in ("Generated", "Object"):
        report.warn(f"{where}, node '{node.name}'",
                    "its Vector may only come from Texture Coordinate, Generated, through a Mapping; ignored")
        return Matrix()
    return turn


def _mapping_rotation(node: bpy.types.Node, where: str, report: Report) -> Matrix:
    rotation = nodes.constant(node.inputs["Rotation"])
    scale = nodes.constant(node.inputs["Scale"])
    location = nodes.constant(node.inputs["Location"]) if "Location" in node.inputs else [0.0] * 3
    if rotation is None or scale != [1.0] * 3 or (location != [0.0] * 3 and node.vector_type != "VECTOR"):
        report.warn(f"{where}, node '{node.name}'", "only a plain rotation is supported in Mapping yet")
    turn = Euler(rotation or [0.0] * 3).to_matrix().to_4x4()
    # A point mapping turns the direction that is looked up, so the image turns the other way.
    return turn if node.vector_type == "TEXTURE" else turn.transposed()
