"""Cameras of each type of this Blender end with a picture, and a warning where it is not the one that was asked for."""

import unittest

import numpy as np

import blender_scene as kit


class ViewTest(unittest.TestCase):
    def setUp(self):
        self.scene = kit.empty_scene(size=24, samples=1)
        self.camera = kit.add_camera((0, 0, 0)).data
        kit.set_world((0.25, 0.5, 1.0))

    def warnings(self):
        """Renders the world, which looks the same from everywhere."""
        picture = kit.render()
        np.testing.assert_allclose(picture[12, 12, :3], (0.25, 0.5, 1.0), atol=1e-4)
        return kit.messages().warnings

    def test_each_type_renders(self):
        for kind in self.camera.bl_rna.properties["type"].enum_items:
            with self.subTest(kind=kind.identifier):
                self.camera.type = kind.identifier
                told = [text for text in self.warnings() if "is not supported yet; it is rendered in perspective" in text]
                self.assertEqual(len(told), kind.identifier not in ("PERSP", "ORTHO", "PANO"))

    def test_each_panorama_renders(self):
        self.camera.type = "PANO"
        settings = kit.panorama_of(self.camera)
        kinds = [item.identifier for item in settings.bl_rna.properties["panorama_type"].enum_items]
        self.assertIn("EQUIRECTANGULAR", kinds)
        for kind in kinds:
            with self.subTest(kind=kind):
                settings.panorama_type = kind
                told = [text for text in self.warnings() if "is not supported yet; it is rendered as equirectangular" in text]
                self.assertEqual(len(told), kind == "CENTRAL_CYLINDRICAL")

    def test_a_panorama_without_extent_is_told(self):
        self.camera.type = "PANO"
        settings = kit.panorama_of(self.camera)
        settings.panorama_type = "EQUIRECTANGULAR"
        settings.longitude_min = settings.longitude_max = 0.5
        told = [text for text in self.warnings() if "a panorama from 28.6479 to 28.6479 degrees is not possible; -180 to 180 are used" in text]
        self.assertEqual(len(told), 1)
        settings.longitude_min, settings.longitude_max = -3.14159265, 3.14159265
        self.assertEqual(self.warnings(), [])

    def test_what_no_view_can_have_is_told(self):
        self.camera.type, self.camera.ortho_scale = "ORTHO", 0
        self.assertIn("Camera 'Camera': a view 0 m high is not possible; 1e-09 is used", self.warnings())
        self.camera.ortho_scale, self.camera.shift_x = 6, 4e6
        self.assertIn("Camera 'Camera': a shift of 4e+06 frames is not possible; 1e+06 is used", self.warnings())


kit.main()
