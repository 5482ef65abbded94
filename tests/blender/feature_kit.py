"""What the scenes of feature_scenes.py are made with: nodes in short, things on a stage, pictures, animation, compositing. In terms
of Blender 3.4; where later versions differ, this file says so."""

import pathlib

import bpy
import numpy as np
from mathutils import Vector

RENAMED = {"Specular": "Specular IOR Level", "Subsurface": "Subsurface Weight", "Transmission": "Transmission Weight", "Fac": "Factor",
           "Clearcoat": "Coat Weight", "Clearcoat Roughness": "Coat Roughness", "Sheen": "Sheen Weight", "Emission": "Emission Color"}
WORDS_IN_5 = {"AO": "Ambient Occlusion", "Emit": "Emission", "Env": "Environment", "DiffDir": "Diffuse Direct", "DiffInd": "Diffuse Indirect",
              "DiffCol": "Diffuse Color", "GlossDir": "Glossy Direct", "GlossInd": "Glossy Indirect", "GlossCol": "Glossy Color",
              "TransDir": "Transmission Direct", "TransInd": "Transmission Indirect"}  # passes
RED, GREEN, BLUE, WHITE, GREY = (0.7, 0.1, 0.06), (0.1, 0.5, 0.12), (0.08, 0.16, 0.6), (0.8, 0.8, 0.8), (0.4, 0.4, 0.4)


# --- nodes ----------------------------------------------------------------------------------------------------

def named(sockets, name):
    """The first one in use of that name, or of the one it has later."""
    for socket in sockets:
        if socket.enabled and socket.name in (name, RENAMED.get(name)):
            return socket
    raise KeyError(f"{sockets.id_data.name}: there is no socket {name} among {[socket.name for socket in sockets]}")


class Nodes:
    """Calls make nodes of one tree: nodes("BsdfDiffuse", {"Color": (1, 0, 0)}, label="Red"). A value that is a node means its first output."""

    def __init__(self, tree, prefix="ShaderNode"):
        self.tree, self._prefix = tree, prefix

    def __call__(self, kind, inputs=None, **settings):
        node = self.tree.nodes.new(self._prefix + kind)
        for name, value in settings.items():
            setattr(node, name, value)
        for name, value in (inputs or {}).items():
            socket = node.inputs[name] if isinstance(name, int) else named(node.inputs, name)
            if isinstance(value, bpy.types.Node):
                value = next(output for output in value.outputs if output.enabled)
            if isinstance(value, bpy.types.NodeSocket):
                self.tree.links.new(value, socket)
            else:
                is_colour = socket.type == "RGBA" and len(value) == 3
                socket.default_value = (*value, 1) if is_colour else value
        return node

    def image(self, picture, **settings):
        return named(self("TexImage", image=picture, **settings).outputs, "Color")

    def image_at(self, picture, vector, **settings):
        return named(self("TexImage", {"Vector": vector}, image=picture, **settings).outputs, "Color")

    def get(self, kind, output, inputs=None, **settings):
        """An output of a new node."""
        return named(self(kind, inputs, **settings).outputs, output)


def material(name, build):
    """`build` gets Nodes, and returns the surface, or (surface, displacement)."""
    made = bpy.data.materials.new(name)
    made.use_nodes = True
    made.node_tree.nodes.clear()
    nodes = Nodes(made.node_tree)
    ends = build(nodes)
    surface, displacement = ends if isinstance(ends, tuple) else (ends, None)
    nodes("OutputMaterial", {"Surface": surface} | ({"Displacement": displacement} if displacement else {}))
    return made


def paint(obj, build):
    """Gives it a material of its own; returns the object."""
    obj.data.materials.clear()
    obj.data.materials.append(material(obj.name, build))
    return obj


def diffuse(obj, colour):
    return paint(obj, lambda n: n("BsdfDiffuse", {"Color": colour}))


def principled(obj, **inputs):
    return paint(obj, lambda n: n("BsdfPrincipled", {name.replace("_", " "): value for name, value in inputs.items()}))


def group(kind, name, ins, outs):
    """A node group with sockets {name: type}: (tree, its input node, its output node)."""
    tree = bpy.data.node_groups.new(name, kind)
    for side, sockets in (("INPUT", ins), ("OUTPUT", outs)):
        for socket, socket_type in sockets.items():
            if hasattr(tree, "interface"):
                tree.interface.new_socket(socket, in_out=side, socket_type=socket_type)
            else:
                (tree.inputs if side == "INPUT" else tree.outputs).new(socket_type, socket)
    return tree, tree.nodes.new("NodeGroupInput"), tree.nodes.new("NodeGroupOutput")


def geometry(obj, build):
    """A modifier of geometry nodes: `build` gets Nodes without prefix and the geometry, and returns the new one."""
    tree, start, end = group("GeometryNodeTree", obj.name, {"Geometry": "NodeSocketGeometry"}, {"Geometry": "NodeSocketGeometry"})
    nodes = Nodes(tree, "")
    made = build(nodes, start.outputs[0])
    tree.links.new(made.outputs[0] if isinstance(made, bpy.types.Node) else made, end.inputs[0])
    obj.modifiers.new("Nodes", "NODES").node_group = tree
    return obj


def stored(nodes, mesh, name, value, kind="FLOAT", domain="POINT"):
    return nodes("GeometryNodeStoreNamedAttribute", {"Geometry": mesh, "Name": name, "Value": value}, data_type=kind, domain=domain)


def composite(build):
    """The compositor of the scene: `build` gets Nodes and the Render Layers node, and returns the picture. Returns a function that takes it away."""
    scene = bpy.context.scene
    if hasattr(scene, "compositing_node_group"):  # since 5.0
        tree, _, end = group("CompositorNodeTree", "Compositing", {}, {"Image": "NodeSocketColor"})
        scene.compositing_node_group = tree
    else:
        scene.use_nodes = True
        tree = scene.node_tree
        tree.nodes.clear()
        end = tree.nodes.new("CompositorNodeComposite")
    nodes = Nodes(tree, "CompositorNode")
    made = build(nodes, nodes("RLayers", scene=scene))
    tree.links.new(made.outputs[0] if isinstance(made, bpy.types.Node) else made, end.inputs[0])
    return lambda: setattr(scene, *(("use_nodes", False) if tree == getattr(scene, "node_tree", None) else ("compositing_node_group", None)))


def mixed(nodes, a, b, factor=0.5, blend="MIX"):
    """In the compositor, whose own node of this went with 5.0."""
    if hasattr(bpy.types, "CompositorNodeMixRGB"):
        return nodes("MixRGB", {0: factor, 1: a, 2: b}, blend_type=blend)
    return Nodes(nodes.tree).get("Mix", "Result", {"Factor": factor, "A": a, "B": b}, data_type="RGBA", blend_type=blend)


# --- things ---------------------------------------------------------------------------------------------------

def add(name, data, location=(0, 0, 0), rotation=(0, 0, 0), scale=(1, 1, 1)):
    obj = bpy.data.objects.new(name, data)
    obj.location, obj.rotation_euler, obj.scale = location, rotation, scale
    bpy.context.scene.collection.objects.link(obj)
    return obj


def made(operator, **how):
    """The object that an operator adds."""
    operator(**how)
    return bpy.context.object


def ball(at=(0, 0, 1), radius=1.0, **more):
    obj = made(bpy.ops.mesh.primitive_uv_sphere_add, radius=radius, location=at, segments=48, ring_count=24, **more)
    return smooth(obj)


def cube(at=(0, 0, 1), size=2.0, **more):
    return made(bpy.ops.mesh.primitive_cube_add, size=size, location=at, **more)


def plane(at=(0, 0, 0), size=2.0, **more):
    return made(bpy.ops.mesh.primitive_plane_add, size=size, location=at, **more)


def monkey(at=(0, 0, 1), **more):
    obj = smooth(made(bpy.ops.mesh.primitive_monkey_add, location=at, **more))
    obj.modifiers.new("Subdivision", "SUBSURF").render_levels = 2
    return obj


def smooth(obj):
    obj.data.polygons.foreach_set("use_smooth", [True] * len(obj.data.polygons))
    return obj


def look(obj, at):
    obj.rotation_euler = (obj.location - Vector(at)).to_track_quat("Z", "Y").to_euler()
    return obj


def lamp(kind, at, target, energy, **settings):
    light = bpy.data.lights.new(kind.title(), kind)
    light.energy = energy
    for name, value in settings.items():
        setattr(light, name, value)
    return look(add(kind.title(), light, at), target)


def world(build):
    sky = bpy.context.scene.world = bpy.data.worlds.new("World")
    sky.use_nodes = True
    sky.node_tree.nodes.clear()
    nodes = Nodes(sky.node_tree)
    nodes("OutputWorld", {"Surface": build(nodes)})
    return sky


def stage(eye=(0, -7, 3), target=(0, 0, 0.9), lens=40, light=500.0, sky=0.3, ground=GREY):
    """Ground, a lamp, an even sky and a camera; the camera's data. None: without."""
    if ground:
        diffuse(plane(size=30), ground).name = "Ground"
    if light:
        lamp("AREA", (4, -3, 5), (0, 0, 0.5), light, size=1.5)
    if sky:
        world(lambda n: n("Background", {"Color": (sky, sky, 1.2 * sky)}))
    camera = bpy.data.cameras.new("Camera")
    camera.lens = lens
    bpy.context.scene.camera = look(add("Camera", camera, eye), target)
    return camera


def row(count, spacing=1.9):
    """Places of balls side by side."""
    return [((k - (count - 1) / 2) * spacing, 0, 1) for k in range(count)]


def collection(name, *objects, is_shown=False):
    """A new one with objects that leave the others."""
    inside = bpy.data.collections.new(name)
    if is_shown:
        bpy.context.scene.collection.children.link(inside)
    for obj in objects:
        for old in list(obj.users_collection):
            old.objects.unlink(obj)
        inside.objects.link(obj)
    return inside


def instance(inside, at, rotation=(0, 0, 0), scale=(1, 1, 1)):
    obj = add(f"Instance of {inside.name}", None, at, rotation, scale)
    obj.instance_type, obj.instance_collection = "COLLECTION", inside
    return obj


def animate(owner, field, values, index=-1):
    """values: {frame: value}, with straight lines between."""
    bpy.context.preferences.edit.keyframe_new_interpolation_type = "LINEAR"
    for frame, value in values.items():
        if index < 0:
            setattr(owner, field, value)
        else:
            getattr(owner, field)[index] = value
        owner.keyframe_insert(field, index=index, frame=frame)


def written(layer):
    """A layer's name in a file."""
    start, _, name = layer.partition(".")
    return f"{start}.{WORDS_IN_5.get(name, name) if bpy.app.version >= (5, 0, 0) else name}"


# --- pictures -------------------------------------------------------------------------------------------------

def pattern(size=64, colours=(RED, WHITE, BLUE, GREEN), squares=4):
    """float32 [rows, columns, rgba]: squares of four colours, each with a gradient, so that no turn or mirror looks alike."""
    y, x = np.mgrid[0:size, 0:size] / size
    which = (np.floor(x * squares).astype(int) + 2 * np.floor(y * squares).astype(int)) % len(colours)
    pixels = np.ones((size, size, 4), np.float32)
    pixels[..., :3] = np.array(colours)[which] * (0.4 + 0.6 * x * y)[..., None]
    return pixels


def picture(name, pixels, space="sRGB", path=None, file_format="PNG", is_float=False):
    """A new image: packed into the file, or at `path`."""
    image = bpy.data.images.new(name, pixels.shape[1], pixels.shape[0], alpha=True, float_buffer=is_float)
    image.colorspace_settings.name = space
    image.pixels.foreach_set(np.ascontiguousarray(pixels, np.float32).ravel())
    if path is None:
        image.pack()
        return image
    image.filepath_raw, image.file_format = str(path), file_format
    image.save()
    bpy.data.images.remove(image)
    image = bpy.data.images.load(str(path))
    image.colorspace_settings.name = space
    return image


def linear_space():
    names = bpy.types.ColorManagedInputColorspaceSettings.bl_rna.properties["name"].enum_items.keys()
    return "Linear" if "Linear" in names else "Linear Rec.709"


def folder():
    """Of the file that is made."""
    return pathlib.Path(bpy.data.filepath).parent
