"""Writes ssl/stdlib/bsdf/microfiber_tables.ssl: what Cycles' Sheen BSDF, distribution MICROFIBER, is made of [Zeltner2022], by its
pictures:
  tests/blender/run_blender.py --version 4.5 --build build/release tests/blender/make_sheen_tables.py

The lobe is a linearly transformed cosine, R wi.z / pi (a / q)^2 with q = (a x + b z)^2 + (a y)^2 + z^2, x toward the viewer.
Under a white sky its picture is R, and under a sun, which has one direction, the lobe itself; sqrt(R z / (pi picture)) is
q / a = a (x^2 + y^2) + 2 b x z + c z^2, linear in a, b and c = (b^2 + 1) / a, which the pictures of several suns determine."""

import math
import os
import pathlib

import numpy as np
from mathutils import Vector

import blender_scene as kit

FILE = pathlib.Path(__file__).parents[2] / "ssl" / "stdlib" / "bsdf" / "microfiber_tables.ssl"
NODES = 32  # Cycles', of the cosine and of the roughness
GRAZING = 0.004  # a cosine that stands for 0
SUNS = np.array([(0, 0, 1), (0, 0.5, 1), (0, -0.5, 1), (0, 1, 0.6), (0, -1, 0.6), (0.6, 0, 1), (0, -1, 0.1), (0, -1, -0.3)])
DARK = 2e-4  # R below which a and b are not seen


def cosines():
    return np.maximum(np.arange(NODES) / (NODES - 1), GRAZING)


def node(beside, kind, operation, value, feed):
    made = kit.new_node(beside, kind)
    made.operation = operation
    made.inputs[1].default_value = value
    kit.link(feed, made.inputs[0])
    return made.outputs[0]


def strips():
    """A row for each cosine: a plane that is turned about x, as high as a row is; in a column its roughness is constant."""
    scene = kit.empty_scene(samples=4)
    scene.render.resolution_x = scene.render.resolution_y = 4 * NODES
    scene.cycles.pixel_filter_type, scene.cycles.filter_width, scene.cycles.max_bounces = "GAUSSIAN", 0.01, 1
    for row, cosine in enumerate(cosines()):
        plane = kit.add_plane(f"Row {row:02}", 1, location=(0, row + 0.5 - NODES / 2, 0), rotation=(math.acos(cosine), 0, 0))
        plane.scale = (NODES, 0.9 / cosine, 1)
        plane.visible_shadow = plane.visible_diffuse = False
        sheen = kit.material_of(plane, "ShaderNodeBsdfSheen", Color=(1, 1, 1, 1))
        split = kit.new_node(sheen, "ShaderNodeSeparateXYZ")
        kit.link(kit.new_node(sheen, "ShaderNodeTexCoord").outputs["UV"], split.inputs[0])
        column = node(sheen, "ShaderNodeMath", "MULTIPLY", NODES, split.outputs[0])
        whole = node(sheen, "ShaderNodeMath", "FLOOR", 0, column)
        kit.link(node(sheen, "ShaderNodeMath", "DIVIDE", NODES - 1, whole), sheen.inputs["Roughness"])
    camera = kit.add_camera((0, 0, 300)).data
    camera.type, camera.ortho_scale, camera.clip_end = "ORTHO", NODES, 1000


def render():
    pixels = kit.render("CYCLES")[:, :, 0].astype(float)
    return pixels.reshape(NODES, 4, NODES, 4)[:, 1:3, :, 1:3].mean(axis=(1, 3))


def under_a_sky():
    strips()
    kit.set_world((1, 1, 1)).cycles.sampling_method = "NONE"
    return render()


def under_a_sun(toward):
    strips()
    kit.set_world((0, 0, 0))
    sun = kit.add("Sun", kit.bpy.data.lights.new("Sun", "SUN"), (0, 0, 5), Vector(toward).to_track_quat("Z", "Y").to_euler())
    sun.data.energy, sun.data.angle, sun.data.use_shadow = 1, 0, False
    return render()


def transform(albedo, pictures):
    """Returns a and b of each node, nan where it is too dark."""
    found = np.full((2, NODES, NODES), np.nan)
    suns = SUNS / np.linalg.norm(SUNS, axis=1)[:, None]
    for row, cosine in enumerate(cosines()):
        sine = math.sqrt(1 - cosine ** 2)
        x, y, z = suns @ (0, cosine, sine), suns[:, 0], suns @ (0, -sine, cosine)
        for column in np.flatnonzero(albedo[row] > DARK):
            bright = pictures[:, row, column]
            used = (z > 0.02) & (bright > 1e-6 * bright.max())
            root = np.sqrt(albedo[row, column] * z[used] / (math.pi * bright[used]))
            terms = np.stack([x ** 2 + y ** 2, 2 * x * z, z ** 2], axis=1)[used]
            (a, b, _), *_ = np.linalg.lstsq(terms / root[:, None], np.ones(len(root)), rcond=None)
            found[:, row, column] = a, b
    return found


def filled(values):
    """Where nothing was seen stands the next value of a greater roughness."""
    for row in range(NODES):
        for column in reversed(range(NODES - 1)):
            if np.isnan(values[row, column]):
                values[row, column] = values[row, column + 1]
    return values


def at_zero(values):
    """The first row, by the rows that stand for GRAZING and for the second node."""
    part = GRAZING * (NODES - 1)
    values[0] = (values[0] - part * values[1]) / (1 - part)
    return values


def text(name, values):
    numbers = [f"{x:.6f}," for x in values.T.ravel()]
    lines = ["    " + " ".join(numbers[k:k + 12]) for k in range(0, len(numbers), 12)]
    return f"const float {name}[{len(numbers)}] = {{\n" + "\n".join(lines) + "\n};\n"


def main():
    kit.install()
    albedo = under_a_sky()
    a, b = transform(albedo, np.stack([under_a_sun(sun) for sun in SUNS]))
    tables = {"A": filled(at_zero(a)), "B": filled(at_zero(b)), "ALBEDO": np.maximum(at_zero(albedo), 0)}
    FILE.write_text("// Made by tests/blender/make_sheen_tables.py; see microfiber.ssl.\n" + "".join(
        text(f"_MICROFIBER_{name}", values) for name, values in tables.items()))
    os._exit(0)


main()
