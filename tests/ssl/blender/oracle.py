"""Blender's own answers: its texture and maths nodes, evaluated by geometry nodes at given points.

Runs inside Blender 3.4 only. The values are those of Blender's float arithmetic, read back exactly."""

import bpy

SUFFIX = {"VALUE": "FLOAT", "VECTOR": "FLOAT_VECTOR", "RGBA": "FLOAT_COLOR"}
VALUE_SOCKET = {"FLOAT": "Value_Float", "FLOAT_VECTOR": "Value_Vector", "FLOAT_COLOR": "Value_Color"}
WIDTH = {"FLOAT": 1, "FLOAT_VECTOR": 3, "FLOAT_COLOR": 4}


def data_type(column):
    width = len(column[0]) if hasattr(column[0], "__len__") else 1
    return {1: "FLOAT", 3: "FLOAT_VECTOR", 4: "FLOAT_COLOR"}[width]


def flat(column):
    return [x for row in column for x in (row if hasattr(row, "__len__") else (row,))]


def socket(sockets, name):
    return next(s for s in sockets if s.identifier == name or s.name == name and s.enabled)


def make_points(columns, count):
    mesh = bpy.data.meshes.new("points")
    mesh.vertices.add(count)
    for name, column in columns.items():
        kind = data_type(column)
        attribute = mesh.attributes.new(name, kind, "POINT")
        attribute.data.foreach_set({"FLOAT": "value", "FLOAT_VECTOR": "vector",
                                    "FLOAT_COLOR": "color"}[kind], flat(column))
    thing = bpy.data.objects.new("points", mesh)
    bpy.context.scene.collection.objects.link(thing)
    return thing


def evaluate(node_type, properties, inputs, outputs, prepare=None):
    """prepare(node) may set what is no property; inputs: {socket: column or number}; the lists returned are columns of the outputs."""
    columns = {f"in_{name}": column for name, column in inputs.items() if isinstance(column, list)}
    count = len(next(iter(columns.values())))
    thing = make_points(columns, count)
    tree = bpy.data.node_groups.new("oracle", "GeometryNodeTree")
    tree.inputs.new("NodeSocketGeometry", "Geometry")
    tree.outputs.new("NodeSocketGeometry", "Geometry")
    node = tree.nodes.new(node_type)
    for name, value in properties.items():
        setattr(node, name, value)
    if prepare:
        prepare(node)
    for name, value in inputs.items():
        to = socket(node.inputs, name)
        if not isinstance(value, list):
            to.default_value = value
            continue
        reader = tree.nodes.new("GeometryNodeInputNamedAttribute")
        reader.data_type = data_type(value)
        reader.inputs["Name"].default_value = f"in_{name}"
        tree.links.new(next(s for s in reader.outputs if s.enabled), to)
    geometry = tree.nodes.new("NodeGroupInput").outputs[0]
    kinds = {}
    for name in outputs:
        source = socket(node.outputs, name)
        kinds[name] = SUFFIX[source.type]
        store = tree.nodes.new("GeometryNodeStoreNamedAttribute")
        store.data_type = kinds[name]
        store.inputs["Name"].default_value = f"out_{name}"
        tree.links.new(geometry, store.inputs["Geometry"])
        tree.links.new(source, socket(store.inputs, VALUE_SOCKET[kinds[name]]))
        geometry = store.outputs[0]
    tree.links.new(geometry, tree.nodes.new("NodeGroupOutput").inputs[0])
    thing.modifiers.new("oracle", "NODES").node_group = tree
    found = thing.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    result = []
    for name in outputs:
        kind = kinds[name]
        values = [0.0] * (count * WIDTH[kind])
        found.attributes[f"out_{name}"].data.foreach_get(
            {"FLOAT": "value", "FLOAT_VECTOR": "vector", "FLOAT_COLOR": "color"}[kind], values)
        if kind == "FLOAT":
            result.append(values)
        else:
            width = WIDTH[kind]
            result.append([tuple(values[i * width : i * width + 3]) for i in range(count)])
    bpy.data.objects.remove(thing)
    bpy.data.node_groups.remove(tree)
    return result
