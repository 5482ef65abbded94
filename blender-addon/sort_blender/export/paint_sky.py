"""Run by sky_painter.py in a Blender of its own: Cycles paints the sky of a Sky Texture whose sun stands over +y.
  blender -b --factory-startup -P paint_sky.py -- OUT COLUMNS ROWS SETTINGS
OUT: float32, little-endian, rows from straight down to straight up, columns from the sun's azimuth to the opposite,
r g b each. SETTINGS: of the node, as JSON."""

import array
import json
import math
import os
import sys
import tempfile

import bpy


def paint(picture: str, columns: int, rows: int, settings: dict) -> None:
    """A camera looks at +y."""
    scene = bpy.context.scene
    for obj in list(bpy.data.objects):
        bpy.data.objects.remove(obj)
    camera = bpy.data.objects.new("Eye", bpy.data.cameras.new("Eye"))
    scene.collection.objects.link(camera)
    scene.camera, camera.rotation_euler = camera, (math.pi / 2, 0, 0)
    camera.data.type = "PANO"
    lens = camera.data if hasattr(camera.data, "panorama_type") else camera.data.cycles
    lens.panorama_type = "EQUIRECTANGULAR"
    lens.longitude_min, lens.longitude_max = 0, math.pi
    lens.latitude_min, lens.latitude_max = -math.pi / 2, math.pi / 2

    scene.world = bpy.data.worlds.new("Sky")
    scene.world.use_nodes = True
    tree = scene.world.node_tree
    sky = tree.nodes.new("ShaderNodeTexSky")
    for name, value in settings.items():  # the type first, as it is written
        setattr(sky, name, value)
    tree.links.new(sky.outputs["Color"], tree.nodes["Background"].inputs["Color"])

    render = scene.render
    render.engine = "CYCLES"
    scene.cycles.device = "CPU"
    scene.cycles.samples = 1
    scene.cycles.use_denoising = scene.cycles.use_adaptive_sampling = False
    scene.cycles.pixel_filter_type, scene.cycles.filter_width = "GAUSSIAN", 0.01  # the middle of each pixel
    scene.cycles.sample_clamp_direct = 0
    render.resolution_x, render.resolution_y, render.resolution_percentage = columns, rows, 100
    render.image_settings.file_format, render.image_settings.color_depth = "OPEN_EXR", "32"
    render.filepath = picture
    bpy.ops.render.render(write_still=True)


def main() -> None:
    words = sys.argv[sys.argv.index("--") + 1:]
    with tempfile.TemporaryDirectory(prefix="sort-sky-") as folder:
        picture = os.path.join(folder, "sky.exr")
        paint(picture, *map(int, words[1:3]), json.loads(words[3]))
        image = bpy.data.images.load(picture)
        pixels = array.array("f", bytes(4 * len(image.pixels)))
        image.pixels.foreach_get(pixels)
    values = array.array("f", (x for k in range(0, len(pixels), 4) for x in pixels[k:k + 3]))
    if sys.byteorder == "big":
        values.byteswap()
    with open(words[0], "wb") as out:
        out.write(values.tobytes())


main()
