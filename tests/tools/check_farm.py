"""sort-render as a farm uses it: check_farm.py FOLDER_OF_PROGRAMS

--check refuses what a render refuses, with its words; sequences have steps."""

import calendar
import json
import math
import shutil
import socket
import subprocess
import time

from tool_kit import expect, package, png, run, run_checks


def change(scene, **fields):
    path = scene / "scene.json"
    document = json.loads(path.read_text())
    for name, value in fields.items():
        at, *rest = reversed(name.split("__"))
        place = document
        for part in reversed(rest):
            place = place[int(part) if part.isdigit() else part]
        place[at] = value
    path.write_text(json.dumps(document))


def check_says_what_a_render_says(folder):
    def damage(path):
        path.write_bytes(path.read_bytes()[:40])

    cases = {
        "nothing": (lambda scene: None, [], 0),
        "a side of 65536": (lambda scene: change(scene, settings__resolution=[65536, 1]), [], 1),
        "a picture beyond all memory": (lambda scene: change(scene, settings__resolution=[65535, 65535]), [], 1),
        "the same by an option": (lambda scene: None, ["--size", "65535x65535"], 1),
        "a damaged texture": (lambda scene: damage(scene / "textures/map.png"), [], 1),
        "a damaged sky": (lambda scene: damage(scene / "textures/sky.png"), [], 1),
        "a missing texture": (lambda scene: (scene / "textures/map.png").unlink(), [], 1),
        "a missing shader": (lambda scene: (scene / "shaders/paint.ssl").unlink(), [], 1),
        "a shader that is wrong": (lambda scene: (scene / "shaders/paint.ssl").write_text("shader x("), [], 1),
        "a short array": (lambda scene: damage(scene / "meshes/quad.bin"), [], 1),
        "another camera": (lambda scene: None, ["--camera", "lift"], 2),
        "a crop beside the picture": (lambda scene: None, ["--crop", "24,0,1,1"], 2),
        "samples beyond the last": (lambda scene: None, ["--samples", "0:5"], 2),
        "too little texture memory": (lambda scene: None, ["--texture-memory", "4K"], 2),
        "too little texture memory for the textures": (lambda scene: None, ["--texture-memory", "1M"], None),
        "an unknown processor": (lambda scene: None, ["--cpu", "pdp11"], 2),
    }
    for number, (name, (spoil, options, code)) in enumerate(cases.items()):
        scene = package(folder / str(number))
        spoil(scene)
        options = [*options, "--cache", folder / "cache", "-q"]
        checked = run("sort-render", "--check", scene, *options, folder=folder)
        rendered = run("sort-render", scene, "-o", "a.exr", *options, folder=folder)
        expect(checked.returncode == rendered.returncode and code in (None, checked.returncode),
               f"{name}: --check ends with {checked.returncode}, the render with {rendered.returncode}")
        expect(checked.stderr == rendered.stderr, f"{name}: --check says {checked.stderr} and the render {rendered.stderr}")


def check_sequences(folder):
    for frame in range(1, 8):
        package(folder / f"s.{frame:02}", samples=1)
    for text, frames in (("1..7:3", (1, 4, 7)), ("2:7:4", (2, 6)), ("3..5", (3, 4, 5)), ("6:7", (6, 7)), ("5", (5,)), ("2..3:9", (2,))):
        done = run("sort-render", "s.##", "--frames", text, "-o", "out.##.exr", "--cache", "cache", "-q", folder=folder)
        found = tuple(frame for frame in range(1, 8) if (folder / f"out.{frame:02}.exr").exists())
        expect(done.returncode == 0 and found == frames, f"--frames {text}: {found} {done.stderr}")
        for path in folder.glob("out.*"):
            path.unlink()


def attributes(path):
    shown = subprocess.run(["iinfo", "-v", path], capture_output=True, text=True, check=True).stdout
    return dict(line.strip().split(": ", 1) for line in shown.splitlines()[1:] if ": " in line), shown


def check_metadata(folder):
    """As OpenImageIO reads it."""
    scene = package(folder / "s.0007", samples=2)
    change(scene, settings__frames_per_second=23.976)
    base = ["--cache", folder / "cache", "-q"]
    done = run("sort-render", "s.####", "--frame", "7", "-o", "a.exr", "--exr-type", "float", "--aov", "normal", *base, folder=folder)
    expect(done.returncode == 0, done.stderr)
    if not shutil.which("iinfo"):
        print("no iinfo here: the metadata is not read")
        return
    found, shown = attributes(folder / "a.exr")
    expect("7 channel, float openexr" in shown, f"--exr-type float: {shown}")
    expect(found.get("frame") == "7" and found.get("imageCounter") == "7", f"the frame: {shown}")
    expect("24000/1001" in found.get("framesPerSecond", found.get("FramesPerSecond", "")), f"frames per second: {shown}")
    numbers = [float(word) for word in found["worldToCamera"].split(",")]
    expect(numbers == [1, 0, 0, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 0, -3, 1], f"worldToCamera: {numbers}")
    projected = [float(word) for word in found["worldToNDC"].split(",")]
    expect(abs(projected[0] - 16 / 24 / math.tan(math.radians(20))) < 1e-5 and projected[15] == 3, f"worldToNDC: {projected}")
    expect(found["HostComputer"].strip('"') == socket.gethostname() and 0 < float(found["renderTime"]) < 100, f"host and time: {shown}")
    expect(abs(time.time() - calendar.timegm(time.strptime(found["DateTime"].strip('"'), "%Y:%m:%d %H:%M:%S"))) < 600, f"the date: {shown}")
    for name in ("x.exr", "y.exr"):
        done = run("sort-render", "s.0007", "-o", name, "--metadata", "picture", *base, folder=folder)
        expect(done.returncode == 0, done.stderr)
        time.sleep(1.1)
    expect((folder / "x.exr").read_bytes() == (folder / "y.exr").read_bytes(), "--metadata picture: equal pictures are other files")
    expect("4 channel, half openexr" in attributes(folder / "x.exr")[1], "a picture is half")


def check_more_samples(folder):
    """A texture is filtered for the number of samples, below 64: only what begins with the same samples goes on."""
    scene = package(folder / "s", samples=1)
    base = [scene, "--cache", folder / "cache", "-q", "--exr-type", "float", "--metadata", "picture", "--checkpoint", "c"]

    def render(code, *more):
        done = run("sort-render", *base, *more, folder=folder)
        expect(done.returncode == code, f"{more}: {done.returncode} {done.stderr}")
        return done.stderr

    render(0, "-o", "whole.exr", "--spp", "100")
    expect(not (folder / "c").exists(), "the checkpoint of a finished render stays")
    render(0, "-o", "part.exr", "--spp", "64", "--keep-checkpoint")
    render(0, "-o", "part.exr", "--spp", "64", "--resume", "--keep-checkpoint")  # nothing to do
    render(0, "-o", "more.exr", "--spp", "100", "--resume")
    expect((folder / "more.exr").read_bytes() == (folder / "whole.exr").read_bytes(), "64 samples and 36 more are not 100")
    render(0, "-o", "part.exr", "--spp", "16", "--keep-checkpoint")
    expect("--samples 0:16" in render(1, "-o", "more.exr", "--spp", "100", "--resume"), "16 to 100: no word of what would do")
    render(0, "-o", "part.exr", "--spp", "100", "--samples", "0:16", "--keep-checkpoint")
    render(0, "-o", "more.exr", "--spp", "100", "--resume", "--keep-checkpoint")
    expect((folder / "more.exr").read_bytes() == (folder / "whole.exr").read_bytes(), "16 samples of 100 and 84 more are not 100")
    expect("does not take" in render(1, "-o", "more.exr", "--spp", "64", "--resume"), "100 samples are no beginning of 64")


run_checks(check_says_what_a_render_says, check_sequences, check_metadata, check_more_samples)
