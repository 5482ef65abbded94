"""Textures on disks of nodes: check_farm_textures.py FOLDER_OF_PROGRAMS

However many tasks begin at once on however many nodes, each texture is converted once, into the farm's folder, and copied once
to each node; also if whoever converts or copies is killed."""

import fcntl
import json
import os
import random
import signal
import stat
import struct
import subprocess
import sys
import time
import zlib

from farm_kit import FARM, PATIENCE_S, RENDER, children_of, environment, picture, plan, run, run_checks, sequence, single, wait

COUNT, SIDE = 5, 1400
NODES = ("a", "b", "c")


def png(path, seed):
    """Noise, which takes long to pack."""
    rows = b"".join(b"\0" + random.Random(1000 * seed + row).randbytes(3 * SIDE) for row in range(SIDE))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)) +
                     chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))


def textured(folder):
    """Frame 1 has no texture, frame 2 some, which a plan that measures frame 1 alone has not seen."""
    sequence(folder)
    place = folder / "scene.0002"
    (place / "textures").mkdir(exist_ok=True)
    scene = json.loads((place / "scene.json").read_text())
    names = [f"textures/{i}.png" for i in range(COUNT)]
    for i, name in enumerate(names):
        png(place / name, i)
    (place / "shaders").mkdir(exist_ok=True)
    maps = "\n".join(f"texture2d m{i};" for i in range(COUNT))
    taken = " + ".join(f"texture2d_sample<m{i}>(t.x, t.y)" for i in range(COUNT))
    (place / "shaders/paint.ssl").write_text(f"""{maps}
shader paint(out closure surface)
{{
    float3 t = global_value<position>;
    surface = make_closure<Lambert>(({taken}) / {COUNT}.0, global_value<normal>);
}}
""")
    scene["materials"][0] = {"name": scene["materials"][0]["name"], "shader": "shaders/paint.ssl",
                             "textures": {f"m{i}": {"file": name} for i, name in enumerate(names)}}
    (place / "scene.json").write_text(json.dumps(scene))


def telling(folder):
    """A renderer whose words about conversions are kept."""
    path = folder / "renderer"
    path.write_text(f"""#!/bin/sh
case "$1" in verify|merge|--list|--version) exec "{RENDER}" "$@";; esac
for word; do shift; [ "$word" = --quiet ] || set -- "$@" "$word"; done
exec "{RENDER}" "$@" --verbose 2>> "{folder}/said.$NODE.$$"
""")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def conversions(folder):
    """The names of what was converted since the last call."""
    found = []
    for path in folder.glob("said.*"):
        found += [line.split("converting ", 1)[1].strip() for line in path.read_text().splitlines() if "converting " in line]
        path.unlink()
    return sorted(found)


def in_group_writable_folders():
    os.umask(0o002)


def once(folder):
    textured(folder)
    farm = plan(folder, 12, "--parts", 6, "--measure", 1, "--local-cache", f"{folder}/node $NODE")
    environments = {node: environment(NODE=node, SORT_RENDER=telling(folder)) for node in NODES}

    def start(node, task):
        return subprocess.Popen([FARM, "run", farm, task], env=environments[node], stderr=subprocess.PIPE, text=True,
                                start_new_session=True, preexec_fn=in_group_writable_folders)

    killed = start("a", "0002/part/0")  # in the middle of a conversion
    wait(lambda: list((farm / "cache/textures").glob("*.lock")) or killed.poll() is not None, "nothing is converted")
    assert killed.poll() is None
    for pid in (killed.pid, *children_of(killed.pid)):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    killed.communicate()
    there = len(list((farm / "cache/textures").glob("[!.]*.stex")))
    assert there < COUNT, "it was too fast"
    conversions(folder)

    tasks = [start(node, f"0002/part/{i}") for i, node in enumerate([*NODES, *NODES])]
    for task in tasks:
        said = task.communicate(timeout=PATIENCE_S)[1]
        assert task.returncode == 0, said
    again = conversions(folder)
    assert len(again) == len(set(again)) == COUNT - there, (there, again)
    converted = sorted(path.name for path in farm.glob("cache/textures/[!.]*.stex"))
    assert len(converted) == COUNT and not list(farm.glob("cache/textures/.*")), list(farm.glob("cache/textures/*"))
    copies = {node: {path.name: path.stat() for path in (folder / f"node {node}/textures").glob("*.stex")} for node in NODES}
    for node in NODES:
        assert sorted(copies[node]) == converted, (node, copies[node])
        assert all((folder / f"node {node}/textures" / name).read_bytes() == (farm / "cache/textures" / name).read_bytes()
                   for name in converted)

    # What a process leaves that was killed while it copied is no obstacle, and what is there is not copied again.
    lost = folder / "node a/textures" / converted[0]
    lost.with_name(f".{lost.name}.copy").write_bytes(b"half")
    lost.unlink()
    (farm / "parts/0002/000001.part").unlink()
    (farm / "parts/0002/000000.part").unlink()
    for node, task in (("a", "0002/part/0"), ("b", "0002/part/1")):
        assert start(node, task).wait(PATIENCE_S) == 0
    assert not conversions(folder) and lost.stat().st_size and not list(lost.parent.glob(".*"))
    assert all((folder / "node b/textures" / name).stat().st_ino == info.st_ino for name, info in copies["b"].items())

    full = environment(NODE="x", SORT_RENDER=telling(folder))  # its disk cannot be written: the farm's folder is read
    (folder / "node x").write_text("no folder")
    (farm / "parts/0002/000002.part").unlink()
    said = run(FARM, "run", farm, "0002/part/2", env=full).stderr
    assert f"textures are read from {farm}/cache instead" in said and not conversions(folder), said
    run(FARM, "submit", farm, "--local", env=environments["a"])
    for frame in (1, 2):
        assert picture(folder, frame) == single(folder, frame, 12)


def a_wait_is_interrupted(folder):
    """While another process of the node copies."""
    sequence(folder, 1)
    farm = plan(folder, 8, "--parts", 1, "--local-cache", folder / "node", frames="1")
    (folder / "node").mkdir()
    with open(folder / "node/.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = subprocess.Popen([FARM, "run", farm, "0001/part/0"], stderr=subprocess.PIPE, text=True)
        wait(lambda: list(farm.glob("cache/.ready-*")), "the farm's folder is not filled")
        time.sleep(0.5)
        process.terminate()
        assert process.wait(PATIENCE_S) == 4, process.stderr.read()
    run(FARM, "submit", farm, "--local")
    assert picture(folder, 1) == single(folder, 1, 8)


run_checks(*(check for check in (once, a_wait_is_interrupted) if len(sys.argv) < 3 or check.__name__ in sys.argv[2:]))
