"""No program writes over what it reads, or writes two things to one file; what cannot be written is told and loses nothing:
check_outputs.py FOLDER_OF_PROGRAMS

Each case names an output in another way (link, hard link, "./", a folder under two names), and expects that the program ends
before any work with exit code 2, and that every file is there and as it was."""

import json
import os
import shutil
import signal
import stat
import struct
import subprocess
import sys
import time

from pathlib import Path

from serve_kit import Server
from tool_kit import BIN, expect, package, png, run, run_checks


def snapshot(folder):
    return {str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*")) if path.is_file() and "cache" not in path.parts}


def refused(folder, program, *arguments, code=2, says="file of its own"):
    before = snapshot(folder)
    done = run(program, *arguments, folder=folder)
    what = f"{program} {' '.join(map(str, arguments))}: exit code {done.returncode}: {done.stderr.strip()}"
    expect(done.returncode == code, what)
    expect(says in done.stderr, f"{what}: no word of '{says}'")
    expect(snapshot(folder) == before, f"{what}: files have changed: {set(before) ^ set(snapshot(folder))}")


def check_render(folder):
    package(folder / "a scene")
    out, cache = folder / "out", ["--cache", folder / "cache", "-q", "--unwatched"]
    out.mkdir()
    (folder / "same").symlink_to(out)
    (out / "old.exr").write_text("old")
    (out / "link.exr").symlink_to("old.exr")
    (out / "ahead.exr").symlink_to("later.exr")
    os.link(out / "old.exr", out / "hard.exr")
    for other in ("--checkpoint", "--partial", "--stats", "--trace", "--watch"):
        refused(folder, "sort-render", "a scene", "-o", "out/a.exr", other, "./out/a.exr", *cache)
    for first, second in (("out/a.exr", "same/a.exr"), ("out/old.exr", "out/link.exr"), ("out/old.exr", "out/hard.exr"),
                          ("out/ahead.exr", "out/later.exr"), ("out/../out/a.exr", "out/a.exr"), (out / "a.exr", "out/a.exr")):
        refused(folder, "sort-render", "a scene", "-o", first, "--partial", second, *cache)
    refused(folder, "sort-render", "a scene", "-o", "out/a.exr", "--stats", "out/b", "--trace", "same/./b", *cache)
    for name in ("scene.json", "meshes/quad.bin", "shaders/paint.ssl", "textures/map.png", "textures/sky.png"):
        refused(folder, "sort-render", "a scene", "-o", "out/a.exr", "--stats", f"a scene/{name}", *cache)
    refused(folder, "sort-render", "a scene", "-o", "out/a.exr", "--trace", "a scene/textures/sky.png", *cache)
    refused(folder, "sort-render", "a scene", "-o", "a scene/textures/map.png", *cache)
    refused(folder / "a scene", "sort-render", "scene.json", "--png", "textures/sky.png", *cache)
    zipped = folder / "s.zip"
    subprocess.run([sys.executable, "-m", "zipfile", "-c", zipped, *sorted(os.listdir(folder / "a scene"))], check=True,
                   cwd=folder / "a scene")
    refused(folder, "sort-render", "s.zip", "-o", "out/a.exr", "--stats", "s.zip", *cache)
    refused(folder, "sort-render", "a scene", "--probe", "1,1", "--probe-out", "a scene/textures/map.png", *cache)
    # one name a frame, but a name of two frames; the scene of another frame
    for frame in ("1", "11"):
        (folder / f"s.{frame}.zip").write_bytes(zipped.read_bytes())
    refused(folder, "sort-render", "s.#.zip", "--frame", "1..11:10", "-o", "out/1#.png", "--stats", "out/#1.png", *cache)
    refused(folder, "sort-render", "s.#.zip", "--frame", "1..11:10", "-o", "out/#.exr", "--stats", "s.1#.zip", *cache)
    # what a later frame reads, which is known when its scene is read: before the first frame is rendered
    for frame in ("1", "2"):
        copy = package(folder / f"q.{frame}")
        (copy / "textures/map.png").rename(copy / f"textures/map.{frame}.png")
        (copy / "scene.json").write_text((copy / "scene.json").read_text().replace("textures/map.png", f"textures/map.{frame}.png"))
        (folder / f"q.{frame}.obj").write_text("mtllib q.#.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n".replace("#", frame))
        (folder / f"q.{frame}.mtl").write_text("newmtl m\nKd 1 1 1\n")
    (folder / "link.1.png").symlink_to("q.2/textures/map.2.png")
    refused(folder, "sort-render", "q.#", "--frame", "1..2", "--png", "link.#.png", *cache)
    (folder / "mtl.1").symlink_to("q.2.mtl")
    refused(folder, "sort-render", "q.#.obj", "--frame", "1..2", "-o", "out/#.exr", "--stats", "mtl.#", *cache)
    # what may be named twice
    done = run("sort-render", "a scene", "-o", "out/a.exr", "--stats", "/dev/null", "--partial", "/dev/null", *cache, folder=folder)
    expect(done.returncode == 0 and (out / "a.exr").stat().st_size > 100, f"/dev/null twice: {done.stderr}")
    done = run("sort-render", "a scene", "-o", "out/ahead.exr", *cache, folder=folder)
    expect(done.returncode == 0 and (out / "ahead.exr").is_symlink() and (out / "later.exr").exists(),
           "a link to a file that is not there yet is not followed")


def check_import(folder):
    """Files that an importer reads beside the scene file are protected like the scene file itself."""
    model = folder / "model"
    (model / "maps").mkdir(parents=True)
    png(model / "maps/wood.png")
    (model / "t.mtl").write_text("newmtl m\nKd 1 1 1\nmap_Kd maps/wood.png\n")
    (model / "t.obj").write_text("mtllib t.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nusemtl m\nf 1/1 2/2 3/3\n")
    points = struct.pack("<9f3I", 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 2)
    (model / "t.bin").write_bytes(points)
    gltf = {"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
            "buffers": [{"uri": "t.bin", "byteLength": len(points)}],
            "bufferViews": [{"buffer": 0, "byteLength": 36}, {"buffer": 0, "byteOffset": 36, "byteLength": 12}],
            "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0]},
                          {"bufferView": 1, "componentType": 5125, "count": 3, "type": "SCALAR"}],
            "images": [{"uri": "maps/wood.png"}], "textures": [{"source": 0}],
            "materials": [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}],
            "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1, "material": 0}]}]}
    (model / "t.gltf").write_text(json.dumps(gltf))
    (folder / "linked.bin").symlink_to("model/t.bin")
    os.link(model / "maps/wood.png", folder / "hard.png")
    base = ["--cache", folder / "cache", "-q", "--unwatched", "--spp", "1", "--size", "8x8"]
    for scene, outputs in (("t.obj", ("t.obj", "t.mtl", "maps/wood.png", "../hard.png")),
                           ("t.gltf", ("t.gltf", "t.bin", "maps/../maps/wood.png", "../linked.bin"))):
        for output in outputs:
            refused(folder, "sort-render", f"model/{scene}", "-o", "a.exr", "--stats", f"model/{output}", *base)
    refused(model, "sort-render", "t.gltf", "-o", "maps/wood.png", *base)
    done = run("sort-render", "model/t.gltf", "-o", "a.exr", "--stats", "model/t.json", *base, folder=folder)
    expect(done.returncode == 0 and not done.stdout, f"an import: {done.returncode}: {done.stderr} {done.stdout}")


def check_attributes(folder):
    """A picture that has all that a header can say: every attribute is there."""
    scene = package(folder / "s") / "scene.json"
    words = json.loads(scene.read_text())
    words["settings"].update(frames_per_second=25, frame=7)
    words["credits"] = ["someone"]
    scene.write_text(json.dumps(words))
    done = run("sort-render", "s", "-o", "a.exr", "--aov", "crypto_object,crypto_material", "--spp", "1", "-q",
               "--cache", "cache", "--unwatched", folder=folder)
    expect(done.returncode == 0, f"all attributes: {done.returncode}: {done.stderr}")
    header = (folder / "a.exr").read_bytes()[:16384]
    for name in ("software", "sort/samples", "sort/nominalSamples", "sort/seed", "sort/guided", "sort/filter", "sort/cpu",
                 "sort/sceneHash", "sort/scene", "credits", "worldToCamera", "worldToNDC", "imageCounter", "frame",
                 "framesPerSecond", "capDate", "utcOffset", "HostComputer", "renderTime"):
        expect(name.encode() + b"\0" in header, f"the picture has no attribute '{name}'")
    for name in ("name", "hash", "conversion", "manifest"):
        expect(header.count(b"/" + name.encode() + b"\0string\0") == 2, f"two layers of identities have no '{name}' each")


def check_streams(folder):
    """Standard output that goes to a file is that file, and the cache's folders are the cache's."""
    package(folder / "s")
    base = [BIN / "sort-render", "s", "--cache", "cache", "--unwatched"]
    cases = ((["-q", "-o", "a.exr", "--stats", "-"], "a.exr", 2), (["--progress", "json", "-o", "a.exr"], "a.exr", 2),
             (["-q", "-o", "a.exr", "--partial", "/dev/stdout", "--stats", "-"], "out", 2),
             (["-q", "-o", "a.exr", "--partial", "/proc/self/fd/1", "--png", "out"], "out", 2),
             (["--progress", "json", "-o", "b.exr", "--stats", "-"], "out", 0))
    for arguments, name, code in cases:
        with open(folder / name, "w") as out:
            done = subprocess.run([*base, *arguments], cwd=folder, stdout=out, stderr=subprocess.PIPE, text=True)
        expect(done.returncode == code, f"{arguments} > {name}: exit code {done.returncode}: {done.stderr}")
    kept = next((folder / "cache/kernels").iterdir())
    (folder / "in").symlink_to("cache/textures")
    for place in (kept.relative_to(folder), "in/new.exr", "cache/../cache/kernels/a.exr"):
        refused(folder, "sort-render", "s", "-o", "b.exr", "--stats", place, "--cache", "cache", "-q", says="the cache")
    done = run("sort-render", "s", "-o", "cache/a.exr", "--cache", "cache", "-q", folder=folder)
    expect(done.returncode == 0, f"beside the cache: {done.stderr}")


def check_merge(folder):
    scene = package(folder / "s")
    for part, samples in (("a", "0:2"), ("b", "2:4")):
        done = run("sort-render", scene, "--samples", samples, "--partial", folder / part, "--cache", folder / "cache", "-q",
                   folder=folder)
        expect(done.returncode == 0, done.stderr)
    refused(folder, "sort-render", "merge", "a", "b", "--partial", "./a")
    refused(folder, "sort-render", "merge", "a", "b", "-o", "c.exr", "--partial", "c.exr")
    refused(folder, "sort-render", "merge", "a", "none", "-o", "c.exr", says="there is no such file")
    done = run("sort-render", "merge", "a", "b", "-o", "c.exr", folder=folder)
    expect(done.returncode == 0, done.stderr)


def check_texcache(folder):
    png(folder / "in.png")
    (folder / "other.png").symlink_to("in.png")
    refused(folder, "texcache", "make", "in.png", "-o", "in.png")
    refused(folder, "texcache", "make", "in.png", "-o", "other.png")
    png(folder / "x.stex")  # a picture, whatever it is called
    refused(folder, "texcache", "make", "x.stex")
    png(folder / "in.jpg")
    refused(folder, "texcache", "make", "in.png", "in.jpg")  # both would be in.stex
    done = run("texcache", "make", "in.png", "-q", folder=folder)
    expect(done.returncode == 0, done.stderr)
    refused(folder, "texcache", "view", "in.stex", "-o", "in.stex")
    scene = package(folder / "s")
    done = run("sort-render", scene, "-o", "a.exr", "--stats", "a.json", "--trace", "a.trace", "--cache", "cache", "-q", folder=folder)
    expect(done.returncode == 0, done.stderr)
    refused(folder, "texcache", "report", "a.json", "a.trace", "-o", "a.json")
    refused(folder, "texcache", "report", "a.json", "a.trace", "-o", "a.trace")
    refused(folder, "texcache", "report", "a.json", "-o", "none/a.html", code=1, says="none/a.html")


def check_sslc(folder):
    (folder / "shader.ssl").write_text("shader s(out float a) { a = 1.0; }\n")
    (folder / "shader.png").write_text("shader s(out float a) { a = 1.0; }\n")
    refused(folder, "sslc", "run", "shader.ssl", "-o", "shader.ssl", says=".exr or .png")
    refused(folder, "sslc", "run", "shader.png", "-o", "shader.png")
    refused(folder, "sslc", "run", "shader.ssl", "-o", "none/a.png", code=1, says="none/a.png")


def check_room(folder):
    """A file that cannot be written is reported before the render where that is possible, and old files stay."""
    scene = package(folder / "s")
    base = [scene, "--cache", folder / "cache", "-q", "--unwatched"]
    expect(run("sort-render", *base, "-o", folder / "a.exr", folder=folder).returncode == 0, "a.exr")
    old = (folder / "a.exr").read_bytes()
    for arguments in (["-o", "none/a.exr"], ["-o", "a.exr", "--partial", "none/p"], ["-o", "a.exr", "--stats", "none/s"],
                      ["-o", "a.exr/b.exr"], ["-o", "s"]):
        done = run("sort-render", *base, *arguments, folder=folder)
        expect(done.returncode == 2, f"{arguments}: exit code {done.returncode}: {done.stderr}")
    done = run("sort-render", *base, "-o", "big.exr", "--size", "400x400", "--partial", "big.part", folder=folder, limit=1 << 20)
    expect(done.returncode == 1 and "no room" in done.stderr, f"a file size limit: {done.returncode}: {done.stderr}")
    done = run("sort-render", *base, "-o", "a.exr", "--size", "200x200", "--sampler", "independent", "--aov", "normal,albedo", folder=folder,
               limit=8192)
    expect(done.returncode == 1 and "a.exr" in done.stderr, f"a picture beyond the limit: {done.returncode}: {done.stderr}")
    expect((folder / "a.exr").read_bytes() == old, "a picture that could not be written took the old one with it")
    expect(not list(folder.glob("*.tmp*")), "temporary files stay")
    for program, arguments in (("sslc", ["doc", scene / "shaders/paint.ssl"]), ("texcache", ["--help"]), ("ssl-test", ["--help"]),
                               ("sort-render", ["--help"])):
        with open("/dev/full", "w") as full:
            done = subprocess.run([BIN / program, *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
        expect(done.returncode == 1 and "standard output" in done.stderr, f"{program} > /dev/full: {done.returncode}: {done.stderr}")
    if os.geteuid() != 0:
        (folder / "closed").mkdir(mode=0o555)
        done = run("sort-render", *base, "-o", "closed/a.exr", folder=folder)
        expect(done.returncode == 2, f"a folder that is closed: {done.returncode}: {done.stderr}")


def check_rescue(folder):
    """A picture that cannot be written when it is done is not lost: its samples are elsewhere, and make the same picture."""
    scene = package(folder / "s")
    base = [scene, "--cache", folder / "cache", "-q", "--unwatched", "--metadata", "picture"]
    try: # A device of its own: what goes wrong here must not take that of the system away
        os.mknod(folder / "full", 0o666 | stat.S_IFCHR, os.makedev(1, 7))
    except PermissionError:
        (folder / "full").symlink_to("/dev/full")
    (folder / "full.exr").symlink_to("full")
    (folder / "temp").mkdir()
    environment = {**os.environ, "TMPDIR": str(folder / "temp")}
    expect(run("sort-render", *base, "-o", "whole.exr", folder=folder).returncode == 0, "whole.exr")
    whole = (folder / "whole.exr").read_bytes()
    for temp, kept_in in ((folder / "temp", folder / "temp"), (folder / "none", folder)):
        environment["TMPDIR"] = str(temp)
        done = run("sort-render", *base, "-o", "full.exr", folder=folder, env=environment)
        kept = list(kept_in.glob("sort-kept.*/full.partial"))
        expect(done.returncode == 1 and "full.exr" in done.stderr and len(kept) == 1 and
               str(kept[0].relative_to(folder)) in done.stderr, f"{temp}: {done.returncode}: {kept}: {done.stderr}")
        for partial in kept:
            run("sort-render", "merge", partial, "-o", "kept.exr", "--metadata", "picture", folder=folder)
            expect((folder / "kept.exr").read_bytes() == whole, "the samples that were kept make another picture")
            partial.unlink()
    done = run("sort-render", *base, "-o", "full.exr", "--checkpoint", "c", folder=folder, env=environment)
    expect(done.returncode == 1 and (folder / "c").exists() and "kept in" not in done.stderr, f"with a checkpoint: {done.stderr}")
    (folder / "full.png").symlink_to("full")
    done = run("sort-render", *base, "-o", "full.png", folder=folder, env=environment)
    expect(done.returncode == 1 and "full.png" in done.stderr and "No space left on device" in done.stderr, f"a PNG: {done.stderr}")


def wait_for(path, what):
    end = time.monotonic() + 60
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.005)
    expect(path.exists(), what)


def check_interim(folder):
    """A checkpoint and a picture that cannot be written during a render are told once, and written when they can be: the render goes on."""
    scene = package(folder / "s", samples=65536)
    for options, file in ((["--checkpoint", "disk/c", "--checkpoint-interval", "0.01"], folder / "disk/c"),
                          (["--update-interval", "0.01"], folder / "disk/a.exr")):
        (folder / "disk").mkdir()
        arguments = [BIN / "sort-render", scene, "-o", "disk/a.exr", *options, "--size", "64x64", "--cache", "cache", "-q", "--unwatched",
                     "--threads", "1"]
        with subprocess.Popen(arguments, cwd=folder, stderr=subprocess.PIPE, text=True) as render:
            wait_for(file, f"{options}: the first")
            (folder / "disk").rename(folder / "away")
            time.sleep(0.5)
            expect(render.poll() is None, f"{options}: the render ends")
            (folder / "away").rename(folder / "disk")
            file.unlink(missing_ok=True)
            wait_for(file, f"{options}: not tried again")
            render.send_signal(signal.SIGINT)
            said = render.stderr.read()
        expect(render.returncode == 4, f"{options}: exit code {render.returncode}: {said}")
        expect(said.count(f"disk/{file.name}: ") == 1 and "goes on, and tries again" in said, f"{options}: {said}")
        shutil.rmtree(folder / "disk")


def check_cache_that_cannot_be(folder):
    """A home that cannot be written ends no render: what would be kept lies in a temporary folder."""
    scene, home, temporary = package(folder / "scene"), folder / "home", folder / "tmp"
    home.write_text("no folder")
    temporary.mkdir()
    env = {**os.environ, "HOME": str(home), "TMPDIR": str(temporary)}
    env.pop("XDG_CACHE_HOME", None)
    done = run("sort-render", scene, "-o", "out.exr", "--unwatched", folder=folder, env=env)
    expect(done.returncode == 0 and (folder / "out.exr").is_file(), f"a home that cannot be written: {done.stderr}")
    expect(done.stderr.count(f"{home}/.cache/sort: cannot be written") == 1, f"a home that cannot be written is not told once: {done.stderr}")
    expect(not list(temporary.iterdir()), f"left in the temporary folder: {list(temporary.iterdir())}")
    done = run("sort-render", scene, "--cache", folder / "kept", "-o", "out.exr", "--unwatched", folder=folder, env=env)
    expect(done.returncode == 0 and "cannot be written" not in done.stderr, f"--cache beside such a home: {done.stderr}")
    with Server(folder, env=env) as server:
        for step in range(2):
            loaded = server.do("load", scene=str(scene), options=[])
            expect(loaded["event"] == "done", f"such a home, served: {loaded}")
            end = server.do("render", options=["-o", str(folder / f"{step}.exr")])
            expect(end["event"] == "done", f"such a home, served: {end}")
        warnings = [event for event in server.events if event["event"] == "warning"]
        expect(len(warnings) == 1 and "cannot be written" in warnings[0]["text"], f"such a home, served: {warnings}")
        server.do("quit")
        expect(server.process.wait(20) == 0 and not list(temporary.iterdir()), "a server leaves its temporary folder")


def check_temporary_folder(folder):
    """A zip's textures and an imported scene go to $TMPDIR, which messages name when there is no place."""
    scene = package(folder / "s")
    shutil.make_archive(str(folder / "zipped"), "zip", scene)
    (folder / "temp").mkdir()
    for temp, limit in ((folder / "none", None), (folder / "temp", 16)):
        done = run("sort-render", "zipped.zip", "--check", "--cache", "cache", folder=folder, limit=limit,
                   env={**os.environ, "TMPDIR": str(temp)})
        expect(done.returncode == 1 and str(temp) in done.stderr, f"{temp}: {done.returncode}: {done.stderr}")
    (folder / "model.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    done = run("sort-render", "model.obj", "--check", "--cache", "cache", folder=folder, env={**os.environ, "TMPDIR": str(folder / "none")})
    expect(done.returncode == 1 and str(folder / "none") in done.stderr, f"an import: {done.returncode}: {done.stderr}")


def check_pipes(folder):
    """An output that is not a regular file is written into and not replaced."""
    scene = package(folder / "s")
    os.mkfifo(folder / "pipe")
    (folder / "link").symlink_to("pipe")
    held = os.open(folder / "pipe", os.O_RDWR | os.O_NONBLOCK)
    for option, name in (("--checkpoint", "pipe"), ("--checkpoint", "link"), ("--stats", "pipe"), ("--partial", "link"), ("--watch", "pipe")):
        done = run("sort-render", scene, "-o", "a.exr", option, name, "--size", "8x8", "--cache", "cache", "-q", folder=folder)
        expect(done.returncode in (0, 1, 2) and (folder / "pipe").is_fifo() and (folder / "link").is_symlink(),
               f"{option} {name}: a pipe is gone: {done.returncode}: {done.stderr}")
        expect(option == "--watch" or done.returncode == 0, f"{option} {name}: {done.returncode}: {done.stderr}")
        try:
            os.read(held, 1 << 20)
        except BlockingIOError:
            pass
    os.close(held)
    fresh = ("--metadata", "picture", "--size", "8x8", "--cache", "cache", "-q")
    done = run("sort-render", scene, "-o", "a.exr", *fresh, folder=folder)
    os.mkfifo(folder / "pipe.exr")
    with subprocess.Popen([BIN / "sort-render", scene, "-o", "pipe.exr", *fresh], cwd=folder, stderr=subprocess.PIPE, text=True) as render:
        picture = (folder / "pipe.exr").read_bytes()  # the reader opens it once
        said = render.stderr.read()
    expect(done.returncode == 0 and render.returncode == 0, f"a picture into a pipe: {render.returncode}: {said}")
    expect(picture == (folder / "a.exr").read_bytes(), f"a picture into a pipe: {len(picture)} bytes are not those of the file")


def check_left_behind(folder):
    """A killed render's temporary files go with the next one; those of a living one stay."""
    scene = package(folder / "s", samples=65536)
    arguments = [BIN / "sort-render", scene, "-o", "a.exr", "--checkpoint", "c", "--checkpoint-interval", "0.01", "--update-interval",
                 "0.01", "--size", "300x300", "--cache", "cache", "-q", "--unwatched", "--threads", "1"]
    for attempt in range(5):
        render = subprocess.Popen(arguments, cwd=folder)
        end = time.monotonic() + 60
        while not (folder / "c").exists() and time.monotonic() < end:
            time.sleep(0.005)
        time.sleep(0.01 * attempt)
        render.send_signal(signal.SIGKILL)
        render.wait()
        (folder / "c").unlink()
    done = run("sort-render", scene, "-o", "a.exr", "--checkpoint", "c", "--spp", "1", "--size", "30x20", "--cache", "cache", "-q",
               folder=folder)
    expect(done.returncode == 0, f"after a kill: {done.stderr}")
    found = {path.name for path in folder.iterdir()}
    expect(found == {"s", "cache", "a.exr"}, f"killed renders leave {found}")


def check_watched_folder(folder):
    """Renders that were killed before they published anything leave no file for ever, which later ones would try to read."""
    scene, runtime = package(folder / "s"), folder / "runtime"
    place = runtime / "sort"
    place.mkdir(mode=0o700, parents=True)
    dead = [subprocess.Popen(["true"]) for _ in range(2)]
    for process, content in zip(dead, (b"", b"cut off")):
        process.wait()
        (place / f"{process.pid}.watch").write_bytes(content)
    others = {f"{os.getpid()}.watch", "notes.watch", f"{dead[0].pid}.watch.txt", "-1.watch", "0.watch"}
    for name in others:
        (place / name).write_bytes(b"")
    done = run("sort-render", scene, "-o", "a.exr", "--cache", "cache", "--size", "8x8", folder=folder,
               env={**os.environ, "XDG_RUNTIME_DIR": str(runtime)})
    expect(done.returncode == 0 and "watched" not in done.stderr, f"a render beside files of dead ones: {done.stderr}")
    found = {path.name for path in place.iterdir()}
    expect(found == others, f"beside files of dead renders: {found} instead of {others}")


def check_package_writer(folder):
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
    from sort_package import PackageWriter

    for name, rgb in (("a", (1, 2, 3)), ("b", (4, 5, 6))):
        (folder / name).mkdir()
        png(folder / name / "wood.png", rgb)
    writer = PackageWriter(folder / "p")
    first, second, again = (writer.add_texture(folder / name / "wood.png") for name in "aba")
    expect(first == again != second, f"textures of one name: {first} {second} {again}")
    expect((folder / "p" / second).read_bytes() == (folder / "b/wood.png").read_bytes(), "a texture in the place of another")
    shaders = [writer.add_shader("s.ssl", text) for text in ("one", "two", "one")]
    expect(shaders[0] == shaders[2] != shaders[1] and (folder / "p" / shaders[0]).read_text() == "one", f"shaders of one name: {shaders}")
    writer.finish()
    before = snapshot(folder)
    try:
        PackageWriter(folder / "p")
        expect(False, "a package goes over another")
    except FileExistsError:
        expect(snapshot(folder) == before, "a package that is refused changes the one that is there")


run_checks(check_package_writer, check_render, check_import, check_attributes, check_streams, check_merge, check_texcache, check_sslc, check_room, check_rescue, check_interim, check_cache_that_cannot_be, check_temporary_folder, check_pipes, check_left_behind,
           check_watched_folder)
