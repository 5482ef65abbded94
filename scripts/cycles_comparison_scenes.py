"""The scenes of scripts/cycles-comparison, made and rendered in Blender; run by that script.

    blender -b --factory-startup -P scripts/cycles_comparison_scenes.py -- JOB.json

For each scene of the job: Blender's own objects and nodes, their SORT package through the add-on's exporter, and
Cycles' pictures with the CPU seconds (user and system) of each render. Needs Blender 3.4 with numpy."""

import json
import math
import pathlib
import resource
import sys
import zlib

import bpy
import numpy as np
from mathutils import Matrix

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHESS = ROOT / "scenes" / "chess"
Y_UP = Matrix.Rotation(math.radians(90), 4, "X")
MAX_DEPTH = 8  # surface interactions of a path; Cycles counts bounces after the first


# --- what the scenes share ------------------------------------------------------------------------------

def empty_scene():
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    bpy.ops.preferences.addon_enable(module="sort_blender")
    scene = bpy.context.scene
    render = scene.render
    render.image_settings.file_format, render.image_settings.color_depth = "OPEN_EXR", "32"
    render.image_settings.color_mode = "RGBA"
    render.resolution_x, render.resolution_y, render.resolution_percentage = JOB["width"], JOB["height"], 100
    render.threads_mode, render.threads = "FIXED", JOB["threads"]
    render.use_persistent_data = False
    cycles = scene.cycles
    cycles.device = "CPU"
    cycles.max_bounces = cycles.diffuse_bounces = cycles.glossy_bounces = MAX_DEPTH - 1
    cycles.transmission_bounces = cycles.transparent_max_bounces = MAX_DEPTH - 1
    cycles.sample_clamp_direct = cycles.sample_clamp_indirect = cycles.blur_glossy = 0
    cycles.light_sampling_threshold = 0
    cycles.caustics_reflective = cycles.caustics_refractive = True
    cycles.use_denoising = cycles.use_adaptive_sampling = False
    cycles.pixel_filter_type, cycles.filter_width = "BLACKMAN_HARRIS", 1.5
    scene.sort.clamp_indirect = scene.sort.filter_glossy = 0
    scene.sort.max_depth, scene.sort.filter_width, scene.sort.animate_seed = MAX_DEPTH, 1.5, False
    return scene


def put(name, data, matrix=Matrix()):
    item = bpy.data.objects.new(name, data)
    item.matrix_world = matrix
    bpy.context.scene.collection.objects.link(item)
    return item


def camera(matrix, fov_y_degrees, aperture_m=0.0, focus_m=1.0):
    data = bpy.data.cameras.new("Camera")
    data.sensor_fit, data.angle = "VERTICAL", math.radians(fov_y_degrees)
    if aperture_m > 0:
        data.dof.use_dof, data.dof.focus_distance = True, focus_m
        data.dof.aperture_fstop = data.lens / 1000 / (2 * aperture_m)
    bpy.context.scene.camera = put("Camera", data, matrix)


def look_at(eye, target):
    backward = np.subtract(eye, target) / np.linalg.norm(np.subtract(eye, target))
    right = np.cross((0, 0, 1), backward)
    right /= np.linalg.norm(right)
    up = np.cross(backward, right)
    return Matrix([(*row, offset) for row, offset in zip(np.stack([right, up, backward], 1), eye)] + [(0, 0, 0, 1)])


def material(name, node_type, **inputs):
    result = bpy.data.materials.new(name)
    result.use_nodes = True
    tree = result.node_tree
    tree.nodes.clear()
    node, output = tree.nodes.new(node_type), tree.nodes.new("ShaderNodeOutputMaterial")
    for key, value in inputs.items():
        node.inputs[key.replace("_", " ")].default_value = value
    tree.links.new(node.outputs[0], output.inputs["Surface"])
    return result, node


def diffuse(name, *rgb):
    return material(name, "ShaderNodeBsdfDiffuse", Color=(*rgb, 1))[0]


def mesh(name, vertices, faces, *materials):
    data = bpy.data.meshes.new(name)
    data.from_pydata(vertices, [], faces)
    for one in materials:
        data.materials.append(one)
    return data


def area_light(name, matrix, width_m, height_m, radiance):
    """Cycles gives an area light the radiance power / (4 area). Its rays go on behind a lamp that they meet, SORT's end there
    as on any surface: a black sheet behind the lamp makes that one."""
    data = bpy.data.lights.new(name, "AREA")
    data.shape, data.size, data.size_y = "RECTANGLE", width_m, height_m
    data.energy, data.color = 4 * width_m * height_m * max(radiance), [c / max(radiance) for c in radiance]
    put(name, data, matrix)
    x, y, behind = width_m / 2, height_m / 2, 0.005
    corners = [(-x, -y, behind), (x, -y, behind), (x, y, behind), (-x, y, behind)]
    put(f"{name} housing", mesh(f"{name} housing", corners, [(0, 1, 2, 3)], diffuse(f"{name} black", 0, 0, 0)), matrix)


def sky(path, strength):
    world = bpy.data.worlds.new("Sky")
    bpy.context.scene.world, world.use_nodes = world, True
    tree = world.node_tree
    image = tree.nodes.new("ShaderNodeTexEnvironment")
    image.image = bpy.data.images.load(str(path))
    background = tree.nodes["Background"]
    background.inputs["Strength"].default_value = strength
    tree.links.new(image.outputs["Color"], background.inputs["Color"])


# --- the scenes ------------------------------------------------------------------------------------------

def cornell():
    """Light between diffuse walls, a lamp below the ceiling."""
    white, red, green = diffuse("white", .73, .73, .73), diffuse("red", .63, .06, .05), diffuse("green", .14, .43, .09)

    def quad(name, paint, *corners):
        put(name, mesh(name, corners, [(0, 1, 2, 3)], paint))

    def block(name, size, matrix):
        x, y, z = size
        corners = [(i * x / 2, j * y / 2, k * z) for k in (0, 1) for j in (-1, 1) for i in (-1, 1)]
        faces = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
        put(name, mesh(name, corners, faces, white), matrix)

    quad("floor", white, (-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0))
    quad("ceiling", white, (-1, -1, 2), (-1, 1, 2), (1, 1, 2), (1, -1, 2))
    quad("back", white, (-1, 1, 0), (1, 1, 0), (1, 1, 2), (-1, 1, 2))
    quad("left", red, (-1, -1, 0), (-1, 1, 0), (-1, 1, 2), (-1, -1, 2))
    quad("right", green, (1, -1, 0), (1, -1, 2), (1, 1, 2), (1, 1, 0))
    block("tall", (.6, .6, 1.2), Matrix.Translation((-.35, .3, 0)) @ Matrix.Rotation(.3, 4, "Z"))
    block("short", (.6, .6, .6), Matrix.Translation((.35, -.3, 0)) @ Matrix.Rotation(-.3, 4, "Z"))
    area_light("lamp", Matrix.Translation((0, 0, 1.98)), .5, .5, (17, 12, 4))
    camera(look_at((0, -3.9, 1), (0, 0, 1)), 40)


def package_array(record):
    data = (CHESS / record["file"]).read_bytes()[record["offset_bytes"]:]
    if record.get("compression") == "zlib":
        data = zlib.decompress(data[:record["stored_bytes"]])
    values = np.frombuffer(data, {"float32": "<f4", "uint32": "<u4"}[record["type"]], record["count"] * record["components"])
    return values.reshape(record["count"], record["components"])


def chess_mesh(record):
    positions, triangles = package_array(record["positions"]), package_array(record["indices"])
    normals, uv = package_array(record["normals"]), package_array(record["uv"][0])
    data = mesh(record["name"], positions.tolist(), triangles.tolist())
    data.uv_layers.new(name="UVMap").data.foreach_set("uv", uv[triangles.ravel()].ravel())
    data.polygons.foreach_set("use_smooth", [True] * len(triangles))
    data.use_auto_smooth = True
    data.normals_split_custom_set_from_vertices(normals.tolist())
    return data


def chess_material(record):
    result, node = material(record["name"], "ShaderNodeBsdfPrincipled", Metallic=record["parameters"].get("metallic", 0))
    tree = result.node_tree
    for handle, texture in record["textures"].items():
        image = tree.nodes.new("ShaderNodeTexImage")
        image.image = bpy.data.images.load(str(CHESS / texture["file"]), check_existing=True)
        image.image.colorspace_settings.name = "sRGB" if texture["color_space"] == "srgb" else "Non-Color"
        if handle == "normal_texture":
            bump = tree.nodes.new("ShaderNodeNormalMap")
            tree.links.new(image.outputs["Color"], bump.inputs["Color"])
            tree.links.new(bump.outputs["Normal"], node.inputs["Normal"])
        else:
            inputs = {"base_color_texture": "Base Color", "metallic_texture": "Metallic", "roughness_texture": "Roughness"}
            tree.links.new(image.outputs["Color"], node.inputs[inputs[handle]])
    return result


def chess():
    """33 pieces of 330,000 triangles in metal and stone with 2k maps, a sky at sunset and a window."""
    package = json.loads((CHESS / "scene.json").read_text())
    materials = {record["name"]: chess_material(record) for record in package["materials"]}
    meshes = {}
    for record in package["instances"]:
        key = (record["mesh"], record["materials"][0])
        if key not in meshes:
            meshes[key] = chess_mesh(next(m for m in package["meshes"] if m["name"] == record["mesh"]))
            meshes[key].materials.append(materials[record["materials"][0]])
        put(record["name"], meshes[key], Y_UP @ Matrix(np.reshape(record["transform"], (4, 4)).tolist()))
    for record in package["lights"]:
        area_light(record["name"], Y_UP @ Matrix(np.reshape(record["transform"], (4, 4)).tolist()), *record["size"],
                   record["radiance"])
    sky(CHESS / package["environment"]["image"]["file"], package["environment"]["strength"])
    view = package["cameras"][0]
    camera(Y_UP @ Matrix(np.reshape(view["transform"], (4, 4)).tolist()), view["fov_y_degrees"])


def glossy():
    """Glass and metal of several roughnesses on a floor under a sky with a low sun."""
    kinds = [("ShaderNodeBsdfGlass", {"Roughness": 0.0, "IOR": 1.5}), ("ShaderNodeBsdfGlass", {"Roughness": 0.3, "IOR": 1.5}),
             ("ShaderNodeBsdfGlossy", {"Roughness": 0.2}), ("ShaderNodeBsdfGlossy", {"Roughness": 0.5}),
             ("ShaderNodeBsdfPrincipled", {"Base Color": (.8, .1, .05, 1), "Roughness": 0.3}),
             ("ShaderNodeBsdfPrincipled", {"Base Color": (.9, .6, .2, 1), "Roughness": 0.35, "Metallic": 1.0})]
    segments, rings = 64, 32
    angles = [(math.pi * r / rings, 2 * math.pi * s / segments) for r in range(rings + 1) for s in range(segments + 1)]
    vertices = [(math.sin(t) * math.cos(p), math.sin(t) * math.sin(p), math.cos(t)) for t, p in angles]
    row = segments + 1
    faces = [(r * row + s, (r + 1) * row + s, (r + 1) * row + s + 1, r * row + s + 1)
             for r in range(rings) for s in range(segments)]
    for i, (node_type, inputs) in enumerate(kinds):
        paint, _ = material(f"m{i}", node_type, **inputs)
        data = mesh(f"ball {i}", vertices, faces, paint)
        data.polygons.foreach_set("use_smooth", [True] * len(faces))
        put(f"ball {i}", data, Matrix.Translation((2.3 * (i % 3 - 1), 2.3 * (i // 3), 1)))
    put("floor", mesh("floor", [(-9, -9, 0), (9, -9, 0), (9, 9, 0), (-9, 9, 0)], [(0, 1, 2, 3)], diffuse("grey", .5, .5, .5)))
    sky(CHESS / "textures" / "sunset.hdr", 1.0)
    camera(look_at((1, -9, 4), (0, 1, .8)), 35)


SCENES = {"cornell": cornell, "chess": chess, "glossy": glossy}


# --- rendering -------------------------------------------------------------------------------------------

def render(samples, seed, path):
    """CPU seconds of one render by Cycles, from the call to the file."""
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    scene.cycles.samples, scene.cycles.seed, scene.render.filepath = samples, seed, str(path)
    before = resource.getrusage(resource.RUSAGE_SELF)
    bpy.ops.render.render(write_still=True)
    after = resource.getrusage(resource.RUSAGE_SELF)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    bpy.ops.preferences.addon_install(filepath=JOB["addon"])
    folder = pathlib.Path(JOB["folder"])
    for name in JOB["scenes"]:
        empty_scene()
        bpy.context.preferences.addons["sort_blender"].preferences.renderer = JOB["renderer"]
        SCENES[name]()
        bpy.ops.sort.export_package(filepath=str(folder / f"{name}.zip"), as_folder=True)
        seconds = {samples: min(render(samples, seed, folder / f"{name}.cycles.{samples}.{seed}.exr") for seed in JOB["seeds"])
                   for samples in [1] + JOB["samples"]}
        if JOB["reference_samples"]:
            render(JOB["reference_samples"], 0, folder / f"{name}.cycles.reference.exr")
        (folder / f"{name}.cycles.json").write_text(json.dumps(seconds))


JOB = json.loads(pathlib.Path(sys.argv[sys.argv.index("--") + 1]).read_text())
main()
