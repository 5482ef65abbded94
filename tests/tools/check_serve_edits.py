"""Random edits of a scene: each picture of a renderer that stays has the bits of a new process, and its memory does not grow:
check_serve_edits.py FOLDER_OF_PROGRAMS

SORT_SERVE_STEPS=200 takes more steps than the suite does."""

import json
import math
import os
import random
import struct

from serve_kit import Server
from tool_kit import expect, png, run, run_checks

STEPS = int(os.environ.get("SORT_SERVE_STEPS", "40"))
LOADS = int(os.environ.get("SORT_SERVE_LOADS", "120"))  # for the memory; 0: it is not judged, as with sanitizers
GROWTH_MAX = 0.06
SHADER = """texture2d map;
shader paint(float shade = 0.5, out closure surface)
{
    float3 t = global_value<uvw>;
    surface = make_closure<Lambert>(shade * texture2d_sample<map>(3 * t.x, 3 * t.y), global_value<normal>);
}
"""


class Scene:
    """A package that is changed in place of being written anew: files of meshes get new names."""

    def __init__(self, folder, seed):
        self.folder, self.chance, self.files = folder, random.Random(seed), 0
        for name in ("meshes", "shaders", "textures"):
            (folder / name).mkdir(parents=True)
        (folder / "shaders/paint.ssl").write_text(SHADER)
        png(folder / "textures/map.png")
        self.content = {
            "sort_package": 1, "settings": {"resolution": [20, 14], "samples": 2, "max_depth": 4},
            "cameras": [{"name": "eye", "fov_y_degrees": 50, "transform": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 8, 0, 0, 0, 1]}],
            "meshes": [], "materials": [], "instances": [], "lights": [], "environment": {"color": [0.4, 0.5, 0.6]}}
        for _ in range(4):
            self.add_mesh()
            self.add_material()
        for _ in range(6):
            self.add_instance()
        self.add_light()

    def name(self, kind):
        self.files += 1
        return f"{kind}{self.files}"

    def number(self, low, high):
        return self.chance.uniform(low, high)

    def place(self, size):
        turn = self.number(0, 2 * math.pi)
        c, s = math.cos(turn), math.sin(turn)
        at = [self.number(-2, 2) for _ in range(3)]
        return [size * c, 0, size * s, at[0], 0, size, 0, at[1], -size * s, 0, size * c, at[2], 0, 0, 0, 1]

    def soup(self):
        """Triangles from a few to some hundred, of which a hierarchy is made or not."""
        count = self.chance.choice([2, 12, 40, 300])
        points = []
        for _ in range(count):
            at = [self.number(-1, 1) for _ in range(3)]
            points += [a + self.number(-0.4, 0.4) for _ in range(3) for a in at]
        name = self.name("meshes/m") + ".bin"
        (self.folder / name).write_bytes(struct.pack(f"<{9 * count}f{3 * count}I{6 * count}f", *points, *range(3 * count),
                                                     *(self.number(0, 1) for _ in range(6 * count))))

        def array(offset, kind, components, elements):
            return {"file": name, "offset_bytes": offset, "type": kind, "components": components, "count": elements}
        return {"vertex_count": 3 * count, "triangle_count": count, "positions": array(0, "float32", 3, 3 * count),
                "indices": array(36 * count, "uint32", 3, count), "uv": [array(48 * count, "float32", 2, 3 * count)]}

    def add_mesh(self):
        self.content["meshes"].append({"name": self.name("mesh"), **self.soup()})

    def change_mesh(self):
        mesh = self.chance.choice(self.content["meshes"])
        mesh.update(self.soup())

    def material(self):
        if self.chance.random() < 0.3:
            return {"shader": "shaders/paint.ssl", "parameters": {"shade": self.number(0.2, 1)},
                    "textures": {"map": {"file": "textures/map.png"}}}
        color = [self.number(0, 1) for _ in range(3)]
        if self.chance.random() < 0.2:
            return {"shader": "unit:emission", "parameters": {"tint": color, "strength": self.number(0, 3)}}
        return {"shader": "unit:gltf_pbr", "parameters": {"base_color": color, "metallic": self.chance.choice([0, 1, 0.5]),
                                                          "roughness": self.number(0.1, 1)}}

    def add_material(self):
        self.content["materials"].append({"name": self.name("material"), **self.material()})

    def change_material(self):
        material = self.chance.choice(self.content["materials"])
        name = material["name"]
        material.clear()
        material.update(name=name, **self.material())

    def change_parameter(self):
        for material in self.content["materials"]:
            if "roughness" in material["parameters"]:
                material["parameters"]["roughness"] = self.number(0.1, 1)
                return

    def add_instance(self):
        item = {"name": self.name("object"), "mesh": self.chance.choice(self.content["meshes"])["name"],
                "materials": [self.chance.choice(self.content["materials"])["name"]]}
        moves = self.chance.random()
        if moves < 0.2:
            item["motion"] = [self.place(0.7), self.place(0.7)]
            item["motion"][1][:3] = item["motion"][0][:3]
            item["motion"][1][8:11] = item["motion"][0][8:11]
        elif moves < 0.9:  # others stand where they are defined
            item["transform"] = self.place(self.chance.choice([-0.6, 0.5, 0.8]))
        self.content["instances"].insert(self.chance.randrange(len(self.content["instances"]) + 1), item)

    def move_instance(self):
        item = self.chance.choice(self.content["instances"])
        item.pop("motion", None)
        item["transform"] = self.place(0.7)

    def remove_instance(self):
        if len(self.content["instances"]) > 3:
            self.content["instances"].remove(self.chance.choice(self.content["instances"]))

    def hide_instance(self):
        item = self.chance.choice(self.content["instances"])
        item["invisible_to"] = self.chance.choice([[], ["camera"], ["shadow"], ["diffuse", "glossy"]])
        item["is_shadow_catcher"] = self.chance.random() < 0.3

    def add_light(self):
        kind = self.chance.choice(["point", "sphere", "area_rectangle", "distant"])
        item = {"name": self.name("light"), "type": kind,
                "transform": [1, 0, 0, self.number(-2, 2), 0, 1, 0, 3, 0, 0, 1, self.number(0, 4), 0, 0, 0, 1]}
        item |= {"point": {"intensity": [20, 18, 15]}, "sphere": {"radiance": [9, 9, 8], "radius_m": 0.5},
                 "area_rectangle": {"radiance": [5, 6, 7], "size": [1, 2]}, "distant": {"irradiance": [2, 2, 1]}}[kind]
        self.content["lights"].append(item)

    def change_light(self):
        self.content["lights"].pop()
        self.add_light()

    def remove_light(self):
        if self.content["lights"]:
            self.content["lights"].pop(self.chance.randrange(len(self.content["lights"])))

    def add_portal(self):
        self.content.setdefault("portals", []).append({"name": self.name("portal"), "size": [self.number(0.5, 3), self.number(0.5, 3)],
                                                       "transform": self.place(1)})

    def move_portal(self):
        if self.content.get("portals"):
            self.chance.choice(self.content["portals"])["transform"] = self.place(1)

    def remove_portal(self):
        if self.content.get("portals"):
            self.content["portals"].pop(self.chance.randrange(len(self.content["portals"])))

    def change_world(self):
        self.content["environment"] = self.chance.choice([{"color": [self.number(0, 1)] * 3}, {"image": {"file": "textures/map.png"}}])

    def change_camera(self):
        self.content["cameras"][0] |= {"fov_y_degrees": self.number(20, 70), "transform": [
            1, 0, 0, self.number(-1, 1), 0, 1, 0, self.number(-1, 1), 0, 0, 1, self.number(5, 9), 0, 0, 0, 1]}

    def change_settings(self):
        self.content["settings"] |= {"max_depth": self.chance.randrange(1, 6), "seed": self.chance.randrange(1000),
                                     "samples": self.chance.randrange(1, 4)}

    def change_size(self):
        self.content["settings"]["resolution"] = [self.chance.randrange(4, 30), self.chance.randrange(4, 30)]

    def edit(self):
        edit = self.chance.choice([self.add_mesh, self.change_mesh, self.add_material, self.change_material, self.change_parameter,
                                   self.add_instance, self.move_instance, self.remove_instance, self.hide_instance, self.add_light,
                                   self.remove_light, self.add_portal, self.move_portal, self.remove_portal, self.change_world, self.change_camera,
                                   self.change_settings, self.change_size])
        edit()
        return edit.__name__

    def write(self):
        (self.folder / "scene.json").write_text(json.dumps(self.content))


def check_edits(folder):
    scene, cache = Scene(folder / "scene", 11), ["--cache", str(folder / "cache")]
    out, fresh = folder / "served.exr", folder / "fresh.exr"
    options = ["-o", str(out), "--metadata", "picture", "--exr-type", "float", "--aov", "normal,depth"]
    with Server(folder) as server:
        for step in range(STEPS):
            what = "begin" if step == 0 else scene.edit()
            scene.write()
            loaded = server.do("load", scene=str(scene.folder), options=cache, is_edited=step % 3 != 0)
            expect(loaded["event"] == "done", f"step {step}, {what}: {loaded}")
            end = server.do("render", options=options)
            expect(end["event"] == "done", f"step {step}, {what}: {end}")
            done = run("sort-render", scene.folder, *cache, *options[2:], "-o", fresh, "-q", "--unwatched", folder=folder)
            expect(done.returncode == 0, f"step {step}, {what}: {done.stderr}")
            expect(out.read_bytes() == fresh.read_bytes(), f"step {step}, {what}: other bits than a new process")
            if step % 10 == 9:  # a scene that cannot be loaded changes nothing
                good = dict(scene.content)
                scene.content["materials"] = [*good["materials"], {"name": "bad", "shader": "unit:nothing"}]
                scene.write()
                error = server.do("load", scene=str(scene.folder), options=cache)
                expect(error["event"] == "error" and "unit 'nothing'" in error["text"], f"a bad scene: {error}")
                scene.content["materials"] = good["materials"]
                server.do("render", options=options)
                expect(out.read_bytes() == fresh.read_bytes(), f"step {step}: the scene before an error is gone")


def check_large_meshes(folder):
    """A mesh of many triangles is rough for small pictures and built well for others, which may be stopped; all have the bits of a new
    process."""
    scene, cache, side = Scene(folder / "scene", 5), ["--cache", str(folder / "cache")], 200
    out, fresh = folder / "served.exr", folder / "fresh.exr"

    def grid(phase):
        points = [c for y in range(side + 1) for x in range(side + 1)
                  for c in (4 * x / side - 2, 4 * y / side - 2, 0.5 * math.sin(0.07 * x + phase) * math.cos(0.05 * y))]
        corners = [a for y in range(side) for x in range(side) for at in (y * (side + 1) + x,)
                   for a in (at, at + 1, at + side + 2, at, at + side + 2, at + side + 1)]
        name = scene.name("meshes/m") + ".bin"
        (scene.folder / name).write_bytes(struct.pack(f"<{len(points)}f{len(corners)}I", *points, *corners))
        return {"vertex_count": len(points) // 3, "triangle_count": len(corners) // 3,
                "positions": {"file": name, "type": "float32", "components": 3, "count": len(points) // 3},
                "indices": {"file": name, "offset_bytes": 4 * len(points), "type": "uint32", "components": 3, "count": len(corners) // 3}}

    for item in scene.content["instances"][:2]:
        item.pop("motion", None)
        item["mesh"] = scene.content["meshes"][0]["name"]
    with Server(folder) as server:
        for step in range(3):
            mesh = scene.content["meshes"][0]
            scene.content["meshes"][0] = {"name": mesh["name"], **grid(step)}
            scene.write()
            built = server.do("load", scene=str(scene.folder), options=cache, is_edited=True)["built_meshes"]
            for size in ("20x14", "160x120", "20x14"):
                options = ["-o", str(out), "--size", size, "--metadata", "picture"]
                if size == "160x120":
                    number = server.send("render", options=[*options[2:], "--spp", "10000", "-o", str(folder / "other.exr")])
                    server.send("stop")
                    expect(server.end_of(number)["event"] == "stopped", f"step {step}: a picture is not stopped")
                end = server.do("render", options=options)
                expect(end["event"] == "done", f"step {step}, {size}: {end}")
                done = run("sort-render", scene.folder, *cache, *options[2:], "-o", fresh, "-q", "--unwatched", folder=folder)
                expect(done.returncode == 0, f"step {step}, {size}: {done.stderr}")
                expect(out.read_bytes() == fresh.read_bytes(), f"step {step}, {size}: other bits than a new process")
            again = server.do("load", scene=str(scene.folder), options=cache, is_edited=True)["built_meshes"]
            expect(again > built, f"step {step}: no hierarchy was built well")


def check_memory(folder):
    scene, cache = Scene(folder / "scene", 3), ["--cache", str(folder / "cache")]
    with Server(folder) as server:
        used = []
        for step in range(LOADS):
            (scene.move_instance, scene.change_parameter, scene.change_camera, scene.change_mesh, scene.change_light)[step % 5]()
            scene.write()
            server.do("load", scene=str(scene.folder), options=cache, is_edited=True)
            end = server.do("render", pixels=str(folder / "pixels"))
            expect(end["event"] == "done", f"step {step}: {end}")
            used.append(server.memory_bytes())
        begin, growth = used[LOADS // 2], used[-1] / used[LOADS // 2] - 1
        expect(growth < GROWTH_MAX, f"from {begin / 2 ** 20:.0f} MiB after {LOADS // 2} edits memory grows by {100 * growth:.1f} % in"
                                    f" {LOADS - LOADS // 2}")
        print(f"{begin / 2 ** 20:.0f} MiB, {100 * growth:.1f} %")


run_checks(check_edits, check_large_meshes, *([check_memory] if LOADS else []))
