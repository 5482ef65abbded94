"""Motion blur next to Cycles', and what is exported again when little changed."""

import json
import math
import time
import unittest

import bpy
import numpy as np

import blender_scene as kit


class MotionTest(unittest.TestCase):
    def setUp(self):
        self.scene = kit.empty_scene(samples=256)
        self.scene.render.use_motion_blur, self.scene.render.motion_blur_shutter = True, 0.8
        self.scene.frame_set(5)
        kit.add_camera((0, 0, 8))

    def tearDown(self):
        self.scene.render.use_motion_blur = False
        self.scene.frame_set(1)

    def check(self, tolerance=0.02):
        ours, theirs = kit.render()[..., :3], kit.render("CYCLES")[..., :3]
        self.assertGreater(theirs.std(), 0.05)
        soft = ((theirs[..., 0] > 0.1) & (theirs[..., 0] < 0.9)).sum()
        self.assertGreater(soft, 60)  # it is blurred indeed
        self.assertLess(np.abs(ours - theirs).mean(), tolerance)

    def animate(self, item, field, index, first, last):
        for frame, value in ((1, first), (9, last)):
            getattr(item, field)[index] = value
            item.keyframe_insert(field, index=index, frame=frame)
        for curve in item.animation_data.action.fcurves:
            for key in curve.keyframe_points:
                key.interpolation = "LINEAR"

    def glowing(self, **place):
        plane = kit.add_plane(size=2, **place)
        kit.material_of(plane, "ShaderNodeEmission")
        return plane

    def test_moving_object(self):
        self.animate(self.glowing(), "location", 0, -6, 6)
        self.check()

    def test_lights_that_move(self):
        """Cycles does not blur them: they stand where they are in the frame."""
        kit.add_plane(size=4)
        lamp = kit.add("Lamp", bpy.data.lights.new("Lamp", "POINT"), (0, 0, 1))
        lamp.data.energy, lamp.data.shadow_soft_size = 50, 0.2
        self.animate(lamp, "location", 0, -8, 8)
        for is_wired in (False, True):
            lamp.data.use_nodes = is_wired
            if is_wired:
                emission = lamp.data.node_tree.nodes["Emission"]
                kit.link(kit.new_node(emission, "ShaderNodeLightFalloff").outputs["Quadratic"], emission.inputs["Strength"])
            ours, theirs = kit.render()[..., :3], kit.render("CYCLES")[..., :3]
            self.assertGreater(theirs.std(), 0.05)
            self.assertLess(np.abs(ours - theirs).mean() / theirs.mean(), 0.03)
            self.assertEqual(kit.messages().warnings, [])

    def test_turning_object(self):
        self.animate(self.glowing(location=(0, 0, 0)), "rotation_euler", 2, 0, 12)
        self.check()

    def test_moving_camera(self):
        self.glowing()
        self.animate(self.scene.camera, "location", 1, -4, 4)
        self.check()

    def test_deforming_mesh(self):
        plane = self.glowing()
        plane.shape_key_add(name="Basis")
        key = plane.shape_key_add(name="Wide")
        for point in key.data:
            point.co.x *= 3
        for frame, value in ((1, -1), (9, 1)):
            key.value = value
            key.slider_min = -1
            key.value = value
            key.keyframe_insert("value", frame=frame)
        self.check()

    def test_still_things_have_no_keys(self):
        from sort_blender.export.motion import _even_turns
        from mathutils import Matrix
        self.assertEqual(len(_even_turns([Matrix(), Matrix(), Matrix()])), 1)
        turned = [Matrix.Rotation(angle, 4, "Z") for angle in (0, 1.2, 2.4)]
        keys = _even_turns(turned)
        self.assertEqual((len(keys) - 1) % 2, 0)
        for a, b in zip(keys, keys[1:]):
            self.assertLess((a.inverted() @ b).to_quaternion().angle, math.radians(21))
        np.testing.assert_allclose(np.array(keys[(len(keys) - 1) // 2]), np.array(turned[1]), atol=1e-6)


class IncrementTest(unittest.TestCase):
    def setUp(self):
        self.scene = kit.empty_scene(samples=1)
        kit.add_camera((0, 0, 8))

    def export(self):
        from sort_blender.export.scene import ExportPlan, export_scene
        from sort_blender.messages import Report
        folder = kit.FOLDER / f"increment_{time.monotonic_ns()}"
        start = time.monotonic()
        export_scene(bpy.context.evaluated_depsgraph_get(), ExportPlan(folder), Report())
        return json.loads((folder / "scene.json").read_text(encoding="utf-8")), folder, time.monotonic() - start

    def test_second_frame_writes_only_what_changed(self):
        """30 objects, 200,000 triangles."""
        for k in range(30):
            bpy.ops.mesh.primitive_grid_add(x_subdivisions=58, y_subdivisions=58, location=(k % 6, k // 6, 0))
            bpy.context.object.data.vertices[0].co.z = k / 100
        image = bpy.data.images.new("Paint", 64, 64)
        image.pack()
        emission = kit.material_of(bpy.context.object, "ShaderNodeEmission")
        texture = kit.new_node(emission, "ShaderNodeTexImage")
        texture.image = image
        kit.link(texture.outputs["Color"], emission.inputs["Color"])
        first, first_folder, first_s = self.export()
        bpy.data.objects["Grid"].location.z = 2
        second, second_folder, second_s = self.export()
        print(f"200,000 triangles in 30 objects: {first_s:.2f} s, then {second_s:.2f} s")
        self.assertEqual(len(second["meshes"]), 30)

        def files(folder, part):
            return {path.stat().st_ino for path in (folder / part).iterdir()}
        for part in ("meshes", "textures"):
            self.assertEqual(files(first_folder, part), files(second_folder, part))  # the same files, not copies
        changed = [a["name"] for a, b in zip(first["instances"], second["instances"]) if a != b]
        self.assertEqual(changed, ["Grid"])
        self.assertLess(second_s, max(first_s / 2, 0.3))

        bpy.data.objects["Grid"].data.vertices[5].co.z = 1
        bpy.data.objects["Grid"].data.update()
        third, third_folder, _ = self.export()
        self.assertEqual(len(files(third_folder, "meshes") - files(second_folder, "meshes")), 1)
        attributes = bpy.data.objects["Grid.001"].data.uv_layers[0].data
        attributes[7].uv = (9, 9)
        _, fourth_folder, _ = self.export()
        self.assertEqual(len(files(fourth_folder, "meshes") - files(third_folder, "meshes")), 1)

    def test_what_is_used_no_more_goes(self):
        from sort_blender.export import cache
        kit.add_plane()
        self.export()
        kept = [entry.path for entry in cache.shared._entries.values()]
        self.scene.collection.objects.unlink(bpy.data.objects["Plane"])
        for _ in range(cache.EXPORTS_KEPT + 1):
            self.export()
        self.assertTrue(kept)
        self.assertFalse(any(path.exists() for path in kept))


kit.main()
