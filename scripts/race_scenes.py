"""The scenes of scripts/race, made in Blender; run by that script.

    blender -b --factory-startup --python scripts/race_scenes.py -- JOB.json

JOB.json: {"folder", "scenes", "blends", "addon", "renderer", "size"}. For each scene, and each of the .blend files, in FOLDER/NAME:
scene.blend, the SORT package that the add-on's exporter makes of it, `sort`, and the scene of Mitsuba, `mitsuba`, or
no_mitsuba.txt, which says why there is none. FOLDER/scenes.json: the version of Blender that runs this and, by name, of the one
that saved each file. Needs numpy."""

import json
import math
import pathlib
import random
import shutil
import sys
import zlib

import bpy
import numpy as np
from mathutils import Matrix, Vector

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "scenes" / "gallery")]
sys.dont_write_bytecode = True
import make as gallery  # noqa: E402
import mitsuba_comparison_scenes  # noqa: E402
import race_mitsuba  # noqa: E402

CHESS = ROOT / "scenes" / "chess"
SUNSET = CHESS / "textures" / "sunset.hdr"
Y_UP = Matrix.Rotation(math.radians(90), 4, "X")
MAX_DEPTH = 8  # surface interactions of a path; Cycles counts bounces after the first


# --- what the scenes share ------------------------------------------------------------------------------

def set_equal():
    """What all renderers must have alike, and no trade of truth for noise."""
    scene = bpy.context.scene
    render = scene.render
    render.image_settings.file_format, render.image_settings.color_depth = "OPEN_EXR", "32"
    render.image_settings.color_mode = "RGBA"
    render.resolution_x, render.resolution_y, render.resolution_percentage = *JOB["size"], 100
    render.use_persistent_data = render.use_border = render.use_motion_blur = False
    cycles = scene.cycles
    cycles.device = "CPU"
    cycles.max_bounces = cycles.diffuse_bounces = cycles.glossy_bounces = MAX_DEPTH - 1
    cycles.transmission_bounces = cycles.transparent_max_bounces = MAX_DEPTH - 1
    cycles.sample_clamp_direct = cycles.sample_clamp_indirect = cycles.blur_glossy = 0
    cycles.light_sampling_threshold = 0
    cycles.caustics_reflective = cycles.caustics_refractive = True
    cycles.use_denoising = cycles.use_adaptive_sampling = False
    cycles.pixel_filter_type, cycles.filter_width = "BOX", 1
    scene.sort.clamp_direct = scene.sort.clamp_indirect = scene.sort.filter_glossy = 0
    scene.sort.max_depth, scene.sort.animate_seed = MAX_DEPTH, False


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


def linked(node, socket, result):
    """The first output of `node` becomes the input `socket` of `result`."""
    node.id_data.links.new(node.outputs[0], result.inputs[socket])


def painted(name, file):
    result, node = material(name, "ShaderNodeBsdfDiffuse")
    image = result.node_tree.nodes.new("ShaderNodeTexImage")
    image.image = bpy.data.images.load(str(file))
    linked(image, "Color", node)
    return result


def glowing(name, radiance):
    return material(name, "ShaderNodeEmission", Color=([c / max(radiance) for c in radiance] + [1]), Strength=max(radiance))[0]


def smooth(data):
    data.polygons.foreach_set("use_smooth", [True] * len(data.polygons))
    return data


def ball(name, paint, segments=64, rings=32):
    angles = [(math.pi * r / rings, 2 * math.pi * s / segments) for r in range(rings + 1) for s in range(segments + 1)]
    vertices = [(math.sin(t) * math.cos(p), math.sin(t) * math.sin(p), math.cos(t)) for t, p in angles]
    row = segments + 1
    faces = [(r * row + s, (r + 1) * row + s, (r + 1) * row + s + 1, r * row + s + 1)
             for r in range(rings) for s in range(segments)]
    return smooth(mesh(name, vertices, faces, paint))


def quad(name, paint, *corners):
    return put(name, mesh(name, corners, [(0, 1, 2, 3)], paint))


def block(name, paint, size, matrix):
    """It stands on the middle of its base."""
    x, y, z = size
    corners = [(i * x / 2, j * y / 2, k * z) for k in (0, 1) for j in (-1, 1) for i in (-1, 1)]
    faces = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
    return put(name, mesh(name, corners, faces, paint), matrix)


def area_light(name, matrix, width_m, height_m, radiance):
    """Cycles gives an area light the radiance power / (4 area). Its rays go on behind a lamp that they meet, SORT's end there
    as on any surface: a black sheet behind the lamp makes that one."""
    data = bpy.data.lights.new(name, "AREA")
    data.shape, data.size, data.size_y = "RECTANGLE", width_m, height_m
    data.energy, data.color = 4 * width_m * height_m * max(radiance), [c / max(radiance) for c in radiance]
    lamp = put(name, data, matrix)
    x, y, behind = width_m / 2, height_m / 2, 0.005
    corners = [(-x, -y, behind), (x, -y, behind), (x, y, behind), (-x, y, behind)]
    put(f"{name} housing", mesh(f"{name} housing", corners, [(0, 1, 2, 3)], diffuse(f"{name} black", 0, 0, 0)), matrix)
    return lamp


def sky(path, strength):
    world = bpy.data.worlds.new("Sky")
    bpy.context.scene.world, world.use_nodes = world, True
    tree = world.node_tree
    image = tree.nodes.new("ShaderNodeTexEnvironment")
    image.image = bpy.data.images.load(str(path))
    background = tree.nodes["Background"]
    background.inputs["Strength"].default_value = strength
    tree.links.new(image.outputs["Color"], background.inputs["Color"])


def even_sky(*radiance):
    world = bpy.data.worlds.new("Sky")
    bpy.context.scene.world, world.use_nodes = world, True
    world.node_tree.nodes["Background"].inputs["Color"].default_value = (*radiance, 1)


# --- packages ---------------------------------------------------------------------------------------------

def package_array(folder, record):
    data = (folder / record["file"]).read_bytes()[record["offset_bytes"]:]
    if record.get("compression") == "zlib":
        data = zlib.decompress(data[:record["stored_bytes"]])
    values = np.frombuffer(data, {"float32": "<f4", "uint32": "<u4"}[record["type"]], record["count"] * record["components"])
    return values.reshape(record["count"], record["components"])


def package_mesh(folder, record):
    positions, triangles = package_array(folder, record["positions"]), package_array(folder, record["indices"])
    data, uv = mesh(record["name"], positions.tolist(), triangles.tolist()), package_array(folder, record["uv"][0])
    data.uv_layers.new(name="UVMap").data.foreach_set("uv", uv[triangles.ravel()].ravel())
    if "normals" in record:
        smooth(data)
        data.use_auto_smooth = True
        data.normals_split_custom_set_from_vertices(package_array(folder, record["normals"]).tolist())
    return data


def open_package(folder, material_of):
    """Meshes of one material, rectangle lamps, sky and camera of a SORT package, turned from y up to z up. material_of gives the
    material of a record."""
    package = json.loads((folder / "scene.json").read_text())

    def turned(record):
        return Y_UP @ Matrix(np.reshape(record["transform"], (4, 4)).tolist())

    materials = {record["name"]: material_of(record) for record in package["materials"]}
    records = {record["name"]: record for record in package["meshes"]}
    meshes = {}
    for record in package["instances"]:
        key = (record["mesh"], record["materials"][0])
        if key not in meshes:
            meshes[key] = package_mesh(folder, records[record["mesh"]])
            meshes[key].materials.append(materials[record["materials"][0]])
        put(record["name"], meshes[key], turned(record))
    for record in package.get("lights", []):
        area_light(record["name"], turned(record), *record["size"], record["radiance"])
    if "environment" in package:
        sky(folder / package["environment"]["image"]["file"], package["environment"]["strength"])
    view = package["cameras"][0]
    camera(turned(view), view["fov_y_degrees"])


def gallery_material(record):
    """Nodes for the surfaces of the gallery, about as they are there."""
    name, numbers = record["name"], record.get("parameters", {})
    if record["entry"] == "plain":
        return diffuse(name, *numbers["albedo"])
    if record["entry"] == "lamp":
        return glowing(name, numbers["radiance"])
    kind, inputs = {
        "glossy": lambda: ("ShaderNodeBsdfPrincipled", {"Base Color": (*numbers["albedo"], 1), "Roughness": numbers["roughness"]}),
        "metal": lambda: ("ShaderNodeBsdfGlossy", {"Color": (*numbers["reflectance"], 1), "Roughness": numbers["roughness"]}),
        "glass": lambda: ("ShaderNodeBsdfGlass", {"Roughness": 0, "IOR": 1.5}),
    }[record["entry"]]()
    return material(name, kind, **inputs)[0]


def gallery_scene(work, make):
    make(work / "package")
    open_package(work / "package", gallery_material)


# --- the scenes ------------------------------------------------------------------------------------------

def cornell(_work):
    """Light between diffuse walls, a lamp below the ceiling."""
    white, red, green = diffuse("white", .73, .73, .73), diffuse("red", .63, .06, .05), diffuse("green", .14, .43, .09)
    quad("floor", white, (-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0))
    quad("ceiling", white, (-1, -1, 2), (-1, 1, 2), (1, 1, 2), (1, -1, 2))
    quad("back", white, (-1, 1, 0), (1, 1, 0), (1, 1, 2), (-1, 1, 2))
    quad("left", red, (-1, -1, 0), (-1, 1, 0), (-1, 1, 2), (-1, -1, 2))
    quad("right", green, (1, -1, 0), (1, -1, 2), (1, 1, 2), (1, 1, 0))
    block("tall", white, (.6, .6, 1.2), Matrix.Translation((-.35, .3, 0)) @ Matrix.Rotation(.3, 4, "Z"))
    block("short", white, (.6, .6, .6), Matrix.Translation((.35, -.3, 0)) @ Matrix.Rotation(-.3, 4, "Z"))
    area_light("lamp", Matrix.Translation((0, 0, 1.98)), .5, .5, (17, 12, 4))
    camera(look_at((0, -3.9, 1), (0, 0, 1)), 40)


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


def chess(_work):
    """33 pieces of 330,000 triangles in metal and stone with 2k maps, a sky at sunset and a window."""
    open_package(CHESS, chess_material)


def glossy(_work):
    """Glass and metal of several roughnesses on a floor under a sky with a low sun."""
    kinds = [("ShaderNodeBsdfGlass", {"Roughness": 0.0, "IOR": 1.5}), ("ShaderNodeBsdfGlass", {"Roughness": 0.3, "IOR": 1.5}),
             ("ShaderNodeBsdfGlossy", {"Roughness": 0.2}), ("ShaderNodeBsdfGlossy", {"Roughness": 0.5}),
             ("ShaderNodeBsdfPrincipled", {"Base Color": (.8, .1, .05, 1), "Roughness": 0.3}),
             ("ShaderNodeBsdfPrincipled", {"Base Color": (.9, .6, .2, 1), "Roughness": 0.35, "Metallic": 1.0})]
    for i, (node_type, inputs) in enumerate(kinds):
        put(f"ball {i}", ball(f"ball {i}", material(f"m{i}", node_type, **inputs)[0]), Matrix.Translation((2.3 * (i % 3 - 1), 2.3 * (i // 3), 1)))
    quad("floor", diffuse("grey", .5, .5, .5), (-9, -9, 0), (9, -9, 0), (9, 9, 0), (-9, 9, 0))
    sky(SUNSET, 1.0)
    camera(look_at((1, -9, 4), (0, 1, .8)), 35)


def terrain(work):
    """The field of scripts/mitsuba-comparison: 500,000 triangles, painted with an image, under a clear sky with a small sun."""
    described = mitsuba_comparison_scenes.terrain(work, 1.0)
    for name, arrays, surface in described.meshes:
        data = mesh(name, np.reshape(arrays["positions"], (-1, 3)).tolist(), np.reshape(arrays["indices"], (-1, 3)).tolist(),
                    painted(name, surface.image))
        uv = np.reshape(arrays["uv"][0], (-1, 2))[np.array(arrays["indices"])]
        data.uv_layers.new(name="UVMap").data.foreach_set("uv", uv.ravel())
        put(name, smooth(data) if "normals" in arrays else data, Y_UP)
    sky(described.sky, 1.0)
    camera(look_at(Y_UP @ Vector(described.eye), Y_UP @ Vector(described.target)), described.fov_y_degrees)


def door_ajar(work):
    """A room lit through the gap of a door."""
    gallery_scene(work, gallery.door_ajar)


def many_lamps(work):
    """A valley at night with two thousand lamps of all colours, each of which shines on its neighbourhood."""
    gallery_scene(work, gallery.many_lights)


def wet_street(_work):
    """A street at night whose wet ground mirrors two hundred lamps, blurred."""
    numbers = random.Random(8)
    ground = material("ground", "ShaderNodeBsdfPrincipled", Base_Color=(.06, .06, .065, 1), Roughness=.25)[0]
    quad("ground", ground, (-40, -20, 0), (40, -20, 0), (40, 90, 0), (-40, 90, 0))
    house = diffuse("house", .35, .3, .27)
    for k in range(16):
        block(f"house {k}", house, (3, 4.5, numbers.uniform(4, 9)), Matrix.Translation(((-1) ** k * 6.5, 5 * (k // 2) + 2, 0)))
    glows = [glowing(f"lamp {k}", rgb) for k, rgb in enumerate(((40, 22, 9), (36, 32, 26), (14, 24, 40), (40, 10, 8)))]
    balls = [ball(f"lamp {k}", glow, 12, 6) for k, glow in enumerate(glows)]
    for k in range(200):
        side = numbers.choice((-1, 1))
        at = (side * numbers.uniform(1.5, 4.7), numbers.uniform(0, 45), numbers.uniform(.6, 4))
        put(f"lamp {k}", numbers.choice(balls), Matrix.Translation(at) @ Matrix.Scale(.06, 4))
    even_sky(.01, .012, .02)
    camera(look_at((.4, -7, 1.6), (0, 6, .9)), 36)


def caustics(_work):
    """A ball and a block of glass on a diffuse floor under a small lamp, with the flags for caustics."""
    floor = quad("floor", diffuse("floor", .6, .58, .55), (-40, -40, 0), (40, -40, 0), (40, 40, 0), (-40, 40, 0))
    floor.cycles.is_caustics_receiver = True
    glass = material("glass", "ShaderNodeBsdfGlass", Roughness=0.0, IOR=1.5)[0]
    for item in (put("ball", ball("ball", glass, 128, 64), Matrix.Translation((-.6, 0, .75)) @ Matrix.Scale(.7, 4)),
                 block("block", glass, (.5, .9, 1.1), Matrix.Translation((.95, .2, .02)) @ Matrix.Rotation(.5, 4, "Z"))):
        item.cycles.is_caustics_caster = True
    lamp = area_light("lamp", look_at((2.2, 2.0, 4.5), (0, 0, .3)), .25, .25, (160, 150, 130))
    lamp.data.cycles.is_caustics_light = True
    even_sky(.03, .035, .045)
    camera(look_at((0, -5.2, 2.9), (.1, 0, .35)), 34)


def foliage(_work):
    """A bush of 12,000 leaves that let light through, on the ground, under a sky with a low sun."""
    numbers = random.Random(3)
    leaf, node = material("leaf", "ShaderNodeMixShader", Fac=.45)
    for socket, kind, color in ((1, "ShaderNodeBsdfDiffuse", (.12, .3, .05, 1)), (2, "ShaderNodeBsdfTranslucent", (.3, .5, .06, 1))):
        lobe = leaf.node_tree.nodes.new(kind)
        lobe.inputs["Color"].default_value = color
        linked(lobe, socket, node)
    vertices, faces = [], []
    for k in range(12000):
        x, y, z = (numbers.gauss(0, 1) for _ in range(3))
        length, radius = math.sqrt(x * x + y * y + z * z), numbers.uniform(.5, 1) ** (1 / 3)
        at = Matrix.Translation((1.1 * radius * x / length, 1.1 * radius * y / length, 1.25 + radius * z / length))
        turn = Matrix.Rotation(numbers.uniform(0, 2 * math.pi), 4, Vector((numbers.gauss(0, 1), numbers.gauss(0, 1), numbers.gauss(0, 1))))
        vertices += [tuple(at @ turn @ Vector(p)) for p in ((-.045, 0, 0), (0, -.02, 0), (.045, 0, 0), (0, .02, 0))]
        faces.append(tuple(range(4 * k, 4 * k + 4)))
    put("bush", mesh("bush", vertices, faces, leaf))
    quad("ground", diffuse("ground", .3, .24, .18), (-9, -9, 0), (9, -9, 0), (9, 9, 0), (-9, 9, 0))
    sky(SUNSET, 1.0)
    camera(look_at((0, -5.5, 1.9), (0, 0, 1.15)), 32)


def window(_work):
    """A furnished room that gets its light through one window, from a sky with a low sun."""
    wall, wood, cloth = diffuse("wall", .75, .73, .68), diffuse("wood", .4, .25, .14), diffuse("cloth", .45, .12, .1)
    w, d, h = 2.2, 2.5, 2.6  # half width, half depth, height
    quad("floor", wood, (-w, -d, 0), (w, -d, 0), (w, d, 0), (-w, d, 0))
    quad("ceiling", wall, (-w, -d, h), (-w, d, h), (w, d, h), (w, -d, h))
    quad("back", wall, (-w, d, 0), (w, d, 0), (w, d, h), (-w, d, h))
    quad("front", wall, (-w, -d, 0), (-w, -d, h), (w, -d, h), (w, -d, 0))
    quad("right", diffuse("blue", .25, .32, .5), (w, -d, 0), (w, -d, h), (w, d, h), (w, d, 0))
    for name, (y0, y1, z0, z1) in {"under": (-d, d, 0, .9), "over": (-d, d, 2.1, h), "before": (-d, -.6, .9, 2.1), "behind": (.8, d, .9, 2.1)}.items():
        block(f"{name} the window", wall, (.2, y1 - y0, z1 - z0), Matrix.Translation((-w - .1, (y0 + y1) / 2, z0)))
    block("table", wood, (1.3, .8, .06), Matrix.Translation((.3, .7, .7)))
    for k in range(4):
        block(f"leg {k}", wood, (.07, .07, .7), Matrix.Translation((.3 + (k % 2 - .5) * 1.1, .7 + (k // 2 - .5) * .6, 0)))
    block("sofa", cloth, (.9, 1.9, .45), Matrix.Translation((1.6, .3, 0)))
    block("sofa's back", cloth, (.25, 1.9, .95), Matrix.Translation((2.0, .3, 0)))
    put("vase", ball("vase", diffuse("clay", .7, .4, .25)), Matrix.Translation((.2, .65, .96)) @ Matrix.Scale(.2, 4))
    sky(SUNSET, 3.0)
    camera(look_at((.5, -2.35, 1.45), (0, 1, 1.0)), 55)


SCENES = {scene.__name__: scene for scene in (cornell, chess, glossy, terrain, door_ajar, caustics, many_lamps, wet_street, foliage, window)}


# --- writing ----------------------------------------------------------------------------------------------

def enable_addon():
    bpy.ops.preferences.addon_enable(module="sort_blender")
    bpy.context.preferences.addons["sort_blender"].preferences.renderer = JOB["renderer"]


def write(folder):
    """What is open, for all renderers."""
    if not bpy.context.scene.camera:
        raise SystemExit(f"{bpy.data.filepath}: the scene has no camera")
    set_equal()
    bpy.ops.sort.export_package(filepath=str(folder / "sort.zip"), as_folder=True)
    try:
        race_mitsuba.write(folder / "mitsuba", MAX_DEPTH)
    except race_mitsuba.Unable as why:
        shutil.rmtree(folder / "mitsuba", ignore_errors=True)
        (folder / "no_mitsuba.txt").write_text(str(why))
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "scene.blend"))


def main():
    bpy.ops.preferences.addon_install(filepath=JOB["addon"])
    out, saved_by = pathlib.Path(JOB["folder"]), {}
    for name in [*JOB["scenes"], *JOB["blends"]]:
        folder = out / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        if name in JOB["blends"]:
            bpy.ops.wm.open_mainfile(filepath=JOB["blends"][name], load_ui=False)
            saved_by[name] = list(bpy.data.version)
            if bpy.data.version[:2] > bpy.app.version[:2]:
                continue
            enable_addon()
        else:
            bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
            enable_addon()
            SCENES[name](folder)
        write(folder)
    (out / "scenes.json").write_text(json.dumps({"blender": list(bpy.app.version), "saved_by": saved_by}))


JOB = json.loads(pathlib.Path(sys.argv[sys.argv.index("--") + 1]).read_text())
main()
