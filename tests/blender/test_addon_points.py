"""Point clouds, and objects without thickness: as in Cycles."""

import unittest

import bpy
import numpy as np

import blender_scene as kit


class PointTest(unittest.TestCase):
    def setUp(self):
        self.scene = kit.empty_scene(size=48, samples=32)
        self.scene.render.film_transparent = True
        self.addCleanup(setattr, self.scene.render, "film_transparent", False)
        kit.add_camera((0, 0, 5))

    def compare(self, atol):
        ours, theirs = kit.render(), kit.render("CYCLES")
        self.assertEqual(kit.messages().warnings, [])
        self.assertGreater(float(theirs[..., 3].mean()), 0.03)
        np.testing.assert_allclose(ours.mean((0, 1)), theirs.mean((0, 1)), atol=atol)
        self.assertLess(float(np.abs(ours - theirs).mean()), 2 * atol)

    def test_points_with_values_of_their_own(self):
        obj = kit.add_mesh("Three", [(-1, 0.2, 0), (1, 0.4, 0), (0, 1, 0.5)], [(0, 1, 2)])
        tree = bpy.data.node_groups.new("Points", "GeometryNodeTree")
        for side in ("INPUT", "OUTPUT"):
            kit.new_group_socket(tree, side, "NodeSocketGeometry", "Geometry")
        made = [tree.nodes.new(kind) for kind in (
            "NodeGroupInput", "GeometryNodeMeshToPoints", "GeometryNodeStoreNamedAttribute", "GeometryNodeSetMaterial",
            "NodeGroupOutput")]
        for a, b in zip(made, made[1:]):
            tree.links.new(a.outputs[0], b.inputs[0])
        _, points, store, wear, _ = made
        points.inputs["Radius"].default_value = 0.4
        store.data_type, store.inputs["Name"].default_value = "FLOAT", "tone"
        height = tree.nodes.new("ShaderNodeSeparateXYZ")
        tree.links.new(tree.nodes.new("GeometryNodeInputPosition").outputs[0], height.inputs[0])
        tree.links.new(height.outputs["Y"], next(s for s in store.inputs if s.name == "Value" and s.enabled))
        emission = kit.material_of(obj, "ShaderNodeEmission")
        tone = kit.new_node(emission, "ShaderNodeAttribute")
        tone.attribute_name = "tone"
        kit.link(tone.outputs["Fac"], emission.inputs["Strength"])
        wear.inputs["Material"].default_value = obj.data.materials[0]
        obj.modifiers.new("Points", "NODES").node_group = tree
        self.compare(0.005)

    def test_objects_without_thickness(self):
        bpy.ops.mesh.primitive_cube_add(size=1, location=(-1, 0, 0))
        cube = bpy.context.object
        cube.scale = (1, 1, 0)
        kit.material_of(cube, "ShaderNodeEmission")
        plane = kit.add_plane(size=1, location=(1, 0, 0), rotation=(0.5, 0, 0))
        plane.scale = (1, 1, 0)
        kit.material_of(plane, "ShaderNodeEmission", Color=(0, 1, 0, 1))
        nothing = kit.add_plane("Nothing")
        nothing.scale = (0, 0, 0)
        self.compare(0.005)


kit.main()
