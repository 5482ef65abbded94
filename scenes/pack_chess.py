#!/usr/bin/env python3
"""Makes the scene package scenes/chess from the Open Chess Set.

usage: pack_chess.py SOURCE ENVIRONMENT.hdr OUT

SOURCE is a folder with the set as OBJ meshes: layout.json (instances and Standard Surface inputs),
meshes/*.obj and tex/*.jpg. The OBJ files carry no normals: they are computed here, smooth within a
crease angle. Only the Python standard library is used. The result in scenes/chess is kept in the
repository; this script is how it came to be.
"""
import array
import json
import math
import os
import shutil
import sys
import zlib

CREASE_DEGREES = 40.0


def read_obj(path):
    """Positions, uvs and faces [(object index, [(v, vt), ...])] and the object names."""
    positions, uvs, faces, objects = [], [], [], []
    for line in open(path, encoding="utf-8"):
        word, _, rest = line.partition(" ")
        if word == "v":
            positions.append(tuple(map(float, rest.split())))
        elif word == "vt":
            uvs.append(tuple(map(float, rest.split()[:2])))
        elif word == "o":
            objects.append(rest.strip())
        elif word == "f":
            corners = [tuple(int(i) - 1 for i in c.split("/")[:2]) for c in rest.split()]
            faces.append((len(objects) - 1, corners))
    return positions, uvs, faces, objects


def sub(a, b):
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def unit(a):
    length = math.sqrt(dot(a, a))
    return (a[0] / length, a[1] / length, a[2] / length) if length > 0 else (0.0, 0.0, 0.0)


def build_mesh(path):
    """Vertices (position, normal, uv), triangles and a material slot per triangle."""
    positions, uvs, faces, objects = read_obj(path)
    normals = []
    around = [[] for _ in positions]
    for index, (_, corners) in enumerate(faces):
        points = [positions[v] for v, _ in corners]
        # Newell's normal; its length is twice the area, which weights the average below.
        n = (0.0, 0.0, 0.0)
        for a, b in zip(points, points[1:] + points[:1]):
            c = cross(a, b)
            n = (n[0] + c[0], n[1] + c[1], n[2] + c[2])
        normals.append((n, unit(n)))
        for v, _ in corners:
            around[v].append(index)

    cos_crease = math.cos(math.radians(CREASE_DEGREES))
    vertex_of, vertices, triangles, slots = {}, [], [], []
    for index, (slot, corners) in enumerate(faces):
        own = normals[index][1]
        ids = []
        for v, vt in corners:
            n = (0.0, 0.0, 0.0)
            for other in around[v]:
                if dot(normals[other][1], own) >= cos_crease:
                    m = normals[other][0]
                    n = (n[0] + m[0], n[1] + m[1], n[2] + m[2])
            n = unit(n)
            key = (v, vt, round(n[0], 4), round(n[1], 4), round(n[2], 4))
            if key not in vertex_of:
                vertex_of[key] = len(vertices)
                vertices.append((positions[v], n, uvs[vt]))
            ids.append(vertex_of[key])
        for k in range(1, len(ids) - 1):
            triangles.append((ids[0], ids[k], ids[k + 1]))
            slots.append(slot)
    return vertices, triangles, slots, objects


class ArrayFile:
    """One binary file of zlib-compressed arrays."""

    def __init__(self, root, name):
        self.root, self.name, self.blob = root, name, b""

    def add(self, code, kind, components, values):
        data = array.array(code, values)
        if sys.byteorder == "big":
            data.byteswap()
        raw = data.tobytes()
        stored = zlib.compress(raw, 9)
        entry = {"file": self.name, "offset_bytes": len(self.blob), "type": kind,
                 "components": components, "count": len(data) // components,
                 "compression": "zlib", "stored_bytes": len(stored)}
        self.blob += stored
        return entry

    def write(self):
        path = os.path.join(self.root, self.name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(self.blob)


def pack_mesh(root, obj_path, name):
    vertices, triangles, slots, objects = build_mesh(obj_path)
    out = ArrayFile(root, f"meshes/{name.lower()}.bin")
    mesh = {"name": name, "vertex_count": len(vertices), "triangle_count": len(triangles)}
    mesh["positions"] = out.add("f", "float32", 3, [c for p, _, _ in vertices for c in p])
    mesh["indices"] = out.add("I", "uint32", 3, [i for t in triangles for i in t])
    mesh["normals"] = out.add("f", "float32", 3, [c for _, n, _ in vertices for c in n])
    mesh["uv"] = [out.add("f", "float32", 2, [c for _, _, uv in vertices for c in uv])]
    if len(objects) > 1:
        mesh["material_indices"] = out.add("H", "uint16", 1, slots)
    out.write()
    return mesh, objects


HANDLE_OF = {"base_color": "base_color_texture", "metalness": "metallic_texture",
             "specular_roughness": "roughness_texture", "normal": "normal_texture"}


def pack_material(root, source, name, inputs):
    """Standard Surface inputs to our unit; subsurface becomes plain diffuse colour for now."""
    parameters, textures = {"metallic": 0.0}, {}
    for key, value in inputs.items():
        if isinstance(value, dict) and key in HANDLE_OF:
            file = "textures/" + os.path.basename(value["file"])
            shutil.copyfile(os.path.join(source, value["file"]), os.path.join(root, file))
            handle = HANDLE_OF[key]
            textures[handle] = {"file": file,
                                "color_space": "srgb" if value["colorspace"] == "sRGB" else "raw"}
            parameters["has_" + handle] = True
            if key == "metalness":
                parameters["metallic"] = 1.0
        elif key == "base_color":
            parameters["base_color"] = value
        elif key == "transmission":
            parameters["transmission"] = value
        elif key == "transmission_color":
            parameters["transmission_color"] = value
    return {"name": name, "shader": "unit:standard_surface",
            "parameters": dict(sorted(parameters.items())), "textures": textures}


def column_major_to_ours(rows):
    """The layout's row-vector matrix, as 16 numbers for column vectors."""
    return [rows[c][r] for r in range(4) for c in range(4)]


def look_at(eye, target):
    back = unit(sub(eye, target))
    right = unit(cross((0.0, 1.0, 0.0), back))
    up = cross(back, right)
    return [right[0], up[0], back[0], eye[0], right[1], up[1], back[1], eye[1],
            right[2], up[2], back[2], eye[2], 0.0, 0.0, 0.0, 1.0]


def distance(a, b):
    d = sub(a, b)
    return math.sqrt(dot(d, d))


def main():
    source, environment, root = sys.argv[1:4]
    layout = json.load(open(os.path.join(source, "layout.json"), encoding="utf-8"))
    os.makedirs(os.path.join(root, "textures"), exist_ok=True)

    meshes, slot_names = {}, {}
    for instance in layout["instances"]:
        name = os.path.splitext(os.path.basename(instance["mesh"]))[0]
        if name not in meshes:
            meshes[name], slot_names[name] = pack_mesh(root, os.path.join(source, instance["mesh"]), name)
    materials = [pack_material(root, source, name, inputs)
                 for name, inputs in layout["materials"].items()]
    instances = []
    for instance in layout["instances"]:
        name = os.path.splitext(os.path.basename(instance["mesh"]))[0]
        instances.append({"name": instance["name"], "mesh": name,
                          "transform": column_major_to_ours(instance["matrix"]),
                          "materials": [instance["materials"][slot] for slot in slot_names[name]]})

    shutil.copyfile(environment, os.path.join(root, "textures", os.path.basename(environment)))
    eye, target, focus = (0.33, 0.205, 0.50), (0.0, 0.042, 0.02), (0.02, 0.05, 0.17)
    lamp = look_at((-0.9, 0.9, 0.3), (0.0, 0.0, 0.0))
    scene = {
        "sort_package": 1,
        "name": "The Open Chess Set",
        "credits": [
            "The Open Chess Set by Moeen Sayed and Mujtaba Sayed (SideFX, Academy Software Foundation), CC BY 4.0",
            f"Environment {os.path.basename(environment)} from Poly Haven, CC0",
        ],
        "settings": {"resolution": [960, 540], "samples": 64, "max_depth": 8, "camera": "Hero"},
        "cameras": [{"name": "Hero", "transform": look_at(eye, target), "fov_y_degrees": 27.0,
                     "aperture_radius_m": 0.0028, "focus_distance_m": distance(eye, focus)}],
        "meshes": list(meshes.values()),
        "instances": instances,
        "materials": materials,
        "lights": [{"name": "Window", "type": "area_rectangle", "transform": lamp,
                    "radiance": [18.0, 14.0, 10.0], "size": [0.5, 0.5]}],
        "environment": {"image": {"file": "textures/" + os.path.basename(environment),
                                  "color_space": "linear"}, "strength": 1.6},
    }
    with open(os.path.join(root, "scene.json"), "w", encoding="utf-8") as f:
        json.dump(scene, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
