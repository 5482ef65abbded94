"""Node by node: a plane that glows with what the node gives, beside Cycles; closures on a sphere."""

import math
import unittest

import bpy
import numpy as np

import blender_scene as kit

INNER = slice(6, 42)


def warnings():
    """But for what the renderer says of scenes whose only light depends on the view."""
    return "\n".join(text for text in kit.messages().warnings if "no light" not in text)


class ValueTest(unittest.TestCase):
    """What needs no light: a sample a pixel's middle is enough, and noise is that of the filter."""

    def setUp(self):
        self.scene = kit.empty_scene(samples=16)
        self.plane = kit.add_plane(size=2)
        kit.add_camera((0, 0, 3.2))
        self.emission = kit.material_of(self.plane, "ShaderNodeEmission")

    def new(self, node_type, settings=None, **inputs):
        node = kit.new_node(self.emission, node_type)
        for name, value in (settings or {}).items():
            setattr(node, name, value)
        for name, value in inputs.items():
            socket = next(s for s in node.inputs if s.identifier == name or s.name == name.replace("_", " "))
            socket.default_value = value
        return node

    def coordinates(self, output="UV"):
        return self.new("ShaderNodeTexCoord").outputs[output]

    def show(self, socket):
        for old in self.emission.inputs["Color"].links:
            self.emission.id_data.links.remove(old)
        kit.link(socket, self.emission.inputs["Color"])

    def check(self, socket, name="", tolerance=0.01):
        """Mean difference from Cycles, of a mean of about 1."""
        self.show(self.signed(socket))
        ours, theirs = (kit.render(engine)[INNER, INNER, :3] for engine in ("SORT", "CYCLES"))
        difference = np.abs(ours - theirs).mean() / max(np.abs(theirs).mean(), 0.1)
        print(f"NODE {name or socket.node.bl_label}: {100 * difference:.2f} %")
        self.assertLess(difference, tolerance, name or socket.node.bl_label)
        self.assertTrue(np.abs(theirs).max() > 0.01, "a black picture tests nothing")
        self.assertEqual(warnings(), "")

    def signed(self, socket):
        """Emission cannot be negative: max(x, -x / 2)."""
        minus = self.new("ShaderNodeVectorMath", {"operation": "SCALE"}, Scale=-0.5)
        kit.link(socket, minus.inputs[0])
        both = self.new("ShaderNodeVectorMath", {"operation": "MAXIMUM"})
        kit.link(socket, both.inputs[0])
        kit.link(minus.outputs[0], both.inputs[1])
        return both.outputs[0]

    def wide(self, socket):
        """uv moved to -1 .. 2, so that signs and wrapping count."""
        node = self.new("ShaderNodeMapping", Scale=(3, 3, 3), Location=(-1, -1, 0.3))
        kit.link(socket, node.inputs["Vector"])
        return node.outputs[0]

    def test_procedural_textures(self):
        for kind, settings in (("Noise", {}), ("Voronoi", {}), ("Musgrave", {}), ("Wave", {}),
                               ("Wave", {"wave_type": "RINGS", "rings_direction": "SPHERICAL"}), ("Magic", {}),
                               ("Brick", {}), ("Checker", {}), ("Gradient", {"gradient_type": "RADIAL"})):
            with self.subTest(kind=kind, **settings):
                node = self.new(f"ShaderNodeTex{kind}", settings)
                if kind in ("Brick", "Checker", "Wave"):
                    node.inputs["Scale"].default_value = 3.3
                self.check(node.outputs["Fac" if kind == "Musgrave" else "Color"], kind, 0.08 if kind == "Brick" else 0.03)

    def test_coordinates(self):
        bpy.context.view_layer.update()
        self.plane.location, self.plane.rotation_euler = (0.1, 0.2, 0), (0.2, 0.1, 0.3)
        for output in ("Generated", "UV", "Object"):
            self.check(self.coordinates(output), output)
        for output in ("Position", "Normal", "True Normal", "Incoming"):
            self.check(self.new("ShaderNodeNewGeometry").outputs[output], output)

    def test_mapping(self):
        for kind in ("POINT", "TEXTURE", "VECTOR", "NORMAL"):
            node = self.new("ShaderNodeMapping", {"vector_type": kind}, Rotation=(0.3, 0.5, 0.7), Scale=(2, 3, 0.5),
                            Location=(0.0, 0.0, 0.0) if kind == "NORMAL" else (0.1, 0.2, 0.3))
            kit.link(self.wide(self.coordinates()), node.inputs["Vector"])
            self.check(node.outputs[0], kind)

    def test_math(self):
        split = self.new("ShaderNodeSeparateXYZ")
        kit.link(self.wide(self.coordinates()), split.inputs[0])
        node = self.new("ShaderNodeMath")
        kit.link(split.outputs[0], node.inputs[0])
        kit.link(split.outputs[1], node.inputs[1])
        node.inputs[2].default_value = 0.4
        operations = [item.identifier for item in node.bl_rna.properties["operation"].enum_items]
        self.sheet(node, "operation", operations)

    def test_vector_math(self):
        node = self.new("ShaderNodeVectorMath")
        kit.link(self.wide(self.coordinates()), node.inputs[0])
        node.inputs[1].default_value = (0.5, 0.7, 0.3)
        node.inputs[2].default_value = (-0.2, 0.1, 0.9)
        node.inputs["Scale"].default_value = 0.6
        self.sheet(node, "operation", [i.identifier for i in node.bl_rna.properties["operation"].enum_items])

    def test_mix_blends(self):
        node = self.new("ShaderNodeMixRGB")
        node.inputs["Fac"].default_value = 0.7
        kit.link(self.coordinates(), node.inputs["Color1"])
        node.inputs["Color2"].default_value = (0.3, 0.8, 0.5, 1)
        self.sheet(node, "blend_type", [i.identifier for i in node.bl_rna.properties["blend_type"].enum_items])

    def sheet(self, node, setting, values):
        """All values of a setting in strips of one picture: one render for all."""
        links = [(link.from_socket, number) for number, socket in enumerate(node.inputs) for link in socket.links]
        split = self.new("ShaderNodeSeparateXYZ")
        kit.link(self.coordinates(), split.inputs[0])
        total = None
        for k, value in enumerate(values):
            copy = self.new(node.bl_idname, {setting: value})
            for number, socket in enumerate(node.inputs):
                if hasattr(socket, "default_value"):
                    copy.inputs[number].default_value = socket.default_value
            for source, number in links:
                kit.link(source, copy.inputs[number])
            strip = self.new("ShaderNodeMath", {"operation": "COMPARE"})
            kit.link(split.outputs[0], strip.inputs[0])
            strip.inputs[1].default_value = (k + 0.5) / len(values)
            strip.inputs[2].default_value = 0.5 / len(values)
            shown = self.new("ShaderNodeVectorMath", {"operation": "SCALE"})
            output = next(s for s in copy.outputs if s.enabled)
            kit.link(output, shown.inputs[0])
            kit.link(strip.outputs[0], shown.inputs["Scale"])
            if total is None:
                total = shown.outputs[0]
            else:
                both = self.new("ShaderNodeVectorMath")
                kit.link(total, both.inputs[0])
                kit.link(shown.outputs[0], both.inputs[1])
                total = both.outputs[0]
        self.scene.render.resolution_x = self.scene.render.resolution_y = 4 * len(values)
        # The plane fills the picture, strip k the pixels 4k to 4k + 3, of which the inner two are pure.
        self.scene.camera.data.type = "ORTHO"
        self.scene.camera.data.ortho_scale = 2
        self.show(self.signed(total))
        ours, theirs = (kit.render(engine)[..., :3] for engine in ("SORT", "CYCLES"))
        wrong = []
        for k, value in enumerate(values):
            a, b = (p[:, 4 * k + 1:4 * k + 3] for p in (ours, theirs))
            difference = np.abs(np.clip(a, -20, 20) - np.clip(b, -20, 20)).mean() / max(np.abs(np.clip(b, -20, 20)).mean(), 0.1)
            print(f"NODE {node.bl_label} {value}: {100 * difference:.2f} %")
            if difference > 0.05:
                wrong.append((value, difference))
        self.assertEqual(wrong, [])
        self.assertEqual(warnings(), "")

    def test_colours(self):
        uv = self.coordinates()
        for kind, settings, inputs, target in (
                ("Invert", {}, {"Fac": 0.8}, "Color"), ("Gamma", {}, {"Gamma": 2.2}, "Color"),
                ("BrightContrast", {}, {"Bright": 0.1, "Contrast": 0.4}, "Color"),
                ("HueSaturation", {}, {"Hue": 0.3, "Saturation": 0.7, "Value": 1.2, "Fac": 0.9}, "Color"),
                ("RGBToBW", {}, {}, "Color"), ("ValToRGB", {}, {}, "Fac"), ("Clamp", {}, {"Min": 0.2, "Max": 0.6}, "Value"),
                ("SeparateColor", {"mode": "HSV"}, {}, "Color"), ("CombineColor", {"mode": "HSL"}, {"Green": 0.5, "Blue": 0.4}, "Red"),
                ("MapRange", {"interpolation_type": "SMOOTHSTEP"}, {"From Min": 0.2, "To Max": 2.0}, "Value"),
                ("MapRange", {"interpolation_type": "STEPPED"}, {"From Min": 0.1, "To Max": 2.0}, "Value")):
            with self.subTest(kind=kind):
                node = self.new(f"ShaderNode{kind}", settings)
                for name, value in inputs.items():
                    node.inputs[name].default_value = value
                kit.link(uv, node.inputs[target])
                self.check(node.outputs[0], kind, 0.02)

    def test_mix_of_all_types(self):
        for data_type, a, b in (("FLOAT", "A_Float", "B_Float"), ("VECTOR", "A_Vector", "B_Vector"),
                                ("RGBA", "A_Color", "B_Color")):
            node = self.new("ShaderNodeMix", {"data_type": data_type})
            named = {s.identifier: s for s in node.inputs}
            named["Factor_Float"].default_value = 0.3
            kit.link(self.coordinates(), named[a])
            named[b].default_value = 0.9 if data_type == "FLOAT" else (0.9, 0.2, 0.4, 1)[:4 if data_type == "RGBA" else 3]
            self.check(next(s for s in node.outputs if s.enabled), f"Mix {data_type}")

    def test_layer_weight_and_fresnel(self):
        self.plane.rotation_euler = (0.9, 0.4, 0)
        self.check(self.new("ShaderNodeFresnel").outputs[0])
        for output in ("Fresnel", "Facing"):
            self.check(self.new("ShaderNodeLayerWeight", Blend=0.3).outputs[output], f"Layer Weight {output}")

    def test_normal_map(self):
        self.plane.rotation_euler = (0.3, 0.2, 0.5)
        for space in ("TANGENT", "WORLD", "BLENDER_WORLD"):
            node = self.new("ShaderNodeNormalMap", {"space": space}, Color=(0.7, 0.6, 0.9, 1), Strength=0.3)
            self.check(node.outputs[0], f"Normal Map {space}")

    def test_colour_attribute(self):
        layer = self.plane.data.color_attributes.new("Paint", "FLOAT_COLOR", "POINT")
        layer.data.foreach_set("color", np.array([1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 1, 0.5, 1, 1, 1, 1], np.float32))
        for node in (self.new("ShaderNodeVertexColor", {"layer_name": "Paint"}), self.new("ShaderNodeVertexColor"),
                     self.new("ShaderNodeAttribute", {"attribute_name": "Paint"})):
            self.check(node.outputs["Color"])

    def test_second_uv_map(self):
        self.plane.data.uv_layers.new(name="Second").data.foreach_set(
            "uv", np.array([0.9, 0.1, 0.2, 0.3, 0.5, 0.7, 0.1, 0.9], np.float32))
        self.check(self.new("ShaderNodeUVMap", {"uv_map": "Second"}).outputs[0])

    def test_nested_groups(self):
        inner = bpy.data.node_groups.new("Inner", "ShaderNodeTree")
        inner.inputs.new("NodeSocketVector", "In")
        inner.inputs.new("NodeSocketFloat", "Scale").default_value = 3
        inner.outputs.new("NodeSocketColor", "Out")
        given, made = inner.nodes.new("NodeGroupInput"), inner.nodes.new("NodeGroupOutput")
        checker = inner.nodes.new("ShaderNodeTexChecker")
        inner.links.new(given.outputs["In"], checker.inputs["Vector"])
        inner.links.new(given.outputs["Scale"], checker.inputs["Scale"])
        inner.links.new(checker.outputs["Color"], made.inputs["Out"])
        outer = bpy.data.node_groups.new("Outer", "ShaderNodeTree")
        outer.inputs.new("NodeSocketVector", "In")
        outer.outputs.new("NodeSocketColor", "Out")
        given, made = outer.nodes.new("NodeGroupInput"), outer.nodes.new("NodeGroupOutput")
        pair = [outer.nodes.new("ShaderNodeGroup") for _ in range(2)]
        mix = outer.nodes.new("ShaderNodeMixRGB")
        for k, node in enumerate(pair):
            node.node_tree = inner
            node.inputs["Scale"].default_value = 2.2 + 3 * k
            outer.links.new(given.outputs["In"], node.inputs["In"])
            outer.links.new(node.outputs["Out"], mix.inputs[1 + k])
        outer.links.new(mix.outputs[0], made.inputs["Out"])
        node = self.new("ShaderNodeGroup")
        node.node_tree = outer
        kit.link(self.wide(self.coordinates()), node.inputs["In"])
        self.check(node.outputs["Out"], "Group", 0.04)


class ClosureTest(unittest.TestCase):
    """A sphere under an area light and a grey world."""

    def setUp(self):
        self.scene = kit.empty_scene(samples=100)
        bpy.ops.mesh.primitive_uv_sphere_add(radius=0.8, segments=48, ring_count=24)
        bpy.ops.object.shade_smooth()
        self.ball = bpy.context.object
        kit.add_camera((0, 0, 3.2))
        light = kit.add("Light", bpy.data.lights.new("Light", "AREA"), (2.5, 0, 2.5), (0, math.pi / 4, 0))
        light.data.energy, light.data.size = 150, 1.5
        self.scene.world = bpy.data.worlds.new("World")
        self.scene.world.color = (0.5, 0.5, 0.5)

    def compare(self, name, tolerance, is_warned=False):
        ours, theirs = kit.render()[12:36, 12:36, :3], kit.render("CYCLES")[12:36, 12:36, :3]
        difference = np.abs(ours - theirs).mean() / theirs.mean()
        print(f"NODE {name}: {100 * difference:.1f} %")
        self.assertLess(difference, tolerance, name)
        self.assertEqual(warnings() != "", is_warned, warnings())

    def test_one_by_one(self):
        for kind, settings, inputs, tolerance in (
                ("BsdfDiffuse", {}, {"Roughness": 0.5}, 0.05),
                ("BsdfGlossy", {"distribution": "GGX"}, {"Roughness": 0.3}, 0.06),
                ("BsdfAnisotropic", {"distribution": "GGX"}, {"Roughness": 0.4, "Anisotropy": 0.5}, 0.10),
                ("BsdfGlass", {"distribution": "GGX"}, {"Roughness": 0.2}, 0.10),
                ("BsdfRefraction", {"distribution": "GGX"}, {"Roughness": 0.2}, 0.10),
                ("BsdfTranslucent", {}, {}, 0.08), ("BsdfTransparent", {}, {"Color": (0.8, 0.5, 0.2, 1)}, 0.03),
                ("BsdfVelvet", {}, {"Sigma": 0.5}, 0.08), ("BsdfToon", {"component": "DIFFUSE"}, {}, 0.08),
                ("BsdfToon", {"component": "GLOSSY"}, {}, 0.10), ("Emission", {}, {"Color": (0.8, 0.5, 0.2, 1)}, 0.01),
                ("BsdfPrincipled", {}, {"Sheen": 1.0, "Clearcoat": 1.0, "Base Color": (0.7, 0.3, 0.1, 1)}, 0.08),
                ("BsdfPrincipled", {}, {"Metallic": 1.0, "Anisotropic": 0.7, "Roughness": 0.3}, 0.10)):
            with self.subTest(kind=kind, **settings):
                node = kit.material_of(self.ball, f"ShaderNode{kind}")
                for name, value in settings.items():
                    setattr(node, name, value)
                for name, value in inputs.items():
                    node.inputs[name].default_value = value
                self.compare(f"{kind} {settings} {inputs}", tolerance)

    def test_mix_and_add(self):
        for kind in ("Mix", "Add"):
            node = kit.material_of(self.ball, f"ShaderNode{kind}Shader")
            a, b = (kit.new_node(node, f"ShaderNodeBsdf{name}") for name in ("Diffuse", "Translucent"))
            a.inputs["Color"].default_value = (0.5, 0.2, 0.1, 1)
            b.inputs["Color"].default_value = (0.1, 0.2, 0.5, 1)
            sockets = [s for s in node.inputs if s.type == "SHADER"]
            kit.link(a.outputs[0], sockets[0])
            kit.link(b.outputs[0], sockets[1])
            if kind == "Mix":
                node.inputs["Fac"].default_value = 0.3
            self.compare(kind, 0.06)

    def test_bump_and_normal_map(self):
        node = kit.material_of(self.ball, "ShaderNodeBsdfDiffuse")
        bump = kit.new_node(node, "ShaderNodeBump")
        wave = kit.new_node(node, "ShaderNodeTexWave")
        wave.inputs["Scale"].default_value = 0.3  # Cycles takes differences over a pixel
        bump.inputs["Distance"].default_value = 0.1
        kit.link(wave.outputs["Fac"], bump.inputs["Height"])
        kit.link(bump.outputs[0], node.inputs["Normal"])
        self.compare("Bump", 0.05)
        self.ball.rotation_euler = (math.pi / 2, 0, 0)  # tangents are not the same at the poles
        node = kit.material_of(self.ball, "ShaderNodeBsdfDiffuse")
        bent = kit.new_node(node, "ShaderNodeNormalMap")
        bent.inputs["Color"].default_value = (0.7, 0.6, 0.9, 1)
        bent.inputs["Strength"].default_value = 0.7
        kit.link(bent.outputs[0], node.inputs["Normal"])
        self.compare("Normal Map", 0.05)


kit.main()
