"""The nodes that the add-on is compared with Cycles by: each case makes a small tree, shows it on a tile of one
picture, and says how far the two may be apart. Run by test_addon_nodes.py, and by make_node_reference.py in Cycles."""

import math

import bpy
import numpy as np

import blender_scene as kit

TILE_PX, CELL_PX, CELLS = 16, 4, 3  # a tile's middle is measured: CELLS x CELLS means
SPACING = 2.2
VALUES, SURFACES = [], []


class Case:
    def __init__(self, name, node, tolerance, build):
        self.name, self.node, self.tolerance, self.build = name, node, tolerance, build


def value(node, tolerance=0.01, name=None, kinds=None):
    """A case that gives a socket; with `kinds`, one case for each value of (a setting)."""
    def add(build):
        for kind in kinds or [None]:
            given = name or build.__name__.replace("_", " ")
            VALUES.append(Case(f"{given} {kind}" if kind else given, node, tolerance,
                               (lambda tile, kind=kind: build(tile, kind)) if kind else build))
        return build
    return add


def surface(name, node, tolerance, settings=None, **inputs):
    SURFACES.append(Case(name, node, tolerance, lambda tile: tile.new(node, settings, **inputs).outputs[0]))


class Tile:
    """One object with a material of its own."""

    def __init__(self, obj):
        self.obj = obj
        self.root = kit.material_of(obj, "ShaderNodeEmission")
        self.material = obj.data.materials[0]

    def new(self, node_type, settings=None, **inputs):
        node = kit.new_node(self.root, node_type)
        for name, given in (settings or {}).items():
            setattr(node, name, given)
        for name, given in inputs.items():
            socket = next(s for s in node.inputs if s.enabled and
                          (s.identifier == name or s.name == name.replace("_", " ")))
            if isinstance(given, bpy.types.NodeSocket):
                kit.link(given, socket)
            else:
                socket.default_value = given
        return node

    def output(self, node_type, output=0, settings=None, **inputs):
        return self.new(node_type, settings, **inputs).outputs[output]

    @property
    def uv(self):
        return self.output("ShaderNodeTexCoord", "UV")

    @property
    def wide(self):
        """uv moved to -1 .. 2, so that signs and wrapping count."""
        return self.output("ShaderNodeMapping", 0, None, Vector=self.uv, Scale=(3, 3, 3), Location=(-1, -1, 0.3))

    def part(self, vector, k):
        return self.output("ShaderNodeSeparateXYZ", k, None, Vector=vector)

    def join(self, *parts):
        node = self.new("ShaderNodeCombineXYZ")
        for socket, part in zip(node.inputs, parts):
            kit.link(part, socket)
        return node.outputs[0]

    def soft(self, vector):
        """x / (1 + |x|), so that no pole decides a mean."""
        size = self.output("ShaderNodeVectorMath", 0, {"operation": "ABSOLUTE"}, Vector=vector)
        below = self.new("ShaderNodeVectorMath", {"operation": "ADD"})
        kit.link(size, below.inputs[0])
        below.inputs[1].default_value = (1, 1, 1)
        node = self.new("ShaderNodeVectorMath", {"operation": "DIVIDE"})
        kit.link(vector, node.inputs[0])
        kit.link(below.outputs[0], node.inputs[1])
        return node.outputs[0]

    def show(self, socket):
        """Emission cannot be negative: max(x, -x / 2)."""
        minus = self.output("ShaderNodeVectorMath", 0, {"operation": "SCALE"}, Vector=socket, Scale=-0.5)
        both = self.new("ShaderNodeVectorMath", {"operation": "MAXIMUM"})
        kit.link(socket, both.inputs[0])
        kit.link(minus, both.inputs[1])
        kit.link(both.outputs[0], self.root.inputs["Color"])

    def surface(self, socket):
        output = next(n for n in self.material.node_tree.nodes if n.type == "OUTPUT_MATERIAL")
        kit.link(socket, output.inputs["Surface"])


def enum(node_type, setting):
    return [i.identifier for i in getattr(bpy.types, node_type).bl_rna.properties[setting].enum_items]


# --- converters --------------------------------------------------------------------------------------------

def math_case(names):
    def build(tile):
        parts = []
        for operation in names:
            node = tile.new("ShaderNodeMath", {"operation": operation})
            kit.link(tile.part(tile.wide, 0), node.inputs[0])
            kit.link(tile.part(tile.wide, 1), node.inputs[1])
            node.inputs[2].default_value = 0.4
            parts.append(node.outputs[0])
        return tile.soft(tile.join(*parts))
    VALUES.append(Case("Math " + " ".join(names), "ShaderNodeMath", 0.02, build))


OPERATIONS = enum("ShaderNodeMath", "operation")
for first in range(0, len(OPERATIONS), 3):
    math_case(OPERATIONS[first:first + 3])


@value("ShaderNodeVectorMath", 0.02, "Vector Math", enum("ShaderNodeVectorMath", "operation"))
def vector_math(tile, operation):
    node = tile.new("ShaderNodeVectorMath", {"operation": operation})
    kit.link(tile.wide, node.inputs[0])
    node.inputs[1].default_value = (0.5, 0.7, 0.3)
    node.inputs[2].default_value = (-0.2, 0.1, 0.9)
    node.inputs["Scale"].default_value = 0.6
    return tile.soft(next(s for s in node.outputs if s.enabled))


@value("ShaderNodeMixRGB", 0.02, "Mix Legacy", enum("ShaderNodeMixRGB", "blend_type"))
def mix_rgb(tile, blend):
    return tile.output("ShaderNodeMixRGB", 0, {"blend_type": blend}, Fac=0.7, Color1=tile.uv, Color2=(0.3, 0.8, 0.5, 1))


@value("ShaderNodeMix", 0.01, "Mix", ["FLOAT", "VECTOR", "RGBA"])
def mix(tile, kind):
    node = tile.new("ShaderNodeMix", {"data_type": kind})
    inputs = [s for s in node.inputs if s.enabled]
    inputs[0].default_value = 0.3
    kit.link(tile.wide, inputs[1])
    return next(s for s in node.outputs if s.enabled)


@value("ShaderNodeMapRange", 0.01, "Map Range", enum("ShaderNodeMapRange", "interpolation_type"))
def map_range(tile, kind):
    return tile.output("ShaderNodeMapRange", 0, {"interpolation_type": kind}, Value=tile.part(tile.wide, 0),
                       From_Min=-0.5, From_Max=1.5, To_Min=0.2, To_Max=-1.0)


@value("ShaderNodeMapRange", 0.01, "Map Range Vector", enum("ShaderNodeMapRange", "interpolation_type"))
def map_range_vector(tile, kind):
    return tile.output("ShaderNodeMapRange", "Vector", {"interpolation_type": kind, "data_type": "FLOAT_VECTOR"},
                       Vector=tile.wide, From_Min_FLOAT3=(-0.5, -0.5, 0), From_Max_FLOAT3=(1.5, 1, 2),
                       To_Min_FLOAT3=(0.2, 0, 0.1), To_Max_FLOAT3=(-1, 1, 2))


@value("ShaderNodeClamp", 0.01, "Clamp", ["MINMAX", "RANGE"])
def clamp(tile, kind):
    return tile.output("ShaderNodeClamp", 0, {"clamp_type": kind}, Value=tile.part(tile.wide, 0), Min=0.8, Max=0.1)


@value("ShaderNodeValToRGB", 0.02, "ColorRamp", ["LINEAR", "CONSTANT", "EASE", "CARDINAL", "B_SPLINE"])
def color_ramp(tile, kind):
    node = tile.new("ShaderNodeValToRGB", None, Fac=tile.part(tile.wide, 0))
    node.color_ramp.interpolation = kind
    node.color_ramp.elements.new(0.4).color = (0.9, 0.2, 0.1, 0.5)
    return node.outputs["Color"]


def bend(mapping, number, *points):
    curve = mapping.curves[number]
    for x, y in points:
        curve.points.new(x, y)
    mapping.update()


@value("ShaderNodeRGBCurve", 0.01, "RGB Curves", ["EXTRAPOLATED", "HORIZONTAL"])
def rgb_curves(tile, extend):
    node = tile.new("ShaderNodeRGBCurve", None, Color=tile.wide, Fac=0.8)
    node.mapping.extend = extend
    bend(node.mapping, 3, (0.3, 0.5))
    bend(node.mapping, 0, (0.6, 0.2))
    return node.outputs[0]


@value("ShaderNodeVectorCurve", 0.01)
def vector_curves(tile):
    node = tile.new("ShaderNodeVectorCurve", None, Vector=tile.wide)
    bend(node.mapping, 0, (0.3, -0.5))
    bend(node.mapping, 1, (-0.2, 0.4))
    return node.outputs[0]


@value("ShaderNodeFloatCurve", 0.01)
def float_curve(tile):
    node = tile.new("ShaderNodeFloatCurve", None, Value=tile.part(tile.wide, 0))
    bend(node.mapping, 0, (0.3, 0.7))
    return node.outputs[0]


@value("ShaderNodeInvert")
def invert(tile):
    return tile.output("ShaderNodeInvert", 0, None, Fac=0.7, Color=tile.wide)


@value("ShaderNodeGamma")
def gamma(tile):
    return tile.output("ShaderNodeGamma", 0, None, Gamma=2.2, Color=tile.uv)


@value("ShaderNodeBrightContrast")
def bright_contrast(tile):
    return tile.output("ShaderNodeBrightContrast", 0, None, Color=tile.uv, Bright=0.2, Contrast=0.6)


@value("ShaderNodeHueSaturation")
def hue_saturation(tile):
    return tile.output("ShaderNodeHueSaturation", 0, None, Color=tile.uv, Hue=0.7, Saturation=1.4, Value=0.8, Fac=0.9)


@value("ShaderNodeRGBToBW")
def rgb_to_bw(tile):
    return tile.output("ShaderNodeRGBToBW", 0, None, Color=tile.uv)


@value("ShaderNodeSeparateColor", 0.01, "Separate and Combine Color", ["RGB", "HSV", "HSL"])
def separate_color(tile, mode):
    split = tile.new("ShaderNodeSeparateColor", {"mode": mode}, Color=tile.uv)
    join = tile.new("ShaderNodeCombineColor", {"mode": mode})
    for source, target in ((1, 0), (0, 1), (2, 2)):
        kit.link(split.outputs[source], join.inputs[target])
    return join.outputs[0]


@value("ShaderNodeSeparateRGB", 0.01, "Separate and Combine, older", ["RGB", "HSV", "XYZ"])
def separate_older(tile, mode):
    split = tile.new(f"ShaderNodeSeparate{mode}")
    kit.link(tile.uv, split.inputs[0])
    join = tile.new(f"ShaderNodeCombine{mode}")
    for source, target in ((1, 0), (0, 1), (2, 2)):
        kit.link(split.outputs[source], join.inputs[target])
    return join.outputs[0]


@value("ShaderNodeBlackbody", 0.01)
def blackbody(tile):
    kelvin = tile.output("ShaderNodeMapRange", 0, None, Value=tile.part(tile.uv, 0), To_Min=1200, To_Max=11000)
    return tile.output("ShaderNodeBlackbody", 0, None, Temperature=kelvin)


@value("ShaderNodeWavelength", 0.02)
def wavelength(tile):
    nm = tile.output("ShaderNodeMapRange", 0, None, Value=tile.part(tile.uv, 0), To_Min=380, To_Max=780)
    return tile.output("ShaderNodeWavelength", 0, None, Wavelength=nm)


# --- vectors -----------------------------------------------------------------------------------------------

@value("ShaderNodeMapping", 0.01, "Mapping", enum("ShaderNodeMapping", "vector_type"))
def mapping(tile, kind):
    node = tile.new("ShaderNodeMapping", {"vector_type": kind}, Vector=tile.wide, Rotation=(0.3, 0.5, 0.7),
                    Scale=(2, 3, 0.5))
    if kind != "NORMAL":
        node.inputs["Location"].default_value = (0.1, 0.2, 0.3)
    return node.outputs[0]


@value("ShaderNodeVectorRotate", 0.01, "Vector Rotate", enum("ShaderNodeVectorRotate", "rotation_type"))
def vector_rotate(tile, kind):
    inputs = {"Vector": tile.wide, "Center": (0.1, 0.2, 0.3)}
    if kind == "EULER_XYZ":
        inputs["Rotation"] = (0.3, 0.5, 0.7)
    else:
        inputs["Angle"] = 0.8
    if kind == "AXIS_ANGLE":
        inputs["Axis"] = (0.3, -0.4, 0.8)
    return tile.output("ShaderNodeVectorRotate", 0, {"rotation_type": kind, "invert": True}, **inputs)


@value("ShaderNodeVectorTransform", 0.01, "Vector Transform",
       [f"{kind} {a} {b}" for kind, a, b in (("POINT", "WORLD", "OBJECT"), ("VECTOR", "OBJECT", "WORLD"),
                                             ("NORMAL", "OBJECT", "CAMERA"), ("POINT", "CAMERA", "WORLD"))])
def vector_transform(tile, kind):
    names = kind.split()
    node = tile.new("ShaderNodeVectorTransform",
                    {"vector_type": names[0], "convert_from": names[1], "convert_to": names[2]}, Vector=tile.wide)
    return tile.output("ShaderNodeVectorMath", 0, {"operation": "SCALE"}, Vector=node.outputs[0], Scale=0.1)


@value("ShaderNodeNormal")
def normal(tile):
    node = tile.new("ShaderNodeNormal", None, Normal=tile.wide)
    node.outputs["Normal"].default_value = (0.3, -0.5, 0.8)
    return tile.output("ShaderNodeVectorMath", 0, {"operation": "SCALE"}, Vector=node.outputs["Normal"],
                       Scale=node.outputs["Dot"])


@value("ShaderNodeNormalMap", 0.02, "Normal Map",
       ["TANGENT", "OBJECT", "WORLD", "BLENDER_OBJECT", "BLENDER_WORLD"])
def normal_map(tile, space):
    return tile.output("ShaderNodeNormalMap", 0, {"space": space}, Color=(0.7, 0.6, 0.9, 1), Strength=0.7)


@value("ShaderNodeBump", 0.02)
def bump(tile):
    wave = tile.output("ShaderNodeTexWave", "Fac", None, Scale=0.3)
    return tile.output("ShaderNodeBump", 0, None, Height=wave, Distance=0.3, Strength=0.8)


# --- inputs ------------------------------------------------------------------------------------------------

def outputs_of(node, names, tolerance=0.01, scale=1.0):
    def build(tile, name):
        return tile.output("ShaderNodeVectorMath", 0, {"operation": "SCALE"}, Vector=tile.output(node, name), Scale=scale)
    value(node, tolerance, getattr(bpy.types, node).bl_rna.name, names)(build)


outputs_of("ShaderNodeTexCoord", ["Generated", "Normal", "UV", "Object", "Window", "Reflection"])
outputs_of("ShaderNodeTexCoord", ["Camera"], scale=0.1)
outputs_of("ShaderNodeNewGeometry", ["Position"], scale=0.1)
outputs_of("ShaderNodeNewGeometry", ["Normal", "Tangent", "True Normal", "Incoming", "Parametric", "Pointiness"])
outputs_of("ShaderNodeCameraData", ["View Vector"])
outputs_of("ShaderNodeCameraData", ["View Z Depth", "View Distance"], scale=0.02)
outputs_of("ShaderNodeObjectInfo", ["Location", "Object Index", "Material Index"], scale=0.1)
outputs_of("ShaderNodeObjectInfo", ["Color", "Alpha", "Random"])
outputs_of("ShaderNodeLightPath", ["Is Camera Ray"])
outputs_of("ShaderNodeLightPath", ["Ray Length"], scale=0.02)


@value("ShaderNodeTexCoord")
def coordinates_of_another_object(tile):
    other = kit.add("Other", None, (1, 2, 3), (0.3, 0.4, 0.5))
    other.scale = (1, 2, 3)
    node = tile.new("ShaderNodeTexCoord", {"object": other})
    return tile.output("ShaderNodeVectorMath", 0, {"operation": "SCALE"}, Vector=node.outputs["Object"], Scale=0.1)


@value("ShaderNodeTangent", 0.01, "Tangent", ["X", "Y", "Z", "UV_MAP"])
def tangent(tile, kind):
    for vertex in tile.obj.data.vertices:  # else two axes' tangents lie along the normal
        vertex.co.z = 0.4 * vertex.co.x + 0.3 * vertex.co.y
    return tile.output("ShaderNodeTangent", 0, {"direction_type": "UV_MAP"} if kind == "UV_MAP" else {"axis": kind})


@value("ShaderNodeWireframe", 0.03)
def wireframe(tile):
    return tile.output("ShaderNodeWireframe", 0, None, Size=0.5)


@value("ShaderNodeFresnel")
def fresnel(tile):
    return tile.output("ShaderNodeFresnel", 0, None, IOR=tile.output(
        "ShaderNodeMapRange", 0, None, Value=tile.part(tile.uv, 0), To_Min=1.1, To_Max=3))


@value("ShaderNodeLayerWeight", 0.01, "Layer Weight", ["Fresnel", "Facing"])
def layer_weight(tile, output):
    bent = tile.output("ShaderNodeNormalMap", 0, None, Color=(0.9, 0.6, 0.7, 1))
    return tile.output("ShaderNodeLayerWeight", output, None, Blend=0.3, Normal=bent)


@value("ShaderNodeUVMap")
def uv_map(tile):
    tile.obj.data.uv_layers.new(name="Second").data.foreach_set(
        "uv", np.array([0.9, 0.1, 0.2, 0.3, 0.5, 0.7, 0.1, 0.9], np.float32))
    return tile.output("ShaderNodeUVMap", 0, {"uv_map": "Second"})


PAINT = np.array([1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 1, 0.5, 1, 1, 1, 1], np.float32)


@value("ShaderNodeVertexColor")
def color_attribute(tile):
    tile.obj.data.color_attributes.new("Paint", "FLOAT_COLOR", "POINT").data.foreach_set("color", PAINT)
    return tile.output("ShaderNodeVertexColor", 0, {"layer_name": "Paint"})


@value("ShaderNodeAttribute", 0.01, "Attribute", ["GEOMETRY", "OBJECT", "VIEW_LAYER"])
def attribute(tile, kind):
    tile.obj.data.color_attributes.new("Paint", "FLOAT_COLOR", "POINT").data.foreach_set("color", PAINT)
    tile.obj["Paint"] = [0.3, 0.6, 0.9]
    bpy.context.scene["Paint"] = [0.9, 0.2, 0.4]
    return tile.output("ShaderNodeAttribute", "Color", {"attribute_type": kind, "attribute_name": "Paint"})


@value("ShaderNodeHairInfo", 0.01)
def curves_info_of_a_mesh(tile):
    return tile.output("ShaderNodeMath", 0, {"operation": "ADD"}, Value=tile.output("ShaderNodeHairInfo", "Is Strand"),
                       Value_001=0.5)


@value("ShaderNodePointInfo", 0.01)
def point_info_of_a_mesh(tile):
    return tile.output("ShaderNodeMath", 0, {"operation": "ADD"}, Value=tile.output("ShaderNodePointInfo", "Radius"),
                       Value_001=0.5)


@value("ShaderNodeParticleInfo", 0.01)
def particle_info_of_a_mesh(tile):
    return tile.output("ShaderNodeMath", 0, {"operation": "ADD"}, Value=tile.output("ShaderNodeParticleInfo", "Age"),
                       Value_001=0.5)


@value("ShaderNodeLightFalloff", 0.01, "Light Falloff", ["Quadratic", "Linear", "Constant"])
def light_falloff(tile, output):
    fall = tile.output("ShaderNodeLightFalloff", output, None, Strength=0.02, Smooth=100)
    return tile.output("ShaderNodeMath", 0, {"operation": "POWER"}, Value=fall, Value_001=0.3)


# --- textures ----------------------------------------------------------------------------------------------

@value("ShaderNodeTexNoise", 0.01, "Noise", ["1D", "2D", "3D", "4D"])
def noise(tile, dimensions):
    return tile.output("ShaderNodeTexNoise", "Color", {"noise_dimensions": dimensions}, Vector=tile.wide, Scale=1.3) \
        if dimensions != "1D" else tile.output("ShaderNodeTexNoise", "Color", {"noise_dimensions": "1D"},
                                               W=tile.part(tile.wide, 0), Scale=1.3)


@value("ShaderNodeTexVoronoi", 0.01, "Voronoi", enum("ShaderNodeTexVoronoi", "feature"))
def voronoi(tile, feature):
    node = tile.new("ShaderNodeTexVoronoi", {"feature": feature}, Vector=tile.wide, Scale=1.3)
    return next(s for s in node.outputs if s.enabled)


@value("ShaderNodeTexMusgrave", 0.01, "Musgrave", enum("ShaderNodeTexMusgrave", "musgrave_type"))
def musgrave(tile, kind):
    return tile.output("ShaderNodeTexMusgrave", 0, {"musgrave_type": kind}, Vector=tile.wide, Scale=1.3)


@value("ShaderNodeTexWave", 0.01, "Wave", ["BANDS", "RINGS"])
def wave(tile, kind):
    return tile.output("ShaderNodeTexWave", 0, {"wave_type": kind}, Vector=tile.wide, Scale=0.4, Distortion=1.0)


@value("ShaderNodeTexMagic", 0.01)
def magic(tile):
    return tile.output("ShaderNodeTexMagic", 0, None, Vector=tile.wide, Scale=0.7)


@value("ShaderNodeTexBrick", 0.03)
def brick(tile):
    return tile.output("ShaderNodeTexBrick", 0, None, Vector=tile.uv, Scale=2.3, Color1=(0.9, 0.2, 0.1, 1))


@value("ShaderNodeTexChecker", 0.01)
def checker(tile):
    return tile.output("ShaderNodeTexChecker", 0, None, Vector=tile.uv, Scale=2.3)


@value("ShaderNodeTexGradient", 0.01, "Gradient", enum("ShaderNodeTexGradient", "gradient_type"))
def gradient(tile, kind):
    return tile.output("ShaderNodeTexGradient", 0, {"gradient_type": kind}, Vector=tile.wide)


@value("ShaderNodeTexWhiteNoise", 0.01)
def white_noise(tile):
    floor = tile.output("ShaderNodeVectorMath", 0, {"operation": "FLOOR"}, Vector=tile.wide)
    return tile.output("ShaderNodeTexWhiteNoise", "Color", {"noise_dimensions": "3D"}, Vector=floor)


def gradient_image(name, width, height):
    image = bpy.data.images.new(name, width, height, float_buffer=True)
    y, x = np.mgrid[0:height, 0:width]
    pixels = np.stack([x / width, y / height, 0.5 + 0.5 * np.sin(x * 6.2832 / width), np.ones(x.shape)], axis=2)
    image.pixels.foreach_set(pixels.astype(np.float32).ravel())
    return image


@value("ShaderNodeTexImage", 0.02, "Image", ["FLAT", "SPHERE", "TUBE"])
def image(tile, projection):
    return tile.output("ShaderNodeTexImage", 0, {"image": gradient_image("Flat", 64, 64), "projection": projection,
                                                 "extension": "EXTEND"}, Vector=tile.uv)


@value("ShaderNodeTexEnvironment", 0.02, "Environment Texture", ["EQUIRECTANGULAR", "MIRROR_BALL"])
def environment_texture(tile, projection):
    return tile.output("ShaderNodeTexEnvironment", 0, {"image": gradient_image("All around", 128, 64),
                                                       "projection": projection}, Vector=tile.wide)


# --- surfaces ----------------------------------------------------------------------------------------------

surface("Diffuse BSDF", "ShaderNodeBsdfDiffuse", 0.03, None, Roughness=0.5)
surface("Glossy BSDF", "ShaderNodeBsdfGlossy", 0.04, {"distribution": "GGX"}, Roughness=0.4)
surface("Glossy BSDF, Beckmann", "ShaderNodeBsdfGlossy", 0.03, {"distribution": "BECKMANN"}, Roughness=0.4)
surface("Anisotropic BSDF", "ShaderNodeBsdfAnisotropic", 0.04, {"distribution": "GGX"}, Roughness=0.4, Anisotropy=0.5)
surface("Glass BSDF", "ShaderNodeBsdfGlass", 0.02, {"distribution": "GGX"}, Roughness=0.2)
surface("Refraction BSDF", "ShaderNodeBsdfRefraction", 0.02, {"distribution": "GGX"}, Roughness=0.2)
surface("Translucent BSDF", "ShaderNodeBsdfTranslucent", 0.03)
surface("Transparent BSDF", "ShaderNodeBsdfTransparent", 0.03, None, Color=(0.8, 0.5, 0.2, 1))
surface("Velvet BSDF", "ShaderNodeBsdfVelvet", 0.03, None, Sigma=0.5)
surface("Toon BSDF", "ShaderNodeBsdfToon", 0.03, {"component": "DIFFUSE"})
surface("Emission", "ShaderNodeEmission", 0.01, None, Color=(0.8, 0.5, 0.2, 1))
surface("Background", "ShaderNodeBackground", 0.01, None, Color=(0.8, 0.5, 0.2, 1))
surface("Principled BSDF, plastic", "ShaderNodeBsdfPrincipled", 0.05, None, Sheen=1.0, Clearcoat=1.0,
        Base_Color=(0.7, 0.3, 0.1, 1))
surface("Principled BSDF, metal", "ShaderNodeBsdfPrincipled", 0.05, None, Metallic=1.0, Anisotropic=0.7, Roughness=0.4)
surface("Subsurface Scattering", "ShaderNodeSubsurfaceScattering", 0.08, None, Scale=0.1)
surface("Principled Hair BSDF", "ShaderNodeBsdfHairPrincipled", 0.15, None, Color=(0.6, 0.4, 0.2, 1))


def pair(kind):
    def build(tile):
        a = tile.output("ShaderNodeBsdfDiffuse", 0, None, Color=(0.5, 0.2, 0.1, 1))
        b = tile.output("ShaderNodeBsdfTranslucent", 0, None, Color=(0.1, 0.2, 0.5, 1))
        node = tile.new(f"ShaderNode{kind}Shader")
        sockets = [s for s in node.inputs if s.type == "SHADER"]
        kit.link(a, sockets[0])
        kit.link(b, sockets[1])
        return node.outputs[0]
    SURFACES.append(Case(f"{kind} Shader", f"ShaderNode{kind}Shader", 0.03, build))


for each in ("Mix", "Add"):
    pair(each)


def displaced_by_a_vector(tile):
    wave = tile.output("ShaderNodeTexWave", "Fac", None, Scale=0.3)
    zero = tile.new("ShaderNodeValue").outputs[0]
    output = next(n for n in tile.material.node_tree.nodes if n.type == "OUTPUT_MATERIAL")
    kit.link(tile.output("ShaderNodeVectorDisplacement", 0, {"space": "TANGENT"}, Scale=0.1,
                         Vector=tile.join(zero, wave, zero)), output.inputs["Displacement"])
    return tile.output("ShaderNodeBsdfDiffuse", 0)


SURFACES.append(Case("Vector Displacement as bump", "ShaderNodeVectorDisplacement", 0.04, displaced_by_a_vector))
surface("Hair BSDF", "ShaderNodeBsdfHair", 0.3, None, RoughnessU=0.3, RoughnessV=0.5)


def displaced(tile):
    wave = tile.output("ShaderNodeTexWave", "Fac", None, Scale=0.3)
    output = next(n for n in tile.material.node_tree.nodes if n.type == "OUTPUT_MATERIAL")
    kit.link(tile.output("ShaderNodeDisplacement", 0, None, Height=wave, Scale=0.1), output.inputs["Displacement"])
    return tile.output("ShaderNodeBsdfDiffuse", 0)


SURFACES.append(Case("Displacement as bump", "ShaderNodeDisplacement", 0.04, displaced))


# --- the scenes --------------------------------------------------------------------------------------------

def grid(count):
    columns = math.ceil(math.sqrt(count))
    return columns, math.ceil(count / columns)


def build_values():
    columns, rows = grid(len(VALUES))
    scene = kit.empty_scene(samples=16)
    scene.render.resolution_x, scene.render.resolution_y = columns * TILE_PX, rows * TILE_PX
    for number, case in enumerate(VALUES):
        plane = kit.add_plane(f"Tile {number:03}", SPACING, location=_place(number, columns, rows),
                              rotation=(0.1, 0.05, 0.0))
        plane.color, plane.pass_index = (0.2, 0.5, 0.9, 0.6), 7
        tile = Tile(plane)
        tile.material.pass_index = 5
        tile.show(case.build(tile))
    camera = kit.add_camera((0, 0, 30))
    camera.data.sensor_fit = "VERTICAL"
    camera.data.angle = 2 * math.atan(rows * SPACING / 2 / 30)
    return columns, rows


def build_surfaces():
    columns, rows = grid(len(SURFACES))
    scene = kit.empty_scene(samples=256)
    scene.sort.max_depth = scene.cycles.max_bounces = 8
    scene.render.resolution_x, scene.render.resolution_y = columns * TILE_PX, rows * TILE_PX
    for number, case in enumerate(SURFACES):
        bpy.ops.mesh.primitive_uv_sphere_add(radius=0.9, segments=48, ring_count=24,
                                             location=_place(number, columns, rows))
        bpy.ops.object.shade_smooth()
        bpy.context.object.name = f"Ball {number:03}"
        tile = Tile(bpy.context.object)
        tile.surface(case.build(tile))
    sun = kit.add("Sun", bpy.data.lights.new("Sun", "SUN"), (0, 0, 5), (0.5, 0.4, 0))
    sun.data.energy, sun.data.angle = 2, 0.3
    scene.world = bpy.data.worlds.new("World")
    scene.world.color = (0.5, 0.5, 0.5)
    camera = kit.add_camera((0, 0, 30))
    camera.data.sensor_fit = "VERTICAL"
    camera.data.angle = 2 * math.atan(rows * SPACING / 2 / 30)
    return columns, rows


def _place(number, columns, rows):
    column, row = number % columns, number // columns
    return ((column - (columns - 1) / 2) * SPACING, ((rows - 1) / 2 - row) * SPACING, 0)


def measure(picture, number, columns, rows):
    """CELLS x CELLS x rgb: means of the middle of a tile."""
    x = number % columns * TILE_PX + (TILE_PX - CELLS * CELL_PX) // 2
    y = (rows - 1 - number // columns) * TILE_PX + (TILE_PX - CELLS * CELL_PX) // 2
    part = picture[y:y + CELLS * CELL_PX, x:x + CELLS * CELL_PX, :3]
    return part.reshape(CELLS, CELL_PX, CELLS, CELL_PX, 3).mean(axis=(1, 3))


SCENES = {"values": (VALUES, build_values), "surfaces": (SURFACES, build_surfaces)}


# --- worlds and lights: a picture each ---------------------------------------------------------------------

PICTURES = []


def picture(node, tolerance):
    def add(build):
        PICTURES.append(Case(build.__name__.replace("_", " "), node, tolerance, build))
        return build
    return add


class World:
    """All around, in an equirectangular picture; nodes are made as on a tile."""

    def __init__(self):
        scene = kit.empty_scene(samples=16)
        scene.render.resolution_x, scene.render.resolution_y = 48, 24
        scene.world = bpy.data.worlds.new("World")
        scene.world.use_nodes = True
        self.root = scene.world.node_tree.nodes["Background"]
        camera = kit.add_camera((3, 2, 1), (math.pi / 2, 0, 0))
        camera.data.type = "PANO"
        camera.data.cycles.panorama_type = "EQUIRECTANGULAR"
        kit.add_mesh("Far", [(0, 0, -500), (1, 0, -500), (0, 1, -500)], [(0, 1, 2)])

    new, output, part, join = Tile.new, Tile.output, Tile.part, Tile.join

    def show(self, socket):
        kit.link(socket, self.root.inputs["Color"])


@picture("ShaderNodeBackground", 0.01)
def world_gradient():
    world = World()
    up = world.part(world.output("ShaderNodeTexCoord", "Generated"), 2)
    ramp = world.new("ShaderNodeValToRGB", None, Fac=up)
    ramp.color_ramp.elements[0].color = (0.2, 0.4, 0.9, 1)
    world.show(ramp.outputs[0])


@picture("ShaderNodeTexEnvironment", 0.02)
def world_image_scaled_and_tinted():
    world = World()
    where = world.output("ShaderNodeMapping", 0, None, Vector=world.output("ShaderNodeTexCoord", "Generated"),
                         Rotation=(0.3, 0.2, 1), Scale=(1, 2, 0.5))
    image = world.output("ShaderNodeTexEnvironment", 0, {"image": gradient_image("All around", 128, 64)}, Vector=where)
    world.show(world.output("ShaderNodeHueSaturation", 0, None, Color=image, Saturation=0.5, Hue=0.6))


@picture("ShaderNodeTexCoord", 0.02)
def world_coordinates():
    world = World()
    parts = [world.output("ShaderNodeTexCoord", name) for name in ("Normal", "Object", "Reflection")]
    sum_of = world.output("ShaderNodeVectorMath", 0, {"operation": "MULTIPLY_ADD"}, Vector=parts[0],
                          Vector_001=(-0.6, 0.5, 0.1), Vector_002=parts[1])
    world.show(world.output("ShaderNodeTexVoronoi", "Color", None, Vector=sum_of, Scale=1.5))


@picture("ShaderNodeTexSky", 0.02)
def world_of_a_preetham_sky():
    world = World()
    world.show(world.output("ShaderNodeTexSky", 0, {"sky_type": "PREETHAM", "turbidity": 3.0,
                                                    "sun_direction": (0.6, 0.3, 0.74)}))


@picture("ShaderNodeLightPath", 0.02)
def world_for_the_camera_alone():
    world = World()
    seen = world.output("ShaderNodeLightPath", "Is Camera Ray")
    world.show(world.output("ShaderNodeMixRGB", 0, None, Fac=seen, Color1=(1, 0, 0, 1), Color2=(0.1, 0.5, 0.3, 1)))


def white_floor(kind, place, **settings):
    """A Lambert plane from above, and a light with nodes: its Emission node."""
    scene = kit.empty_scene(samples=256)
    scene.render.resolution_x = scene.render.resolution_y = 24
    kit.material_of(kit.add_plane(size=4), "ShaderNodeBsdfDiffuse", Color=(0.8, 0.8, 0.8, 1))
    kit.add_camera((0, 0, 12)).data.angle = 0.33
    light = kit.add("Light", bpy.data.lights.new("Light", kind), place, (0.2, 0.1, 0))
    light.data.energy, light.data.use_nodes = 50, True
    for name, given in settings.items():
        setattr(light.data, name, given)
    return light.data.node_tree.nodes["Emission"]


def node_of(beside, node_type, **inputs):
    node = kit.new_node(beside, node_type)
    for name, given in inputs.items():
        node.inputs[name.replace("_", " ")].default_value = given
    return node


@picture("ShaderNodeBlackbody", 0.01)
def area_light_of_a_black_body():
    emission = white_floor("AREA", (0.3, 0.2, 2), size=1.0)
    kit.link(node_of(emission, "ShaderNodeBlackbody", Temperature=3000).outputs[0], emission.inputs["Color"])


@picture("ShaderNodeLightFalloff", 0.03)
def point_light_of_constant_falloff():
    emission = white_floor("POINT", (0.3, 0.2, 2), shadow_soft_size=0.1)
    kit.link(node_of(emission, "ShaderNodeLightFalloff", Strength=0.5).outputs["Constant"], emission.inputs["Strength"])


@picture("ShaderNodeEmission", 0.02)
def spot_light_with_a_pattern():
    emission = white_floor("SPOT", (0.3, 0.2, 3), shadow_soft_size=0.0, spot_size=1.0, spot_blend=0.3)
    checker, place = node_of(emission, "ShaderNodeTexChecker", Scale=5.0), kit.new_node(emission, "ShaderNodeNewGeometry")
    kit.link(place.outputs["Incoming"], checker.inputs["Vector"])
    kit.link(checker.outputs["Color"], emission.inputs["Color"])


def measure_all(picture):
    """The same of a whole picture."""
    high, wide = (size // CELLS * CELLS for size in picture.shape[:2])
    part = picture[:high, :wide, :3]
    return part.reshape(CELLS, high // CELLS, CELLS, wide // CELLS, 3).mean(axis=(1, 3))
