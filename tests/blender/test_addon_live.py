"""The pictures of a viewport without a window: one renderer for all of them, edits and views, a renderer that is killed."""

import dataclasses
import os
import pathlib
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


kit.main()
