"""Run by frame_reader.py in a Blender of its own, which makes a frame of a movie, or an image, linear by its compositor:
  blender -b --factory-startup -P read_frame.py -- OUT PATH SOURCE FRAME COLOUR_SPACE ALPHA_MODE
SOURCE: MOVIE or FILE. OUT: width and height, uint32, and r g b a, float32, of all rows from the bottom; little-endian."""

import array
import os
import sys
import tempfile

import bpy


def node_tree(scene: bpy.types.Scene) -> bpy.types.NodeTree:
    """Returns the empty node tree of the compositor. Since 5.0 it is a node group whose output is the picture."""
    if not hasattr(scene, "compositing_node_group"):
        scene.use_nodes = True
        scene.node_tree.nodes.clear()
        return scene.node_tree
    tree = scene.compositing_node_group = bpy.data.node_groups.new("Frame", "CompositorNodeTree")
    tree.interface.new_socket("Image", in_out="OUTPUT", socket_type="NodeSocketColor")
    return tree


def output_of(tree: bpy.types.NodeTree) -> bpy.types.Node:
    return tree.nodes.new("CompositorNodeComposite" if hasattr(bpy.types, "CompositorNodeComposite") else "NodeGroupOutput")


def show(image: bpy.types.Image, frame: int, picture: str) -> None:
    scene = bpy.context.scene
    scene.frame_set(frame)
    tree = node_tree(scene)
    node, output = tree.nodes.new("CompositorNodeImage"), output_of(tree)
    node.image = image
    if image.source == "MOVIE":
        node.frame_start, node.frame_duration, node.use_auto_refresh = 1, max(image.frame_duration, 1), True
    tree.links.new(node.outputs["Image"], output.inputs[0])
    render = scene.render
    render.engine = "BLENDER_WORKBENCH"
    render.use_compositing, render.use_sequencer = True, False
    render.resolution_x, render.resolution_y, render.resolution_percentage = image.size[0], image.size[1], 100
    render.image_settings.file_format, render.image_settings.color_depth = "OPEN_EXR", "32"
    render.image_settings.color_mode = "RGBA"
    render.filepath = picture
    bpy.ops.render.render(write_still=True)


def limit_memory() -> None:
    """A damaged file may say that it is larger than all memory: then this Blender shall fail, not the machine."""
    try:
        import resource
    except ImportError:  # not every system has it
        return
    most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


def main() -> None:
    limit_memory()
    out, path, source, frame, space, alpha = sys.argv[sys.argv.index("--") + 1:]
    image = bpy.data.images.load(path)
    image.source = source
    image.colorspace_settings.name, image.alpha_mode = space, alpha
    with tempfile.TemporaryDirectory(prefix="sort-frame-") as folder:
        picture = os.path.join(folder, "frame.exr")
        show(image, int(frame), picture)
        made = bpy.data.images.load(picture)
        pixels = array.array("f", bytes(4 * len(made.pixels)))
        made.pixels.foreach_get(pixels)
    size = array.array("I", made.size[:])
    if sys.byteorder == "big":
        size.byteswap()
        pixels.byteswap()
    with open(out, "wb") as file:
        file.write(size.tobytes() + pixels.tobytes())


main()
