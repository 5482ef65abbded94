"""The kit of the checks of the programs: running them, and a small package. The first argument of a check is the folder of the
programs."""

import json
import pathlib
import resource
import struct
import subprocess
import sys
import tempfile
import zlib

BIN = pathlib.Path(sys.argv[1]).resolve()
failures = []
SHADER = """texture2d map;
shader paint(out closure surface)
{
    float3 t = global_value<uvw>;
    surface = make_closure<Lambert>(texture2d_sample<map>(3 * t.x, 3 * t.y), global_value<normal>);
}
"""


def expect(is_so, otherwise):
    if not is_so:
        failures.append(otherwise)


def run(program, *arguments, folder, env=None, limit=None, **options):
    def prepare():
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.run([str(BIN / program), *map(str, arguments)], cwd=folder, capture_output=True, text=True,
                          env=env, preexec_fn=prepare, timeout=120, **options)


def png(path, rgb=(200, 120, 40), size=8, height=None):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes(rgb) * size for _ in range(height or size))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", size, height or size, 8, 2, 0, 0, 0)) +
                     chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def package(folder, samples=4):
    for name in ("meshes", "shaders", "textures"):
        (folder / name).mkdir(parents=True)
    corners = [-1, 0, -1, -1, 0, 1, 1, 0, 1, 1, 0, -1]
    (folder / "meshes/quad.bin").write_bytes(struct.pack("<12f6I8f", *corners, 0, 1, 2, 0, 2, 3, 0, 0, 0, 1, 1, 1, 1, 0))
    (folder / "shaders/paint.ssl").write_text(SHADER)
    png(folder / "textures/map.png")
    png(folder / "textures/sky.png", (90, 90, 100))

    def array(offset, kind, components, count):
        return {"file": "meshes/quad.bin", "offset_bytes": offset, "type": kind, "components": components, "count": count}

    scene = {"sort_package": 1, "settings": {"resolution": [24, 16], "samples": samples, "max_depth": 2},
             "cameras": [{"name": "above", "fov_y_degrees": 40, "transform": [1, 0, 0, 0, 0, 0, 1, 3, 0, -1, 0, 0, 0, 0, 0, 1]},
                         {"name": "left", "fov_y_degrees": 20, "transform": [1, 0, 0, 0, 0, 0, 1, 3, 0, -1, 0, 0, 0, 0, 0, 1]}],
             "meshes": [{"name": "quad", "vertex_count": 4, "triangle_count": 2, "positions": array(0, "float32", 3, 4),
                         "indices": array(48, "uint32", 3, 2), "uv": [array(72, "float32", 2, 4)]}],
             "materials": [{"name": "m", "shader": "shaders/paint.ssl", "textures": {"map": {"file": "textures/map.png"}}}],
             "instances": [{"name": "i", "mesh": "quad", "materials": ["m"], "transform": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]}],
             "environment": {"image": {"file": "textures/sky.png"}}}
    (folder / "scene.json").write_text(json.dumps(scene))
    return folder


def run_checks(*checks):
    """Each in a folder of its own, whose name has a space; the script ends with what they found."""
    for check in checks:
        with tempfile.TemporaryDirectory(prefix="sort check ") as work:
            try:
                check(pathlib.Path(work))
            except OSError as why:
                expect(False, f"{check.__name__}: {why}")
    if failures:
        sys.exit("\n".join(failures))
