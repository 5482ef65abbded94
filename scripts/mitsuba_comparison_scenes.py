"""The scenes of scripts/mitsuba-comparison: one description of each, and writers of it for SORT and for Mitsuba 3.

    python3 -B scripts/mitsuba_comparison_scenes.py OUT [NAME ...]

writes OUT/NAME/sort, a scene package, and OUT/NAME/mitsuba/scene.xml. Only the standard library is used. Both renderers get the
same triangles, normals and texture coordinates, the same image files, the same camera and numbers of materials and lights."""

from __future__ import annotations

import dataclasses
import math
import pathlib
import random
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "scenes" / "gallery")]
import make as gallery  # noqa: E402
import mitsuba_writer  # noqa: E402
from mitsuba_writer import MitsubaWriter  # noqa: E402
from sort_package import PackageWriter, place, shapes  # noqa: E402

MAX_DEPTH = 8  # surface interactions of a path
SHADERS = """shader plain(color albedo = color(0.5), out closure surface)
{
    surface = make_closure<Lambert>(albedo, global_value<normal>);
}

texture2d image;

shader painted(out closure surface)
{
    const float3 at = global_value<uvw>;
    surface = make_closure<Lambert>(texture2d_sample<image>(at.x, at.y), global_value<normal>);
}

shader metal(color eta = color(1), color k = color(1), float roughness = 0.2, out closure surface)
{
    surface = make_closure<Metal>(eta, k, roughness, 0.0, vector(0), global_value<normal>);
}

shader lamp(color radiance = color(1), out closure surface)
{
    surface = global_value<backfacing> ? make_closure<Lambert>(color(0), global_value<normal>)
                                       : make_closure<Emission>(radiance);
}
"""


@dataclasses.dataclass
class Surface:
    """`kind` is a shader of SHADERS, `numbers` are its parameters; `image`: an sRGB image file of a painted surface."""
    kind: str
    numbers: dict
    image: pathlib.Path | None = None


@dataclasses.dataclass
class Rectangle:
    """A lamp in the plane y = height that shines down."""
    middle: tuple
    size: tuple
    radiance: list


@dataclasses.dataclass
class Scene:
    eye: tuple
    target: tuple
    fov_y_degrees: float
    meshes: list = dataclasses.field(default_factory=list)  # (name, arrays as for PackageWriter.add_mesh, Surface)
    rectangle: Rectangle | None = None
    sky: pathlib.Path | None = None  # a latitude-longitude map


# --- descriptions -----------------------------------------------------------------------------------------

def box_with_ball():
    """The gallery's Cornell box without its lamp, a ball of rough copper in place of the short block."""
    view = gallery.CORNELL_VIEW
    scene = Scene(view["eye"], view["target"], view["fov_y_degrees"])
    paint = {name: Surface("plain", {"albedo": color}) for name, color in gallery.CORNELL_COLORS.items()}
    for name, color, corners in (*gallery.cornell_room(), *gallery.cornell_block("tall block")):
        scene.meshes.append((name, shapes.quad(*corners), paint[color]))
    ball = shapes.sphere(0.82)
    ball["positions"] = [x + (1.86, 0.82, 1.69)[i % 3] for i, x in enumerate(ball["positions"])]
    copper = Surface("metal", {"eta": [0.2, 0.92, 1.1], "k": [3.91, 2.45, 2.14], "roughness": 0.2})
    scene.meshes.append(("ball", ball, copper))
    return scene


def cornell(_work, _detail):
    """Light between diffuse walls; two triangles that shine."""
    scene = box_with_ball()
    lamp = Surface("lamp", {"radiance": gallery.CORNELL_RADIANCE})
    scene.meshes.append(("lamp", shapes.quad(*gallery.CORNELL_LAMP), lamp))
    return scene


def cornell_rectangle(_work, _detail):
    """The same box with the light source of each renderer that is a rectangle."""
    scene = box_with_ball()
    (x0, y, z0), _, (x1, _, z1), _ = gallery.CORNELL_LAMP
    scene.rectangle = Rectangle(((x0 + x1) / 2, y, (z0 + z1) / 2), (abs(x0 - x1), abs(z0 - z1)), gallery.CORNELL_RADIANCE)
    return scene


def write_sky(path, height):
    """A clear sky with a sun of three degrees, as a Radiance picture: a byte for each channel and a common exponent."""
    to_sun = place.unit((-0.55, 0.5, 0.45))
    radius, texel = math.radians(1.5), math.pi / height
    out = bytearray(f"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y {height} +X {2 * height}\n".encode())
    for row in range(height):
        elevation = math.pi * (0.5 - (row + 0.5) / height)
        up, around = math.sin(elevation), math.cos(elevation)
        haze = math.exp(-6 * max(up, 0))
        base = [0.55 + 1.1 * haze, 0.9 + 0.9 * haze, 1.7 + 0.3 * haze] if up > 0 else [0.22, 0.2, 0.18]
        for column in range(2 * height):
            turn = math.pi * ((column + 0.5) / height - 1)
            away = math.acos(min(1, place.dot((-around * math.sin(turn), up, around * math.cos(turn)), to_sun)))
            share = min(max((radius - away) / texel + 0.5, 0), 1)
            glow = 4 * math.exp(-12 * away) + 1900 * share
            color = (base[0] + glow, base[1] + 0.9 * glow, base[2] + 0.7 * glow)
            fraction, exponent = math.frexp(max(color))
            scale = fraction * 256 / max(color)
            out += bytes((int(color[0] * scale), int(color[1] * scale), int(color[2] * scale), exponent + 128))
    path.write_bytes(out)


def write_ground(path, side):
    """Grass, earth and stones of all sizes down to a texel."""
    rng = random.Random(5)
    waves = []
    for octave in range(7):
        for _ in range(2):
            turn, cycles = rng.uniform(0, 2 * math.pi), 2 ** octave
            waves.append((round(cycles * math.cos(turn)), round(cycles * math.sin(turn)), 0.8 ** octave))
    table = [math.sin(2 * math.pi * i / side) for i in range(side)]
    grain = [rng.uniform(-0.4, 0.4) for _ in range(side * 7 + 1)]

    def pixel(x, y):
        value = sum(weight * table[(a * x + b * y) % side] for a, b, weight in waves) + grain[(x * 3 + y * 1031) % len(grain)]
        share = min(max(0.5 + 0.3 * value, 0), 1)
        return int(60 + 100 * share), int(85 + 60 * share), int(40 + 70 * share)

    gallery.write_png(path, side, pixel)


def terrain(work, detail):
    """A field of 500,000 triangles, painted with an image, under a clear sky."""
    ridges = [(0.31, 0.17, 1.1), (-0.23, 0.41, 0.8), (0.71, -0.53, 0.33), (1.13, 0.97, 0.2), (-2.3, 1.7, 0.07), (3.9, 4.3, 0.035),
              (-8.7, 7.1, 0.014)]

    def height(x, z):
        bumps = sum(size * (1 - 2 * abs(math.sin(0.5 * (a * x + b * z + size)))) for a, b, size in ridges)
        return 0.5 * bumps + 0.006 * max(0, 12 - z) ** 2

    write_sky(work / "sky.hdr", max(32, int(512 * detail)))
    write_ground(work / "ground.png", max(32, int(1024 * detail)))
    scene = Scene((0, height(0, 17) + 2.6, 17), (0, 1.4, 0), 42, sky=work / "sky.hdr")
    ground = Surface("painted", {}, work / "ground.png")
    scene.meshes.append(("ground", shapes.grid(40.0, max(8, int(500 * detail)), height), ground))
    return scene


SCENES = {scene.__name__: scene for scene in (cornell, cornell_rectangle, terrain)}
RESOLUTIONS = {"cornell": (512, 512), "cornell_rectangle": (512, 512), "terrain": (800, 450)}


# --- SORT -------------------------------------------------------------------------------------------------

def write_sort(scene, resolution, folder):
    w = PackageWriter(folder)
    w.settings = {"resolution": list(resolution), "samples": 64, "max_depth": MAX_DEPTH}
    shader = w.add_shader("comparison.ssl", SHADERS)
    materials = {}
    for name, arrays, surface in scene.meshes:
        if id(surface) not in materials:
            textures = {"image": {"file": w.add_texture(surface.image)}} if surface.image else {}
            materials[id(surface)] = w.add("materials", surface.kind, {
                "shader": shader, "entry": surface.kind, "parameters": surface.numbers, "textures": textures})
        w.add("instances", name, {"mesh": w.add_mesh(name, **arrays), "materials": [materials[id(surface)]]})
    if scene.rectangle:
        x, y, z = scene.rectangle.middle
        w.add("lights", "lamp", {"type": "area_rectangle", "radiance": scene.rectangle.radiance, "size": list(scene.rectangle.size),
                                 "transform": place.look_at((x, y, z), (x, y - 1, z), up=(0, 0, 1))})
    if scene.sky:
        w.environment = {"image": {"file": w.add_texture(scene.sky)}}
    w.add("cameras", "main", {"transform": place.look_at(scene.eye, scene.target), "fov_y_degrees": scene.fov_y_degrees})
    w.finish()


# --- Mitsuba ----------------------------------------------------------------------------------------------

def mitsuba_surface(surface, writer):
    """The elements of a shape that say what it is made of."""
    values = surface.numbers
    if surface.kind == "painted":
        return mitsuba_writer.diffuse(writer.bitmap("reflectance", surface.image))
    if surface.kind == "metal":  # alpha is the square of SORT's roughness
        return ['<bsdf type="roughconductor">', mitsuba_writer.string("distribution", "ggx"),
                mitsuba_writer.number("alpha", values["roughness"] ** 2),
                *(mitsuba_writer.rgb(name, values[name]) for name in ("eta", "k")), "</bsdf>"]
    if surface.kind == "lamp":
        return mitsuba_writer.diffuse(mitsuba_writer.rgb("reflectance", (0, 0, 0))) + mitsuba_writer.emitter(values["radiance"])
    return mitsuba_writer.diffuse(mitsuba_writer.rgb("reflectance", values["albedo"]))


def write_mitsuba(scene, resolution, folder):
    w = MitsubaWriter(folder, resolution, MAX_DEPTH, MitsubaWriter.lookat(scene.eye, scene.target, (0, 1, 0)), scene.fov_y_degrees)
    for _, arrays, surface in scene.meshes:
        w.add_mesh(arrays, mitsuba_surface(surface, w))
    if scene.rectangle:
        (x, y, z), (width, depth) = scene.rectangle.middle, scene.rectangle.size
        scale = f'<scale value="{mitsuba_writer.numbers((width / 2, depth / 2, 1))}"/>'
        w.add_shape("rectangle", w.to_world(scale, w.lookat((x, y, z), (x, y - 1, z), (0, 0, 1))),
                    mitsuba_surface(Surface("lamp", {"radiance": scene.rectangle.radiance}), w))
    if scene.sky:
        w.set_sky(scene.sky)
    w.finish()


def write(name, folder, detail=1.0):
    """Makes `folder` anew. detail: factor on the number of texels and of grid cells along a side."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    scene = SCENES[name](folder, detail)
    write_sort(scene, RESOLUTIONS[name], folder / "sort")
    write_mitsuba(scene, RESOLUTIONS[name], folder / "mitsuba")


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(f"{__doc__}\nScenes: {', '.join(SCENES)}")
    for name in sys.argv[2:] or SCENES:
        if name not in SCENES:
            sys.exit(f"mitsuba_comparison_scenes.py: there is no scene '{name}'; there are {', '.join(SCENES)}")
        write(name, pathlib.Path(sys.argv[1]) / name)
        print(pathlib.Path(sys.argv[1]) / name)


if __name__ == "__main__":
    main()
