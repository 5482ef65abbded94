"""What an artist sees of a viewport in Rendered mode, in real Blender: the time from an edit to its first pixels, Blender's own
evaluation and the export included; pictures a second of a view that turns, and how often Blender draws views of its own; and the memory
of the renderer and of Blender over many edits.
With a window pixels are counted when they are drawn; without one the same viewport is asked as often as a window would, and pixels are
counted when they are there. Run by tests/blender/run_blender.py, with --window or with --version, see docs/internals/blender-addon.md.
SORT_VIEWPORT_EDITS: how many edits (500); below 100 nothing else is measured, and memory is judged."""

import math
import os
import statistics
import time
import types

import bpy
import mathutils
import numpy as np

import blender_scene as kit
import stepping

EDITS = int(os.environ.get("SORT_VIEWPORT_EDITS", "500"))
IS_SHORT = EDITS < 100 or "SORT_VIEWPORT_MEMORY" in os.environ
TIMES, TURN_S, WAIT_S = 7, 3.0, 120
SIZE = (640, 400)  # without a window
GROWTH_MAX = 0.15  # of an allocator that gets going; check_serve_edits.py judges the renderer more closely
HAS_WINDOW = not bpy.app.background


class Stage:
    """A viewport that Blender draws."""

    shown = None  # a Viewport of the add-on

    def begin(self):
        self.draws = 0
        bpy.types.SpaceView3D.draw_handler_add(self.count_draw, (), "WINDOW", "POST_PIXEL")
        self.area = next(a for a in bpy.context.window_manager.windows[0].screen.areas if a.type == "VIEW_3D")
        self.area.spaces[0].overlay.show_overlays = False  # Mesa draws them on the processor, outlines of 1000 objects in 0.1 s
        self.area.spaces[0].shading.type = "RENDERED"

    def count_draw(self):
        self.draws += 1

    def view(self):
        """Looking for it takes 20 ms, which would be counted as if Blender took them."""
        if not (self.shown and self.shown.is_open()):
            import gc
            from sort_blender.viewport import Viewport
            self.shown = next((item for item in gc.get_objects() if isinstance(item, Viewport) and item.is_open()), None)
        return self.shown

    def region(self):
        return next(r for r in self.area.regions if r.type == "WINDOW")

    def turn(self, angle):
        """As the mouse does: no other region is drawn."""
        self.area.spaces[0].region_3d.view_rotation = mathutils.Euler((1.0, 0.0, angle)).to_quaternion()
        self.region().tag_redraw()

    def seen(self):
        """Something that is another one when other pixels are shown."""
        return self.view()._texture

    def size(self):
        return self.region().width, self.region().height

    def step(self):
        pass


class BareStage(Stage):
    """The same viewport without a window: what Blender would tell it, and when it would draw, is told here."""

    def begin(self):
        from sort_blender.viewport import Viewport
        projection = mathutils.Matrix(((2.0, 0, 0, 0), (0, 2.0 * SIZE[0] / SIZE[1], 0, 0), (0, 0, -1, -0.2), (0, 0, -1, 0)))
        self.region = types.SimpleNamespace(window_matrix=projection, view_perspective="PERSP")
        self.turn(0.0)
        self.shown = Viewport(lambda: None)
        self.pixels = None
        bpy.app.handlers.depsgraph_update_post.append(lambda scene, depsgraph: self.shown.scene_changed(depsgraph))

    def view(self):
        return self.shown

    def turn(self, angle):
        turned = mathutils.Euler((1.0, 0.0, angle)).to_matrix().to_4x4()
        self.region.view_matrix = (turned @ mathutils.Matrix.Translation((0, 0, 15))).inverted()
        self.region.perspective_matrix = self.region.window_matrix @ self.region.view_matrix

    def seen(self):
        return self.pixels

    def size(self):
        return SIZE

    def step(self):
        bpy.context.view_layer.update()
        context = types.SimpleNamespace(
            scene=bpy.context.scene, region=types.SimpleNamespace(width=SIZE[0], height=SIZE[1]), region_data=self.region,
            space_data=None)
        self.shown.follow(context, bpy.context.evaluated_depsgraph_get())
        pixels = self.shown._live.new_picture()
        self.pixels = self.pixels if pixels is None else pixels


stage = Stage() if HAS_WINDOW else BareStage()


def until(condition, what):
    end = time.monotonic() + WAIT_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"waited {WAIT_S} s for {what}: {stage.view() and stage.view().status()}")
        yield


def is_done():
    view = stage.view()
    if view and view.status().startswith("Error"):
        raise AssertionError(view.status())
    return view is not None and view.status().startswith("Done") and view._job is not None and not view._live._is_new


def first_pixels(edit):
    """Seconds from the edit until pixels are seen that are not those before it."""
    stage.view()._live.say("")
    before, begin = stage.seen(), time.monotonic()
    edit()
    yield from until(lambda: stage.seen() is not before, "pixels")
    return time.monotonic() - begin


def show(name, edit):
    took = []
    for k in range(TIMES):
        yield from until(is_done, "the picture")
        took.append((yield from first_pixels(lambda k=k: edit(k))))
    print(f"| {name} | {statistics.median(took):.3f} s | {max(took):.3f} s |", flush=True)


def turn(name):
    """Pictures a second of a view that never stands still."""
    yield from until(is_done, "the picture")
    begin, count, last = time.monotonic(), 0, stage.seen()
    while time.monotonic() - begin < TURN_S:
        stage.turn(0.5 * (time.monotonic() - begin))
        yield
        count += stage.seen() is not last
        last = stage.seen()
    print(f"| a view that turns, {name} | {count / (time.monotonic() - begin):.1f} pictures a second | |", flush=True)


def turn_beside():
    """How often Blender draws the view that turns: this add-on's, with the plainer colours of Standard; Solid; Cycles' own."""
    scene, shading = bpy.context.scene, stage.area.spaces[0].shading
    colours, scene.cycles.preview_samples = scene.view_settings.view_transform, 1
    for name, engine, mode, transform in (("SORT, Standard", "SORT", "RENDERED", "Standard"), ("Solid", "SORT", "SOLID", colours),
                                          ("Cycles", "CYCLES", "RENDERED", colours)):
        scene.render.engine, shading.type, scene.view_settings.view_transform = engine, mode, transform
        begin = time.monotonic()
        yield from until(lambda start=begin: time.monotonic() - start > 2, "the view")
        begin, stage.draws = time.monotonic(), 0
        while time.monotonic() - begin < TURN_S:
            stage.turn(0.5 * (time.monotonic() - begin))
            yield
        print(f"| a view that turns, 4 objects, {name} | drawn {stage.draws / (time.monotonic() - begin):.1f} times a second | |", flush=True)
    scene.render.engine, shading.type, scene.view_settings.view_transform = "SORT", "RENDERED", colours


# --- scenes -----------------------------------------------------------------------------------------

def material(name, color):
    made = bpy.data.materials.new(name)
    made.use_nodes = True
    made.node_tree.nodes["Principled BSDF"].inputs["Base Color"].default_value = (*color, 1)
    return made


def reshape(mesh, k):
    places = np.empty((len(mesh.vertices), 3), np.float32)
    mesh.vertices.foreach_get("co", places.ravel())
    places[:, 2] = kit.wave_heights(places, 0.1 * k)
    mesh.vertices.foreach_set("co", places.ravel())
    mesh.update()


def build(count, side):
    """`count` objects with a mesh each, eight materials, a lamp, a grey world."""
    kit.empty_scene()
    scene = bpy.context.scene
    scene.sort.preview_samples = 1
    kit.set_world((0.5, 0.5, 0.6))
    kit.add_camera((0, 0, 20))
    lamp = bpy.data.lights.new("Lamp", "POINT")
    lamp.energy = 1000
    kit.add("Lamp", lamp, (3, 3, 6))
    materials = [material(f"Paint {k}", (0.8, 0.1 * k, 0.3)) for k in range(8)]
    across = math.ceil(math.sqrt(count))
    for k in range(count):
        made = kit.add(f"Wave {k}", kit.wave(f"Wave {k}", side), ((k % across - across / 2) * 10 / across, (k // across - across / 2) * 10 / across, 0))
        made.scale = (10 / across,) * 3
        made.data.materials.append(materials[k % 8])


def move(k):
    bpy.data.objects["Wave 0"].location.z = 0.1 * k + 0.05


def paint(k):
    bpy.data.materials["Paint 0"].node_tree.nodes["Principled BSDF"].inputs["Roughness"].default_value = 0.2 + 0.001 * (k % 700)


def dim(k):
    bpy.data.lights["Lamp"].energy = 900 + k % 200


def bend(k):
    reshape(bpy.data.objects["Wave 1"].data, k)


# --- measuring --------------------------------------------------------------------------------------

def resident_bytes(process):
    with open(f"/proc/{process}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def memory():
    build(100, 20)
    yield from until(is_done, "the picture")
    used = []
    for k in range(EDITS):
        yield from first_pixels(lambda k=k: (move, paint, bend, dim)[k % 4](k))
        used.append((resident_bytes(stage.view()._live.process_id()), resident_bytes("self")))
    for name, column in zip(("the renderer", "Blender"), zip(*used)):
        shown = ", ".join(f"{column[EDITS * k // 5 - 1] / 2 ** 20:.0f}" for k in range(1, 6))
        print(f"| memory of {name} after {', '.join(str(EDITS * k // 5) for k in range(1, 6))} edits | {shown} MiB | |", flush=True)
        # At a single edit the former scene may be gone and the next one not there yet.
        growth = max(column[EDITS // 2:]) / max(1, *column[:EDITS // 2]) - 1
        assert column[0] == 0 or growth < GROWTH_MAX, f"{name} grows by {100 * growth:.1f} % in {EDITS - EDITS // 2} edits"


def steps():
    build(4, 20)
    stage.begin()
    yield from until(is_done, "the picture")
    if not IS_SHORT:
        print(f"| {stage.size()[0]} x {stage.size()[1]}, {'in a window' if HAS_WINDOW else 'without a window'}, Blender {bpy.app.version_string}"
              f" | median of {TIMES} | longest |", flush=True)
        yield from show("a material, 4 objects", paint)
        yield from show("an object moves, 4 objects", move)
        yield from turn("4 objects")
        if HAS_WINDOW:
            yield from turn_beside()
        build(1000, 22)
        yield from show("a material, 1000 objects", paint)
        yield from show("an object moves, 1000 objects", move)
        yield from show("a mesh, 1000 objects", bend)
        yield from turn("1000 objects")
        build(2, 700)
        yield from show("an object moves, 2 objects of a million triangles", move)
        yield from show("one of them, its mesh", bend)
        yield from turn("two million triangles")
    yield from memory()


stepping.run(steps, 0.001, between=stage.step, has_window=HAS_WINDOW)
