"""Arrays of meshes that are copied from attributes are what Blender's properties of elements say."""

import unittest

import bpy
import numpy as np

import blender_scene as kit


class ColumnsTest(unittest.TestCase):
    def setUp(self):
        kit.empty_scene()
        bpy.ops.mesh.primitive_grid_add(x_subdivisions=3, y_subdivisions=4)
        self.mesh = bpy.context.object.data
        self.mesh.materials.append(None)
        self.mesh.materials.append(None)
        self.mesh.vertices[7].co.z = 0.5

    def check(self):
        from sort_blender.export.columns import MeshColumns
        mesh, columns = self.mesh, MeshColumns(self.mesh)
        mesh.calc_loop_triangles()
        expected = {
            "positions": [vertex.co for vertex in mesh.vertices], "corner_vertices": [loop.vertex_index for loop in mesh.loops],
            "face_starts": [face.loop_start for face in mesh.polygons],
            "face_materials": [face.material_index for face in mesh.polygons], "is_smooth": [face.use_smooth for face in mesh.polygons],
            "triangle_corners": [triangle.loops for triangle in mesh.loop_triangles],
            "triangle_materials": [triangle.material_index for triangle in mesh.loop_triangles]}
        for name, values in expected.items():
            np.testing.assert_array_equal(getattr(columns, name), np.array(values), name)
        self.assertEqual(list(columns.uv), [layer.name for layer in mesh.uv_layers])
        for layer in mesh.uv_layers:
            np.testing.assert_array_equal(columns.uv[layer.name], [item.uv for item in layer.data])
        if not any(expected["is_smooth"]):
            self.assertIsNone(columns.corner_normals)
        else:
            np.testing.assert_array_equal(columns.corner_normals, [loop.normal for loop in mesh.loops])
        has_own = mesh.has_custom_normals or getattr(mesh, "use_auto_smooth", False)
        self.assertEqual(columns.vertex_normals is not None, all(expected["is_smooth"]) and not has_own)
        if columns.vertex_normals is not None:
            np.testing.assert_array_equal(columns.vertex_normals[columns.corner_vertices], columns.corner_normals)

    def test_flat_smooth_and_mixed_faces(self):
        for smooth in ([False] * 12, [True] * 12, [True, False] * 6):
            self.mesh.polygons.foreach_set("use_smooth", smooth)
            self.mesh.update()
            self.check()

    def test_faces_of_three_to_six_corners(self):
        """Among them faces that are bent, notched, and of no area."""
        numbers = np.random.default_rng(5)
        for most in (3, 4, 6):
            sizes = numbers.integers(3, most + 1, 500)
            ends = np.cumsum(sizes)
            angles = np.concatenate([np.arange(size) * (2 * np.pi / size) for size in sizes])
            for bend in (0, 0.2, 1):
                places = np.stack([np.cos(angles), np.sin(angles), 0 * angles], 1) + bend * numbers.normal(size=(len(angles), 3))
                if bend == 1:
                    places = np.round(places)
                self.mesh = bpy.data.meshes.new("Faces")
                self.mesh.from_pydata(places.tolist(), [], [range(end - size, end) for size, end in zip(sizes.tolist(), ends.tolist())])
                self.mesh.polygons.foreach_set("material_index", np.arange(500) % 3)
                self.check()

    def test_normals_of_the_mesh_that_was_copied(self):
        """What is evaluated has the copy's normals; in edit mode, where it may lack what modifiers make, they are the copy's own."""
        from sort_blender.export.columns import MeshColumns
        obj = bpy.context.object
        self.mesh.polygons.foreach_set("use_smooth", [True] * 12)
        obj.modifiers.new("Divided", "SUBSURF")
        for mode in ("OBJECT", "EDIT", "OBJECT"):
            bpy.ops.object.mode_set(mode=mode)
            evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
            copy = evaluated.to_mesh()
            self.assertGreater(len(copy.vertices), 20)
            np.testing.assert_allclose(MeshColumns(copy, evaluated.data).vertex_normals, MeshColumns(copy).vertex_normals, atol=1e-6)
            evaluated.to_mesh_clear()

    def test_custom_normals(self):
        self.mesh.polygons.foreach_set("use_smooth", [True] * 12)
        self.mesh.update()
        self.check()
        self.mesh.normals_split_custom_set([(0, 0, 1)] * len(self.mesh.loops))
        self.check()

    @unittest.skipUnless(bpy.app.version < (4, 1, 0), "later versions have sharp edges and faces instead")
    def test_auto_smooth(self):
        self.mesh.polygons.foreach_set("use_smooth", [True] * 12)
        self.mesh.use_auto_smooth, self.mesh.auto_smooth_angle = True, 0.1
        self.mesh.update()
        self.check()

    def test_materials_of_faces(self):
        for materials in ([0] * 12, [1] * 12, [0, 1, 1, 0, 2, 2] * 2):
            self.mesh.polygons.foreach_set("material_index", materials)
            self.mesh.update()
            self.check()

    def test_uv_maps_whose_names_other_attributes_could_have(self):
        self.mesh.uv_layers.new(name="position ")
        self.mesh.uv_layers.new(name="Second")
        self.mesh.uv_layers["Second"].data.foreach_set("uv", np.arange(2 * len(self.mesh.loops), dtype=np.float32))
        self.check()


kit.main()
