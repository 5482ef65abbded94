"""Five scenes as large as those of productions, for production_files.py: each is heavy in one way. As in feature_scenes.py, a function
builds its scene in an empty file, whose folder is kit.folder()."""

import math
import random

import bpy
import numpy as np

import feature_kit as kit
from feature_kit import add, ball, diffuse, lamp, paint, stage

SCENES = {}
SIDE = 1000  # quads along an edge of the terrain: two million triangles
OBJECTS, GRAPHS, IMAGES, STRANDS = 1000, 100, 40, 20000


def scene(build):
    SCENES[build.__name__] = build
    return build


def day():
    lamp("SUN", (0, 0, 10), (4, 3, 0), 3, angle=.02)
    kit.world(lambda n: n("Background", {"Color": (.4, .55, .8)}))


@scene
def terrain():
    """Two million triangles."""
    stage((0, -9, 4), (0, 0, 0), light=None, sky=None, ground=None)
    day()
    y, x = np.mgrid[0:SIDE + 1, 0:SIDE + 1] / SIDE * 16 - 8
    z = sum(np.sin(x * 2 ** k + 1.3 * k) * np.cos(y * 2 ** k - .7 * k) / 2 ** k for k in range(8)) / 2
    first = (np.arange(SIDE)[:, None] * (SIDE + 1) + np.arange(SIDE)).ravel()
    corners = np.stack([first, first + 1, first + SIDE + 2, first + SIDE + 1], -1).astype(np.int32)
    mesh = bpy.data.meshes.new("Terrain")
    mesh.vertices.add(x.size)
    mesh.vertices.foreach_set("co", np.stack([x, y, z], -1).astype(np.float32).ravel())
    mesh.loops.add(corners.size)
    mesh.loops.foreach_set("vertex_index", corners.ravel())
    mesh.polygons.add(len(corners))
    mesh.polygons.foreach_set("loop_start", np.arange(0, corners.size, 4, dtype=np.int32))
    if bpy.app.version < (4, 0, 0):
        mesh.polygons.foreach_set("loop_total", np.full(len(corners), 4, np.int32))
    mesh.update()
    mesh.validate()
    paint(add("Terrain", mesh), lambda n: n("BsdfPrincipled", {"Roughness": .7, "Base Color": n("ValToRGB", {
        "Fac": n.get("TexNoise", "Fac", {"Vector": n.get("TexCoord", "Object"), "Scale": 3.0})})}))


@scene
def thousand_objects():
    """Each has a mesh of its own of 968 triangles, and one of 20 materials."""
    stage((0, -30, 16), (0, 0, 0), light=None, sky=None)
    day()
    numbers = random.Random(1)
    wear = [kit.material(f"Paint {k}", lambda n: n("BsdfPrincipled", {"Base Color": [numbers.uniform(.1, .9) for _ in "rgb"], "Roughness": numbers.uniform(.1, .9),
                                                                     "Metallic": float(k % 3 == 0)})) for k in range(20)]
    first = ball((0, 0, 0), .5).data
    bpy.data.objects.remove(bpy.data.objects["Sphere"])
    places = np.empty(3 * len(first.vertices), np.float32)
    first.vertices.foreach_get("co", places)
    for k in range(OBJECTS):
        mesh = first.copy()
        mesh.vertices.foreach_set("co", places * (1 + .2 * np.sin(places * (3 + k % 7) + k)))
        mesh.materials.append(wear[k % 20])
        add(f"Thing {k}", mesh, ((k % 40 - 20) * 1.1, (k // 40 - 8) * 1.3, .6), (0, 0, k))


@scene
def hundred_graphs():
    """As many materials of a dozen nodes, no two of which have the same nodes and links."""
    stage((0, -16, 9), (0, 0, 0), light=None, sky=None)
    day()
    numbers = random.Random(2)

    def build(n):
        made = [n.get("TexCoord", numbers.choice(("Object", "Generated", "UV")))]
        colours = [n(kind, {"Vector": n("Mapping", {"Vector": made[0], "Scale": [numbers.uniform(1, 4) for _ in "xyz"]}), "Scale": numbers.uniform(1, 8)})
                   for kind in numbers.sample(("TexNoise", "TexVoronoi", "TexWave", "TexMagic", "TexChecker", "TexBrick"), 3)]
        mix = [kit.named(colour.outputs, "Color") for colour in colours]
        while len(mix) > 1:
            a, b = mix.pop(), mix.pop(numbers.randrange(len(mix)))
            mixed = n("Mix", {"Factor": numbers.random(), "A": a, "B": b}, data_type="RGBA", blend_type=numbers.choice(("MIX", "MULTIPLY", "SCREEN", "ADD")))
            mix.append(n("HueSaturation", {"Hue": numbers.random(), "Value": .8, "Color": kit.named(mixed.outputs, "Result")}).outputs[0])
        rough = n("MapRange", {"Value": n("RGBToBW", {"Color": mix[0]}), "To Min": .2, "To Max": .8})
        bump = n("Bump", {"Height": n("Math", {0: rough, 1: numbers.random()}, operation=numbers.choice(("ADD", "MULTIPLY", "POWER", "SINE"))), "Strength": .3,
                          "Distance": .05})
        return n("BsdfPrincipled", {"Base Color": mix[0], "Roughness": rough, "Normal": bump, "Metallic": float(numbers.random() < .3)})
    for k in range(GRAPHS):
        paint(ball(((k % 10 - 4.5) * 1.3, (k // 10 - 4.5) * 1.3, .6), .6), build)


@scene
def fur():
    """A hundred thousand strands."""
    stage(light=None, sky=None)
    day()
    lamp("AREA", (4, -3, 5), (0, 0, .5), 300, size=1.5)
    obj = kit.smooth(ball((0, 0, 1.2), 1.2))
    obj.data.materials.append(kit.material("Skin", lambda n: n("BsdfDiffuse", {"Color": (.3, .15, .1)})))
    obj.data.materials.append(kit.material("Fur", lambda n: n("BsdfHairPrincipled", {"Color": (.35, .2, .1)})))
    obj.modifiers.new("Fur", "PARTICLE_SYSTEM")
    settings = obj.particle_systems[0].settings
    settings.type, settings.count, settings.hair_length, settings.render_step, settings.material = "HAIR", STRANDS, .35, 3, 2
    settings.root_radius, settings.tip_radius, settings.radius_scale = 1.0, .1, .008
    settings.child_type, settings.rendered_child_count, settings.roughness_1 = "SIMPLE", 5, .02


@scene
def textures():
    """Forty pictures of 1024 x 1024 pixels beside the file, of colour, roughness and normals."""
    stage((0, -12, 6), (0, 0, 0), light=None, sky=None)
    day()
    y, x = np.mgrid[0:1024, 0:1024] / 1024 * 2 * math.pi
    for k in range(IMAGES // 2):
        grain = np.random.default_rng(k).random((1024, 1024))
        colour = np.stack([.5 + .3 * np.sin(x * (k % 5 + 1) + c) * np.cos(y * (k % 3 + 1)) + .1 * grain for c in range(3)] + [np.ones_like(x)], -1)
        bent = np.stack([.5 + .2 * np.sin(8 * x), .5 + .2 * np.cos(8 * y), np.full_like(x, .95), np.ones_like(x)], -1)
        pictures = [kit.picture(f"{name} {k}", pixels, space, kit.folder() / f"{name}_{k}.png") for name, pixels, space in (
            ("colour", colour, "sRGB"), ("normal", bent, "Non-Color"))]
        obj = ball(((k % 5 - 2) * 2.1, (k // 5 - 1.5) * 2.1, .9), .9)
        paint(obj, lambda n: n("BsdfPrincipled", {"Base Color": n.image(pictures[0]), "Roughness": n("RGBToBW", {"Color": n.image(pictures[0])}),
                                                  "Normal": n("NormalMap", {"Color": n.image(pictures[1])})}))
