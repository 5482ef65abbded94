"""One picture of many tiles, a node's case each: what the files of cases fill, and what is measured of it."""

import math

import bpy
import numpy as np

import blender_scene as kit

TILE_PX, CELL_PX, CELLS = 16, 4, 3  # a tile's middle is measured: CELLS x CELLS means
SPACING = 2.2
VALUES, SURFACES, FIBRES = [], [], []
VERSION = "{}.{}".format(*bpy.app.version)
IS_4 = bpy.app.version >= (4, 0, 0)


class Case:
    def __init__(self, name, node, tolerance, build, is_strand=False, make=None):
        self.name, self.node, self.tolerance, self.build, self.is_strand = name, node, tolerance, build, is_strand
        self.make = make  # of its object, by name and place; None: a ball or a strand


def is_there(node):
    return hasattr(bpy.types, node)


def value(node, tolerance=0.01, name=None, kinds=None):
    """A case that gives a socket; with `kinds`, one case for each value of (a setting). None where there is no such node."""
    def add(build):
        for kind in [None] if kinds is None else kinds:
            if not is_there(node):
                continue
            given = name or build.__name__.replace("_", " ")
            VALUES.append(Case(given if kind is None else f"{given} {kind}", node, tolerance,
                               build if kind is None else (lambda tile, kind=kind: build(tile, kind))))
        return build
    return add


def surface(name, node, tolerance, settings=None, is_strand=False, **inputs):
    if is_there(node):
        SURFACES.append(Case(name, node, tolerance, lambda tile: tile.new(node, settings, **inputs).outputs[0], is_strand))


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
    """Returns the values of a setting; none where there is no such node or setting."""
    known = getattr(bpy.types, node_type).bl_rna.properties if is_there(node_type) else {}
    return [i.identifier for i in known[setting].enum_items] if setting in known else []


def inputs_of(node_type):
    """Returns the names of its inputs."""
    tree = bpy.data.node_groups.new("inputs", "ShaderNodeTree")
    names = [socket.name for socket in tree.nodes.new(node_type).inputs]
    bpy.data.node_groups.remove(tree)
    return names


def gradient_image(name, width, height):
    image = bpy.data.images.new(name, width, height, float_buffer=True)
    y, x = np.mgrid[0:height, 0:width]
    pixels = np.stack([x / width, y / height, 0.5 + 0.5 * np.sin(x * 6.2832 / width), np.ones(x.shape)], axis=2)
    image.pixels.foreach_set(pixels.astype(np.float32).ravel())
    return image


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


def add_ball(name, place):
    bpy.ops.mesh.primitive_uv_sphere_add(radius=0.9, segments=48, ring_count=24, location=place)
    bpy.ops.object.shade_smooth()
    bpy.context.object.name = name
    return bpy.context.object


def add_strand(name, place):
    """One hair, as thick as the balls, along y."""
    emitter = kit.add_plane(name, 0.01, location=(place[0], place[1] - 1.0, place[2]), rotation=(-math.pi / 2, 0, 0))
    kit.material_of(emitter, "ShaderNodeEmission")
    emitter.show_instancer_for_render = False
    emitter.modifiers.new("Hair", "PARTICLE_SYSTEM")
    made = emitter.particle_systems[0].settings
    made.type, made.count, made.hair_length, made.render_step = "HAIR", 1, 2, 3
    made.root_radius, made.tip_radius, made.radius_scale = 1.8, 1.8, 0.5
    return emitter


def add_curve(name, place):
    """The same as an object of type Curves, whose normals lie along x."""
    curves = bpy.data.hair_curves.new(name)
    curves.add_curves([5])
    curves.points.foreach_set("position", np.array([[0, y, 0] for y in np.linspace(-1, 1, 5)], np.float32).ravel())
    radius = curves.attributes.get("radius") or curves.attributes.new("radius", "FLOAT", "POINT")
    radius.data.foreach_set("value", [0.9] * 5)
    return kit.add(name, curves, place)


def build_surfaces():
    return _build_lit(SURFACES, 512)  # with half of them the sun behind rough glass is 5 % off in one cell of a tile


def build_fibres():
    return _build_lit(FIBRES, 256)


def bounce_often():
    """So that few paths are cut off, in both engines alike."""
    scene = bpy.context.scene
    scene.sort.max_depth = scene.cycles.max_bounces = 16
    for kind in ("diffuse", "glossy", "transmission"):
        setattr(scene.sort, f"{kind}_bounces", 16)
        setattr(scene.cycles, f"{kind}_bounces", 16)


def _build_lit(cases, samples):
    columns, rows = grid(len(cases))
    scene = kit.empty_scene(samples=samples)
    bounce_often()
    scene.render.resolution_x, scene.render.resolution_y = columns * TILE_PX, rows * TILE_PX
    for number, case in enumerate(cases):
        make = case.make or (add_strand if case.is_strand else add_ball)
        tile = Tile(make(f"Ball {number:03}", _place(number, columns, rows)))
        tile.surface(case.build(tile))
    sun = kit.add("Sun", bpy.data.lights.new("Sun", "SUN"), (0, 0, 5), (0.5, 0.4, 0))
    sun.data.energy, sun.data.angle = 2, 0.3
    kit.set_world((0.5, 0.5, 0.5))  # by nodes: since 5.0 a world has no other colour
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


SCENES = {"values": (VALUES, build_values), "surfaces": (SURFACES, build_surfaces), "fibres": (FIBRES, build_fibres)}
