"""Materials: values and images where they belong, magenta and a message where something is missing."""

import math
import os
import unittest

import bpy
import numpy as np

import blender_scene as kit
from feature_kit import linear_space

QUADRANTS = np.array([[[1, 0, 0], [0, 1, 0]], [[0, 0, 1], [1, 1, 0]]], np.float32)  # from below


def quadrant_image(name="Quadrants", size=32, **options):
    image = bpy.data.images.new(name, size, size, **options)
    pixels = np.ones((size, size, 4), np.float32)
    half = size // 2
    for row in range(2):
        for column in range(2):
            pixels[row * half:(row + 1) * half, column * half:(column + 1) * half, :3] = QUADRANTS[row, column]
    image.pixels.foreach_set(pixels.ravel())
    return image


def warnings():
    return "\n".join(kit.messages().warnings)


class MaterialTest(unittest.TestCase):
    def setUp(self):
        self.scene = kit.empty_scene(samples=16)
        self.plane = kit.add_plane(size=2)
        kit.add_camera((0, 0, 3.2))

    def show(self, image, colour_socket):
        texture = kit.new_node(colour_socket.node, "ShaderNodeTexImage")
        texture.image = image
        kit.link(texture.outputs["Color"], colour_socket)
        return texture

    def check_quadrants(self, picture):
        for row in range(2):
            for column in range(2):
                at = picture[12 + 24 * row, 12 + 24 * column, :3]
                np.testing.assert_allclose(at, QUADRANTS[row, column], atol=0.02)

    def test_generated_image_is_the_right_way_up(self):
        emission = kit.material_of(self.plane, "ShaderNodeEmission")
        self.show(quadrant_image(), emission.inputs["Color"])
        self.check_quadrants(kit.render())
        self.assertEqual(warnings(), "")

    def test_float_image_beyond_one(self):
        emission = kit.material_of(self.plane, "ShaderNodeEmission")
        image = bpy.data.images.new("Bright", 4, 4, float_buffer=True)
        image.pixels.foreach_set(np.tile(np.array([3, 0.25, 0.5, 1], np.float32), 16))
        self.show(image, emission.inputs["Color"])
        np.testing.assert_allclose(kit.render()[24, 24, :3], (3, 0.25, 0.5), rtol=0.01)

    def test_photometric_files_that_cannot_be_read(self):
        emission = kit.material_of(self.plane, "ShaderNodeEmission")
        node = kit.new_node(emission, "ShaderNodeTexIES")
        kit.link(node.outputs["Fac"], emission.inputs["Strength"])
        text = bpy.data.texts.new("lamp.ies")
        node.mode, node.ies = "INTERNAL", text
        head = "IESNA\nTILT=NONE\n1 -1 1 3 1 {} 2 0 0 0 1 1 1\n0 45 90\n0\n"
        for contents, reason in (("nothing", "no TILT line"), (head.format(1) + "1 x", "19 numbers, 20 are announced"),
                                 (head.format(1) + "1 x 3", "a word where a number should be"),
                                 (head.format(3) + "1 2 3", "type A"),
                                 (head.format(2).replace("0 45 90", "0 45 95") + "1 2 3", "beyond those of type B"),
                                 (head.format(1).replace("45", "95") + "1 2 3", "do not grow")):
            text.from_string(contents)
            np.testing.assert_allclose(kit.render()[24, 24, :3], 1)  # as if it were not linked
            self.assertIn(reason, warnings())
        node.mode, node.filepath = "EXTERNAL", "/nowhere/lamp.ies"
        kit.render()
        self.assertIn("there is no file", warnings())
        path = kit.FOLDER / "lamp \u706f.ies"
        path.write_text(head.format(1) + "0 0 0")
        node.filepath = str(path)
        np.testing.assert_allclose(kit.render()[24, 24, :3], 0)
        self.assertEqual(warnings(), "")

    def test_photometry_of_type_b_as_in_cycles(self):
        """Each second direction of rows 1, 3, 5, 6, 8, 10 of all around, in candela as Cycles 3.4 has them, which may end by
        reading such files and so is not asked here. They are no more than near: it does not look around the ends."""
        theirs = np.array([
            (14.6, 15.5, 16.3, 16.9, 17.6, 18.6, 18.7, 18.2, 17.4, 16.5, 15.7, 15.0),
            (22.5, 23.4, 24.2, 24.8, 25.5, 26.5, 26.6, 26.1, 25.3, 24.4, 23.6, 23.0),
            (29.2, 30.1, 30.8, 31.5, 32.2, 33.1, 33.3, 32.7, 32.0, 31.1, 30.3, 29.6),
            (32.5, 33.4, 34.2, 34.8, 35.5, 36.5, 36.6, 36.1, 35.3, 34.4, 33.6, 33.0),
            (39.2, 40.1, 40.8, 41.5, 42.2, 43.1, 43.3, 42.7, 42.0, 41.1, 40.3, 39.6),
            (46.5, 47.4, 48.1, 48.8, 49.5, 50.4, 50.5, 50.0, 49.3, 48.4, 47.6, 46.9)])
        world = self.scene.world = bpy.data.worlds.new("World")
        world.use_nodes = True
        background = world.node_tree.nodes["Background"]
        node, coordinate = (kit.new_node(background, "ShaderNode" + name) for name in ("TexIES", "TexCoord"))
        kit.link(coordinate.outputs["Generated"], node.inputs["Vector"])
        kit.link(node.outputs["Fac"], background.inputs["Color"])
        bpy.data.objects.remove(self.plane)
        self.scene.render.resolution_x, self.scene.render.resolution_y = 24, 12
        camera = self.scene.camera
        camera.data.type, kit.panorama_of(camera.data).panorama_type = "PANO", "EQUIRECTANGULAR"
        camera.location, camera.rotation_euler = (0, 0, 0), (math.pi / 2, 0, 0)
        kit.add_mesh("Far", [(0, 0, -500), (1, 0, -500), (0, 1, -500)], [(0, 1, 2)])
        node.mode, node.ies = "INTERNAL", bpy.data.texts.new("lamp.ies")
        angles = "-90 -45 0 45 90"
        values = " ".join(str(11 + 10 * i + j) for i in range(5) for j in range(5))
        node.ies.from_string(f"IESNA\nTILT=NONE\n1 -1 1 5 5 2 2 0 0 0 1 1 1\n{angles}\n{angles}\n{values}\n")
        ours = kit.render()[(1, 3, 5, 6, 8, 10), ::2, 0] * 177.83 / (4 * math.pi)
        self.assertEqual(warnings(), "")
        self.assertLess(np.abs(ours - theirs).mean(), 0.4)
        self.assertLess(np.abs(ours - theirs).max(), 1)
        pictures = []  # of one side of each angle, and of both
        for count, angles, values in ((2, "0 90", "1 2 3 4"), (3, "-90 0 90", "4 3 4 2 1 2 4 3 4")):
            node.ies.from_string(f"IESNA\nTILT=NONE\n1 -1 1 {count} {count} 2 2 0 0 0 1 1 1\n{angles}\n{angles}\n{values}\n")
            pictures.append(kit.render())
        np.testing.assert_array_equal(*pictures)

    def test_packed_and_file_images_in_paths_of_any_letters(self):
        folder = kit.FOLDER / "Wände und 木目 # 100%"
        folder.mkdir(exist_ok=True)
        image = quadrant_image()
        image.file_format = "PNG"
        image.filepath_raw = str(folder / "четверти 四.png")
        image.save()
        bpy.data.images.remove(image)
        loaded = bpy.data.images.load(str(folder / "четверти 四.png"))
        emission = kit.material_of(self.plane, "ShaderNodeEmission")
        self.show(loaded, emission.inputs["Color"])
        self.check_quadrants(kit.render())
        loaded.pack()
        self.check_quadrants(kit.render())
        self.assertEqual(warnings(), "")

    def test_colour_spaces_as_in_cycles(self):
        spaces = ("sRGB", "Non-Color", "Filmic Log", "Filmic sRGB", *(
            ("Raw", "Linear", "XYZ", "Linear ACES", "Linear ACEScg") if bpy.app.version < (4, 0, 0) else
            ("Linear CIE-XYZ D65", "ACES2065-1", "ACEScg", "Linear Rec.2020", "Rec.1886")))
        path = kit.FOLDER / "wide.exr"
        wide = bpy.data.images.new("Wide", 4, 4, float_buffer=True, alpha=True)
        wide.pixels.foreach_set(np.tile(np.array([1.5, 0.25, 0.7, 1], np.float32), 16))
        wide.file_format, wide.filepath_raw = "OPEN_EXR", str(path)
        wide.save()
        bpy.data.objects.remove(self.plane)
        for number, space in enumerate(spaces):
            for row, image in enumerate((bpy.data.images.new(space, 4, 4), bpy.data.images.load(str(path)))):
                image.colorspace_settings.name = space
                if row == 0:
                    image.pixels.foreach_set(np.tile(np.array([0.5, 0.25, 0.75, 1], np.float32), 16))
                tile = kit.add_plane(f"{space} {row}", 0.2, location=(0.2 * number - 0.8, 0.2 * row, 0))
                self.show(image, kit.material_of(tile, "ShaderNodeEmission").inputs["Color"])
        ours, theirs = kit.render(), kit.render("CYCLES")
        for number, space in enumerate(spaces):
            for row in range(2):
                at = (24 + 4 * row, 24 + round(20.8 * (0.2 * number - 0.8)))
                with self.subTest(space=space, row=row):
                    np.testing.assert_allclose(ours[at][:3], theirs[at][:3], rtol=0.01)
        self.assertEqual(warnings(), "")
        wide.pixels.foreach_set(np.tile(np.array([1.5, 0.25, 0.7, 0.5], np.float32), 16))
        wide.save()
        for image in bpy.data.images:
            if image.source == "FILE":
                image.reload()
        kit.render()
        self.assertRegex(warnings(), r"\AMaterial 'sRGB 1', [^\n]*floats that are said to be sRGB[^\n]*\Z")

    def test_pixels_too_bright_for_half(self):
        bright = bpy.data.images.new("Sun", 4, 4, float_buffer=True)
        bright.pixels.foreach_set(np.tile(np.array([4e5, 0.25, 0.7, 1], np.float32), 16))
        self.show(bright, kit.material_of(self.plane, "ShaderNodeEmission").inputs["Color"])
        ours, theirs = kit.render(), kit.render("CYCLES")
        np.testing.assert_allclose(ours[24, 24], theirs[24, 24], rtol=1e-4)
        self.assertEqual(warnings(), "")

    def test_missing_image_is_magenta_and_named(self):
        emission = kit.material_of(self.plane, "ShaderNodeEmission")
        image = bpy.data.images.new("Lost", 4, 4)
        image.source, image.filepath = "FILE", str(kit.FOLDER / "lost.png")
        self.show(image, emission.inputs["Color"]).name = "Bark"
        np.testing.assert_allclose(kit.render()[24, 24, :3], (1, 0, 1), atol=0.01)
        self.assertIn("Material 'Plane', node 'Bark'", warnings())
        self.assertIn("lost.png", warnings())

    def test_unknown_surface_is_magenta_and_named(self):
        kit.material_of(self.plane, "ShaderNodeVolumeScatter").name = "Soft"
        np.testing.assert_allclose(kit.render()[24, 24, :3], (1, 0, 1), atol=0.01)
        self.assertIn("Material 'Plane', node 'Soft'", warnings())

    def test_unknown_colour_is_magenta_unknown_number_is_the_socket(self):
        principled = kit.material_of(self.plane, "ShaderNodeBsdfPrincipled")
        seen = kit.new_node(principled, "ShaderNodeShaderToRGB")
        kit.link(seen.outputs["Color"], principled.inputs["Base Color"])
        kit.link(seen.outputs["Alpha"], principled.inputs["Roughness"])
        kit.set_world((1, 1, 1))
        at = kit.render()[24, 24]
        self.assertGreater(at[0], 5 * at[1])
        self.assertIn("Base Color is magenta", warnings())
        self.assertIn("not supported yet; Roughness is 0.5", warnings())

    def test_reroutes_and_mute(self):
        emission = kit.material_of(self.plane, "ShaderNodeEmission")
        rgb, reroute = (kit.new_node(emission, name) for name in ("ShaderNodeRGB", "NodeReroute"))
        rgb.outputs[0].default_value = (0.25, 0.5, 1, 1)
        kit.link(rgb.outputs[0], reroute.inputs[0])
        gamma = kit.new_node(emission, "ShaderNodeGamma")
        gamma.mute = True
        kit.link(reroute.outputs[0], gamma.inputs["Color"])
        kit.link(gamma.outputs[0], emission.inputs["Color"])
        np.testing.assert_allclose(kit.render()[24, 24, :3], (0.25, 0.5, 1), atol=0.01)
        self.assertEqual(warnings(), "")

    @unittest.skipUnless(bpy.app.version >= (5, 1, 0), "materials have no such nodes before")
    def test_nodes_that_hold_a_value(self):
        emission = kit.material_of(self.plane, "ShaderNodeEmission")
        for kind, name, value, expected in (("Int", "integer", 3, (0.6, 1.5, 2.1)), ("Bool", "boolean", True, (0.2, 0.5, 0.7))):
            colour, strength = (kit.new_node(emission, "FunctionNodeInput" + k) for k in ("Vector", kind))
            colour.vector = (0.2, 0.5, 0.7)
            setattr(strength, name, value)
            kit.link(colour.outputs[0], emission.inputs["Color"])
            kit.link(strength.outputs[0], emission.inputs["Strength"])
            np.testing.assert_allclose(kit.render()[24, 24, :3], expected, atol=1e-5)
            self.assertEqual(warnings(), "")

    def test_uv_map_by_name(self):
        emission = kit.material_of(self.plane, "ShaderNodeEmission")
        texture = self.show(quadrant_image(), emission.inputs["Color"])
        uv_map = kit.new_node(emission, "ShaderNodeUVMap")
        uv_map.uv_map = "UVMap"
        kit.link(uv_map.outputs["UV"], texture.inputs["Vector"])
        self.check_quadrants(kit.render())
        self.assertEqual(warnings(), "")
        uv_map.uv_map = "Other"  # as in Cycles' own fallback, there is something to see
        self.check_quadrants(kit.render())

    def test_udim_tiles_on_disk_and_packed(self):
        folder = kit.FOLDER / "Kacheln 瓦"
        folder.mkdir(exist_ok=True)
        for number, colour in ((1001, (1, 0, 0, 1)), (1002, (0, 1, 0, 1)), (1011, (0, 0, 1, 1)), (1012, (1, 1, 0, 1))):
            tile = bpy.data.images.new(str(number), 16, 16)
            tile.pixels.foreach_set(np.tile(np.array(colour, np.float32), 256))
            tile.file_format, tile.filepath_raw = "PNG", str(folder / f"skin.{number}.png")
            tile.save()
        image = bpy.data.images.load(str(folder / "skin.1001.png"))
        image.source = "TILED"
        image.filepath = str(folder / "skin.<UDIM>.png")
        for number in (1002, 1011, 1012):
            image.tiles.new(number)
        self.plane.data.uv_layers[0].data.foreach_set("uv", [0, 0, 2, 0, 2, 2, 0, 2])
        emission = kit.material_of(self.plane, "ShaderNodeEmission")
        self.show(image, emission.inputs["Color"])
        for _ in range(2):
            picture = kit.render()
            for at, colour in (((12, 12), (1, 0, 0)), ((12, 36), (0, 1, 0)), ((36, 12), (0, 0, 1))):
                np.testing.assert_allclose(picture[at][:3], colour, atol=0.02)
            self.assertEqual(warnings(), "")
            image.pack()
        image.unpack(method="REMOVE")
        image.filepath = str(folder / "gone.<UDIM>.png")
        np.testing.assert_allclose(kit.render()[12, 12, :3], (1, 0, 1), atol=0.02)
        self.assertIn("gone.1001.png", warnings())

    def frames(self, folder):
        """Eight of them, as files and as a movie, whose colours tell them apart."""
        scene = bpy.data.scenes.new("Frames")
        self.addCleanup(bpy.data.scenes.remove, scene)
        editor = scene.sequence_editor_create()
        strips = editor.strips if hasattr(editor, "strips") else editor.sequences
        for k in range(1, 9):
            ends = {"frame_end": k + 1} if bpy.app.version < (5, 0, 0) else {"length": 1}
            strip = strips.new_effect(f"{k}", "COLOR", 1, frame_start=k, **ends)
            strip.color = (k / 10, 0.5, 1 - k / 10)
        scene.frame_start, scene.frame_end, scene.view_settings.view_transform = 1, 8, "Standard"
        render = scene.render
        render.resolution_x, render.resolution_y = 64, 32
        for kind, name in (("PNG", "frame_"), ("FFMPEG", "film.avi")):
            if hasattr(render.image_settings, "media_type"):  # since 5.0
                render.image_settings.media_type = "VIDEO" if kind == "FFMPEG" else "IMAGE"
            render.image_settings.file_format, render.filepath = kind, str(folder / name)
            render.ffmpeg.format, render.ffmpeg.codec = "AVI", "FFV1"
            with bpy.context.temp_override(scene=scene):
                bpy.ops.render.render(animation=True, scene=scene.name)

    def test_movies_and_sequences_as_in_cycles(self):
        folder = kit.FOLDER / "Film 映画"
        folder.mkdir(exist_ok=True)
        self.frames(folder)
        self.addCleanup(self.scene.frame_set, 1)
        film, stills = (bpy.data.images.load(str(folder / name)) for name in ("film.avi", "frame_0001.png"))
        stills.source = "SEQUENCE"
        emission = kit.material_of(self.plane, "ShaderNodeEmission")
        seen = set()
        for image, space in ((film, "sRGB"), (film, "Non-Color"), (stills, "sRGB"), (stills, "Filmic Log")):
            image.colorspace_settings.name = space
            node = self.show(image, emission.inputs["Color"])
            user = node.image_user
            user.frame_duration, user.frame_start, user.frame_offset, user.use_auto_refresh = 8, 2, 1, True
            for frame in (3, 5):
                with self.subTest(source=image.source, space=space, frame=frame):
                    self.scene.frame_set(frame)
                    ours, theirs = (kit.render(engine)[24, 24, :3] for engine in ("SORT", "CYCLES"))
                    np.testing.assert_allclose(ours, theirs, rtol=0.01)
                    self.assertEqual(warnings(), "")
                    seen.add(round(float(ours[0]), 3))
        self.assertGreater(len(seen), 5)
        film.filepath = str(folder / "gone.avi")
        np.testing.assert_allclose(kit.render()[24, 24, :3], theirs, rtol=0.01)  # the stills are shown
        self.show(film, emission.inputs["Color"])
        np.testing.assert_allclose(kit.render()[24, 24, :3], (1, 0, 1), atol=0.01)
        self.assertIn("gone.avi", warnings())

    def test_alpha_modes_as_in_cycles(self):
        """A row of alphas, of files and of painted images, whose node's Alpha is used or not."""
        alphas = (1, 0.5, 0.25, 0)
        pixels = np.zeros((2, 8, 4), np.float32)
        for k, alpha in enumerate(alphas):
            pixels[:, 2 * k:2 * k + 2] = (0.8, 0.4, 0.2, alpha)

        def image_of(kind):
            image = bpy.data.images.new(kind, 8, 2, alpha=True, float_buffer="float" in kind)
            image.pixels.foreach_set(pixels.ravel())
            if "painted" in kind:
                return image
            image.file_format = "OPEN_EXR" if "float" in kind else "PNG"
            image.filepath_raw = str(kit.FOLDER / f"alpha {kind}")
            image.save()
            suffix = ".exr" if "float" in kind else ".png"
            os.replace(image.filepath_raw, image.filepath_raw + suffix)
            loaded = bpy.data.images.load(image.filepath_raw + suffix, check_existing=False)
            if "float" in kind:  # 5.0 writes into the file that it is sRGB
                loaded.colorspace_settings.name = linear_space()
            return loaded
        emission = kit.material_of(self.plane, "ShaderNodeEmission")
        half = kit.new_node(emission, "ShaderNodeMath")
        half.operation, half.inputs[1].default_value, half.inputs[2].default_value = "MULTIPLY_ADD", 0.5, 0.5
        for kind in ("file", "float file", "painted", "painted float"):
            for mode in ("STRAIGHT", "CHANNEL_PACKED", "NONE"):
                for is_used in (False, True):
                    with self.subTest(kind=kind, mode=mode, is_used=is_used):
                        image = image_of(kind)
                        image.alpha_mode = mode
                        node = self.show(image, emission.inputs["Color"])
                        node.interpolation = "Closest"
                        for link in list(emission.inputs["Strength"].links):
                            emission.id_data.links.remove(link)
                        emission.inputs["Strength"].default_value = 1
                        if is_used:
                            kit.link(node.outputs["Alpha"], half.inputs[0])
                            kit.link(half.outputs[0], emission.inputs["Strength"])
                        ours, theirs = (kit.render(engine)[24, (4, 16, 30, 42), :3] for engine in ("SORT", "CYCLES"))
                        np.testing.assert_allclose(ours, theirs, atol=0.006)

    def test_alpha_of_the_base_colour_image(self):
        image = bpy.data.images.new("Half", 4, 4, alpha=True)
        image.pixels.foreach_set(np.tile(np.array([1, 1, 1, 0.25], np.float32), 16))
        principled = kit.material_of(self.plane, "ShaderNodeBsdfPrincipled", Specular=0.0, Base_Color=(0,) * 4)
        texture = self.show(image, principled.inputs["Base Color"])
        kit.link(texture.outputs["Alpha"], principled.inputs["Alpha"])
        behind = kit.add_plane("Behind", size=4, location=(0, 0, -0.5))
        kit.material_of(behind, "ShaderNodeEmission")
        self.scene.sort.samples = 256
        self.scene.sort.max_depth = 8
        at = kit.render()[24, 24, :3]
        self.assertTrue((at > 0.74).all() and (at < 1.01).all(), at)

    def compare(self, tolerance, **world):
        """A sphere under a light from above and a grey world."""
        self.plane.location = (0, 0, -1)
        bpy.ops.mesh.primitive_uv_sphere_add(radius=0.8, segments=64, ring_count=32)
        bpy.ops.object.shade_smooth()
        ball = bpy.context.object
        ball.data.materials.append(self.plane.data.materials[0])
        self.plane.data.materials.clear()
        light = kit.add("Light", bpy.data.lights.new("Light", "AREA"), (2.5, 0, 2.5), (0, math.pi / 4, 0))
        light.data.energy, light.data.size = 150, 1.5
        kit.set_world((0.5, 0.5, 0.5))
        self.scene.sort.samples = self.scene.cycles.samples = 128
        ours, theirs = kit.render(), kit.render("CYCLES")
        difference = np.abs(ours - theirs)[10:38, 10:38, :3].mean() / theirs[10:38, 10:38, :3].mean()
        print(f"mean difference {100 * difference:.1f} %")
        self.assertLess(difference, tolerance)

    def test_diffuse_like_cycles(self):
        kit.material_of(self.plane, "ShaderNodeBsdfDiffuse", Color=(0.8, 0.3, 0.1, 1))
        self.compare(0.02)

    def test_principled_plastic_like_cycles(self):
        kit.material_of(self.plane, "ShaderNodeBsdfPrincipled", Base_Color=(0.1, 0.4, 0.8, 1), Roughness=0.4)
        self.compare(0.10)

    def test_principled_metal_like_cycles(self):
        kit.material_of(self.plane, "ShaderNodeBsdfPrincipled", Base_Color=(0.9, 0.6, 0.2, 1), Metallic=1.0,
                        Roughness=0.3)
        self.compare(0.06)

    def test_glass_like_cycles(self):
        kit.material_of(self.plane, "ShaderNodeBsdfGlass", Color=(0.9, 1, 0.9, 1), IOR=1.45, Roughness=0.0)
        self.compare(0.08)


kit.main()
