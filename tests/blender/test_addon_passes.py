"""Render passes, view layers, transparent film, holdouts: by their values."""

import json
import math
import unittest
import zipfile

import bpy
import numpy as np

import blender_scene as kit


class PassTest(unittest.TestCase):
    def setUp(self):
        self.scene = kit.empty_scene(samples=16)
        self.layer = bpy.context.view_layer
        self.layer.name = "View Layer"
        for name in dir(self.layer):
            if name.startswith("use_pass_") and name != "use_pass_combined":
                setattr(self.layer, name, False)
        self.layer.sort.use_pass_albedo = self.layer.sort.use_pass_samples = False
        self.layer.material_override = None
        self.scene.render.film_transparent = False
        kit.set_world((0.5, 0.5, 0.5))
        self.plane = kit.add_plane(size=2)
        kit.material_of(self.plane, "ShaderNodeBsdfDiffuse", Color=(0.25, 0.5, 1, 1))
        kit.add_camera((0, 0, 4))

    def multilayer(self):
        """All passes of a render, as a file."""
        picture = kit.render_passes()
        self.assertEqual(kit.messages().warnings, [])
        return picture

    def test_clamps_mean_what_they_mean_in_cycles(self):
        kit.material_of(self.plane, "ShaderNodeEmission", Color=(1, 0, 0.5, 1), Strength=4)
        self.scene.sort.clamp_direct = self.scene.cycles.sample_clamp_direct = 1
        self.addCleanup(setattr, self.scene.sort, "clamp_direct", 0)
        for engine in ("SORT", "CYCLES"):
            np.testing.assert_allclose(kit.render(engine)[24, 24, :3], (2, 0, 1), rtol=1e-3)

    def test_denoised_picture_and_the_noisy_one(self):
        self.scene.sort.use_denoising = self.layer.cycles.denoising_store_passes = True
        self.addCleanup(setattr, self.scene.sort, "use_denoising", False)
        self.addCleanup(setattr, self.layer.cycles, "denoising_store_passes", False)
        lamp = bpy.data.lights.new("Lamp", "AREA")
        lamp.size, lamp.energy = 3, 50
        kit.add("Lamp", lamp, (1, 0, 3), (0, 0, 0))
        picture = self.multilayer()
        clean, noisy = (np.stack([picture.channels[f"View Layer.{name}.{c}"] for c in "RGB"], axis=2)[16:32, 16:32]
                        for name in ("Combined", "Noisy Image"))
        # Second differences along rows show what is not smooth.
        self.assertLess(np.diff(clean, 2, axis=1).var(), 0.3 * np.diff(noisy, 2, axis=1).var())
        np.testing.assert_allclose(clean.mean((0, 1)), noisy.mean((0, 1)), rtol=0.05)
        np.testing.assert_array_equal(picture.channels["View Layer.Combined.A"], picture.channels["View Layer.Noisy Image.A"])
        for name, channels, expected in (("Albedo", "RGB", (0.25, 0.5, 1)), ("Normal", "XYZ", (0, 0, 1)), ("Depth", "Z", (4,))):
            values = [float(picture.channels[f"View Layer.Denoising {name}.{c}"][24, 24]) for c in channels]
            np.testing.assert_allclose(values, expected, atol=0.05)

    def test_denoiser_that_is_not_there(self):
        self.scene.sort.use_denoising, self.scene.sort.denoiser = True, "oidn"
        self.addCleanup(setattr, self.scene.sort, "use_denoising", False)
        self.addCleanup(setattr, self.scene.sort, "denoiser", "nfor")
        from sort_blender import locate
        if locate.find_denoiser("oidn") != "oidn":
            self.skipTest("this Blender has Open Image Denoise")
        with self.assertRaisesRegex(RuntimeError, "Open Image Denoise is not installed"):
            bpy.ops.render.render()

    def test_data_passes(self):
        for name in ("z", "normal", "position", "uv", "object_index", "material_index"):
            setattr(self.layer, "use_pass_" + name, True)
        self.layer.sort.use_pass_albedo = self.layer.sort.use_pass_samples = True
        self.plane.pass_index, self.plane.data.materials[0].pass_index = 7, 5
        self.plane.rotation_euler.x = 0.5
        picture = self.multilayer()

        def at(name, channels, y=24, x=24):
            return [float(picture.channels[f"View Layer.{name}.{c}"][y, x]) for c in channels]
        np.testing.assert_allclose(at("Normal", "XYZ"), (0, -math.sin(0.5), math.cos(0.5)), atol=0.01)
        np.testing.assert_allclose(at("Depth", "Z"), 4, atol=0.05)
        self.assertEqual(at("Depth", "Z", 1, 1), [1e10])
        np.testing.assert_allclose(at("Position", "XYZ"), (0, 0, 0), atol=0.05)
        self.assertGreater(at("Position", "XYZ", 30, 24)[2], 0.05)  # up in the picture is further along y, and z
        np.testing.assert_allclose(at("UV", "UVA"), (0.5, 0.5, 1), atol=0.05)
        np.testing.assert_allclose(at("Albedo", "RGB"), (0.25, 0.5, 1), atol=0.01)
        self.assertEqual(at("Sample Count", "X"), [16])
        self.assertEqual((at("IndexOB", "X"), at("IndexOB", "X", 1, 1)), ([7], [0]))
        self.assertEqual((at("IndexMA", "X"), at("IndexMA", "X", 1, 1)), ([5], [0]))
        np.testing.assert_allclose(at("Combined", "RGBA"), (0.125, 0.25, 0.5, 1), atol=0.03)

    def test_cryptomatte(self):
        from sort_blender import passes
        self.layer.use_pass_cryptomatte_object = True
        self.layer.pass_cryptomatte_depth = 4
        picture = self.multilayer()
        identity = np.ascontiguousarray(picture.channels["View Layer.CryptoObject00.R"]).view(np.uint32)
        self.assertEqual(int(identity[24, 24]), passes.crypto_id("Plane"))
        self.assertAlmostEqual(float(picture.channels["View Layer.CryptoObject00.G"][24, 24]), 1, places=3)
        self.assertIn("View Layer.CryptoObject01.A", picture.channels)
        texts = {key: value for key, value in picture.texts.items() if key.startswith("cryptomatte/")}
        self.assertIn("View Layer.CryptoObject", texts.values())
        manifest = next(value for key, value in texts.items() if key.endswith("manifest"))
        self.assertEqual(json.loads(manifest)["Plane"], f"{passes.crypto_id('Plane'):08x}")

    def test_passes_that_are_not_there_are_named(self):
        self.layer.use_pass_subsurface_direct = True
        kit.render()
        self.assertIn("View layer 'View Layer': the pass Subsurface Direct is not supported yet: it stays black",
                      kit.messages().warnings)

    def test_transparent_film_as_in_cycles(self):
        self.scene.render.film_transparent = True
        self.scene.sort.samples = self.scene.cycles.samples = 64
        ours, theirs = kit.render(), kit.render("CYCLES")
        np.testing.assert_allclose(ours[0, 0], (0, 0, 0, 0), atol=1e-6)
        np.testing.assert_allclose(ours[24, 24], theirs[24, 24], atol=0.02)
        np.testing.assert_allclose(ours[..., 3].mean(), theirs[..., 3].mean(), atol=0.01)

    def test_holdout_object(self):
        self.plane.is_holdout = True
        picture = kit.render()
        np.testing.assert_allclose(picture[24, 24], (0, 0, 0, 0), atol=1e-6)
        np.testing.assert_allclose(picture[1, 1], (0.5, 0.5, 0.5, 1), atol=0.01)

    def test_a_hole_in_part_and_glass_before_nothing_as_in_cycles(self):
        """Colours are multiplied by alpha once."""
        tree = kit.material_of(self.plane, "ShaderNodeMixShader").id_data
        for k, node_type in enumerate(("ShaderNodeHoldout", "ShaderNodeEmission"), 1):
            tree.links.new(tree.nodes.new(node_type).outputs[0], tree.nodes["Mix Shader"].inputs[k])
        for is_transparent in (False, True):
            self.scene.render.film_transparent = is_transparent
            ours, theirs = kit.render(), kit.render("CYCLES")
            np.testing.assert_allclose(ours[24, 24], (0.5, 0.5, 0.5, 0.5), atol=0.01)
            np.testing.assert_allclose(ours[24, 24], theirs[24, 24], atol=0.01)
        veil = kit.material_of(self.plane, "ShaderNodeMixShader").id_data
        for k, node_type in enumerate(("ShaderNodeBsdfTransparent", "ShaderNodeEmission"), 1):
            veil.links.new(veil.nodes.new(node_type).outputs[0], veil.nodes["Mix Shader"].inputs[k])
        ours, theirs = kit.render(), kit.render("CYCLES")
        np.testing.assert_allclose(ours[24, 24], theirs[24, 24], atol=0.05)

    def test_ray_visibility_and_bounces_as_in_cycles(self):
        """A wall that only the mirror shows; then a mirror that may not reflect."""
        mirror = kit.add_plane("Mirror", size=6, location=(0, 0, -1))
        kit.material_of(mirror, "ShaderNodeBsdfGlossy", Roughness=0.0)
        kit.material_of(self.plane, "ShaderNodeEmission", Color=(1, 0, 0, 1))
        self.plane.visible_camera = False
        self.scene.sort.samples = self.scene.cycles.samples = 64
        ours, theirs = kit.render(), kit.render("CYCLES")
        np.testing.assert_allclose(ours[24, 24, :3], theirs[24, 24, :3], atol=0.02)
        self.assertGreater(ours[24, 24, 0], 0.6)
        self.assertEqual(kit.messages().warnings, [])
        self.plane.visible_glossy = False
        ours, theirs = kit.render(), kit.render("CYCLES")
        np.testing.assert_allclose(ours[24, 24, :3], theirs[24, 24, :3], atol=0.02)
        self.assertLess(ours[24, 24, 0], 0.6)
        self.plane.visible_glossy = True
        kit.material_of(self.plane, "ShaderNodeBsdfDiffuse", Color=(1, 0, 0, 1))
        lit = kit.render()[24, 24, 0]
        self.scene.sort.glossy_bounces = self.scene.cycles.glossy_bounces = 0
        try:
            ours, theirs = kit.render(), kit.render("CYCLES")
        finally:
            self.scene.sort.property_unset("glossy_bounces")
            self.scene.cycles.property_unset("glossy_bounces")
        np.testing.assert_allclose(ours[24, 24, :3], theirs[24, 24, :3], atol=0.02)
        self.assertLess(ours[24, 24, 0], lit / 4)

    def test_view_layers_each_with_their_own(self):
        second = self.scene.view_layers.new("Second")
        beside = kit.add_plane("Beside", location=(9, 0, 0))
        kit.material_of(beside, "ShaderNodeBsdfDiffuse", Color=(1, 0, 0, 1))
        second.material_override = beside.data.materials[0]
        try:
            picture = self.multilayer()
        finally:
            self.scene.view_layers.remove(second)
        first, other = ([float(picture.channels[f"{layer}.Combined.{c}"][24, 24]) for c in "RGB"]
                        for layer in ("View Layer", "Second"))
        np.testing.assert_allclose(first, (0.125, 0.25, 0.5), atol=0.03)
        np.testing.assert_allclose(other, (0.5, 0, 0), atol=0.05)

    def test_cameras_by_markers_and_another_scene(self):
        near, far = self.scene.camera, kit.add("Far", bpy.data.cameras.new("Far"), (0, 0, 40))
        for frame, camera in ((1, near), (2, far)):
            self.scene.timeline_markers.new(camera.name, frame=frame).camera = camera
        covered = []
        for frame in (1, 2):
            self.scene.frame_set(frame)
            covered.append(int((kit.render()[..., 2] > kit.render()[..., 0] + 0.1).sum()))
        self.scene.timeline_markers.clear()
        self.scene.frame_set(1)
        self.assertGreater(covered[0], 20 * max(covered[1], 1))
        other = bpy.data.scenes.new("Other")
        other.collection.objects.link(self.plane)
        other.camera = near
        other.collection.objects.link(near)
        other.world = self.scene.world
        other.render.engine = "SORT"
        other.render.resolution_x, other.render.resolution_y, other.render.resolution_percentage = 64, 32, 50
        other.sort.samples = 4
        kit.set_file(other.render.image_settings)
        other.render.filepath = str(kit.FOLDER / "other.exr")
        bpy.ops.render.render(scene="Other", write_still=True)
        self.assertEqual(kit.read_picture(other.render.filepath).shape, (16, 32, 4))
        bpy.data.scenes.remove(other)

    def test_options_reach_the_renderer(self):
        from sort_blender import job
        settings = self.scene.sort
        settings.integrator, settings.use_adaptive, settings.time_limit_s = "normal", True, 60
        settings.texture_filter, settings.mip_bias, settings.cpu = "trilinear", 1.5, "x86-64"
        try:
            words = job.make_job(self.scene, kit.RENDERER, kit.FOLDER, {"depth"}).arguments()
            picture = kit.render()
        finally:
            for name in ("integrator", "use_adaptive", "time_limit_s", "texture_filter", "mip_bias", "cpu"):
                settings.property_unset(name)
        for pair in (("--integrator", "normal"), ("--adaptive", "0.01"), ("--time-limit", "60"), ("--filter", "trilinear"),
                     ("--mip-bias", "1.5"), ("--cpu", "x86-64"), ("--aov", "depth")):
            self.assertEqual(words[words.index(pair[0]) + 1], pair[1])
        np.testing.assert_allclose(picture[24, 24, :3], (0.5, 1, 0.5), atol=0.01)  # y up, (n + 1) / 2

    def test_guiding_is_of_final_pictures(self):
        from sort_blender import job
        settings = self.scene.sort

        def guiding(**how):
            words = job.make_job(self.scene, kit.RENDERER, kit.FOLDER, set(), **how).arguments()
            return words[words.index("--guiding") + 1] if "--guiding" in words else None

        self.assertEqual(guiding(), "auto")
        self.scene.cycles.use_guiding = True  # as long as SORT's own is not set
        try:
            self.assertEqual(guiding(), "on")
            settings.guiding = "off"
            self.assertEqual(guiding(), "off")
            plain, settings.guiding = kit.render(), "on"
            self.assertEqual((guiding(), guiding(is_preview=True), guiding(is_bake=True)), ("on", "off", None))
            guided = kit.render()
            self.assertTrue((plain != guided).any())
            self.assertAlmostEqual(float(plain[..., :3].mean() / guided[..., :3].mean()), 1, delta=0.05)
            settings.integrator = "normal"
            self.assertIsNone(guiding())
        finally:
            settings.property_unset("guiding")
            settings.property_unset("integrator")
            self.scene.cycles.use_guiding = False

    def test_light_tracing_of_a_usual_scene(self):
        """Settings that it refuses are off, and a lamp's light has the brightness of path tracing."""
        lamp = kit.add("Lamp", bpy.data.lights.new("Lamp", "POINT"), (0, 0, 3))
        lamp.data.energy = 200
        settings, pictures = self.scene.sort, {}
        settings.samples, settings.filter_glossy, settings.clamp_indirect, settings.diffuse_bounces = 64, 1, 10, 2
        try:
            for settings.integrator in ("path", "light"):
                pictures[settings.integrator] = kit.render()[..., :3].mean()
        finally:
            for name in ("integrator", "samples", "filter_glossy", "clamp_indirect", "diffuse_bounces"):
                settings.property_unset(name)
            bpy.data.objects.remove(lamp)
        self.assertGreater(pictures["path"], 0.01)
        np.testing.assert_allclose(pictures["light"], pictures["path"], rtol=0.03)

    def test_package_without_a_render(self):
        image = bpy.data.images.new("Paint", 8, 8)
        image.generated_color = (0, 1, 0, 1)
        emission = kit.material_of(self.plane, "ShaderNodeEmission")
        texture = kit.new_node(emission, "ShaderNodeTexImage")
        texture.image = image
        kit.link(texture.outputs["Color"], emission.inputs["Color"])
        kit.set_renderer("/nowhere")  # it is not needed
        target = kit.FOLDER / "Szene 一.zip"
        self.scene.render.engine = "CYCLES"
        try:
            self.assertEqual(bpy.ops.sort.export_package(filepath=str(target)), {"FINISHED"})
            for path, said in (("", "there is none"), (str(kit.FOLDER), "is a folder"), ("//shot.zip", "not saved yet")):
                with self.assertRaisesRegex(RuntimeError, said):
                    bpy.ops.sort.export_package(filepath=path)
        finally:
            kit.set_renderer(str(kit.RENDERER))
        self.assertEqual(self.scene.render.engine, "CYCLES")
        with zipfile.ZipFile(target) as archive:
            names = archive.namelist()
        self.assertTrue(any(name.endswith("_Paint.tif") for name in names), names)
        self.assertIn("scene.json", names)
        self.assertEqual(kit.subprocess_ok([str(kit.RENDERER), "--check", str(target)]), 0)

    def test_texture_report_of_the_last_render(self):
        from sort_blender import operators
        kit.render()
        page = operators.write_report(kit.messages().stats)
        self.assertIn("</html>", page.read_text(encoding="utf-8"))
        self.assertEqual(bpy.ops.sort.texture_report(), {"FINISHED"})


kit.main()
