"""Motion blur next to Cycles', and what is exported again when little changed."""

import json
import math
import shutil
import time
import unittest
import unittest.mock

import bpy
import numpy as np

import blender_scene as kit


class MotionTest(unittest.TestCase):
    def setUp(self):
        self.scene = kit.empty_scene(samples=256)
        self.scene.render.use_motion_blur, self.scene.render.motion_blur_shutter = True, 0.8
        self.scene.frame_set(5)
        kit.add_camera((0, 0, 8))

    def tearDown(self):
        self.scene.render.use_motion_blur = False
        self.scene.frame_set(1)

    def check(self, tolerance=0.02):
        ours, theirs = kit.render()[..., :3], kit.render("CYCLES")[..., :3]
        self.assertGreater(theirs.std(), 0.05)
        soft = ((theirs[..., 0] > 0.1) & (theirs[..., 0] < 0.9)).sum()
        self.assertGreater(soft, 60)  # it is blurred indeed
        self.assertLess(np.abs(ours - theirs).mean(), tolerance)

    def animate(self, item, field, index, first, last):
        for frame, value in ((1, first), (9, last)):
            getattr(item, field)[index] = value
            item.keyframe_insert(field, index=index, frame=frame)
        for curve in kit.fcurves_of(item.animation_data.action):
            for key in curve.keyframe_points:
                key.interpolation = "LINEAR"

    def glowing(self, **place):
        plane = kit.add_plane(size=2, **place)
        kit.material_of(plane, "ShaderNodeEmission")
        return plane

    def test_moving_object(self):
        self.animate(self.glowing(), "location", 0, -6, 6)
        self.check()

    def test_lights_that_move(self):
        """Cycles does not blur them: they stand where they are in the frame."""
        kit.add_plane(size=4)
        lamp = kit.add("Lamp", bpy.data.lights.new("Lamp", "POINT"), (0, 0, 1))
        lamp.data.energy, lamp.data.shadow_soft_size = 50, 0.2
        self.animate(lamp, "location", 0, -8, 8)
        for is_wired in (False, True):
            lamp.data.use_nodes = is_wired
            if is_wired:
                emission = lamp.data.node_tree.nodes["Emission"]
                kit.link(kit.new_node(emission, "ShaderNodeLightFalloff").outputs["Quadratic"], emission.inputs["Strength"])
            ours, theirs = kit.render()[..., :3], kit.render("CYCLES")[..., :3]
            self.assertGreater(theirs.std(), 0.05)
            self.assertLess(np.abs(ours - theirs).mean() / theirs.mean(), 0.03)
            self.assertEqual(kit.messages().warnings, [])

    def test_turning_object(self):
        self.animate(self.glowing(location=(0, 0, 0)), "rotation_euler", 2, 0, 12)
        self.check()

    def test_moving_camera(self):
        self.glowing()
        self.animate(self.scene.camera, "location", 1, -4, 4)
        self.check()

    def test_deforming_mesh(self):
        plane = self.glowing()
        plane.shape_key_add(name="Basis")
        key = plane.shape_key_add(name="Wide")
        for point in key.data:
            point.co.x *= 3
        for frame, value in ((1, -1), (9, 1)):
            key.value = value
            key.slider_min = -1
            key.value = value
            key.keyframe_insert("value", frame=frame)
        self.check()

    def test_still_things_have_no_keys(self):
        from sort_blender.export.motion import _even_turns
        from mathutils import Matrix
        self.assertEqual(len(_even_turns([Matrix(), Matrix(), Matrix()])), 1)
        turned = [Matrix.Rotation(angle, 4, "Z") for angle in (0, 1.2, 2.4)]
        keys = _even_turns(turned)
        self.assertEqual((len(keys) - 1) % 2, 0)
        for a, b in zip(keys, keys[1:]):
            self.assertLess((a.inverted() @ b).to_quaternion().angle, math.radians(21))
        np.testing.assert_allclose(np.array(keys[(len(keys) - 1) // 2]), np.array(turned[1]), atol=1e-6)


class VectorTest(unittest.TestCase):
    """The pass Vector next to Cycles': in pixels, where both see nothing but one object."""

    def setUp(self):
        self.scene = kit.empty_scene(samples=16)
        self.scene.frame_set(5)
        self.layer = bpy.context.view_layer
        self.layer.use_pass_vector = True
        self.addCleanup(self.scene.frame_set, 1)
        self.addCleanup(setattr, self.layer, "use_pass_vector", False)
        kit.add_camera((0, 0, 8))
        self.plane = kit.add_plane(size=2, location=(0.5, -0.25, 0), rotation=(0.2, 0.3, 0))
        kit.material_of(self.plane, "ShaderNodeEmission")

    animate = MotionTest.animate

    def vectors(self, engine):
        """[rows from the bottom, columns, 4]"""
        channels = kit.render_passes(engine).channels
        return np.stack([channels[f"{self.layer.name}.Vector.{c}"] for c in "XYZW"], axis=-1)

    def check(self, least):
        """To 1 % and 0.03 pixels. `least`: motion that some pixel has."""
        ours, theirs = self.vectors("SORT"), self.vectors("CYCLES")
        self.assertEqual(kit.messages().warnings, [])
        self.assertGreater(np.abs(theirs).max(), least)
        is_later = bpy.app.version >= (5, 1, 0)  # Cycles has motion of the background too, and counts what is not seen as 0
        seen = np.abs(ours if is_later else theirs).sum(axis=2) > 0
        steps = range(-2, 3) if is_later else (-1, 0, 1)  # of edges the engines see other parts
        around = [np.roll(seen, (y, x), (0, 1)) for y in steps for x in steps]
        whole, none = np.all(around, axis=0), ~np.any(around, axis=0)
        self.assertGreater(min(whole.sum(), none.sum()), 40)
        np.testing.assert_allclose(ours[whole], theirs[whole], rtol=0.01, atol=0.03)
        self.assertEqual(float(np.abs(ours[none]).max()), 0)

    def test_objects(self):
        self.animate(self.plane, "location", 0, -2, 3)
        self.animate(self.plane, "rotation_euler", 2, 0, 2)
        self.animate(self.plane, "scale", 1, 0.5, 2)
        self.check(least=3)

    def test_a_camera_that_moves_and_turns(self):
        camera = self.scene.camera
        self.animate(camera, "location", 1, -1, 1)
        self.animate(camera, "rotation_euler", 1, -0.1, 0.1)
        self.check(least=1)

    def test_a_camera_that_zooms(self):
        """Cycles leaves it out. A lens of f mm shows what is at a distance r from the middle at f / 50 times that of one of 50 mm."""
        camera = self.scene.camera
        camera.data.lens = 50
        for frame, lens in ((1, 20), (4, 40), (5, 50), (6, 75), (9, 100)):
            camera.data.lens = lens
            camera.data.keyframe_insert("lens", frame=frame)
        self.scene.frame_set(5)
        found = self.vectors("SORT")
        ys, xs = np.mgrid[0:48, 0:48] + 0.5 - 24
        inside = (np.abs(found).sum(axis=2) > 0) & (np.hypot(xs, ys) < 4)
        self.assertGreater(int(inside.sum()), 20)
        for k, (place, factor) in enumerate(((xs, -0.2), (ys, -0.2), (xs, -0.5), (ys, -0.5))):
            np.testing.assert_allclose(found[inside][:, k], factor * place[inside], atol=0.2)

    def test_deformation_of_an_object_that_moves(self):
        self.animate(self.plane, "location", 1, -1, 1)
        self.plane.shape_key_add(name="Basis")
        key = self.plane.shape_key_add(name="Wide")
        for point in key.data:
            point.co.x *= 2
            point.co.z += point.co.y / 2
        for frame, value in ((1, 0), (9, 1)):
            key.value = value
            key.keyframe_insert("value", frame=frame)
        self.scene.frame_set(5)
        self.check(least=1)

    def test_instances_of_a_collection_that_move(self):
        collection = bpy.data.collections.new("Inside")
        self.scene.collection.objects.unlink(self.plane)
        collection.objects.link(self.plane)
        carrier = kit.add("Carrier", None)
        carrier.instance_type, carrier.instance_collection = "COLLECTION", collection
        self.animate(carrier, "location", 0, -2, 2)
        self.check(least=1)

    def test_what_stands_still_is_exported_as_ever(self):
        def exported():
            target = kit.FOLDER / f"still_{time.monotonic_ns()}"
            bpy.ops.sort.export_package(filepath=str(target), as_folder=True)
            return json.loads((target / "scene.json").read_text(encoding="utf-8"))
        self.scene.render.engine = "SORT"
        with_vectors = exported()
        self.layer.use_pass_vector = False
        self.assertEqual(with_vectors, exported())

    def test_not_beside_motion_blur(self):
        self.scene.render.use_motion_blur = True
        self.addCleanup(setattr, self.scene.render, "use_motion_blur", False)
        self.animate(self.plane, "location", 0, -2, 3)
        self.assertEqual(float(np.abs(self.vectors("CYCLES")).max()), 0)
        self.assertEqual(float(np.abs(self.vectors("SORT")).max()), 0)
        self.assertIn(f"View layer '{self.layer.name}': the pass Vector stays black beside motion blur, as in Cycles", kit.messages().warnings)


class IncrementTest(unittest.TestCase):
    def setUp(self):
        from sort_blender.export import cache
        cache.shared.clear()
        self.scene = kit.empty_scene(samples=1)
        kit.add_camera((0, 0, 8))

    def export(self, **plan):
        from sort_blender.export.scene import ExportPlan, export_scene
        from sort_blender.messages import Report
        folder = kit.FOLDER / f"increment_{time.monotonic_ns()}"
        start = time.process_time()
        export_scene(bpy.context.evaluated_depsgraph_get(), ExportPlan(folder, **plan), Report())
        seconds = time.process_time() - start
        file = folder / "scene.json"
        return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None, folder, seconds

    def test_second_frame_writes_only_what_changed(self):
        """30 objects, 200,000 triangles."""
        for k in range(30):
            bpy.ops.mesh.primitive_grid_add(x_subdivisions=58, y_subdivisions=58, location=(k % 6, k // 6, 0))
            bpy.context.object.data.vertices[0].co.z = k / 100
        image = bpy.data.images.new("Paint", 64, 64)
        image.pack()
        emission = kit.material_of(bpy.context.object, "ShaderNodeEmission")
        texture = kit.new_node(emission, "ShaderNodeTexImage")
        texture.image = image
        kit.link(texture.outputs["Color"], emission.inputs["Color"])
        first, first_folder, first_s = self.export()
        bpy.data.objects["Grid"].location.z = 2
        second, second_folder, second_s = self.export()
        print(f"200,000 triangles in 30 objects: {first_s:.2f} s of CPU, then {second_s:.2f}")
        self.assertEqual(len(second["meshes"]), 30)

        def files(folder, part):
            return {path.stat().st_ino for path in (folder / part).iterdir()}
        for part in ("meshes", "textures"):
            self.assertEqual(files(first_folder, part), files(second_folder, part))  # the same files, not copies
        changed = [a["name"] for a, b in zip(first["instances"], second["instances"]) if a != b]
        self.assertEqual(changed, ["Grid"])
        self.assertLess(second_s, max(first_s / 2, 0.3))

        bpy.data.objects["Grid"].data.vertices[5].co.z = 1
        bpy.data.objects["Grid"].data.update()
        third, third_folder, _ = self.export()
        self.assertEqual(len(files(third_folder, "meshes") - files(second_folder, "meshes")), 1)
        attributes = bpy.data.objects["Grid.001"].data.uv_layers[0].data
        attributes[7].uv = (9, 9)
        _, fourth_folder, _ = self.export()
        self.assertEqual(len(files(fourth_folder, "meshes") - files(third_folder, "meshes")), 1)

    def grids(self, count):
        """Each of 32 triangles of its own."""
        for k in range(count):
            bpy.ops.mesh.primitive_grid_add(x_subdivisions=4, y_subdivisions=4)
            self.lift(bpy.context.object, 1 + k)
        return [obj for obj in self.scene.objects if obj.type == "MESH"]

    def lift(self, obj, z):
        obj.data.vertices[0].co.z = z
        obj.data.update()

    def arrays(self, scene, folder):
        """All bytes of all meshes, by name, field and set."""
        found = {}
        for mesh in scene["meshes"]:
            for name, records in mesh.items():
                for k, record in enumerate(records if isinstance(records, list) else [records]):
                    if isinstance(record, dict):
                        size = record["count"] * record["components"] * (2 if record["type"] == "uint16" else 4)
                        data = (folder / record["file"]).read_bytes()
                        found[mesh["name"], name, k] = data[record["offset_bytes"]:record["offset_bytes"] + size]
        return found

    def test_new_meshes_of_a_render_lie_in_one_file(self):
        """They are those of a package for keeps. The next render uses them, and puts those that changed into another file."""
        grids = self.grids(5)
        grids[1].data = grids[0].data
        grids[2].data.materials.append(bpy.data.materials.new("Paint"))
        kept, kept_folder, _ = self.export()
        first, first_folder, _ = self.export(is_fleeting=True)
        self.assertEqual(len(kept["meshes"]), 4)
        self.assertEqual(self.arrays(kept, kept_folder), self.arrays(first, first_folder))
        self.assertEqual(len(list((kept_folder / "meshes").iterdir())), 4)
        (pile,) = (first_folder / "meshes").iterdir()
        self.lift(grids[0], 9)
        second, second_folder, _ = self.export(is_fleeting=True)
        piles = sorted((second_folder / "meshes").iterdir(), key=lambda path: path.stat().st_size)
        self.assertEqual(len(piles), 2)
        self.assertEqual(piles[1].stat().st_ino, pile.stat().st_ino)
        self.assertEqual(piles[0].stat().st_size * 4, piles[1].stat().st_size)
        again, again_folder, _ = self.export()
        self.assertEqual(self.arrays(again, again_folder), self.arrays(second, second_folder))
        self.assertEqual(len(list((again_folder / "meshes").iterdir())), 4)

    def test_a_render_that_was_cancelled_leaves_no_meshes(self):
        from sort_blender.export import cache
        self.grids(2)
        asked = iter(range(100))
        self.assertIsNone(self.export(is_fleeting=True, is_cancelled=lambda: next(asked) > 4)[0])
        self.assertFalse(cache.shared._entries)
        self.assertEqual(len(self.export(is_fleeting=True)[0]["meshes"]), 2)

    def test_a_file_of_many_meshes_goes_when_less_than_half_is_used(self):
        from sort_blender.export import cache
        grids = self.grids(5)
        self.export(is_fleeting=True)
        (path,) = {entry.path for entry in cache.shared._entries.values()}
        for count, is_there in ((3, True), (2, False)):
            while len(grids) > count:
                bpy.data.objects.remove(grids.pop())
            for _ in range(2 * cache.EXPORTS_KEPT + 1):
                package, folder, _ = self.export(is_fleeting=True)
            self.assertEqual(path.exists(), is_there)
            self.assertEqual(len(package["meshes"]), count)
            self.assertTrue(all((folder / mesh["positions"]["file"]).is_file() for mesh in package["meshes"]))

    def test_a_file_stays_while_an_export_beside_may_link_it(self):
        from sort_blender.export import cache
        self.grids(5)
        self.export(is_fleeting=True)
        for _ in range(cache.EXPORTS_KEPT - 1):
            cache.shared.begin()
        found = cache.shared.find(next(iter(cache.shared._entries)))
        cache.shared.begin()
        self.assertTrue(found.path.exists())
        for _ in range(cache.EXPORTS_KEPT):
            cache.shared.begin()
        self.assertFalse(found.path.exists())

    def test_a_render_needs_no_cache_to_keep_its_meshes(self):
        from sort_blender.export import cache
        self.grids(2)
        keep = cache.Pile.keep

        def keep_nowhere(pile):
            shutil.rmtree(cache.shared._folder)
            keep(pile)
        with unittest.mock.patch.object(cache.Pile, "keep", keep_nowhere):
            package, _, _ = self.export(is_fleeting=True)
        self.assertEqual(len(package["meshes"]), 2)
        self.assertFalse(cache.shared._entries)
        self.assertEqual(len(self.export(is_fleeting=True)[0]["meshes"]), 2)

    def test_what_is_used_no_more_goes(self):
        from sort_blender.export import cache
        kit.add_plane()
        self.export()
        kept = [entry.path for entry in cache.shared._entries.values()]
        self.scene.collection.objects.unlink(bpy.data.objects["Plane"])
        for _ in range(cache.EXPORTS_KEPT + 1):
            self.export()
        self.assertTrue(kept)
        self.assertFalse(any(path.exists() for path in kept))


kit.main()
