"""Normals that nodes bend far from the surface's, seen steeply and at a grazing angle, next to Cycles'."""

import math
import unittest

import bpy
import numpy as np

import blender_scene as kit

TILTS = ((0.8, 0, 0.3), (0.6, -0.6, 0.3))
MEAN = 0.012


class NormalTest(unittest.TestCase):
    def setUp(self):
        scene = kit.empty_scene(size=16, samples=121)
        self.plane = kit.add_plane(size=40)
        world = scene.world = bpy.data.worlds.new("World")
        world.use_nodes = True
        tree = world.node_tree  # brighter to one side, so that directions matter
        where, axes = tree.nodes.new("ShaderNodeTexCoord"), tree.nodes.new("ShaderNodeSeparateXYZ")
        most = tree.nodes.new("ShaderNodeMath")
        most.operation, most.inputs[1].default_value = "MAXIMUM", 0.05
        tree.links.new(where.outputs["Generated"], axes.inputs[0])
        tree.links.new(axes.outputs[0], most.inputs[0])
        tree.links.new(most.outputs[0], tree.nodes["Background"].inputs["Strength"])
        tree.nodes["Background"].inputs["Color"].default_value = (1, 1, 1, 1)

    def look(self, degrees):
        angle = math.radians(degrees)
        camera = bpy.context.scene.camera or kit.add_camera()
        camera.location, camera.rotation_euler = (0, -6 * math.sin(angle), 6 * math.cos(angle)), (angle, 0, 0)
        camera.data.lens = 100

    def compare(self, node, where, mean=MEAN):
        for degrees in (10, 75):
            with self.subTest(node=node.bl_idname, where=where, degrees=degrees):
                self.look(degrees)
                ours, theirs = (kit.render(engine)[..., :3].mean() for engine in ("SORT", "CYCLES"))
                self.assertEqual(kit.messages().warnings, [])
                self.assertGreater(theirs, 0.01)
                self.assertAlmostEqual(ours / theirs, 1, delta=mean)

    def test_normal_maps(self):
        for kind, inputs in (("ShaderNodeBsdfDiffuse", {}), ("ShaderNodeBsdfGlossy", {"Roughness": 0.2}),
                             ("ShaderNodeBsdfPrincipled", {"Roughness": 0.3})):
            node = kit.material_of(self.plane, kind, **inputs)
            bend = kit.new_node(node, "ShaderNodeNormalMap")
            kit.link(bend.outputs[0], node.inputs["Normal"])
            for tilt in TILTS:
                unit = np.array(tilt) / np.linalg.norm(tilt)
                bend.inputs["Color"].default_value = (*(unit / 2 + 0.5), 1)
                self.compare(node, tilt)

    def test_bumps(self):
        node = kit.material_of(self.plane, "ShaderNodeBsdfDiffuse")
        bump, noise = kit.new_node(node, "ShaderNodeBump"), kit.new_node(node, "ShaderNodeTexNoise")
        noise.inputs["Scale"].default_value, bump.inputs["Distance"].default_value = 60, 0.3
        kit.link(noise.outputs[0], bump.inputs["Height"])
        kit.link(bump.outputs[0], node.inputs["Normal"])
        self.compare(node, "bump", 0.02)  # the noise of the height on few pixels


if __name__ == "__main__":
    kit.main()
