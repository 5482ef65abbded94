"""Several views of one picture: each eye, and each camera, sees what Cycles sees there."""

import json
import unittest

import bpy
import numpy as np

import blender_scene as kit


class StereoTest(unittest.TestCase):
    def setUp(self):
        self.scene = kit.empty_scene(samples=32)
        self.scene.render.use_multiview = True
        kit.material_of(kit.add_plane(size=1), "ShaderNodeEmission")
        kit.material_of(kit.add_plane("Behind", size=1, location=(0, 1, -4)), "ShaderNodeEmission", Color=(1, 0, 0, 1))
        self.camera = kit.add_camera((0, 0, 5))
        self.camera.data.stereo.interocular_distance, self.camera.data.stereo.convergence_distance = 0.5, 5

    def views(self, engine):
        self.scene.render.image_settings.views_format = "MULTIVIEW"
        channels = kit.render_passes(engine).channels
        return [channels[f"{bpy.context.view_layer.name}.Combined.{view}.R"] for view in ("left", "right")]

    def compare(self):
        ours, theirs = self.views("SORT"), self.views("CYCLES")
        self.assertEqual(kit.messages().warnings, [])
        for a, b in zip(ours, theirs):
            self.assertGreater(float(b.mean()), 0.05)
            self.assertLess(float(np.abs(a - b).mean()), 0.004)
        self.assertGreater(float(np.abs(ours[0] - ours[1]).mean()), 0.01)

    def test_two_eyes(self):
        for mode in ("OFFAXIS", "TOE"):
            self.camera.data.stereo.convergence_mode = mode
            self.compare()

    def test_a_package_has_a_camera_for_each_view(self):
        from sort_blender import operators
        for is_one in (False, True):
            self.scene.render.views["right"].use = not is_one
            folder = kit.FOLDER / f"package {is_one}"
            operators.export(bpy.context, folder)
            cameras = json.loads((folder / "scene.json").read_text())["cameras"]
            self.assertEqual([c["name"] for c in cameras], ["Camera"] if is_one else ["Camera left", "Camera right"])
        self.scene.render.views["right"].use = True
        places = [c["transform"][3] for c in json.loads((kit.FOLDER / "package False" / "scene.json").read_text())["cameras"]]
        self.assertAlmostEqual(places[1] - places[0], 0.5, places=5)
        self.assertEqual(bpy.ops.sort.export_package(filepath=str(kit.FOLDER / "views.zip")), {"FINISHED"})
        self.assertEqual(kit.subprocess_ok([kit.RENDERER, kit.FOLDER / "views.zip", "--camera", "Camera right", "--spp", "1", "-o",
                                            kit.FOLDER / "right.exr"]), 0)

    def test_two_cameras(self):
        self.scene.render.views_format = "MULTIVIEW"
        self.addCleanup(setattr, self.scene.render, "views_format", "STEREO_3D")
        for suffix, x in (("L", -0.5), ("R", 0.5)):
            kit.add(f"Camera_{suffix}", self.camera.data, (x, 0, 5))
        self.scene.camera = bpy.data.objects["Camera_L"]
        self.compare()


kit.main()
