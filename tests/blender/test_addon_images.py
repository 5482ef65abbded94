"""Image files that are damaged, lie about their size, or have odd names; disks that are full."""

import errno
import faulthandler
import os
import socket
import struct
import unittest
import zlib
from unittest import mock

import bpy
import numpy as np

import blender_scene as kit

MAGENTA, GREEN = (1, 0, 1), (0, 1, 0)
LYING_HDR = b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 999999 +X 999999\nabcdef"


def green_png(width=8, height=8):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes(GREEN) * width for _ in range(height)).replace(b"\1", b"\xff")
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class ImageTest(unittest.TestCase):
    def setUp(self):
        kit.empty_scene(size=8, samples=4)
        kit.add_camera((0, 0, 8))

    def wear(self, image):
        plane = kit.add_plane(size=2)
        emission = kit.material_of(plane, "ShaderNodeEmission")
        plane.active_material.name = "Wall"
        node = kit.new_node(emission, "ShaderNodeTexImage")
        node.image = image
        kit.link(node.outputs["Color"], emission.inputs["Color"])
        return image

    def load(self, name, data):
        path = os.fsencode(kit.FOLDER) + b"/" + name
        with open(path, "wb") as file:
            file.write(data)
        return self.wear(bpy.data.images.load(path))

    def check(self, colour, *words):
        np.testing.assert_allclose(kit.render()[4, 4, :3], colour, atol=0.01)
        said = "\n".join(kit.messages().warnings)
        for word in words:
            self.assertIn(word, said)
        if not words:
            self.assertEqual(said, "")

    def test_damaged_files_are_magenta_and_named(self):
        whole = green_png()
        for name, data in ((b"cut.png", whole[:40]), (b"empty.png", b""), (b"noise.jpg", bytes(range(200))), (b"huge.hdr", LYING_HDR),
                           (b"version.exr", b"v/1\x01" + bytes(range(60))), (b"text.tif", b"no picture")):
            with self.subTest(name=name):
                self.setUp()
                self.load(name, data)
                self.check(MAGENTA, "material 'Wall'", name.decode(), "it is magenta")

    def test_blender_does_not_load_what_cannot_fit(self):
        """Files of colour spaces that only Blender knows: it would have to read them."""
        large = [(b"huge.hdr", LYING_HDR), (b"huge.png", green_png(1, 1).replace(struct.pack(">II", 1, 1), struct.pack(">II", 1 << 30, 1 << 30)))]
        for name, data in large:
            with self.subTest(name=name):
                self.setUp()
                image = self.load(name, data)
                image.colorspace_settings.name = "Filmic Log"
                self.check(MAGENTA, "Material 'Wall', node 'Image Texture'", name.decode(), "larger than the memory")
                self.assertFalse(image.has_data)

    def test_files_that_never_end(self):
        """Folders, links to nothing and to themselves, devices, pipes and sockets, whatever they are said to be. A pipe in
        bpy.data.images.load() makes Blender itself wait, so they get their paths later."""
        odd = kit.FOLDER / "odd"
        odd.mkdir()
        socket.socket(socket.AF_UNIX).bind(str(odd / "socket"))
        os.mkfifo(odd / "pipe")
        (odd / "folder").mkdir()
        for name, target in (("dangling", "nothing"), ("loop", "loop"), ("zero", "/dev/zero"), ("random", "/dev/random")):
            (odd / name).symlink_to(target)
        cases = [(name, "FILE", "sRGB") for name in sorted(os.listdir(odd))]
        cases += [("pipe", source, "Filmic Log") for source in ("FILE", "SEQUENCE", "MOVIE", "TILED")]
        for k, (kind, source, space) in enumerate(cases):
            with self.subTest(kind=kind, source=source, space=space):
                self.setUp()
                name = f"{k} 1001"
                (odd / kind).rename(odd / name)
                image = bpy.data.images.new("Odd", 4, 4)
                image.source = "FILE"
                image.filepath = str(odd / (name if source != "TILED" else f"{k} <UDIM>"))
                image.source, image.colorspace_settings.name = source, space
                self.check_in_time(self.wear(image))
                (odd / name).rename(odd / kind)

    def check_in_time(self, image):
        faulthandler.dump_traceback_later(60, exit=True)  # where it waits
        self.check(MAGENTA, "Material 'Wall', node 'Image Texture'", "image 'Odd'", "magenta")
        self.assertFalse(image.has_data)
        faulthandler.cancel_dump_traceback_later()

    def test_paths_beside_a_linked_file(self):
        """The paths of an image and of a script are found, for the linked object and for its override."""
        folder = kit.FOLDER / "library"
        folder.mkdir()
        (folder / "green.png").write_bytes(green_png())
        (folder / "half.ssl").write_text("shader half(out float x) { x = 0.5; }\n")
        image = self.wear(bpy.data.images.load(str(folder / "green.png")))
        image.filepath = "//green.png"
        plane = bpy.data.objects["Plane"]
        emission = plane.active_material.node_tree.nodes["Emission"]
        script = kit.new_node(emission, "SortScriptNode")
        script.mode, script.filepath = "EXTERNAL", str(folder / "half.ssl")
        kit.link(script.outputs[0], emission.inputs["Strength"])
        script["filepath"] = "//half.ssl"
        bpy.data.libraries.write(str(folder / "library.blend"), {plane}, path_remap="NONE")
        self.setUp()
        with bpy.data.libraries.load(str(folder / "library.blend"), link=True) as (_, wanted):
            wanted.objects = ["Plane"]
        linked = wanted.objects[0]
        bpy.context.scene.collection.objects.link(linked)
        self.check((0, 0.5, 0))
        override = linked.override_create()
        bpy.context.scene.collection.objects.unlink(linked)
        bpy.context.scene.collection.objects.link(override)
        override.scale = (2, 2, 2)
        self.check((0, 0.5, 0))

    def test_sequences_with_an_offset(self):
        for k in range(1, 4):
            made = bpy.data.images.new("Frame", 2, 2)
            made.pixels = [float(k == 3), float(k != 3), 0, 1] * 4
            made.filepath_raw, made.file_format = str(kit.FOLDER / f"frame_{k:04}.png"), "PNG"
            made.save()
        image = self.wear(bpy.data.images.load(str(kit.FOLDER / "frame_0001.png")))
        image.source = "SEQUENCE"
        user = next(n for n in bpy.data.materials["Wall"].node_tree.nodes if n.type == "TEX_IMAGE").image_user
        user.frame_start, user.frame_duration, user.frame_offset, user.use_auto_refresh = 1, 3, 1, True
        for frame, colour in ((1, GREEN), (2, (1, 0, 0))):
            bpy.context.scene.frame_set(frame)
            self.check(colour)

    def test_more_closures_than_a_material_may_have(self):
        """The rest of the picture is as it is."""
        plane = kit.add_plane(size=1, location=(-1, 0, 0))
        first = kit.material_of(plane, "ShaderNodeBsdfDiffuse")
        plane.active_material.name = "Many ' \"shaders\""
        port = first.outputs[0]
        for _ in range(80):
            more, both = kit.new_node(first, "ShaderNodeBsdfGlossy"), kit.new_node(first, "ShaderNodeAddShader")
            kit.link(port, both.inputs[0])
            kit.link(more.outputs[0], both.inputs[1])
            port = both.outputs[0]
        kit.link(port, next(n for n in first.id_data.nodes if n.type == "OUTPUT_MATERIAL").inputs["Surface"])
        kit.material_of(kit.add_plane("Other", size=1, location=(1, 0, 0)), "ShaderNodeEmission", Color=(0, 1, 0, 1))
        bpy.context.scene.camera.data.type, bpy.context.scene.camera.data.ortho_scale = "ORTHO", 3
        picture = kit.render()
        np.testing.assert_allclose(picture[4, 1, :3], MAGENTA, atol=0.01)
        np.testing.assert_allclose(picture[4, 6, :3], GREEN, atol=0.01)
        said = kit.messages().warnings
        self.assertEqual(len(said), 1)
        self.assertRegex(said[0], "^Material 'Many ' \"shaders\"': its shader cannot be compiled: more than 64 terms .*magenta.*mix fewer")

    def test_sizes_in_headers(self):
        from sort_blender.export import image_header
        for kind, suffix in (("PNG", "png"), ("BMP", "bmp"), ("JPEG", "jpg"), ("TIFF", "tif"), ("HDR", "hdr"), ("OPEN_EXR", "exr")):
            with self.subTest(kind=kind):
                image = bpy.data.images.new("Made", 37, 21, float_buffer=kind in ("HDR", "OPEN_EXR"))
                image.filepath_raw, image.file_format = str(kit.FOLDER / f"made.{suffix}"), kind
                image.save()
                self.assertEqual(image_header.size_of((kit.FOLDER / f"made.{suffix}").read_bytes()), (37, 21))

    def test_names_that_are_not_utf_8(self):
        self.load(b"odd \xff name.png", green_png())
        self.check(GREEN)
        self.setUp()
        self.load(b"odd \xff damage.png", b"")
        self.check(MAGENTA, "damage.png")
        self.setUp()
        image = self.load(b"odd \xff gone.png", green_png())
        os.unlink(os.fsencode(kit.FOLDER) + b"/odd \xff gone.png")
        self.check(MAGENTA, "Material 'Wall'", "gone.png")
        self.assertIsNotNone(image)

    def test_errors_of_the_system_say_what_to_do(self):
        """Raised where the package is written."""
        from sort_blender.export import scene as scene_export
        kit.add_plane()
        target = os.path.join(bpy.app.tempdir, "sort-x", "meshes", "1.bin")
        for number, words in ((errno.ENOSPC, ("disk is full", "MiB are free below", "needs more than", "Temporary Files")),
                              (errno.EDQUOT, ("disk is full",)), (errno.EACCES, (target, "may not be", "Temporary Files")),
                              (errno.EROFS, (target, "may not be")), (errno.ENOENT, (target, "is gone")),
                              (errno.ENAMETOOLONG, (target, "too long")), (errno.EIO, (target, "error"))):
            with self.subTest(number=number), \
                    mock.patch.object(scene_export, "export_scene", side_effect=OSError(number, os.strerror(number), target)):
                with self.assertRaises(RuntimeError):
                    kit.render()
                for word in words:
                    self.assertIn(word, kit.messages().error)
                self.assertNotIn("internal", kit.messages().error)


if __name__ == "__main__":
    kit.main()
