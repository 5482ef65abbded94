"""Radiances of Cycles for tests/sort/render/cycles_reference.inc.

    blender -b --factory-startup -P scripts/cycles_reference.py -- tests/sort/render/cycles_reference.inc

Needs Blender 3.4 with numpy. Strips of a plane, one a material, under one sun without extent and nothing else,
through an orthographic camera: what a strip shows is f cos E with E = pi, without noise. Rows hold the same material
for both: nodes here, a unit with parameters or a closure in SORT.
"""

import math
import sys

import bpy
from mathutils import Vector

PIXELS = 3  # a strip is so many wide, and the middle one counts
# View: polar angle, degrees, toward -y. Light: polar angle and azimuth from +x; above 90: from behind.
SETUPS = [(10, 30, 90), (45, 45, 90), (45, 40, 200), (70, 60, 100), (30, 75, 270), (70, 70, 90),
          (30, 150, 90), (60, 150, 80)]


def principled(name, **inputs):
    parameters = {key.lower().replace(" ", "_"): value for key, value in inputs.items()}
    return name, "BSDF_PRINCIPLED", inputs, {}, "unit:principled_bsdf", parameters


def closure(name, node, inputs, settings, text):
    return name, node, inputs, settings, text, None


def inputs(**values):
    return {key.replace("_", " "): value for key, value in values.items()}


GOLD = (0.9, 0.6, 0.2)
NO_SPECULAR = {"Specular": 0.0}
MATERIALS = [
    closure("diffuse", "BSDF_DIFFUSE", inputs(Color=GOLD), {}, "make_closure<Lambert>(color(0.9, 0.6, 0.2), N)"),
    closure("oren-nayar", "BSDF_DIFFUSE", inputs(Color=GOLD, Roughness=0.7), {},
            "make_closure<OrenNayar>(color(0.9, 0.6, 0.2), 0.7, N)"),
    principled("base 0.2", **{"Base Color": GOLD, "Specular": 0.0, "Roughness": 0.2}),
    principled("base 1", **{"Base Color": GOLD, "Specular": 0.0, "Roughness": 1.0}),
    principled("default"),
    principled("shiny", **{"Base Color": (0.1, 0.1, 0.1), "Specular": 0.9, "Roughness": 0.35}),
    principled("tinted", **{"Base Color": GOLD, "Specular": 1.0, "Specular Tint": 0.8, "Roughness": 0.6}),
    principled("metal", **{"Base Color": GOLD, "Metallic": 1.0, "Roughness": 0.4}),
    principled("half metal", **{"Base Color": GOLD, "Metallic": 0.5, "Roughness": 0.7}),
    principled("brushed", **{"Base Color": GOLD, "Metallic": 1.0, "Roughness": 0.5, "Anisotropic": 0.8}),
    principled("turned", **{"Base Color": GOLD, "Metallic": 1.0, "Roughness": 0.5, "Anisotropic": 0.8,
                            "Anisotropic Rotation": 0.15}),
    principled("sheen", **{"Base Color": GOLD, "Specular": 0.0, "Sheen": 1.0, "Sheen Tint": 0.0}),
    principled("tinted sheen", **{"Base Color": GOLD, "Specular": 0.0, "Sheen": 1.0, "Sheen Tint": 1.0}),
    principled("clearcoat", **{"Base Color": (0.0, 0.0, 0.0), "Specular": 0.0, "Clearcoat": 1.0,
                               "Clearcoat Roughness": 0.4}),
    principled("narrow coat", **{"Base Color": (0.2, 0.2, 0.2), "Specular": 0.0, "Clearcoat": 0.5,
                                 "Clearcoat Roughness": 0.2}),
    principled("glass", **{"Base Color": GOLD, "Transmission": 1.0, "Roughness": 0.5, "IOR": 1.5}),
    principled("frosted", **{"Base Color": GOLD, "Transmission": 0.7, "Roughness": 0.4, "IOR": 1.3,
                             "Transmission Roughness": 0.3}),
    principled("see-through", **{"Base Color": GOLD, "Alpha": 0.4}),
    closure("glossy", "BSDF_GLOSSY", inputs(Color=GOLD, Roughness=0.5), {"distribution": "GGX"},
            "make_closure<Glossy>(color(0.9, 0.6, 0.2), 0.5, 0.0, 0.0, 0.0, float3(0), N)"),
    closure("glossy beckmann", "BSDF_GLOSSY", inputs(Color=GOLD, Roughness=0.5), {"distribution": "BECKMANN"},
            "make_closure<Glossy>(color(0.9, 0.6, 0.2), 0.5, 1.0, 0.0, 0.0, float3(0), N)"),
    closure("refraction", "BSDF_REFRACTION", inputs(Color=GOLD, Roughness=0.5, IOR=1.45), {"distribution": "GGX"},
            "make_closure<Refraction>(color(0.9, 0.6, 0.2), 1.45, 0.5, 0.0, N)"),
    closure("refraction beckmann", "BSDF_REFRACTION", inputs(Color=GOLD, Roughness=0.6, IOR=1.33),
            {"distribution": "BECKMANN"}, "make_closure<Refraction>(color(0.9, 0.6, 0.2), 1.33, 0.6, 1.0, N)"),
    closure("velvet", "BSDF_VELVET", inputs(Color=GOLD, Sigma=0.6), {},
            "make_closure<Velvet>(color(0.9, 0.6, 0.2), 0.6, N)"),
    closure("translucent", "BSDF_TRANSLUCENT", inputs(Color=GOLD), {},
            "make_closure<Translucent>(color(0.9, 0.6, 0.2), N)"),
    closure("toon", "BSDF_TOON", inputs(Color=GOLD, Size=0.5, Smooth=0.4), {"component": "DIFFUSE"},
            "make_closure<ToonDiffuse>(color(0.9, 0.6, 0.2), 0.5, 0.4, N)"),
    closure("toon glossy", "BSDF_TOON", inputs(Color=GOLD, Size=0.4, Smooth=0.3), {"component": "GLOSSY"},
            "make_closure<ToonGlossy>(color(0.9, 0.6, 0.2), 0.4, 0.3, N)"),
    closure("hair reflection", "BSDF_HAIR", inputs(Color=GOLD, RoughnessU=0.3, RoughnessV=0.5, Offset=0.1),
            {"component": "Reflection"},
            "make_closure<HairReflection>(color(0.9, 0.6, 0.2), 0.3, 0.5, -0.1, global_value<tangent>)"),
    closure("hair transmission", "BSDF_HAIR", inputs(Color=GOLD, RoughnessU=0.4, RoughnessV=0.7, Offset=-0.2),
            {"component": "Transmission"},
            "make_closure<HairTransmission>(color(0.9, 0.6, 0.2), 0.4, 0.7, 0.2, global_value<tangent>)"),
    closure("glass bsdf", "BSDF_GLASS", inputs(Color=GOLD, Roughness=0.5, IOR=1.5), {"distribution": "GGX"},
            "color(0.9, 0.6, 0.2) * (F(1.5) * make_closure<Glossy>(color(1), 0.5, 0.0, 0.0, 0.0, float3(0), N) + "
            "(1 - F(1.5)) * make_closure<Refraction>(color(1), 1.5, 0.5, 0.0, N))"),
]


def node_type(name):
    special = {"BSDF_PRINCIPLED": "ShaderNodeBsdfPrincipled", "BSDF_GLOSSY": "ShaderNodeBsdfGlossy"}
    return special.get(name, "ShaderNodeBsdf" + name[5:].capitalize())


def make_material(row):
    name, node, values, settings = row[:4]
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    tree = material.node_tree
    tree.nodes.clear()
    output, bsdf = tree.nodes.new("ShaderNodeOutputMaterial"), tree.nodes.new(node_type(node))
    tree.links.new(bsdf.outputs[0], output.inputs["Surface"])
    for key, value in settings.items():
        setattr(bsdf, key, value)
    for key, value in values.items():
        socket = bsdf.inputs[key]
        socket.default_value = (*value, 1.0) if socket.type == "RGBA" else value
    if "Tangent" in bsdf.inputs:
        tangent = tree.nodes.new("ShaderNodeTangent")
        tangent.direction_type = "UV_MAP"
        tree.links.new(tangent.outputs[0], bsdf.inputs["Tangent"])
    return material


def make_strips():
    for i, row in enumerate(MATERIALS):
        mesh = bpy.data.meshes.new(row[0])
        mesh.from_pydata([(i, -50, 0), (i + 1, -50, 0), (i + 1, 50, 0), (i, 50, 0)], [], [(0, 1, 2, 3)])
        layer = mesh.uv_layers.new(name="UVMap")
        for k, uv in enumerate([(0, 0), (1, 0), (1, 1), (0, 1)]):
            layer.data[k].uv = uv
        mesh.materials.append(make_material(row))
        bpy.context.scene.collection.objects.link(bpy.data.objects.new(row[0], mesh))


def direction(polar, azimuth):
    p, a = math.radians(polar), math.radians(azimuth)
    return Vector((math.sin(p) * math.cos(a), math.sin(p) * math.sin(a), math.cos(p)))


def aim(obj, toward, distance):
    obj.rotation_mode = "QUATERNION"
    obj.rotation_quaternion = toward.to_track_quat("Z", "Y")
    obj.location = Vector((len(MATERIALS) / 2, 0, 0)) + distance * toward


def make_scene():
    scene = bpy.context.scene
    for obj in list(bpy.data.objects):
        bpy.data.objects.remove(obj)
    make_strips()
    camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    camera.data.type, camera.data.ortho_scale, camera.data.clip_end = "ORTHO", len(MATERIALS), 1000
    sun = bpy.data.objects.new("sun", bpy.data.lights.new("sun", "SUN"))
    sun.data.energy, sun.data.angle = math.pi, 0.0
    for obj in (camera, sun):
        scene.collection.objects.link(obj)
    scene.camera = camera
    scene.world = bpy.data.worlds.new("black")
    scene.world.color = (0, 0, 0)
    scene.render.engine = "CYCLES"
    scene.render.resolution_x, scene.render.resolution_y = PIXELS * len(MATERIALS), 4
    scene.render.resolution_percentage = 100
    scene.render.image_settings.file_format, scene.render.image_settings.color_depth = "OPEN_EXR", "32"
    scene.render.film_transparent = True
    cycles = scene.cycles
    cycles.samples, cycles.use_adaptive_sampling, cycles.use_denoising = 64, False, False
    cycles.max_bounces, cycles.light_sampling_threshold, cycles.blur_glossy = 0, 0, 0
    cycles.pixel_filter_type, cycles.sample_clamp_direct = "BOX", 0
    return scene, camera, sun


def render(scene):
    path = bpy.app.tempdir + "strips.exr"
    scene.render.filepath = path
    bpy.ops.render.render(write_still=True)
    image = bpy.data.images.load(path)
    width = scene.render.resolution_x
    pixels = list(image.pixels)
    bpy.data.images.remove(image)
    at = [4 * (width + PIXELS * i + 1) for i in range(len(MATERIALS))]
    return [pixels[k:k + 3] for k in at]


def json_of(parameters):
    def text(value):
        return "[" + ", ".join(f"{x:g}" for x in value) + "]" if isinstance(value, tuple) else f"{value:g}"
    return ", ".join(f"\\\"{key}\\\": {text(value)}" for key, value in parameters.items())


def main(path):
    scene, camera, sun = make_scene()
    columns = []
    for view, light, azimuth in SETUPS:
        aim(camera, direction(view, 270), 100)
        aim(sun, direction(light, azimuth), 0)
        columns.append(render(scene))
    with open(path, "w", encoding="utf-8") as out:
        out.write(f"/* Made by scripts/cycles_reference.py with Blender {bpy.app.version_string}. */\n"
                  "/* clang-format off */\n")
        for view, light, azimuth in SETUPS:
            out.write(f"SETUP({view}, {light}, {azimuth})\n")
        for i, row in enumerate(MATERIALS):
            shader, parameters = row[4:]
            out.write(f"MATERIAL(\"{row[0]}\", \"{shader}\",\n         \"{json_of(parameters or {})}\"")
            for column in columns:
                out.write(",\n         " + ", ".join(f"{c:.6g}" for c in column[i]))
            out.write(")\n")
        out.write("/* clang-format on */\n")


main(sys.argv[sys.argv.index("--") + 1])
