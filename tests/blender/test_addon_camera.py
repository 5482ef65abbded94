"""Where Blender projects a point, our picture has it; depth of field and regions as in Cycles."""

import math
import unittest

import bpy
import numpy as np
from bpy_extras.object_utils import world_to_camera_view

import blender_scene as kit

MARKS = [(0.0, 0.0, 0.0), (-0.9, 0.4, 0.5), (0.8, -0.6, -0.3), (0.3, 0.7, 1.0)]


def centre_of_light(picture):
    """In pixels from the lower left corner."""
    weight = picture[..., 0]
    y, x = np.mgrid[0:weight.shape[0], 0:weight.shape[1]] + 0.5
    return (weight * x).sum() / weight.sum(), (weight * y).sum() / weight.sum()


class CameraTest(unittest.TestCase):
    def setUp(self):
        self.scene = kit.empty_scene(samples=256)
        self.camera = kit.add_camera((1.5, -5, 2), (math.radians(70), math.radians(8), math.radians(16)))

    def check_marks(self, width, height):
        """A small glowing square at each mark, one after the other."""
        render = self.scene.render
        render.resolution_x, render.resolution_y = width, height
        plane = kit.add_plane(size=0.06)
        plane.rotation_euler = self.camera.rotation_euler  # faces the camera
        kit.material_of(plane, "ShaderNodeEmission")
        for mark in MARKS:
            plane.location = mark
            bpy.context.view_layer.update()
            seen = world_to_camera_view(self.scene, self.camera, plane.location)
            x, y = centre_of_light(kit.render())
            self.assertAlmostEqual(x, seen.x * width, delta=0.06)
            self.assertAlmostEqual(y, seen.y * height, delta=0.06)

    def test_sensor_fit_auto(self):
        self.check_marks(160, 90)
        kit.empty_scene(samples=256)
        self.camera = kit.add_camera((1.5, -6, 2), (math.radians(70), 0, math.radians(16)))
        self.check_marks(90, 130)

    def test_a_camera_that_mirrors(self):
        self.camera.scale = (-2, 1, 1)
        self.check_marks(96, 54)
        self.assertEqual(kit.messages().warnings, [])

    def test_a_camera_that_is_sheared_is_told(self):
        parent = kit.add("Parent", None, rotation=(0, 0, 0.4))
        parent.scale = (1, 3, 1)
        self.camera.parent = parent
        kit.render()
        self.assertIn("shears it", kit.messages().warnings[0])

    def test_sensor_fit_vertical_with_shift(self):
        data = self.camera.data
        data.sensor_fit, data.sensor_height, data.lens = "VERTICAL", 30, 40
        data.shift_x, data.shift_y = 0.12, -0.08
        self.check_marks(160, 100)

    def test_sensor_fit_horizontal_tall_with_shift(self):
        data = self.camera.data
        data.sensor_fit, data.lens = "HORIZONTAL", 35
        data.shift_x, data.shift_y = -0.05, 0.1
        self.check_marks(90, 140)

    def test_pixels_that_are_wide(self):
        self.scene.render.pixel_aspect_x, self.camera.data.shift_y = 2, 0.1
        self.check_marks(80, 90)

    def test_pixels_that_are_high(self):
        self.scene.render.pixel_aspect_y, self.camera.data.shift_x = 2, 0.1
        self.check_marks(120, 80)

    def test_scaled_parent(self):
        parent = kit.add("Parent", None)
        parent.scale = (2, 2, 2)
        self.camera.parent = parent
        self.camera.location = (0.75, -2.5, 1)
        self.check_marks(120, 80)

    def test_region_is_a_part_of_the_whole(self):
        plane = kit.add_plane(size=1.5)
        plane.rotation_euler = (0.9, 0.2, 0.1)
        kit.material_of(plane, "ShaderNodeEmission")
        self.scene.render.resolution_x, self.scene.render.resolution_y = 80, 60
        self.scene.sort.samples = 256
        self.camera.data.shift_x = 0.05
        whole = kit.render()
        render = self.scene.render
        render.use_border = render.use_crop_to_border = True
        render.border_min_x, render.border_max_x, render.border_min_y, render.border_max_y = (
            0.25, 0.75, 0.4, 0.9)
        part = kit.render()
        self.assertEqual(part.shape[:2], (30, 40))
        np.testing.assert_allclose(part, whole[24:54, 20:60], atol=0.06)

    def test_depth_of_field_as_in_cycles(self):
        plane = kit.add_plane(size=0.1)
        kit.material_of(plane, "ShaderNodeEmission")
        self.camera.location, self.camera.rotation_euler = (0, 0, 4), (0, 0, 0)
        dof = self.camera.data.dof
        dof.use_dof, dof.focus_distance, dof.aperture_fstop = True, 2.0, 0.2
        self.scene.sort.samples = self.scene.cycles.samples = 1024
        ours, theirs = kit.render(), kit.render("CYCLES")
        self.assertLess(ours[..., 0].max(), 0.5)  # out of focus indeed
        np.testing.assert_allclose(ours[..., :3], theirs[..., :3], atol=0.06)

    def test_blades_and_ratio_as_in_cycles(self):
        plane = kit.add_plane(size=0.4)
        kit.material_of(plane, "ShaderNodeEmission").inputs["Strength"].default_value = 14
        self.camera.location, self.camera.rotation_euler = (0, 0, 4), (0, 0, 0)
        dof = self.camera.data.dof
        dof.use_dof, dof.focus_distance, dof.aperture_fstop = True, 2.0, 0.04
        dof.aperture_blades, dof.aperture_rotation, dof.aperture_ratio = 3, 0.4, 1.6
        self.scene.sort.samples = self.scene.cycles.samples = 1024
        ours, theirs = (kit.render(engine)[..., 0].reshape(12, 4, 12, 4).mean(axis=(1, 3))
                        for engine in ("SORT", "CYCLES"))
        self.assertGreater(theirs.max(), 0.8)
        np.testing.assert_allclose(ours, theirs, atol=0.15)

    def check(self, width=0, height=0):
        """A large plane of squares, as Cycles sees it."""
        self.scene.render.resolution_x, self.scene.render.resolution_y = (
            (width, height) if width else (48, 48) if self.camera.data.type == "PANO" else (64, 40))
        for plane in [obj for obj in bpy.data.objects if obj.type == "MESH"]:
            bpy.data.objects.remove(plane)
        emission = kit.material_of(kit.add_plane(size=6), "ShaderNodeEmission")
        squares = kit.new_node(emission, "ShaderNodeTexChecker")
        kit.link(squares.outputs["Color"], emission.inputs["Color"])
        ours, theirs = kit.render()[..., :3], kit.render("CYCLES")[..., :3]
        self.assertGreater(theirs.std(), 0.05)
        self.assertLess(np.abs(ours - theirs).mean(), 0.01)

    def test_orthographic(self):
        self.camera.data.type, self.camera.data.ortho_scale = "ORTHO", 6
        self.camera.data.shift_x = 0.1
        self.check()

    def test_equirectangular(self):
        self.panorama("EQUIRECTANGULAR", longitude_min=-1.0, longitude_max=0.7, latitude_min=-0.5, latitude_max=0.6)
        self.check()

    def panorama(self, kind, **settings):
        self.camera.data.type = "PANO"
        for name, value in {"panorama_type": kind, **settings}.items():
            setattr(kit.panorama_of(self.camera.data), name, value)

    def test_fisheye(self):
        self.panorama("FISHEYE_EQUIDISTANT", fisheye_fov=1.2)
        self.check()
        self.check(64, 40)  # an ellipse

    def test_fisheye_equisolid(self):
        """The part of the sensor that is used depends on how it fits the frame."""
        self.panorama("FISHEYE_EQUISOLID", fisheye_fov=3, fisheye_lens=12)
        for fit in ("AUTO", "HORIZONTAL", "VERTICAL"):
            for size in ((48, 48), (64, 40), (40, 56)):
                with self.subTest(fit=fit, size=size):
                    self.camera.data.sensor_fit, self.camera.data.sensor_height = fit, 20
                    self.check(*size)

    def test_fisheye_by_a_polynomial(self):
        self.panorama("FISHEYE_LENS_POLYNOMIAL", fisheye_fov=1.4)
        for size in ((48, 48), (64, 40)):
            self.check(*size)

    def test_mirror_ball(self):
        self.panorama("MIRRORBALL")
        self.check()
        self.check(64, 40)

    def test_face_of_a_cube(self):
        self.panorama("EQUIANGULAR_CUBEMAP_FACE")
        self.check()

    def test_region_of_a_fisheye(self):
        render = self.scene.render
        render.use_border = render.use_crop_to_border = True
        render.border_min_x, render.border_max_x, render.border_min_y, render.border_max_y = 0.25, 0.75, 0.5, 1
        self.panorama("FISHEYE_EQUISOLID", fisheye_fov=3, fisheye_lens=12)
        self.check(64, 48)


kit.main()
