"""Alpha of images next to Cycles: files of bytes and floats, alpha modes, colour spaces, with Alpha in use and without; as an
image, and as a sequence, which a Blender in the background reads where the renderer does not know the colour space."""

import unittest

import bpy
import numpy as np

import blender_scene as kit

SPACES = {"sRGB": ("sRGB",), "linear": ("Linear Rec.709", "Linear"), "data": ("Non-Color",), "ACES": ("ACES2065-1", "Linear ACES")}


class AlphaTest(unittest.TestCase):
    """A plane that shines by its image, half of it by half an alpha; two of them beside each other, if the camera sees so much."""

    def setUp(self, planes=1):
        scene = kit.empty_scene(size=16, samples=4)
        scene.render.resolution_x = 16 * planes
        kit.add_camera((planes - 1, 0, 3))
        scene.camera.data.type, scene.camera.data.ortho_scale = "ORTHO", 2 * planes
        kit.set_world((0.2, 0.1, 0.3))

    def file(self, kind, name="made"):
        """Pixels that no colour space makes equal."""
        image = bpy.data.images.new("Made", 8, 8, float_buffer=kind == "OPEN_EXR", alpha=True)
        pixels = np.ones((8, 8, 4), np.float32) * (0.5, 0.3, 0.1, 1)
        pixels[:, 4:] = (0.4, 0.2, 0.3, 0.5)
        image.pixels.foreach_set(pixels.astype(np.float32).ravel())
        image.filepath_raw, image.file_format = str(kit.FOLDER / (name + (".exr" if kind == "OPEN_EXR" else ".png"))), kind
        image.save()
        path = image.filepath_raw
        bpy.data.images.remove(image)
        return path

    def wear(self, image, is_alpha_used, place=0):
        emission = kit.material_of(kit.add_plane(size=2, location=(2 * place, 0, 0)), "ShaderNodeEmission")
        node, mix, clear = (kit.new_node(emission, f"ShaderNode{name}") for name in ("TexImage", "MixShader", "BsdfTransparent"))
        node.image, node.interpolation = image, "Closest"
        kit.link(node.outputs["Color"], emission.inputs["Color"])
        if is_alpha_used:
            output = next(n for n in emission.id_data.nodes if n.type == "OUTPUT_MATERIAL")
            kit.link(node.outputs["Alpha"], mix.inputs[0])
            kit.link(clear.outputs[0], mix.inputs[1])
            kit.link(emission.outputs[0], mix.inputs[2])
            kit.link(mix.outputs[0], output.inputs["Surface"])
        return node

    def compare(self):
        ours, theirs = kit.render(), kit.render("CYCLES")
        self.assertEqual(kit.messages().warnings, [])
        for column in range(3, ours.shape[1], 16):
            for half in (0, 9):
                np.testing.assert_allclose(ours[8, column + half], theirs[8, column + half], atol=0.004)

    def test_files(self):
        for kind in ("PNG", "OPEN_EXR"):
            path = self.file(kind)
            for mode in ("STRAIGHT", "PREMUL", "CHANNEL_PACKED", "NONE"):
                for name, spaces in SPACES.items():
                    if kind == "OPEN_EXR" and name == "sRGB" and mode != "NONE":  # which nobody means
                        for is_alpha_used in (False, True):
                            with self.subTest(kind=kind, mode=mode, space=name, is_alpha_used=is_alpha_used):
                                self.setUp()
                                self.wear(self.load(path, spaces, mode), is_alpha_used)
                                kit.render()
                                self.assertIn("Cycles has other colours", kit.messages().warnings[0])
                    else:
                        with self.subTest(kind=kind, mode=mode, space=name):
                            self.setUp(planes=2)
                            image = self.load(path, spaces, mode)
                            for is_alpha_used in (False, True):
                                self.wear(image, is_alpha_used, place=is_alpha_used)
                            self.compare()

    @staticmethod
    def load(path, spaces, mode):
        image = bpy.data.images.load(path)
        for space in spaces:
            try:
                image.colorspace_settings.name = space
                break
            except TypeError:
                pass
        image.alpha_mode = mode
        return image

    def test_packed_files(self):
        """Blender reads them, for Cycles too; whether they still have a name does not matter. Since 5.1 Cycles does once more what Blender
        has done where a mode is unusual: SORT shows the colours of the file."""
        for kind, space in (("PNG", "sRGB"), ("OPEN_EXR", "linear")):
            path = self.file(kind)
            for mode in ("STRAIGHT", "PREMUL", "CHANNEL_PACKED", "NONE"):
                if bpy.app.version >= (5, 1, 0) and (kind, mode) in (("PNG", "PREMUL"), ("OPEN_EXR", "STRAIGHT")):
                    continue
                for is_named in (True, False):
                    with self.subTest(kind=kind, mode=mode, is_named=is_named):
                        self.setUp(planes=2)
                        image = self.load(path, SPACES[space], mode)
                        image.pack()
                        if not is_named:
                            image.filepath_raw = ""
                        image.reload()
                        # Bytes times alpha that a node with Alpha divides by it, before they are linear: nobody means that.
                        for is_alpha_used in (False,) if (kind, mode) == ("PNG", "PREMUL") else (False, True):
                            self.wear(image, is_alpha_used, place=is_alpha_used)
                        self.compare()

    def test_sequences_that_blender_reads(self):
        for kind, mode in (("PNG", "STRAIGHT"), ("PNG", "PREMUL"), ("OPEN_EXR", "STRAIGHT"), ("OPEN_EXR", "PREMUL")):
            with self.subTest(kind=kind, mode=mode):
                self.setUp()
                image = bpy.data.images.load(self.file(kind, "made_0001"))
                image.source, image.alpha_mode = "SEQUENCE", mode
                image.colorspace_settings.name = SPACES["ACES"][0 if bpy.app.version >= (4, 0, 0) else 1]
                node = self.wear(image, True)
                node.image_user.frame_duration, node.image_user.frame_start, node.image_user.frame_offset = 1, 1, 0
                self.compare()


kit.main()
