"""Installed from the zip into an empty profile: the factory scene renders in the background."""

import os
import subprocess
import unittest

import bpy
import blender_scene as kit


class InstallTest(unittest.TestCase):
    def test_default_scene_renders_from_the_command_line(self):
        scene = bpy.context.scene
        scene.render.engine = "SORT"
        scene.render.resolution_percentage = 10
        scene.sort.samples = 16
        scene.render.image_settings.file_format = "OPEN_EXR"
        place = kit.FOLDER / "default.blend"
        bpy.ops.wm.save_as_mainfile(filepath=str(place))
        run = subprocess.run(
            [os.environ["SORT_TEST_BLENDER"], "-b", str(place), "-E", "SORT", "-o", "//frame_", "-f", "1"],
            capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        picture = kit.read_picture(str(kit.FOLDER / "frame_0001.exr"))
        self.assertEqual(picture.shape, (108, 192, 4))
        self.assertAlmostEqual(float(picture[0, 0, 0]), 0.0509, delta=0.001)  # the world's grey
        self.assertGreater(float(picture[40:68, 80:112, :3].max()), 0.2)  # the cube
        self.assertTrue((picture[..., 3] == 1).all())
        self.assertNotIn("Warning: SORT", run.stdout)

    def test_disable_and_enable_again(self):
        bpy.ops.preferences.addon_disable(module="sort_blender")
        self.assertFalse(hasattr(bpy.types.Scene, "sort"))
        self.assertNotIn("SORT", bpy.types.DATA_PT_lens.COMPAT_ENGINES)
        bpy.ops.preferences.addon_enable(module="sort_blender")
        kit.set_renderer(str(kit.RENDERER))
        self.assertIn("SORT", bpy.types.DATA_PT_lens.COMPAT_ENGINES)


kit.main()
