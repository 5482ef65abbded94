"""A farm of the open scene: planned and submitted by the button, rendered to F12's bits; what cannot be submitted is told before
anything is written."""

import json
import os
import pathlib
import shutil
import subprocess
import time
import unittest

import bpy
import blender_scene as kit
import numpy as np

SBATCH = """#!/bin/sh
echo "$@" >> "{log}"
cat > /dev/null
echo 7
"""


def scene_of_two_frames():
    """A lit plane that moves, with an image on it."""
    scene = kit.empty_scene(size=24, samples=12)
    kit.add_camera()
    kit.set_world((0.3, 0.5, 0.8))
    plane = kit.add_plane(size=4)
    node = kit.material_of(plane, "ShaderNodeBsdfDiffuse")
    image = bpy.data.images.new("spots", 8, 8)
    image.pixels = np.tile([0.9, 0.2, 0.1, 1, 0.1, 0.8, 0.3, 1], 32)
    image.pack()
    texture = kit.new_node(node, "ShaderNodeTexImage")
    texture.image = image
    kit.link(texture.outputs["Color"], node.inputs["Color"])
    for frame in (1, 2):
        plane.rotation_euler = (0.3 * frame, 0.1, 0)
        plane.keyframe_insert("rotation_euler", frame=frame)
    scene.frame_start, scene.frame_end, scene.frame_step = 1, 2, 1
    scene.frame_set(1)
    scene.render.image_settings.file_format, scene.render.image_settings.color_depth = "OPEN_EXR", "32"
    return scene


class FarmTest(unittest.TestCase):
    def setUp(self):
        self.scene = scene_of_two_frames()
        self.folder = kit.FOLDER / f"farm {self._testMethodName}"
        self.scene.sort.farm_folder = str(self.folder)
        self.scene.sort.farm_engine, self.scene.sort.farm_frames = "LOCAL", "RANGE"
        self.scene.sort.farm_options = ""
        self.scene.render.filepath = str(kit.FOLDER / "out" / f"{self._testMethodName}_##.jpg")

    def farm(self):
        from sort_blender import farm
        return farm.farm

    def refused(self, operator=bpy.ops.sort.farm_submit):
        with self.assertRaises(RuntimeError) as caught:
            operator()
        self.assertNotIn("Traceback", str(caught.exception))
        return str(caught.exception)

    def finish(self):
        self.assertEqual(self.farm().child.wait(120), 0, self.farm().order.log.read_text())

    def picture(self, frame):
        return kit.read_picture(str(kit.FOLDER / "out" / f"{self._testMethodName}_{frame:02}.exr"))

    def check_pictures(self):
        for frame in (1, 2):
            self.scene.frame_set(frame)
            expected = kit.render()
            self.assertTrue(np.array_equal(self.picture(frame), expected), f"frame {frame}")

    def test_frames_have_the_bits_of_a_render(self):
        self.scene.sort.farm_part_minutes = 0.001
        self.assertEqual(bpy.ops.sort.farm_submit(), {"FINISHED"})
        self.assertEqual(self.scene.frame_current, 1)
        self.finish()
        self.assertFalse(self.farm().look())
        self.assertTrue(self.farm().status.startswith("Finished: 2 of 2 pictures"), self.farm().status)
        bpy.ops.sort.farm_page()
        self.assertIn("2 of 2 pictures finished", (self.folder / "status.html").read_text())
        self.assertIn("holds a farm already", self.refused())
        self.check_pictures()

    def test_a_window_shows_how_far_it_is(self):
        """There, a thread plans, submits and asks."""
        from sort_blender import engine
        before, engine.is_watched = engine.is_watched, lambda: True
        try:
            bpy.ops.sort.farm_submit()
        finally:
            engine.is_watched = before
        end = time.monotonic() + 120
        while not self.farm().status.startswith("Finished") and not self.farm().error and time.monotonic() < end:
            time.sleep(0.1)
        self.assertEqual((self.farm().status, self.farm().error), ("Finished: 2 of 2 pictures, 2 of 2 parts", ""))
        self.check_pictures()

    def test_settings_reach_the_farm(self):
        self.scene.sort.farm_frames = "CURRENT"
        self.scene.sort.farm_packs_images = False
        self.scene.sort.use_adaptive, self.scene.sort.adaptive_error = True, 0.05
        self.scene.sort.cpu = "x86-64-v2"
        self.scene.sort.use_denoising = True
        self.scene.sort.time_limit_s = 5
        self.scene.frame_set(2)
        try:
            bpy.ops.sort.farm_submit()
        finally:
            self.scene.sort.use_adaptive, self.scene.sort.cpu, self.scene.sort.use_denoising = False, "", False
            self.scene.sort.time_limit_s, self.scene.sort.farm_packs_images = 0, True
        self.finish()
        planned = json.loads((self.folder / "manifest.json").read_text())
        self.assertEqual((planned["samples"], planned["adaptive"], len(planned["shots"])), (12, 0.05, 1))
        words = " ".join(planned["arguments"])
        for word in ("--cpu x86-64-v2", "--denoise --denoiser nfor", "--texture-memory 1024M", "--texture-path /"):
            self.assertIn(word, words)
        self.assertNotIn("--time-limit", words)
        picture = kit.FOLDER / "out" / f"{self._testMethodName}_02.exr"
        self.assertIn(b"denoised.R", picture.read_bytes())

    def test_a_farm_that_was_stopped_goes_on(self):
        self.scene.sort.samples = 3000
        bpy.ops.sort.farm_submit()
        running = self.folder / "running"
        end = time.monotonic() + 60
        while not list(running.glob("*/*.json")) and time.monotonic() < end:
            time.sleep(0.02)
        bpy.ops.sort.farm_stop()
        self.assertEqual(self.farm().child.wait(60), 4)
        self.assertIn("no farm renders", self.refused(bpy.ops.sort.farm_stop))
        bpy.ops.sort.farm_resume()
        self.finish()
        self.check_pictures()

    def test_slurm_gets_the_options(self):
        programs = kit.FOLDER / "programs"
        programs.mkdir()
        log = kit.FOLDER / "sbatch.log"
        for name in ("sbatch", "squeue", "scontrol"):
            (programs / name).write_text(SBATCH.format(log=log))
            (programs / name).chmod(0o755)
        self.scene.sort.farm_engine = "SLURM"
        self.scene.sort.farm_options = "--partition 'night shift' --constraint avx2"
        before = os.environ["PATH"]
        os.environ["PATH"] = f"{programs}:{before}"
        try:
            bpy.ops.sort.farm_submit()
        finally:
            os.environ["PATH"] = before
        self.assertIn("--partition=night shift", log.read_text())
        self.assertTrue(self.farm().status.startswith("4 jobs: 7"), self.farm().status)

    def test_what_cannot_be_submitted(self):
        settings, render = self.scene.sort, self.scene.render
        settings.farm_folder = ""
        self.assertIn("choose a folder for the farm", self.refused())
        settings.farm_folder = "//farm"
        self.assertIn("not saved yet", self.refused())
        settings.farm_folder = str(self.folder)
        self.assertIn("holds no farm yet", self.refused(bpy.ops.sort.farm_resume))
        self.assertIn("holds no farm yet", self.refused(bpy.ops.sort.farm_page))
        render.use_multiview = True
        self.assertIn("Stereoscopy", self.refused())
        render.use_multiview = False
        camera, self.scene.camera = self.scene.camera, None
        self.assertIn("has no camera", self.refused())
        self.scene.camera = camera
        settings.farm_engine, settings.farm_options = "SLURM", "--partition 'night"
        self.assertIn("No closing quotation", self.refused())
        settings.farm_options = "--nonsense"
        self.assertIn("unrecognized arguments: --nonsense", self.refused())
        shutil.rmtree(self.folder)
        settings.farm_engine = "LOCAL"
        alone = kit.FOLDER / "alone"
        alone.mkdir()
        shutil.copy(kit.RENDERER, alone / "sort-render")
        kit.set_renderer(str(alone))
        self.assertIn("there is no such file; farms need the program sort-farm", self.refused())
        kit.set_renderer(str(kit.RENDERER))
        self.assertFalse(self.folder.exists(), "nothing was written")
        file = kit.FOLDER / "a file"
        file.write_text("")
        settings.farm_folder = str(file / "farm")
        self.assertIn("Not a directory", self.refused())
        settings.farm_folder = str(self.folder)
        render.filepath = str(file / "pictures_")
        self.assertIn(f"{file}: the folder cannot be made", self.refused())
        render.filepath = str(kit.FOLDER / "out" / "again_##.exr")
        bpy.ops.sort.farm_submit()  # what was left of the refused plan is no obstacle
        self.finish()

    def test_the_bundle_brings_the_farm(self):
        """An add-on with the renderer has sort-farm too, which runs from where Blender unpacks it."""
        packer = pathlib.Path(__file__).resolve().parents[2] / "scripts/package-addon"
        subprocess.run(["python3", "-B", packer, "--bundle", kit.RENDERER.parent.parent, "--no-materials", kit.FOLDER / "bundle"], check=True,
                       stdout=subprocess.DEVNULL)
        program = kit.FOLDER / "bundle/sort_blender/renderer/bin/sort-farm"
        program.chmod(0o755)
        said = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
        self.assertTrue(said.startswith("sort-farm "), said)

    def test_tasks_that_fail_are_told(self):
        self.scene.sort.farm_packs_images = True
        self.scene.sort.samples = 2000
        bpy.ops.sort.farm_submit()
        path = self.folder / "packages/scene.0002/scene.json"
        path.write_text(path.read_text() + " ")
        self.farm().child.wait(120)
        self.assertFalse(self.farm().look())
        self.assertIn("the package is not the one that was planned", self.farm().error)


kit.main()
