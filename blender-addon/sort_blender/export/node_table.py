"""Which of Blender's nodes is which unit of ssl/units, and how their sockets and settings are called there.

A socket is a parameter or an output of its own name in small letters ("Base Color": base_color), but for what
stands here and in USUAL, since `color`, `vector` and `normal` are words of SSL.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import bpy

GENERATED = "sort:generated"  # attributes of meshes that mesh.py makes
RENDER_COLOR = "sort:color"
WRAPS = {"REPEAT": "periodic", "EXTEND": "clamp", "CLIP": "black", "MIRROR": "mirror"}
USUAL = {"Color": "tint", "Vector": "coord", "Normal": "shading_normal", "Tangent": "along"}
RAMP_SIZE = 256


def _slug(identifier: str) -> str:
    return USUAL.get(identifier) or re.sub(r"\W", "_", identifier).lower()


def _no_options(node: bpy.types.Node) -> dict:
    return {}


@dataclass(frozen=True)
class Node:
    unit: str | Callable  # a name, or from the node to one
    inputs: dict = field(default_factory=dict)  # identifier: parameter, or None if there is none
    outputs: dict | None = None  # identifier: output; None: by name
    options: Callable[[bpy.types.Node], dict] = _no_options
    default_vector: str = ""  # output of texture_coordinate, for a Vector that nothing feeds
    finish: Callable | None = None  # (builder, node, name); False: the node has nothing to show
    needed_zero: tuple = ()  # sockets without parameter that must be 0

    def unit_of(self, node: bpy.types.Node) -> str:
        return self.unit if isinstance(self.unit, str) else self.unit(node)

    def input(self, node: bpy.types.Node, socket: bpy.types.NodeSocket) -> str | None:
        return self.inputs.get(socket.identifier, _slug(socket.identifier))

    def output(self, node: bpy.types.Node, socket: bpy.types.NodeSocket) -> str | None:
        return _slug(socket.identifier) if self.outputs is None else self.outputs.get(socket.identifier)


def _take(*names: str, **renamed: str) -> Callable[[bpy.types.Node], dict]:
    """Parameters from properties of the node: of the same name, or parameter=property."""
    pairs = [(name, name) for name in names] + list(renamed.items())
    return lambda node: {parameter: getattr(node, name) for parameter, name in pairs}


def _index(**enums: tuple) -> Callable[[bpy.types.Node], dict]:
    """parameter=(property, its values in the order of the unit)."""
    return lambda node: {p: values.index(getattr(node, name)) for p, (name, values) in enums.items()}


DIMENSIONS = ("1D", "2D", "3D", "4D")
BSDF = {"BSDF": "bsdf"}


def _shader(unit: str, **more) -> Node:
    more.setdefault("outputs", BSDF)
    return Node(unit, inputs={"Weight": None, **more.pop("inputs", {})}, **more)


# --- what a unit does not do as Blender -------------------------------------------------------------------

PRINCIPLED_4 = {"Subsurface Weight": "subsurface", "Specular IOR Level": "specular", "Coat Weight": "clearcoat",
                "Transmission Weight": "transmission", "Emission Color": "emission", "Sheen Weight": "sheen",
                "Coat Roughness": "clearcoat_roughness", "Coat Normal": "clearcoat_normal",
                "Clearcoat Normal": "clearcoat_normal", "Subsurface Scale": None, "Diffuse Roughness": None,
                "Sheen Roughness": None, "Coat IOR": None, "Coat Tint": None, "Thin Film Thickness": None,
                "Thin Film IOR": None}


def _finish_principled(builder, node: bpy.types.Node, name: str) -> None:
    given = builder.parameters(name)
    if given.get("emission") == [0.0, 0.0, 0.0] and not builder.is_wired(f"{name}.emission"):
        given["emission_strength"] = 0.0  # so that it is no light
    if "Sheen Tint" in node.inputs and isinstance(given.get("sheen_tint"), list):
        given["sheen_tint"] = 0.0
    if isinstance(given.get("specular_tint"), list):
        given["specular_tint"] = 0.0
    if node.subsurface_method == "BURLEY" and given.get("subsurface") != 0.0:
        builder.warn(node, "Christensen-Burley is rendered as a random walk")


def _finish_glass(builder, node: bpy.types.Node, name: str) -> None:
    if node.distribution == "BECKMANN" and builder.parameters(name).get("roughness") != 0.0:
        builder.warn(node, "distribution BECKMANN is rendered as GGX")


def _finish_glossy(builder, node: bpy.types.Node, name: str) -> None:
    if node.distribution == "ASHIKHMIN_SHIRLEY":
        builder.warn(node, "distribution ASHIKHMIN_SHIRLEY is rendered as GGX")


def _finish_subsurface(builder, node: bpy.types.Node, name: str) -> None:
    if node.falloff == "BURLEY":
        builder.warn(node, "Christensen-Burley is rendered as a random walk")


# --- textures and coordinates -------------------------------------------------------------------------------

def _finish_image(builder, node: bpy.types.Node, name: str) -> bool:
    if node.projection == "BOX":
        builder.warn(node, "projection BOX is not supported yet; rendered flat")
        builder.parameters(name)["projection"] = "FLAT"
    texture = builder.images.texture(node.image, node.image_user, builder.where(node), WRAPS[node.extension])
    if texture is None:
        return False
    if node.image.alpha_mode == "NONE":
        builder.parameters(name)["is_opaque"] = True
    builder.bind_texture(name, "image", texture)
    return True


def _finish_coordinates(builder, node: bpy.types.Node, name: str) -> None:
    builder.attributes[f"{name}.generated"] = GENERATED
    if node.object is not None and node.outputs["Object"].is_linked:
        builder.warn(node, f"coordinates of another object ('{node.object.name}') are not supported yet; "
                           "the object's own are used")
    if node.outputs["Normal"].is_linked:
        builder.warn(node, "Normal is that of the world, not of the object")
    if node.from_instancer:
        builder.warn(node, "From Instancer is not supported yet; the instance's own coordinates are used")


def _finish_uv_map(builder, node: bpy.types.Node, name: str) -> None:
    if node.uv_map:
        builder.attributes[f"{name}.set"] = node.uv_map
    if node.from_instancer:
        builder.warn(node, "From Instancer is not supported yet; the instance's own coordinates are used")


def _finish_attribute(builder, node: bpy.types.Node, name: str) -> None:
    if node.attribute_type != "GEOMETRY":
        builder.warn(node, f"attributes of type {node.attribute_type} are not supported yet; 0 is used")
    builder.attributes[f"{name}.value"] = "value:" + node.attribute_name


def _finish_vertex_color(builder, node: bpy.types.Node, name: str) -> None:
    builder.attributes[f"{name}.value"] = "value:" + node.layer_name if node.layer_name else RENDER_COLOR


def _finish_normal_map(builder, node: bpy.types.Node, name: str) -> None:
    if node.space not in ("TANGENT", "WORLD", "BLENDER_WORLD"):
        builder.warn(node, f"space {node.space} is not supported yet; it is read as that of the world")
        builder.parameters(name)["space"] = "BLENDER_WORLD" if node.space.startswith("BLENDER") else "WORLD"
    elif node.space == "TANGENT" and node.uv_map:
        builder.normal_maps.append((builder.where(node), node.uv_map))


def _wave(node: bpy.types.Node) -> dict:
    is_bands = node.wave_type == "BANDS"
    axis = node.bands_direction if is_bands else node.rings_direction
    last = "DIAGONAL" if is_bands else "SPHERICAL"
    return {"kind": 0 if is_bands else 1, "direction": ("X", "Y", "Z", last).index(axis),
            "profile": ("SIN", "SAW", "TRI").index(node.wave_profile)}


# --- colours and numbers ------------------------------------------------------------------------------------

def _ramp(node: bpy.types.Node) -> dict:
    ramp = node.color_ramp
    table = [float(x) for k in range(RAMP_SIZE) for x in ramp.evaluate(k / (RAMP_SIZE - 1))]
    return {"is_constant": ramp.interpolation == "CONSTANT", "table": table}


def _finish_map_range(builder, node: bpy.types.Node, name: str) -> bool:
    if node.data_type != "FLOAT":
        builder.warn(node, f"Map Range of {node.data_type} is not supported yet")
        return False
    return True


def _mix_options(node: bpy.types.Node) -> dict:
    if node.data_type == "RGBA":
        return {"blend": node.blend_type, "clamp_factor": node.clamp_factor, "clamp_result": node.clamp_result}
    return {"clamp_factor": node.clamp_factor}


def _finish_mix(builder, node: bpy.types.Node, name: str) -> None:
    given = builder.parameters(name)
    if node.data_type == "VECTOR" and isinstance(given.get("fac"), float):
        given["fac"] = [given["fac"]] * 3


def _mix_rgb_options(node: bpy.types.Node) -> dict:
    return {"blend": node.blend_type, "clamp_result": node.use_clamp}


MIX_SOCKETS = {f"{side}_{kind}": side.lower() for side in "AB" for kind in ("Float", "Vector", "Color")}
RGB = {"R": "r", "G": "g", "B": "b", "X": "r", "Y": "g", "Z": "b", "H": "r", "S": "g", "V": "b",
       "Red": "r", "Green": "g", "Blue": "b"}
ONE_COLOUR = {"Color": "tint", "Vector": "tint", "Image": "tint"}


def _parts(unit: str, mode: Callable) -> Node:
    is_split = unit == "separate_color"
    return Node(unit, ONE_COLOUR if is_split else RGB, RGB if is_split else ONE_COLOUR, mode)


def _fixed(mode: str) -> Callable:
    return lambda node: {"mode": mode}


NODES = {
    "ShaderNodeBsdfPrincipled": _shader(
        "principled_bsdf", inputs=PRINCIPLED_4, outputs={"BSDF": "surface"}, finish=_finish_principled,
        options=lambda node: {"multiscatter": 1.0 if node.distribution == "MULTI_GGX" else 0.0}),
    "ShaderNodeBsdfDiffuse": _shader("diffuse_bsdf"),
    "ShaderNodeBsdfGlossy": _shader("glossy_bsdf", options=_take("distribution"), finish=_finish_glossy),
    "ShaderNodeBsdfAnisotropic": _shader("glossy_bsdf", options=_take("distribution"), finish=_finish_glossy),
    "ShaderNodeBsdfGlass": _shader("glass_bsdf", options=_take("distribution"), finish=_finish_glass),
    "ShaderNodeBsdfRefraction": _shader("refraction_bsdf", options=_take("distribution")),
    "ShaderNodeBsdfTranslucent": _shader("translucent_bsdf"),
    "ShaderNodeBsdfTransparent": _shader("transparent_bsdf"),
    "ShaderNodeBsdfVelvet": _shader("velvet_bsdf"),
    "ShaderNodeBsdfToon": _shader("toon_bsdf", options=_take("component")),
    "ShaderNodeSubsurfaceScattering": _shader("subsurface_scattering", outputs={"BSSRDF": "bssrdf"},
                                              inputs={"IOR": None}, finish=_finish_subsurface),
    "ShaderNodeEmission": _shader("emission", outputs={"Emission": "light"}),
    "ShaderNodeHoldout": _shader("holdout", outputs={"Holdout": "hole"}),
    "ShaderNodeMixShader": Node("mix_shader", {"Shader": "a", "Shader_001": "b"}, {"Shader": "mixed"}),
    "ShaderNodeAddShader": Node("add_shader", {"Shader": "a", "Shader_001": "b"}, {"Shader": "sum"}),

    "ShaderNodeTexImage": Node("tex_image", options=_take("projection", "interpolation"), default_vector="uv",
                               finish=_finish_image),
    "ShaderNodeTexNoise": Node("tex_noise", default_vector="box",
                               options=_index(dimensions=("noise_dimensions", DIMENSIONS))),
    "ShaderNodeTexVoronoi": Node(
        "tex_voronoi", outputs={"Distance": "distance", "Color": "tint", "Position": "position", "W": "out_w",
                                "Radius": "radius"},
        options=_index(dimensions=("voronoi_dimensions", DIMENSIONS),
                       feature=("feature", ("F1", "F2", "SMOOTH_F1", "DISTANCE_TO_EDGE", "N_SPHERE_RADIUS")),
                       metric=("distance", ("EUCLIDEAN", "MANHATTAN", "CHEBYCHEV", "MINKOWSKI"))),
        default_vector="box"),
    "ShaderNodeTexMusgrave": Node(
        "tex_musgrave", default_vector="box", options=_index(
            dimensions=("musgrave_dimensions", DIMENSIONS),
            kind=("musgrave_type", ("MULTIFRACTAL", "FBM", "HYBRID_MULTIFRACTAL", "RIDGED_MULTIFRACTAL",
                                    "HETERO_TERRAIN")))),
    "ShaderNodeTexWave": Node("tex_wave", {"Phase Offset": "phase"}, default_vector="box", options=_wave),
    "ShaderNodeTexMagic": Node("tex_magic", default_vector="box", options=_take(depth="turbulence_depth")),
    "ShaderNodeTexBrick": Node(
        "tex_brick", default_vector="box",
        options=_take("offset", "offset_frequency", "squash", "squash_frequency")),
    "ShaderNodeTexChecker": Node("tex_checker", default_vector="box"),
    "ShaderNodeTexGradient": Node("tex_gradient", default_vector="box", options=_index(
        kind=("gradient_type", ("LINEAR", "QUADRATIC", "EASING", "DIAGONAL", "RADIAL", "QUADRATIC_SPHERE",
                                "SPHERICAL")))),
    "ShaderNodeTexWhiteNoise": Node("tex_white_noise", default_vector="box",
                                    options=_index(dimensions=("noise_dimensions", DIMENSIONS))),

    "ShaderNodeTexCoord": Node(
        "texture_coordinate", outputs={"Generated": "box", "Normal": "shading_normal", "UV": "uv",
                                       "Object": "object", "Reflection": "reflection"},
        finish=_finish_coordinates),
    "ShaderNodeUVMap": Node("uv_map", finish=_finish_uv_map),
    "ShaderNodeAttribute": Node("attribute_value", finish=_finish_attribute),
    "ShaderNodeVertexColor": Node("attribute_value", finish=_finish_vertex_color),
    "ShaderNodeMapping": Node("mapping", outputs={"Vector": "mapped"}, options=_take(kind="vector_type")),
    "ShaderNodeNormalMap": Node("normal_map", options=_take("space"), finish=_finish_normal_map),
    "ShaderNodeBump": Node("bump", {"Height_dx": None, "Height_dy": None, "Filter Width": None},
                           {"Normal": "bumped"}, _take("invert")),
    "ShaderNodeNewGeometry": Node(
        "geometry", outputs={"Position": "place", "Normal": "shading_normal", "Tangent": "along",
                             "True Normal": "true_normal", "Incoming": "incoming",
                             "Backfacing": "is_backfacing"}),
    "ShaderNodeObjectInfo": Node("object_info", outputs={"Random": "random"}),
    "ShaderNodeLightPath": Node("light_path", outputs={"Is Camera Ray": "is_camera", "Ray Depth": "depth"}),
    "ShaderNodeFresnel": Node("fresnel", outputs={"Fac": "fac"}),
    "ShaderNodeLayerWeight": Node("layer_weight", outputs={"Fresnel": "reflectance", "Facing": "facing"}),

    "ShaderNodeMath": Node("math", {"Value": "a", "Value_001": "b", "Value_002": "c"},
                           options=_take("operation", "use_clamp")),
    "ShaderNodeVectorMath": Node(
        "vector_math", {"Vector": "a", "Vector_001": "b", "Vector_002": "c"},
        {"Vector": "result", "Value": "value"}, _take("operation")),
    "ShaderNodeMapRange": Node("map_range", options=_take(interpolation="interpolation_type", use_clamp="clamp"),
                               finish=_finish_map_range),
    "ShaderNodeClamp": Node("clamp", {"Min": "low", "Max": "high"}, options=_take(kind="clamp_type")),
    "ShaderNodeValToRGB": Node("color_ramp", options=_ramp),
    "ShaderNodeInvert": Node("invert", outputs={"Color": "inverted"}),
    "ShaderNodeGamma": Node("gamma", outputs={"Color": "result"}),
    "ShaderNodeBrightContrast": Node("bright_contrast", outputs={"Color": "result"}),
    "ShaderNodeHueSaturation": Node("hue_saturation", outputs={"Color": "result"}),
    "ShaderNodeRGBToBW": Node("rgb_to_bw"),
    "ShaderNodeMixRGB": Node("mix_color", {"Color1": "a", "Color2": "b"}, {"Color": "result"}, _mix_rgb_options),
    "ShaderNodeMix": Node(
        lambda node: {"RGBA": "mix_color", "VECTOR": "mix_vector"}.get(node.data_type, "mix_float"),
        {**MIX_SOCKETS, "Factor_Float": "fac", "Factor_Vector": "fac"},
        {f"Result_{kind}": "result" for kind in ("Float", "Vector", "Color")}, _mix_options,
        finish=_finish_mix),
    "ShaderNodeSeparateColor": _parts("separate_color", _take("mode")),
    "ShaderNodeSeparateXYZ": _parts("separate_color", _fixed("RGB")),
    "ShaderNodeSeparateRGB": _parts("separate_color", _fixed("RGB")),
    "ShaderNodeSeparateHSV": _parts("separate_color", _fixed("HSV")),
    "ShaderNodeCombineColor": _parts("combine_color", _take("mode")),
    "ShaderNodeCombineXYZ": _parts("combine_color", _fixed("RGB")),
    "ShaderNodeCombineRGB": _parts("combine_color", _fixed("RGB")),
    "ShaderNodeCombineHSV": _parts("combine_color", _fixed("HSV")),
}
