"""Which of Blender's nodes is which unit of ssl/units, and how their sockets and settings are called there.

A socket is a parameter or an output of its own name in small letters ("Base Color": base_color), but for what
stands here and in USUAL, since `color`, `vector` and `normal` are words of SSL.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import bpy

from . import ies_node
from . import node_options as opt
from . import sky_node

USUAL = {"Color": "tint", "Vector": "coord", "Normal": "shading_normal", "Tangent": "along"}


def _slug(identifier: str) -> str:
    return USUAL.get(identifier) or re.sub(r"\W", "_", identifier).lower()


@dataclass(frozen=True)
class Unread:
    """An input or a setting that no unit reads, and the value at which it has no effect."""
    neutral: object


@dataclass(frozen=True)
class Node:
    unit: str | Callable  # a name, or from the node to one of `units`
    # identifier: parameter; None or Unread if there is none. Where None, links alone have an effect. Inputs that are not
    # here and are no parameter under their own name are not known, whatever their value.
    inputs: dict = field(default_factory=dict)
    outputs: dict | None = None  # identifier: output; None: by name
    options: Callable[[bpy.types.Node], dict] = opt.no_options
    settings: dict[str, Unread] = field(default_factory=dict)
    default_vector: str = ""  # output of texture_coordinate or "position", for a Vector that nothing feeds
    finish: Callable | None = None  # see node_options.py
    lacks: str = ""  # how it differs from Cycles, for the manual
    units: tuple = ()

    def unit_of(self, node: bpy.types.Node) -> str:
        return self.unit if isinstance(self.unit, str) else self.unit(node)

    def all_units(self) -> tuple:
        return self.units or (self.unit,)

    def input(self, node: bpy.types.Node, socket: bpy.types.NodeSocket) -> str | Unread | None:
        return self.inputs.get(socket.identifier, _slug(socket.identifier))

    def output(self, node: bpy.types.Node, socket: bpy.types.NodeSocket) -> str | None:
        return _slug(socket.identifier) if self.outputs is None else self.outputs.get(socket.identifier)


BSDF = {"BSDF": "bsdf"}


def _shader(unit: str, **more) -> Node:
    more.setdefault("outputs", BSDF)
    return Node(unit, inputs={"Weight": None, **more.pop("inputs", {})}, **more)


# In Blender 4 the node is another model, whose sockets the unit is called after.
PRINCIPLED = ("principled_bsdf", "principled_bsdf_4")
MIX_SOCKETS = {f"{side}_{kind}": side.lower() for side in "AB" for kind in ("Float", "Vector", "Color")}
RGB = {"R": "r", "G": "g", "B": "b", "X": "r", "Y": "g", "Z": "b", "H": "r", "S": "g", "V": "b",
       "Red": "r", "Green": "g", "Blue": "b"}
ONE_COLOUR = {"Color": "tint", "Vector": "tint", "Image": "tint"}


def _parts(unit: str, mode: Callable) -> Node:
    is_split = unit == "separate_color"
    return Node(unit, ONE_COLOUR if is_split else RGB, RGB if is_split else ONE_COLOUR, mode)

# Where a displacement bends normals: by unit, the parameters that are normals of the surface.
NORMAL = ("shading_normal",)
BENT = {**dict.fromkeys(("diffuse_bsdf", "glossy_bsdf", "glass_bsdf", "refraction_bsdf", "translucent_bsdf",
                         "velvet_bsdf", "toon_bsdf", "subsurface_scattering", "bump", "fresnel", "layer_weight",
                         "ambient_occlusion"), NORMAL),
        "metallic_bsdf": NORMAL, "sheen_bsdf": NORMAL,
        "principled_bsdf": ("shading_normal", "clearcoat_normal"),
        "principled_bsdf_4": ("shading_normal", "coat_normal"),
        "specular_bsdf": ("shading_normal", "clear_coat_normal")}
NOT_CLOSURES = {"bump", "fresnel", "layer_weight", "ambient_occlusion"}  # of these


NODES = {
    "ShaderNodeBsdfPrincipled": _shader(
        lambda node: PRINCIPLED["Coat Weight" in node.inputs], units=PRINCIPLED,
        inputs={"Thin Wall": Unread(False), "Transmission Dispersion Scale": Unread(0.0), "Transmission Dispersion Abbe Number": None},
        outputs={"BSDF": "surface"}, finish=opt.finish_principled, options=opt.principled,
        lacks="Christensen-Burley subsurface is rendered as a random walk, with a mean attenuation on exit; correlated shadowing"),
    "ShaderNodeBsdfDiffuse": _shader("diffuse_bsdf", options=opt.diffuse),
    "ShaderNodeBsdfGlossy": _shader("glossy_bsdf", options=opt.glossy, finish=opt.finish_glossy,
        lacks="Ashikhmin-Shirley is rendered as GGX; correlated shadowing; anisotropy is limited to 0.68; Multiscatter GGX differs by 1 to 4 % above roughness 0.5 in Blender 3 (saturated colours at roughness 1 by up to 9 %), by up to 0.1 % in Blender 4"),
    "ShaderNodeBsdfAnisotropic": _shader("glossy_bsdf", options=opt.glossy, finish=opt.finish_glossy,
        lacks="Ashikhmin-Shirley is rendered as GGX; correlated shadowing; anisotropy is limited to 0.68; Multiscatter GGX differs by 1 to 4 % above roughness 0.5 in Blender 3 (saturated colours at roughness 1 by up to 9 %), by up to 0.1 % in Blender 4"),
    "ShaderNodeBsdfGlass": _shader("glass_bsdf", inputs={"Anisotropy": Unread(0.0), "Rotation": None, "Tangent": None}, options=opt.glass, finish=opt.finish_glass),
    "ShaderNodeBsdfRefraction": _shader("refraction_bsdf", options=opt.take("distribution"), finish=opt.finish_refraction),
    "ShaderNodeBsdfMetallic": _shader(
        "metallic_bsdf", options=opt.take("distribution", "fresnel_type"), finish=opt.finish_metallic,
        lacks="correlated shadowing"),
    "ShaderNodeBsdfSheen": _shader("sheen_bsdf", options=opt.take("distribution")),
    "ShaderNodeBsdfTranslucent": _shader("translucent_bsdf", lacks="a ball differs by 1.2 % in Blender 3; why is not known"),
    "ShaderNodeBsdfTransparent": _shader("transparent_bsdf"),
    "ShaderNodeBsdfRayPortal": _shader("ray_portal_bsdf", inputs={"Position": "place"}, finish=opt.finish_portal,
                                       lacks="not with the integrator light"),
    "ShaderNodeBsdfVelvet": _shader("velvet_bsdf"),
    "ShaderNodeBsdfToon": _shader("toon_bsdf", options=opt.take("component")),
    "ShaderNodeSubsurfaceScattering": _shader("subsurface_scattering", outputs={"BSSRDF": "bssrdf"},
                                              options=opt.subsurface, finish=opt.finish_subsurface,
                                              lacks="Christensen-Burley is rendered as a random walk; that of 5.2 differs by "
                                                    "6 % with an anisotropy of 0.5 and a radius beyond the object's"),
    "ShaderNodeEmission": _shader("emission", outputs={"Emission": "light"}),
    "ShaderNodeHoldout": _shader("holdout", outputs={"Holdout": "hole"}),
    "ShaderNodeMixShader": Node("mix_shader", {"Shader": "a", "Shader_001": "b"}, {"Shader": "mixed"}),
    "ShaderNodeAddShader": Node("add_shader", {"Shader": "a", "Shader_001": "b"}, {"Shader": "sum"},
                                lacks="measured with a Translucent BSDF, which differs in Blender 3"),

    "ShaderNodeTexImage": Node(
        lambda node: "tex_image_box" if node.projection == "BOX" else "tex_image", options=opt.image,
        default_vector="uv", finish=opt.finish_image, units=("tex_image", "tex_image_box"),
        lacks="Cubic and Smart use the renderer's filter"),
    "ShaderNodeTexNoise": Node(
        lambda node: "tex_noise_4" if "Lacunarity" in node.inputs else "tex_noise", default_vector="box", options=opt.noise,
        units=("tex_noise", "tex_noise_4")),
    "ShaderNodeTexGabor": Node("tex_gabor", {"Orientation 2D": "orientation_2d", "Orientation 3D": "orientation_3d"},
                               default_vector="box", options=opt.take(kind="gabor_type")),
    "ShaderNodeTexVoronoi": Node(
        "tex_voronoi", outputs={"Distance": "distance", "Color": "tint", "Position": "position", "W": "out_w", "Radius": "radius"},
        options=opt.voronoi, default_vector="box"),
    "ShaderNodeTexMusgrave": Node(
        "tex_musgrave", default_vector="box", options=opt.index(
            dimensions=("musgrave_dimensions", opt.DIMENSIONS), kind=("musgrave_type", opt.FRACTALS))),
    "ShaderNodeTexWave": Node("tex_wave", {"Phase Offset": "phase"}, default_vector="box", options=opt.wave),
    "ShaderNodeTexMagic": Node("tex_magic", default_vector="box", options=opt.take(depth="turbulence_depth")),
    "ShaderNodeTexBrick": Node(
        "tex_brick", default_vector="box",
        options=opt.take("offset", "offset_frequency", "squash", "squash_frequency")),
    "ShaderNodeTexChecker": Node("tex_checker", default_vector="box"),
    "ShaderNodeTexGradient": Node("tex_gradient", default_vector="box", options=opt.index(
        kind=("gradient_type", ("LINEAR", "QUADRATIC", "EASING", "DIAGONAL", "RADIAL", "QUADRATIC_SPHERE",
                                "SPHERICAL")))),
    "ShaderNodeTexWhiteNoise": Node("tex_white_noise", default_vector="box",
                                    options=opt.index(dimensions=("noise_dimensions", opt.DIMENSIONS))),

    "ShaderNodeTexCoord": Node(
        "texture_coordinate", outputs={"Generated": "box", "Normal": "shading_normal", "UV": "uv",
                                       "Object": "object", "Camera": "camera", "Window": "window",
                                       "Reflection": "reflection"},
        finish=opt.finish_coordinates),
    "ShaderNodeUVMap": Node("uv_map", finish=opt.finish_uv_map,
        lacks="uses the first UV map if there is none of that name"),
    "ShaderNodeAttribute": Node("attribute_value", {"LightIndex": None}, finish=opt.finish_attribute,
        lacks="reads float, integer, boolean, vector, quaternion and colour attributes of points, edges, corners and faces of meshes"),
    "ShaderNodeVertexColor": Node("color_attribute", finish=opt.finish_vertex_color),
    "ShaderNodeMapping": Node("mapping", outputs={"Vector": "mapped"}, options=opt.take(kind="vector_type")),
    "ShaderNodeNormalMap": Node("normal_map", options=opt.normal_map, finish=opt.finish_normal_map,
        lacks="always uses the tangents of the render-active UV map"),
    "ShaderNodeBump": Node("bump", {"Height_dx": None, "Height_dy": None, "Filter Width": None},
                           {"Normal": "bumped"}, opt.take("invert"),
        lacks="uses exact derivatives of the height; Cycles uses differences over a pixel"),
    "ShaderNodeNewGeometry": Node(
        "geometry", outputs={"Position": "place", "Normal": "shading_normal", "Tangent": "along",
                             "True Normal": "true_normal", "Incoming": "incoming", "Parametric": "parametric",
                             "Backfacing": "is_backfacing", "Pointiness": "pointiness",
                             "Random Per Island": "random_per_island"},
        finish=opt.finish_geometry),
    "ShaderNodeObjectInfo": Node(
        "object_info", outputs={"Location": "location", "Color": "tint", "Alpha": "alpha", "Object Index": "index",
                                "Material Index": "material_index", "Random": "random"},
        finish=opt.finish_object_info),
    "ShaderNodeLightPath": Node("light_path", outputs={
        "Is Camera Ray": "is_camera", "Is Shadow Ray": "is_shadow", "Is Diffuse Ray": "is_diffuse",
        "Is Glossy Ray": "is_glossy", "Is Singular Ray": "is_singular", "Is Reflection Ray": "is_reflection",
        "Is Transmission Ray": "is_transmission", "Ray Length": "ray_length", "Ray Depth": "depth",
        "Diffuse Depth": "diffuse_depth", "Glossy Depth": "glossy_depth", "Transparent Depth": "transparent_depth",
        "Transmission Depth": "transmission_depth", "Portal Depth": "portal_depth"}, finish=opt.finish_light_path),
    "ShaderNodeAmbientOcclusion": Node("ambient_occlusion", outputs={"Color": "darkened", "AO": "ao"},
        options=opt.take("samples", "inside", "only_local"), finish=opt.finish_occlusion),
    "ShaderNodeBevel": Node("bevel", outputs={"Normal": "rounded"}, options=opt.take("samples")),
    "ShaderNodeFresnel": Node("fresnel", outputs={"Fac": "fac"}),
    "ShaderNodeLayerWeight": Node("layer_weight", outputs={"Fresnel": "reflectance", "Facing": "facing"}),

    "ShaderNodeMath": Node("math", {"Value": "a", "Value_001": "b", "Value_002": "c"},
                           options=opt.take("operation", "use_clamp")),
    "ShaderNodeVectorMath": Node(
        "vector_math", {"Vector": "a", "Vector_001": "b", "Vector_002": "c"},
        {"Vector": "result", "Value": "value"}, opt.take("operation")),
    "ShaderNodeMapRange": Node(
        lambda node: "map_range" if node.data_type == "FLOAT" else "map_range_vector",
        {"Vector": "value", **{f"{name}_FLOAT3": name.lower()
                               for name in ("From_Min", "From_Max", "To_Min", "To_Max", "Steps")}},
        {"Result": "result", "Vector": "result"}, opt.take(interpolation="interpolation_type", use_clamp="clamp"),
        units=("map_range", "map_range_vector")),
    "ShaderNodeClamp": Node("clamp", {"Min": "low", "Max": "high"}, options=opt.take(kind="clamp_type")),
    "ShaderNodeValToRGB": Node("color_ramp", options=opt.ramp),
    "ShaderNodeInvert": Node("invert", outputs={"Color": "inverted"}),
    "ShaderNodeGamma": Node("gamma", outputs={"Color": "result"}),
    "ShaderNodeBrightContrast": Node("bright_contrast", outputs={"Color": "result"}),
    "ShaderNodeHueSaturation": Node("hue_saturation", outputs={"Color": "result"}),
    "ShaderNodeRGBToBW": Node("rgb_to_bw"),
    "ShaderNodeMixRGB": Node("mix_color", {"Color1": "a", "Color2": "b"}, {"Color": "result"}, opt.mix_rgb_options),
    "ShaderNodeMix": Node(
        lambda node: {"RGBA": "mix_color", "VECTOR": "mix_vector"}.get(node.data_type, "mix_float"),
        {**MIX_SOCKETS, "Factor_Float": "fac", "Factor_Vector": "fac"},
        {f"Result_{kind}": "result" for kind in ("Float", "Vector", "Color")}, opt.mix_options,
        finish=opt.finish_mix, units=("mix_color", "mix_vector", "mix_float")),
    "ShaderNodeSeparateColor": _parts("separate_color", opt.take("mode")),
    "ShaderNodeSeparateXYZ": _parts("separate_color", opt.fixed(mode="RGB")),
    "ShaderNodeSeparateRGB": _parts("separate_color", opt.fixed(mode="RGB")),
    "ShaderNodeSeparateHSV": _parts("separate_color", opt.fixed(mode="HSV")),
    "ShaderNodeCombineColor": _parts("combine_color", opt.take("mode")),
    "ShaderNodeCombineXYZ": _parts("combine_color", opt.fixed(mode="RGB")),
    "ShaderNodeCombineRGB": _parts("combine_color", opt.fixed(mode="RGB")),
    "ShaderNodeCombineHSV": _parts("combine_color", opt.fixed(mode="HSV")),

    "ShaderNodeBackground": _shader("emission", outputs={"Background": "light"}, finish=opt.finish_background,
                                    lacks="rendered as Emission on surfaces"),
    "ShaderNodeBsdfHair": _shader("hair_bsdf", inputs={"RoughnessU": "roughness_u", "RoughnessV": "roughness_v"}, options=opt.take("component"),
                                  lacks="lamps light it from all sides, in Cycles only one side of the surface; on a mesh without Tangent, "
                                        "the fibre direction is u"),
    "ShaderNodeBsdfHairPrincipled": _shader(
        "principled_hair_bsdf", options=opt.hair_principled, finish=opt.finish_hair_principled, inputs={"Tint": "dye"},
        lacks="on meshes the fibre direction is u, in Cycles an edge of each triangle; by Huang, white hair returns 0.14 to "
              "0.21 less of a lamp's light than in Cycles, where it returns more than comes in; flat hair "
              "without normals differs by 3.5 % in 5.2, why is not known"),
    "ShaderNodeEeveeSpecular": _shader("specular_bsdf", inputs={"Ambient Occlusion": None}, outputs=BSDF,
                                       finish=opt.finish_specular, lacks="a node of Eevee, which Cycles does not support; no Ambient Occlusion"),
    "ShaderNodeDisplacement": Node("displacement", outputs={"Displacement": "moved"}, options=opt.take("space"),
                                   finish=opt.finish_rows, lacks="changes normals only"),
    "ShaderNodeVectorDisplacement": Node(
        "vector_displacement", {"Vector": "tint"}, {"Displacement": "moved"}, opt.take("space"),
        finish=opt.finish_rows, lacks="changes normals only"),
    "ShaderNodeTexEnvironment": Node(
        "tex_environment", options=opt.take("projection", "interpolation"), default_vector="position",
        finish=opt.finish_environment, lacks="Cubic and Smart use the renderer's filter"),
    "ShaderNodeTexSky": Node(sky_node.unit_of, options=sky_node.options, default_vector="position",
                             finish=sky_node.finish, units=("tex_sky_preetham", "tex_sky_nishita", "tex_sky_hosek"),
                             lacks="Hosek / Wilkie and Multiple Scattering are computed by Cycles; of the latter, the ground below the horizon is that of "
                                   "Single Scattering, and the sun's disc is 5 to 8 % darker"),
    "ShaderNodeTexIES": Node("tex_ies", default_vector="shading_normal", finish=ies_node.finish,
                             lacks="no photometry of type A, as in Cycles"),
    "ShaderNodeTangent": Node("tangent", options=opt.take("axis", direction="direction_type"),
                              finish=opt.finish_tangent, lacks="UV Map: always the render-active one"),
    "ShaderNodeWireframe": Node("wireframe", options=opt.take("use_pixel_size"),
                                lacks="Pixel Size is measured along the larger side of the pixel's footprint"),
    "ShaderNodeCameraData": Node("camera_data", outputs={"View Vector": "view", "View Z Depth": "depth",
                                                         "View Distance": "away"}, finish=opt.finish_camera),
    "ShaderNodeHairInfo": Node("hair_info", outputs={
        "Is Strand": "is_strand", "Intercept": "along", "Length": "whole", "Thickness": "width",
        "Tangent Normal": "side", "Random": "random"}),
    "ShaderNodeParticleInfo": Node("particle_info", outputs={
        name: name.lower().replace(" ", "_") for name in (
            "Index", "Random", "Age", "Lifetime", "Location", "Size", "Velocity", "Angular Velocity")},
        finish=opt.finish_particle),
    "ShaderNodePointInfo": Node("point_info", outputs={"Position": "place", "Radius": "radius", "Random": "random"},
                                lacks="all outputs are 0, also on point clouds"),
    "ShaderNodeLightFalloff": Node("light_falloff", finish=opt.finish_falloff),
    "ShaderNodeRGBCurve": Node("curves", {"Color": "coord"}, {"Color": "result"}, opt.curves),
    "ShaderNodeVectorCurve": Node("curves", {"Vector": "coord"}, {"Vector": "result"}, opt.curves),
    "ShaderNodeFloatCurve": Node("float_curve", {"Factor": "fac", "Value": "x"}, options=opt.float_curve),
    "ShaderNodeVectorRotate": Node("vector_rotate", outputs={"Vector": "rotated"},
                                   options=opt.take("invert", kind="rotation_type")),
    "ShaderNodeVectorTransform": Node(
        "vector_transform", outputs={"Vector": "turned"},
        options=opt.take(kind="vector_type", from_space="convert_from", to_space="convert_to"),
        finish=opt.finish_vector_transform),
    "ShaderNodeNormal": Node("normal_node", outputs={"Normal": "result", "Dot": "agreement"}, options=opt.direction),
    "ShaderNodeBlackbody": Node("blackbody", lacks="limited to 1000 K to 15,000 K"),
    "ShaderNodeWavelength": Node("wavelength", lacks="colours are approximated by sums of Gaussians"),
}
