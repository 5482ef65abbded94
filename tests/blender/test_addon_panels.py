"""The panels: of Blender's own those that SORT has the settings of, and each of SORT's own draws what is there; all of it
goes when the add-on is disabled."""

import inspect
import unittest

import bpy
import blender_scene as kit

# The settings that an artist looks for, and the panels of the versions of Blender that show it.
OF_BLENDER = {
    "lens": {"DATA_PT_lens"}, "depth of field": {"DATA_PT_camera_dof"}, "aperture": {"DATA_PT_camera_dof_aperture"},
    "light": {"DATA_PT_EEVEE_light"}, "spot": {"DATA_PT_spot"}, "picture format": {"RENDER_PT_format"},
    "colour management": {"RENDER_PT_color_management"}, "slots": {"EEVEE_MATERIAL_PT_context_material"},
    "surface": {"EEVEE_MATERIAL_PT_surface"}, "preview": {"MATERIAL_PT_preview"},
    "pass index of a material": {"EEVEE_MATERIAL_PT_settings", "EEVEE_NEXT_MATERIAL_PT_settings"},
    "world": {"EEVEE_WORLD_PT_surface"}, "mist": {"EEVEE_WORLD_PT_mist"}, "UV maps": {"DATA_PT_uv_texture"},
    "output": {"RENDER_PT_output"}, "view layer": {"VIEWLAYER_PT_layer"}, "simplify": {"RENDER_PT_simplify"}}
NOTHING_TO_SET = ("RENDER_PT_eevee", "RENDER_PT_gpencil", "RENDER_PT_grease", "RENDER_PT_opengl", "VIEWLAYER_PT_eevee",
                  "EEVEE_MATERIAL_PT_volume", "EEVEE_WORLD_PT_volume", "DATA_PT_lightprobe_bake", "DATA_PT_EEVEE_shadow")


class Layout:
    """Draws nothing, and refuses what Blender would print an error for."""

    def __init__(self):
        self.drawn = []

    def prop(self, data, name, **how):
        if data is None or name not in data.bl_rna.properties:
            raise AssertionError(f"{data} has no {name}")
        self.drawn.append(name)

    def prop_search(self, data, name, owner, names, **how):
        self.prop(data, name)
        self.prop(owner, names)

    def operator(self, name, **how):
        module, _, called = name.partition(".")
        getattr(getattr(bpy.ops, module), called).get_rna_type()  # KeyError: there is none
        self.drawn.append(name)
        return self

    def _same(self, *words, **how):
        return self

    row = column = split = box = _same

    def label(self, **how):
        self.drawn.append("label")

    template_list = menu = separator = _same


class Self:
    """Stands for a panel of the class, which only Blender can make."""

    def __init__(self, cls):
        self._cls, self.layout = cls, Layout()
        self.bl_space_type = cls.bl_space_type

    def __getattr__(self, name):
        value = inspect.getattr_static(self._cls, name)
        return value.__get__(self) if inspect.isfunction(value) else getattr(self._cls, name)


def own_panels():
    """But the list of presets, which Blender draws."""
    return [getattr(bpy.types, name) for name in dir(bpy.types) if name.startswith("SORT_PT") and name != "SORT_PT_presets"]


def lent_panels():
    """Not SORT's own."""
    return {panel.__name__ for panel in bpy.types.Panel.__subclasses__()
            if "SORT" in getattr(panel, "COMPAT_ENGINES", ()) and not panel.__module__.startswith("sort_blender")}


class Context:
    """Blender's, with what the window would add."""

    def __init__(self, obj):
        self.object, self.engine, self.world = obj, "SORT", bpy.context.scene.world
        self.scene, self.view_layer, self.active_object = bpy.context.scene, bpy.context.view_layer, obj


class PanelTest(unittest.TestCase):
    def test_panels_of_blender_are_shown(self):
        lent = lent_panels()
        for what, names in OF_BLENDER.items():
            self.assertTrue(names & lent, what)
        for panel in lent:
            self.assertFalse(panel.startswith(NOTHING_TO_SET), panel)

    def test_own_panels_draw_what_is_there(self):
        bpy.context.scene.render.engine = "SORT"
        if not bpy.context.scene.view_layers[0].lightgroups:
            bpy.context.scene.view_layers[0].lightgroups.add(name="group")
        panels = own_panels()
        self.assertGreater(len(panels), 12)
        for cls in panels:
            for obj in bpy.data.objects:
                with self.subTest(panel=cls.__name__, object=obj.name):
                    if not cls.poll(Context(obj)):
                        continue
                    item = Self(cls)
                    cls.draw(item, Context(obj))
                    self.assertTrue(item.layout.drawn)
                    if hasattr(cls, "draw_header"):
                        cls.draw_header(item, Context(obj))

    def test_nothing_is_left_of_a_disabled_addon(self):
        before, panels = lent_panels(), own_panels()
        bpy.ops.preferences.addon_disable(module="sort_blender")
        self.assertEqual(lent_panels(), set())
        left = [name for name in dir(bpy.types) if name.upper().startswith("SORT")]
        self.assertEqual(left, [])
        self.assertFalse(hasattr(bpy.types.Scene, "sort") or hasattr(bpy.types.ViewLayer, "sort"))
        bpy.ops.preferences.addon_enable(module="sort_blender")
        kit.set_renderer(str(kit.RENDERER))
        self.assertEqual(lent_panels(), before)
        self.assertEqual(len(own_panels()), len(panels))


kit.main()
