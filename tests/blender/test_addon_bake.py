"""Baking: what Render Properties > Bake makes with SORT and with the Cycles of the same version, and by its value."""

import unittest
from unittest import mock

import bpy
import numpy as np

import blender_scene as kit

WIDTH, HEIGHT, SAMPLES = 26, 14, 64
IS_OLDEST = bpy.app.version < (4, 0, 0)


def image_of(objects, width=WIDTH, height=HEIGHT, tiles=()):
    """A new image, which is the active one in the materials of these objects."""
    image = bpy.data.images.new("Baked", width, height, float_buffer=True, tiled=bool(tiles))
    for number in tiles:
        tile = image.tiles.get(number) or image.tiles.new(number)
        image.tiles.active = tile
        with bpy.context.temp_override(edit_image=image):
            bpy.ops.image.tile_fill(color=(0, 0, 0, 0), width=width, height=height, float=True)
    if tiles:  # which have pixels from then on
        save_tiles(image, "new", tiles)
    for slot in [slot for obj in objects for slot in obj.material_slots]:
        tree = slot.material.node_tree
        node = tree.nodes.new("ShaderNodeTexImage")
        node.image = image
        tree.nodes.active = node
    return image


def save_tiles(image, name, tiles):
    """The pictures of the tiles."""
    image.filepath_raw, image.file_format = str(kit.FOLDER / f"{name}.<UDIM>.exr"), "OPEN_EXR"
    image.save()
    return [kit.read_picture(str(kit.FOLDER / f"{name}.{tile}.exr")) for tile in tiles]


def bake(engine, kind, objects, image, **settings):
    """float32 [rows from the bottom, columns, 4] of the image, if it is given. The last object is the active one."""
    scene = bpy.context.scene
    scene.render.engine = engine
    bpy.context.view_layer.update()
    for obj in bpy.context.view_layer.objects:
        obj.select_set(obj in objects)
    bpy.context.view_layer.objects.active = objects[-1]
    bpy.ops.object.bake(type=kind, margin=0, use_clear=True, **settings)
    if image is None:
        return None
    pixels = np.empty(image.size[0] * image.size[1] * 4, np.float32)
    image.pixels.foreach_get(pixels)
    return pixels.reshape(image.size[1], image.size[0], 4)


class BakeTest(unittest.TestCase):
    def setUp(self):
        self.scene = kit.empty_scene(samples=SAMPLES)
        kit.set_world((0.4, 0.5, 0.7))
        self.ball = self.add_ball()

    def add_ball(self):
        """A squashed ball that shines a little on a floor, with squares on it, none of whose edges runs through the middle of pixels."""
        bpy.ops.mesh.primitive_uv_sphere_add(segments=12, ring_count=6, location=(0, 0, 0.5))
        ball = bpy.context.object
        ball.name, ball.scale = "Ball", (1, -0.7, 1.2)
        bpy.ops.object.shade_smooth()
        bsdf = kit.material_of(ball, "ShaderNodeBsdfPrincipled", Roughness=0.4, Emission=(0.1, 0.2, 0.3, 1), Emission_Strength=1.0)
        squares, places = kit.new_node(bsdf, "ShaderNodeTexChecker"), kit.new_node(bsdf, "ShaderNodeTexCoord")
        squares.inputs["Scale"].default_value = 3
        squares.inputs["Color1"].default_value, squares.inputs["Color2"].default_value = (0.7, 0.4, 0.2, 1), (0.2, 0.4, 0.8, 1)
        kit.link(places.outputs["UV"], squares.inputs["Vector"])
        kit.link(squares.outputs["Color"], bsdf.inputs["Base Color"])
        lamp = kit.add("Lamp", bpy.data.lights.new("Lamp", "SUN"), (0, 0, 5), (0.5, 0.2, 0))
        lamp.data.energy, lamp.data.angle = 2, 0.2
        floor = kit.add_plane(name="Floor", size=6, location=(0, 0, -0.8))
        kit.material_of(floor, "ShaderNodeBsdfDiffuse", Color=(0.5, 0.6, 0.5, 1))
        return ball

    def bake(self, kind, objects, image, **settings):
        pixels = bake("SORT", kind, objects, image, **settings)
        self.assertEqual(kit.messages().warnings, [])
        return pixels

    def compare(self, kind, objects, image, mean=0.01, each=None, **settings):
        """`mean`: the difference of means, relative; `each`: that of each pixel. The pixels of SORT."""
        ours = self.bake(kind, objects, image, **settings)
        if kind == "POSITION":
            self.scene.cycles.samples = 1  # it adds up the samples
        theirs = bake("CYCLES", kind, objects, image, **settings)
        for channel in range(4):
            a, b = float(ours[..., channel].mean()), float(theirs[..., channel].mean())
            self.assertAlmostEqual(a, b, delta=mean * abs(b) + 2e-3, msg=f"{kind}, channel {channel}")
        if each is not None:
            self.assertLess(float(np.abs(ours - theirs).max()), each, kind)
        return ours

    def test_light_as_in_cycles(self):
        image = image_of([self.ball])
        kinds = ("COMBINED", "DIFFUSE", "GLOSSY", "TRANSMISSION", "AO") if IS_OLDEST else ("COMBINED", "GLOSSY")
        pictures = {kind: self.compare(kind, [self.ball], image) for kind in kinds}
        self.assertGreater(pictures["COMBINED"][..., :3].mean(), 0.2)
        self.assertGreater(pictures["GLOSSY"][..., :3].mean(), 0.01)

    def test_data_as_in_cycles(self):
        image = image_of([self.ball])
        self.scene.world.node_tree.nodes["Background"].inputs["Strength"].default_value = 0.5
        for kind, each in (("NORMAL", 0.1), ("POSITION", 0.4), ("UV", 0.05), ("EMIT", 1e-4), ("ENVIRONMENT", 1e-3)):
            self.compare(kind, [self.ball], image, each=each)
        if IS_OLDEST:
            for space, axes in (("OBJECT", "XYZ"), ("TANGENT", "XYZ"), ("OBJECT", "YZX")):
                swizzle = {f"normal_{c}": f"POS_{axis}" for c, axis in zip("rgb", axes)}
                self.compare("NORMAL", [self.ball], image, each=0.1, normal_space=space, **swizzle)

    def test_roughness_as_in_cycles(self):
        """Of a closure of each kind, of none, and of one beside a diffuse one."""
        image = image_of([self.ball])
        kinds = [("ShaderNodeBsdfPrincipled", {"Roughness": 0.4, "Metallic": 0.5}, 0.4), ("ShaderNodeBsdfGlossy", {"Roughness": 0.6}, 0.6),
                 ("ShaderNodeBsdfGlass", {"Roughness": 0.25}, 0.25), ("ShaderNodeBsdfDiffuse", {"Roughness": 0.5}, 0.5),
                 ("ShaderNodeBsdfDiffuse", {"Roughness": 0.0}, 0.0 if IS_OLDEST else 1.0)]
        for node, inputs, expected in kinds:
            kit.material_of(self.ball, node, **inputs)
            node = self.ball.data.materials[0].node_tree.nodes.new("ShaderNodeTexImage")
            node.image = image
            node.id_data.nodes.active = node
            pixels = self.compare("ROUGHNESS", [self.ball], image, each=2e-3)
            self.assertAlmostEqual(float(pixels[7, 13, 0]), expected, delta=1e-3)

    def test_contributions_add_up(self):
        image = image_of([self.ball])
        def part(kind, *chosen):
            return self.bake(kind, [self.ball], image, pass_filter=set(chosen))[..., :3]
        color = part("DIFFUSE", "COLOR")
        both = part("DIFFUSE", "COLOR", "DIRECT", "INDIRECT")
        direct = part("DIFFUSE", "DIRECT")
        indirect = part("DIFFUSE", "INDIRECT")
        np.testing.assert_allclose(both, color * (direct + indirect), atol=2e-5)
        everything = part("COMBINED", "DIRECT", "INDIRECT", "DIFFUSE", "GLOSSY", "TRANSMISSION", "EMIT")
        without_glow = part("COMBINED", "DIRECT", "INDIRECT", "DIFFUSE", "GLOSSY", "TRANSMISSION")
        glow = part("COMBINED", "EMIT")
        np.testing.assert_allclose(everything, without_glow + glow, rtol=2e-3, atol=1e-5)
        shown = glow.sum(axis=2) > 0
        np.testing.assert_allclose(glow[shown], np.broadcast_to([0.1, 0.2, 0.3], glow[shown].shape), atol=1e-5)

    def test_the_active_camera_looks(self):
        """At a mirror, whose light depends on where it is seen from."""
        kit.add_camera((4, -3, 3), (0.95, 0, 0.9))
        kit.material_of(self.ball, "ShaderNodeBsdfGlossy", Roughness=0.15)
        image = image_of([self.ball])
        above = self.compare("COMBINED", [self.ball], image, mean=0.04)  # Cycles' seeds have a standard deviation of 2 %
        self.scene.render.bake.view_from = "ACTIVE_CAMERA"
        try:
            is_later = bpy.app.version >= (5, 1, 0)  # Cycles has more noise there, and 1.5 % more light
            self.scene.cycles.samples *= 4 if is_later else 1
            seen = self.compare("COMBINED", [self.ball], image, mean=0.025 if is_later else 0.015)
        finally:
            self.scene.render.bake.view_from = "ABOVE_SURFACE"
        self.assertGreater(float(np.abs(seen - above).mean()), 0.01)

    def test_several_objects_share_tiles(self):
        """A face of five corners in the first tile, and in the second a plane in one half, whose other half nothing covers; both with two
        materials, the second of which has another image."""
        patch = kit.add_mesh("Patch", [(0, 0, 3), (1, 0, 3), (1.3, 0.6, 3), (0.5, 1.2, 3), (-0.2, 0.6, 3)], [(0, 1, 2, 3, 4)],
                             [(0.1, 0.1), (0.8, 0.1), (0.9, 0.6), (0.5, 0.93), (0.07, 0.6)])
        plane = kit.add_mesh("Half", [(2, 0, 3), (3, 0, 3), (3, 1, 3), (2, 1, 3), (4, 0, 3), (4, 1, 3)], [(0, 1, 2, 3), (1, 4, 5, 2)],
                             [(1.02, 0.02), (1.47, 0.02), (1.47, 0.97), (1.02, 0.97), (1.02, 0.02), (1.98, 0.02), (1.98, 0.97), (1.02, 0.97)])
        kit.material_of(patch, "ShaderNodeEmission", Color=(1, 0.5, 0.25, 1))
        kit.material_of(plane, "ShaderNodeEmission", Color=(0.25, 0.5, 1, 1))
        other = bpy.data.materials.new("Other")
        other.use_nodes = True
        plane.data.materials.append(other)
        plane.data.polygons[1].material_index = 1
        image = image_of([patch, plane], tiles=(1001, 1002))
        elsewhere = other.node_tree.nodes.new("ShaderNodeTexImage")
        elsewhere.image = bpy.data.images.new("Elsewhere", 8, 8, float_buffer=True)
        other.node_tree.nodes.active = elsewhere
        pictures = {}
        for engine in ("SORT", "CYCLES"):
            for keeps_engine in (False, True):
                self.scene.render.use_persistent_data = keeps_engine
                bake(engine, "EMIT", [patch, plane], image)
                pictures[engine] = pictures.get(engine, []) + save_tiles(image, engine, (1001, 1002))
        self.scene.render.use_persistent_data = False
        for ours, theirs, color in zip(pictures["SORT"], pictures["CYCLES"], 2 * ((1, 0.5, 0.25), (0.25, 0.5, 1))):
            np.testing.assert_allclose(ours[..., :3], theirs[..., :3], atol=1e-3)
            shown = ours[..., :3].sum(axis=2) > 0
            self.assertTrue(0.3 < shown.mean() < 0.75, shown.mean())
            np.testing.assert_allclose(ours[shown][:, :3], np.broadcast_to(color, (shown.sum(), 3)), atol=1e-3)

    def test_selected_to_active(self):
        """Humps above a plane, as its normals."""
        side = np.linspace(-1, 1, 17)
        places = [(x, y, 2.1 + 0.1 * np.cos(3 * x) * np.sin(4 * y)) for y in side for x in side]
        faces = [(17 * j + i, 17 * j + i + 1, 17 * j + i + 18, 17 * j + i + 17) for j in range(16) for i in range(16)]
        humps = kit.add_mesh("Humps", places, faces)
        humps.data.polygons.foreach_set("use_smooth", [True] * len(faces))
        kit.material_of(humps, "ShaderNodeBsdfDiffuse", Color=(0.3, 0.6, 0.9, 1))
        plane = kit.add_plane(name="Low", size=2, location=(0, 0, 2))
        kit.material_of(plane, "ShaderNodeBsdfDiffuse", Color=(1, 0, 0, 1))
        image = image_of([plane])
        how = {"use_selected_to_active": True, "cage_extrusion": 0.5}
        normals = self.compare("NORMAL", [humps, plane], image, each=0.05, **how)
        self.assertGreater(float(normals[..., 0].std()), 0.05)
        color = self.compare("DIFFUSE", [humps, plane], image, pass_filter={"COLOR"}, **how)
        np.testing.assert_allclose(color[..., :3], np.broadcast_to([0.3, 0.6, 0.9], color[..., :3].shape), atol=1e-3)

    def test_color_attributes(self):
        """Images of one row, a pixel for each corner: as such, and too long for a picture."""
        from sort_blender import baking
        self.ball.data.color_attributes.new("Baked", "FLOAT_COLOR", "CORNER")
        self.ball.data.color_attributes.active_color_index = 0
        colors = {}
        for label, engine, most in (("whole", "SORT", 65535), ("cut", "SORT", 100), ("theirs", "CYCLES", 0)):
            with mock.patch.multiple(baking, SIDE_MAX=most, ROW=7):
                bake(engine, "ENVIRONMENT", [self.ball], None, target="VERTEX_COLORS")
                data = self.ball.data.color_attributes["Baked"].data
                colors[label] = np.array([item.color[:] for item in data])
                data.foreach_set("color", np.zeros(4 * len(data), np.float32))
        self.assertGreater(float(colors["whole"][:, :3].min()), 0.1)
        np.testing.assert_allclose(colors["cut"], colors["whole"], atol=1e-5)
        np.testing.assert_allclose(colors["theirs"], colors["whole"], atol=1e-3)

    def test_images_without_pixels(self):
        """Whatever Blender says of them, there is no other word of SORT."""
        image = bpy.data.images.new("Empty", 16, 8, float_buffer=True, tiled=True)
        tree = self.ball.data.materials[0].node_tree
        node = tree.nodes.new("ShaderNodeTexImage")
        node.image = image
        tree.nodes.active = node
        said = {}
        for engine in ("SORT", "CYCLES"):
            try:
                bake(engine, "EMIT", [self.ball], None)
                said[engine] = "done"
            except RuntimeError as error:
                said[engine] = str(error)
        self.assertEqual(said["SORT"], said["CYCLES"])

    def test_shadows_as_in_cycles(self):
        """Of a sun, of a lamp that casts none, and of a soft one; on a floor below the ball and below coloured glass, under a sky. The floor is
        baked by rays that come from above the glass."""
        floor = bpy.data.objects["Floor"]
        image = image_of([floor])
        glass = kit.add_plane(name="Glass", size=2, location=(1.5, 1.5, -0.3))
        kit.material_of(glass, "ShaderNodeBsdfTransparent", Color=(1, 0.5, 0.25, 1))
        lamps = {}
        for name, kind, energy, size, place in (("Bare", "POINT", 300, 0, (-2, 1, 2)), ("Soft", "AREA", 400, 1.5, (1, -2, 3))):
            lamps[name] = kit.add(name, bpy.data.lights.new(name, kind), place)
            lamps[name].data.energy = energy
            setattr(lamps[name].data, "shadow_soft_size" if kind == "POINT" else "size", size)
        bare = lamps["Bare"].data
        setattr(bare if hasattr(bare, "use_shadow") and bpy.app.version >= (4, 2, 0) else bare.cycles,
                "use_shadow" if bpy.app.version >= (4, 2, 0) else "cast_shadow", False)
        self.scene.cycles.light_sampling_threshold = 0  # in Blender 3 it takes from the shadows of dim lamps
        self.scene.sort.samples = self.scene.cycles.samples = 256
        pixels = self.compare("SHADOW", [floor], image, mean=0.01)
        self.assertGreater(float(pixels[..., 0].mean() - pixels[..., 2].mean()), 0.01)
        self.assertLess(float(pixels[..., :3].min()), 0.6)
        self.assertAlmostEqual(float(pixels[0, 0, 0]), 1, delta=0.05)
        for lamp in (*lamps.values(), bpy.data.objects["Lamp"]):
            bpy.data.objects.remove(lamp)
        self.compare("SHADOW", [floor], image, mean=0.01)

    def test_what_cannot_be_baked_is_said(self):
        from sort_blender import baking
        image = image_of([self.ball])
        with mock.patch.dict(baking.DATA, clear=True), self.assertRaisesRegex(RuntimeError, "the type Emit is not supported"):
            bake("SORT", "EMIT", [self.ball], image)
        self.assertIn("Emit", kit.messages().error)
        self.bake("EMIT", [self.ball], image)
        self.assertEqual(kit.messages().error, "")

    def test_a_cancelled_bake_leaves_no_renderer(self):
        from sort_blender import process
        image = image_of([self.ball])
        self.scene.sort.samples = 1 << 16
        records = []
        watcher = process.Watcher

        def watching(on_record, is_cancelled, **more):
            def note(record):
                records.append(record.get("event"))
                on_record(record)
            return watcher(on_record=note, is_cancelled=lambda: "progress" in records, **more)
        with mock.patch.object(process, "Watcher", side_effect=watching):
            pixels = bake("SORT", "COMBINED", [self.ball], image)
        self.assertIn("progress", records)
        self.assertEqual(float(pixels[..., :3].max()), 0)
        self.assertEqual(kit.renderers_in(kit.FOLDER.parent), [])

    def test_multires_is_baked_as_with_cycles(self):
        """By Blender itself, which is asked whether the panel has its settings."""
        from sort_blender import bake_panels, versions
        self.scene.render.engine = "SORT"
        image = image_of([self.ball])
        modifier = self.ball.modifiers.new("Multires", "MULTIRES")
        for _ in range(2):
            bpy.ops.object.multires_subdivide(modifier="Multires", mode="CATMULL_CLARK")
        modifier.levels = 0
        names = ("use_multires", "type", "use_clear", "use_lores_mesh", "margin_type", "margin")
        for name in names:
            owner, own_name = versions.multires_setting(self.scene, name)
            self.assertIn(own_name, owner.bl_rna.properties)
        setattr(*versions.multires_setting(self.scene, "use_multires"), True)
        try:
            setattr(*versions.multires_setting(self.scene, "type"), "NORMALS")
            self.assertFalse(bake_panels.SORT_PT_bake_influence.poll(bpy.context))
            self.assertFalse(bake_panels.SORT_PT_bake_selected_to_active.poll(bpy.context))
            bpy.ops.object.bake_image()
        finally:
            setattr(*versions.multires_setting(self.scene, "use_multires"), False)
        pixels = np.array(image.pixels[:]).reshape(-1, 4)
        self.assertAlmostEqual(float(pixels[:, 2].mean()), 0.98, delta=0.05)

    def test_panels_are_drawn(self):
        from sort_blender import bake_panels
        self.scene.render.engine = "SORT"
        self.assertTrue(bake_panels.SORT_PT_bake.poll(bpy.context))
        for kind, has_influence in (("COMBINED", True), ("NORMAL", True), ("AO", False), ("GLOSSY", True), ("SHADOW", False)):
            self.scene.sort.bake_type = kind
            self.assertEqual(bake_panels.SORT_PT_bake_influence.poll(bpy.context), has_influence)


kit.main()
