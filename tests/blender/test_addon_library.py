"""The library of materials: made by scripts/material-library with the Blender that is installed (or else this one), it is listed in this
Blender's asset browser; its materials are appended into a file elsewhere and render."""

import os
import shutil
import subprocess
import unittest
from pathlib import Path
from types import SimpleNamespace

import bpy
import numpy as np
import blender_scene as kit

ROOT = Path(__file__).resolve().parent.parent.parent
LABELS = {"brick_wall": "Brick Wall", "oak": "Oak", "gold": "Gold"}


def add_on_folder():
    import sort_blender
    return Path(sort_blender.__file__).parent


def make_library(folder, *names):
    blender = shutil.which("blender", path=os.defpath) or os.environ["SORT_TEST_BLENDER"]
    return subprocess.run(["python3", "-B", ROOT / "scripts" / "material-library", kit.RENDERER.parent.parent, folder, "--blender", blender,
                           "--samples", "4", *names], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ""})


def libraries():
    return [(library.name, Path(library.path)) for library in bpy.context.preferences.filepaths.asset_libraries]


class LibraryTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = add_on_folder() / "materials"
        made = make_library(cls.folder, *LABELS)
        assert made.returncode == 0, made.stdout + made.stderr

    def test_listed_once_in_the_asset_browser(self):
        others = [library for library in libraries() if library[0] != "SORT Materials"]
        for _ in range(2):
            self.assertEqual(bpy.ops.sort.add_materials(), {"FINISHED"})
        self.assertEqual(libraries(), [*others, ("SORT Materials", self.folder)])

    def test_an_old_place_becomes_the_new_one(self):
        bpy.ops.sort.add_materials()
        listed = bpy.context.preferences.filepaths.asset_libraries
        ours = next(library for library in listed if library.name == "SORT Materials")
        ours.path = str(kit.FOLDER / "gone")
        count = len(listed)
        bpy.ops.sort.add_materials()
        self.assertEqual((len(listed), Path(ours.path)), (count, self.folder))

    def test_listed_by_itself_but_not_again(self):
        """With a window a timer does it, once the add-on is there."""
        from sort_blender import material_library
        listed = bpy.context.preferences.filepaths.asset_libraries
        preferences = bpy.context.preferences.addons["sort_blender"].preferences

        def ours():
            return [library for library in listed if library.name == "SORT Materials"]

        def take_out():
            for library in ours():
                if hasattr(listed, "remove"):
                    listed.remove(library)
                else:
                    bpy.ops.preferences.asset_library_remove(index=list(listed).index(library))
        self.assertTrue(bpy.app.timers.is_registered(material_library.list_at_first))
        take_out()
        preferences.has_listed_materials = False
        material_library.list_at_first()
        self.assertEqual([Path(library.path) for library in ours()], [self.folder])
        self.assertTrue(bpy.context.preferences.is_dirty)
        take_out()
        material_library.list_at_first()
        self.assertEqual(ours(), [])
        bpy.ops.sort.add_materials()
        ours()[0].path = str(kit.FOLDER / "gone")
        material_library.list_at_first()
        self.assertEqual([Path(library.path) for library in ours()], [self.folder])

    def test_the_preferences_have_the_button(self):
        from sort_blender.preferences import SortPreferences
        drawn = []
        layout = SimpleNamespace(prop=lambda data, name: None, label=lambda **how: None,
                                 operator=lambda name, icon: drawn.append((name, icon)))
        bpy.ops.sort.add_materials()
        SortPreferences.draw(SimpleNamespace(layout=layout), bpy.context)
        self.assertEqual(drawn, [("sort.add_materials", "CHECKMARK")])

    def test_without_the_file_the_operator_says_so(self):
        away = self.folder.with_name("away")
        self.folder.rename(away)
        try:
            self.assertFalse(bpy.ops.sort.add_materials.poll())
            with self.assertRaisesRegex(RuntimeError, "package-addon --bundle"):
                bpy.ops.sort.add_materials()
        finally:
            away.rename(self.folder)

    def test_what_the_browser_shows(self):
        with bpy.data.libraries.load(str(self.folder / "sort_materials.blend"), assets_only=True) as (there, taken):
            self.assertEqual(sorted(there.materials), sorted(LABELS.values()))
            taken.materials = there.materials
        catalogs = (self.folder / "blender_assets.cats.txt").read_text()
        for material in taken.materials:
            about = material.asset_data
            self.assertGreater(len(about.description), 40)
            self.assertGreaterEqual(len(about.tags), 3)
            self.assertIn(f"{about.catalog_id}:SORT/", catalogs)
            pixels = np.array(material.preview.image_pixels_float).reshape(128, 128, 4)[..., :3]
            self.assertGreater(pixels.std(), 0.05, material.name)

    def test_appended_it_renders(self):
        """From a file and a working folder elsewhere: the source comes along."""
        scene = kit.empty_scene(size=32, samples=4)
        ball = kit.add_mesh("Ball", *sphere())
        kit.add_camera((0, 0, 3))
        kit.set_world((0.6, 0.6, 0.6))
        elsewhere = kit.FOLDER / "elsewhere"
        elsewhere.mkdir()
        bpy.ops.wm.save_as_mainfile(filepath=str(elsewhere / "shot.blend"))
        before = os.getcwd()
        os.chdir(elsewhere)
        self.addCleanup(os.chdir, before)
        seen = {}
        for label in LABELS.values():
            with bpy.data.libraries.load(str(self.folder / "sort_materials.blend")) as (_, taken):
                taken.materials = [label]
            ball.data.materials.clear()
            ball.data.materials.append(taken.materials[0])
            seen[label] = kit.render()[12:20, 12:20, :3].mean(axis=(0, 1))
            self.assertEqual(kit.messages().warnings, [], label)
        brick, gold = seen["Brick Wall"], seen["Gold"]
        self.assertTrue(all(np.isfinite(c).all() and 0.01 < c.max() < 0.62 for c in seen.values()), seen)
        self.assertGreater(brick[0], 1.5 * brick[2])
        self.assertGreater(gold[0], 1.4 * gold[2])
        self.assertLess(brick.max(), 0.6 * gold.max())
        node = next(n for n in ball.material_slots[0].material.node_tree.nodes if n.bl_idname == "SortScriptNode")
        node.inputs["Silver in It"].default_value = 1
        silver = kit.render()[12:20, 12:20, :3].mean(axis=(0, 1))
        self.assertLess(silver[0], 1.15 * silver[2])
        self.assertEqual(scene.render.engine, "SORT")


def sphere(across=24, along=12):
    """Vertices and faces."""
    angles = [(np.pi * j / along, 2 * np.pi * i / across) for j in range(along + 1) for i in range(across)]
    vertices = [(0.5 * np.sin(a) * np.cos(b), 0.5 * np.sin(a) * np.sin(b), 0.5 * np.cos(a)) for a, b in angles]
    faces = [(j * across + i, (j + 1) * across + i, (j + 1) * across + (i + 1) % across, j * across + (i + 1) % across)
             for j in range(along) for i in range(across)]
    return vertices, faces


class PackageTest(unittest.TestCase):
    def pack(self, materials, out):
        return subprocess.run(["python3", "-B", ROOT / "scripts" / "package-addon", "--materials", materials, out],
                              capture_output=True, text=True)

    def test_the_zip_has_the_library(self):
        made = kit.FOLDER / "made"
        made.mkdir()
        refused = self.pack(made, kit.FOLDER / "packed")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("sort_materials.blend", refused.stderr)
        self.assertIn("run scripts/material-library", refused.stderr)
        for name in ("sort_materials.blend", "blender_assets.cats.txt"):
            (made / name).write_bytes(name.encode())
        packed = self.pack(made, kit.FOLDER / "packed")
        self.assertEqual(packed.returncode, 0, packed.stderr)
        for name in ("sort_materials.blend", "blender_assets.cats.txt"):
            self.assertEqual((kit.FOLDER / "packed" / "sort_blender" / "materials" / name).read_bytes(), name.encode())


    def test_a_bundle_without_blender_is_refused(self):
        """The library of a build whose sources are newer is not taken."""
        build = kit.FOLDER / "build"
        for name in ("bin", "lib"):
            (build / name).parent.mkdir(exist_ok=True)
            (build / name).symlink_to(kit.RENDERER.parent.parent / name)
        (build / "materials").mkdir()
        old = build / "materials" / "sort_materials.blend"
        old.write_bytes(b"old")
        os.utime(old, (0, 0))
        done = subprocess.run(["python3", "-B", ROOT / "scripts" / "package-addon", "--bundle", build, "--blender", "no-such-blender",
                               kit.FOLDER / "bundled"], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("there is no program 'no-such-blender'", done.stderr)
        self.assertIn("--no-materials packs none", done.stderr)
        self.assertFalse(old.exists())


class RefusalTest(unittest.TestCase):
    def test_what_cannot_be_made_is_said(self):
        for names, words in ((["bricks"], "there is no material bricks"), (["--blender", "no-blender"], "no program 'no-blender'")):
            made = make_library(kit.FOLDER / "none", *names)
            self.assertNotEqual(made.returncode, 0)
            self.assertIn(words, made.stderr)
            self.assertFalse((kit.FOLDER / "none").exists())


kit.main()
