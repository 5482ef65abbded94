"""Passes of light: they make the picture, they are Cycles' passes, and a compositor puts them together."""

import unittest

import bpy
import numpy as np

import blender_scene as kit
from feature_kit import composite, mixed

LAYER = "View Layer"
KINDS = {"diffuse": "Diff", "glossy": "Gloss", "transmission": "Trans"}
NAMES = [start + end for start in KINDS.values() for end in ("Dir", "Ind", "Col")] + ["Emit", "Env"]


class LightPassTest(unittest.TestCase):
    """Six patches of a wall, before a panel that shines and a coloured wall, under a lamp and the sky: matt paint, a
    translucent sheet, rough metal, a clear sheet, paint under a gloss, paint that is half a hole to the sky."""

    def setUp(self):
        self.scene = kit.empty_scene(size=48, samples=256)
        self.scene.render.resolution_x = 72
        self.scene.cycles.film_exposure = 0.6
        self.layer = bpy.context.view_layer
        self.layer.name = LAYER
        for name in dir(self.layer):
            if name.startswith("use_pass_") and name != "use_pass_combined":
                setattr(self.layer, name, False)
        for kind in KINDS:
            for part in ("direct", "indirect", "color"):
                setattr(self.layer, f"use_pass_{kind}_{part}", True)
        self.layer.use_pass_emit = self.layer.use_pass_environment = True
        kit.set_world((0.25, 0.3, 0.5))
        nodes = (("ShaderNodeBsdfDiffuse", {"Color": (0.8, 0.4, 0.1, 1)}),
                 ("ShaderNodeBsdfTranslucent", {"Color": (0.7, 0.8, 0.3, 1)}),
                 ("ShaderNodeBsdfGlossy", {"Color": (0.9, 0.7, 0.3, 1), "Roughness": 0.3}),
                 ("ShaderNodeBsdfRefraction", {"Color": (0.9, 0.9, 1, 1), "IOR": 1.0, "Roughness": 0.0}),
                 ("ShaderNodeBsdfPrincipled", {"Base_Color": (0.1, 0.3, 0.8, 1), "Roughness": 0.4,
                                                "Emission": (0, 0.1, 0.05, 1), "Emission_Strength": 1.0}),
                 ("ShaderNodeBsdfPrincipled", {"Base_Color": (0.8, 0.8, 0.8, 1), "Specular": 0.0, "Alpha": 0.5}))
        for i, (node_type, inputs) in enumerate(nodes):
            plane = kit.add_plane(name=f"Patch {i}", size=0.9, location=(i % 3 - 1, 0.5 - i // 3, 0))
            kit.material_of(plane, node_type, **inputs)
        panel = kit.add_plane(name="Panel", size=2, location=(-3, 0, 1.5), rotation=(0, 1.2, 0))
        kit.material_of(panel, "ShaderNodeEmission", Color=(1, 0.8, 0.6, 1), Strength=4)
        wall = kit.add_plane(name="Wall", size=6, location=(3, 0, 1), rotation=(0, -1.2, 0))
        kit.material_of(wall, "ShaderNodeBsdfDiffuse", Color=(0.8, 0.3, 0.3, 1))
        behind = kit.add_plane(name="Behind", size=1.6, location=(-2, -1, -3))
        kit.material_of(behind, "ShaderNodeBsdfDiffuse", Color=(0.3, 0.8, 0.3, 1))
        lamp = kit.add("Lamp", bpy.data.lights.new("Lamp", "AREA"), (1, 0, 3), (0, 0.3, 0))
        lamp.data.energy, lamp.data.size = 60, 1
        kit.add_camera((0, 0, 4))

    def passes(self, engine="SORT"):
        channels = kit.render_passes(engine).channels
        if engine == "SORT":
            self.assertEqual(kit.messages().warnings, [])
        return {name: np.stack([channels[f"{LAYER}.{name}.{c}"] for c in "RGB"], axis=-1)
                for name in ("Combined", *NAMES)}

    @staticmethod
    def made(passes):
        return passes["Emit"] + passes["Env"] + sum(
            passes[start + "Col"] * (passes[start + "Dir"] + passes[start + "Ind"]) for start in KINDS.values())

    def test_passes_make_the_picture(self):
        ours = self.passes()
        np.testing.assert_allclose(self.made(ours), ours["Combined"], rtol=1e-5, atol=1e-6)
        for name in NAMES:
            self.assertGreater(float(ours[name].mean()), 1e-4, name)

    def test_as_in_cycles(self):
        """In the mean of each patch, to 3 % and 0.01: light of each kind, and colours where Fresnel has no part in them."""
        ours, theirs = self.passes(), self.passes("CYCLES")
        np.testing.assert_allclose(self.made(theirs), theirs["Combined"], rtol=1e-3, atol=1e-4)

        def patch(picture, i):
            x, y = 36 + 25 * (i % 3 - 1), 36 - 25 * (i // 3)
            return picture[y - 7:y + 8, x - 7:x + 8].mean(axis=(0, 1))
        for i in range(6):
            for start in KINDS.values():
                for end in ("Dir", "Ind"):
                    a, b = (patch(p[start + end] * p[start + "Col"], i) for p in (ours, theirs))
                    np.testing.assert_allclose(a, b, rtol=0.03, atol=0.01, err_msg=f"{start}{end} of patch {i}")
            for name in ("DiffCol", "GlossCol", "TransCol", "Emit", "Env"):
                if (i, name) != (4, "GlossCol"):
                    np.testing.assert_allclose(patch(ours[name], i), patch(theirs[name], i), rtol=0.03, atol=0.01,
                                               err_msg=f"{name} of patch {i}")

    def test_in_the_compositor(self):
        """Diffuse light alone: the sockets are there, and what they bring is what the file holds."""
        expected = self.passes()

        def build(nodes, layers):
            direct, indirect, colour = (layers.outputs[versions.pass_name("Diff" + part)] for part in ("Dir", "Ind", "Col"))
            return mixed(nodes, mixed(nodes, direct, indirect, 1, "ADD"), colour, 1, "MULTIPLY")
        from sort_blender import versions
        self.addCleanup(composite(build))
        found = kit.render()[..., :3]
        np.testing.assert_allclose(found, (expected["DiffDir"] + expected["DiffInd"]) * expected["DiffCol"], rtol=1e-2,
                                   atol=1e-3)


kit.main()
