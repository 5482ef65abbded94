"""The zip as an extension of Blender 4.2 and later: Blender's own checks accept it, and installed as one it renders."""

import importlib
import os
import unittest

import bpy
import blender_scene as kit

MODULE = "bl_ext.user_default.sort_blender"


class ExtensionTest(unittest.TestCase):
    def test_blender_validates_it(self):
        """What `blender --command extension validate` runs."""
        bpy.ops.preferences.addon_enable(module="bl_pkg")
        command = importlib.import_module("bl_pkg.bl_extension_cli").cli_extension_handler
        self.assertEqual(command(["validate", os.environ["SORT_TEST_ZIP"]]), 0)
        wrong = kit.FOLDER / "wrong"
        wrong.mkdir()
        (wrong / "blender_manifest.toml").write_text('schema_version = "1.0.0"\n')
        self.assertNotEqual(command(["validate", str(wrong)]), 0)

    def test_installed_as_an_extension_it_renders(self):
        bpy.ops.preferences.addon_disable(module="sort_blender")
        bpy.ops.extensions.package_install_files(filepath=os.environ["SORT_TEST_ZIP"], repo="user_default", enable_on_install=True)
        try:
            addon = bpy.context.preferences.addons[MODULE]
            addon.preferences.renderer = str(kit.RENDERER)
            scene = kit.empty_scene(size=16, samples=1)
            kit.add_camera()
            kit.set_world((0.25, 0.5, 1.0))
            picture = kit.render()
            self.assertEqual([round(float(c), 5) for c in picture[8, 8]], [0.25, 0.5, 1.0, 1.0])
            self.assertEqual(scene.render.engine, "SORT")
        finally:
            bpy.ops.preferences.addon_disable(module=MODULE)
            bpy.ops.preferences.addon_enable(module="sort_blender")
            kit.set_renderer(str(kit.RENDERER))


kit.main()
