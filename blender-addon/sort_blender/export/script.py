"""SSL Script nodes (script_node.py) as nodes of a group: the source goes into the package as a file."""

from __future__ import annotations

import hashlib
import json

import bpy

from . import node_table
from .node_options import VALUE

UNIT = "script"  # stands for the artist's own source, until it is known


def script_spec(node: bpy.types.Node) -> node_table.Node | None:
    """As of a row of the table. None: its source is not sound, of which refusal() tells."""
    shader, _ = node.shader()
    if shader is None or not node.names:
        return None
    names = json.loads(node.names)
    parameters = {p["name"]: p["type"] for p in shader["parameters"]}
    inputs = {s.identifier: names["inputs"].get(s.name) for s in node.inputs}
    outputs = {s.identifier: names["outputs"].get(s.name) for s in node.outputs}
    inputs = {key: name if name in parameters else None for key, name in inputs.items()}
    there = {output["name"] for output in shader["outputs"]}
    outputs = {key: name for key, name in outputs.items() if name in there}

    def finish(builder, node: bpy.types.Node, name: str) -> bool:
        return _finish(builder, node, name, shader, parameters)
    return node_table.Node(UNIT, inputs, outputs, finish=finish)


def refusal(node: bpy.types.Node) -> str:
    """Returns the errors of its source; "" if there are none."""
    return node.shader()[1] or ("" if node.names else "its sockets are not made yet: press Read the Source Again")


def _finish(builder, node: bpy.types.Node, name: str, shader: dict, parameters: dict) -> bool:
    source = node.source() or ""
    key = hashlib.blake2b(source.encode("utf-8", "replace"), digest_size=8).hexdigest()
    title = node.script.name if node.mode == "INTERNAL" else "script"
    given = builder.parameters(name)
    for parameter, value in given.items():
        if parameters[parameter] == "int":
            given[parameter] = round(value)
        elif parameters[parameter] == "bool":
            given[parameter] = bool(value)
    for option in node.options:
        if option.kind == "texture":
            texture = builder.images.texture(option.image, None, f"{builder.where(node)}, {option.label}")
            if texture is None:
                return False
            builder.bind_texture(name, option.parameter, texture)
        elif option.kind == "number":
            given[option.parameter] = option.choices.split("|").index(option.choice)
        else:
            given[option.parameter] = option.choice if option.kind == "choice" else option.text
    for attribute in (a for a in shader["attributes"] if a["declared"]):
        builder.attributes[f"{name}.{attribute['name']}"] = VALUE + attribute["name"]
    builder.use_source(name, f"{key} {title.removesuffix('.ssl')}.ssl", source, shader["shader"])
    return True
