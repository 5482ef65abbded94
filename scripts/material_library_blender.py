"""What scripts/material-library runs in Blender: makes the asset library of the materials that the JSON file after `--` describes.
The add-on is enabled here, since each material is one SSL Script node."""

import json
import pathlib
import sys

import bpy
import numpy as np


def make(record):
    text = bpy.data.texts.new(f"{record['name']}.ssl")
    text.from_string(record["source"])
    material = bpy.data.materials.new(record["label"])
    material.use_nodes = True
    tree = material.node_tree
    tree.nodes.clear()
    node = tree.nodes.new("SortScriptNode")
    node.label, node.location, node.width = record["label"], (0, 0), 260
    node.script = text  # makes the sockets
    if node.errors:
        sys.exit(f"{record['name']}: {node.errors}")
    output = tree.nodes.new("ShaderNodeOutputMaterial")
    output.location = (340, 0)
    tree.links.new(node.outputs[0], output.inputs["Surface"])
    material.diffuse_color = next((tuple(s.default_value) for s in node.inputs if s.type == "RGBA"), (0.6, 0.6, 0.6, 1))
    material.asset_mark()
    about = material.asset_data
    about.author, about.description, about.catalog_id = "The SORT authors", record["description"], record["catalog_id"]
    for tag in record["tags"]:
        about.tags.new(tag, skip_if_exists=True)
    set_preview(material, record["picture"])
    return material


def set_preview(material, file):
    image = bpy.data.images.load(file)
    pixels = np.empty(len(image.pixels), np.float32)
    image.pixels.foreach_get(pixels)
    preview = material.preview_ensure()
    preview.image_size = image.size
    preview.image_pixels_float.foreach_set(pixels)
    bpy.data.images.remove(image)


def main():
    job = json.loads(pathlib.Path(sys.argv[sys.argv.index("--") + 1]).read_text(encoding="utf-8"))
    bpy.ops.preferences.addon_enable(module="sort_blender")
    materials = {make(record) for record in job["materials"]}
    bpy.data.libraries.write(job["file"], materials, fake_user=True, compress=True)


main()
