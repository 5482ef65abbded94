"""A renderer that stays makes the pictures of new processes, answers mistakes, and ends when it shall:
check_serve.py FOLDER_OF_PROGRAMS"""

import json
import os
import random
import shutil
import signal
import subprocess
import time

from serve_kit import ENDS, Server
from tool_kit import BIN, expect, package, run, run_checks

SIZE = [24, 16]


def fresh(folder, scene, *options):
    out = folder / "fresh.exr"
    done = run("sort-render", scene, "-o", out, "--metadata", "picture", "-q", "--unwatched", *options, folder=folder)
    expect(done.returncode == 0, f"{scene} {options}: {done.stderr}")
    return out.read_bytes() if done.returncode == 0 else b""


def served(server, folder, options, **fields):
    out = folder / "served.exr"
    end = server.do("render", options=["-o", str(out), "--metadata", "picture", *options], **fields)
    expect(end["event"] == "done", f"{options}: {end}")
    return out.read_bytes() if out.exists() else b""


def with_camera(folder, scene, name, camera):
    """A copy of the package that has this camera alone."""
    shutil.copytree(scene, folder / name)
    content = json.loads((scene / "scene.json").read_text())
    content["cameras"] = [camera]
    (folder / name / "scene.json").write_text(json.dumps(content))
    return folder / name


def check_pictures(folder):
    scene = package(folder / "a scene")
    cases = [[], ["--spp", "3"], ["--size", "17x9"], ["--camera", "left"], ["--seed", "7", "--max-depth", "3"],
             ["--aov", "albedo,normal,depth,crypto_object"], ["--denoise"], ["--crop", "3,2,9,8"], ["--integrator", "normal"],
             ["--adaptive", "0.1", "--spp", "48"], ["--sampler", "blue-noise"], ["--pixel-filter", "box"], ["--wave-size", "8"]]
    cache = ["--cache", str(folder / "cache")]
    with Server(folder) as server:
        expect(server.hello["event"] == "ready" and server.hello["protocol"] == 1, f"it begins with {server.hello}")
        expect(server.do("render")["event"] == "error", "there is a picture without a scene")
        loaded = server.do("load", scene=str(scene), options=cache)
        expect(loaded["event"] == "done" and loaded["instances"] == 1 and loaded["triangles"] == 2, f"load: {loaded}")
        pictures = [fresh(folder, scene, *cache, *options) for options in cases]
        for options, picture in [*zip(cases, pictures), *zip(reversed(cases), reversed(pictures))]:
            expect(served(server, folder, options) == picture, f"{options}: other bits")
        for k in range(4):
            camera = {"name": "eye", "fov_y_degrees": 30 + k, "transform": [1, 0, 0, 0.1 * k, 0, 0, 1, 3, 0, -1, 0, 0, 0, 0, 0, 1]}
            if k == 3:
                camera = {"name": "eye", "type": "orthographic", "height_m": 2, "transform": camera["transform"]}
            package_of_it = with_camera(folder, scene, f"camera{k}", camera)
            expect(served(server, folder, [], camera=camera) == fresh(folder, package_of_it, *cache), f"camera {k}: other bits")
        expect(served(server, folder, []) == fresh(folder, scene, *cache), "a camera of a picture stays for the next one")
        other = with_camera(folder, scene, "other", {"name": "eye", "fov_y_degrees": 50, "transform":
                                                     [1, 0, 0, 0, 0, 0, 1, 2, 0, -1, 0, 0, 0, 0, 0, 1]})
        expect(server.do("load", scene=str(other), options=[*cache, "--spp", "2"])["event"] == "done", "a second scene")
        expect(served(server, folder, []) == fresh(folder, other, *cache, "--spp", "2"), "the second scene: other bits")
        expect(served(server, folder, ["--spp", "5"]) == fresh(folder, other, *cache, "--spp", "5"), "the last of two options counts")
        expect(server.do("quit")["event"] == "done" and server.process.wait(60) == 0, "quit")


def check_pixels(folder):
    """Floats are those of the picture, with rows from the bottom: a crop of a row has the same bits."""
    scene, pixels = package(folder / "scene"), folder / "pixels"
    row_bytes = SIZE[0] * 16
    with Server(folder) as server:
        server.do("load", scene=str(scene), options=["--cache", str(folder / "cache")])
        end = server.do("render", pixels=str(pixels))
        expect([end.get("width"), end.get("height")] == SIZE and end.get("is_damaged") is False, f"the end of a picture: {end}")
        whole = pixels.read_bytes()
        expect(len(whole) == row_bytes * SIZE[1], f"{len(whole)} bytes of pixels")
        expect(whole[:row_bytes] != whole[7 * row_bytes:8 * row_bytes], "all rows are alike")
        for row in (0, 7, 15):
            server.do("render", pixels=str(pixels), options=["--crop", f"0,{SIZE[1] - 1 - row},{SIZE[0]},1"])
            expect(pixels.read_bytes() == whole[row * row_bytes:(row + 1) * row_bytes], f"row {row} from the bottom")
        long = server.send("render", pixels=str(pixels), options=["--update-interval", "0.05", "--spp", "1000000", "--size", "96x64"])
        waited = {"picture", "progress"}
        while waited:
            waited.discard(server.event()["event"])
        stop = server.send("stop")
        expect([server.end_of(number)["event"] for number in (long, stop)] == ["stopped", "done"], "a long render is stopped")


def check_mistakes(folder):
    scene = package(folder / "scene")
    (folder / "empty").mkdir()
    rows = [
        (b"hello", "command: line 1"), (b"[]", "must be an object"), (b"{}", "'command' is missing"),
        (b'{"command": "dance"}', "dance"), (b'{"command": "stop", "at": 1}', "unknown field 'at'"),
        (b'{"command": "load"}', "'scene' is missing"), (b'{"command": "render", "id": -1}', "id"),
        (b'{"command": "render", "options": "--spp"}', "must be an array"),
        (b'{"command": "render", "options": [1]}', "options[0]"),
        (b'{"command": "render", "options": ' + json.dumps(["-q"] * 300).encode() + b"}", "300 entries"),
        (b'{"command": "render", "options": ["--ssp", "3"]}', "--spp"),
        (b'{"command": "render", "options": ["--frame", "1..2"]}', "does not take --frame"),
        (b'{"command": "render", "options": ["--help"]}', "does not take --help"),
        (b'{"command": "render", "options": ["other"], "pixels": "p"}', "unexpected argument"),
        (b'{"command": "render", "pixels": "p", "options": ["--stats"]}', "'--stats' needs a value"),
        (b'{"command": "load", "scene": ""}', "scene: is empty"), (b'{"command": "load", "scene": "-q"}', "write './-q'"),
        (b'{"command": "render"}', "nothing to write"),
        (b'{"command": "render", "pixels": "p", "options": ["--threads", "7"]}', "belong to the command 'load'"),
        (b'{"command": "render", "pixels": "scene/scene.json"}', "file of its own"),
        (b'{"command": "render", "pixels": "p", "options": ["-o", "scene/meshes/quad.bin.exr/x.exr"]}', "cannot create"),
        (b'{"command": "render", "pixels": "nowhere/p"}', "cannot create"),
        (b'{"command": "render", "pixels": "p", "camera": {"name": "c"}}', "'transform' is missing"),
        (b'{"command": "render", "pixels": "p", "camera": {"name": "c", "fov_y_degrees": 400, "transform": '
         b'[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1]}}', "camera.fov_y_degrees"),
        (b'{"command": "load", "scene": "nowhere"}', "no such file"), (b'{"command": "load", "scene": "empty"}', "scene.json"),
        (b'{"command": "render", "pixels": "p", "camera": {"name": "c", "fov_y_degrees": 40, "transform": '
         b'[1,0,0,1e19,0,1,0,0,0,0,1,0,0,0,0,1]}}', "farther than 1e+18 m"),
        (b"[" * 100000, "depth"), (b"\xff\xfe{}", "line 1"), (b'{"command": "render", "id": 1, "id": 1}', "duplicate"),
    ]
    with Server(folder) as server:
        server.do("load", scene=str(scene), options=["--cache", str(folder / "cache")])
        first = served(server, folder, [])
        for line, says in rows:
            server.write(line + b"\n")
            event = server.event()
            while event["event"] not in ("error", "done"):
                event = server.event()
            expect(event["event"] == "error" and says in event["text"], f"{line[:80]}: {str(event)[:300]}; not '{says}'")
        server.write(b" " * (17 << 20) + b"\n")
        expect("longer than" in server.event().get("text", ""), "a line of 17 MiB")
        expect(served(server, folder, []) == first, "the scene before mistakes is gone")


def check_noise(folder):
    """Bytes that are no commands end in messages, never in a crash."""
    scene = package(folder / "scene")
    chance = random.Random(5)
    valid = json.dumps({"command": "render", "id": 999999, "pixels": "p", "options": ["--spp", "1", "--size", "4x4"], "camera":
                        {"name": "c", "fov_y_degrees": 40, "transform": [1, 0, 0, 0, 0, 0, 1, 3, 0, -1, 0, 0, 0, 0, 0, 1]}}).encode()
    with Server(folder) as server:
        server.do("load", scene=str(scene), options=["--cache", str(folder / "cache")])
        for _ in range(8):
            for _ in range(60):
                line = bytearray(valid if chance.random() < 0.7 else chance.randbytes(chance.randrange(200)))
                for _ in range(chance.randrange(1, 4)):
                    if line:
                        line[chance.randrange(len(line))] = chance.randrange(256)
                server.write(bytes(line).replace(b"\n", b"").replace(b"quit", b"") + b"\n")
            end = server.do("stop")
            expect(end["event"] == "done", f"after noise: {end}")
        expect(len(served(server, folder, [])) > 0, "no picture after noise")


def check_stop(folder):
    scene = package(folder / "scene")
    cache = ["--cache", str(folder / "cache")]
    long = {"pixels": str(folder / "p"), "options": ["--spp", "1000000", "--size", "640x480"]}
    with Server(folder) as server:
        server.do("load", scene=str(scene), options=cache)
        waits = []
        for k in range(6):
            first, second = server.send("render", **long), server.send("render", **long)
            time.sleep(0.05 * k)
            begin = time.monotonic()
            stop = server.send("stop")
            ends = [server.end_of(n)["event"] for n in (first, second, stop)]
            waits.append(time.monotonic() - begin)
            expect(ends == ["stopped", "stopped", "done"], f"stop: {ends}")
        expect(min(waits) < 0.25, f"a render stops after {waits} s at best")
        expect(served(server, folder, []) == fresh(folder, scene, *cache), "the picture after a stop")
    for is_busy in (False, True):
        with Server(folder) as server, Server(folder) as other:  # two at once
            for one in (server, other):
                one.do("load", scene=str(scene), options=cache)
            if is_busy:
                server.send("render", **long)
                while (event := server.event())["event"] not in ("progress", *ENDS):
                    pass
                expect(event["event"] == "progress", f"a long render: {event}")
            server.process.stdin.close()
            code = server.process.wait(30)
            expect(code == (4 if is_busy else 0), f"the end of input: exit code {code}")
            expect(served(other, folder, []) == fresh(folder, scene, *cache), "the other renderer")
    for sign, code, is_tracing in ((signal.SIGINT, 4, False), (signal.SIGTERM, 4, False), (signal.SIGTERM, 4, True),
                                   (None, 1, False), (None, 1, True)):  # None: events cannot be written
        with Server(folder) as server:
            server.do("load", scene=str(scene), options=cache)
            server.send("render", **long)
            while is_tracing and server.event()["event"] != "progress":
                pass
            if sign:
                server.process.send_signal(sign)
            else:
                server.process.stdout.close()
            said = server.last_words()
            expect(server.process.wait(30) == code and ("interrupted" if sign else "standard output cannot") in said, f"{sign}: {said}")
    unreadable = os.open(folder, os.O_RDONLY)
    done = subprocess.run([BIN / "sort-render", "serve"], stdin=unreadable, capture_output=True, text=True, timeout=30, check=False)
    os.close(unreadable)
    expect(done.returncode == 1 and "standard input cannot be read" in done.stderr, f"a folder as input: {done}")
    done = run("sort-render", "serve", "now", folder=folder)
    expect(done.returncode == 2, f"serve with an argument: {done.returncode}")


run_checks(check_pictures, check_pixels, check_mistakes, check_noise, check_stop)
