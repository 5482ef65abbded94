#!/usr/bin/env python3
"""Makes the scenes of the gallery: make.py OUT [NAME ...] writes OUT/NAME/ for each, all without names.

    python3 scenes/gallery/make.py build/gallery
    sort-render build/gallery/cornell -o cornell.exr --png cornell.png

Only the Python standard library is used; scenes are made of numbers and SSL, `interior` of images and the chess set, too."""

from __future__ import annotations

import json
import math
import pathlib
import random
import shutil
import struct
import sys
import zlib

HERE = pathlib.Path(__file__).resolve().parent
CHESS = HERE.parent / "chess"
sys.path.insert(0, str(HERE.parent.parent / "python"))
from sort_package import PackageWriter, place, shapes  # noqa: E402


class Gallery(PackageWriter):
    """A package whose materials are shaders of surfaces.ssl."""

    def __init__(self, folder: pathlib.Path, resolution: tuple[int, int], samples: int, depth: int = 8) -> None:
        super().__init__(folder, compress=True)
        self.settings = {"resolution": list(resolution), "samples": samples, "max_depth": depth}
        self.surfaces = self.add_shader("surfaces.ssl", (HERE / "surfaces.ssl").read_text(encoding="utf-8"))

    def material(self, name: str, entry: str, **parameters) -> str:
        return self.add("materials", name, {"shader": self.surfaces, "entry": entry, "parameters": parameters})

    def put(self, name: str, mesh: str, material: str | list[str], transform=None, **more) -> None:
        materials = [material] if isinstance(material, str) else material
        self.add("instances", name, {"mesh": mesh, "materials": materials,
                                     "transform": transform or place.identity(), **more})

    def camera(self, eye, target, fov_y_degrees: float, **more) -> None:
        self.add("cameras", "main", {"transform": place.look_at(eye, target), "fov_y_degrees": fov_y_degrees, **more})


def write_png(path: pathlib.Path, side: int, pixel) -> None:
    """pixel(x, y) -> (r, g, b), 0 to 255."""
    rows = b"".join(b"\0" + bytes(c for x in range(side) for c in pixel(x, y)) for y in range(side))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)) +
                     chunk(b"IDAT", zlib.compress(rows, 6)) + chunk(b"IEND", b""))


def test_card(x: int, y: int, side: int) -> tuple[int, int, int]:
    """Squares in eight colours, a finer grid in each, rings where the grid cannot say how far it is blurred."""
    u, v = x / side, y / side
    square = int(u * 8) + 3 * int(v * 8)
    base = ((230, 80, 60), (250, 190, 60), (90, 170, 80), (60, 150, 190), (70, 80, 160), (150, 80, 150),
            (235, 225, 210), (60, 60, 65))[square % 8]
    fine = (int(u * 64) + int(v * 64)) % 2
    ring = math.cos(90 * math.hypot(u % 0.125 - 0.0625, v % 0.125 - 0.0625) * 8) > 0.8
    k = 1.0 if ring else 0.82 + 0.12 * fine
    return tuple(int(min(255, c * k)) for c in base)


CORNELL_COLORS = {"white": [0.73, 0.71, 0.68], "red": [0.57, 0.042, 0.044], "green": [0.112, 0.371, 0.092]}
CORNELL_RADIANCE = [18.4, 15.6, 8.0]
CORNELL_LAMP = ((3.43, 5.487, 2.27), (3.43, 5.487, 3.32), (2.13, 5.487, 3.32), (2.13, 5.487, 2.27))
CORNELL_VIEW = {"eye": (2.78, 2.73, -8.0), "target": (2.78, 2.73, -7.0), "fov_y_degrees": 39.3}
CORNELL_BLOCKS = {"short block": (1.65, [(1.3, 0.65), (0.82, 2.25), (2.4, 2.72), (2.9, 1.14)]),
                  "tall block": (3.3, [(4.23, 2.47), (2.65, 2.96), (3.14, 4.56), (4.72, 4.06)])}


def cornell_room():
    """Yields (name, colour, corners) of the walls of the box of Goral et al. [1984], with the measured geometry of Cornell's
    web page, in decimetres."""
    yield "floor", "white", ((5.528, 0, 0), (0, 0, 0), (0, 0, 5.592), (5.496, 0, 5.592))
    yield "ceiling", "white", ((5.56, 5.488, 0), (5.56, 5.488, 5.592), (0, 5.488, 5.592), (0, 5.488, 0))
    yield "back", "white", ((5.496, 0, 5.592), (0, 0, 5.592), (0, 5.488, 5.592), (5.56, 5.488, 5.592))
    yield "right", "green", ((0, 0, 5.592), (0, 0, 0), (0, 5.488, 0), (0, 5.488, 5.592))
    yield "left", "red", ((5.528, 0, 0), (5.496, 0, 5.592), (5.56, 5.488, 5.592), (5.56, 5.488, 0))


def cornell_block(name: str):
    """Yields (name, colour, corners) of the visible faces of one of the blocks in it."""
    top, base = CORNELL_BLOCKS[name]
    yield name, "white", [(x, top, z) for x, z in base]
    for k in range(4):
        (ax, az), (bx, bz) = base[k - 1], base[k]
        yield f"{name} side", "white", ((ax, 0, az), (bx, 0, bz), (bx, top, bz), (ax, top, az))


def cornell(out: pathlib.Path) -> None:
    """Light between diffuse walls: the box of Goral et al. [1984]."""
    g = Gallery(out, (512, 512), 64)
    paint = {name: g.material(name, "plain", albedo=color) for name, color in CORNELL_COLORS.items()}
    paint["light"] = g.material("light", "lamp", radiance=CORNELL_RADIANCE)
    faces = [*cornell_room(), ("light", "light", CORNELL_LAMP), *cornell_block("short block"), *cornell_block("tall block")]
    for name, color, corners in faces:
        g.put(name, g.add_mesh(name, **shapes.quad(*corners)), paint[color])
    g.camera(**CORNELL_VIEW)
    g.finish()


def veach_mis(out: pathlib.Path) -> None:
    """Four plates of rising roughness under lamps of rising size and equal power [Veach 1997, figure 9.2]."""
    g = Gallery(out, (768, 512), 64, 4)
    g.put("floor", g.add_mesh("floor", **shapes.quad((-20, -4.2, 20), (20, -4.2, 20), (20, -4.2, -20), (-20, -4.2, -20))),
          g.material("floor", "plain", albedo=[0.4, 0.4, 0.4]))
    g.put("wall", g.add_mesh("wall", **shapes.quad((-20, -10, -4), (20, -10, -4), (20, 20, -4), (-20, 20, -4))),
          g.material("wall", "plain", albedo=[0.4, 0.4, 0.4]))
    eye, lamps = (0.0, 1.5, 15.0), (0.0, 5.0, 0.0)
    for k, (y, z, roughness) in enumerate([(-0.3, -1.0, 0.07), (-1.3, 0.6, 0.15), (-2.4, 2.4, 0.25), (-3.5, 4.4, 0.4)]):
        # Each plate is tilted so that its middle mirrors the lamps into the eye.
        middle = (0.0, y, z)
        to_eye, to_lamps = (place.unit(place.subtract(p, middle)) for p in (eye, lamps))
        half = place.unit(tuple(a + b for a, b in zip(to_eye, to_lamps)))
        tilt = math.degrees(math.atan2(half[2], half[1]))
        plate = g.add_mesh(f"plate {k}", **shapes.box((8.0, 0.1, 1.6)))
        g.put(f"plate {k}", plate, g.material(f"plate {k}", "metal", reflectance=[0.5, 0.45, 0.4], roughness=roughness),
              place.product(place.translation(middle), place.rotation("x", tilt)))
    for k, radius in enumerate([0.033, 0.1, 0.3, 0.9]):
        radiance = 2.0 / (radius * radius)
        tint = [(1.0, 0.5, 0.4), (1.0, 0.9, 0.5), (0.5, 1.0, 0.6), (0.5, 0.7, 1.0)][k]
        g.add("lights", f"lamp {k}", {"type": "sphere", "radius_m": radius, "radiance": [radiance * c for c in tint],
                                      "transform": place.translation((-3.75 + 2.5 * k, lamps[1], lamps[2]))})
    g.camera(eye, (0, -0.6, 0), 32)
    g.finish()


def furnace(out: pathlib.Path) -> None:
    """Lossless surfaces under a sky of one: all of it must vanish."""
    g = Gallery(out, (640, 256), 256, 64)
    ball = g.add_mesh("ball", **shapes.sphere(1.0))
    surfaces = [("plain", {"albedo": [1, 1, 1]})]
    surfaces += [("metal", {"reflectance": [1, 1, 1], "roughness": r}) for r in (0.1, 0.5, 1.0)]
    surfaces += [("glass", {"roughness": r}) for r in (0.0, 0.5)]
    surfaces += [("glossy", {"albedo": [1, 1, 1], "roughness": 0.3})]
    for k, (entry, parameters) in enumerate(surfaces):
        g.put(f"{entry} {k}", ball, g.material(f"{entry} {k}", entry, **parameters),
              place.translation((2.2 * (k - (len(surfaces) - 1) / 2), 0, 0)))
    g.environment = {"color": [1, 1, 1]}
    g.camera((0, 0, 30), (0, 0, 0), 12)
    g.finish()


def procedural_uv(out: pathlib.Path) -> None:
    """Coordinates that shaders compute, on a floor that runs to the horizon and a ball."""
    g = Gallery(out, (768, 432), 64)
    side = 1024
    write_png(g.folder / "textures" / "card.png", side, lambda x, y: test_card(x, y, side))
    shader = g.add_shader("procedural_uv.ssl", (HERE / "procedural_uv.ssl").read_text(encoding="utf-8"))

    def wound(name, entry, **parameters):
        return g.add("materials", name, {"shader": shader, "entry": entry, "parameters": parameters,
                                         "textures": {"image": {"file": "textures/card.png"}}})

    g.put("floor", g.add_mesh("floor", **shapes.quad((-6, 0, 6), (6, 0, 6), (6, 0, -6), (-6, 0, -6))),
          wound("spiral", "spiral", arms=6.0, zoom=2.0))
    g.put("ball", g.add_mesh("ball", **shapes.sphere(1.0)), wound("kaleidoscope", "kaleidoscope"),
          place.translation((-1.9, 1.0, 0.4)))
    g.put("ring", g.add_mesh("ring", **shapes.torus(0.8, 0.35)), wound("wound ring", "spiral", arms=2.0, zoom=1.0),
          place.product(place.translation((2.0, 1.15, -0.4)), place.rotation("z", 30), place.rotation("x", 75)))
    g.add("lights", "window", {"type": "area_rectangle", "radiance": [20, 19, 17], "size": [2.5, 2.5],
                               "transform": place.look_at((3, 6, 5), (0, 0, 0))})
    g.environment = {"color": [0.35, 0.45, 0.6]}
    g.camera((0, 2.1, 7.5), (0, 0.55, 0), 34)
    g.finish()


def many_lights(out: pathlib.Path) -> None:
    """A valley lit by two thousand lamps of all colours, none of which reaches far."""
    g = Gallery(out, (768, 432), 64, 4)
    numbers = random.Random(7)

    def height(x, z):
        return 0.9 * math.sin(0.55 * x + 0.4 * math.sin(0.3 * z)) * math.cos(0.45 * z) + 0.02 * (x * x + z * z) ** 0.5

    g.put("valley", g.add_mesh("valley", **shapes.grid(40.0, 200, height)),
          g.material("snow", "plain", albedo=[0.75, 0.75, 0.78]))
    bead = g.add_mesh("bead", **shapes.sphere(0.03, 12, 6))
    glow = []
    for k in range(12):
        hue = [0.5 + 0.5 * math.cos(2 * math.pi * (k / 12 + c / 3)) for c in range(3)]
        glow.append(g.material(f"glow {k}", "lamp", radiance=[60 * h * h for h in hue]))
    for k in range(2000):
        x, z = numbers.uniform(-18, 18), numbers.uniform(-18, 14)
        g.put(f"bead {k}", bead, glow[numbers.randrange(12)], place.translation((x, height(x, z) + 0.25, z)))
    g.camera((0, 4.5, 17), (0, -0.8, 0), 36)
    g.finish()


def glass(out: pathlib.Path) -> None:
    """Clear, tinted and frosted glass on a table, in front of stripes that show how light is bent."""
    g = Gallery(out, (768, 432), 256, 24)
    g.put("table", g.add_mesh("table", **shapes.quad((-8, 0, 6), (8, 0, 6), (8, 0, -8), (-8, 0, -8))),
          g.material("tiles", "tiles", size=0.5))
    stripes = shapes.join([shapes.quad((-4 + k * 0.5, 0, -2), (-3.5 + k * 0.5, 0, -2), (-3.5 + k * 0.5, 4, -2),
                                       (-4 + k * 0.5, 4, -2)) for k in range(16)])
    colors = [g.material(f"stripe {k}", "plain", albedo=c) for k, c in enumerate([[0.8, 0.8, 0.8], [0.7, 0.15, 0.1]])]
    g.put("stripes", g.add_mesh("stripes", **stripes), [colors[k % 2] for k in range(16)])
    ball, ring = g.add_mesh("ball", **shapes.sphere(0.7, 128, 64)), g.add_mesh("ring", **shapes.torus(0.5, 0.22))
    clear, frosted = g.material("clear", "glass"), g.material("frosted", "glass", roughness=0.35)
    amber = g.material("amber", "glass", tint=[0.95, 0.6, 0.2], ior=1.7)
    water = g.material("water", "glass", ior=1.33)
    g.put("clear ball", ball, clear, place.translation((-1.9, 0.71, 0)))
    g.put("frosted ball", ball, frosted, place.translation((0.1, 0.71, -0.5)))
    g.put("amber ring", ring, amber, place.product(place.translation((1.9, 0.73, 0.2)), place.rotation("x", 80)))
    g.put("water ball", ball, water, place.product(place.translation((0.75, 0.36, 1.3)), place.scaling(0.5)))
    g.add("lights", "window", {"type": "area_rectangle", "radiance": [14, 13.4, 12.6], "size": [3, 3],
                               "transform": place.look_at((-4, 5, 3), (0, 0.5, 0))})
    g.environment = {"color": [0.5, 0.55, 0.6]}
    g.camera((0.3, 2.3, 6.2), (0.1, 0.65, 0), 32)
    g.finish()


def waves():
    """The height of water over x and z: the sum of 24 waves of 0.3 to 1.2 metres."""
    randoms = random.Random(3)
    trains = []
    for _ in range(24):
        angle, length, phase = randoms.uniform(0, 2 * math.pi), randoms.uniform(0.3, 1.2), randoms.uniform(0, 2 * math.pi)
        trains.append((2 * math.pi / length * math.cos(angle), 2 * math.pi / length * math.sin(angle), phase, 0.012 * length))
    return lambda x, z: sum(a * math.sin(kx * x + kz * z + p) for kx, kz, p, a in trains)


def pool(out: pathlib.Path) -> None:
    """Under water, in the sun: all light of the floor and the wall has come through the waves."""
    g = Gallery(out, (768, 432), 128, 12)
    blue = g.material("blue", "plain", albedo=[0.5, 0.7, 0.75])
    g.put("floor", g.add_mesh("floor", **shapes.quad((-3, 0, 3), (3, 0, 3), (3, 0, -3), (-3, 0, -3))), blue, is_caustics_receiver=True)
    g.put("wall", g.add_mesh("wall", **shapes.quad((-3, 0, -3), (3, 0, -3), (3, 1.6, -3), (-3, 1.6, -3))), blue, is_caustics_receiver=True)
    g.put("side", g.add_mesh("side", **shapes.quad((-3, 0, 3), (-3, 0, -3), (-3, 1.6, -3), (-3, 1.6, 3))), blue, is_caustics_receiver=True)
    ball = g.material("ball", "plain", albedo=[0.8, 0.25, 0.05])
    g.put("ball", g.add_mesh("ball", **shapes.sphere(0.35, 64, 32)), ball, place.translation((-0.3, 0.35, -0.6)), is_caustics_receiver=True)
    g.put("water", g.add_mesh("water", **shapes.grid(6, 160, waves())), g.material("water", "glass", ior=1.33),
          place.translation((0, 1.2, 0)), is_caustics_caster=True)
    g.add("lights", "sun", {"type": "distant", "irradiance": [4, 3.8, 3.4], "angle_degrees": 0.53, "is_caustics_light": True,
                            "transform": place.look_at((3.5, 8.5, 3), (0, 0, 0))})
    g.environment = {"color": [0.25, 0.35, 0.5]}
    g.camera((1.7, 0.75, 2.4), (-0.7, 0.35, -1.5), 50)
    g.finish()


def strands(count: int, points: int, length: float, seed: int) -> dict:
    """Hair on a ball of radius 1 as the arguments of add_curves: combed around it, falling, a little unruly."""
    rng = random.Random(seed)
    positions, uv = [], []
    for _ in range(count):
        y, turn = rng.uniform(-0.9, 1), rng.uniform(0, 2 * math.pi)
        s = math.sqrt(1 - y * y)
        out = (s * math.cos(turn), y, s * math.sin(turn))
        comb, curl = (-out[2], 0.4 * s, out[0]), rng.uniform(0, 2 * math.pi)
        whole = length * rng.uniform(0.75, 1)
        strand = []
        for k in range(points):
            t = k / (points - 1)
            lift, wave = whole * (t - 0.35 * t * t), 0.035 * t * math.sin(6 * t + curl)
            p = [(1 + lift) * o + whole * (0.7 * t * t * c) for o, c in zip(out, comb)]
            strand.append((p[0] + wave, p[1] - 0.45 * whole * t * t, p[2] + wave, 0.0045 * (1 - 0.8 * t)))
        for p in (strand[0], *strand, strand[-1]):  # the ends twice, so that the curve reaches them
            positions += p
        uv += [turn / (2 * math.pi), 0.5 + 0.5 * y]
    return {"basis": "catmull_rom", "points": positions, "point_counts": [points + 2] * count, "uv": [uv]}


def hair(out: pathlib.Path) -> None:
    """Three balls of hair by their melanin, the third dyed, lit from the side and from behind."""
    g = Gallery(out, (768, 432), 128, 32)
    g.put("floor", g.add_mesh("floor", **shapes.quad((-9, -1.6, 6), (9, -1.6, 6), (9, -1.6, -9), (-9, -1.6, -9))),
          g.material("floor", "plain", albedo=[0.25, 0.24, 0.23]))
    ball = g.add_mesh("ball", **shapes.sphere(0.99))
    skin = g.material("skin", "plain", albedo=[0.2, 0.11, 0.08])
    kinds = [("blond", {"melanin": 0.25, "melanin_redness": 0.6}), ("dark", {"melanin": 0.8, "melanin_redness": 0.4}),
             ("dyed", {"melanin": 0.1, "dye": [0.9, 0.12, 0.25]})]
    for k, (name, parameters) in enumerate(kinds):
        fur = g.add_curves(name, **strands(9000, 8, 0.75, k))
        material = g.add("materials", name, {"shader": "unit:principled_hair_bsdf", "parameters": {
            "parametrization": "MELANIN", "random_color": 0.3, **parameters}})
        place_it = place.product(place.translation((2.9 * (k - 1), 0, 0)), place.rotation("y", 50 * k))
        g.put(f"{name} ball", ball, skin, place_it)
        g.add("instances", f"{name} hair", {"curves": fur, "materials": [material], "transform": place_it})
    g.add("lights", "key", {"type": "area_disk", "radiance": [26, 24, 21], "radius_m": 1.2, "light_group": "key",
                            "transform": place.look_at((-5, 6, 5), (0, 0, 0))})
    g.add("lights", "rim", {"type": "area_disk", "radiance": [30, 34, 40], "radius_m": 1.0, "light_group": "rim",
                            "transform": place.look_at((4, 5, -6), (0, 0, 0))})
    g.environment = {"color": [0.25, 0.28, 0.32], "light_group": "sky"}
    g.camera((0, 1.6, 10.5), (0, -0.15, 0), 30)
    g.finish()


def brick_wall(g: Gallery) -> str:
    names = {"brick_base": "base_gray", "brick_dirt": "dirt_mask", "brick_mask": "mask", "brick_normals": "normal",
             "brick_roughness": "roughness", "brick_shades": "variation_mask"}
    textures = {handle: {"file": g.add_texture(HERE / "textures" / f"brick_{name}.jpg"), "wrap": ["periodic", "periodic"],
                         "color_space": "srgb" if name == "base_gray" else "raw"} for handle, name in names.items()}
    return g.add("materials", "bricks", {"shader": g.surfaces, "entry": "brick_wall", "textures": textures})


def put_chess(g: Gallery, transform: list[float]) -> None:
    """All of scenes/chess but its light and sky, whose files become part of this package."""
    chess = json.loads((CHESS / "scene.json").read_text(encoding="utf-8"))
    g.credits = [credit for credit in chess["credits"] if "Chess" in credit]
    for sub in ("meshes", "textures"):
        for file in (CHESS / sub).iterdir():
            g.link_file(file, f"{sub}/{file.name}")
    for section in ("meshes", "materials"):
        for record in chess[section]:
            g.add(section, record["name"], {field: value for field, value in record.items() if field != "name"})
    for record in chess["instances"]:
        g.add("instances", record["name"], {"mesh": record["mesh"], "materials": record["materials"],
                                            "transform": place.product(transform, record["transform"])})


def interior(out: pathlib.Path) -> None:
    """A room with one window, a wall of photographed bricks and a game of chess: 46 images; most light arrives after bounces."""
    g = Gallery(out, (768, 432), 128, 12)
    w, d, h = 2.4, 2.2, 2.7  # half width, half depth, height
    wood, plaster, dark = g.material("wood", "wood"), g.material("plaster", "plaster"), g.material("dark wood", "wood", plank=0.3)

    def face(name, material, *corners):
        g.put(name, g.add_mesh(name, **shapes.quad(*corners)), material)

    face("floor", wood, (-w, 0, d), (w, 0, d), (w, 0, -d), (-w, 0, -d))
    face("ceiling", plaster, (-w, h, -d), (w, h, -d), (w, h, d), (-w, h, d))
    face("back wall", brick_wall(g), (-w, 0, -d), (w, 0, -d), (w, h, -d), (-w, h, -d))
    face("right wall", plaster, (w, 0, -d), (w, 0, d), (w, h, d), (w, h, -d))
    face("front wall", plaster, (w, 0, d), (-w, 0, d), (-w, h, d), (w, h, d))
    # The left wall has a window from z = -0.9 to 0.5 and y = 0.9 to 2.1.
    for name, (y0, y1, z0, z1) in {"under": (0, 0.9, -d, d), "over": (2.1, h, -d, d), "behind": (0.9, 2.1, -d, -0.9),
                                   "before": (0.9, 2.1, 0.5, d)}.items():
        face(f"{name} the window", plaster, (-w, y0, z1), (-w, y0, z0), (-w, y1, z0), (-w, y1, z1))
    bar = g.add_mesh("bar", **shapes.box((0.06, 1.2, 0.05)))
    for k in range(3):
        g.put(f"bar {k}", bar, dark, place.translation((-w, 1.5, -0.9 + 0.7 * k)))
    top, leg = g.add_mesh("top", **shapes.box((1.3, 0.05, 0.9))), g.add_mesh("leg", **shapes.box((0.06, 0.7, 0.06)))
    g.put("table", top, dark, place.translation((0.3, 0.725, -0.6)))
    for k in range(4):
        g.put(f"leg {k}", leg, dark, place.translation((0.3 + (k % 2 - 0.5) * 1.15, 0.35, -0.6 + (k // 2 - 0.5) * 0.75)))
    put_chess(g, place.product(place.translation((0.3, 0.75, -0.6)), place.rotation("y", 75)))
    ball = g.add_mesh("ball", **shapes.sphere(0.1))
    g.put("glass ball", ball, g.material("crystal", "glass"), place.translation((0.84, 0.85, -0.45)))
    g.put("glazed ring", g.add_mesh("ring", **shapes.torus(0.1, 0.04)), g.material("glaze", "glossy", albedo=[0.05, 0.2, 0.35], roughness=0.1),
          place.translation((-0.24, 0.79, -0.3)))
    rug = shapes.quad((-1.5, 0.01, 1.3), (0.9, 0.01, 1.3), (0.9, 0.01, 0.1), (-1.5, 0.01, 0.1))
    g.put("rug", g.add_mesh("rug", **rug), g.material("cloth", "cloth", thread=0.012))
    g.add("lights", "sun", {"type": "distant", "irradiance": [40, 33, 22], "angle_degrees": 0.5,
                            "transform": place.look_at((-7.8, 3.0, 0.6), (0.3, 0.75, -0.6))})
    # The sky, as far as the window lets it in.
    g.add("lights", "sky", {"type": "area_rectangle", "radiance": [14, 17, 21], "size": [1.4, 1.2], "is_solid": False,
                            "transform": place.look_at((-w - 0.05, 1.5, -0.2), (0, 1.5, -0.2))})
    g.camera((1.15, 1.4, 0.85), (0.05, 0.88, -0.75), 48)
    g.finish()


def door_ajar(out: pathlib.Path) -> None:
    """A room lit through a door that is open by a hand's breadth: all light comes from a lamp behind it, out of sight."""
    g = Gallery(out, (768, 432), 256, 12)
    wall = g.material("wall", "plain", albedo=[0.72, 0.7, 0.66])
    width, height, near, far, behind, frame = 4.0, 2.7, 5.0, 0.0, -3.0, (0.6, 1.6, 2.1)

    def quad(name, corners, material=wall):
        g.put(name, g.add_mesh(name, **shapes.quad(*corners)), material)

    def room(name, front, back):
        w, h = width / 2, height
        quad(f"{name} floor", ((-w, 0, front), (w, 0, front), (w, 0, back), (-w, 0, back)),
             g.material(f"{name} floor", "plain", albedo=[0.42, 0.3, 0.2]))
        quad(f"{name} ceiling", ((-w, h, back), (w, h, back), (w, h, front), (-w, h, front)))
        quad(f"{name} left", ((-w, 0, back), (-w, h, back), (-w, h, front), (-w, 0, front)),
             g.material(f"{name} left", "plain", albedo=[0.6, 0.25, 0.2]))
        quad(f"{name} right", ((w, 0, front), (w, h, front), (w, h, back), (w, 0, back)))

    room("here", near, far)
    room("there", far, behind)
    quad("near wall", ((-2, 0, near), (-2, height, near), (2, height, near), (2, 0, near)))
    quad("far wall", ((-2, 0, behind), (2, 0, behind), (2, height, behind), (-2, height, behind)))
    left, right, top = frame
    for name, x0, x1, y0 in (("wall by the hinge", right, 2.0, 0.0), ("wall", -2.0, left, 0.0), ("lintel", left, right, top)):
        box = g.add_mesh(name, **shapes.box((x1 - x0, height - y0, 0.1)))
        g.put(name, box, wall, place.translation(((x0 + x1) / 2, (y0 + height) / 2, far)))
    # The door turns about its edge at x = right, away from the camera.
    door = g.add_mesh("door", **shapes.box((right - left, top, 0.04)))
    hinge = place.product(place.translation((right, top / 2, far)), place.rotation("y", -20.0),
                          place.translation(((left - right) / 2, 0.0, 0.0)))
    g.put("door", door, g.material("door", "glossy", albedo=[0.5, 0.45, 0.35], roughness=0.3), hinge)
    lamp = ((1.6, height - 0.01, -1.0), (1.6, height - 0.01, -0.4), (0.9, height - 0.01, -0.4), (0.9, height - 0.01, -1.0))
    quad("lamp", lamp, g.material("lamp", "lamp", radiance=[900, 780, 600]))
    ball = g.add_mesh("ball", **shapes.sphere(0.3))
    balls = (("plaster", "plain", {"albedo": [0.7, 0.7, 0.7]}), ("metal", "metal", {"reflectance": [0.9, 0.75, 0.5], "roughness": 0.25}),
             ("glass", "glass", {}), ("lacquer", "glossy", {"albedo": [0.1, 0.2, 0.45], "roughness": 0.15}))
    for k, (name, entry, parameters) in enumerate(balls):
        g.put(name, ball, g.material(name, entry, **parameters), place.translation((-1.35 + 0.8 * k, 0.3, 1.6 + 0.25 * (k % 2))))
    g.camera((-0.4, 1.4, 4.7), (-0.1, 0.9, 0.0), 52)
    g.finish()


SCENES = {scene.__name__: scene for scene in (cornell, veach_mis, furnace, procedural_uv, many_lights, glass, pool, hair, interior, door_ajar)}


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(f"usage: make.py OUT [NAME ...]\n\n{__doc__}\n")
        for name, scene in SCENES.items():
            print(f"{name:15} {scene.__doc__}")
        sys.exit(0 if sys.argv[1:] in (["-h"], ["--help"]) else 2)
    out, names = pathlib.Path(sys.argv[1]), sys.argv[2:] or list(SCENES)
    for name in names:
        if name not in SCENES:
            sys.exit(f"make.py: there is no scene '{name}'; there are {', '.join(SCENES)}")
        shutil.rmtree(out / name, ignore_errors=True)
        SCENES[name](out / name)
        print(out / name)


if __name__ == "__main__":
    main()
