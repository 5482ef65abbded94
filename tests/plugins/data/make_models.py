#!/usr/bin/env python3
"""Makes the model fixtures of this folder: scene.gltf, scene.glb, layers.gltf, colors.*, quad.obj with quad.mtl,
tri.ply, tri.stl, and broken ones. The tests know what is in them."""
import base64
import json
import os
import struct
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))


def write(name, data):
    with open(os.path.join(HERE, name), "wb" if isinstance(data, bytes) else "w") as out:
        out.write(data)


def png_2x2():
    """Upper row red, green; lower row blue, white."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = bytes([0, 255, 0, 0, 0, 255, 0, 0, 0, 0, 255, 255, 255, 255])
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


write("corner colors.png", png_2x2())

# A square in the xy plane, seen from +z: lower left, lower right, upper right, upper left. In glTF v counts down.
positions = [(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)]
normals = [(0, 0, 1)] * 4
tangents = [(1, 0, 0, 1)] * 4
uvs = [(0, 1), (1, 1), (1, 0), (0, 0)]
indices = [0, 1, 2, 0, 2, 3]
parts = [
    (b"".join(struct.pack("<3f", *p) for p in positions), 5126, "VEC3", 4),
    (b"".join(struct.pack("<3f", *n) for n in normals), 5126, "VEC3", 4),
    (b"".join(struct.pack("<4f", *t) for t in tangents), 5126, "VEC4", 4),
    (b"".join(struct.pack("<2f", *t) for t in uvs), 5126, "VEC2", 4),
    (struct.pack("<6H", *indices), 5123, "SCALAR", 6),
]


def gltf(embedded):
    binary, views, accessors = b"", [], []
    for data, component, kind, count in parts:
        accessors.append({"bufferView": len(views), "componentType": component, "type": kind, "count": count})
        views.append({"buffer": 0, "byteOffset": len(binary), "byteLength": len(data)})
        binary += data + b"\0" * (-len(data) % 4)
    accessors[0].update({"min": [-1, -1, 0], "max": [1, 1, 0]})
    images = [{"uri": "corner%20colors.png"}]
    if embedded:
        views.append({"buffer": 0, "byteOffset": len(binary), "byteLength": len(png_2x2())})
        images = [{"bufferView": len(views) - 1, "mimeType": "image/png"}]
        binary += png_2x2()
        binary += b"\0" * (-len(binary) % 4)
    attributes = {"POSITION": 0, "NORMAL": 1, "TANGENT": 2, "TEXCOORD_0": 3}
    document = {
        "asset": {"version": "2.0", "copyright": "2024 A. Modeller, CC0"},
        "extensionsUsed": ["KHR_lights_punctual", "KHR_texture_transform", "KHR_materials_emissive_strength",
                           "KHR_materials_ior", "KHR_materials_iridescence"],
        "extensions": {"KHR_lights_punctual": {"lights": [
            {"type": "point", "name": "bulb", "color": [1, 0.5, 0.25], "intensity": 683},
            {"type": "spot", "name": "spot", "intensity": 1366,
             "spot": {"innerConeAngle": 0.25, "outerConeAngle": 0.5}},
            {"type": "directional", "name": "sun", "intensity": 2049}]}},
        "scene": 0,
        "scenes": [{"nodes": [0, 3, 4, 5, 6, 7]}],
        "nodes": [
            {"name": "parent", "translation": [10, 0, 0], "scale": [2, 2, 2], "children": [1, 2]},
            {"name": "left", "mesh": 0, "translation": [-1, 0, 0]},
            {"name": "right", "mesh": 0, "translation": [1, 0, 0], "rotation": [0, 0.7071067811865476, 0,
                                                                               0.7071067811865476]},
            {"name": "view", "camera": 0, "translation": [0, 0, 5]},
            {"name": "bulb", "translation": [0, 3, 0], "extensions": {"KHR_lights_punctual": {"light": 0}}},
            {"name": "spot", "translation": [0, 4, 0], "rotation": [-0.7071067811865476, 0, 0, 0.7071067811865476],
             "extensions": {"KHR_lights_punctual": {"light": 1}}},
            {"name": "sun", "extensions": {"KHR_lights_punctual": {"light": 2}}},
            # a second user of the camera and of a light
            {"name": "view", "camera": 0, "translation": [1, 0, 0],
             "extensions": {"KHR_lights_punctual": {"light": 0}}},
        ],
        "cameras": [{"type": "perspective", "perspective": {"yfov": 0.8, "aspectRatio": 2.0, "znear": 0.1}}],
        "meshes": [{"name": "square", "primitives": [
            {"attributes": attributes, "indices": 4, "material": 1},
            {"attributes": {"POSITION": 0}, "indices": 4, "material": 0}]}],
        "materials": [  # not in the order of use
            {"name": "glowing", "emissiveFactor": [1, 0.5, 0],
             "extensions": {"KHR_materials_emissive_strength": {"emissiveStrength": 7}}},
            {"name": "painted", "alphaMode": "MASK", "alphaCutoff": 0.25, "doubleSided": True,
             "pbrMetallicRoughness": {
                 "baseColorFactor": [0.5, 0.6, 0.7, 0.8], "metallicFactor": 0.3, "roughnessFactor": 0.4,
                 "baseColorTexture": {"index": 0, "extensions": {"KHR_texture_transform": {
                     "offset": [0.1, 0.2], "scale": [3, 2], "rotation": 0.5}}},
                 "metallicRoughnessTexture": {"index": 0}},
             "normalTexture": {"index": 0, "scale": 0.5},
             "extensions": {"KHR_materials_ior": {"ior": 1.33}, "KHR_materials_iridescence": {}}},
        ],
        "textures": [{"source": 0, "sampler": 0}],
        "samplers": [{"wrapS": 33071, "wrapT": 33648}],
        "images": images,
        "accessors": accessors,
        "bufferViews": views,
        "buffers": [{"byteLength": len(binary)}],
    }
    return document, binary


document, binary = gltf(embedded=False)
document["buffers"][0]["uri"] = "data:application/octet-stream;base64," + base64.b64encode(binary).decode()
write("scene.gltf", json.dumps(document, indent=1) + "\n")

document, binary = gltf(embedded=True)
text = json.dumps(document).encode()
text += b" " * (-len(text) % 4)
write("scene.glb", struct.pack("<4sII", b"glTF", 2, 12 + 8 + len(text) + 8 + len(binary)) +
      struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(binary), b"BIN\0") + binary)

document, binary = gltf(embedded=False)
document["extensionsRequired"] = ["KHR_draco_mesh_compression"]
write("draco.gltf", json.dumps(document, indent=1) + "\n")
# One square a material.
document, binary = gltf(embedded=False)
texture = {"index": 0}
plain = {"metallicFactor": 0, "roughnessFactor": 0.3}
document["materials"] = [
    {"name": "lacquer", "pbrMetallicRoughness": plain, "extensions": {
        "KHR_materials_clearcoat": {"clearcoatFactor": 0.75, "clearcoatRoughnessFactor": 0.2, "clearcoatTexture": texture},
        "KHR_materials_specular": {"specularFactor": 0.5, "specularColorFactor": [1, 0.5, 0.25]}}},
    {"name": "cloth", "pbrMetallicRoughness": plain, "extensions": {
        "KHR_materials_sheen": {"sheenColorFactor": [0.1, 0.2, 0.3], "sheenRoughnessFactor": 0.6}}},
    {"name": "pane", "pbrMetallicRoughness": plain, "extensions": {
        "KHR_materials_transmission": {"transmissionFactor": 0.9}, "KHR_materials_ior": {"ior": 1.45}}},
    {"name": "block", "pbrMetallicRoughness": plain, "extensions": {
        "KHR_materials_transmission": {"transmissionFactor": 1},
        "KHR_materials_volume": {"thicknessFactor": 0.5, "attenuationDistance": 0.1}}},
    {"name": "sign", "alphaMode": "BLEND", "normalTexture": texture, "extensions": {"KHR_materials_unlit": {}},
     "pbrMetallicRoughness": {"baseColorFactor": [0.2, 0.4, 0.6, 0.5], "baseColorTexture": {
         "index": 0, "extensions": {"KHR_texture_transform": {"offset": [0.25, 0], "scale": [2, 1]}}}}},
    {"name": "mirror", "pbrMetallicRoughness": plain, "extensions": {"KHR_materials_ior": {"ior": 0}}},
]
document["extensionsUsed"] = sorted({e for m in document["materials"] for e in m["extensions"]} | {"KHR_texture_transform"})
document["meshes"] = [{"name": m["name"], "primitives": [
    {"attributes": {"POSITION": 0, "NORMAL": 1, "TEXCOORD_0": 3}, "indices": 4, "material": i}]}
    for i, m in enumerate(document["materials"])]
document["nodes"] = [{"name": m["name"], "mesh": i} for i, m in enumerate(document["meshes"])]
document["scenes"] = [{"nodes": list(range(len(document["nodes"])))}]
del document["cameras"], document["extensions"]
document["buffers"][0]["uri"] = "data:application/octet-stream;base64," + base64.b64encode(binary).decode()
write("layers.gltf", json.dumps(document, indent=1) + "\n")

# Colours of vertices: the same square side by side, with colours of all types and without. What is seen of "times" is
# what is seen of "product", mirrored.
document, binary = gltf(embedded=False)
accessors, views = document["accessors"], document["bufferViews"]
color_sets = [
    (b"".join(struct.pack("<4f", *c) for c in [(0.5, 0.25, 1, 1)] * 4), 5126, "VEC4"),
    (b"".join(struct.pack("<3f", *c) for c in [(0.5, 0.25, 1)] * 4), 5126, "VEC3"),
    (b"".join(struct.pack("<4B", *c) for c in [(255, 0, 51, 255), (0, 255, 51, 204), (0, 0, 51, 0), (0, 0, 0, 0)]), 5121, "VEC4"),
    (b"".join(struct.pack("<4H", *c) for c in [(65535, 0, 13107, 65535)] * 4), 5123, "VEC4"),
]
for data, component, kind in color_sets:
    accessors.append({"bufferView": len(views), "componentType": component, "type": kind, "count": 4,
                      "normalized": component != 5126})
    views.append({"buffer": 0, "byteOffset": len(binary), "byteLength": len(data)})
    binary += data
document["materials"] = [
    {"name": "times", "pbrMetallicRoughness": {"baseColorFactor": [0.5, 0.6, 0.7, 1], "metallicFactor": 0}},
    {"name": "product", "pbrMetallicRoughness": {"baseColorFactor": [0.25, 0.15, 0.7, 1], "metallicFactor": 0}},
    {"name": "sign", "extensions": {"KHR_materials_unlit": {}}, "pbrMetallicRoughness": {"baseColorFactor": [0.5, 0.5, 0.5, 1]}},
    {"name": "blended", "alphaMode": "BLEND", "pbrMetallicRoughness": {"baseColorFactor": [1, 1, 1, 0.5]}},
]
# name, material, colours, where
squares = [("times", 0, 5, -1), ("product", 1, None, 1), ("sign", 2, 6, 3), ("bytes", 3, 7, 5), ("shorts", 3, 8, 7),
           ("plain", 0, None, -3)]
document["meshes"] = [{"name": name, "primitives": [
    {"attributes": {"POSITION": 0, "NORMAL": 1, **({"COLOR_0": colors} if colors else {})}, "indices": 4, "material": material}]}
    for name, material, colors, _ in squares]
document["nodes"] = [{"name": name, "mesh": i, "translation": [x, 0, 0]} for i, (name, _, _, x) in enumerate(squares)]
document["nodes"].append({"name": "view", "camera": 0, "translation": [0, 0, 5]})
document["cameras"] = [{"type": "perspective", "perspective": {"yfov": 0.4, "aspectRatio": 4.0, "znear": 0.1}}]
document["scenes"] = [{"nodes": list(range(len(document["nodes"])))}]
document["extensionsUsed"] = ["KHR_materials_unlit"]
for gone in ("extensions", "textures", "samplers", "images"):
    del document[gone]
document["buffers"] = [{"byteLength": len(binary),
                        "uri": "data:application/octet-stream;base64," + base64.b64encode(binary).decode()}]
write("colors.gltf", json.dumps(document, indent=1) + "\n")
write("colors.ply", """ply
format ascii 1.0
element vertex 3
property float x
property float y
property float z
property uchar red
property uchar green
property uchar blue
property uchar alpha
element face 1
property list uchar int vertex_indices
end_header
0 0 0 0 128 255 255
1 0 0 0 128 255 255
0 1 0 0 128 255 51
3 0 1 2
""")
write("colors.mtl", "newmtl gray\nKd 0.5 0.5 0.5\n")
write("colors.obj", """mtllib colors.mtl
usemtl gray
v 0 0 0 0 0.5 1
v 1 0 0 0 0.5 1
v 0 1 0 0 0.5 1
f 1 2 3
""")

write("broken.gltf", '{"asset": {"version": "2.0"},\n "nodes": [}\n')
write("cut.glb", struct.pack("<4sII", b"glTF", 2, 1000) + struct.pack("<I4s", 500, b"JSON") + b"{}")

write("quad.mtl", """newmtl plain
Kd 0.2 0.4 0.6
Ns 98
d 0.5
Ni 1.3
map_Kd corner colors.png
newmtl lamp
Kd 0 0 0
Ke 2 3 4
map_Kd missing.png
map_Bump corner colors.png
""")
write("quad.obj", """mtllib quad.mtl
o quad
v -1 -1 0
v 1 -1 0
v 1 1 0
v -1 1 0
vt 0 0
vt 1 0
vt 1 1
vt 0 1
vn 0 0 1
usemtl plain
f 1/1/1 2/2/1 3/3/1 4/4/1
o lamp
usemtl lamp
f 1/1/1 2/2/1 3/3/1
l 1 2
""")
write("tri.ply", b"""ply
format binary_little_endian 1.0
element vertex 3
property float x
property float y
property float z
property uchar red
property uchar green
property uchar blue
element face 1
property list uchar int vertex_indices
end_header
""" + b"".join(struct.pack("<3f3B", *v) for v in [(0, 0, 0, 255, 0, 0), (1, 0, 0, 0, 255, 0), (0, 1, 0, 0, 0, 255)]) +
      struct.pack("<B3i", 3, 0, 1, 2))
write("tri.stl", """solid tri
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 2 0 0
vertex 0 2 0
endloop
endfacet
endsolid tri
""")
# inches, z up: (0, 0, 10) is 0.254 m above the origin
write("zup.fbx", """; FBX 7.4.0 project file
FBXHeaderExtension:  {
    FBXHeaderVersion: 1003
    FBXVersion: 7400
}
GlobalSettings:  {
    Version: 1000
    Properties70:  {
        P: "UpAxis", "int", "Integer", "",2
        P: "UpAxisSign", "int", "Integer", "",1
        P: "FrontAxis", "int", "Integer", "",1
        P: "FrontAxisSign", "int", "Integer", "",-1
        P: "CoordAxis", "int", "Integer", "",0
        P: "CoordAxisSign", "int", "Integer", "",1
        P: "UnitScaleFactor", "double", "Number", "",2.54
    }
}
Objects:  {
    Geometry: 100, "Geometry::tri", "Mesh" {
        Vertices: *9 {
            a: 0,0,0,10,0,0,0,0,10
        }
        PolygonVertexIndex: *3 {
            a: 0,1,-3
        }
    }
    Model: 200, "Model::tri", "Mesh" {
        Version: 232
    }
}
Connections:  {
    C: "OO",200,0
    C: "OO",100,200
}
""")
write("zup.dae", """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
  <asset><unit name="inch" meter="0.0254"/><up_axis>Z_UP</up_axis></asset>
  <library_geometries><geometry id="g" name="tri"><mesh>
    <source id="p"><float_array id="pa" count="9">0 0 0 10 0 0 0 0 10</float_array><technique_common>
      <accessor count="3" source="#pa" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
        <param name="Z" type="float"/></accessor></technique_common></source>
    <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
    <triangles count="1"><input offset="0" semantic="VERTEX" source="#v"/><p>0 1 2</p></triangles>
  </mesh></geometry></library_geometries>
  <library_visual_scenes><visual_scene id="s"><node name="tri"><instance_geometry url="#g"/></node></visual_scene>
  </library_visual_scenes>
  <scene><instance_visual_scene url="#s"/></scene>
</COLLADA>
""")
write("points.obj", "v 0 0 0\nv 1 0 0\nl 1 2\n")
