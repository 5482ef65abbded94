"""A few bytes of a package cannot stand for much memory or time: check_package_size.py FOLDER_OF_PROGRAMS

Each package is some ten to hundred kilobytes and shares or repeats something, so that all of it together would take gigabytes. It is
refused with a message that says what takes them, before they are taken; shared buffers that are honest are read."""

import json
import os
import struct
import subprocess
import zipfile
import zlib

from tool_kit import BIN, expect, run_checks

SHADER = """shader paint(float glow = 0, out closure surface)
{
    surface = make_closure<Emission>(color(glow)) + make_closure<Lambert>(color(0.5), global_value<normal>);
}
"""
MB = 1000000
TRIANGLE = struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 0, 1)
ROWS = struct.pack("<12f", 1, 0, 0, 9, 0, 1, 0, 0, 0, 0, 1, 0)  # out of sight, since rays take their time


class Package:
    def __init__(self, folder, glow=0):
        self.folder = folder
        folder.mkdir()
        self.scene = {"sort_package": 1, "settings": {"resolution": [4, 4], "samples": 1, "max_depth": 1},
                      "cameras": [{"name": "c", "fov_y_degrees": 40, "transform": [1, 0, 0, 0, 0, 0, 1, 3, 0, -1, 0, 0, 0, 0, 0, 1]}],
                      "materials": [{"name": "m", "shader": "paint.ssl", "parameters": {"glow": glow}}], "meshes": [], "curves": [],
                      "instances": []}
        (folder / "paint.ssl").write_text(SHADER)

    def array(self, name, kind, components, data, is_zlib=True):
        """Written as `name`; its record."""
        stored = zlib.compress(data, 9) if is_zlib else data
        (self.folder / name).write_bytes(stored)
        record = {"file": name, "type": kind, "components": components, "count": len(data) // (4 * components)}
        return {**record, "compression": "zlib", "stored_bytes": len(stored)} if is_zlib else record

    def mesh(self, name, positions, indices, **more):
        self.scene["meshes"].append({"name": name, "vertex_count": positions["count"], "triangle_count": indices["count"],
                                     "positions": positions, "indices": indices, **more})

    def triangles(self, count):
        """The arrays of a mesh with one triangle so often."""
        return self.array("p.bin", "float32", 3, TRIANGLE), self.array("i.bin", "uint32", 3, struct.pack("<3I", 0, 1, 2) * count)

    def instance(self, name, **more):
        self.scene["instances"].append({"name": name, "materials": ["m"], **more})

    def copies(self, count, is_zlib=True):
        return self.array("t.bin", "float32", 4, ROWS * count, is_zlib)

    def render(self, is_zip=False, text=None):
        text = text or json.dumps(self.scene)
        (self.folder / "scene.json").write_text(text)
        path = self.folder
        if is_zip:
            path = self.folder / "p.zip"
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
                for file in sorted(self.folder.iterdir()):
                    if file != path:
                        out.write(file, file.name)
        with open(self.folder.parent / "said", "w+") as said:
            child = subprocess.Popen([BIN / "sort-render", path, "-o", self.folder.parent / "o.exr", "-q", "--unwatched", "--cache",
                                      self.folder.parent / "cache"], stderr=said)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            said.seek(0)
            return child.returncode, said.read(), usage.ru_maxrss / 1000, usage.ru_utime


def refused(name, package, says, most_mb, **how):
    code, said, took_mb, _ = package.render(**how)
    expect(code == 1 and says in said, f"{name}: exit code {code}: {said}")
    expect(took_mb < most_mb, f"{name}: {took_mb:.0f} MB were taken before it was refused")


def check_shared(folder):
    p = Package(folder / "copies")
    p.mesh("q", *p.triangles(1))
    rows = p.copies(300000)
    for k in range(20):
        p.instance(f"i{k}", mesh="q", transforms=rows)
    refused("copies that share transforms", p, "the instances with their copies", 300)
    p = Package(folder / "meshes")
    arrays = p.triangles(100000)
    for k in range(200):
        p.mesh(f"q{k}", *arrays)
        p.instance(f"i{k}", mesh=f"q{k}")
    refused("meshes that share triangles", p, "the triangles and curves of all meshes", 300)
    p = Package(folder / "keys")
    positions, indices = p.triangles(200000)
    p.mesh("q", positions, indices, motion=[{"positions": positions}] * 100)
    p.instance("i", mesh="q")
    refused("keys that share vertices", p, "the triangles and curves of all meshes", 300)
    p = Package(folder / "curves")
    points = p.array("p.bin", "float32", 4, struct.pack("<4f", 0, 0, 0, 1) * 100000)
    counts = p.array("c.bin", "uint32", 1, struct.pack("<I", 100000), is_zlib=False)
    for k in range(200):
        p.scene["curves"].append({"name": f"k{k}", "basis": "linear", "point_count": 100000, "curve_count": 1, "points": points,
                                  "point_counts": counts})
        p.instance(f"i{k}", curves=f"k{k}")
    refused("curves that share points", p, "the triangles and curves of all meshes", 300)
    p = Package(folder / "overlapping")
    _, indices = p.triangles(1)
    raw = p.array("v.bin", "float32", 3, bytes(6 * MB), is_zlib=False)
    for k in range(800):
        p.mesh(f"q{k}", {**raw, "offset_bytes": 4 * k, "count": raw["count"] - 300}, indices)
    refused("arrays that overlap in a file", p, "the mesh arrays take", 300)


def check_text(folder):
    p = Package(folder / "extras")
    text = json.dumps(p.scene)[:-1] + ', "extras": [' + "[]," * 20000000 + "0]}"
    refused("values of extras", p, "the values of the description", 400, is_zip=True, text=text)
    broken = json.dumps(p.scene).replace('"instances": []', '"instances": [' + "{}," * 20000000 + "{]")
    refused("values behind which the text is broken", p, "the values of the description", 400, is_zip=True, text=broken)


def check_lights(folder):
    p = Package(folder / "glow", glow=1)
    p.mesh("q", *p.triangles(10000))
    p.instance("i", mesh="q", transforms=p.copies(2000))
    refused("emissive copies", p, "the emissive triangles and material slots", 500)
    p = Package(folder / "slots", glow=1)
    p.mesh("q", *p.triangles(1))
    p.instance("i", mesh="q", transforms=p.copies(200000), materials=["m"] * 3000)
    refused("slots of copies", p, "the emissive triangles and material slots", 500)
    # 2 * 10^10 triangles, of which none shines: looked for, but not one by one
    p = Package(folder / "dark")
    p.mesh("q", *p.triangles(1000000))
    p.instance("i", mesh="q", transforms=p.copies(20000))
    code, said, took_mb, took_s = p.render()
    expect(code == 0 and took_mb < 600 and took_s < 30, f"dark copies: exit code {code}, {took_mb:.0f} MB, {took_s:.0f} s: {said}")


def check_honest(folder):
    p = Package(folder / "forest")
    p.mesh("q", *p.triangles(10))
    rows = p.copies(20000, is_zlib=False)
    for part in ("trunk", "leaves", "fruit"):
        p.instance(part, mesh="q", transforms=rows)
    code, said, took_mb, _ = p.render()
    expect(code == 0 and took_mb < 300, f"a forest: exit code {code}, {took_mb:.0f} MB: {said}")
    # vertices that no triangle names are not copied along
    p = Package(folder / "vertices")
    p.mesh("q", p.array("v.bin", "float32", 3, TRIANGLE + bytes(12 * MB)), p.array("i.bin", "uint32", 3, struct.pack("<3I", 0, 1, 2)))
    p.instance("i", mesh="q", transforms=p.copies(200))
    code, said, took_mb, _ = p.render()
    expect(code == 0 and took_mb < 400, f"vertices without triangles: exit code {code}, {took_mb:.0f} MB: {said}")


run_checks(check_shared, check_text, check_lights, check_honest)
