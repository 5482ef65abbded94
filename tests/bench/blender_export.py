"""How long the add-on takes to export, in real Blender: two million triangles in one mesh, a thousand objects, a hundred graphs, a million
triangles in 500 objects, and these again with one object moved; and from F12 to the first picture of the default scene. Run by tests/blender/run_blender.py, see docs/internals/blender-addon.md."""

import json
import os
import time

import bpy

import blender_scene as kit

SIDE, OBJECTS = 32, 500  # faces along a side: 2 * 32 * 32 triangles each


def export(name):
    from sort_blender.export.scene import ExportPlan, export_scene
    from sort_blender.messages import Report
    folder = kit.FOLDER / name
    depsgraph = bpy.context.evaluated_depsgraph_get()
    start, cpu = time.monotonic(), time.process_time()
    export_scene(depsgraph, ExportPlan(folder), Report())
    took = f"{time.monotonic() - start:.2f} s, {time.process_time() - cpu:.2f} s of one core"
    scene = json.loads((folder / "scene.json").read_text(encoding="utf-8"))
    return took, sum(mesh["triangle_count"] for mesh in scene["meshes"]), len(scene["instances"])


def begin():
    kit.empty_scene()
    kit.add_camera((0, 0, 80))


def many_objects(count, side):
    begin()
    for k in range(count):
        kit.add(f"Wave {k}", kit.wave(f"Wave {k}", side, k), (k % 25, k // 25, 0))


def many_graphs(count):
    """Chains of twelve nodes, each in an order of its own."""
    begin()
    kinds = ("ShaderNodeTexNoise", "ShaderNodeMath", "ShaderNodeMixRGB", "ShaderNodeValToRGB")
    for k in range(count):
        principled = kit.material_of(kit.add_plane(f"Plane {k}", location=(k % 10, k // 10, 0)), "ShaderNodeBsdfPrincipled")
        before = None
        for j in range(12):
            node = kit.new_node(principled, kinds[(j + k) % 4])
            if before:
                kit.link(before.outputs[0], node.inputs[j * k % 2 if len(node.inputs) > 1 else 0])
            before = node
        kit.link(before.outputs[0], principled.inputs["Base Color"])


def first_pixels():
    """The default scene at its own size, as F12 renders it with a window."""
    from sort_blender import engine
    bpy.ops.wm.read_factory_settings()
    bpy.ops.preferences.addon_enable(module="sort_blender")
    kit.set_renderer(str(kit.RENDERER))
    scene = bpy.context.scene
    scene.render.engine = "SORT"
    scene.sort.samples = 256
    seen = []
    load = engine._load
    engine._load = lambda *rest: (load(*rest), seen.append(time.monotonic()))
    engine.is_watched = lambda: True
    cancelled = engine.process.Watcher
    engine.process.Watcher = lambda on_record, is_cancelled: cancelled(on_record, lambda: bool(seen))
    start = time.monotonic()
    bpy.ops.render.render()
    engine._load, engine.process.Watcher = load, cancelled
    return seen[0] - start


kit.install()
for words, make in (("one mesh", lambda: many_objects(1, 1000)), ("1000 objects", lambda: many_objects(1000, 4)),
                    ("100 graphs", lambda: many_graphs(100)), ("500 objects", lambda: many_objects(OBJECTS, SIDE))):
    make()
    took, triangles, objects = export(words)
    print(f"| export of {words}: {triangles:,} triangles, {objects} objects | {took} |")
bpy.data.objects["Wave 7"].location.z = 1
print(f"| the last again, one object moved | {export('again')[0]} |")
for k in range(3):
    print(f"| F12 to first pixels, default scene, {('first', 'second', 'third')[k]} time | {first_pixels():.2f} s |")
os._exit(0)
