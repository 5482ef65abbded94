"""Strands: hair of particle systems and objects of type Curves, next to Cycles'."""

import json
import math
import unittest

import bpy
import numpy as np

import blender_scene as kit


class HairTest(unittest.TestCase):
    def setUp(self):
        self.scene = kit.empty_scene(samples=64)
        kit.add_camera((0, -6, 1), (math.pi / 2, 0, 0))

    def compare(self, tolerance=0.02):
        ours, theirs = kit.render()[..., :3], kit.render("CYCLES")[..., :3]
        self.assertEqual(kit.messages().warnings, [])
        self.assertGreater(theirs.mean(), 0.02)
        np.testing.assert_allclose(ours.mean(), theirs.mean(), rtol=0.05)
        self.assertLess(np.abs(ours - theirs).mean(), tolerance)

    def fur(self, **settings):
        plane = kit.add_plane(size=2)
        kit.material_of(plane, "ShaderNodeEmission")
        plane.show_instancer_for_render = False
        plane.modifiers.new("Fur", "PARTICLE_SYSTEM")
        made = plane.particle_systems[0].settings
        made.type, made.count, made.hair_length, made.render_step = "HAIR", 60, 2, 3
        made.root_radius, made.tip_radius, made.radius_scale = 1.0, 0.2, 0.1
        for name, value in settings.items():
            setattr(made, name, value)
        return plane

    def test_particle_hair(self):
        self.fur()
        self.compare()

    def test_children_and_shape(self):
        self.fur(child_type="SIMPLE", rendered_child_count=4, shape=0.5, use_close_tip=True)
        self.compare()

    def test_strands_that_move_in_their_object(self):
        plane = self.fur()
        plane.shape_key_add(name="Basis")
        moved = plane.shape_key_add(name="Moved")
        for point in moved.data:
            point.co.x += 3
        for frame, value in ((1, 0), (9, 1)):
            moved.value = value
            moved.keyframe_insert("value", frame=frame)
        for curve in kit.fcurves_of(plane.data.shape_keys.animation_data.action):
            for key in curve.keyframe_points:
                key.interpolation = "LINEAR"
        self.scene.frame_set(5)
        self.addCleanup(self.scene.frame_set, 1)
        still = kit.render()[..., :3]
        self.scene.render.use_motion_blur, self.scene.render.motion_blur_shutter = True, 2
        self.addCleanup(setattr, self.scene.render, "use_motion_blur", False)
        self.compare(0.015)
        self.assertGreater(np.abs(kit.render()[..., :3] - still).mean(), 0.03)

    def test_textured_by_the_root(self):
        plane = self.fur()
        emission = plane.data.materials[0].node_tree.nodes["Emission"]
        image = bpy.data.images.new("Halves", 8, 8)
        pixels = np.ones((8, 8, 4), np.float32)
        pixels[:, :4, 1:3] = 0
        image.pixels.foreach_set(pixels.ravel())
        texture = kit.new_node(emission, "ShaderNodeTexImage")
        texture.image = image
        kit.link(texture.outputs["Color"], emission.inputs["Color"])
        picture = kit.render()
        left, right = picture[:, :24], picture[:, 24:]
        self.assertLess(left[..., 1].sum(), 0.2 * left[..., 0].sum())
        self.assertGreater(right[..., 1].sum(), 0.8 * right[..., 0].sum())

    def test_the_emitters_colours_at_the_roots(self):
        plane = self.fur(child_type="SIMPLE", rendered_child_count=4)
        colours = plane.data.vertex_colors.new(name="Fur")
        colours.data.foreach_set("color", np.float32([(1, 0, 0, 1), (0, 0.5, 0, 1), (0, 0, 0.2, 1), (1, 1, 1, 1)]).ravel())
        self.read_attribute(plane, "Fur")
        self.compare(0.01)

    def test_places_of_roots(self):
        """Generated is where the root is in the emitter's box."""
        plane = self.fur()
        self.read(kit.material_of(plane, "ShaderNodeEmission"), "Generated")
        self.compare(0.01)

    def read(self, emission, output):
        kit.link(kit.new_node(emission, "ShaderNodeTexCoord").outputs[output], emission.inputs["Color"])

    def two_curves(self):
        """The data and the Emission node of strands of 3 and 4 points, and of a point alone, which is none."""
        if not hasattr(bpy.data, "hair_curves"):
            self.skipTest("this Blender has no Curves objects")
        data = bpy.data.hair_curves.new("Curves")
        if not hasattr(data, "add_curves"):
            self.skipTest("Python cannot make curves in this Blender")
        data.add_curves([3, 1, 4])
        places = [(-0.5, 0, 0), (-0.5, 0, 1), (-0.5, 0, 2), (0, 0, 0), (0.5, 0, 0), (0.5, 0, 1), (0.5, 0, 1.5), (0.5, 0, 2)]
        data.points.foreach_set("position", np.float32(places).ravel())
        data.attributes.new("radius", "FLOAT", "POINT").data.foreach_set("value", np.full(8, 0.3, np.float32))
        return data, kit.material_of(kit.add("Curves", data), "ShaderNodeEmission")

    def test_coordinates_of_curves(self):
        """UV is that of the surface below, Generated the place itself."""
        data, emission = self.two_curves()
        data.attributes.new("surface_uv_coordinate", "FLOAT2", "CURVE").data.foreach_set("vector", np.float32([0.9, 0.2, 0, 0, 0.3, 0.6]))
        self.read(emission, "UV")
        self.compare(0.005)
        self.read(kit.material_of(bpy.data.objects["Curves"], "ShaderNodeEmission"), "Generated")
        self.compare(0.012)

    def test_values_of_curves(self):
        data, emission = self.two_curves()
        data.attributes.new("tint", "FLOAT_COLOR", "CURVE").data.foreach_set(
            "color", np.float32([(1, 0.2, 0, 1), (0, 0, 0, 1), (0, 0.5, 1, 1)]).ravel())
        data.attributes.new("glow", "FLOAT", "POINT").data.foreach_set("value", np.float32([0, 1, 0, 0, 1, 1, 0, 0.5]))
        self.read_attribute(bpy.data.objects["Curves"], "tint")
        glow = kit.new_node(emission, "ShaderNodeAttribute")
        glow.attribute_name = "glow"
        kit.link(glow.outputs["Fac"], emission.inputs["Strength"])
        self.compare(0.005)

    def read_attribute(self, obj, name):
        emission = obj.data.materials[0].node_tree.nodes["Emission"] if obj.data.materials else kit.material_of(obj, "ShaderNodeEmission")
        node = kit.new_node(emission, "ShaderNodeAttribute")
        node.attribute_name = name
        kit.link(node.outputs["Color"], emission.inputs["Color"])
        return emission

    def test_curves_object(self):
        if not hasattr(bpy.data, "hair_curves"):
            self.skipTest("this Blender has no Curves objects")
        kit.add_plane().rotation_euler = (0.3, 0, 0)
        bpy.context.view_layer.objects.active = bpy.data.objects["Plane"]
        bpy.ops.object.curves_random_add()
        curves = bpy.context.object
        kit.material_of(curves, "ShaderNodeEmission")
        bpy.data.objects["Plane"].hide_render = True
        self.compare()

    def test_normals_of_curves(self):
        """Blender's foreach_get copies these from memory that it has freed."""
        if bpy.app.version < (4, 0):
            self.skipTest("no node of this Blender's fibres has normals")
        from sort_blender.export import hair
        data = bpy.data.hair_curves.new("Curves")
        data.add_curves([2, 5, 3])
        data.points.foreach_set("position", np.random.default_rng(1).normal(size=30).astype(np.float32))
        curves = kit.add("Curves", data)
        kit.material_of(curves, "ShaderNodeBsdfHairPrincipled").model = "HUANG"
        normals = hair.of_curves(curves).normals
        self.assertEqual(normals.shape, (10, 3))
        np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1, rtol=1e-5)

    def test_strands_of_a_viewport(self):
        from sort_blender.export import hair
        settings = self.fur(render_step=4, child_type="SIMPLE", rendered_child_count=3).particle_systems[0].settings
        settings.display_step, settings.display_percentage = 2, 50
        depsgraph = bpy.context.evaluated_depsgraph_get()
        obj = bpy.data.objects["Plane"].evaluated_get(depsgraph)
        system, = hair.systems_of(obj, depsgraph.mode)
        strands = hair.of_system(obj, system, depsgraph.mode)
        self.assertEqual(set(strands.counts), {5})
        self.assertLess(len(strands.counts), len(system.child_particles))
        steps = np.diff(strands.points[:, :3].reshape(-1, 5, 3), axis=1)
        np.testing.assert_allclose(np.linalg.norm(steps, axis=2), 0.5, atol=0.1)
        obj.modifiers[0].show_viewport = False
        self.assertEqual(hair.systems_of(obj, depsgraph.mode), [])

    def test_strands_are_not_written_again(self):
        from sort_blender.export.scene import ExportPlan, export_scene
        from sort_blender.messages import Report
        self.fur()
        found = []
        for k in range(2):
            folder = kit.FOLDER / f"fur{k}"
            export_scene(bpy.context.evaluated_depsgraph_get(), ExportPlan(folder), Report())
            scene = json.loads((folder / "scene.json").read_text(encoding="utf-8"))
            self.assertEqual(scene["curves"][0]["curve_count"], 60)
            found.append((folder / scene["curves"][0]["points"]["file"]).stat().st_ino)
        self.assertEqual(found[0], found[1])


kit.main()
