"""A material's node tree as a group of SORT's shader units (docs/reference/ssl-groups.md): one unit for each node that
the surface needs, one wire for each link. Node groups are flattened: their nodes are called GROUP/NODE.

What a unit cannot do is listed in the report, with material and node. A surface or a colour that comes from a
node that is not known is magenta; a number or vector that does is the socket's own value.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import bpy
import numpy as np

from ..messages import Report
from ..script_node import NODE as SCRIPT
from ..versions import BENT_NORMALS_ARE_VALID
from . import node_options, node_table, script, single, units
from .image import ImageExporter
from .surroundings import Surroundings

MAGENTA = [1.0, 0.0, 1.0]
STEPS_MAX = 10000  # a cycle of links must not hang us
LUMINANCE = (0.2126, 0.7152, 0.0722)
BENDING = {"unit:bump", "unit:normal_map"}  # units whose normals differ from that of the surface
COLOUR_SOCKET, SHADER_SOCKET, NUMBERS = "RGBA", "SHADER", ("VALUE", "INT", "BOOLEAN")
# Nodes that hold a value, since 5.1 in materials too: where they have it.
CONSTANTS = {"FunctionNodeInputBool": "boolean", "FunctionNodeInputInt": "integer", "FunctionNodeInputVector": "vector"}
Path = tuple  # of the group nodes that lead to a tree


@dataclass(frozen=True)
class Feed:
    """An output that feeds an input."""
    node: bpy.types.Node
    socket: bpy.types.NodeSocket
    path: Path


@dataclass(frozen=True)
class Own:
    """Nothing feeds the input: the value of `socket` counts, which may be that of another socket, outside of
    a group; or a node whose output `socket` is, and that holds nothing but `value`."""
    socket: bpy.types.NodeSocket
    value: object = None


def feed_of(socket: bpy.types.NodeSocket, path: Path) -> Feed | Own:
    """Seen through reroutes, muted nodes, and in and out of node groups."""
    for _ in range(STEPS_MAX):
        if not socket.is_linked:  # to ask for its links goes through all of the tree
            return Own(socket)
        link = next((l for l in socket.links if l.is_valid and not l.is_muted), None)
        if link is None:
            return Own(socket)
        node = link.from_node
        if node.type == "REROUTE":
            socket = node.inputs[0]
        elif node.mute:
            through = next((l.from_socket for l in node.internal_links if l.to_socket == link.from_socket), None)
            if through is None:
                return Own(socket)
            socket = through
        elif node.type == "GROUP":
            inner = _group_output(node)
            within = _called(inner.inputs, link.from_socket.identifier) if inner else None
            if within is None:
                return Own(socket)
            path += (node,)
            socket = within
        elif node.type == "GROUP_INPUT" and path:
            outside = _called(path[-1].inputs, link.from_socket.identifier)
            if outside is None:
                return Own(socket)
            socket = outside
            path = path[:-1]
        elif node.type in ("RGB", "VALUE"):
            return Own(node.outputs[0])
        elif node.bl_idname in CONSTANTS:
            return Own(link.from_socket, getattr(node, CONSTANTS[node.bl_idname]))
        else:
            return Feed(node, link.from_socket, path)
    return Own(socket)


def _group_output(node: bpy.types.Node) -> bpy.types.Node | None:
    if node.node_tree is None:
        return None
    outputs = [n for n in node.node_tree.nodes if n.type == "GROUP_OUTPUT"]
    return next((n for n in outputs if n.is_active_output), outputs[0] if outputs else None)


def _called(sockets: bpy.types.bpy_prop_collection, identifier: str) -> bpy.types.NodeSocket | None:
    """None: there is none, as beyond the socket that only makes new ones."""
    return next((s for s in sockets if s.identifier == identifier), None)


def value_for(own: Own, wanted: bpy.types.NodeSocket) -> float | int | bool | list[float] | None:
    """The value of `own` in the type of `wanted`, as links convert. None: it has none."""
    value = getattr(own.socket, "default_value", None) if own.value is None else own.value
    if value is None or isinstance(value, str):
        return None
    if not isinstance(value, (bool, int, float)):
        value = [float(x) for x in value][:3]
    is_list = isinstance(value, list)
    if wanted.type in ("RGBA", "VECTOR"):
        return value if is_list else [float(value)] * 3
    if wanted.type not in NUMBERS:
        return None
    if is_list:
        weights = LUMINANCE if own.socket.type == COLOUR_SOCKET else (1 / 3,) * 3
        value = sum(w * x for w, x in zip(weights, value))
    return float(value)


class GraphBuilder:
    """The group of one material, world or light; `owner` is what messages call it ("Material 'Wood'")."""

    def __init__(self, owner: str, images: ImageExporter, report: Report, surroundings: Surroundings | None = None,
                 is_world: bool = False, material_index: int = 0, ball_m: float = 0.0, is_panel: bool = False) -> None:
        self._owner = owner
        self.images = images
        self.surroundings = surroundings or Surroundings()
        self.is_world = is_world
        self.ball_m = ball_m  # of a light: its radius
        self.is_panel = is_panel  # it is an area light
        self.is_bent_as_a_whole = False  # a displacement bends the normal of the surface, and no node that of a closure
        self.sun_node: bpy.types.Node | None = None  # of a world: the sky whose sun is a light of its own
        self.material_index = material_index
        self._report = report
        self._records: dict[str, dict] = {}
        self._wires: list[list[str]] = []
        self._valid: dict[str, str] = {}  # by port: the unit that makes its normals valid
        self._made: dict[tuple, str | None] = {}  # by node: its name in the group; None: not supported
        self._lit: dict[str, str] = {}  # by port of a value: the unit that shines by it
        self.attributes: dict[str, str] = {}  # "node.attribute": attribute of the mesh
        self.notes: dict[str, list[tuple[str, str]]] = {}  # by such an attribute: node, what is done without it
        self.normal_maps: list[tuple[str, str]] = []  # node, the UV map it names
        self.on_displaced: list[bpy.types.Node] = []  # normal maps that are told to lie on what a displacement makes

    def record(self, surface: str) -> dict:
        """The material's, whose surface is the output `surface` ("node.output")."""
        self._drop_what_leads_nowhere(surface)
        group = {"nodes": self._records, "wires": self._wires, "outputs": {"surface": surface}}
        return {"group": group, "attributes": self.attributes} if self.attributes else {"group": group}

    def _drop_what_leads_nowhere(self, surface: str) -> None:
        """Such as the coordinates of a node that has nothing to show."""
        feeds: dict[str, list[str]] = {}
        for port, to in self._wires:
            feeds.setdefault(_node_of(to), []).append(_node_of(port))
        needed, left = set(), [_node_of(surface)]
        while left:
            name = left.pop()
            if name not in needed:
                needed.add(name)
                left += feeds.get(name, ())
        self._records = {name: record for name, record in self._records.items() if name in needed}
        self._wires = [wire for wire in self._wires if _node_of(wire[1]) in needed]
        self.attributes = {key: value for key, value in self.attributes.items() if _node_of(key) in needed}

    def surface(self, socket: bpy.types.NodeSocket, displacement: bpy.types.NodeSocket | None = None, is_moved: bool = False) -> str:
        """The port of what feeds `socket`, with its normals bent by what feeds `displacement`. `is_moved`: that should move vertices."""
        bump = self._displacement(displacement, is_moved) if displacement else None
        before = set(self._records)
        surface = self._surface(socket)
        for name, record in list(self._records.items()) if bump else ():
            for parameter in node_table.BENT.get(record["shader"].removeprefix("unit:"), ()):
                if name not in before and not self.is_wired(f"{name}.{parameter}"):
                    self._wire_normal(bump, name, parameter)
        for node in self.on_displaced if bump else ():
            self.warn(node, "Displaced Base is not supported yet; it is rendered as Original Base")
        self.is_bent_as_a_whole = bump is not None and not any(record["shader"] in BENDING for record in self._records.values())
        return surface

    def _displacement(self, socket: bpy.types.NodeSocket, is_moved: bool) -> str | None:
        feed = feed_of(socket, ())
        port = self.output(feed, socket) if isinstance(feed, Feed) else None
        if port is None:
            return None
        if is_moved:
            self.warn(feed.node, "displacement moves no vertices yet; it bends normals, as a bump")
        name = self.unit("displacement bump", "displacement_bump")
        self.wire(port, f"{name}.moved")
        return f"{name}.bumped"

    def _surface(self, socket: bpy.types.NodeSocket) -> str:
        feed = feed_of(socket, ())
        if isinstance(feed, Own):
            return self._own_surface(feed) or self.unit("black", "emission", {"strength": 0.0}) + ".light"
        return self.output(feed, socket) or self._magenta()

    def unit(self, wanted: str, unit: str, parameters: dict | None = None) -> str:
        """Adds a node; its name."""
        base = re.sub(r"[\x00-\x1f\x7f.]", "_", wanted).encode()[:200].decode("utf-8", "ignore") or "node"
        name, number = base, 2
        while name in self._records:
            name, number = f"{base} #{number}", number + 1
        self._records[name] = {"shader": f"unit:{unit}", "parameters": parameters or {}}
        return name

    def use_source(self, name: str, file: str, source: str, entry: str) -> None:
        """SSL of the artist's own instead of a unit."""
        self._records[name].update(shader=self.images.writer.add_shader(file, source), entry=entry)

    def wire(self, port: str, to: str) -> None:
        self._wires.append([port, to])

    def bind_texture(self, name: str, handle: str, texture: dict) -> None:
        self._records[name].setdefault("textures", {})[handle] = texture

    def where(self, node: bpy.types.Node) -> str:
        return f"{self._owner}, node '{node.name}'"

    def warn(self, node: bpy.types.Node, what: str) -> None:
        self._report.warn(self.where(node), what)

    def output(self, feed: Feed, target: bpy.types.NodeSocket) -> str | None:
        """The port of the group that `feed` is. None: not supported, which was said."""
        spec = _spec(feed.node)
        if spec is None and feed.node.bl_idname == SCRIPT:
            self.warn(feed.node, f"{script.refusal(feed.node)}; {_instead(target)}")
            return None
        if spec is None:
            self.warn(feed.node, f"{feed.node.bl_label} nodes are not supported yet; {_instead(target)}")
            return None
        output = spec.output(feed.node, feed.socket)
        if output is None:
            self.warn(feed.node, f"output {feed.socket.name} of {feed.node.bl_label} is not supported yet; "
                                 f"{_instead(target)}")
            return None
        if feed.socket.type == SHADER_SOCKET != target.type:
            self.warn(feed.node, f"a shader is no value; {_instead(target)}")
            return None
        self._make_what_feeds(feed, target)
        name = self.add_node(feed, spec, _instead(target))
        if name is None:
            return None
        port = f"{name}.{output}"
        return self._shining(port) if target.type == SHADER_SOCKET != feed.socket.type else port

    def _make_what_feeds(self, feed: Feed, target: bpy.types.NodeSocket) -> None:
        """The nodes behind it, the farthest first, so that add_node() calls itself but once however long the chain."""
        started, left = set(), [(feed, target, False)]
        while left:
            feed, target, is_due = left.pop()
            spec = _spec(feed.node)
            if is_due:
                self.add_node(feed, spec, _instead(target))
            elif spec is not None and _key(feed) not in self._made and _key(feed) not in started:
                started.add(_key(feed))
                left.append((feed, target, True))
                sockets = [s for s in feed.node.inputs if s.enabled and isinstance(spec.input(feed.node, s), str)]
                given = [(feed_of(socket, feed.path), socket, False) for socket in reversed(sockets)]
                left += [entry for entry in given if isinstance(entry[0], Feed)]

    def _wire_normal(self, port: str, name: str, parameter: str) -> None:
        """Closures of Blender 3 turn normals back that mirrors would look through the surface by."""
        unit = self._records[name]["shader"].removeprefix("unit:")
        if BENT_NORMALS_ARE_VALID and parameter in node_table.BENT.get(unit, ()) and unit not in node_table.NOT_CLOSURES:
            port = self._valid_normal(port)
        self.wire(port, f"{name}.{parameter}")

    def _valid_normal(self, port: str) -> str:
        """Once for each port."""
        if port not in self._valid:
            self._valid[port] = self.unit("valid normal", "valid_normal")
            self.wire(port, f"{self._valid[port]}.shading_normal")
        return f"{self._valid[port]}.valid"

    def add_node(self, feed: Feed, spec: node_table.Node, instead: str = "") -> str | None:
        """The name of its unit; once for each node. None: it lacks something, which was said. `instead`: what is then
        rendered."""
        key = _key(feed)
        if key not in self._made:
            self._made[key] = None  # for what leads back here
            unit = spec.unit_of(feed.node)
            parameters = spec.options(feed.node)
            if not self._are_settings_known(feed.node, spec, unit, parameters, instead):
                return None
            names = [node.name for node in feed.path] + [feed.node.name]
            name = self.unit("/".join(names), unit, parameters)
            for socket in feed.node.inputs:
                if socket.enabled:
                    self._input(feed, spec, socket, name)
            is_there = spec.finish is None or spec.finish(self, feed.node, name) is not False
            self._keep_finite(feed.node, name)
            self._made[key] = name if is_there else None
        return self._made[key]

    def _shining(self, port: str) -> str:
        """A value where a surface is wanted is light of that colour, as in Cycles."""
        if port not in self._lit:
            self._lit[port] = self.unit("light of a value", "emission")
            self.wire(port, f"{self._lit[port]}.tint")
        return f"{self._lit[port]}.light"

    def _own_surface(self, own: Own) -> str | None:
        """Returns the port of a light unit that emits the plain value of `own`; None if `own` has no such value."""
        value = None if own.socket.type == SHADER_SOCKET else value_for(own, own.socket)
        if value is None:
            return None
        colour = value if isinstance(value, list) else [float(value)] * 3
        return self.unit("light of a value", "emission", {"tint": colour}) + ".light"

    def _keep_finite(self, node: bpy.types.Node, name: str) -> None:
        """Packages hold numbers, and neither infinity nor what is no number."""
        given = self.parameters(name)
        for parameter, value in given.items():
            if not single.fits(value):
                self.warn(node, f"{parameter} is not finite; 0 is used")
                given[parameter] = [0.0] * len(value) if isinstance(value, list) else 0.0

    def _are_settings_known(self, node: bpy.types.Node, spec: node_table.Node, unit: str, parameters: dict,
                            instead: str) -> bool:
        """False: it is set to something whose result cannot be guessed. A surface is rendered as its unit is by default."""
        for name, unread in spec.settings.items():
            value = getattr(node, name, unread.neutral)
            if value != unread.neutral:
                self.warn(node, f"{_label(node, name)} {value} is not supported yet; it is rendered as {unread.neutral}")
        known = units.unit(unit) if unit != script.UNIT else None
        unknown = known.unknown_choice(parameters) if known else None
        while unknown:
            choice = parameters.pop(unknown)
            if not known.is_surface():
                self.warn(node, f"{choice} is not supported yet; {instead}")
                return False
            self.warn(node, f"{choice} is not supported yet; it is rendered as {known.usual[unknown]}")
            unknown = known.unknown_choice(parameters)
        return True

    def _input(self, feed: Feed, spec: node_table.Node, socket: bpy.types.NodeSocket, name: str) -> None:
        parameter = spec.input(feed.node, socket)
        given = feed_of(socket, feed.path)
        if isinstance(parameter, str) and not self._takes(name, parameter):
            parameter = node_table.Unread(None)
        if not isinstance(parameter, str):
            if isinstance(given, Feed) or (
                    parameter and not socket.hide_value and not _is(value_for(given, socket), parameter.neutral)):
                self.warn(feed.node, f"{socket.name} is not supported yet and is left out")
            return
        if isinstance(given, Feed):
            port = self.output(given, socket)
            if port is None and socket.type == SHADER_SOCKET:
                port = self._magenta()
            if port is not None:
                self._wire_normal(port, name, parameter)
                return
            value = MAGENTA if socket.type == COLOUR_SOCKET else value_for(Own(socket), socket)
        elif socket.type == SHADER_SOCKET:
            port, value = self._own_surface(given), None
            if port:
                self.wire(port, f"{name}.{parameter}")
        else:
            value = value_for(given, socket)
        if socket.hide_value and (isinstance(given, Feed) or given.socket == socket):
            if spec.default_vector and socket.name == "Vector":
                self.wire(self.default_vector(spec.default_vector), f"{name}.{parameter}")
        elif value is not None:
            self._records[name]["parameters"][parameter] = value

    def _takes(self, name: str, parameter: str) -> bool:
        shader = self._records[name]["shader"].removeprefix("unit:")
        return shader == script.UNIT or parameter in units.unit(shader).inputs

    def parameters(self, name: str) -> dict:
        return self._records[name]["parameters"]

    def is_wired(self, to: str) -> bool:
        return any(wire[1] == to for wire in self._wires)

    def note_attribute(self, node: bpy.types.Node, attribute: str, instead: str) -> None:
        """Where a mesh lacks it, the report says so."""
        self.notes.setdefault(attribute, []).append((self.where(node), instead))

    def default_vector(self, kind: str) -> str:
        if kind == "position":
            if "default position" not in self._records:
                self.unit("default position", "geometry")
            return "default position.place"
        if kind == "tangent":
            if "default tangent" not in self._records:
                node_options.bind_tangent(self, self.unit("default tangent", "geometry"))
            return "default tangent.along"
        if "default vector" not in self._records:
            self.unit("default vector", "texture_coordinate", node_options.coordinates_of(self))
        if kind == "shading_normal":
            node_options.bind_rows(self, "default vector")
        if kind == "box":
            self.attributes["default vector.generated"] = node_options.GENERATED
        return f"default vector.{kind}"

    def _magenta(self) -> str:
        if "magenta" not in self._records:
            self.unit("magenta", "emission", {"tint": MAGENTA, "strength": 1.0})
        return "magenta.light"


def _key(feed: Feed) -> tuple:
    """Returns a key that identifies the node and the groups that lead to it."""
    return tuple(node.as_pointer() for node in feed.path), feed.node.as_pointer()


def _spec(node: bpy.types.Node) -> node_table.Node | None:
    """Returns the node's table entry; None if its type is not known, or if it is a script with errors."""
    return script.script_spec(node) if node.bl_idname == SCRIPT else node_table.NODES.get(node.bl_idname)


def _node_of(port: str) -> str:
    """Returns the node of a port "node.socket"."""
    return port.rpartition(".")[0]


def _instead(target: bpy.types.NodeSocket) -> str:
    if target.type in (SHADER_SOCKET, COLOUR_SOCKET):
        return f"{target.name} is magenta"
    value = value_for(Own(target), target)
    if target.hide_value or value is None:
        return f"{target.name} is as if it were not linked"
    return f"{target.name} is {[round(x, 4) for x in value] if isinstance(value, list) else f'{value:g}'}"


def _is(value: object, neutral: object) -> bool:
    """Numbers of sockets have the digits of floats."""
    return value == neutral if not isinstance(neutral, float) else isinstance(value, float) and abs(value - neutral) < 1e-6


def _label(node: bpy.types.Node, setting: str) -> str:
    """Returns the label that the artist reads beside it."""
    return node.bl_rna.properties[setting].name
