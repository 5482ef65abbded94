"""Walking node trees: what feeds a socket, seen through reroutes and muted nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import bpy

STEPS_MAX = 1000  # a cycle of links must not hang us


@dataclass(frozen=True)
class Source:
    node: bpy.types.Node
    socket: bpy.types.NodeSocket  # the output that is taken


def source(socket: bpy.types.NodeSocket) -> Source | None:
    """Returns the output that feeds the input `socket`; None if nothing does, so that its own value counts."""
    for _ in range(STEPS_MAX):
        link = next((l for l in socket.links if l.is_valid and not l.is_muted), None)
        if link is None:
            return None
        node = link.from_node
        if node.type == "REROUTE":
            socket = node.inputs[0]
        elif node.mute:
            through = next((l.from_socket for l in node.internal_links if l.to_socket == link.from_socket),
                           None)
            if through is None:
                return None
            socket = through
        else:
            return Source(node, link.from_socket)
    return None


def source_of(node: bpy.types.Node, name: str) -> Source | None:
    """Returns the output that feeds the node's input of that name. None: nothing feeds it, or it has no such input, as when
    the output of a world stands in a material's tree."""
    socket = node.inputs.get(name)
    return source(socket) if socket else None


def own_value(socket: bpy.types.NodeSocket) -> float | list[float]:
    """A colour as three numbers."""
    value = socket.default_value
    return value if isinstance(value, (int, float)) else list(value)[:3]


def constant(socket: bpy.types.NodeSocket) -> float | list[float] | None:
    """The value of a socket that is not linked, or linked to an RGB or Value node; else None."""
    feed = source(socket)
    if feed is None:
        return own_value(socket)
    if feed.node.type not in ("RGB", "VALUE"):
        return None
    value = own_value(feed.node.outputs[0])
    wants_colour = socket.type == "RGBA"
    if wants_colour and not isinstance(value, list):
        return [value] * 3
    if not wants_colour and isinstance(value, list):
        return 0.2126 * value[0] + 0.7152 * value[1] + 0.0722 * value[2]
    return value


def linked_inputs(node: bpy.types.Node) -> Iterator[tuple[bpy.types.NodeSocket, Source]]:
    for socket in node.inputs:
        feed = source(socket)
        if feed is not None:
            yield socket, feed
