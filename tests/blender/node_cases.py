"""The nodes that the add-on is compared with Cycles by: each case makes a small tree, shows it on a tile of one
picture, and says how far the two may be apart. Run by test_addon_nodes.py, and by make_node_reference.py in Cycles."""

import math

import bpy
import numpy as np

import blender_scene as kit
from node_tiles import IS_4, VALUES, Case, enum, gradient_image, value


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
    next(s for s in node.inputs if s.identifier == "Scale").default_value = 0.6
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
    if kind in ("POINT", "TEXTURE"):
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
       ["TANGENT", "OBJECT", "WORLD", "BLENDER_OBJECT", "BLENDER_WORLD"]
       + [f"{space} DIRECTX" for space in ("TANGENT", "OBJECT", "WORLD") if enum("ShaderNodeNormalMap", "convention")])
def normal_map(tile, kind):
    space, *convention = kind.split()
    settings = {"space": space, **({"convention": convention[0]} if convention else {})}
    return tile.output("ShaderNodeNormalMap", 0, settings, Color=(0.7, 0.6, 0.9, 1), Strength=0.7)


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


@value("ShaderNodeNewGeometry")
def random_per_island(tile):
    """Three islands, whose roots are not their least vertices."""
    mesh, material = tile.obj.data, tile.material
    mesh.clear_geometry()
    places = [(x, y, 0) for x in (-1.1, -0.4, -0.35, 0.3, 0.35, 1.1) for y in (-1.1, 1.1)]
    mesh.from_pydata(places, [(11, 10), (9, 8), (5, 4), (7, 5), (6, 4), (3, 2), (2, 0), (3, 1)],
                     [(0, 2, 3, 1), (4, 6, 7, 5), (8, 10, 11, 9)])
    return tile.output("ShaderNodeNewGeometry", "Random Per Island")


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


@value("ShaderNodeTexVoronoi", 0.01, "Voronoi in", ["1D", "2D", "4D"])
def voronoi_dimensions(tile, dimensions):
    node = tile.new("ShaderNodeTexVoronoi", {"voronoi_dimensions": dimensions}, Scale=1.3, **(
        {} if dimensions == "1D" else {"Vector": tile.wide}), **({} if dimensions == "2D" else {"W": tile.part(tile.wide, 0)}))
    return tile.output("ShaderNodeMix", 2, {"data_type": "RGBA"}, Factor_Float=node.outputs["Distance"], A_Color=node.outputs["Color"])


def octaves(tile, node_type, output, settings, **inputs):
    """What Blender 4 added to textures, or no tile where the texture has none of it."""
    return tile.output(node_type, output, settings, Vector=tile.wide, Scale=1.3, Detail=2.6, Roughness=0.6, Lacunarity=2.3, **inputs)


@value("ShaderNodeTexNoise", 0.02, "Noise of type", enum("ShaderNodeTexNoise", "noise_type"))
def noise_of_type(tile, kind):
    more = {"Offset": 0.7} if kind in ("HYBRID_MULTIFRACTAL", "RIDGED_MULTIFRACTAL", "HETERO_TERRAIN") else {}
    if kind in ("HYBRID_MULTIFRACTAL", "RIDGED_MULTIFRACTAL"):
        more["Gain"] = 1.4
    settings = {"noise_type": kind, **({"normalize": False} if kind == "FBM" else {})}
    return tile.soft(octaves(tile, "ShaderNodeTexNoise", "Color", settings, Distortion=0.3, **more))


def is_in_4(node_type, setting):
    """The one case of a setting that is not in every version."""
    return ["4"] if setting in getattr(bpy.types, node_type).bl_rna.properties else []


@value("ShaderNodeTexNoise", 0.01, "Noise, normalised, in", is_in_4("ShaderNodeTexNoise", "normalize"))
def noise_normalised(tile, _):
    return octaves(tile, "ShaderNodeTexNoise", "Color", {"normalize": True})


@value("ShaderNodeTexVoronoi", 0.01, "Voronoi octaves", enum("ShaderNodeTexVoronoi", "feature")[:4] if IS_4 else [])
def voronoi_octaves(tile, feature):
    distance = octaves(tile, "ShaderNodeTexVoronoi", 0, {"feature": feature, "normalize": True}, Randomness=0.8)
    node = distance.node
    if feature == "DISTANCE_TO_EDGE":
        return distance
    return tile.join(distance, tile.part(node.outputs["Color"], 1), tile.part(tile.soft(node.outputs["Position"]), 0))


@value("ShaderNodeTexVoronoi", 0.01, "Voronoi normalised", enum("ShaderNodeTexVoronoi", "distance") if IS_4 else [])
def voronoi_normalised(tile, metric):
    exponent = {"Exponent": 1.5} if metric == "MINKOWSKI" else {}
    return octaves(tile, "ShaderNodeTexVoronoi", 0, {"feature": "F2", "distance": metric, "normalize": True,
                                                     "voronoi_dimensions": "2D"}, **exponent)


@value("ShaderNodeTexGabor", 0.02, "Gabor", [f"{kind} {output}" for kind in ("2D", "3D") for output in ("Value", "Phase", "Intensity")])
def gabor(tile, kind):
    dimensions, output = kind.split()
    axis = {"Orientation 3D": (0.3, -0.5, 0.8)} if dimensions == "3D" else {"Orientation 2D": 0.4}
    found = tile.output("ShaderNodeTexGabor", output, {"gabor_type": dimensions}, Vector=tile.wide, Scale=1.3, Frequency=1.7,
                        Anisotropy=0.7, **axis)
    if output != "Phase":
        return found
    turns = tile.output("ShaderNodeMath", 0, {"operation": "MULTIPLY"}, Value=found, Value_001=2 * math.pi)  # which has no jumps
    return tile.soft(tile.output("ShaderNodeMath", 0, {"operation": "SINE"}, Value=turns))


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


@value("ShaderNodeTexImage", 0.02, "Image", ["FLAT", "SPHERE", "TUBE"])
def image(tile, projection):
    return tile.output("ShaderNodeTexImage", 0, {"image": gradient_image("Flat", 64, 64), "projection": projection,
                                                 "extension": "EXTEND"}, Vector=tile.uv)


@value("ShaderNodeTexImage", 0.02, "Image, Box", [0.0, 0.4, 1.0])
def image_box(tile, blend):
    """A piece of a ball, all of whose sides are seen."""
    bpy.ops.mesh.primitive_uv_sphere_add(radius=1.4, segments=64, ring_count=32)
    ball = bpy.context.object.data
    bpy.data.objects.remove(bpy.context.object)
    for face in ball.polygons:
        face.use_smooth = True
    ball.materials.append(tile.material)
    tile.obj.data = ball
    tile.obj.rotation_euler = (0.9, 0.7, 0.3)
    where = tile.output("ShaderNodeMapping", 0, None, Vector=tile.output("ShaderNodeTexCoord", "Object"), Scale=(0.3, 0.3, 0.3),
                        Location=(0.5, 0.45, 0.4))
    return tile.output("ShaderNodeTexImage", 0, {"image": gradient_image("Box", 64, 64), "projection": "BOX",
                                                 "extension": "EXTEND", "projection_blend": blend}, Vector=where)


@value("ShaderNodeTexEnvironment", 0.02, "Environment Texture", ["EQUIRECTANGULAR", "MIRROR_BALL"])
def environment_texture(tile, projection):
    return tile.output("ShaderNodeTexEnvironment", 0, {"image": gradient_image("All around", 128, 64),
                                                       "projection": projection}, Vector=tile.wide)
