"""BSDFs have the values of Cycles' for single pairs of directions: flat surfaces without a light of their own, under a sun that is a
point, seen without perspective. Nothing in these pictures is random, so they tell apart what balls under a sky do not."""

import math
import unittest

import bpy
import numpy as np

import blender_scene as kit

PIXELS = 8  # along the edge of a surface
VIEWS = (5, 35, 60, 80)  # degrees from the normal
SUNS = ((.4, .7), (.9, 2.8))  # from the normal, and about it
BELOW = ((math.pi - .15, 1.1),)  # where facets can refract it to these viewers: Cycles has some light elsewhere, too
BENT = ((.3, .1, 1), (.8, 0, .6), (-.2, -.7, .5))  # normals
IN_4 = bpy.app.version >= (4, 0)
IN_5 = bpy.app.version >= (5, 0)


def principled(**inputs):
    return ("ShaderNodeBsdfPrincipled", {"Base Color": (.8, .8, .8, 1), **inputs})


COATED = {"Specular IOR Level": 0, "Coat Weight": 1}
PHYSICAL = {"fresnel_type": "PHYSICAL_CONDUCTOR", "IOR": (.42, .63, 2.34), "Extinction": (3.5, 4.9, 4.9)}


class BsdfTest(unittest.TestCase):
    def stage(self, cases):
        scene = kit.empty_scene(samples=4)
        scene.render.resolution_x, scene.render.resolution_y = len(cases) * PIXELS, PIXELS
        scene.cycles.light_sampling_threshold = scene.sort.light_threshold = 0  # which would make dim rays random
        self.sun = kit.add("Sun", bpy.data.lights.new("Sun", "SUN"))
        self.sun.data.energy, self.sun.data.angle = math.pi, 0
        self.camera = kit.add_camera()
        self.camera.data.type, self.camera.data.ortho_scale, self.camera.data.clip_end = "ORTHO", len(cases), 2000
        for k, (kind, settings) in enumerate(cases):
            strip = kit.add_mesh(f"Strip {k}", [(-.5, -100, 0), (.5, -100, 0), (.5, 100, 0), (-.5, 100, 0)], [(0, 1, 2, 3)],
                                 [(0, 0), (1, 0), (1, 1), (0, 1)], location=(k + .5 - len(cases) / 2, 0, 0))
            node = kit.material_of(strip, kind)
            for name, value in settings.items():
                if name.endswith("Normal"):
                    bend = kit.new_node(node, "ShaderNodeCombineXYZ")
                    for socket, x in zip(bend.inputs, np.array(value) / np.linalg.norm(value)):
                        socket.default_value = x
                    kit.link(bend.outputs[0], node.inputs[name])
                elif name in node.inputs:
                    node.inputs[name].default_value = value
                else:
                    setattr(node, name, value)

    def seen(self, engine, view):
        angle = math.radians(view)
        self.camera.location = (0, -300 * math.sin(angle), 300 * math.cos(angle))
        self.camera.rotation_euler = (angle, 0, 0)
        middle = slice(PIXELS // 2 - 1, PIXELS // 2 + 1)
        picture = kit.render(engine)[middle, :, :3].mean(axis=0)
        return picture.reshape(-1, PIXELS, 3)[:, middle].mean(axis=1)

    def compare(self, cases, tolerance=0.012, views=VIEWS, suns=SUNS):
        """`tolerance`: of the largest channel, or of 0.02 if that is less; above what tables of albedo differ by, here and in Cycles."""
        self.stage(cases)
        for tilt, turn in suns:
            self.sun.rotation_euler = (tilt, 0, turn)
            for view in views:
                theirs, ours = self.seen("CYCLES", view), self.seen("SORT", view)
                self.assertEqual(kit.messages().warnings, [])
                for case, expected, found in zip(cases, theirs, ours):
                    with self.subTest(case=case, view=view, tilt=tilt):
                        np.testing.assert_allclose(found, expected, atol=tolerance * max(expected.max(), .02))

    def test_diffuse(self):
        self.compare([("ShaderNodeBsdfDiffuse", {"Roughness": r, "Color": (.8, .3, .1, 1)}) for r in (0, .3, 1)], tolerance=0.002)

    @unittest.skipUnless(IN_4, "Blender 3 has another Principled BSDF")
    def test_what_layers_leave(self):
        """Cycles dims the base by a layer that loses no light, whether the distribution does or not."""
        self.compare([principled(distribution=kind, Roughness=r, IOR=ior) for kind in ("GGX", "MULTI_GGX")
                      for r, ior in ((.5, 1.5), (1, 1.5), (1, 2.5))])

    @unittest.skipUnless(IN_4, "Blender 3 has another Principled BSDF")
    def test_coats(self):
        self.compare([principled(**COATED, **{"Coat Roughness": r, "Coat IOR": ior, "distribution": "GGX"})
                      for r in (.3, .6, 1) for ior in (1.5, 2.5)])

    @unittest.skipUnless(IN_5, "Blender 4 approximates the colours of films")
    def test_what_films_leave(self):
        self.compare([principled(distribution=kind, Roughness=r, IOR=1.5, **{"Thin Film Thickness": nm})
                      for kind in ("GGX", "MULTI_GGX") for r, nm in ((.2, 400), (1, 700))])

    @unittest.skipUnless(hasattr(bpy.types, "ShaderNodeBsdfMetallic"), "this Blender has no Metallic BSDF")
    def test_physical_metals(self):
        self.compare([("ShaderNodeBsdfMetallic", {**PHYSICAL, "distribution": kind, "Roughness": r})
                      for kind in ("BECKMANN", "GGX", "MULTI_GGX") for r in (.3, .7)], tolerance=0.015)

    @unittest.skipUnless(IN_4, "Blender 3 walks from facet to facet at random")
    def test_coloured_glass_that_loses_nothing(self):
        """Among its facets light takes on the colour more than once."""
        self.compare([("ShaderNodeBsdfGlass", {"distribution": "MULTI_GGX", "Color": (.1, .4, .9, 1), "Roughness": r, "IOR": ior})
                      for r, ior in ((.5, 1.5), (1, 1.5), (1, 2.4))], tolerance=0.005)

    @unittest.skipUnless(IN_4, "Blender 3 has another Principled BSDF")
    def test_glass_with_a_specular_tint(self):
        """It fades out toward grazing incidence, and light that is not reflected goes through."""
        cases = [principled(distribution=kind, Roughness=.6, IOR=2, **{"Transmission Weight": 1, "Specular Tint": (.1, .4, .9, 1)})
                 for kind in ("GGX", "MULTI_GGX")]
        self.compare(cases, tolerance=0.006)
        self.compare(cases, views=(5, 20), suns=BELOW, tolerance=0.006)

    def test_normals_that_nodes_bend(self):
        """Mirrors turn back where they would look below the surface, in Blender 3 all closures do (there one differs by 3 %)."""
        kinds = [("ShaderNodeBsdfDiffuse", {}), ("ShaderNodeBsdfDiffuse", {"Roughness": .8}), ("ShaderNodeBsdfGlossy", {"Roughness": .4}),
                 ("ShaderNodeBsdfGlossy", {"Roughness": .4, "distribution": "BECKMANN"}), ("ShaderNodeBsdfTranslucent", {}),
                 ("ShaderNodeBsdfToon", {"Size": .9, "Smooth": .8}), principled(Roughness=.4), principled(Roughness=.4, Metallic=1)]
        kinds.append(("ShaderNodeBsdfToon", {"component": "GLOSSY", "Size": .6, "Smooth": .3}))
        kinds.append(("ShaderNodeBsdfSheen", {"distribution": "ASHIKHMIN", "Roughness": .6}) if IN_4 else ("ShaderNodeBsdfVelvet", {"Sigma": .6}))
        kinds += [("ShaderNodeBsdfMetallic", {"Roughness": .4})] if hasattr(bpy.types, "ShaderNodeBsdfMetallic") else []
        coat = "Coat" if IN_4 else "Clearcoat"
        for normal in BENT:
            cases = [(kind, {**settings, "Normal": normal}) for kind, settings in kinds]
            cases.append(principled(**{f"{coat} Weight" if IN_4 else coat: 1, f"{coat} Roughness": .3, f"{coat} Normal": normal}))
            self.compare(cases, suns=(*SUNS, (1.2, 4), (math.pi - .9, 4)), tolerance=0.012 if IN_4 else 0.035)

    def test_light_from_behind_glass(self):
        """Cycles keeps the radiance of what is refracted; of one pane no second one makes up for that."""
        self.compare([("ShaderNodeBsdfRefraction", {"distribution": kind, "Roughness": .6, "IOR": ior})
                      for kind in ("BECKMANN", "GGX") for ior in (1.5, 2)] + [("ShaderNodeBsdfTranslucent", {})],
                     views=(5, 20), suns=BELOW, tolerance=0.005)

    def test_the_sky_behind_a_pane(self):
        self.stage([("ShaderNodeBsdfRefraction", {"Roughness": 0, "IOR": 1.5}), ("ShaderNodeBsdfGlass", {"Roughness": 0, "IOR": 2})])
        bpy.data.objects.remove(self.sun)
        kit.set_world((.2, .4, .8))
        np.testing.assert_allclose(self.seen("SORT", 35), [(.2, .4, .8)] * 2, rtol=0.002)


kit.main()
