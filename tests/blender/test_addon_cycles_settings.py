"""Settings that come from Cycles: in a render, in a file that is opened, by the button; and what they mean."""

import json
import unittest

import bpy
import numpy as np

import blender_scene as kit

OWN = {"max_depth": 3, "diffuse_bounces": 1, "glossy_bounces": 0, "transmission_bounces": 2, "min_light_bounces": 4, "clamp_direct": 5.0,
       "clamp_indirect": 6.0, "filter_glossy": 0.25, "light_threshold": 0.125, "pixel_filter": "gaussian", "filter_width": 2.0, "guiding": "off"}
OF_CYCLES = {"max_bounces": 9, "diffuse_bounces": 2, "glossy_bounces": 3, "transmission_bounces": 5, "min_light_bounces": 6, "sample_clamp_direct": 7.0,
             "sample_clamp_indirect": 8.0, "blur_glossy": 0.5, "light_sampling_threshold": 0.25, "pixel_filter_type": "BOX", "filter_width": 3.0, "use_guiding": True}
TAKEN = {"max_depth": 10, "diffuse_bounces": 2, "glossy_bounces": 3, "transmission_bounces": 5, "min_light_bounces": 6, "clamp_direct": 7.0,
         "clamp_indirect": 8.0, "filter_glossy": 0.5, "light_threshold": 0.25, "pixel_filter": "box", "filter_width": 1.0, "guiding": "on"}


def exported():
    """Settings of the package that a render would be given."""
    exported.number += 1
    target = kit.FOLDER / f"package{exported.number}"
    bpy.ops.sort.export_package(filepath=str(target), as_folder=True)
    return json.loads((target / "scene.json").read_text())["settings"]


exported.number = 0


def own_settings(scene):
    return {name: getattr(scene.sort, name) for name in TAKEN}


class SettingsTest(unittest.TestCase):
    def setUp(self):
        bpy.ops.wm.read_homefile(use_empty=True)
        self.scene = bpy.context.scene
        self.scene.render.resolution_x = self.scene.render.resolution_y = 24
        self.scene.render.resolution_percentage = 100
        self.scene.render.image_settings.file_format = "OPEN_EXR"
        kit.add_camera()
        kit.set_renderer(str(kit.RENDERER))

    def of_cycles(self, values):
        for name, value in values.items():
            setattr(self.scene.cycles, name, value)

    def test_a_render_counts_as_cycles_what_the_artist_has_not_set(self):
        found = exported()
        self.assertEqual([found[name] for name in ("max_depth", "max_diffuse", "max_glossy", "clamp_direct", "clamp_indirect",
                                                   "filter_glossy")], [13, 5, 5, 0, 10, 1])
        self.of_cycles(OF_CYCLES)
        self.scene.sort.max_depth = 40
        found = exported()
        self.assertEqual([found[name] for name in ("max_depth", "max_diffuse", "max_glossy", "max_transmission", "clamp_direct",
                                                   "clamp_indirect", "filter_glossy")], [40, 3, 4, 6, 7, 8, 0.5])

    def test_the_button_takes_all_again(self):
        for name, value in OWN.items():
            setattr(self.scene.sort, name, value)
        self.of_cycles(OF_CYCLES)
        bpy.ops.sort.take_cycles_settings()
        self.assertEqual(own_settings(self.scene), TAKEN)

    def test_a_file_that_is_opened(self):
        self.of_cycles(OF_CYCLES)
        self.scene.render.engine = "SORT"
        self.scene.sort.clamp_direct = 2.0
        place = kit.FOLDER / "switched.blend"
        bpy.ops.wm.save_as_mainfile(filepath=str(place))
        bpy.ops.wm.open_mainfile(filepath=str(place))
        self.assertEqual(own_settings(bpy.context.scene), {**TAKEN, "clamp_direct": 2.0})

    def test_settings_beyond_the_limits_of_sort(self):
        self.of_cycles({"max_bounces": 1024, "diffuse_bounces": 1024, "filter_width": 10.0})
        bpy.ops.sort.take_cycles_settings()
        self.assertEqual((self.scene.sort.max_depth, self.scene.sort.diffuse_bounces, self.scene.sort.filter_width), (1024, 1023, 8.0))

    def picture(self, engine, samples):
        self.scene.sort.samples = self.scene.cycles.samples = samples
        self.scene.cycles.use_denoising = self.scene.cycles.use_adaptive_sampling = False
        return kit.render(engine)[..., :3]

    def test_a_white_room_is_as_bright_as_in_cycles(self):
        """Half of its light comes from more than six surfaces."""
        room = kit.add_mesh("Room", [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)],
                            [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)])
        kit.material_of(room, "ShaderNodeBsdfDiffuse", Color=(0.9, 0.9, 0.9, 1))
        light = bpy.data.lights.new("Light", "POINT")
        light.energy, light.shadow_soft_size = 10, 0.1
        kit.add("Light", light, location=(0, 0, 0.5))
        self.scene.camera.location = (0, 0, -0.5)
        ours, theirs = self.picture("SORT", 64).mean(), self.picture("CYCLES", 64).mean()
        self.assertAlmostEqual(float(ours / theirs), 1, delta=0.02)
        self.scene.sort.diffuse_bounces = 1
        self.assertLess(self.picture("SORT", 16).mean(), 0.8 * theirs)

    def test_filters_as_in_cycles(self):
        plane = kit.add_plane(size=4, location=(2.1, 0, 0), rotation=(0, 0, 0.3))
        kit.material_of(plane, "ShaderNodeEmission", Color=(1, 1, 1, 1))
        for kind, width in (("BLACKMAN_HARRIS", 1.5), ("BLACKMAN_HARRIS", 4.0), ("GAUSSIAN", 2.0), ("GAUSSIAN", 5.0), ("BOX", 4.0)):
            with self.subTest(kind=kind, width=width):
                self.of_cycles({"pixel_filter_type": kind, "filter_width": width})
                ours, theirs = self.picture("SORT", 256), self.picture("CYCLES", 256)
                inner = slice(6, -6)  # SORT's pixels at the border know what lies beyond it
                self.assertLess(float(np.abs(ours - theirs)[inner, inner].max()), 0.06)
                self.assertLess(float(np.abs(ours - theirs)[inner, inner].mean()), 0.006)


kit.main()
