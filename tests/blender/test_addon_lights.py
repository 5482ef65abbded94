"""A plane under each kind of light has the brightness that Cycles gives it."""

import math
import unittest
from types import SimpleNamespace
from unittest import mock

import bpy
import numpy as np

import blender_scene as kit

MEAN, PIXEL = 0.005, 0.03  # tolerances, relative to Cycles' mean


class LightTest(unittest.TestCase):
    def setUp(self):
        self.scene = kit.empty_scene(samples=128)
        kit.material_of(kit.add_plane(size=6), "ShaderNodeBsdfDiffuse")
        kit.add_camera((0, -7, 4), (math.pi / 2 - 0.6, 0, 0))

    def light(self, kind, scale=(1, 1, 1), **settings):
        data = bpy.data.lights.new("Light", kind)
        for name, value in settings.items():
            setattr(data, name, value)
        light = kit.add("Light", data, (0.5, 0.3, 2.5), (0.3, 0.2, 0))
        light.scale = scale
        return light

    def compare(self, mean=MEAN, pixel=PIXEL):
        rows = slice(0, 36)  # below the light: Cycles' cameras do not see lights
        ours, theirs = (kit.render(engine)[rows, :, :3] for engine in ("SORT", "CYCLES"))
        self.assertGreater(theirs.mean(), 0.001)
        self.assertAlmostEqual(ours.mean() / theirs.mean(), 1, delta=mean)
        rms = math.sqrt(np.square(ours - theirs).mean()) / theirs.mean()
        self.assertLess(rms, pixel)

    def test_point(self):
        self.light("POINT", energy=100, shadow_soft_size=0, color=(1, 0.5, 0.25))
        self.compare()

    def test_soft_point(self):
        for radius in (0.1, 1.5):  # the second one is near, and much darker than a sphere were
            with self.subTest(radius=radius):
                lamp = self.light("POINT", energy=100, shadow_soft_size=radius)
                self.compare()
                bpy.data.objects.remove(lamp)

    def test_portals_are_exported(self):
        lamp = self.light("AREA", scale=(2, -3, 1), shape="ELLIPSE", size=0.5, size_y=0.25)
        lamp.location, lamp.rotation_euler = (1, 2, 3), (0, 0, 0.5)
        lamp.data.cycles.is_portal = True
        lamp.visible_camera = False  # which changes nothing, as in Cycles
        package = kit.export()
        self.assertEqual(package["lights"], [])
        portal, = package["portals"]
        np.testing.assert_allclose(portal["size"], (1, 0.75), rtol=1e-5)
        transform = np.array(portal["transform"]).reshape(4, 4)
        np.testing.assert_allclose(transform[:3, 3], (1, 3, -2), atol=1e-6)
        np.testing.assert_allclose(transform[:3, 2], (0, 1, 0), atol=1e-6)  # light comes in downward, as from a lamp
        np.testing.assert_allclose(transform[:3, :3] @ transform[:3, :3].T, np.eye(3), atol=1e-6)
        self.assertAlmostEqual(np.linalg.det(transform[:3, :3]), 1, places=5)
        lamp.hide_render = True
        self.assertNotIn("portals", kit.export())

    def test_only_area_lamps_are_portals(self):
        for kind in ("POINT", "SPOT", "SUN"):
            self.light(kind).data.cycles.is_portal = True
        package = kit.export()
        self.assertEqual(len(package["lights"]), 3)
        self.assertNotIn("portals", package)

    def test_shadow_caustics(self):
        """Glass under a small lamp and under a small sun in the sky's image: with the flags the picture is as bright, and less noisy."""
        bpy.ops.mesh.primitive_uv_sphere_add(radius=0.7, location=(0, 0.2, 1.2), segments=64)
        glass = bpy.context.object
        for polygon in glass.data.polygons:
            polygon.use_smooth = True
        kit.material_of(glass, "ShaderNodeBsdfGlass", Roughness=0.0)
        world = self.scene.world = bpy.data.worlds.new("World")
        world.use_nodes = True
        image = bpy.data.images.new("Sky", 128, 64, float_buffer=True)
        pixels = np.zeros((64, 128, 4), np.float32)
        pixels[52:54, 60:62, :3] = 600
        image.pixels.foreach_set(pixels.ravel())
        image.pack()
        sky = world.node_tree.nodes.new("ShaderNodeTexEnvironment")
        sky.image = image
        kit.link(sky.outputs["Color"], world.node_tree.nodes["Background"].inputs["Color"])
        lamp = self.light("AREA", energy=60, shape="SQUARE", size=0.1)
        self.scene.sort.samples = 64
        plain = [self.picture(seed) for seed in range(2)]
        glass.cycles.is_caustics_caster = bpy.data.objects["Plane"].cycles.is_caustics_receiver = True
        lamp.data.cycles.is_caustics_light = world.cycles.is_caustics_light = True
        package = kit.export()
        self.assertTrue(package["environment"]["is_caustics_light"] and package["lights"][0]["is_caustics_light"])
        flagged = [self.picture(seed) for seed in range(2)]
        self.assertEqual(kit.messages().warnings, [])
        self.assertAlmostEqual(np.mean(flagged) / np.mean(plain), 1, delta=0.1)  # of which most is the noise of `plain`
        self.assertLess(np.std(flagged[0] - flagged[1]), 0.3 * np.std(plain[0] - plain[1]))

    def picture(self, seed):
        self.scene.sort.seed = seed
        return kit.render("SORT")[:36, :, 0]

    def test_sun(self):
        self.light("SUN", energy=2, angle=0.1)
        self.compare()

    def test_spot(self):
        for radius in (0, 0.3):
            for blend in (0, 0.3, 1):
                with self.subTest(radius=radius, blend=blend):
                    spot = self.light("SPOT", energy=300, shadow_soft_size=radius, spot_size=1.5, spot_blend=blend)
                    spot.rotation_euler = (0.2, 0.3, 0)
                    self.compare(pixel=0.05)
                    self.assertEqual(kit.messages().warnings, [])
                    bpy.data.objects.remove(spot)

    def test_square(self):
        self.light("AREA", energy=100, shape="SQUARE", size=1)
        self.compare()

    def test_rectangle_scaled(self):
        self.light("AREA", scale=(2, 1.5, 1), energy=100, shape="RECTANGLE", size=1, size_y=2)
        self.compare()

    def test_disk(self):
        self.light("AREA", energy=100, shape="DISK", size=1)
        self.compare()

    def test_ellipse_scaled(self):
        self.light("AREA", scale=(1, 0.5, 1), energy=100, shape="ELLIPSE", size=2, size_y=1.2)
        self.compare()
        self.assertEqual(kit.messages().warnings, [])

    def test_spread(self):
        for shape in ("RECTANGLE", "ELLIPSE"):
            with self.subTest(shape=shape):
                lamp = self.light("AREA", energy=100, shape=shape, size=1, size_y=0.6, spread=1.0)
                self.compare(pixel=0.06)  # most of the light on few pixels
                self.assertEqual(kit.messages().warnings, [])
                bpy.data.objects.remove(lamp)

    @unittest.skipIf(bpy.app.version < (4, 0, 0), "it came with 4.0")
    def test_linking(self):
        """Cards over the floor, that lights leave out, or that throw no shadow; each kind of light, a mesh among them."""
        cards = [kit.add_plane(f"Card {k}", 1, location=(k * 1.4 - 1.4, 0, 1)) for k in range(3)]
        for card in cards:
            kit.material_of(card, "ShaderNodeBsdfDiffuse")
        floor = bpy.data.objects["Plane"]
        glow = kit.add_plane("Glow", 0.6, location=(0.2, 0.3, 2.2), rotation=(math.pi, 0, 0))
        kit.material_of(glow, "ShaderNodeEmission", Strength=20.0)
        lamps = {"point": lambda: self.light("POINT", energy=100, shadow_soft_size=0.1), "area": lambda: self.light("AREA", energy=100),
                 "sun": lambda: self.light("SUN", energy=2, angle=0.1), "mesh": lambda: glow}
        cases = (("point", "receiver", {cards[0]: "INCLUDE", floor: "INCLUDE"}), ("area", "receiver", {cards[1]: "EXCLUDE"}),
                 ("sun", "blocker", {cards[2]: "EXCLUDE"}), ("area", "blocker", {cards[0]: "INCLUDE"}),
                 ("mesh", "receiver", {cards[1]: "INCLUDE", floor: "INCLUDE", cards[2]: "EXCLUDE"}))
        for number, (kind, role, entries) in enumerate(cases):
            with self.subTest(kind, role=role):
                glow.hide_render = kind != "mesh" and number != 1  # a second light, which is for all
                light = lamps[kind]()
                linked = bpy.data.collections.new("Linked")
                for obj, state in entries.items():
                    inner = linked
                    if number == 0 and obj == floor:  # by a collection inside
                        inner = bpy.data.collections.new("Inner")
                        linked.children.link(inner)
                    inner.objects.link(obj)
                for entry, obj in zip(linked.collection_objects, linked.objects):
                    entry.light_linking.link_state = entries[obj]
                setattr(light.light_linking, f"{role}_collection", linked)
                self.compare(mean=0.01, pixel=0.06 if glow.hide_render else 0.15)  # which is noise of the mesh
                self.assertEqual(kit.messages().warnings, [])
                setattr(light.light_linking, f"{role}_collection", None)
                if light != glow:
                    bpy.data.objects.remove(light)

    @unittest.skipIf(bpy.app.version < (4, 5, 0), "they came with 4.5")
    def test_what_came_with_4_5(self):
        sizes = {"POINT": {"shadow_soft_size": 0.5}, "SPOT": {"shadow_soft_size": 0.1}, "AREA": {"size": 2}, "SUN": {"angle": 0.3}}
        for kind, size in sizes.items():
            for settings in ({"exposure": 1.5}, {"use_temperature": True, "temperature": 2500}, {"normalize": False}):
                with self.subTest(kind=kind, settings=settings):
                    lamp = self.light(kind, energy={"SUN": 2, "SPOT": 2000}.get(kind, 100), **size, **settings)
                    self.compare(mean=0.01, pixel=0.2 if kind == "SPOT" else 0.08)  # noise of both
                    self.assertEqual(kit.messages().warnings, [])
                    bpy.data.objects.remove(lamp)

    @unittest.skipIf(bpy.app.version < (4, 5, 0), "they came with 4.5")
    def test_points_and_spots_without_soft_falloff(self):
        self.light("POINT", energy=100, shadow_soft_size=0.8, use_soft_falloff=False)
        self.compare()
        self.assertEqual(kit.messages().warnings, [])
        self.light("SPOT", energy=100, shadow_soft_size=0.8, use_soft_falloff=False)
        kit.render()
        self.assertIn("Soft Falloff of spots", kit.messages().warnings[0])

    def test_what_has_no_material(self):
        bpy.data.objects["Plane"].data.materials.clear()
        lamp = self.light("SUN", energy=2, angle=0.1)
        self.compare(mean=0.02)
        bpy.data.objects.remove(lamp)
        kit.set_world((0.3, 0.4, 0.5))
        self.compare()

    def test_emission_node(self):
        light = self.light("POINT", energy=50, shadow_soft_size=0)
        light.data.use_nodes = True
        emission = light.data.node_tree.nodes["Emission"]
        emission.inputs["Color"].default_value = (0.2, 0.6, 1, 1)
        emission.inputs["Strength"].default_value = 3
        self.compare()

    def test_emission_below_zero(self):
        """Places as colours, which have a sign in files."""
        plane = kit.add_plane("Glow", size=1, location=(0, 0, 0.5), rotation=(0.3, 0.5, 0))
        for kind, socket in (("ShaderNodeEmission", "Color"), ("ShaderNodeBsdfPrincipled", "Emission")):
            node = kit.material_of(plane, kind, **({} if socket == "Color" else {"Base Color": (0, 0, 0, 1), "Specular": 0, "Emission Strength": 1}))
            places = kit.new_node(node, "ShaderNodeTexCoord")
            kit.link(places.outputs["Object"], node.inputs[socket if socket in node.inputs else kit.NAMES_IN_4[socket]])
            ours, theirs = kit.render()[..., :3], kit.render("CYCLES")[..., :3]
            self.assertLess(theirs.min(), -0.3)
            self.assertLess(np.abs(ours - theirs).mean(), 0.003)

    def test_light_that_is_not_finite(self):
        self.light("SUN", energy=2)
        dimmed = kit.render()
        for settings, strength in (({"energy": math.inf}, None), ({"energy": 1e30}, 1e30), ({"energy": math.nan}, None)):
            with self.subTest(settings=settings, strength=strength):
                light = self.light("POINT", **settings)
                if strength:
                    light.data.use_nodes = True
                    light.data.node_tree.nodes["Emission"].inputs["Strength"].default_value = strength
                picture = kit.render()
                self.assertIn("infinite or no number; it is left out", kit.messages().warnings[0])
                self.assertTrue((picture == dimmed).all())
                bpy.data.objects.remove(light)
        light = self.light("AREA", energy=5)
        light.location.x = math.nan
        self.assertTrue((kit.render() == dimmed).all())
        self.assertIn("nowhere", kit.messages().warnings[0])
        light.location.x, light.data.size = 0, 1e30
        light.scale, light.data.cycles.is_portal = (1e20, 1, 1), True
        self.assertTrue((kit.render() == dimmed).all())
        self.assertIn("infinitely large", kit.messages().warnings[0])
        kit.add_plane("Lost", location=(math.nan, 0, 0))
        self.assertTrue((kit.render() == dimmed).all())
        self.assertIn("Object 'Lost': its place is no number; it is left out", kit.messages().warnings)

    def test_world_that_is_not_finite(self):
        world = bpy.data.worlds.new("World")
        world.use_nodes = True
        self.scene.world = world
        background = world.node_tree.nodes["Background"]
        background.inputs["Color"].default_value = (10, 10, 10, 1)
        for strength in (math.inf, math.nan):
            with self.subTest(strength=strength):
                background.inputs["Strength"].default_value = strength
                kit.render()
                self.assertIn("infinite or no number; it is black", kit.messages().warnings[0])

    def test_world_colour(self):
        world = bpy.data.worlds.new("World")
        world.use_nodes = True
        world.node_tree.nodes["Background"].inputs["Color"].default_value = (0.2, 0.4, 0.8, 1)
        world.node_tree.nodes["Background"].inputs["Strength"].default_value = 1.5
        self.scene.world = world
        self.compare()

    def test_filter_glossy_as_in_cycles(self):
        """A floor beside things that throw caustics on it: mirrors, metal, glass, plastic."""
        self.scene.sort.samples = self.scene.cycles.samples = 256
        self.light("AREA", energy=150, shape="SQUARE", size=1)
        wall = kit.add_plane("Wall", size=2, location=(0, 1.2, 1), rotation=(math.pi / 2, 0, 0))
        cases = (("ShaderNodeBsdfGlossy", 1.0, {"Roughness": 0.0}), ("ShaderNodeBsdfGlossy", 0.5, {"Roughness": 0.3}),
                 ("ShaderNodeBsdfGlass", 1.0, {"Roughness": 0.0}), ("ShaderNodeBsdfPrincipled", 1.0, {"Transmission": 1.0}),
                 ("ShaderNodeBsdfPrincipled", 1.0, {"Roughness": 0.1, "Metallic": 1.0}),
                 ("ShaderNodeBsdfPrincipled", 1.0, {"Roughness": 0.2}))
        for node, strength, inputs in cases:
            with self.subTest(node=node, strength=strength, **inputs):
                kit.material_of(wall, node, **inputs)
                self.scene.sort.filter_glossy = self.scene.cycles.blur_glossy = strength
                ours, theirs = self.blocks("SORT"), self.blocks("CYCLES")
                self.assertAlmostEqual(ours.mean() / theirs.mean(), 1, delta=0.004 if bpy.app.version < (4, 0, 0) else 0.012)
                self.assertLess(math.sqrt(np.square(ours - theirs).mean()) / theirs.mean(), 0.015 if bpy.app.version < (4, 0, 0) else 0.03)
        self.scene.sort.filter_glossy = 0
        self.assertGreater(self.blocks("SORT").mean() / theirs.mean(), 1.01)

    def blocks(self, engine):
        """Means of 6 x 6 pixels of the floor."""
        return kit.render(engine)[:36, :, :3].reshape(6, 6, 8, 6, 3).mean(axis=(1, 3))

    def test_a_sky_that_cannot_be_painted_is_magenta(self):
        """Hosek / Wilkie, without the program that paints it."""
        world = self.scene.world = bpy.data.worlds.new("World")
        world.use_nodes = True
        sky = world.node_tree.nodes.new("ShaderNodeTexSky")
        sky.sky_type, sky.turbidity = "HOSEK_WILKIE", 2.5
        kit.link(sky.outputs["Color"], world.node_tree.nodes["Background"].inputs["Color"])
        from sort_blender.export import background
        app = SimpleNamespace(binary_path="/bin/false", tempdir=bpy.app.tempdir)
        with mock.patch.object(background, "bpy", SimpleNamespace(app=app)):
            picture = kit.render()
        np.testing.assert_allclose(picture[-1, 0, :3], (1, 0, 1), atol=1e-3)
        self.assertRegex(kit.messages().warnings[0], "World 'World', node 'Sky Texture': .* painted by Cycles.*failed \\(1\\)")
        kit.render()
        self.assertEqual(kit.messages().warnings, [])

    def test_world_image_turned(self):
        world = bpy.data.worlds.new("World")
        self.scene.world = world
        world.use_nodes = True
        tree = world.node_tree
        image = bpy.data.images.new("Sky", 64, 32, float_buffer=True)
        v, u = np.mgrid[0:32, 0:64]
        pixels = np.stack([u / 64, v / 32, (u > 32) * 1.0, np.ones_like(u)], axis=-1)
        image.pixels.foreach_set(pixels.astype(np.float32).ravel())
        image.pack()
        sky, mapping, coordinate = (tree.nodes.new(f"ShaderNode{name}")
                                    for name in ("TexEnvironment", "Mapping", "TexCoord"))
        sky.image = image
        mapping.inputs["Rotation"].default_value = (0.3, -0.5, 1.1)
        tree.links.new(coordinate.outputs["Generated"], mapping.inputs["Vector"])
        tree.links.new(mapping.outputs["Vector"], sky.inputs["Vector"])
        tree.links.new(sky.outputs["Color"], tree.nodes["Background"].inputs["Color"])
        self.compare(pixel=0.06)
        self.assertEqual(kit.messages().warnings, [])

    def shine_on(self, diffuse=0.4):
        """The plane reflects in two ways."""
        kit.material_of(bpy.data.objects["Plane"], "ShaderNodeBsdfPrincipled",
                        **{"Base Color": (diffuse, diffuse, diffuse, 1), "Roughness": 0.5, "Specular": 1})

    def test_lights_for_some_rays(self):
        self.shine_on()
        for name in ("visible_diffuse", "visible_glossy", "visible_transmission"):
            with self.subTest(name=name):
                lamp = self.light("AREA", energy=100, shape="SQUARE", size=1)
                setattr(lamp, name, False)
                self.compare(mean=0.01, pixel=0.06)
                self.assertEqual(kit.messages().warnings, [])
                bpy.data.objects.remove(lamp)

    @unittest.skipIf(bpy.app.version < (4, 0, 0), "its layers came with 4.0")
    def test_layers_of_the_principled_bsdf(self):
        kit.set_world((0.3, 0.3, 0.3))
        self.light("AREA", energy=100, shape="SQUARE", size=1)
        for inputs in ({"Specular IOR Level": 1.0}, {"Specular Tint": (1, 0.5, 0.1, 1), "Specular IOR Level": 1.0},
                       {"Coat Weight": 1.0, "Coat Roughness": 0.3}, {"Coat Weight": 0.7, "Coat Tint": (1, 0.5, 0.2, 1), "Coat IOR": 1.8, "Coat Roughness": 0.3},
                       {"Anisotropic": 0.8, "Specular IOR Level": 1.0}):
            with self.subTest(inputs=inputs):
                kit.material_of(bpy.data.objects["Plane"], "ShaderNodeBsdfPrincipled",
                                **{"Base Color": (0.6, 0.5, 0.4, 1), "Roughness": 0.4} | inputs)
                self.compare(mean=0.006, pixel=0.06)

    def test_a_lamp_hides_nothing(self):
        """A large one before a small one, and the sky behind both."""
        kit.set_world((0.3, 0.3, 0.3))
        kit.material_of(kit.add_plane("Blocker", size=0.5, location=(0.2, 0, 1)), "ShaderNodeBsdfDiffuse")
        for settings in ({}, {"cast_shadow": False}, {"use_multiple_importance_sampling": False}, {"max_bounces": 0}):
            with self.subTest(settings=settings):
                large = self.light("AREA", energy=100, shape="SQUARE", size=2)
                small = self.light("AREA", energy=100, shape="SQUARE", size=0.5)
                small.location.z = 4
                for name, value in settings.items():
                    self.set_of_cycles(large.data, name, value)
                # Without shadows Cycles loses what light sampling leaves to rays that something stops.
                self.compare(mean=0.03 if "cast_shadow" in settings else 0.01, pixel=0.06)
                self.assertEqual(kit.messages().warnings, [])
                bpy.data.objects.remove(large)
                bpy.data.objects.remove(small)

    @staticmethod
    def set_of_cycles(light, name, value):
        if hasattr(light.cycles, name):
            setattr(light.cycles, name, value)
        else:
            light.use_shadow = value  # since 4.2 of all engines

    def wire(self, lamp):
        """Nodes that make it twice as bright, and are no plain values."""
        lamp.data.use_nodes = True
        emission = lamp.data.node_tree.nodes["Emission"]
        emission.inputs["Color"].default_value = (0.5, 1, 0.8, 1)
        double, path = (kit.new_node(emission, "ShaderNode" + name) for name in ("Math", "LightPath"))
        double.operation = "MULTIPLY_ADD"
        double.inputs[1].default_value, double.inputs[2].default_value = 0, 2
        kit.link(path.outputs["Ray Depth"], double.inputs[0])
        kit.link(double.outputs["Value"], emission.inputs["Strength"])
        return lamp

    def test_lamps_with_nodes(self):
        """What they have in common with plain ones."""
        self.shine_on()
        kit.set_world((0.1, 0.1, 0.1))
        kit.material_of(kit.add_plane("Blocker", size=0.5, location=(0.2, 0, 1)), "ShaderNodeBsdfDiffuse")
        shapes = (("AREA", {"shape": "RECTANGLE", "size": 1, "size_y": 0.6}), ("POINT", {"shadow_soft_size": 0.2}))
        for kind, shape in shapes:
            for settings in ({}, {"cast_shadow": False}, {"use_multiple_importance_sampling": False},
                             {"max_bounces": 0}, {"visible_glossy": False}):
                with self.subTest(kind=kind, settings=settings):
                    lamp = self.wire(self.light(kind, energy=60, **shape))
                    for name, value in settings.items():
                        if name.startswith("visible"):
                            setattr(lamp, name, value)
                        else:
                            self.set_of_cycles(lamp.data, name, value)
                    self.compare(mean=0.03 if "cast_shadow" in settings else 0.01, pixel=0.1)
                    self.assertEqual(kit.messages().warnings, [])
                    bpy.data.objects.remove(lamp)

    def test_spread_of_lamps_with_nodes(self):
        for shape in ("RECTANGLE", "ELLIPSE"):
            for spread in (1.0, 2.5):
                with self.subTest(shape=shape, spread=spread):
                    lamp = self.wire(self.light("AREA", energy=100, shape=shape, size=1, size_y=0.6, spread=spread))
                    self.compare(pixel=0.1)
                    self.assertEqual(kit.messages().warnings, [])
                    bpy.data.objects.remove(lamp)

    def test_a_lamp_with_nodes_that_the_camera_sees(self):
        lamp = self.wire(self.light("AREA", energy=20, shape="SQUARE", size=1))
        lamp.location, lamp.rotation_euler, lamp.visible_camera = (0, 0, 1), (math.pi / 2, 0, 0), True
        self.compare(mean=0.01, pixel=0.08)

    def test_a_lamp_that_the_camera_sees(self):
        lamp = self.light("AREA", energy=100, shape="SQUARE", size=1)
        lamp.location, lamp.rotation_euler, lamp.visible_camera = (0, 0, 1), (math.pi / 2, 0, 0), True
        self.compare(mean=0.01, pixel=0.06)

    def test_a_world_for_some_rays(self):
        self.shine_on()
        world = kit.set_world((0.4, 0.5, 0.6))
        for name in ("camera", "diffuse", "glossy"):
            with self.subTest(name=name):
                setattr(world.cycles_visibility, name, False)
                # Where Cycles scatters, what it drew decides what it sees, not what each part reflects.
                self.compare(mean=0.01 if name == "camera" else 0.03, pixel=0.05)
                setattr(world.cycles_visibility, name, True)

    def test_the_camera_does_not_see_lights(self):
        """A large lamp that faces it, a mirror below that shows the lamp."""
        kit.set_world((0.1, 0.2, 0.3))
        kit.material_of(bpy.data.objects["Plane"], "ShaderNodeBsdfGlossy", Roughness=0.1)
        lamp = kit.add("Lamp", bpy.data.lights.new("Lamp", "AREA"), (0, 1, 2), (math.pi / 2, 0, 0))
        lamp.rotation_euler.x = -math.pi / 2 + 0.6
        lamp.data.size, lamp.data.energy = 3, 100
        ours, theirs = kit.render()[..., :3], kit.render("CYCLES")[..., :3]
        self.assertGreater(theirs.max(), 0.5)  # it is mirrored
        np.testing.assert_allclose(ours[44:, 20:28], theirs[44:, 20:28], atol=0.05)
        self.assertLess(np.abs(ours - theirs).mean(), 0.06)


kit.main()
