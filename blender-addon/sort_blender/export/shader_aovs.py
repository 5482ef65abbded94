"""AOV Output nodes: what feeds them goes into layers of the picture that the view layer names (layers.py)."""

from __future__ import annotations

from collections.abc import Iterator

import bpy

from ..versions import aov_name
from . import node_table
from .graph import Feed, GraphBuilder, Path
from .layers import Layers

NODE = "ShaderNodeOutputAOV"


def add(builder: GraphBuilder, tree: bpy.types.NodeTree, layers: Layers, surface: str) -> str:
    """The port of `surface` with the values of all such nodes, in node groups too."""
    slots = list(layers.aovs)
    for node, path in _nodes(tree, ()):
        name = aov_name(node)
        if name not in layers.aovs:
            continue
        options = {"slot": float(slots.index(name)), "is_value": name in layers.values}
        spec = node_table.Node("aov_output", options=lambda _, given=options: given)
        unit = builder.add_node(Feed(node, node.inputs[0], path), spec)
        builder.wire(surface, f"{unit}.surface")
        surface = f"{unit}.noted"
    return surface


def _nodes(tree: bpy.types.NodeTree, path: Path) -> Iterator[tuple[bpy.types.Node, Path]]:
    for node in tree.nodes:
        if node.mute:
            continue
        if node.bl_idname == NODE:
            yield node, path
        elif node.type == "GROUP" and node.node_tree:
            yield from _nodes(node.node_tree, path + (node,))
