"""The kit of the tests in Blender: the add-on installed, small scenes, pictures as arrays."""

import json
import os
import pathlib
import subprocess
import sys
import unittest
from dataclasses import replace

import bpy
import numpy as np

FOLDER = pathlib.Path(os.environ["SORT_TEST_FOLDER"])
PASSES = ["Emit", "Env", "AO", "IndexOB", "IndexMA"] + [kind + part for kind in ("Diff", "Gloss", "Trans") for part in ("Dir", "Ind", "Col")]
RENDERER = pathlib.Path(os.environ["SORT_TEST_RENDERER"])


def install():
    bpy.ops.preferences.addon_install(filepath=os.environ["SORT_TEST_ZIP"])
    bpy.ops.preferences.addon_enable(module="sort_blender")
    set_renderer(str(RENDERER))
    bpy.ops.wm.save_userpref()


def set_renderer(path):
    bpy.context.preferences.addons["sort_blender"].preferences.renderer = path


def messages():
    from sort_blender import messages as sort_messages
    return sort_messages.last()


def empty_scene(size=48, samples=32):
    """Nothing but a black world."""
    scene = bpy.context.scene
    for collection in (bpy.data.objects, bpy.data.meshes, bpy.data.materials, bpy.data.images,
                       bpy.data.lights, bpy.data.cameras, bpy.data.worlds):
        for item in list(collection):
            if item.users == 0 or not isinstance(item, bpy.types.Image) or item.type != "RENDER_RESULT":
                collection.remove(item)
    scene.world = None
    render = scene.render
    render.engine = "SORT"
    render.resolution_x = render.resolution_y = size
    render.resolution_percentage, render.pixel_aspect_x, render.pixel_aspect_y = 100, 1, 1
    render.use_border = render.use_crop_to_border = False
    set_file(render.image_settings)
    scene.sort.samples = scene.cycles.samples = samples
    scene.cycles.blur_glossy = scene.sort.filter_glossy = scene.cycles.sample_clamp_indirect = scene.sort.clamp_indirect = 0
    scene.cycles.use_denoising = scene.cycles.use_adaptive_sampling = False
    return scene


def set_file(settings, is_multilayer=False):
    """EXR in single precision, without loss; with all passes, or the picture alone."""
    if hasattr(settings, "media_type"):  # since 5.0
        settings.media_type = "MULTI_LAYER_IMAGE" if is_multilayer else "IMAGE"
    settings.file_format = "OPEN_EXR_MULTILAYER" if is_multilayer else "OPEN_EXR"
    settings.color_depth, settings.exr_codec = "32", "ZIP"
    if is_multilayer and hasattr(settings, "use_exr_interleave"):
        settings.use_exr_interleave = True  # one part, which the add-on's reader knows


def panorama_of(camera):
    """What has the settings of a camera's panorama."""
    return camera if hasattr(camera, "panorama_type") else camera.cycles


def add(name, data, location=(0, 0, 0), rotation=(0, 0, 0)):
    item = bpy.data.objects.new(name, data)
    item.location, item.rotation_euler = location, rotation
    bpy.context.scene.collection.objects.link(item)
    return item


def add_camera(location=(0, 0, 8), rotation=(0, 0, 0)):
    camera = add("Camera", bpy.data.cameras.new("Camera"), location, rotation)
    bpy.context.scene.camera = camera
    return camera


def add_mesh(name, vertices, faces, uv=None, **place):
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(vertices, [], faces)
    if uv is not None:
        mesh.uv_layers.new(name="UVMap").data.foreach_set("uv", np.ravel(uv))
    return add(name, mesh, **place)


def wave(name, side, phase=0.0):
    """A mesh of side x side quads, a metre wide, with smooth normals and uv."""
    at = np.linspace(-0.5, 0.5, side + 1)
    flat = np.stack(np.meshgrid(at, at), axis=-1).reshape(-1, 2)
    corner = np.arange(side)[:, None] * (side + 1) + np.arange(side)
    faces = np.stack([corner, corner + 1, corner + side + 2, corner + side + 1], axis=-1).reshape(-1, 4)
    mesh = bpy.data.meshes.new(name)
    mesh.vertices.add(len(flat))
    mesh.vertices.foreach_set("co", np.concatenate([flat, wave_heights(flat, phase)[:, None]], axis=1).ravel())
    mesh.loops.add(faces.size)
    mesh.loops.foreach_set("vertex_index", faces.ravel())
    mesh.polygons.add(len(faces))
    mesh.polygons.foreach_set("loop_start", np.arange(0, faces.size, 4))
    mesh.polygons.foreach_set("loop_total", np.full(len(faces), 4))
    mesh.polygons.foreach_set("use_smooth", np.ones(len(faces), bool))
    mesh.update(calc_edges=True)
    mesh.uv_layers.new(name="UVMap").data.foreach_set("uv", np.ascontiguousarray(flat[faces.ravel()] + 0.5).ravel())
    return mesh


def wave_heights(places, phase):
    return 0.1 * np.sin(7 * places[:, 0] + phase) * np.cos(5 * places[:, 1])


def add_plane(name="Plane", size=2.0, **place):
    """The uv square from corner to corner, u along x, v along y."""
    h = size / 2
    return add_mesh(name, [(-h, -h, 0), (h, -h, 0), (h, h, 0), (-h, h, 0)], [(0, 1, 2, 3)],
                    [(0, 0), (1, 0), (1, 1), (0, 1)], **place)


NAMES_IN_4 = {"Specular": "Specular IOR Level", "Emission": "Emission Color", "Transmission": "Transmission Weight"}  # of the Principled BSDF


def set_world(color):
    """A new world of one colour."""
    world = bpy.context.scene.world = bpy.data.worlds.new("World")
    world.use_nodes = True
    world.node_tree.nodes["Background"].inputs["Color"].default_value = (*color, 1)
    return world


def fcurves_of(action):
    """Of an action with one layer; since 5.0 actions themselves have none."""
    return action.fcurves if hasattr(action, "fcurves") else action.layers[0].strips[0].channelbags[0].fcurves


def material_of(obj, node_type, **inputs):
    """A new material with one surface node; the node."""
    material = bpy.data.materials.new(obj.name)
    material.use_nodes = True
    tree = material.node_tree
    tree.nodes.clear()
    node = tree.nodes.new(node_type)
    for name, value in inputs.items():
        name = name.replace("_", " ")
        node.inputs[name if name in node.inputs else NAMES_IN_4[name]].default_value = value
    output = tree.nodes.new("ShaderNodeOutputMaterial")
    tree.links.new(node.outputs[0], output.inputs["Surface"])
    obj.data.materials.clear()
    obj.data.materials.append(material)
    return node


def name_aov(node, name):
    setattr(node, "aov_name" if hasattr(node, "aov_name") else "name", name)


def new_group_socket(tree, side, kind, name):
    """side: INPUT or OUTPUT."""
    if hasattr(tree, "interface"):
        tree.interface.new_socket(name, in_out=side, socket_type=kind)
    else:
        (tree.inputs if side == "INPUT" else tree.outputs).new(kind, name)


def link(from_socket, to_socket):
    from_socket.id_data.links.new(from_socket, to_socket)


def new_node(beside, node_type):
    return beside.id_data.nodes.new(node_type)


def render(engine="SORT"):
    """[rows from the bottom, columns, rgba], linear."""
    scene = bpy.context.scene
    scene.render.engine = engine
    scene.render.filepath = str(FOLDER / "picture.exr")
    bpy.ops.render.render(write_still=True)
    return read_picture(scene.render.filepath)


def render_passes(engine="SORT"):
    """exr.Picture of all passes, by the names that Blender 4 has for them."""
    from sort_blender import exr, versions
    scene = bpy.context.scene
    scene.render.engine = engine
    scene.render.filepath = str(FOLDER / "passes.exr")
    set_file(scene.render.image_settings, is_multilayer=True)
    bpy.ops.render.render(write_still=True)
    set_file(scene.render.image_settings)
    picture = exr.read(pathlib.Path(scene.render.filepath))
    short = {versions.pass_name(name): name for name in PASSES}
    return replace(picture, channels={".".join(short.get(word, word) for word in name.split(".")): values
                                      for name, values in picture.channels.items()})


def export():
    """The description of the scene in a package of its own."""
    from sort_blender import operators
    folder = FOLDER / f"package {len(list(FOLDER.iterdir()))}"
    operators.export(bpy.context, folder)
    return json.loads((folder / "scene.json").read_text())


def read_picture(path):
    image = bpy.data.images.load(path)
    pixels = np.empty(image.size[0] * image.size[1] * 4, np.float32)
    image.pixels.foreach_get(pixels)
    pixels = pixels.reshape(image.size[1], image.size[0], 4)
    bpy.data.images.remove(image)
    return pixels


def subprocess_ok(words):
    return subprocess.run(words, capture_output=True).returncode


def renderers_in(folder):
    """Processes of sort-render that work in `folder`."""
    found = []
    for place in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"sort-render") and any(bytes(folder) in word for word in words[1:]):
            found.append(place.parent.name)
    return found


def main():
    """Runs the tests of the calling file and ends Blender, whose own exit code would tell only whether the
    last render came to its end."""
    install()
    result = unittest.main(argv=["test"], exit=False, verbosity=2).result
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0 if result.wasSuccessful() and result.testsRun else 1)
