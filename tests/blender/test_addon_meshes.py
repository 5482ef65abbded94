"""Meshes and instances: the arrays of packages, and pictures next to Cycles'."""

import json
import math
import pathlib
import time
import unittest

import bpy
import numpy as np

import blender_scene as kit


def export():
    """The scene.json of the present scene, and its folder."""
    from sort_blender.export.scene import ExportPlan, export_scene
    from sort_blender.messages import Report
    folder = kit.FOLDER / f"package_{len(list(kit.FOLDER.iterdir()))}"
    report = Report()
    export_scene(bpy.context.evaluated_depsgraph_get(), ExportPlan(folder), report)
    return json.loads((folder / "scene.json").read_text(encoding="utf-8")), folder, report


def read(folder, record):
    kinds = {"float32": "<f4", "uint32": "<u4", "uint16": "<u2"}
    count = record["count"] * record["components"]
    data = np.fromfile(pathlib.Path(folder, record["file"]), kinds[record["type"]], count,
                       offset=record["offset_bytes"])
    return data.reshape(-1, record["components"])


class MeshTest(unittest.TestCase):
    def setUp(self):
        self.scene = kit.empty_scene()
        kit.set_world((1, 1, 1))
        kit.add_camera()

    def test_flat_mesh_keeps_its_vertices(self):
        bpy.ops.mesh.primitive_cube_add(calc_uvs=False)
        scene, folder, _ = export()
        mesh = scene["meshes"][0]
        self.assertEqual((mesh["vertex_count"], mesh["triangle_count"]), (8, 12))
        self.assertNotIn("normals", mesh)

    def test_smooth_mesh_shares_vertices(self):
        bpy.ops.mesh.primitive_ico_sphere_add(subdivisions=3, calc_uvs=False)
        bpy.ops.object.shade_smooth()
        mesh = bpy.context.object.data
        scene, folder, _ = export()
        record = scene["meshes"][0]
        self.assertEqual(record["vertex_count"], len(mesh.vertices))
        positions, normals = read(folder, record["positions"]), read(folder, record["normals"])
        along = positions / np.linalg.norm(positions, axis=1)[:, None]
        np.testing.assert_allclose(normals, along, atol=0.01)

    def test_box_coordinates_come_where_they_are_read(self):
        for output in ("Object", "Generated"):
            with self.subTest(output):
                kit.empty_scene()
                kit.add_camera()
                bpy.ops.mesh.primitive_uv_sphere_add()
                bpy.ops.object.shade_smooth()
                emission = kit.material_of(bpy.context.object, "ShaderNodeEmission")
                coordinates = kit.new_node(emission, "ShaderNodeTexCoord")
                kit.link(coordinates.outputs[output], emission.inputs["Color"])
                scene, folder, _ = export()
                record = scene["meshes"][0]
                self.assertEqual(list(record.get("attributes", ())), ["sort:generated"] if output == "Generated" else [])
                if output == "Generated":
                    positions = read(folder, record["positions"])
                    np.testing.assert_allclose(read(folder, record["attributes"]["sort:generated"]), (positions + 1) / 2, atol=1e-6)

    def test_uv_seam_splits_only_its_vertices(self):
        bpy.ops.mesh.primitive_grid_add(x_subdivisions=10, y_subdivisions=10)
        mesh = bpy.context.object.data
        other = mesh.uv_layers.new(name="Other")
        values = np.array([mesh.vertices[loop.vertex_index].co.xy for loop in mesh.loops]).ravel()
        mesh.uv_layers[0].data.foreach_set("uv", values)  # the grid's own differ in the last bit
        inner = mesh.polygons[55].loop_start
        values[2 * inner:2 * inner + 2] += 5  # one corner of one face
        other.data.foreach_set("uv", values)
        other.active_render = True
        scene, folder, _ = export()
        record = scene["meshes"][0]
        self.assertEqual(record["vertex_count"], 122)
        self.assertEqual(len(record["uv"]), 2)
        first = read(folder, record["uv"][0])
        self.assertEqual((first > 3).sum(), 2)  # the render-active set comes first

    def test_ngon_and_slots(self):
        ring = [(math.cos(a), math.sin(a), 0) for a in np.arange(7) * 2 * math.pi / 7]
        shape = kit.add_mesh("Ngon", ring + [(3, 0, 0), (4, 0, 0), (3, 1, 0)], [range(7), (7, 8, 9)])
        for colour in ((1, 0, 0, 1), (0, 1, 0, 1)):
            material = bpy.data.materials.new("Slot")
            material.diffuse_color = colour
            shape.data.materials.append(material)
        shape.data.polygons[1].material_index = 1
        scene, folder, _ = export()
        record = scene["meshes"][0]
        self.assertEqual(record["triangle_count"], 6)
        slots = read(folder, record["material_indices"])[:, 0]
        self.assertEqual(sorted(slots.tolist()), [0] * 5 + [1])
        self.assertEqual(len(scene["instances"][0]["materials"]), 2)
        corners = read(folder, record["positions"])[read(folder, record["indices"])]
        area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]),
                              axis=1).sum() / 2
        self.assertAlmostEqual(area, 3.5 * math.sin(2 * math.pi / 7) + 0.5, places=4)

    def test_linked_objects_are_one_mesh(self):
        bpy.ops.mesh.primitive_monkey_add()
        first = bpy.context.object
        for k in range(4):
            kit.add("Copy", first.data, (3 * k, 0, 0))
        bevelled = kit.add("Bevelled", first.data, (0, 5, 0))
        bevelled.modifiers.new("Subdivision", "SUBSURF")
        scene, _, _ = export()
        self.assertEqual(len(scene["instances"]), 6)
        self.assertEqual(len(scene["meshes"]), 2)
        self.assertEqual(len({instance["name"] for instance in scene["instances"]}), 6)

    def test_collection_instances_and_mirror_like_cycles(self):
        part = bpy.data.collections.new("Part")
        monkey = kit.add_mesh("Wedge", [(0, 0, 0), (1, 0, 0), (0, 0.6, 0), (0, 0, 0.5)],
                              [(0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)])
        self.scene.collection.objects.unlink(monkey)
        part.objects.link(monkey)
        for place, scale in (((-2, -1, 0), (1, 1, 1)), ((0.5, 0.5, 0), (-1, 1, 1)), ((1, -2, 0), (1, 2, 0.5))):
            empty = kit.add("Instance", None, place, (0.2, 0.1, 0.4))
            empty.instance_type, empty.instance_collection, empty.scale = "COLLECTION", part, scale
        sun = kit.add("Sun", bpy.data.lights.new("Sun", "SUN"), rotation=(0.6, 0.3, 0))
        sun.data.energy = 3
        self.scene.sort.samples = self.scene.cycles.samples = 128
        scene, _, _ = export()
        self.assertEqual((len(scene["meshes"]), len(scene["instances"])), (1, 3))
        ours, theirs = kit.render(), kit.render("CYCLES")
        np.testing.assert_allclose(ours[..., :3].mean(), theirs[..., :3].mean(), rtol=0.01)
        self.assertLess(np.abs(ours - theirs)[..., :3].mean(), 0.01)

    def test_curves_and_text_become_meshes(self):
        bpy.ops.object.text_add()
        bpy.ops.curve.primitive_bezier_circle_add(location=(3, 0, 0))
        bpy.context.object.data.bevel_depth = 0.1
        bpy.ops.object.metaball_add(location=(-3, 0, 0))
        bpy.ops.surface.primitive_nurbs_surface_sphere_add(location=(0, 3, 0))
        scene, _, report = export()
        self.assertEqual(len(scene["meshes"]), 4)
        self.assertEqual(report.warnings, [])

    def test_attributes_of_edges_like_cycles(self):
        """Those of three types, and the alpha of one that is not there."""
        self.scene.world = None
        for k, kind in enumerate(("FLOAT", "INT", "BOOLEAN", "")):
            plane = kit.add_plane(f"Plane {k}", 1, location=(1.2 * k - 1.8, 0, 0))
            if kind:
                values = plane.data.attributes.new("worn", kind, "EDGE").data
                values.foreach_set("value", np.array([1, 0, 0, 1], {"FLOAT": np.float32, "INT": np.int32, "BOOLEAN": bool}[kind]))
            emission = kit.material_of(plane, "ShaderNodeEmission")
            node = kit.new_node(emission, "ShaderNodeAttribute")
            node.attribute_name = "worn"
            kit.link(node.outputs["Fac" if kind else "Alpha"], emission.inputs["Strength"])
        ours, theirs = kit.render()[..., 0], kit.render("CYCLES")[..., 0]
        self.assertEqual(len(kit.messages().warnings), 1)
        self.assertGreater(theirs.mean(), 0.05)
        np.testing.assert_allclose(ours.reshape(48, 4, 12).mean((0, 2)), theirs.reshape(48, 4, 12).mean((0, 2)), rtol=0.02)

    def test_grease_pencil_is_blenders_and_not_told(self):
        kit.add("Drawing", (bpy.data.grease_pencils if bpy.app.version < (4, 3) or not hasattr(bpy.data, "grease_pencils_v3")
                            else bpy.data.grease_pencils_v3).new("Drawing"))
        self.assertEqual(export()[2].warnings, [])

    def test_hidden_objects_and_what_cannot_be_shown(self):
        hidden = kit.add_plane("Hidden")
        hidden.hide_render = hidden.hide_viewport = True
        kit.add_plane("Nothing").scale = (0, 0, 0)
        kit.add("Smoke", bpy.data.volumes.new("Smoke"))
        scene, _, report = export()
        self.assertEqual(scene["instances"], [])
        self.assertEqual(len(report.warnings), 1)
        self.assertTrue(any("Object 'Smoke'" in text for text in report.warnings))

    def test_many_triangles_are_quick(self):
        bpy.ops.mesh.primitive_grid_add(x_subdivisions=700, y_subdivisions=700)
        bpy.ops.object.shade_smooth()
        start = time.monotonic()
        scene, _, _ = export()
        elapsed = time.monotonic() - start
        self.assertEqual(scene["meshes"][0]["triangle_count"], 2 * 700 * 700)
        print(f"980,000 triangles exported in {elapsed:.2f} s")
        self.assertLess(elapsed, 15)  # a loop over vertices in Python would take far longer


kit.main()
