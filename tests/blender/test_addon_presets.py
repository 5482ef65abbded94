"""Presets, and tooltips: every setting says what it does, and those that cost something what."""

import pathlib
import re
import unittest

import bpy

import blender_scene as kit

FREE = {"time_limit_s", "integrator", "farm_folder", "farm_engine", "farm_frames", "farm_packs_images", "farm_options", "seed"}  # only say what they are
COSTS = ("time", "memory", "noise", "samples", "seconds", "fast", "quick", "texels", "rests", "cost")


class PresetTest(unittest.TestCase):
    def setUp(self):
        self.settings = kit.empty_scene().sort

    def test_a_preset_sets_what_it_says(self):
        from sort_blender.presets import PRESETS
        self.settings.mip_bias = 2
        for key, preset in PRESETS.items():
            bpy.ops.sort.apply_preset(preset=key)
            for name, value in preset.values.items():
                self.assertAlmostEqual(getattr(self.settings, name), value, places=5) if isinstance(value, float) else \
                    self.assertEqual(getattr(self.settings, name), value, (key, name))
        self.assertEqual(self.settings.mip_bias, 2)

    def test_an_artists_preset_is_saved_and_used_again(self):
        bpy.ops.sort.apply_preset(preset="REFERENCE")
        self.settings.clamp_direct = 7
        bpy.ops.sort.preset_add(name="Mine")
        files = [file for path in bpy.utils.preset_paths("sort/render") for file in pathlib.Path(path).glob("*.py")]
        self.assertEqual([file.stem.lower() for file in files], ["mine"])
        bpy.ops.sort.apply_preset(preset="PREVIEW")
        self.settings.clamp_direct = 0
        bpy.ops.script.execute_preset(filepath=str(files[0]), menu_idname="SORT_PT_presets")
        self.assertEqual((self.settings.clamp_direct, self.settings.samples, self.settings.use_denoising), (7, 4096, False))

    def test_what_textures_took_is_told(self):
        kit.add_camera()
        kit.render()
        self.assertEqual(kit.messages().texture_use, "")
        image = bpy.data.images.new("Checks", 256, 256)
        image.generated_type = "COLOR_GRID"
        emission = kit.material_of(kit.add_plane(size=9), "ShaderNodeEmission")
        texture = kit.new_node(emission, "ShaderNodeTexImage")
        texture.image = image
        kit.link(texture.outputs["Color"], emission.inputs["Color"])
        self.settings.texture_memory_mib = 64
        self.addCleanup(self.settings.property_unset, "texture_memory_mib")
        kit.render()
        found = re.fullmatch(r"Last render: (\d+) of 64 MiB in use, ([\d.]+) of the textures' ([\d.]+) MiB were needed", kit.messages().texture_use)
        self.assertTrue(found, kit.messages().texture_use)
        used, needed, whole = map(float, found.groups())
        self.assertLessEqual(used, 64)
        self.assertLess(needed, whole)  # 48 pixels need no level of 256 texels
        self.assertGreater(whole, 256 * 256 * 4 / 2**20)  # and smaller levels
        from sort_blender import messages
        part = kit.FOLDER / "part.json"
        part.write_text('{"textures": {')
        self.assertEqual(messages.texture_use(part), "")

    def test_every_setting_says_what_it_costs(self):
        for setting in self.settings.bl_rna.properties:
            if setting.is_runtime and setting.identifier != "name":
                with self.subTest(setting=setting.identifier):
                    self.assertTrue(setting.description)
                    if setting.identifier not in FREE:
                        self.assertTrue(any(word in setting.description.lower() for word in COSTS), setting.description)


kit.main()
