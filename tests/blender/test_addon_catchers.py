"""Shadow catchers next to Cycles': the picture with its alpha, and the pass. Both engines are noisy: the tolerances are a
few times what two runs of Cycles with other seeds differ by."""

import math
import unittest

import bpy
import numpy as np

import blender_scene as kit

MEAN, SPREAD = 0.002, 0.012  # of the differences over the picture


class CatcherTest(unittest.TestCase):
    def setUp(self):
        self.scene = kit.empty_scene(samples=128)
        self.scene.render.film_transparent = True
        self.layer = bpy.context.view_layer
        for name in dir(self.layer):
            if name.startswith("use_pass_") and name != "use_pass_combined":
                setattr(self.layer, name, False)
        self.layer.cycles.use_pass_shadow_catcher = False
        self.floor = kit.add_plane("Floor", size=6)
        self.floor.is_shadow_catcher = True
        kit.material_of(self.floor, "ShaderNodeBsdfDiffuse")
        self.box = kit.add_mesh("Box", [(x, y, z) for x in (-.5, .5) for y in (-.5, .5) for z in (0, 1)],
                                [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (1, 5, 7, 3), (0, 2, 6, 4)])
        kit.material_of(self.box, "ShaderNodeBsdfDiffuse")
        kit.add_camera((0, -4, 5), (math.atan2(4, 4.5), 0, 0))

    def add_sun(self, angle, color=(1, 1, 1)):
        sun = bpy.data.lights.new("Sun", "SUN")
        sun.energy, sun.color, sun.angle = 3, color, 0.05
        return kit.add("Sun", sun, rotation=(0, angle, 0))

    def set_world(self, color):
        kit.set_world(color)

    def compare(self, ours, theirs):
        """By channel; where there is no noise to compare, equal."""
        for c in range(ours.shape[-1]):
            difference = ours[..., c] - theirs[..., c]
            self.assertLess(abs(difference.mean()), MEAN)
            self.assertLess(difference.std(), SPREAD)

    def both(self):
        ours = kit.render()
        self.assertEqual(kit.messages().warnings, [])
        return ours, kit.render("CYCLES")

    def passes(self, engine):
        """Combined and the pass, [rows from the bottom, columns, channels]."""
        channels = kit.render_passes(engine).channels
        return [np.stack([channels[f"{self.layer.name}.{name}.{c}"] for c in letters], axis=2)
                for name, letters in (("Combined", "RGBA"), ("Shadow Catcher", "RGB"))]

    def test_sun(self):
        self.add_sun(0.9)
        ours, theirs = self.both()
        self.assertGreater(ours[..., 3].mean(), 0.1)
        self.assertEqual(float(ours[0, 24, 3]), 0)  # the floor in the sun
        self.compare(ours, theirs)

    def test_world_behind_and_lamp(self):
        self.set_world((0.2, 0.4, 0.8))
        area = bpy.data.lights.new("Area", "AREA")
        area.energy, area.size = 150, 1
        kit.add("Area", area, (-3, 0, 3), (0, -math.pi / 4, 0))
        ours, theirs = self.both()
        self.compare(ours, theirs)
        # With the world in the picture, the same laid over it. Cycles itself counts the box twice there, where it covers
        # part of a pixel, and has a dark line around it.
        self.scene.render.film_transparent = False
        ours, theirs_too = self.both()
        over = theirs + (1 - theirs[..., 3:]) * np.float32((0.2, 0.4, 0.8, 1))
        self.compare(ours, over)
        no_edge = abs(theirs_too - over)[..., 2] < 0.02
        self.assertGreater(no_edge.mean(), 0.9)
        self.compare(ours[no_edge], theirs_too[no_edge])

    def test_lamp_with_nodes_is_no_object(self):
        """It is exported as a mesh that shines."""
        point = bpy.data.lights.new("Point", "POINT")
        point.energy, point.shadow_soft_size, point.use_nodes = 100, 0.3, True
        tree = point.node_tree
        tree.links.new(tree.nodes.new("ShaderNodeLightFalloff").outputs["Quadratic"],
                       tree.nodes["Emission"].inputs["Strength"])
        lamp = kit.add("Point", point, (2, 0, 2))
        lamp.visible_camera = False
        self.layer.cycles.use_pass_shadow_catcher = True
        (_, ours), (_, theirs) = self.passes("SORT"), self.passes("CYCLES")
        self.assertAlmostEqual(float(ours[2, 24, 0]), 1, delta=0.03)
        self.assertLess(float(ours.min()), 0.2)
        self.assertLess(abs(float((ours - theirs).mean())), 0.01)

    def test_pass_by_channel(self):
        """Two suns of other colours; the pass where no box is in the way, for behind it there is all but nothing."""
        self.add_sun(0.8, (1, 0.2, 0.1))
        self.add_sun(-0.8, (0.1, 0.2, 1))
        self.layer.cycles.use_pass_shadow_catcher = True
        (ours, our_pass), (theirs, their_pass) = self.passes("SORT"), self.passes("CYCLES")
        self.assertEqual(kit.messages().warnings, [])
        self.compare(ours, theirs)
        no_box = (ours[..., 3] == 0) & (theirs[..., 3] == 0)
        self.assertEqual(float(ours[..., 3][no_box].max()), 0)
        self.assertLess(float(our_pass[no_box].min()), 0.2)
        difference = (our_pass - their_pass)[no_box]
        self.assertLess(float(abs(difference.mean(axis=0)).max()), 0.005)
        self.assertLess(float(difference.std()), 0.04)

    def test_carrier_of_an_instance_makes_a_catcher(self):
        self.add_sun(0.9)
        expected = kit.render()
        collection = bpy.data.collections.new("Parts")
        self.scene.collection.objects.unlink(self.floor)
        collection.objects.link(self.floor)
        self.floor.is_shadow_catcher = False
        carrier = kit.add("Carrier", None)
        carrier.instance_type, carrier.instance_collection, carrier.is_shadow_catcher = "COLLECTION", collection, True
        np.testing.assert_array_equal(kit.render()[..., 3], expected[..., 3])


kit.main()
