"""Settings outside of node trees: each is followed, or a warning says that it is not; nothing is silent."""

import math
import unittest

import bpy
import numpy as np

import blender_scene as kit
import settings_sweep
from settings_ignored import IGNORED, ONLY_WITH


class SweepTest(unittest.TestCase):
    """All settings that this Blender has, one at a time."""

    @classmethod
    def setUpClass(cls):
        settings_sweep.make_scene()

    def test_nothing_is_silent(self):
        settings_sweep.reopen()
        usual = settings_sweep.outcome()
        self.assertEqual(settings_sweep.outcome(), usual)
        silent, twice, stale, count = [], [], set(IGNORED), 0
        for owner, get in settings_sweep.owners().items():
            for identifier in [prop.identifier for prop in settings_sweep.settings_of(get())]:
                reasons = [row for row in IGNORED if row.matches(owner, identifier)]
                stale -= set(reasons)
                twice += [f"{owner}: {identifier}: {[str(row) for row in reasons]}"] if len(reasons) > 1 else []
                if reasons:
                    continue
                count += 1
                given = next((row for row in ONLY_WITH if row.matches(owner, identifier)), None)
                if not self.is_heard(owner, identifier, given, usual):
                    silent.append(f"{owner}: {identifier}")
        self.assertEqual(silent, [], "these change neither what is exported nor the warnings")
        self.assertEqual(twice, [], "the list has more than one reason for these")
        self.assertGreater(count, 100)
        if bpy.app.version < (4, 0, 0):  # the list knows later versions too
            self.assertEqual([str(row) for row in stale if not row.is_later], [], "there are no such settings")

    def is_heard(self, owner, identifier, given, usual):
        """One other value at least makes a difference. `given`: without which the setting means nothing."""
        before = given.apply if given else None
        if before:
            settings_sweep.reopen()
            before()
            usual = settings_sweep.outcome()
        return any(settings_sweep.outcome() != usual for _ in settings_sweep.changes(owner, identifier, before))


class FollowedTest(unittest.TestCase):
    """Pictures next to Cycles'."""

    def setUp(self):
        self.scene = kit.empty_scene(samples=144)
        self.layer = bpy.context.view_layer
        for collection in list(bpy.data.collections):
            bpy.data.collections.remove(collection)
        self.floor = kit.add_plane("Floor", size=8)
        kit.material_of(self.floor, "ShaderNodeBsdfDiffuse")
        self.parts = bpy.data.collections.new("Parts")
        self.scene.collection.children.link(self.parts)
        self.ball = self.add_ball("Ball", (0, 0, 0.8), self.parts)
        kit.material_of(self.ball, "ShaderNodeBsdfDiffuse")
        kit.add_camera((0, -6, 3), (math.pi / 2 - 0.45, 0, 0))
        self.sun = self.add_lamp("SUN", energy=3, angle=0.05)
        self.set_world((0.2, 0.3, 0.5))
        self.scene.cycles.film_exposure = 1
        for name in ("use_sky", "use_solid", "use_strand", "use_motion_blur"):
            setattr(self.layer, name, True)

    def tearDown(self):
        self.setUp()  # what is the view layer's and the scene's stays in Blender

    def add_ball(self, name, place, collection):
        bpy.ops.mesh.primitive_uv_sphere_add(segments=32, ring_count=16, radius=0.8, location=place)
        ball = bpy.context.object
        ball.name = name
        for polygon in ball.data.polygons:
            polygon.use_smooth = True
        for other in ball.users_collection:
            other.objects.unlink(ball)
        collection.objects.link(ball)
        return ball

    def add_lamp(self, kind, place=(1, -1, 4), **settings):
        data = bpy.data.lights.new(kind, kind)
        for name, value in settings.items():
            setattr(data, name, value)
        return kit.add(kind, data, place, (0.4, 0.3, 0))

    def set_world(self, color):
        self.scene.world = self.scene.world or bpy.data.worlds.new("World")
        self.scene.world.use_nodes = True
        self.scene.world.node_tree.nodes["Background"].inputs["Color"].default_value = (*color, 1)

    def compare(self, mean=0.006, spread=0.03, warnings=(), channels=4):
        """All channels; Cycles' mean. `spread`: of the differences of blocks of 4 x 4 pixels."""
        ours = kit.render()
        self.assertEqual(kit.messages().warnings, list(warnings))
        theirs = kit.render("CYCLES")
        scale = max(abs(theirs[..., :3]).mean(), 1e-3)
        difference = (ours - theirs)[..., :channels]
        blocks = difference.reshape(12, 4, 12, 4, channels).mean(axis=(1, 3)) / scale
        np.testing.assert_allclose(difference.mean(axis=(0, 1)) / scale, 0, atol=mean)
        self.assertLess(np.abs(blocks).std(), spread)
        return theirs

    def layer_collection(self):
        return self.layer.layer_collection.children["Parts"]

    def test_holdout_of_a_collection(self):
        for is_transparent in (False, True):
            self.scene.render.film_transparent = is_transparent
            usual = kit.render()
            self.layer_collection().holdout = True
            theirs = self.compare()
            self.assertGreater(np.count_nonzero(theirs[..., 3] < 0.01), 50, "a hole")
            self.assertGreater(np.abs(kit.render() - usual).mean(), 0.01)
            self.layer_collection().holdout = False
        self.scene.render.film_transparent = False

    def test_holdout_of_instances(self):
        """Instances are holdouts if their carrier or its collection is; the holdout of the copied object does not count."""
        stock = bpy.data.collections.new("Stock")
        ball = self.add_ball("Copied", (0, 0, 0), stock)
        kit.material_of(ball, "ShaderNodeBsdfDiffuse")
        carrier = bpy.data.objects.new("Carrier", None)
        carrier.location = (1.7, 0, 0.8)
        carrier.instance_type, carrier.instance_collection = "COLLECTION", stock
        self.parts.objects.link(carrier)
        for thing, name in ((self.layer_collection(), "holdout"), (carrier, "is_holdout"), (ball, "is_holdout"),
                            (self.layer_collection(), "indirect_only")):
            with self.subTest(thing=thing.name, name=name):
                setattr(thing, name, True)
                self.compare()
                setattr(thing, name, False)

    def test_indirect_only(self):
        self.layer_collection().indirect_only = True
        self.compare()

    def test_what_a_view_layer_leaves_out(self):
        for name in ("use_sky", "use_solid"):
            for is_transparent in (False, True):
                with self.subTest(name=name, is_transparent=is_transparent):
                    setattr(self.layer, name, False)
                    self.scene.render.film_transparent = is_transparent
                    self.compare()
                    setattr(self.layer, name, True)
        self.scene.render.film_transparent = False

    def test_clipping(self):
        camera = self.scene.camera.data
        for kind in ("PERSP", "ORTHO"):
            with self.subTest(kind=kind):
                camera.type, camera.ortho_scale = kind, 5
                camera.clip_start, camera.clip_end = 5.7, 8.0  # through the ball, and off the floor
                self.compare(spread=0.06)
        camera.type = "PANO"
        panorama = kit.panorama_of(camera)
        panorama.panorama_type, panorama.fisheye_fov = "FISHEYE_EQUIDISTANT", 1.5
        self.compare(spread=0.06, channels=3)  # the frame around the circle has another alpha

    def test_a_working_space_of_other_primaries_is_told(self):
        if not hasattr(bpy.data, "colorspace"):
            self.skipTest("in this Blender all files have the same")
        self.addCleanup(bpy.ops.wm.set_working_color_space, working_space="Linear Rec.709", convert_colors=False)
        bpy.ops.wm.set_working_color_space(working_space="ACEScg", convert_colors=False)
        kit.add_camera()
        kit.render()
        self.assertIn("the file's is 'ACEScg'", kit.messages().warnings[0])

    def test_exposure_of_the_film(self):
        for exposure in (0.25, 3.0):
            self.scene.cycles.film_exposure = exposure
            self.compare()
        self.assertEqual(kit.export()["settings"]["film_exposure"], 3)

    def test_light_below_zero(self):
        """It takes away what others bring."""
        self.floor.data.materials.clear()
        kit.material_of(self.floor, "ShaderNodeBsdfDiffuse")
        for kind, settings in (("POINT", {"shadow_soft_size": 0.2}), ("SPOT", {"shadow_soft_size": 0}), ("AREA", {"size": 1})):
            with self.subTest(kind=kind):
                lamp = self.add_lamp(kind, energy=-60, **settings)
                self.compare()
                bpy.data.objects.remove(lamp)
        self.sun.data.energy = -0.5
        self.compare()
        self.sun.data.energy = 3
        self.set_world((-0.2, 0.1, 0.1))
        self.compare()
        self.set_world((0.2, 0.3, 0.5))
        kit.material_of(self.ball, "ShaderNodeEmission", Strength=-2.0)
        self.compare()


class FoldedTest(unittest.TestCase):
    """Lights whose nodes say the same for all rays stay lights, of the colour that the nodes make."""

    setUp, tearDown = FollowedTest.setUp, FollowedTest.tearDown
    add_ball, add_lamp, set_world, compare = (FollowedTest.add_ball, FollowedTest.add_lamp, FollowedTest.set_world,
                                              FollowedTest.compare)

    def nodes_of(self, lamp):
        lamp.data.use_nodes = True
        return lamp.data.node_tree, lamp.data.node_tree.nodes["Emission"]

    def blackbody(self, lamp, temperature=2500):
        tree, emission = self.nodes_of(lamp)
        body = tree.nodes.new("ShaderNodeBlackbody")
        body.inputs[0].default_value = temperature
        tree.links.new(body.outputs[0], emission.inputs["Color"])
        return tree, emission, body

    def lights(self):
        return kit.export()["lights"]

    def test_blackbody(self):
        self.set_world((0, 0, 0))
        theirs = {}
        for kind, settings in (("SUN", {"energy": 3, "angle": 0.05}), ("POINT", {"energy": 200, "shadow_soft_size": 0}),
                               ("SPOT", {"energy": 300, "shadow_soft_size": 0.1}), ("AREA", {"energy": 100})):
            with self.subTest(kind=kind):
                bpy.data.objects.remove(self.sun)
                self.sun = self.add_lamp(kind, **settings)
                self.blackbody(self.sun)
                theirs[kind] = self.compare(mean=0.015 if kind == "SPOT" else 0.006)[10, 24]  # Cycles' noise
                self.assertEqual(len(self.lights()), 1, "no mesh")
        self.assertGreater(theirs["SUN"][0], 2 * theirs["SUN"][2], "red")

    def test_trees_without_places(self):
        """Through a node group, mathematics, ramps, mixed with another Emission."""
        self.set_world((0, 0, 0))
        tree, emission, body = self.blackbody(self.sun, 9000)
        group = bpy.data.node_groups.new("Inner", "ShaderNodeTree")
        kit.new_group_socket(group, "INPUT", "NodeSocketFloat", "Heat")
        kit.new_group_socket(group, "OUTPUT", "NodeSocketColor", "Tint")
        start, end = group.nodes.new("NodeGroupInput"), group.nodes.new("NodeGroupOutput")
        inner, ramp = group.nodes.new("ShaderNodeBlackbody"), group.nodes.new("ShaderNodeHueSaturation")
        ramp.inputs["Hue"].default_value = 0.7
        group.links.new(start.outputs[0], inner.inputs[0])
        group.links.new(inner.outputs[0], ramp.inputs["Color"])
        group.links.new(ramp.outputs[0], end.inputs[0])
        use = tree.nodes.new("ShaderNodeGroup")
        use.node_tree = group
        use.inputs[0].default_value = 4000
        tree.links.new(use.outputs[0], emission.inputs["Color"])
        power = tree.nodes.new("ShaderNodeMath")
        power.operation = "POWER"
        power.inputs[0].default_value, power.inputs[1].default_value = 1.5, 2
        tree.links.new(power.outputs[0], emission.inputs["Strength"])
        second, mix = tree.nodes.new("ShaderNodeEmission"), tree.nodes.new("ShaderNodeMixShader")
        tree.links.new(body.outputs[0], second.inputs["Color"])
        tree.links.new(emission.outputs[0], mix.inputs[1])
        tree.links.new(second.outputs[0], mix.inputs[2])
        tree.links.new(mix.outputs[0], tree.nodes["Light Output"].inputs["Surface"])
        self.compare()
        self.assertEqual(len(self.lights()), 1)

    def test_suns_that_differ_from_ray_to_ray(self):
        """Said, and taken as reflections see them."""
        tree, emission = self.nodes_of(self.sun)
        path = tree.nodes.new("ShaderNodeLightPath")
        tree.links.new(path.outputs["Is Camera Ray"], emission.inputs["Strength"])
        said = ["Light 'SUN': its nodes may differ from ray to ray; all of its light is as they have it for the middle of the sun, "
                "seen by a reflection"]
        self.compare(warnings=said)


if __name__ == "__main__":
    kit.main()
