"""The scene that Blender has open, for Mitsuba 3, where both mean the same by it. Imported in Blender, by scripts/race_scenes.py."""

import math
import pathlib

import bpy
import mitsuba_writer
import numpy as np
from mathutils import Matrix
from mitsuba_writer import MitsubaWriter

# Mitsuba's camera looks along z with x to its left, its rectangle faces z; the middle of its sky is z, what is up there is y.
CAMERA, LAMP = Matrix.Diagonal((-1, 1, -1, 1)), Matrix.Diagonal((1, -1, -1, 1))
SKY = Matrix(((0, 0, 1, 0), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 0, 1)))


class Unable(Exception):
    """The scene has something that Mitsuba does not have, or has in another way."""


def color_of(socket, name):
    """The number of an input that nothing is linked to."""
    if socket.is_linked:
        raise Unable(f"{name}: {socket.node.bl_idname} with a link to {socket.name}")
    return list(socket.default_value)[:3] if socket.type == "RGBA" else socket.default_value


def node_before(socket, name):
    if not socket.is_linked:
        raise Unable(f"{name}: nothing is linked to {socket.name}")
    return socket.links[0].from_node


def output_of(tree, kind, name):
    found = next((node for node in tree.nodes if node.bl_idname == kind and node.is_active_output), None)
    if not found:
        raise Unable(f"{name}: no output")
    return found


def image_file(node, name, color_spaces):
    image = getattr(node, "image", None)
    path = pathlib.Path(bpy.path.abspath(image.filepath)) if image else None
    if not path or not path.is_file() or image.colorspace_settings.name not in color_spaces or node.inputs["Vector"].is_linked:
        raise Unable(f"{name}: {node.bl_idname} is no plain image file of {' or '.join(color_spaces)}")
    return path


def surface_of(material, writer):
    name = material.name if material else "a surface without a material"
    if not material or not material.use_nodes:
        raise Unable(f"{name}: no nodes")
    output = output_of(material.node_tree, "ShaderNodeOutputMaterial", name)
    if output.inputs["Displacement"].is_linked or output.inputs["Volume"].is_linked:
        raise Unable(f"{name}: displacement or volume")
    node = node_before(output.inputs["Surface"], name)
    if node.bl_idname == "ShaderNodeBsdfDiffuse" and color_of(node.inputs["Roughness"], name) == 0 and not node.inputs["Normal"].is_linked:
        if node.inputs["Color"].is_linked:
            reflectance = writer.bitmap("reflectance", image_file(node_before(node.inputs["Color"], name), name, ("sRGB",)))
        else:
            reflectance = mitsuba_writer.rgb("reflectance", color_of(node.inputs["Color"], name))
        return ['<bsdf type="twosided">', *mitsuba_writer.diffuse(reflectance), "</bsdf>"]
    if node.bl_idname == "ShaderNodeEmission":
        strength = color_of(node.inputs["Strength"], name)
        black = mitsuba_writer.diffuse(mitsuba_writer.rgb("reflectance", (0, 0, 0)))
        return black + mitsuba_writer.emitter([strength * c for c in color_of(node.inputs["Color"], name)])
    if node.bl_idname == "ShaderNodeBsdfGlass" and color_of(node.inputs["Roughness"], name) == 0 and not node.inputs["Normal"].is_linked:
        tint = color_of(node.inputs["Color"], name)
        return ['<bsdf type="dielectric">', mitsuba_writer.number("int_ior", color_of(node.inputs["IOR"], name)),
                mitsuba_writer.number("ext_ior", 1), mitsuba_writer.rgb("specular_reflectance", tint),
                mitsuba_writer.rgb("specular_transmittance", tint), "</bsdf>"]
    raise Unable(f"{name}: {node.bl_idname}")


def column(items, field, kind, width):
    out = np.empty(len(items) * width, kind)
    items.foreach_get(field, out)
    return out.reshape(-1, width)


def corner_normals(data):
    if hasattr(data, "corner_normals"):
        return column(data.corner_normals, "vector", np.float32, 3)
    data.calc_normals_split()
    return column(data.loops, "normal", np.float32, 3)


def arrays_of(data, matrix, slot):
    """The triangles of one material in world space, each vertex once; None if there are none."""
    data.calc_loop_triangles()
    corners = column(data.loop_triangles, "loops", np.int32, 3)[column(data.loop_triangles, "material_index", np.int32, 1)[:, 0] == slot].ravel()
    if not len(corners):
        return None
    place = np.array(matrix)
    points = column(data.vertices, "co", np.float32, 3) @ place[:3, :3].T + place[:3, 3]
    uv = column(data.uv_layers.active.data, "uv", np.float32, 2) if data.uv_layers.active else np.zeros((len(data.loops), 2), np.float32)
    parts = [points[column(data.loops, "vertex_index", np.int32, 1)[corners, 0]], uv[corners]]
    if any(polygon.use_smooth for polygon in data.polygons):
        normals = corner_normals(data)[corners] @ np.linalg.inv(place[:3, :3])
        parts.append(normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30))
    rows = np.ascontiguousarray(np.concatenate(parts, 1).astype(np.float32))
    _, first, index = np.unique(rows.view(f"V{rows.strides[0]}").ravel(), return_index=True, return_inverse=True)
    index = index.reshape(-1, 3)
    if matrix.determinant() < 0:
        index = index[:, ::-1]
    rows = rows[first]
    out = {"positions": rows[:, :3].ravel().tolist(), "uv": [rows[:, 3:5].ravel().tolist()], "indices": index.ravel().tolist()}
    if len(parts) > 2:
        out["normals"] = rows[:, 5:].ravel().tolist()
    return out


def add_mesh(writer, item, matrix):
    data = item.to_mesh()
    for slot in range(max(1, len(item.material_slots))):
        arrays = arrays_of(data, matrix, slot)
        if arrays:
            material = item.material_slots[slot].material if item.material_slots else None
            writer.add_mesh(arrays, surface_of(material, writer))
    item.to_mesh_clear()


def add_lamp(writer, item, matrix):
    light = item.data
    if light.type != "AREA" or light.shape not in ("SQUARE", "RECTANGLE") or light.use_nodes or light.spread < math.pi:
        raise Unable(f"{item.name}: a lamp of kind {light.type}")
    size = (light.size, light.size if light.shape == "SQUARE" else light.size_y)
    half = Matrix.Diagonal((size[0] / 2, size[1] / 2, 1, 1))
    scale = matrix.to_scale()
    radiance = light.energy / (4 * size[0] * size[1] * scale.x * scale.y)
    surface = mitsuba_writer.diffuse(mitsuba_writer.rgb("reflectance", (0, 0, 0))) + mitsuba_writer.emitter([radiance * c for c in light.color])
    writer.add_shape("rectangle", writer.to_world(writer.matrix(matrix @ LAMP @ half)), surface)


def add_world(writer, world):
    if not world:
        return
    if not world.use_nodes:
        writer.set_even_sky(list(world.color))
        return
    background = node_before(output_of(world.node_tree, "ShaderNodeOutputWorld", world.name).inputs["Surface"], world.name)
    if background.bl_idname != "ShaderNodeBackground":
        raise Unable(f"{world.name}: {background.bl_idname}")
    strength = color_of(background.inputs["Strength"], world.name)
    if not background.inputs["Color"].is_linked:
        writer.set_even_sky([strength * c for c in color_of(background.inputs["Color"], world.name)])
        return
    node = node_before(background.inputs["Color"], world.name)
    if node.bl_idname != "ShaderNodeTexEnvironment" or node.projection != "EQUIRECTANGULAR":
        raise Unable(f"{world.name}: {node.bl_idname}")
    file = image_file(node, world.name, ("Linear", "Linear Rec.709"))
    writer.set_sky(file, strength, writer.to_world(writer.matrix(SKY)))


def write(folder, max_depth):
    """Makes `folder`, a scene; raises Unable, after which the folder is of no use."""
    scene, graph = bpy.context.scene, bpy.context.evaluated_depsgraph_get()
    resolution = (scene.render.resolution_x, scene.render.resolution_y)
    view = scene.camera
    lens = view.data
    if lens.type != "PERSP" or lens.dof.use_dof or lens.shift_x or lens.shift_y:
        raise Unable(f"{view.name}: more than a pinhole")
    # Cycles' lamps cannot be seen by the camera.
    has_lamps = any(instance.object.type == "LIGHT" for instance in graph.object_instances)
    projection = view.calc_matrix_camera(graph, x=resolution[0], y=resolution[1])
    writer = MitsubaWriter(folder, resolution, max_depth, MitsubaWriter.matrix(view.matrix_world @ CAMERA),
                           math.degrees(2 * math.atan(1 / projection[1][1])), hides_emitters=has_lamps)
    for instance in graph.object_instances:
        item = instance.object
        if not instance.show_self or item.hide_render or item.type in ("CAMERA", "EMPTY"):
            continue
        if item.type == "MESH" and not item.particle_systems:
            add_mesh(writer, item, instance.matrix_world.copy())
        elif item.type == "LIGHT":
            add_lamp(writer, item, instance.matrix_world.copy())
        else:
            raise Unable(f"{item.name}: an object of kind {item.type}")
    add_world(writer, scene.world)
    writer.finish()
