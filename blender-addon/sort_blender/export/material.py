"""Materials: the node at the surface output becomes a unit of SORT's library, its inputs become parameters
and texture bindings.

What a unit cannot do is listed in the report, with material and node. A surface node that is not known, or a
colour that comes from such a node, is magenta; a number that comes from one is the socket's own value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import bpy

from ..messages import Report
from . import nodes
from .image import ImageExporter
from .package import PackageWriter

MAGENTA = [1.0, 0.0, 1.0]
WRAPS = {"REPEAT": "periodic", "EXTEND": "clamp", "CLIP": "black", "MIRROR": "mirror"}
DEFAULT_ALBEDO = [0.8, 0.8, 0.8]  # Blender's, of objects without a material
DIELECTRIC_IOR = 1.5
DISNEY_SPECULAR = 0.08  # reflectance at normal incidence of the Principled BSDF's Specular 1


@dataclass
class Surface:
    """Arguments of unit:standard_surface."""
    parameters: dict = field(default_factory=dict)
    textures: dict = field(default_factory=dict)

    def record(self) -> dict:
        flags = {f"has_{name}": True for name in self.textures}
        return {"shader": "unit:standard_surface", "parameters": {**self.parameters, **flags},
                "textures": self.textures}


def _black() -> Surface:
    return Surface({"base": 0.0, "specular": 0.0})


def _glowing(colour: list[float]) -> Surface:
    surface = _black()
    surface.parameters.update(emission=1.0, emission_color=colour)
    return surface


class MaterialExporter:
    def __init__(self, writer: PackageWriter, images: ImageExporter, report: Report) -> None:
        self._writer = writer
        self._images = images
        self._report = report
        self._names: dict[str, str] = {}
        self._uv_maps: dict[str, list[tuple[str, str]]] = {}  # by material: node, the UV map it names

    def name_of(self, material: bpy.types.Material | None, uv_name: str) -> str:
        """The name in the package. `uv_name`: the render-active UV map of a mesh that wears it."""
        key = material.name_full if material else ""
        if key not in self._names:
            reader = _Reader(key, self._images, self._report)
            record = _read(material, reader)
            self._names[key] = self._writer.add("materials", key or "Default", record)
            self._uv_maps[key] = reader.uv_maps
        for where, wanted in self._uv_maps[key]:
            if wanted != uv_name:
                self._report.warn(where, f"UV map '{wanted}' is not the render-active one of each mesh; "
                                         "only that one is supported yet")
        return self._names[key]


def _read(material: bpy.types.Material | None, reader: _Reader) -> dict:
    if material is None:
        return Surface({"base_color": DEFAULT_ALBEDO, "specular": 0.0}).record()
    if not material.use_nodes or material.node_tree is None:
        return Surface({"base_color": list(material.diffuse_color)[:3], "specular": 0.0}).record()
    output = material.node_tree.get_output_node("CYCLES")
    if output is None:
        return _black().record()
    for name in ("Volume", "Displacement"):
        if nodes.source(output.inputs[name]):
            reader.warn(output, f"{name} is not supported yet and is left out")
    feed = nodes.source(output.inputs["Surface"])
    if feed is None:
        return _black().record()
    read = SURFACES.get(feed.node.type)
    if read is None:
        reader.warn(feed.node, f"{feed.node.bl_label} nodes are not supported yet; magenta")
        return _glowing(MAGENTA).record()
    return read(feed.node, reader)


class _Reader:
    """Inputs of the nodes of one material."""

    def __init__(self, material: str, images: ImageExporter, report: Report) -> None:
        self._material = material
        self._images = images
        self._report = report
        self.uv_maps: list[tuple[str, str]] = []

    def where(self, node: bpy.types.Node) -> str:
        return f"Material '{self._material}', node '{node.name}'"

    def warn(self, node: bpy.types.Node, what: str) -> None:
        self._report.warn(self.where(node), what)

    def colour(self, socket: bpy.types.NodeSocket, surface: Surface, parameter: str) -> None:
        """Sets the parameter, or binds its texture."""
        value = nodes.constant(socket)
        if value is None:
            feed = nodes.source(socket)
            texture = self._texture(feed, socket) if self._is_colour_of_image(feed) else None
            if texture:
                surface.textures[f"{parameter}_texture"] = texture
                return
            if feed.node.type != "TEX_IMAGE":
                self.warn(feed.node, f"{feed.node.bl_label} nodes are not supported yet; "
                                     f"{socket.name} is magenta")
            value = MAGENTA
        surface.parameters[parameter] = [max(c, 0.0) for c in value]

    def number(self, socket: bpy.types.NodeSocket, surface: Surface, parameter: str) -> None:
        value = nodes.constant(socket)
        if value is None:
            feed = nodes.source(socket)
            texture = self._texture(feed, socket) if self._is_colour_of_image(feed) else None
            if texture:
                surface.textures[f"{parameter}_texture"] = texture
                return
            value = self._fallback(socket, feed)
        surface.parameters[parameter] = value

    def plain(self, socket: bpy.types.NodeSocket) -> float | list[float]:
        """The value of an input that units have no texture for."""
        value = nodes.constant(socket)
        return self._fallback(socket, nodes.source(socket)) if value is None else value

    def _fallback(self, socket: bpy.types.NodeSocket, feed: nodes.Source) -> float | list[float]:
        value = nodes.own_value(socket)
        shown = value if isinstance(value, list) else f"{value:g}"
        self.warn(feed.node, f"{feed.node.bl_label} is not supported in {socket.name} yet; {shown} is used")
        return value

    @staticmethod
    def _is_colour_of_image(feed: nodes.Source) -> bool:
        return feed.node.type == "TEX_IMAGE" and feed.socket.name == "Color"

    def _texture(self, feed: nodes.Source, socket: bpy.types.NodeSocket) -> dict | None:
        node = feed.node
        if node.projection != "FLAT":
            self.warn(node, f"projection {node.projection} is not supported yet; {socket.name} is without "
                            "its image")
            return None
        if not self._is_uv(node, socket):
            return None
        if node.interpolation == "Closest":
            self.warn(node, "interpolation Closest is not supported yet; the image is filtered")
        return self._images.texture(node.image, node.image_user, self.where(node), WRAPS[node.extension])

    def _is_uv(self, node: bpy.types.Node, socket: bpy.types.NodeSocket) -> bool:
        feed = nodes.source(node.inputs["Vector"])
        if feed is None:
            return True
        if feed.node.type == "UVMAP" and not feed.node.from_instancer:
            self._name_uv_map(feed.node)
            return True
        if feed.node.type == "TEX_COORD" and feed.socket.name == "UV" and not feed.node.from_instancer:
            return True
        self.warn(feed.node, f"{feed.node.bl_label} is not supported in the Vector of '{node.name}' yet; "
                             f"{socket.name} is without its image")
        return False

    def _name_uv_map(self, node: bpy.types.Node) -> None:
        if node.uv_map:
            self.uv_maps.append((self.where(node), node.uv_map))

    def normal(self, node: bpy.types.Node, surface: Surface) -> None:
        feed = nodes.source(node.inputs["Normal"])
        if feed is None:
            return
        bump = feed.node
        if bump.type != "NORMAL_MAP" or bump.space != "TANGENT":
            kind = f"a Normal Map in {bump.space} space" if bump.type == "NORMAL_MAP" else bump.bl_label
            self.warn(bump, f"{kind} is not supported in Normal yet and is left out")
            return
        self._name_uv_map(bump)
        source = nodes.source(bump.inputs["Color"])
        if source is None:
            return
        texture = self._texture(source, bump.inputs["Color"]) if self._is_colour_of_image(source) else None
        if texture is None:
            self.warn(source.node, "it is left out of the normal map")
            return
        surface.textures["normal_texture"] = texture
        surface.parameters["normal_scale"] = self.plain(bump.inputs["Strength"])

    def image_alpha(self, socket: bpy.types.NodeSocket) -> bpy.types.Node | None:
        """The Image Texture whose alpha feeds `socket`."""
        feed = nodes.source(socket)
        if feed and feed.node.type == "TEX_IMAGE" and feed.socket.name == "Alpha":
            return feed.node
        return None


def _input(node: bpy.types.Node, *names: str) -> bpy.types.NodeSocket:
    """The first that there is: Blender 4 has new names for some."""
    return next(node.inputs[name] for name in names if name in node.inputs)


# --- Principled BSDF -----------------------------------------------------------------------------------

LEFT_OUT = (("Subsurface", "Subsurface Weight"), ("Anisotropic",), ("Sheen", "Sheen Weight"),
            ("Clearcoat", "Coat Weight"))


def _principled(node: bpy.types.Node, reader: _Reader) -> dict:
    surface = Surface()
    transmission = _input(node, "Transmission", "Transmission Weight")
    reader.colour(node.inputs["Base Color"], surface, "base_color")
    reader.number(node.inputs["Metallic"], surface, "metallic")
    reader.number(node.inputs["Roughness"], surface, "roughness")
    reader.number(transmission, surface, "transmission")
    reader.normal(node, surface)
    transmits = surface.parameters.get("transmission", 1.0) != 0.0
    _specular(node, transmits, surface, reader)
    _emission(_input(node, "Emission", "Emission Color"), node.inputs["Emission Strength"], surface, reader)
    _warn_of_left_out(node, transmits, reader)
    if "base_color" in surface.parameters:
        surface.parameters["transmission_color"] = surface.parameters["base_color"]

    cut = reader.image_alpha(node.inputs["Alpha"])
    colour = nodes.source(node.inputs["Base Color"])
    if cut and colour and colour.node == cut and "base_color_texture" in surface.textures:
        return _as_gltf(surface, is_cut=True)
    reader.number(node.inputs["Alpha"], surface, "opacity")
    if transmits and "base_color_texture" in surface.textures:
        if surface.parameters.get("opacity") != 1.0:
            reader.warn(node, "Alpha beside Transmission and a Base Color image is not supported yet and is "
                              "left out")
        return _as_gltf(surface, is_cut=False)
    return surface.record()


def _specular(node: bpy.types.Node, transmits: bool, surface: Surface, reader: _Reader) -> None:
    level = reader.plain(_input(node, "Specular", "Specular IOR Level"))
    ior = reader.plain(node.inputs["IOR"])
    if "Specular" not in node.inputs:  # Blender 4: the index counts, the level adjusts
        surface.parameters.update(ior=ior, specular=2 * level)
        return
    surface.parameters["ior"] = ior if transmits and not math.isclose(ior, 1.0) else DIELECTRIC_IOR
    root = (surface.parameters["ior"] - 1) / (surface.parameters["ior"] + 1)
    surface.parameters["specular"] = DISNEY_SPECULAR * level / root ** 2


def _emission(colour: bpy.types.NodeSocket, strength: bpy.types.NodeSocket, surface: Surface,
              reader: _Reader) -> None:
    amount = reader.plain(strength)
    if amount <= 0 or nodes.constant(colour) == [0.0, 0.0, 0.0]:
        return  # and not a light
    surface.parameters["emission"] = amount
    reader.colour(colour, surface, "emission_color")
    if "emission_color_texture" in surface.textures:
        surface.textures["emission_texture"] = surface.textures.pop("emission_color_texture")


def _warn_of_left_out(node: bpy.types.Node, transmits: bool, reader: _Reader) -> None:
    names = LEFT_OUT + ((("Transmission Roughness",),) if transmits else ())
    for alternatives in names:
        socket = next((node.inputs[name] for name in alternatives if name in node.inputs), None)
        if socket and nodes.constant(socket) != 0.0:
            reader.warn(node, f"{socket.name} is not supported yet and is left out")
    tint = nodes.constant(node.inputs["Specular Tint"])
    if tint not in (0.0, [1.0, 1.0, 1.0]):
        reader.warn(node, "Specular Tint is not supported yet and is left out")


def _as_gltf(surface: Surface, is_cut: bool) -> dict:
    """The same as unit:gltf_pbr, where the image of the base colour also tints what is transmitted and can
    give alpha. There a texture multiplies its parameter."""
    given = surface.parameters
    reflectance = given["specular"] * ((given["ior"] - 1) / (given["ior"] + 1)) ** 2
    root = math.sqrt(min(reflectance, 0.99))
    transmits = given.get("transmission", 1.0) != 0.0
    textures = dict(surface.textures)
    parameters = {
        "base_color": [1.0, 1.0, 1.0],
        "ior": given["ior"] if transmits else (1 + root) / (1 - root),
        "alpha_mode": 2 if is_cut else 0,
        "emission": given.get("emission_color", [1.0, 1.0, 1.0]),
        "emission_strength": given.get("emission", 0.0),
        "normal_scale": given.get("normal_scale", 1.0),
    }
    for name in ("metallic", "roughness", "transmission"):
        parameters[name] = given.get(name, 1.0)
    parameters.update((f"has_{name}", True) for name in textures)
    return {"shader": "unit:gltf_pbr", "parameters": parameters, "textures": textures}


# --- the other surfaces ---------------------------------------------------------------------------------

def _diffuse(node: bpy.types.Node, reader: _Reader) -> dict:
    surface = Surface({"specular": 0.0})
    reader.colour(node.inputs["Color"], surface, "base_color")
    reader.normal(node, surface)
    if nodes.constant(node.inputs["Roughness"]) != 0.0:
        reader.warn(node, "Roughness is not supported in Diffuse BSDF yet; 0 is used")
    return surface.record()


def _glossy(node: bpy.types.Node, reader: _Reader) -> dict:
    surface = Surface({"metallic": 1.0})
    reader.colour(node.inputs["Color"], surface, "base_color")
    _roughness(node, surface, reader)
    reader.normal(node, surface)
    reader.warn(node, "Glossy BSDF is rendered as metal of its colour, which reflects more at grazing angles")
    return surface.record()


def _glass(node: bpy.types.Node, reader: _Reader) -> dict:
    surface = Surface({"transmission": 1.0, "ior": reader.plain(node.inputs["IOR"])})
    reader.colour(node.inputs["Color"], surface, "base_color")
    _roughness(node, surface, reader)
    reader.normal(node, surface)
    if "base_color_texture" in surface.textures:
        reader.warn(node, "the image in Color tints only what goes through, not the reflection")
        surface.parameters["specular"] = 1.0
        return _as_gltf(surface, is_cut=False)
    colour = surface.parameters["base_color"]
    surface.parameters.update(transmission_color=colour, specular_color=colour)
    return surface.record()


def _roughness(node: bpy.types.Node, surface: Surface, reader: _Reader) -> None:
    reader.number(node.inputs["Roughness"], surface, "roughness")
    if node.distribution == "SHARP":
        surface.parameters["roughness"] = 0.0
        surface.textures.pop("roughness_texture", None)
    elif node.distribution not in ("GGX", "MULTI_GGX") and surface.parameters.get("roughness") != 0.0:
        reader.warn(node, f"distribution {node.distribution} is not supported; GGX is used")


def _emitter(node: bpy.types.Node, reader: _Reader) -> dict:
    surface = _black()
    _emission(node.inputs["Color"], node.inputs["Strength"], surface, reader)
    return surface.record()


def _transparent(node: bpy.types.Node, reader: _Reader) -> dict:
    if nodes.constant(node.inputs["Color"]) != [1.0, 1.0, 1.0]:
        reader.warn(node, "the Color of Transparent BSDF is not supported yet; white is used")
    surface = _black()
    surface.parameters["opacity"] = 0.0
    return surface.record()


SURFACES = {
    "BSDF_PRINCIPLED": _principled,
    "BSDF_DIFFUSE": _diffuse,
    "BSDF_GLOSSY": _glossy,
    "BSDF_GLASS": _glass,
    "EMISSION": _emitter,
    "BSDF_TRANSPARENT": _transparent,
}
