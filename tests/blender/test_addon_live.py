"""The pictures of a viewport without a window: one renderer for all of them, edits and views, a renderer that is killed."""

import dataclasses
import json
import os
import pathlib
import random
import signal
import tempfile
import time
import unittest

import bpy
import numpy as np
import blender_scene as kit

WAIT_S = 60
SIZE = (64, 48)


def turned(angle):
    """A camera around the y axis, which is up, 6 m from the origin."""
    c, s = np.cos(angle), np.sin(angle)
    return {"name": "Viewport", "fov_y_degrees": 40, "transform": [float(c), 0, float(s), float(6 * s), 0, 1, 0, 0,
                                                                   float(-s), 0, float(c), float(6 * c), 0, 0, 0, 1]}


class LiveTest(unittest.TestCase):
    def setUp(self):
        from sort_blender import live_picture
        kit.set_renderer(str(kit.RENDERER))
        self.scene = kit.empty_scene()
        kit.set_world((0, 0, 1))
        self.plane = kit.add_plane(size=2, rotation=(np.pi / 2, 0, 0))
        self.node = kit.material_of(self.plane, "ShaderNodeEmission", Color=(1, 0, 0, 1))
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="live", dir=kit.FOLDER))
        self.redrawn = self.runs = 0
        self.live = live_picture.LivePicture(self.folder, self.redraw)
        self.addCleanup(self.live.close)
        self.export()

    def redraw(self):
        self.redrawn += 1

    def export(self, program=None):
        from sort_blender import job, messages, process
        from sort_blender.export import camera, scene
        self.runs += 1
        self.report = messages.Report()
        run = self.folder / f"run{self.runs:08}"
        run.mkdir()
        depsgraph = bpy.context.evaluated_depsgraph_get()
        self.job = job.make_job(self.scene, program or kit.RENDERER, run, set(), is_preview=True)
        scene.export_scene(depsgraph, scene.ExportPlan(folder=self.job.package, texture_folder=process.filesystem_root(), view=(
            camera.Frame(*SIZE, 0, 0, *SIZE), {key: value for key, value in turned(0).items() if key != "name"})), self.report)

    def show(self, angle=0.0, samples=4, size=SIZE):
        from sort_blender.live_picture import Wish
        self.live.show(Wish(self.job, turned(angle), *size, samples, self.report))

    def wait(self, condition):
        end = time.monotonic() + WAIT_S
        while not condition():
            self.assertLess(time.monotonic(), end, f"{condition.__name__}: {self.live.status()}")
            time.sleep(0.005)

    def finished(self, **wish):
        self.live.say("")
        self.show(**wish)
        self.wait(lambda: self.live.status().startswith(("Done", "Error")))
        self.assertTrue(self.live.status().startswith("Done"), self.live.status())
        return self.live.picture()

    def centre(self, picture):
        return list(np.round(picture[picture.shape[0] // 2, picture.shape[1] // 2], 2))

    def test_views_and_edits_have_one_renderer(self):
        picture = self.finished()
        self.assertEqual(picture.shape, (SIZE[1], SIZE[0], 4))
        self.assertEqual(self.centre(picture), [1, 0, 0, 1])
        self.assertEqual(list(np.round(picture[0, 0, :3], 2)), [0, 0, 1])
        number = self.live.process_id()
        self.assertEqual(self.centre(self.finished(angle=np.pi / 2)), [0, 0, 1, 1])  # the plane from its edge
        self.node.inputs["Color"].default_value = (0, 1, 0, 1)
        self.export()
        self.assertEqual(self.centre(self.finished()), [0, 1, 0, 1])
        self.plane.location.x = 10
        self.export()
        self.assertEqual(self.centre(self.finished()), [0, 0, 1, 1])
        self.assertEqual(self.live.process_id(), number)
        self.assertLessEqual(len([f for f in self.folder.iterdir() if f.is_dir()]), 2)
        self.assertGreater(self.redrawn, 3)

    def test_a_picture_is_that_of_a_new_process(self):
        from sort_blender import exr, passes, process
        live = self.finished(samples=5)
        job = dataclasses.replace(self.job, picture=kit.FOLDER / "by_itself.exr", options=(*self.job.options, "--spp", "5", "--exr-type", "float"))
        process.run_render(job, process.Watcher(lambda record: None, lambda: False), self.report)
        picture = exr.read(job.picture)
        np.testing.assert_array_equal(live, passes.combined(picture).reshape(picture.height, picture.width, 4))

    def test_rows_of_transparent_pictures(self):
        self.scene.render.film_transparent = True
        self.addCleanup(setattr, self.scene.render, "film_transparent", False)
        self.export()
        self.assertEqual(float(self.finished()[0, 0, 3]), 0)

    def test_a_view_that_turns_shows_pictures_all_the_time(self):
        self.finished()
        begin, count, angle = time.monotonic(), self.live.picture_count, 0.0
        while time.monotonic() - begin < 2:
            angle += 0.02
            self.show(angle=angle, samples=1 << 16, size=(640, 360))
            time.sleep(0.01)
        rate = (self.live.picture_count - count) / (time.monotonic() - begin)
        print(f"{rate:.1f} pictures a second")
        self.assertGreater(rate, 2)  # on a machine that does other things as well
        self.finished(angle=0.1)  # what is under way is stopped

    def test_errors_are_said(self):
        self.job = dataclasses.replace(self.job, program=pathlib.Path("/nowhere/sort-render"))
        self.show()
        self.wait(lambda: "/nowhere" in self.live.status())
        self.export()
        (self.job.package / "scene.json").write_text("{")
        self.show()
        self.wait(lambda: "scene.json" in self.live.status())
        self.export()
        self.finished()

    def test_a_renderer_that_is_killed_is_started_again_once(self):
        self.finished()
        first = self.live.process_id()
        os.kill(first, signal.SIGKILL)
        self.assertEqual(self.centre(self.finished(angle=0.01)), [1, 0, 0, 1])
        self.assertNotEqual(self.live.process_id(), first)
        self.assertTrue(any("started again" in text for text in self.report.warnings), self.report.warnings)
        os.kill(self.live.process_id(), signal.SIGKILL)
        self.show(angle=0.02)
        self.wait(lambda: self.live.status().startswith("Error"))
        self.live.forget_failures()
        self.finished(angle=0.03)

    def test_no_renderer_stays_behind(self):
        self.finished()
        number = self.live.process_id()
        self.show(samples=1 << 20, size=(640, 480))
        self.live.close()
        self.wait(lambda: not self.folder.exists())
        self.wait(lambda: not os.path.exists(f"/proc/{number}"))


class KeptMeshesTest(unittest.TestCase):
    """What a viewport exports after edits is what an export that knows nothing does."""

    def setUp(self):
        from sort_blender.export.kept import KeptMeshes
        kit.empty_scene()
        kit.add_camera()
        self.kept, self.chance = KeptMeshes(), random.Random(5)
        bpy.app.handlers.depsgraph_update_post.append(self.note)
        self.addCleanup(bpy.app.handlers.depsgraph_update_post.remove, self.note)
        for k in range(4):
            bpy.ops.mesh.primitive_cube_add(location=(k, 0, 0))
        bpy.ops.object.duplicate(linked=True)
        empty = bpy.data.objects.new("group", None)
        empty.instance_type, empty.instance_collection = "COLLECTION", bpy.data.collections.new("group")
        empty.instance_collection.objects.link(self.objects()[0])
        bpy.context.collection.objects.link(empty)

    def note(self, scene, depsgraph):  # as Blender calls view_update
        self.kept.forget(depsgraph)

    def objects(self):
        return [obj for obj in bpy.context.scene.objects if obj.type == "MESH"]

    def export(self, **plan):
        from sort_blender.export.scene import ExportPlan, export_scene
        from sort_blender.messages import Report
        folder = pathlib.Path(tempfile.mkdtemp(prefix="kept", dir=kit.FOLDER), "package")
        export_scene(bpy.context.evaluated_depsgraph_get(), ExportPlan(folder, **plan), Report())
        return json.loads((folder / "scene.json").read_text(encoding="utf-8"))

    def move(self, obj):
        obj.location.z += 1

    def bend(self, obj):
        obj.data.vertices[0].co.x += 0.5
        obj.data.update()

    def round_off(self, obj):
        (obj.modifiers.get("round") or obj.modifiers.new("round", "BEVEL")).width += 0.1

    def straighten(self, obj):
        obj.modifiers.clear()

    def smooth(self, obj):
        obj.data.polygons.foreach_set("use_smooth", [True] * len(obj.data.polygons))
        obj.data.update()

    def map_again(self, obj):
        layer = obj.data.uv_layers.new(name="another")
        layer.active_render = True

    def exchange(self, obj):
        obj.data = self.chance.choice(self.objects()).data

    def copy_data(self, obj):
        obj.data = obj.data.copy()

    def paint(self, obj):
        material = kit.material_of(obj, "ShaderNodeEmission", Color=(1, 0, 0, 1)).id_data
        generated = material.nodes.new("ShaderNodeTexCoord")  # "Generated" becomes an attribute of the mesh
        material.links.new(generated.outputs["Generated"], material.nodes["Emission"].inputs["Color"])

    def hide(self, obj):
        obj.hide_viewport = obj.hide_render = not obj.hide_render

    def rename(self, obj):
        obj.name, obj.data.name = f"name {self.chance.random()}", "mesh"

    def key(self, obj):
        if not obj.data.shape_keys:
            obj.shape_key_add(name="basis")
            obj.shape_key_add(name="far").data[0].co.y += 1
        obj.data.shape_keys.key_blocks["far"].value = self.chance.random()

    def mirror(self, obj):
        """By the place of another object."""
        modifier = obj.modifiers.new("mirror", "MIRROR")
        others = [other for other in self.objects() if other != obj]
        modifier.mirror_object = self.chance.choice(others)

    def add(self, obj):
        bpy.ops.mesh.primitive_cone_add()

    def remove(self, obj):
        if len(self.objects()) > 4:
            bpy.data.objects.remove(obj)

    def test_random_edits(self):
        edits = (self.move, self.bend, self.round_off, self.straighten, self.smooth, self.map_again, self.exchange, self.copy_data,
                 self.paint, self.hide, self.rename, self.key, self.mirror, self.add, self.remove)
        for step in range(150):
            edit = self.chance.choice(edits)
            edit(self.chance.choice(self.objects()))
            if self.chance.random() < 0.2:
                continue  # two before an export
            bpy.context.view_layer.update()
            self.assertEqual(self.export(kept=self.kept), self.export(), f"step {step}, {edit.__name__}")

    def test_what_has_not_changed_is_not_read(self):
        from sort_blender.export import instance
        read = []
        fingerprint = instance.fingerprint
        instance.fingerprint = lambda mesh, *rest: (read.append(mesh.name), fingerprint(mesh, *rest))[1]
        self.addCleanup(setattr, instance, "fingerprint", fingerprint)
        self.export(kept=self.kept)
        read.clear()
        self.move(self.objects()[1])
        self.export(kept=self.kept)
        self.assertEqual(read, [])
        self.bend(self.objects()[1])
        self.export(kept=self.kept)
        self.assertEqual(len(read), 1)


kit.main()
