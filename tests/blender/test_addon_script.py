"""SSL Script nodes: sockets from parameters, what goes wrong, animation and node groups; and what other nodes say when
something is missing."""

import os
import unittest

import bpy
import numpy as np

import blender_scene as kit

SOURCE = """
texture2d picture;
attribute float3 Paint = float3(0);
shader first(out float x) { x = 1; }
shader second [[ string label = "Second" ]] (
    color tint = color(0.25, 0.5, 0.75) [[ string label = "Tint" ]],
    float amount = 0.5 [[ string label = "Amount", float min = 0, float max = 1 ]],
    int count = 3 [[ string label = "Count" ]],
    bool is_on = true [[ string label = "On" ]],
    int what = 0 [[ string label = "What", string enum = "Tint|Count|Paint|Picture" ]],
    string mode = "plain" [[ string enum = "plain|twice" ]],
    float3 way = float3(0, 0, 1) [[ string label = "Way" ]],
    out closure surface [[ string label = "Surface" ]],
    out color seen [[ string label = "Seen" ]])
{
    seen = tint;
    if (what == 1) seen = color(0.1 * count);
    if (what == 2) { const float3 p = attribute<Paint>; seen = color(p.x, p.y, p.z); }
    if (what == 3) seen = texture2d_sample<picture>(0.5, 0.5);
    seen = (is_on ? amount : 0.0) * (mode == "twice" ? 2.0 : 1.0) * seen;
    surface = make_closure<Emission>(seen);
}
"""


def warnings():
    return "\n".join(kit.messages().warnings)


class ScriptTest(unittest.TestCase):
    def setUp(self):
        self.scene = kit.empty_scene(samples=4)
        self.plane = kit.add_plane(size=4)
        kit.add_camera((0, 0, 3.2))
        self.emission = kit.material_of(self.plane, "ShaderNodeEmission")

    def script(self, source=SOURCE, entry="second", tree=None):
        text = bpy.data.texts.new("painted.ssl")
        text.write(source)
        node = (tree or self.emission.id_data).nodes.new("SortScriptNode")
        node.entry, node.script = entry, text
        return node

    def show(self, socket):
        output = next(n for n in self.emission.id_data.nodes if n.type == "OUTPUT_MATERIAL")
        kit.link(socket, output.inputs["Surface"])

    def pixel(self):
        return kit.render()[24, 24, :3]

    def option(self, node, name):
        return next(o for o in node.options if o.parameter == name)

    def test_sockets_are_the_parameters(self):
        node = self.script()
        self.assertEqual([s.name for s in node.inputs], ["Tint", "Amount", "Count", "On", "Way"])
        self.assertEqual([s.name for s in node.outputs], ["Surface", "Seen"])
        self.assertEqual([s.type for s in node.inputs], ["RGBA", "VALUE", "INT", "BOOLEAN", "VECTOR"])
        np.testing.assert_allclose(node.inputs["Tint"].default_value, (0.25, 0.5, 0.75, 1))
        self.assertEqual(node.inputs["Count"].default_value, 3)
        self.assertEqual([(o.parameter, o.kind) for o in node.options],
                         [("what", "number"), ("mode", "choice"), ("picture", "texture")])

    def test_values_and_options_count(self):
        node = self.script()
        image = bpy.data.images.new("Grey", 4, 4, float_buffer=True)
        image.pixels.foreach_set(np.tile(np.array([0.2, 0.4, 0.6, 1], np.float32), 16))
        self.option(node, "picture").image = image
        self.plane.data.color_attributes.new("Paint", "FLOAT_COLOR", "POINT").data.foreach_set(
            "color", np.tile(np.array([0.9, 0.3, 0.1, 1], np.float32), 4))
        self.show(node.outputs["Surface"])
        np.testing.assert_allclose(self.pixel(), (0.125, 0.25, 0.375), rtol=1e-3)
        self.option(node, "mode").choice = "twice"
        for what, expected in (("Count", (0.3, 0.3, 0.3)), ("Paint", (0.9, 0.3, 0.1)), ("Picture", (0.2, 0.4, 0.6))):
            self.option(node, "what").choice = what
            np.testing.assert_allclose(self.pixel(), expected, rtol=2e-3)
        node.inputs["On"].default_value = False
        np.testing.assert_allclose(self.pixel(), 0)
        self.assertEqual([w for w in kit.messages().warnings if "no light" not in w], [])

    def test_a_closure_of_the_text(self):
        kit.set_world((1, 1, 1))
        own = ("bsdf Half(color tint, normal N) { lobe diffuse reflection { eval { f_cos = 0.5 * tint * M_1_PI * wi.z; } } }\n"
               "shader paint(color tint = color(0.8, 0.4, 0.2) [[ string label = \"Tint\" ]], out closure surface)\n"
               "{ surface = make_closure<Half>(tint, global_value<normal>); }")
        node = self.script(own, "")
        self.assertEqual([s.name for s in node.inputs], ["Tint"])
        self.show(node.outputs[0])
        self.scene.cycles.samples = 64
        np.testing.assert_allclose(self.pixel(), (0.4, 0.2, 0.1), rtol=0.15)
        node.script.from_string(own.replace("0.5 * tint", "0.5 * tnt"))
        node.refresh()
        self.assertIn("line 1", node.errors)
        self.assertIn("tnt", node.errors)

    def test_wires_in_and_out_and_a_group_around(self):
        group = bpy.data.node_groups.new("Group", "ShaderNodeTree")
        kit.new_group_socket(group, "INPUT", "NodeSocketColor", "In")
        kit.new_group_socket(group, "OUTPUT", "NodeSocketColor", "Out")
        given, made = group.nodes.new("NodeGroupInput"), group.nodes.new("NodeGroupOutput")
        node = self.script(tree=group)
        image = bpy.data.images.new("Grey", 4, 4)
        self.option(node, "picture").image = image
        group.links.new(given.outputs[0], node.inputs["Tint"])
        group.links.new(node.outputs["Seen"], made.inputs[0])
        outer = kit.new_node(self.emission, "ShaderNodeGroup")
        outer.node_tree = group
        outer.inputs[0].default_value = (0.8, 0.6, 0.4, 1)
        kit.link(outer.outputs[0], self.emission.inputs["Color"])
        np.testing.assert_allclose(self.pixel(), (0.4, 0.3, 0.2), rtol=1e-3)

    def test_animated_and_driven_values(self):
        node = self.script("shader s(float a = 0 [[ string label = \"A\" ]], float b = 0 [[ string label = \"B\" ]], "
                           "out closure surface) { surface = make_closure<Emission>(color(a, b, 0)); }", "")
        for frame in (1, 11):
            node.inputs["A"].default_value = frame / 10
            node.inputs["A"].keyframe_insert("default_value", frame=frame)
        node.inputs["B"].driver_add("default_value").driver.expression = "frame / 20"
        self.show(node.outputs[0])
        self.scene.frame_set(11)
        np.testing.assert_allclose(self.pixel(), (1.1, 0.55, 0), rtol=1e-3)

    def test_links_stay_when_the_source_changes(self):
        node = self.script()
        node.inputs["Amount"].default_value = 0.75
        rgb = kit.new_node(self.emission, "ShaderNodeRGB")
        kit.link(rgb.outputs[0], node.inputs["Tint"])
        node.script.from_string(SOURCE.replace("int count = 3", "float more = 2 [[ string label = \"More\" ]], int count = 3"))
        node.refresh()
        self.assertEqual([s.name for s in node.inputs], ["Tint", "Amount", "More", "Count", "On", "Way"])
        self.assertTrue(node.inputs["Tint"].is_linked)
        self.assertEqual(node.inputs["Amount"].default_value, 0.75)

    def test_a_mistake_shows_its_line_and_magenta(self):
        node = self.script()
        self.show(node.outputs["Surface"])
        node.script.from_string(SOURCE.replace("make_closure<Emission>(seen)", "make_closure<Emission>(sen)"))
        node.refresh()
        self.assertIn("line 21", node.errors)
        self.assertIn("sen", node.errors)
        np.testing.assert_allclose(self.pixel(), (1, 0, 1), atol=0.01)
        self.assertIn("Material 'Plane', node 'SSL Script': line 21", warnings())
        node.script = None
        self.pixel()
        self.assertIn("no source", warnings())
        os.mkfifo(kit.FOLDER / "pipe.ssl")
        os.symlink("/dev/zero", kit.FOLDER / "zero.ssl")
        node.mode = "EXTERNAL"
        for name in ("pipe.ssl", "zero.ssl"):  # Blender would wait for ever, or take all memory
            node.filepath = str(kit.FOLDER / name)
            self.pixel()
            self.assertIn(f"cannot read '{node.filepath}'", warnings())


class MissingTest(unittest.TestCase):
    def setUp(self):
        self.scene = kit.empty_scene(samples=4)
        self.plane = kit.add_plane(size=4)
        kit.add_camera((0, 0, 3.2))
        self.emission = kit.material_of(self.plane, "ShaderNodeEmission")

    def said(self, node_type, output, **settings):
        node = kit.new_node(self.emission, node_type)
        for name, value in settings.items():
            setattr(node, name, value)
        kit.link(node.outputs[output], self.emission.inputs["Color"])
        kit.render()
        self.assertIn("Material 'Plane', node", warnings())
        return warnings()

    def test_an_attribute_that_is_not_there(self):
        for kind in ("GEOMETRY", "OBJECT", "INSTANCER", "VIEW_LAYER"):
            text = self.said("ShaderNodeAttribute", "Color", attribute_name="Nothing", attribute_type=kind)
            self.assertIn("Object 'Plane'", text)
            self.assertIn("there is no 'Nothing' here; 0 is used", text)

    def test_a_uv_map_and_a_colour_that_are_not_there(self):
        self.assertIn("there is no 'Other' here; the first UV map is used",
                      self.said("ShaderNodeUVMap", 0, uv_map="Other"))
        self.assertIn("there is no 'Paint' here", self.said("ShaderNodeVertexColor", 0, layer_name="Paint"))

    def test_filters_of_images(self):
        image = bpy.data.images.new("Grey", 4, 4)
        for kind in ("Cubic", "Smart"):
            self.assertIn(f"interpolation {kind}", self.said("ShaderNodeTexImage", 0, image=image, interpolation=kind))

    def test_indices_that_closures_do_not_take(self):
        kit.material_of(self.plane, "ShaderNodeBsdfGlass", IOR=7.0)
        kit.render()
        self.assertIn("IOR 7 is beyond what closures take; 4 is used", warnings())
        node = kit.material_of(self.plane, "ShaderNodeSubsurfaceScattering")
        node.inputs["IOR"].default_value = 1.7
        kit.render()
        self.assertNotIn("IOR", warnings())

    def test_particles_know_themselves(self):
        """Instances of a particle system: index over count."""
        self.plane.show_instancer_for_render = False
        bit = kit.add_plane("Bit", 0.3, location=(0, 0, -50))
        emission = kit.material_of(bit, "ShaderNodeEmission")
        kit.link(kit.new_node(emission, "ShaderNodeParticleInfo").outputs["Index"], emission.inputs["Strength"])
        modifier = self.plane.modifiers.new("Bits", "PARTICLE_SYSTEM")
        settings = modifier.particle_system.settings
        settings.count, settings.frame_start, settings.frame_end, settings.lifetime = 6, 1, 1, 100
        settings.render_type, settings.instance_object, settings.particle_size = "OBJECT", bit, 1.0
        settings.physics_type = "NO"
        self.scene.frame_set(2)
        self.scene.sort.samples = self.scene.cycles.samples = 64
        ours, theirs = kit.render(), kit.render("CYCLES")
        self.assertGreater(theirs[..., 0].max(), 2)
        self.assertLess(np.abs(ours - theirs)[..., :3].mean() / theirs[..., :3].mean(), 0.05)


kit.main()
