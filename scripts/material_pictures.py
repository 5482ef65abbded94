#!/usr/bin/env python3
"""Renders the materials of the add-on (blender-addon/materials), each on a small body of the size that its metadata
`preview_m` names, as the asset browser shows them. scripts/material-library uses this module; alone, it writes the contact sheet of
docs/manual/materials.md: scripts/material_pictures.py BUILD, such as build/release. The sheet needs oiiotool."""

import json
import math
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

from sort_package import PackageWriter, place, shapes  # noqa: E402

MATERIALS = ROOT / "blender-addon" / "materials"
COMMON = "common.ssl"
SHEET = ROOT / "docs" / "images" / "materials.jpg"
SIZE, SAMPLES, COLUMNS = 128, 24, 6
EXPONENT = 2.7  # of the body: 2 is a ball, more is nearer to a cube
FLOOR = """shader preview_floor(float metre = 1, out closure surface)
{
    const float3 p = global_value<position> / (0.25 * metre);
    const float dark = mod(floor(p.x) + floor(p.z), 2.0);
    surface = make_closure<Lambert>(color(mix(0.3, 0.16, dark)), global_value<normal>);
}
"""


def names():
    """The names of the materials, which are those of their files and shaders."""
    return sorted(path.stem for path in MATERIALS.glob("*.ssl") if path.name != COMMON)


def source(name):
    """A material with what it shares with the others, which comes last, so that lines keep their numbers."""
    return "\n".join((MATERIALS / f).read_text(encoding="utf-8") for f in (f"{name}.ssl", COMMON))


def comment(name):
    """The documentation comment with which the file begins, as one line."""
    lines = []
    for line in (MATERIALS / f"{name}.ssl").read_text(encoding="utf-8").splitlines():
        if not line.startswith("//"):
            break
        lines.append(line.removeprefix("//").strip())
    return " ".join(lines)


def described(compiler, folder, wanted):
    """By name what `sslc doc` says of the materials `wanted`. The sources are written to `folder`."""
    for name in wanted:
        (folder / f"{name}.ssl").write_text(source(name), encoding="utf-8")
    answer = subprocess.run([compiler, "doc", "--json", *(str(folder / f"{n}.ssl") for n in wanted)],
                            check=True, capture_output=True, encoding="utf-8")
    return {record["shader"]: record for record in json.loads(answer.stdout)}


def body(size, across=96, along=48):
    """Between a ball and a cube, `size` metres wide, around the origin: flat enough for tiles, closed for glass."""
    mesh = shapes.sphere(1.0, across, along)
    positions, normals = [], []
    for k in range(0, len(mesh["positions"]), 3):
        way = mesh["positions"][k:k + 3]
        reach = 0.5 * size * sum(abs(x) ** EXPONENT for x in way) ** (-1 / EXPONENT)
        slope = place.unit(tuple(math.copysign(abs(x) ** (EXPONENT - 1), x) for x in way))
        positions += [reach * x for x in way]
        normals += slope
    return {**mesh, "positions": positions, "normals": normals}


def write_preview(folder, name, size):
    writer = PackageWriter(folder)
    floor = writer.add("materials", "floor", {"shader": writer.add_shader("floor.ssl", FLOOR), "parameters": {"metre": size}})
    material = writer.add("materials", name, {"shader": writer.add_shader(f"{name}.ssl", source(name))})
    ground = writer.add_mesh("ground", **shapes.grid(40 * size, 1))
    writer.add("instances", "ground", {"mesh": ground, "materials": [floor], "transform": place.translation((0, -0.5 * size, 0))})
    writer.add("instances", "body", {"mesh": writer.add_mesh("body", **body(size)), "materials": [material],
                                     "transform": place.rotation("y", 28)})
    writer.add("cameras", "camera", {"transform": place.look_at((0, 1.15 * size, 3.6 * size), (0, -0.02 * size, 0)), "fov_y_degrees": 22})
    for lamp, at, width, height, radiance in (("key", (-2.2, 3.0, 2.2), 1.6, 1.6, 16.0), ("rim", (2.6, 1.4, -1.6), 0.7, 2.4, 12.0)):
        writer.add("lights", lamp, {"type": "area_rectangle", "radiance": [radiance] * 3, "size": [width * size, height * size],
                                    "transform": place.look_at(tuple(size * x for x in at), (0, 0, 0))})
    writer.environment = {"color": [0.3, 0.29, 0.28]}
    writer.settings = {"resolution": [SIZE, SIZE], "samples": SAMPLES, "max_depth": 12, "clamp_indirect": 4.0}
    writer.finish()


def render(renderer, folder, name, size, *options):
    """Writes folder/NAME.png; the bits of the picture depend on the material and the renderer alone."""
    package = folder / f"{name}.package"
    package.mkdir()
    write_preview(package, name, size)
    picture = folder / f"{name}.png"
    subprocess.run([str(renderer), str(package), "-o", str(folder / f"{name}.exr"), "--png", str(picture), "--denoise", "--quiet",
                    *options], check=True)
    return picture


def main():
    build = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as text:
        folder = pathlib.Path(text)
        records = described(build / "bin" / "sslc", folder, names())
        pictures = [render(build / "bin" / "sort-render", folder, name, records[name]["metadata"]["preview_m"]) for name in names()]
        rows = -(-len(pictures) // COLUMNS)
        subprocess.run(["oiiotool", *map(str, pictures), "--mosaic:pad=2", f"{COLUMNS}x{rows}", "--compression", "jpeg:88",
                        "-o", str(SHEET)], check=True)
    print(SHEET)


if __name__ == "__main__":
    main()
