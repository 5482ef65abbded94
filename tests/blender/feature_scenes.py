"""Scenes of one feature each, for feature_files.py: what an artist would use, small, made by Blender's own operators and functions.

Each function builds one in an empty file of Blender, whose folder is kit.folder(), and says by its decorator what else there is to
know: samples, layers of the picture beside Combined, the least version, and why its picture is not Cycles'."""

import math
from dataclasses import dataclass, field

import bpy
import numpy as np

import feature_kit as kit
from feature_kit import (BLUE, GREEN, GREY, RED, WHITE, add, animate, ball, collection, cube, diffuse, lamp, monkey, paint, plane, principled,
                         row, stage)

SCENES = {}
BLURRED = "in Multiscatter GGX, what Filter Glossy blurs keeps its energy; in Cycles 4 it loses as much as GGX does"

DIVIDED = ", and Glossy Direct and Indirect are divided by it; Depth has edges of its own"
PASSES = {"3.4": "Glossy Color of Cycles 3's Principled is without Fresnel" + DIVIDED} | dict.fromkeys(
    ("4.5", "5.0"), f"caustics in Diffuse Indirect: {BLURRED}; Glossy Color of Principled is an estimate in Cycles" + DIVIDED)


@dataclass
class Feature:
    build: object
    samples: int = 64
    layers: tuple = ()  # of the EXR, which are compared instead of the picture
    least: tuple = (3, 4)  # version of Blender
    is_display: bool = False  # compared as the PNG that an artist sees
    reason: dict = field(default_factory=dict)  # why the pictures differ, by version, "3.4" say, or for "all"
    warns: dict = field(default_factory=dict)  # what warnings must say, likewise; none: there must be none


def scene(**facts):
    """Fields of Feature, for the function that follows."""
    def take(build):
        SCENES[build.__name__] = Feature(build, **facts)
        return build
    return take


# --- objects --------------------------------------------------------------------------------------------------

@scene()
def modifiers():
    """Subdivision, mirror, array, bevel, solidify, displace, boolean."""
    stage(lens=32)
    subdivided = diffuse(cube((-3, 0, 1), 1.6), RED)
    subdivided.modifiers.new("S", "SUBSURF").render_levels = 3
    lumpy = diffuse(ball((0, 0, 1)), BLUE)
    displace = lumpy.modifiers.new("D", "DISPLACE")
    displace.texture, displace.strength = bpy.data.textures.new("Clouds", "CLOUDS"), 0.5
    boxes = diffuse(cube((2.2, 0, .4), .6), GREEN)
    array = boxes.modifiers.new("A", "ARRAY")
    array.count, array.relative_offset_displace = 3, (1.2, 0, 0.5)
    boxes.modifiers.new("B", "BEVEL").width = 0.08
    tube = diffuse(made_tube(), WHITE)
    tube.modifiers.new("S", "SOLIDIFY").thickness = 0.1
    tube.modifiers.new("M", "MIRROR").use_axis = (True, False, False)
    cut = cube((0, -1, 1), .9)
    cut.hide_render = True
    hole = lumpy.modifiers.new("Bo", "BOOLEAN")
    hole.object, hole.operation = cut, "DIFFERENCE"


def made_tube():
    obj = kit.made(bpy.ops.mesh.primitive_cylinder_add, radius=.4, depth=.8, end_fill_type="NOTHING", location=(0, 0, 0))
    for vertex in obj.data.vertices:
        vertex.co.x += 1.6
    obj.location = (0, -2.2, .4)
    return obj


@scene()
def curves_and_text():
    """Bevelled curve, text, NURBS surface, metaballs."""
    stage(lens=32)
    spiral = kit.made(bpy.ops.curve.primitive_bezier_circle_add, radius=1, location=(-3, 0, 1), rotation=(1.2, 0, 0))
    spiral.data.bevel_depth, spiral.data.bevel_resolution = .15, 4
    diffuse(spiral, RED)
    text = kit.made(bpy.ops.object.text_add, location=(-1.3, -1.4, 0), rotation=(1.2, 0, 0.2))
    text.data.body, text.data.extrude, text.data.bevel_depth = "SORT", .1, .02
    diffuse(text, WHITE)
    diffuse(kit.made(bpy.ops.surface.primitive_nurbs_surface_sphere_add, location=(0.5, 1.5, 1)), GREEN)
    meta = kit.made(bpy.ops.object.metaball_add, location=(2.6, 0, .8))
    for x in (.7, 1.3):
        meta.data.elements.new().co = (x, 0, .2)
    meta.data.render_resolution = .1
    meta.data.materials.append(kit.material("Meta", lambda n: n("BsdfDiffuse", {"Color": BLUE})))


@scene(reason={"3.4": "attributes of instances are not shown to Python before 4.5"}, warns={"3.4": "there is no 'tint' here"})
def geometry_instances():
    """Instances on points that nodes scatter, turn and scale, with an attribute of their own."""
    stage((0, -8, 5))
    leaf = diffuse(kit.made(bpy.ops.mesh.primitive_cone_add, radius1=.3, depth=.8, vertices=6), WHITE)
    leaf.hide_render = True
    paint(leaf, lambda n: n("BsdfDiffuse", {"Color": n.get("Attribute", "Color", attribute_name="tint", attribute_type="INSTANCER")}))

    def build(n, mesh):
        points = n("GeometryNodeDistributePointsOnFaces", {"Mesh": mesh, "Density": 6.0})
        cone = n("GeometryNodeObjectInfo", {"Object": leaf})
        placed = n("GeometryNodeInstanceOnPoints", {
            "Points": points, "Instance": kit.named(cone.outputs, "Geometry"), "Rotation": points.outputs["Rotation"],
            "Scale": n("FunctionNodeRandomValue", {"Min": (.4, .4, .4), "Max": (1.2, 1.2, 2)}, data_type="FLOAT_VECTOR")})
        colour = n("FunctionNodeRandomValue", {"Min": (.1, .1, .1), "Max": (.9, .6, .2)}, data_type="FLOAT_VECTOR")
        both = n("GeometryNodeJoinGeometry")
        n.tree.links.new(mesh, both.inputs[0])
        n.tree.links.new(kit.stored(n, placed, "tint", colour, "FLOAT_VECTOR", "INSTANCE").outputs[0], both.inputs[0])
        return both
    kit.geometry(diffuse(kit.smooth(ball((0, 0, 1.2), 1.5)), GREEN), build)


@scene()
def geometry_mesh():
    """A mesh that nodes make: displaced by noise, with an attribute and a material set by them."""
    stage((0, -8, 5))
    wear = kit.material("Height", lambda n: n("BsdfDiffuse", {"Color": n.get("Attribute", "Color", attribute_name="shade")}))

    def build(n, _):
        grid = n("GeometryNodeMeshGrid", {"Size X": 7.0, "Size Y": 6.0, "Vertices X": 80, "Vertices Y": 80})
        noise = kit.Nodes(n.tree)("TexNoise", {"Scale": .8})
        up = kit.Nodes(n.tree)("CombineXYZ", {"Z": noise.outputs[0]})
        raised = n("GeometryNodeSetPosition", {"Geometry": grid, "Offset": up})
        shaded = kit.stored(n, raised, "shade", noise.outputs["Color"], "FLOAT_COLOR")
        return n("GeometryNodeSetMaterial", {"Geometry": n("GeometryNodeSetShadeSmooth", {0: shaded}), "Material": wear})
    kit.geometry(cube((0, 0, .4)), build)


@scene()
def point_clouds():
    """Points with radii and colours of their own."""
    stage()
    wear = kit.material("Points", lambda n: n("BsdfDiffuse", {"Color": n.get("Attribute", "Color", attribute_name="tone")}))

    def build(n, mesh):
        radius = n("FunctionNodeRandomValue", {"Min": .02, "Max": .12}, data_type="FLOAT")
        points = n("GeometryNodeMeshToPoints", {"Mesh": mesh, "Radius": radius})
        colour = n("FunctionNodeRandomValue", {"Min": (.1, .1, .1), "Max": (.9, .6, .2)}, data_type="FLOAT_VECTOR")
        tone = kit.stored(n, points, "tone", colour, "FLOAT_VECTOR")
        return n("GeometryNodeSetMaterial", {"Geometry": tone, "Material": wear})
    kit.geometry(monkey((0, 0, 1.2), size=2.5), build)


def hairy(obj, count, length):
    obj.modifiers.new("Fur", "PARTICLE_SYSTEM")
    settings = obj.particle_systems[0].settings
    settings.type, settings.count, settings.hair_length, settings.render_step = "HAIR", count, length, 4
    settings.root_radius, settings.tip_radius, settings.radius_scale = 1.0, .1, .03
    return settings


@scene(samples=96)
def particle_hair():
    """Hair of a particle system with children, in Principled Hair."""
    stage()
    obj = kit.smooth(ball())
    obj.data.materials.append(kit.material("Skin", lambda n: n("BsdfDiffuse", {"Color": RED})))
    obj.data.materials.append(kit.material("Hair", lambda n: n("BsdfHairPrincipled", {"Color": (.35, .18, .06)})))
    settings = hairy(obj, 400, .5)
    settings.material, settings.child_type, settings.rendered_child_count = 2, "INTERPOLATED", 8
    settings.clump_factor, settings.roughness_1 = .4, .05


@scene()
def hair_shapes():
    """Hair as rounded ribbons and thick tubes, coloured by root and by Hair Info."""
    stage()
    bpy.context.scene.cycles_curves.shape = "THICK"
    obj = kit.smooth(ball())
    obj.data.materials.append(kit.material("Hair", lambda n: n("BsdfDiffuse", {"Color": n("ValToRGB", {
        "Fac": n.get("HairInfo", "Intercept")})})))
    hairy(obj, 300, .7)


@scene(samples=96)
def hair_curves():
    """An object of type Curves."""
    stage()
    obj = diffuse(kit.smooth(ball()), RED)
    bpy.context.view_layer.objects.active = obj
    bpy.ops.object.curves_random_add()
    curves = bpy.context.object
    curves.location, curves.scale = obj.location, (1, 1, 1)
    paint(curves, lambda n: n("BsdfHairPrincipled", {"Color": (.5, .3, .1), "Roughness": .4}))


@scene()
def particles():
    """Objects instanced by a particle system, in colours by Particle Info and Object Info."""
    stage((0, -8, 4))
    shape = kit.made(bpy.ops.mesh.primitive_ico_sphere_add, radius=1, location=(30, 0, 0))
    paint(shape, lambda n: n("BsdfDiffuse", {"Color": n("CombineColor", {
        "Red": n.get("ObjectInfo", "Random"), "Green": n("Math", {0: n.get("ParticleInfo", "Index"), 1: 200.0}, operation="DIVIDE"), "Blue": .3})}))
    emitter = diffuse(plane((0, 0, .2), 5), WHITE)
    emitter.modifiers.new("P", "PARTICLE_SYSTEM")
    settings = emitter.particle_systems[0].settings
    settings.count, settings.frame_start, settings.frame_end, settings.lifetime = 200, 1, 1, 100
    settings.physics_type, settings.render_type, settings.instance_object = "NO", "OBJECT", shape
    settings.particle_size, settings.size_random = .2, .6


@scene()
def collection_instances():
    """Collections in collections; mirrored, flattened."""
    stage((0, -9, 4))
    inner = collection("Inner", diffuse(monkey((0, 0, 1)), RED), diffuse(cube((0, 0, .1), .9), BLUE))
    outer = collection("Outer")
    for x in (-1, 1):
        nested = kit.instance(inner, (1.1 * x, 0, 0), scale=(.7 * x, .7, .7))
        collection("", nested)
        outer.objects.link(nested)
    kit.instance(outer, (-2, 0, 0))
    kit.instance(outer, (2, 1, 0), (0, 0, .5), (1, 1, .5))
    kit.instance(outer, (0, -2, 0), (0, 0, -.3), (.5, .5, .5))


@scene()
def instances_on_faces():
    """An object's children on its vertices and faces."""
    stage((0, -8, 5))
    for x, kind in ((-2, "VERTS"), (2, "FACES")):
        parent = diffuse(kit.made(bpy.ops.mesh.primitive_ico_sphere_add, radius=1.3, location=(x, 0, 1.4), subdivisions=2), WHITE)
        child = diffuse(kit.made(bpy.ops.mesh.primitive_cone_add, radius1=.15, depth=.5, location=(x, 0, 1.4)), RED if x < 0 else GREEN)
        child.parent, child.matrix_parent_inverse = parent, parent.matrix_world.inverted()
        parent.instance_type, parent.use_instance_vertices_rotation = kind, True


@scene()
def armature_and_lattice():
    """Deformed by bones, a lattice and a hook, in a pose at a frame; parents and constraints."""
    stage()
    arm = kit.made(bpy.ops.object.armature_add, location=(-1.6, 0, 0))
    tube = kit.made(bpy.ops.mesh.primitive_cylinder_add, radius=.4, depth=2, location=(-1.6, 0, 1))
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.mesh.subdivide(number_cuts=8)
    bpy.ops.object.mode_set(mode="OBJECT")
    diffuse(tube, RED)
    group = tube.vertex_groups.new(name="Bone")
    for vertex in tube.data.vertices:
        group.add([vertex.index], max(0, vertex.co.z), "REPLACE")
    tube.modifiers.new("A", "ARMATURE").object = arm
    arm.pose.bones["Bone"].rotation_mode = "XYZ"
    arm.pose.bones["Bone"].rotation_euler = (0, 0, 0.8)
    arm.pose.bones["Bone"].location = (.2, .3, 0)
    lattice = add("Lattice", bpy.data.lattices.new("Lattice"), (1.6, 0, 1), scale=(2, 2, 2))
    for point in lattice.data.points:
        if point.co.z > 0:
            point.co_deform.x += .4
    diffuse(monkey((1.6, 0, 1)), BLUE).modifiers.new("L", "LATTICE").object = lattice
    follower = diffuse(cube((0, 0, 0), .4), GREEN)
    constraint = follower.constraints.new("COPY_LOCATION")
    constraint.target, constraint.use_offset = arm, True
    follower.location = (1.6, -1.5, .3)


@scene()
def linked_library():
    """Objects, a collection and a material of another file: linked, instanced, and overridden."""
    inside = collection("Asset", principled(monkey((0, 0, 1)), Base_Color=(*RED, 1), Roughness=.3))
    gloss = kit.material("Linked Gloss", lambda n: n("BsdfGlossy", {"Color": WHITE, "Roughness": .2}))
    path = kit.folder() / "library.blend"
    bpy.data.libraries.write(str(path), {inside, gloss}, path_remap="RELATIVE")
    for obj in list(bpy.data.objects):
        bpy.data.objects.remove(obj)
    bpy.data.collections.remove(inside)
    bpy.data.materials.remove(gloss)
    with bpy.data.libraries.load(str(path), link=True, relative=True) as (_, wanted):
        wanted.collections, wanted.materials = ["Asset"], ["Linked Gloss"]
    stage((0, -7, 3), lens=32)
    asset = bpy.data.collections["Asset"]
    kit.instance(asset, (-2, 0, 0))
    ball((0, 0, .7), .7).data.materials.append(bpy.data.materials["Linked Gloss"])
    moved = asset.override_hierarchy_create(bpy.context.scene, bpy.context.view_layer)
    for obj in moved.all_objects:
        obj.location.x, obj.scale = 2, (1, 1, .7)


@scene()
def object_values():
    """Object Info, custom properties and the view layer's, by Attribute nodes."""
    stage()
    def build(n):
        index = n("Math", {0: n.get("ObjectInfo", "Object Index"), 1: 4.0}, operation="DIVIDE")
        own = n.get("Attribute", "Color", attribute_name="tone", attribute_type="OBJECT")
        shared = n.get("Attribute", "Fac", attribute_name="dim", attribute_type="VIEW_LAYER")
        both = n.get("Mix", "Result", {"Factor": index, "A": n.get("ObjectInfo", "Color"), "B": own}, data_type="RGBA")
        return n("BsdfDiffuse", {"Color": n.get("Mix", "Result", {"Factor": shared, "A": both, "B": (0, 0, 0)}, data_type="RGBA")})
    bpy.context.scene["dim"] = .25
    wear = kit.material("Values", build)
    for k, at in enumerate(row(4, 1.7)):
        obj = ball(at, .8)
        obj.data.materials.append(wear)
        obj.pass_index, obj.color, obj["tone"] = k, (*((RED, GREEN, BLUE, WHITE)[k]), 1), (.9, .8, .1)


@scene()
def drivers():
    """Values driven and animated, at frame 17."""
    stage()
    scene = bpy.context.scene
    obj = cube((0, 0, 1), 1.4)
    node = {}
    def build(n):
        node["mix"] = n("BsdfDiffuse", {"Color": RED})
        return node["mix"]
    paint(obj, build)
    animate(node["mix"].inputs["Color"], "default_value", {1: 0., 30: .9}, 1)
    driver = obj.driver_add("rotation_euler", 2).driver
    driver.expression = "frame * 0.05"
    other = diffuse(ball((0, 0, .6), .6), BLUE)
    driver = other.driver_add("location", 0).driver
    variable = driver.variables.new()
    variable.name, variable.targets[0].id, variable.targets[0].data_path = "turn", obj, "rotation_euler[2]"
    driver.expression = "2 * turn"
    animate(bpy.data.lights["Area"], "energy", {1: 100., 31: 1000.})
    scene.frame_set(17)


@scene()
def simplified():
    """Simplify's limits of subdivision and of child particles."""
    stage()
    scene = bpy.context.scene
    scene.render.use_simplify, scene.render.simplify_subdivision_render, scene.render.simplify_child_particles_render = True, 1, .25
    obj = cube((0, 0, 1), 1.8)
    obj.modifiers.new("S", "SUBSURF").render_levels = 4
    diffuse(obj, BLUE)
    settings = hairy(obj, 200, .4)
    settings.child_type, settings.rendered_child_count = "SIMPLE", 10


# --- motion ---------------------------------------------------------------------------------------------------

def blurred(shutter=.8):
    scene = bpy.context.scene
    scene.render.use_motion_blur, scene.render.motion_blur_shutter = True, shutter
    scene.frame_set(5)


@scene(samples=96)
def motion_of_objects():
    """Moved, turned and scaled over the shutter; an instance and a child among them."""
    stage()
    animate(diffuse(cube((-2, 0, 1), 1.2), RED), "rotation_euler", {1: 0, 9: 6}, 2)
    animate(diffuse(ball((0, 0, .6), .6), BLUE), "location", {1: -3, 9: 3}, 2)
    animate(kit.instance(collection("C", diffuse(cube((0, 0, .5), 1), GREEN)), (2, 0, 0)), "location", {1: -4., 9: 4}, 1)
    blurred()


@scene(samples=96)
def motion_of_meshes():
    """Shape keys and an armature over the shutter."""
    stage()
    obj = diffuse(ball((-1.5, 0, 1)), RED)
    obj.shape_key_add(name="Basis")
    key = obj.shape_key_add(name="Long")
    for point in key.data:
        point.co.z *= 2
    animate(key, "value", {1: 0., 9: 1.})
    moved = diffuse(monkey((1.5, 0, 1)), BLUE)
    cast = moved.modifiers.new("W", "SIMPLE_DEFORM")
    cast.deform_method, cast.deform_axis = "TWIST", "Z"
    animate(cast, "angle", {1: -1.5, 9: 1.5})
    blurred(1)


@scene(samples=96)
def motion_of_the_camera():
    """It moves and turns, with the shutter open from the frame on, and a lens that zooms."""
    stage()
    for at, colour in zip(row(3, 2.2), (RED, GREEN, BLUE)):
        diffuse(monkey(at), colour)
    camera = bpy.context.scene.camera
    animate(camera, "location", {1: -1., 9: 1.}, 0)
    animate(camera, "rotation_euler", {1: camera.rotation_euler.z - .1, 9: camera.rotation_euler.z + .1}, 2)
    settings = bpy.context.scene.render if hasattr(bpy.context.scene.render, "motion_blur_position") else bpy.context.scene.cycles
    settings.motion_blur_position = "START"
    blurred(1)


# --- images and attributes ------------------------------------------------------------------------------------

def textured(obj, image, **settings):
    return paint(obj, lambda n: n("BsdfDiffuse", {"Color": n.image(image, **settings)}))


@scene()
def packed_images():
    """Images inside the file: bytes, floats, data, and one that was painted and not saved."""
    stage(lens=34)
    half = kit.pattern()
    textured(cube(row(4)[0], 1.3), kit.picture("Bytes", half))
    textured(cube(row(4)[1], 1.3), kit.picture("Floats", half * (1.2, 1.2, 1.2, 1), kit.linear_space(), is_float=True))
    textured(cube(row(4)[2], 1.3), kit.picture("Data", half, "Non-Color"))
    painted = bpy.data.images.new("Painted", 32, 32)
    painted.generated_type = "COLOR_GRID"
    textured(cube(row(4)[3], 1.3), painted, interpolation="Closest")


@scene(warns={"all": "interpolation Cubic"})
def image_files():
    """Files beside the .blend: EXR, 16-bit PNG, JPEG, Targa, a frame of a sequence; extension modes."""
    stage(lens=34)
    outside = "MIRROR" if bpy.app.version >= (4, 0, 0) else "REPEAT"
    for k, (kind, end, settings) in enumerate((("OPEN_EXR", "exr", {"extension": outside}), ("JPEG", "jpg", {"extension": "CLIP"}),
                                               ("TARGA", "tga", {"extension": "EXTEND"}), ("PNG", "png", {"interpolation": "Cubic"}))):
        space = kit.linear_space() if end == "exr" else "sRGB"
        name = "frame_0001" if end == "png" else f"file {k}"
        image = kit.picture(name, kit.pattern(), space, kit.folder() / f"{name}.{end}", kind)
        obj = cube(row(4)[k], 1.3)
        obj.rotation_euler.z = .3
        paint(obj, lambda n: n("BsdfDiffuse", {"Color": n.image(image, **settings)}))
        for loop in obj.data.uv_layers[0].data:
            loop.uv = (loop.uv[0] * 3 - 1, loop.uv[1] * 3 - 1)


@scene(warns={"all": "there is no file 1012"})
def udim():
    """A set of tiles on disk, one of which is missing in a corner of the mesh."""
    stage((0, -5, 5), (0, 0, 0))
    for tile, turn in ((1001, 0), (1002, 1), (1011, 2)):
        kit.picture(str(tile), np.roll(kit.pattern(), 16 * turn, 2 % 2), path=kit.folder() / f"tiles.{tile}.png")
    image = bpy.data.images.load(str(kit.folder() / "tiles.1001.png"))
    image.source = "TILED"
    image.filepath = str(kit.folder() / "tiles.<UDIM>.png")
    for tile in (1002, 1011):
        if not image.tiles.get(tile):
            image.tiles.new(tile)
    obj = plane((0, 0, .1), 4)
    for loop in obj.data.uv_layers[0].data:
        loop.uv = (2 * loop.uv[0], 2 * loop.uv[1])
    textured(obj, image)


@scene()
def vertex_colours():
    """Colours by corner and by vertex, bytes and floats, and an attribute of faces."""
    stage()
    for at, domain, kind in zip(row(3, 2.2), ("CORNER", "POINT", "FACE"), ("BYTE_COLOR", "FLOAT_COLOR", "FLOAT_VECTOR")):
        obj = ball(at) if domain != "FACE" else cube(at, 1.5)
        layer = obj.data.attributes.new("Tint", kind, domain)
        for k, item in enumerate(layer.data):
            value = (.5 + .5 * math.sin(k * .37), (k % 7) / 7, .2)
            setattr(item, "vector" if kind == "FLOAT_VECTOR" else "color", value if kind == "FLOAT_VECTOR" else (*value, 1))
        node = ("Attribute", {"attribute_name": "Tint"}) if domain == "FACE" else ("VertexColor", {"layer_name": "Tint"})
        paint(obj, lambda n: n("BsdfDiffuse", {"Color": n.get(node[0], "Color", **node[1])}))


@scene()
def uv_maps():
    """Two UV maps in one material, and Mapping of each type."""
    stage((0, -6, 3.5))
    image = kit.picture("Squares", kit.pattern())
    obj = cube((0, 0, 1), 1.8)
    other = obj.data.uv_layers.new(name="Second")
    for k, loop in enumerate(other.data):
        loop.uv = ((k * .37) % 1, (k * .61) % 1)
    obj.data.uv_layers["UVMap"].active_render = True
    obj.rotation_euler.z = .5
    def build(n):
        def by(name, kind):
            return n.image_at(image, n("Mapping", {"Vector": n("UVMap", uv_map=name), "Location": (.2, .1, 0), "Rotation": (0, 0, .4),
                                                   "Scale": (1.5, 2, 1)} if kind == "POINT" else
                                       {"Vector": n("UVMap", uv_map=name), "Rotation": (0, 0, .4), "Scale": (1.5, 2, 1)}, vector_type=kind))
        mix = n("Mix", {"Factor": .5, "A": by("UVMap", "POINT"), "B": by("Second", "TEXTURE")}, data_type="RGBA")
        return n("BsdfDiffuse", {"Color": mix})
    paint(obj, build)


@scene()
def texture_coordinates():
    """Generated, Object of another object, Camera, Window, Reflection, Normal; box and sphere projection."""
    stage((0, -8, 4), lens=34)
    image = kit.picture("Squares", kit.pattern())
    empty = add("Empty", None, (0, 0, 1), (.3, .2, .5), (2, 1, 1))
    for k, output in enumerate(("Generated", "Object", "Camera", "Window", "Reflection", "Normal")):
        def build(n):
            node = n("TexCoord")
            if output == "Object":
                node.object = empty
            projection = {"Generated": "BOX", "Normal": "SPHERE", "Reflection": "TUBE"}.get(output, "FLAT")
            return n("BsdfDiffuse", {"Color": n.image_at(image, node.outputs[output], projection=projection)})
        paint(ball(((k % 3 - 1) * 2.3, (k // 3) * 2.2 - .8, .9), .9), build)


@scene(reason={"3.4": "Cycles 3 takes a bump's slope between pixels, SORT at the point: stripes as wide as a few pixels move by half of one"})
def bumps():
    """Bump, normal map in tangent and object space, displacement that bends normals."""
    stage(lens=34)
    y, x = np.mgrid[0:128, 0:256]
    x, y = (x + .5) / 256 * 2 * math.pi, (y + .5) / 128 * math.pi  # longitude, and latitude from below
    tilt, turn = .3 * np.sin(8 * x), .3 * np.cos(6 * y)
    tangent = kit.picture("Tangent", np.stack([.5 + tilt, .5 + turn, np.full_like(x, .9), np.ones_like(x)], -1), "Non-Color")
    own = np.stack([-np.sin(y + turn / 2) * np.cos(x + tilt / 2), -np.sin(y + turn / 2) * np.sin(x + tilt / 2), -np.cos(y + turn / 2)], -1)
    objects = kit.picture("Object", np.concatenate([.5 + own / 2, np.ones_like(own[..., :1])], -1), "Non-Color")
    waves = lambda n: n.get("TexWave", "Fac", {"Scale": 2.0, "Distortion": 2.0})  # noqa: E731
    for k, at in enumerate(row(4)):
        def build(n):
            if k == 0:
                return n("BsdfPrincipled", {"Base Color": RED, "Normal": n("Bump", {"Strength": .6, "Distance": .3, "Height": waves(n)})})
            if k == 3:
                return n("BsdfPrincipled", {"Base Color": WHITE}), n("Displacement", {"Height": waves(n), "Scale": .15})
            return n("BsdfPrincipled", {"Base Color": (GREEN, BLUE)[k - 1], "Roughness": .4, "Normal": n(
                "NormalMap", {"Strength": .8, "Color": n.image((tangent, objects)[k - 1])}, space=("TANGENT", "OBJECT")[k - 1])})
        paint(ball(at, .85), build)


@scene(reason={"all": "true displacement is not there yet: it bends normals only"}, warns={"all": "displacement moves no vertices"})
def true_displacement():
    """A known gap."""
    stage()
    obj = paint(ball(), lambda n: (n("BsdfDiffuse", {"Color": RED}), n("Displacement", {
        "Height": n.get("TexNoise", "Fac", {"Scale": 2.0}), "Scale": .8})))
    bpy.context.view_layer.objects.active = obj
    obj.modifiers.new("S", "SUBSURF").render_levels = 2
    own = obj.data.materials[0]
    (own if hasattr(own, "displacement_method") else own.cycles).displacement_method = "BOTH"


# --- materials ------------------------------------------------------------------------------------------------

@scene()
def procedural_textures():
    stage((0, -8, 4), lens=34)
    kinds = ("TexNoise", "TexVoronoi", "TexWave", "TexMagic", "TexChecker", "TexBrick")
    for k, kind in enumerate(kinds):
        paint(ball(((k % 3 - 1) * 2.3, (k // 3) * 2.2 - .8, .9), .9), lambda n: n("BsdfDiffuse", {
            "Color": n.get(kind, "Color", {"Scale": 3.0, "Vector": n.get("TexCoord", "Object")})}))


@scene()
def principled_metals():
    """Metal, coat, sheen, anisotropy."""
    stage(lens=34)
    for at, inputs in zip(row(4), ({"Metallic": 1.0, "Roughness": .25, "Base Color": (.9, .6, .2, 1)}, {"Clearcoat": 1.0, "Base Color": (*RED, 1)},
                                   {"Sheen": 1.0, "Roughness": 1.0, "Base Color": (*BLUE, 1)},
                                   {"Metallic": 1.0, "Roughness": .4, "Anisotropic": .8, "Base Color": (.8, .8, .8, 1)})):
        paint(ball(at, .85), lambda n: n("BsdfPrincipled", inputs))


@scene(samples=128, reason=dict.fromkeys(("4.5", "5.0"), BLURRED))
def glass():
    """Clear, rough and tinted; refraction; a glass with something in it. With the clamps that a new file has."""
    stage(lens=34)
    for k, at in enumerate(row(4)):
        paint(ball(at, .85), lambda n: (n("BsdfPrincipled", {"Transmission": 1.0, "Roughness": 0.0, "Base Color": WHITE}),
                                        n("BsdfPrincipled", {"Transmission": 1.0, "Roughness": .3, "Base Color": WHITE}),
                                        n("BsdfGlass", {"Color": (.9, .4, .3), "Roughness": 0.0}),
                                        n("BsdfRefraction", {"Color": GREEN, "IOR": 1.3, "Roughness": .1}))[k])
    diffuse(cube(row(4)[2], .5), BLUE)


@scene(samples=128)
def skin():
    """Subsurface scattering by the Principled BSDF and by its own node, at two scales."""
    stage()
    for k, at in enumerate(row(3, 2.2)):
        obj = monkey(at)
        if k == 2:
            paint(obj, lambda n: n("SubsurfaceScattering", {"Color": GREEN, "Scale": .3, "Radius": (1, .4, .2)}))
        else:
            is_new = bpy.app.version >= (4, 0, 0)
            scale = .1 * 3 ** k
            inputs = {"Base Color": (.8, .5, .4), "Subsurface": 1.0}
            inputs |= {"Subsurface Radius": (1, .3, .1), "Subsurface Scale": scale} if is_new else {
                "Subsurface Radius": (scale, .3 * scale, .1 * scale), "Subsurface Color": (.8, .5, .4)}
            paint(obj, lambda n: n("BsdfPrincipled", inputs))


@scene(least=(4, 2), reason={"all": BLURRED})
def thin_film():
    stage(lens=34)
    for at, inputs in zip(row(4), ({"Transmission": 1.0, "Roughness": .1}, {"Roughness": .2, "Base Color": (.02, .02, .02, 1)},
                                   {"Roughness": .3, "Base Color": (*RED, 1)}, {"Transmission": 1.0, "Roughness": 0.0})):
        paint(ball(at, .85), lambda n: n("BsdfPrincipled", inputs | {"Thin Film Thickness": 400.0, "Thin Film IOR": 1.5}))


@scene()
def old_lobes():
    """Velvet or sheen, toon, translucent, glossy of each distribution."""
    stage((0, -8, 4), lens=34)
    sheen = "BsdfSheen" if hasattr(bpy.types, "ShaderNodeBsdfSheen") else "BsdfVelvet"
    lobes = ((sheen, {"Color": RED}, {}), ("BsdfToon", {"Color": GREEN, "Size": .6, "Smooth": .2}, {}), ("BsdfTranslucent", {"Color": BLUE}, {}),
             ("BsdfGlossy", {"Roughness": .3}, {"distribution": "BECKMANN"}), ("BsdfGlossy", {"Roughness": .5}, {"distribution": "MULTI_GGX"}),
             ("BsdfDiffuse", {"Color": WHITE, "Roughness": 1.0}, {}))
    for k, (kind, inputs, settings) in enumerate(lobes):
        paint(ball(((k % 3 - 1) * 2.3, (k // 3) * 2.2 - .8, .9), .9), lambda n: n(kind, inputs, **settings))


@scene()
def alpha():
    """Cut out by an image's alpha, see-through, and a shadow through both."""
    stage((0, -6, 4))
    pixels = kit.pattern()
    pixels[..., 3] = (np.hypot(*(np.mgrid[0:64, 0:64] - 31.5)) < 26) * .9
    image = kit.picture("Leaf", pixels)
    for k, at in enumerate(row(3, 2.2)):
        obj = plane(at, 1.9, rotation=(1.2, 0, .2))
        def build(n):
            node = n("TexImage", image=image)
            if k == 0:
                return n("BsdfPrincipled", {"Base Color": node.outputs["Color"], "Alpha": node.outputs["Alpha"]})
            if k == 1:
                return n("MixShader", {0: .6, 1: n("BsdfTransparent", {"Color": (1, .8, .3)}), 2: n("BsdfDiffuse", {"Color": BLUE})})
            return n("AddShader", {0: n("BsdfTransparent", {"Color": GREEN}), 1: n("Emission", {"Strength": .1})})
        paint(obj, build)


@scene()
def node_groups():
    """A group in a group with inputs of its own, used by three materials; muted nodes and reroutes; curves and ramps."""
    stage()
    inner, start, end = kit.group("ShaderNodeTree", "Tone", {"Colour": "NodeSocketColor", "Amount": "NodeSocketFloat"}, {"Colour": "NodeSocketColor"})
    n = kit.Nodes(inner)
    hue = n("HueSaturation", {"Color": start.outputs[0], "Value": start.outputs[1]})
    inner.links.new(n("RGBCurve", {"Color": hue}).outputs[0], end.inputs[0])
    outer, start, end = kit.group("ShaderNodeTree", "Surface", {"Colour": "NodeSocketColor"}, {"Surface": "NodeSocketShader"})
    n = kit.Nodes(outer)
    tone = n("Group", node_tree=inner)
    outer.links.new(start.outputs[0], tone.inputs[0])
    tone.inputs[1].default_value = .8
    muted = n("Invert", {"Color": tone.outputs[0]})
    muted.mute = True
    stop = outer.nodes.new("NodeReroute")
    outer.links.new(muted.outputs[0], stop.inputs[0])
    outer.links.new(n("BsdfDiffuse", {"Color": stop.outputs[0]}).outputs[0], end.inputs[0])
    for at, colour in zip(row(3, 2.2), (RED, GREEN, BLUE)):
        def build(n):
            used = n("Group", node_tree=outer)
            used.inputs[0].default_value = (*colour, 1)
            return used
        paint(ball(at), build)


@scene(samples=128)
def nodes_that_ask():
    """Ambient Occlusion, Bevel, Wireframe, Geometry's pointiness and back face, Light Path, Layer Weight."""
    stage((0, -8, 4), lens=34)
    for k in range(6):
        def build(n):
            grey = {0: lambda: n.get("AmbientOcclusion", "Color", {"Distance": 1.0}), 2: lambda: n.get("Wireframe", "Fac", {"Size": .05}),
                    3: lambda: n("ValToRGB", {"Fac": n.get("NewGeometry", "Pointiness")}),
                    4: lambda: n.get("LightPath", "Is Camera Ray"), 5: lambda: n.get("LayerWeight", "Facing")}
            if k == 1:
                return n("BsdfGlossy", {"Roughness": .2, "Normal": n("Bevel", {"Radius": .2})})
            return n("BsdfDiffuse", {"Color": grey[k]()})
        at = ((k % 3 - 1) * 2.3, (k // 3) * 2.2 - .8, .8)
        paint(monkey(at) if k in (3, 5) else cube(at, 1.4), build)


# --- light ----------------------------------------------------------------------------------------------------

@scene(samples=96)
def lamps():
    """Point, sun, spot, and areas of each shape; soft, blended, coloured, with spread."""
    stage((0, -9, 6), light=None, sky=.02)
    lamp("POINT", (-3, -1, 1), (0, 0, 0), 40, shadow_soft_size=.3, color=(1, .6, .3))
    lamp("SUN", (0, 0, 5), (-1, -1, 0), .4, angle=.1)
    lamp("SPOT", (0, -1, 4), (0, 0, 0), 400, spot_size=.8, spot_blend=.4, shadow_soft_size=.1)
    for k, shape in enumerate(("SQUARE", "RECTANGLE", "DISK", "ELLIPSE")):
        lamp("AREA", (1.3 * k - 1, 3, 1.5), (1.3 * k - 1, 1, 0), 20, shape=shape, size=.6, size_y=.3, spread=math.pi if k % 2 else 1.2)
    for at in row(4):
        diffuse(cube((at[0], 0, .4), .6), WHITE)


IES = "IESNA:LM-63-1995\nTILT=NONE\n1 1000 1 5 1 1 2 0 0 0\n1 1 50\n0 30 60 75 90\n0\n1000 400 900 100 0\n"


@scene(samples=256, reason={"4.5": "Cycles 4.5 does not close the circle of a symmetric IES file: up to 12.5 % too bright, by the direction around the lamp",
                            "5.0": "Clamp Indirect cuts more of the light in the shadow under a ball in Cycles, whose samples are noisier there; without it they are equal"})
def photometric_lamps():
    """An IES file inside the .blend, and a lamp whose nodes colour it by a black body."""
    stage((0, -8, 5), light=None, sky=.02)
    text = bpy.data.texts.new("Lamp.ies")
    text.write(IES)
    for x, build in ((-1.5, lambda n: n("Emission", {"Strength": n.get("TexIES", "Fac", {"Strength": 1.0}, mode="INTERNAL", ies=text)})),
                     (1.5, lambda n: n("Emission", {"Color": n.get("Blackbody", "Color", {"Temperature": 3000.0}), "Strength": 1.0}))):
        light = lamp("POINT", (x, 0, 2), (x, 0, 0), 300, shadow_soft_size=.05).data
        light.use_nodes = True
        light.node_tree.nodes.clear()
        n = kit.Nodes(light.node_tree)
        n("OutputLight", {"Surface": build(n)})
        diffuse(ball((x, 0, .4), .4), WHITE)


@scene(samples=96)
def many_lamps():
    """Eighty of them."""
    stage((0, -9, 6), light=None, sky=0)
    for k in range(80):
        lamp("POINT", (k % 10 - 4.5, k // 10 - 3, .5 + k % 3 * .3), (0, 0, 0), 3, shadow_soft_size=.05, color=(1, (k % 5) / 5, (k % 7) / 7))
    for at in row(4):
        diffuse(monkey((at[0], 0, .7)), WHITE)


@scene(samples=96)
def mesh_lights():
    """Emission of meshes: even, by an image, of one face among others; a neon tube of a curve."""
    stage(light=None, sky=.02)
    screen = kit.picture("Screen", kit.pattern())
    paint(plane((0, 2.5, 1.6), 3, rotation=(1.4, 0, 0)), lambda n: n("Emission", {"Color": n.image(screen), "Strength": 4.0}))
    tube = kit.made(bpy.ops.curve.primitive_bezier_circle_add, radius=.8, location=(-2.5, 0, 1), rotation=(1.2, 0, .4))
    tube.data.bevel_depth = .06
    paint(tube, lambda n: n("Emission", {"Color": (1, .2, .3), "Strength": 8.0}))
    diffuse(monkey((0, 0, 1)), WHITE)
    principled(ball((2.2, 0, .8), .8), Base_Color=(*GREY, 1), Roughness=.2)


@scene()
def sky_texture():
    """The sky that a new Sky Texture is, as the world."""
    stage(light=None, sky=None)
    sky = kit.world(lambda n: n("Background", {"Color": n("TexSky"), "Strength": .3}))
    node = next(node for node in sky.node_tree.nodes if node.type == "TEX_SKY")
    node.sky_type = "NISHITA" if bpy.app.version < (5, 0, 0) else "SINGLE_SCATTERING"
    node.sun_elevation, node.sun_rotation, node.sun_size = .5, 2.0, .05
    diffuse(monkey((-1, 0, 1)), WHITE)
    principled(ball((1.5, 0, 1)), Metallic=1.0, Roughness=.1)


@scene(samples=96)
def sky_image():
    """A high-range picture around the scene, turned; the camera sees another colour."""
    stage(light=None, sky=None)
    y, x = np.mgrid[0:64, 0:128]
    pixels = np.ones((64, 128, 4), np.float32)
    pixels[..., :3] = .2 + .4 * (y / 64)[..., None] * np.array((.5, .7, 1))
    pixels[(np.hypot(y - 44, x - 30) < 3)] = (120, 100, 80, 1)
    image = kit.picture("Sky", pixels, kit.linear_space(), kit.folder() / "sky.hdr", "HDR", is_float=True)
    kit.world(lambda n: n("MixShader", {0: n.get("LightPath", "Is Camera Ray"), 1: n("Background", {"Color": n(
        "TexEnvironment", {"Vector": n("Mapping", {"Vector": n.get("TexCoord", "Generated"), "Rotation": (0, 0, 1)})}, image=image)}),
        2: n("Background", {"Color": (.1, .2, .1)})}))
    diffuse(monkey((-1, 0, 1)), WHITE)
    principled(ball((1.5, 0, 1)), Metallic=1.0, Roughness=.1)


@scene(samples=128)
def room_with_portal():
    """A room whose window has a portal lamp."""
    stage((0, -1.9, 1), (0, 1, 1), lens=22, light=None, sky=1.0, ground=None)
    box = diffuse(cube((0, 0, 1), 4), WHITE)
    box.scale.z = .5
    box.modifiers.new("S", "SOLIDIFY").thickness = .1
    hole = cube((2, .8, 1), .9)
    hole.hide_render = True
    box.modifiers.new("B", "BOOLEAN").object = hole
    portal = lamp("AREA", (2.05, .8, 1), (0, .8, 1), 1, shape="SQUARE", size=1)
    portal.data.cycles.is_portal = True
    diffuse(monkey((-.5, 1, .7)), RED).scale = (.5, .5, .5)


@scene(least=(4, 0))
def light_linking():
    """A lamp that lights one object, and one whose shadow another does not cast."""
    stage(light=200)
    first, second, third = (diffuse(monkey(at), WHITE) for at in row(3, 2.4))
    for x, colour, role, obj in ((-3, (1, .2, .1), "receiver", first), (3, (.1, .3, 1), "blocker", second)):
        light = lamp("AREA", (x, -3, 3), (0, 0, 1), 300, size=.5, color=colour)
        linked = bpy.data.collections.new(role)
        linked.objects.link(obj)
        setattr(light.light_linking, f"{role}_collection", linked)


@scene()
def ray_visibility():
    """Objects that the camera, shadows, mirrors or diffuse rays do not see; a lamp that mirrors do not."""
    stage()
    for at, flag, colour in zip(row(4, 1.7), ("camera", "shadow", "glossy", "diffuse"), (RED, GREEN, BLUE, WHITE)):
        setattr(diffuse(ball(at, .7), colour), f"visible_{flag}", False)
    paint(plane((0, 2.5, 1), 7, rotation=(1.4, 0, 0)), lambda n: n("BsdfGlossy", {"Roughness": .05}))
    bpy.data.objects["Area"].visible_glossy = False


@scene(reason={"all": "volumes are not there yet"}, warns={"all": "Volume is not supported"})
def fog():
    """A known gap."""
    stage()
    tree = bpy.context.scene.world.node_tree
    n = kit.Nodes(tree)
    out = next(node for node in tree.nodes if node.type == "OUTPUT_WORLD")
    tree.links.new(n("VolumeScatter", {"Density": .05}).outputs[0], out.inputs["Volume"])
    diffuse(monkey(), RED)


@scene(reason={"all": "volumes are not there yet"}, warns={"all": "Volume is not supported"})
def smoke():
    """A known gap: a volume in an object."""
    stage()
    obj = cube()
    made = kit.material("Smoke", lambda n: n("BsdfTransparent"))
    n = kit.Nodes(made.node_tree)
    out = next(node for node in made.node_tree.nodes if node.type == "OUTPUT_MATERIAL")
    for link in list(made.node_tree.links):
        made.node_tree.links.remove(link)
    made.node_tree.links.new(n("VolumePrincipled", {"Density": 1.0}).outputs[0], out.inputs["Volume"])
    obj.data.materials.append(made)
    diffuse(ball((0, 2, 1)), RED)


# --- cameras --------------------------------------------------------------------------------------------------

def three_balls():
    for at, colour in zip(((-2, -1, .8), (0, 1, .8), (2, 3, .8)), (RED, GREEN, BLUE)):
        diffuse(monkey(at), colour)


@scene(samples=128)
def depth_of_field():
    """Focused on an object, with five blades, turned and squeezed."""
    camera = stage()
    three_balls()
    camera.dof.use_dof, camera.dof.focus_object, camera.dof.aperture_fstop = True, bpy.data.objects["Suzanne.001"], .15
    camera.dof.aperture_blades, camera.dof.aperture_rotation, camera.dof.aperture_ratio = 5, .4, 1.5


@scene()
def orthographic():
    camera = stage()
    three_balls()
    camera.type, camera.ortho_scale, camera.shift_x = "ORTHO", 8, .1


@scene()
def shift_and_border():
    """Shift, a border without crop, clipping, pixels that are not square."""
    camera = stage()
    three_balls()
    camera.shift_x, camera.shift_y, camera.sensor_fit, camera.clip_start = .15, -.1, "VERTICAL", 6.5
    render = bpy.context.scene.render
    render.use_border, render.border_min_x, render.border_max_x, render.border_min_y, render.border_max_y = True, .2, .8, .1, .9
    render.pixel_aspect_x = 1.5


def panorama(kind):
    camera = stage((0, -2.5, 1.5), (0, 0, 1))
    three_balls()
    camera.type = "PANO"
    settings = camera if hasattr(camera, "panorama_type") else camera.cycles
    settings.panorama_type = kind
    return settings


@scene()
def equirectangular():
    panorama("EQUIRECTANGULAR").longitude_min = -2


@scene(reason={"all": "outside of the circle alpha is 0, in Cycles 1"})
def fisheye():
    panorama("FISHEYE_EQUISOLID").fisheye_lens = 8


@scene()
def camera_by_marker():
    """A second camera, bound to a marker."""
    stage()
    three_balls()
    data = bpy.data.cameras.new("Second")
    data.lens = 30
    scene = bpy.context.scene
    scene.timeline_markers.new("cut", frame=3).camera = kit.look(add("Second", data, (5, -4, 4)), (0, 1, 0))
    scene.frame_set(4)


# --- layers and pictures --------------------------------------------------------------------------------------

@scene(layers=("Front.Combined", "Back.Combined"))
def view_layers():
    """Collections left out, held out and only indirect, by view layer; a material for all in one."""
    stage()
    for name, at, colour in (("Near", (-1, -1, 1), RED), ("Far", (1, 1.5, 1), BLUE)):
        collection(name, diffuse(monkey(at), colour), is_shown=True)
    glow = collection("Glow", diffuse(cube((0, 0, 2.8), .8), WHITE), is_shown=True)
    paint(glow.objects[0], lambda n: n("Emission", {"Color": (1, .7, .2), "Strength": 5.0}))
    front = bpy.context.view_layer
    front.name = "Front"
    back = bpy.context.scene.view_layers.new("Back")
    front.layer_collection.children["Far"].exclude = True
    back.layer_collection.children["Near"].holdout = True
    back.layer_collection.children["Glow"].indirect_only = True


@scene(layers=("ViewLayer.AO", "ViewLayer.Depth", "ViewLayer.Mist", "ViewLayer.Normal", "ViewLayer.DiffDir", "ViewLayer.DiffInd", "ViewLayer.DiffCol",
               "ViewLayer.GlossDir", "ViewLayer.GlossInd", "ViewLayer.GlossCol", "ViewLayer.TransDir", "ViewLayer.TransInd", "ViewLayer.Emit",
               "ViewLayer.Env"), samples=256, reason=PASSES)
def passes():
    """Data and light passes of diffuse, glossy and transmissive things."""
    stage()
    layer = bpy.context.view_layer
    for name in ("ambient_occlusion", "z", "mist", "normal", "diffuse_direct", "diffuse_indirect", "diffuse_color", "glossy_direct", "glossy_indirect",
                 "glossy_color", "transmission_direct", "transmission_indirect", "emit", "environment"):
        if hasattr(layer, f"use_pass_{name}"):
            setattr(layer, f"use_pass_{name}", True)
    diffuse(monkey((-2.2, 0, 1)), RED)
    principled(ball((0, 0, 1)), Roughness=.3, Base_Color=(*BLUE, 1))
    paint(ball((2.2, 0, 1)), lambda n: n("BsdfGlass", {"Roughness": .1}))


@scene(layers=("Composite.Combined",))
def compositing():
    """Gamma, blur and mixes of the picture with its own passes, in the compositor."""
    stage()
    bpy.context.view_layer.use_pass_mist = bpy.context.view_layer.use_pass_normal = True
    for at, colour in zip(row(3, 2.2), (RED, GREEN, BLUE)):
        diffuse(monkey(at), colour)

    def build(n, layers):
        normal = kit.mixed(n, layers.outputs["Image"], layers.outputs["Normal"], .2, "ADD")
        return kit.mixed(n, normal, (.6, .7, .9, 1), layers.outputs["Mist"])
    kit.composite(build)


@scene(layers=("Composite.Combined",))
def cryptomatte():
    """Objects cut out by Cryptomatte, with soft edges of motion blur."""
    stage()
    bpy.context.view_layer.use_pass_cryptomatte_object = True
    for at, colour in zip(row(3, 2.2), (RED, GREEN, BLUE)):
        diffuse(monkey(at), colour)
    animate(bpy.data.objects["Suzanne.001"], "location", {1: -2., 9: 4.}, 2)
    blurred()
    kit.composite(lambda n, layers: n("CryptomatteV2", {"Image": layers.outputs["Image"]}, scene=bpy.context.scene, matte_id="Suzanne,Suzanne.001"))


@scene(layers=("ViewLayer.Combined_Key", "ViewLayer.Combined_Sky", "ViewLayer.Tone"))
def light_groups_and_aovs():
    stage()
    layer = bpy.context.view_layer
    for name, thing in (("Key", bpy.data.objects["Area"]), ("Sky", bpy.context.scene.world)):
        bpy.ops.scene.view_layer_add_lightgroup(name=name)
        thing.lightgroup = name
    bpy.ops.scene.view_layer_add_aov()
    layer.aovs[-1].name = "Tone"

    def build(n):
        out = n("OutputAOV", {"Color": n.get("TexNoise", "Color")})
        setattr(out, "aov_name" if hasattr(out, "aov_name") else "name", "Tone")
        return n("BsdfDiffuse", {"Color": RED})
    paint(monkey(), build)


@scene()
def shadow_catcher():
    """A catcher under things on a transparent film, one of them a holdout."""
    stage()
    bpy.context.scene.render.film_transparent = True
    bpy.data.objects["Ground"].is_shadow_catcher = True
    diffuse(monkey((-1.3, 0, 1)), RED)
    diffuse(ball((1.5, 0, 1)), BLUE)
    cut = ball((.3, -2, .5), .5)
    cut.is_holdout = True
    paint(cube((1.5, -1.5, .4), .8), lambda n: n("Holdout"))


@scene(samples=96)
def transparent_film():
    """Through glass, too; film exposure."""
    stage(ground=None)
    scene = bpy.context.scene
    scene.render.film_transparent, scene.cycles.film_transparent_glass, scene.cycles.film_exposure = True, False, 1.5
    paint(ball((-1.2, 0, 1)), lambda n: n("BsdfGlass", {"Roughness": 0.0}))
    paint(ball((1.2, 0, 1)), lambda n: n("BsdfPrincipled", {"Alpha": .5, "Base Color": GREEN}))


@scene(is_display=True)
def colour_management():
    """View transform, look, exposure and gamma, in the PNG that an artist sees."""
    stage()
    settings = bpy.context.scene.view_settings
    settings.view_transform, settings.exposure, settings.gamma = "Filmic", .7, 1.1
    for at, colour in zip(row(3, 2.2), (RED, GREEN, BLUE)):
        diffuse(monkey(at), colour)
    bpy.context.scene.render.image_settings.file_format = "PNG"


@scene()
def background_set():
    """A second scene behind the first one, of another file's kind."""
    stage()
    diffuse(monkey(), RED)
    behind = bpy.data.scenes.new("Behind")
    for at in ((-2.5, 1, .8), (2.5, 1, .8)):
        obj = diffuse(ball(at, .8), BLUE)
        collection("Out", obj)
        behind.collection.objects.link(obj)
    bpy.context.scene.background_set = behind


@scene(samples=96)
def stereo():
    """Two views side by side."""
    stage()
    three_balls()
    scene = bpy.context.scene
    scene.render.use_multiview = True
    scene.camera.data.stereo.interocular_distance = .4


@scene(samples=96)
def default_scene():
    """What a new file is: a cube without more, a point lamp, a grey world."""
    camera = stage((7.36, -6.93, 4.96), (0, 0, 0), lens=50, light=None, sky=None, ground=None)
    camera.clip_end = 100
    principled(cube((0, 0, 0)))
    lamp("POINT", (4.08, 1, 5.9), (0, 0, 0), 1000, shadow_soft_size=.1)
    kit.world(lambda n: n("Background", {"Color": (.05, .05, .05)}))
    cube((-3, 2, 0), 1)  # without a material
