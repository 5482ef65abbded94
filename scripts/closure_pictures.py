#!/usr/bin/env python3
"""Renders the pictures of docs/reference/closures.md: scripts/closure_pictures.py [build/release/bin/sort-render [NAME ...]]

Three balls a closure, on a chequered floor under one window of light. Needs oiiotool.
"""

import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "docs" / "images" / "closures"
RINGS = 48
SIZE, SAMPLES = (264, 98), 24

N, T = "N", "T"
GOLD, RED, GREEN = "color(0.95, 0.7, 0.3)", "color(0.7, 0.1, 0.08)", "color(0.1, 0.45, 0.15)"


def each(text, *values):
    return [text.replace("$", str(value)) for value in values]


PICTURES = {
    "Lambert": each("make_closure<Lambert>(color($), N)", 0.2, 0.5, 0.8),
    "EON": each(f"make_closure<EON>({RED}, $, N)", 0.0, 0.5, 1.0),
    "OrenNayar": each(f"make_closure<OrenNayar>({RED}, $, N)", 0.0, 0.5, 1.0),
    "Translucent": each("make_closure<Translucent>(color($), N)", "0.8", "0.8, 0.4, 0.1", "0.1, 0.6, 0.2"),
    "Conductor": each(f"make_closure<Conductor>({GOLD}, $, N)", 0.05, 0.3, 0.7),
    "Metal": each("make_closure<Metal>(color(0.2, 0.92, 1.1), color(3.9, 2.45, 2.14), 0.4, $, T, N)", 0.0, 0.9, -0.9),
    "BeckmannMetal": each("make_closure<BeckmannMetal>(color(0.2, 0.92, 1.1), color(3.9, 2.45, 2.14), $, 0.0, T, N)", 0.2, 0.45, 0.7),
    "Dielectric": each("make_closure<Dielectric>(1.5, $, color(1), color(0.97), N)", 0.0, 0.25, 0.6),
    "Plastic": each(f"make_closure<Plastic>({RED}, color(0.04), $, N)", 0.05, 0.3, 0.7),
    "Emission": each("make_closure<Emission>(color($))", "0.3", "1, 0.5, 0.1", "0.1, 0.6, 2"),
    "Transparent": each("make_closure<Transparent>(color($))", "0.8", "0.9, 0.4, 0.2", "0.2, 0.5, 0.9"),
    "Glossy": [f"make_closure<Glossy>({GOLD}, 0.6, 0.0, 0.0, 0.0, T, N)",
               f"make_closure<Glossy>({GOLD}, 0.6, 0.0, 1.0, 0.0, T, N)",
               f"make_closure<Glossy>({GOLD}, 0.6, 1.0, 0.0, 0.0, T, N)"],
    "Specular": each("make_closure<Specular>(color($), 1.5, 0.3, 1.0, 0.0, T, N)", 0.04, "0.6, 0.1, 0.1",
                     "0.95, 0.7, 0.3"),
    "TintedMetal": each(f"make_closure<TintedMetal>({GOLD}, color($), 0.3, 2.0, 0.0, T, N)", 1, "0.7, 0.4, 0.3", 0),
    "Refraction": each("make_closure<Refraction>(color(0.95), 1.45, $, 0.0, N)", 0.0, 0.25, 0.5),
    "ThinDielectric": each("make_closure<ThinDielectric>(1.5, $, color(1), color(0.8, 0.9, 0.95), N)", 0.0, 0.25, 0.5),
    "Clearcoat": each(f"make_closure<Lambert>({RED}, N) + 0.25 * make_closure<Clearcoat>($, N)", 0.05, 0.2, 0.5),
    "Coat": each(f"make_closure<Coat>(color(1), 1.5, $, 1.0, N, make_closure<Conductor>({GOLD}, 0.6, N))", 0.0, 0.2,
                 0.5),
    "SpecularLayer": each(f"make_closure<SpecularLayer>(color($), 1.5, 0.2, 2.0, 0.0, T, 1.0, N, make_closure<Lambert>({RED}, N))", 0.04,
                          "0.4, 0.3, 0.1", 0.8),
    "DisneyDiffuse": each(f"make_closure<DisneyDiffuse>({RED}, $, N)", 0.0, 0.5, 1.0),
    "DisneySheen": each(f"make_closure<Lambert>({GREEN}, N) + $ * make_closure<DisneySheen>(color(1), N)", 0.0, 1.0, 4.0),
    "Microfiber": each(f"make_closure<Microfiber>(color(0.9), $, N, make_closure<Lambert>({GREEN}, N))", 0.2, 0.5, 1.0),
    "Sheen": each(f"make_closure<Sheen>(color(0.9), $, N, make_closure<Lambert>({GREEN}, N))", 0.3, 0.6, 1.0),
    "Velvet": each(f"make_closure<Velvet>({RED}, $, N)", 0.2, 0.5, 1.0),
    "ToonDiffuse": each(f"make_closure<ToonDiffuse>({GOLD}, $, N)", "0.5, 0.0", "0.5, 0.2", "0.8, 0.0"),
    "ToonGlossy": each(f"make_closure<ToonGlossy>({GOLD}, $, N)", "0.2, 0.0", "0.2, 0.2", "0.5, 0.0"),
    "Hair": each("make_closure<Hair>(color($), 0.25, 0.3, 0.0, 1.55, 0.035, 0.0, T)", "0.02", "0.3, 0.6, 1.1", "1.5"),
    "HairReflection": each(f"make_closure<HairReflection>({GOLD}, $, 0.5, 0.0, T)", 0.1, 0.3, 0.8),
    "HairTransmission": each(f"make_closure<HairTransmission>({GOLD}, $, 0.5, 0.0, T)", 0.1, 0.3, 0.8),
    "DisneyRetro": each("make_closure<DisneyRetro>(color(0.8), $, N)", 0.2, 0.6, 1.0),
    "Subsurface": each("make_closure<Subsurface>(color(0.85, 0.65, 0.5), $ * color(1, 0.4, 0.2), 0.0, N)", 0.02, 0.1,
                       0.5),
    "Holdout": each("mix(make_closure<Lambert>(color(0.6), N), make_closure<Holdout>(color(1)), $)", 0.0, 0.5, 1.0),
}

FLOOR = """shader floor_tiles(out closure surface)
{
    const float3 p = global_value<position>;
    const float dark = mod(floor(2 * p.x) + floor(2 * p.z), 2.0);
    surface = make_closure<Lambert>(color(mix(0.45, 0.12, dark)), global_value<normal>);
}
"""
BALL = """shader ball(out closure surface)
{{
    const float3 N = global_value<normal>;
    const float3 T = global_value<tangent>;
    surface = {};
}}
"""


def sphere():
    positions, uv, triangles = [], [], []
    columns = 2 * RINGS
    for j in range(RINGS + 1):
        for i in range(columns + 1):
            a, b = math.pi * j / RINGS, 2 * math.pi * i / columns
            positions += [math.sin(a) * math.cos(b), math.cos(a), -math.sin(a) * math.sin(b)]
            uv += [i / columns, 1 - j / RINGS]
    for j in range(RINGS):
        for i in range(columns):
            a = j * (columns + 1) + i
            b = a + columns + 1
            triangles += [a, b, b + 1, a, b + 1, a + 1]
    return positions, uv, triangles, positions


def plane():
    corners = [(-40, 0, 40), (40, 0, 40), (40, 0, -40), (-40, 0, -40)]
    return [x for c in corners for x in c], [0, 0, 1, 0, 1, 1, 0, 1], [0, 1, 2, 0, 2, 3], [0, 1, 0] * 4


def mesh_record(folder, name, shape):
    data, arrays = b"", []
    for numbers, kind, components in zip(shape, ("f", "f", "I", "f"), (3, 2, 3, 3)):
        arrays.append({"file": f"meshes/{name}.bin", "offset_bytes": len(data),
                       "type": "uint32" if kind == "I" else "float32", "components": components,
                       "count": len(numbers) // components})
        data += struct.pack(f"<{len(numbers)}{kind}", *numbers)
    (folder / "meshes" / f"{name}.bin").write_bytes(data)
    return {"name": name, "vertex_count": arrays[0]["count"], "triangle_count": arrays[2]["count"],
            "positions": arrays[0], "uv": [arrays[1]], "indices": arrays[2], "normals": arrays[3]}


def look(eye, target):
    back = [e - t for e, t in zip(eye, target)]
    length = math.dist(eye, target)
    back = [x / length for x in back]
    right = [back[2], 0, -back[0]]
    length = math.hypot(*right)
    right = [x / length for x in right]
    up = [back[1] * right[2] - back[2] * right[1], back[2] * right[0] - back[0] * right[2],
          back[0] * right[1] - back[1] * right[0]]
    return [x for i in range(3) for x in (right[i], up[i], back[i], eye[i])] + [0, 0, 0, 1]


def write_package(folder, balls):
    for name in ("meshes", "shaders"):
        (folder / name).mkdir()
    (folder / "shaders" / "floor_tiles.ssl").write_text(FLOOR)
    materials = [{"name": "floor", "shader": "shaders/floor_tiles.ssl"}]
    instances = [{"name": "floor", "mesh": "floor", "materials": ["floor"]}]
    for i, text in enumerate(balls):
        (folder / "shaders" / f"ball{i}.ssl").write_text(BALL.format(text))
        materials.append({"name": f"ball{i}", "shader": f"shaders/ball{i}.ssl"})
        instances.append({"name": f"ball{i}", "mesh": "ball", "materials": [f"ball{i}"],
                          "transform": [1, 0, 0, 2.4 * (i - 1), 0, 1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1]})
    scene = {"sort_package": 1, "settings": {"resolution": SIZE, "samples": SAMPLES, "max_depth": 10},
             "cameras": [{"name": "camera", "fov_y_degrees": 15, "transform": look((0, 3.2, 10.5), (0, 0.92, 0))}],
             "meshes": [mesh_record(folder, "ball", sphere()), mesh_record(folder, "floor", plane())],
             "instances": instances, "materials": materials,
             "lights": [{"name": "window", "type": "area_rectangle", "radiance": [9, 9, 9], "size": [4, 3],
                         "transform": look((-4, 6, 4), (0, 1, 0))}],
             "environment": {"color": [0.35, 0.4, 0.5]}}
    (folder / "scene.json").write_text(json.dumps(scene))


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build" / "release" / "bin" / "sort-render")
    OUT.mkdir(parents=True, exist_ok=True)
    for name, balls in ((n, b) for n, b in PICTURES.items() if n in sys.argv[2:] or not sys.argv[2:]):
        with tempfile.TemporaryDirectory() as text:
            folder = pathlib.Path(text) / "package"
            folder.mkdir()
            write_package(folder, balls)
            png = str(folder.parent / "out.png")
            subprocess.run([program, str(folder), "-o", str(folder.parent / "out.exr"), "--png", png, "--quiet"],
                           check=True)
            subprocess.run(["oiiotool", png, "--compression", "jpeg:88", "-o", str(OUT / f"{name}.jpg")], check=True)
        print(name, flush=True)


if __name__ == "__main__":
    main()
