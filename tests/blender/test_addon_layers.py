"""Layers that a view layer names, and passes of light: each against Cycles', and by its value."""

import unittest

import bpy
import numpy as np

import blender_scene as kit

LAYER = "View Layer"


class LayerTest(unittest.TestCase):
    """A wall that shines a little, under a lamp; beside it the sky."""

    def setUp(self):
        self.scene = kit.empty_scene(size=32, samples=64)
        self.layer = bpy.context.view_layer
        self.layer.name = LAYER
        for name in dir(self.layer):
            if name.startswith("use_pass_") and name != "use_pass_combined":
                setattr(self.layer, name, False)
        kit.set_world((0.25, 0.25, 0.5))
        self.wall = kit.add_plane(size=2, location=(1, 0, 0))
        self.bsdf = kit.material_of(self.wall, "ShaderNodeBsdfPrincipled", Specular=0.0, Base_Color=(0.5, 0.5, 0.5, 1),
                                    Emission=(0, 0.125, 0, 1), Emission_Strength=1.0)
        self.lamp = kit.add("Lamp", bpy.data.lights.new("Lamp", "SUN"), (0, 0, 5))
        self.lamp.data.energy = 2
        kit.add_camera((0, 0, 4))

    def tearDown(self):
        for aov in list(self.layer.aovs):
            self.layer.active_aov_index = 0
            bpy.ops.scene.view_layer_remove_aov()
        for _ in list(self.layer.lightgroups):
            bpy.ops.scene.view_layer_remove_lightgroup()

    def passes(self, engine="SORT"):
        channels = kit.render_passes(engine).channels
        if engine == "SORT":
            self.assertEqual(kit.messages().warnings, [])
        return channels

    def compare(self, names, atol=0.01):
        """By the names of channels, in the mean of a patch on the wall and of one in the sky. The picture of SORT."""
        ours, theirs = self.passes(), self.passes("CYCLES")
        for name in names:
            for x in (24, 4):
                a, b = (float(picture[f"{LAYER}.{name}"][10:22, x - 3:x + 4].mean()) for picture in (ours, theirs))
                self.assertAlmostEqual(a, b, delta=atol, msg=f"{name} in column {x}")
        return ours

    def test_emission_environment_and_mist_as_in_cycles(self):
        self.layer.use_pass_emit = self.layer.use_pass_environment = self.layer.use_pass_mist = True
        mist = self.scene.world.mist_settings
        mist.start, mist.depth = 2, 5
        for falloff in ("QUADRATIC", "LINEAR", "INVERSE_QUADRATIC"):
            mist.falloff = falloff
            ours = self.compare(["Emit.G", "Emit.B", "Env.R", "Env.B", "Mist.Z"])
        self.assertAlmostEqual(float(ours[f"{LAYER}.Emit.G"][16, 24]), 0.125, delta=1e-3)
        self.assertAlmostEqual(float(ours[f"{LAYER}.Env.B"][16, 4]), 0.5, delta=1e-3)
        self.assertAlmostEqual(float(ours[f"{LAYER}.Mist.Z"][16, 4]), 1, delta=1e-3)

    def test_ambient_occlusion_as_in_cycles(self):
        """Under a roof of coloured glass that the camera does not see, and of a veil before the sky. 20,000 samples a patch have a
        standard error of 0.0035 at most."""
        self.scene.sort.samples = self.scene.cycles.samples = 256
        self.layer.use_pass_ambient_occlusion = True
        self.scene.world.light_settings.distance = 1.5
        for name, x, z, node, inputs in (("Roof", 1, 0.8, "ShaderNodeBsdfTransparent", {"Color": (1, 0.5, 0, 1)}),
                                         ("Veil", -1, 0.1, "ShaderNodeBsdfTransparent", {"Color": (0, 0.25, 1, 1)}),
                                         ("Screen", -1, 0.9, "ShaderNodeEmission", {})):
            plane = kit.add_plane(name=name, size=2, location=(x, 0, z), rotation=(0, 0.3, 0))
            kit.material_of(plane, node, **inputs)
            plane.visible_camera = name == "Veil"
        names = [f"AO.{c}" for c in "RGB"]
        ours = self.compare(names, atol=0.02)
        wall = [float(ours[f"{LAYER}.{name}"][10:22, 21:28].mean()) for name in names]
        self.assertGreater(wall[0] - wall[1], 0.2)
        self.assertGreater(wall[1] - wall[2], 0.2)
        self.scene.world.light_settings.distance = 0
        self.compare(names, atol=0.02)

    def test_shadow_as_in_cycles(self):
        """Under a roof of coloured glass that the camera does not see, by a sun, a lamp that casts no shadow, and one below the wall.
        Cycles 3 has this pass; later ones do not, and it is the same there."""
        self.layer.use_pass_shadow = True
        roof = kit.add_plane(name="Roof", size=2, location=(1, 0, 0.8))
        kit.material_of(roof, "ShaderNodeBsdfTransparent", Color=(1, 0.5, 0, 1))
        roof.visible_camera = False
        bare, below = (kit.add(name, bpy.data.lights.new(name, "SUN"), (0, 0, 5)) for name in ("Bare", "Below"))
        setattr(bare.data if bpy.app.version >= (4, 2, 0) else bare.data.cycles,
                "use_shadow" if bpy.app.version >= (4, 2, 0) else "cast_shadow", False)
        below.rotation_euler = (np.pi, 0, 0)
        expected = {"R": 2 / 3, "G": 0.5, "B": 1 / 3}
        names = [f"Shadow.{c}" for c in expected]
        ours = self.compare(names, atol=0.02) if bpy.app.version < (4, 0, 0) else self.passes()
        for name, value in zip(names, expected.values()):
            self.assertAlmostEqual(float(ours[f"{LAYER}.{name}"][10:22, 21:28].mean()), value, delta=0.02)
            self.assertAlmostEqual(float(ours[f"{LAYER}.{name}"][10:22, 1:8].mean()), 0, delta=1e-6)

    def test_light_groups_as_in_cycles(self):
        for name in ("Lamps", "Sky", "Nothing"):
            bpy.ops.scene.view_layer_add_lightgroup(name=name)
        self.lamp.lightgroup, self.scene.world.lightgroup, self.wall.lightgroup = "Lamps", "Sky", "Elsewhere"
        names = [f"Combined_{group}.{c}" for group in ("Lamps", "Sky", "Nothing") for c in "RGB"]
        ours = self.compare(names, atol=0.02)
        self.assertAlmostEqual(float(ours[f"{LAYER}.Combined_Sky.B"][16, 4]), 0.5, delta=1e-3)
        self.assertGreater(float(ours[f"{LAYER}.Combined_Lamps.R"][16, 24]), 0.25)

    def test_shader_aovs_as_in_cycles(self):
        for name, kind in (("Paint", "COLOR"), ("Height", "VALUE"), ("Unused", "COLOR")):
            bpy.ops.scene.view_layer_add_aov()
            aov = self.layer.aovs[-1]
            aov.name, aov.type = name, kind
        tree = self.bsdf.id_data
        coordinates = kit.new_node(self.bsdf, "ShaderNodeTexCoord")
        paint = tree.nodes.new("ShaderNodeOutputAOV")
        kit.name_aov(paint, "Paint")
        kit.link(coordinates.outputs["UV"], paint.inputs["Color"])
        group = bpy.data.node_groups.new("Inside", "ShaderNodeTree")
        height = group.nodes.new("ShaderNodeOutputAOV")
        kit.name_aov(height, "Height")
        height.inputs["Value"].default_value = -3.5
        kit.new_node(self.bsdf, "ShaderNodeGroup").node_tree = group
        ours = self.compare(["Paint.R", "Paint.G", "Height.X", "Unused.R"], atol=0.05)
        self.assertAlmostEqual(float(ours[f"{LAYER}.Height.X"][16, 24]), -3.5, delta=1e-3)
        self.assertGreater(float(ours[f"{LAYER}.Paint.R"][16, 28]), float(ours[f"{LAYER}.Paint.R"][16, 20]) + 0.1)

    def test_what_is_too_much_is_said(self):
        for _ in range(9):
            bpy.ops.scene.view_layer_add_lightgroup()
        kit.render()
        self.assertIn(f"View layer '{LAYER}': more than 8 light groups are not supported; the others stay black",
                      kit.messages().warnings)


kit.main()
