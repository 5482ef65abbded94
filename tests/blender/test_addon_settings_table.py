"""The renderer's table of settings: each row is a property with a range that the renderer accepts, is drawn in a panel and is exported, and a
row that is added is offered without an edit of the add-on. Every value of the add-on's lists is one that the renderer knows."""

import json
import subprocess
import unittest

import bpy

import blender_scene as kit

# What a scene without settings of its own exports; Blender's name of each property in saved files.
FACTORY = {"samples": 64, "max_depth": 13, "max_diffuse": 5, "max_glossy": 5, "max_transmission": 13, "max_transparent": 128, "roulette_depth": 3,
           "clamp_direct": 0, "clamp_indirect": 10, "filter_glossy": 1, "light_threshold": 0.009999999776482582, "seed": 1, "transparent_film": False, "film_exposure": 1,
           "ao_distance_m": 10}
SAVED = {"samples", "max_depth", "diffuse_bounces", "glossy_bounces", "transmission_bounces", "max_transparent", "min_light_bounces",
         "clamp_direct", "clamp_indirect", "filter_glossy", "light_threshold", "seed"}
LISTS = {"texture_filter": "--filter", "mip_mode": "--mip-mode", "pixel_filter": "--pixel-filter", "integrator": "--integrator"}


def exported():
    target = kit.FOLDER / f"package{len(list(kit.FOLDER.iterdir()))}"
    bpy.ops.sort.export_package(filepath=str(target), as_folder=True)
    return target, json.loads((target / "scene.json").read_text())["settings"]


class Layout:
    def __init__(self):
        self.drawn = []
        self.column = self.row = lambda **how: self

    def prop(self, data, name, **how):
        self.drawn.append(name)

    def operator(self, name, **how):
        pass


class Panel:
    """Stands for a panel of the class, which only Blender can make."""

    def __init__(self, cls):
        self.names, self.layout = cls.names, Layout()
        self.draw_names = lambda context: cls.draw_names(self, context)


def drawn(*names):
    """Properties that these panels draw."""
    found = []
    for name in names:
        cls = getattr(bpy.types, name)
        panel = Panel(cls)
        cls.draw(panel, bpy.context)
        found += panel.layout.drawn
    return found


class TableTest(unittest.TestCase):
    def setUp(self):
        bpy.ops.wm.read_homefile(use_empty=True)
        kit.add_camera()
        kit.set_renderer(str(kit.RENDERER))
        self.scene = bpy.context.scene
        from sort_blender import render_settings, settings_table
        self.module, self.table = render_settings, settings_table

    def check(self, package, *options):
        words = [str(kit.RENDERER), "--check", "--quiet", str(package), *options]
        result = subprocess.run(words, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_what_only_blender_knows_is_about_rows(self):
        fields = {row.field for row in self.table.ROWS}
        self.assertEqual(set(self.module.FORMS) - fields, set())
        self.assertEqual(set(self.module.ELSEWHERE) - fields, set())
        self.assertEqual(set(self.module.FORMS) & set(self.module.ELSEWHERE), set())

    def test_names_and_defaults_of_saved_files(self):
        self.assertEqual(set(self.module.properties()), SAVED)
        found = exported()[1]
        self.assertEqual({name: found.get(name) for name in FACTORY}, FACTORY)
        self.assertEqual({row.field for row in self.table.ROWS}, set(FACTORY))

    def test_the_renderer_accepts_every_limit(self):
        for side in ("hard_min", "hard_max"):
            for name in sorted(SAVED):
                setattr(self.scene.sort, name, getattr(self.scene.sort.bl_rna.properties[name], side))
            with self.subTest(side=side):
                self.check(exported()[0])

    def test_every_property_is_drawn_once(self):
        found = drawn("SORT_PT_sampling", "SORT_PT_light_paths")
        self.assertEqual([found.count(name) for name in sorted(SAVED)], [1] * len(SAVED), found)

    def test_a_new_row_is_offered(self):
        rows = self.table.ROWS
        new = [self.table.Row("U32", "new_count", 1, 9, 4, "number of things"), self.table.Row("FLOAT", "new_size", 0, 2.5, 0.5, "size of them"),
               self.table.Row("BOOL", "new_switch", 0, 1, 1, "whether there are any")]
        try:
            self.table.ROWS = (*rows, *new)
            self.restart()
            settings = bpy.context.scene.sort
            self.assertEqual((settings.new_count, settings.new_size, settings.new_switch), (4, 0.5, True))
            settings.new_count, settings.new_size = 100, 100
            self.assertEqual((settings.new_count, settings.new_size), (9, 2.5))
            about = settings.bl_rna.properties["new_size"]
            self.assertEqual((about.name, about.description), ("New Size", "Size of them"))
            self.assertEqual(drawn("SORT_PT_light_paths")[-3:], ["new_count", "new_size", "new_switch"])
            found = exported()[1]
            self.assertEqual((found["new_count"], found["new_size"], found["new_switch"]), (9, 2.5, True))
        finally:
            self.table.ROWS = rows
            self.restart()

    def restart(self):
        bpy.ops.preferences.addon_disable(module="sort_blender")
        bpy.ops.preferences.addon_enable(module="sort_blender")

    def test_the_renderer_knows_every_choice(self):
        from sort_blender import job
        package = exported()[0]
        for name, option in LISTS.items():
            for item in self.scene.sort.bl_rna.properties[name].enum_items:
                with self.subTest(option=option, value=item.identifier):
                    if name != "integrator":
                        self.check(package, option, item.identifier)
                        continue
                    self.scene.sort.integrator = item.identifier
                    options = job.integrator_options(self.scene.sort)
                    self.assertEqual(options[:2], [option, item.identifier])
                    self.check(package, *options)


kit.main()
