"""Pointiness, as Cycles works it out of a mesh: bright where it bulges, dark in its folds."""

import math
import unittest

import bpy
import numpy as np

import blender_scene as kit


class PointinessTest(unittest.TestCase):
    def setUp(self):
        kit.empty_scene(size=48, samples=16)
        kit.add_camera((0, -6, 3.5), (math.pi / 2 - 0.53, 0, 0))

    def wavy(self, name, is_split=False, n=24):
        """A sheet of bumps and dents; `is_split`: its faces share no vertices, which Cycles joins by their places."""
        def place(i, j):
            x, y = 4 * i / n - 2, 4 * j / n - 2
            return x, y, 0.4 * math.sin(2.5 * x) * math.cos(2 * y)
        vertices = [place(i, j) for i in range(n + 1) for j in range(n + 1)]
        faces = [(i * (n + 1) + j, (i + 1) * (n + 1) + j, (i + 1) * (n + 1) + j + 1, i * (n + 1) + j + 1)
                 for i in range(n) for j in range(n)]
        if is_split:
            vertices = [vertices[v] for face in faces for v in face]
            faces = [tuple(range(4 * k, 4 * k + 4)) for k in range(len(faces))]
        return kit.add_mesh(name, vertices, faces)

    def shine(self, obj, has_ramp):
        emission = kit.material_of(obj, "ShaderNodeEmission")
        geometry = kit.new_node(emission, "ShaderNodeNewGeometry")
        port = geometry.outputs["Pointiness"]
        if has_ramp:
            ramp = kit.new_node(emission, "ShaderNodeValToRGB")
            ramp.color_ramp.elements[0].position, ramp.color_ramp.elements[1].position = 0.45, 0.55
            kit.link(port, ramp.inputs["Fac"])
            port = ramp.outputs["Color"]
        kit.link(port, emission.inputs["Color"])

    def compare(self):
        ours, theirs = kit.render()[..., :3], kit.render("CYCLES")[..., :3]
        self.assertEqual(kit.messages().warnings, [])
        np.testing.assert_allclose(ours.mean(), theirs.mean(), rtol=0.006)
        difference = (ours - theirs).reshape(8, 6, 8, 6, 3).mean(axis=(1, 3)) / theirs.mean()
        self.assertLess(np.abs(difference).std(), 0.05)  # blocks of pixels, since edges are noisy
        return theirs

    def test_as_in_cycles(self):
        for is_split in (False, True):
            for has_ramp in (False, True):
                with self.subTest(is_split=is_split, has_ramp=has_ramp):
                    self.setUp()
                    self.shine(self.wavy("Sheet", is_split), has_ramp)
                    theirs = self.compare()
        self.assertGreater(theirs.max() - theirs.min(), 0.5, "bumps and dents differ")

    def test_balls_and_boxes(self):
        for make in (lambda: bpy.ops.mesh.primitive_cube_add(size=2), lambda: bpy.ops.mesh.primitive_monkey_add(size=3),
                     lambda: bpy.ops.mesh.primitive_torus_add()):
            self.setUp()
            make()
            with self.subTest(name=bpy.context.object.name):
                self.shine(bpy.context.object, True)
                self.compare()


kit.main()
