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


def verified(*parts, folder, code=0):
    done = run("sort-render", "verify", *parts, folder=folder)
    expect(done.returncode == code, f"verify ends with {done.returncode}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def check_verify(folder):
    """It says what is in a part, and names what is damaged."""
    scene = package(folder / "s", samples=4)
    base = [scene, "--cache", folder / "cache", "-q"]
    for name, samples in (("a", "0:3"), ("b", "3:4")):
        run("sort-render", *base, "--samples", samples, "--partial", name, folder=folder)
    run("sort-render", "merge", "a", "b", "--partial", "c", folder=folder)
    a, b, c = verified("a", "b", "c", folder=folder)
    expect((a["ranges"], b["ranges"], c["ranges"]) == ([[0, 3]], [[3, 4]], [[0, 4]]), f"the ranges: {a} {b} {c}")
    expect((a["samples"], b["samples"], c["samples"]) == (24 * 16 * 3, 24 * 16, 24 * 16 * 4), f"the samples: {a} {b} {c}")
    expect(a["scene"] == b["scene"] == c["scene"] and len(a["scene"]) == 32 and not c["is_damaged"], f"the identity: {a} {b}")
    data = bytearray((folder / "b").read_bytes())
    data[-50] ^= 1
    (folder / "b").write_bytes(data)
    (folder / "cut").write_bytes(data[:3000])
    found = verified("a", "b", "cut", "none", folder=folder, code=1)
    expect("error" not in found[0] and "the sums are damaged" in found[1]["error"] and "cut: " in found[2]["error"] and
           "none: " in found[3]["error"], f"damage: {found}")
    done = run("sort-render", "verify", "a", "--adaptive", "0.1", folder=folder)
    expect(done.returncode == 1 and "it holds no variance" in done.stderr, f"a part without variance is judged: {done.stderr}")


def check_damage_stays(folder):
    """Sums know that textures were missing, whatever goes on with them: a checkpoint that is resumed, a merge."""
    scene = package(folder / "s", samples=4)
    base = [scene, "--cache", folder / "cache", "-q", "--missing", "magenta"]
    run("sort-render", *base, "--samples", "0:2", "--partial", "whole", folder=folder)
    (scene / "textures/map.png").write_bytes(b"no picture")
    done = run("sort-render", *base, "--samples", "2:4", "--partial", "part", "--checkpoint", "c", "--keep-checkpoint", folder=folder)
    expect(done.returncode == 3, f"a damaged texture: {done.returncode}")
    png(scene / "textures/map.png")
    done = run("sort-render", *base, "--samples", "2:4", "--partial", "again", "--checkpoint", "c", "--resume", folder=folder)
    found = verified("part", "again", folder=folder)
    expect(done.returncode == 3 and "an earlier run" in done.stderr, f"resumed: {done.returncode} {done.stderr}")
    expect(all(one["is_damaged"] for one in found), f"damage is forgotten: {found}")
    done = run("sort-render", "merge", "whole", "part", "--partial", "sum", folder=folder)
    expect(done.returncode == 3 and "verify" in done.stderr, f"a merge of damaged parts: {done.returncode} {done.stderr}")
    expect(verified("sum", folder=folder)[0]["is_damaged"], "the sum of a damaged part is whole")


def check_rounds(folder):
    """Parts of adaptive rounds have the bits of one adaptive render, and others are refused."""
    scene = package(folder / "s", samples=48)
    base = [scene, "--cache", folder / "cache", "-q", "--adaptive", "0.01", "--metadata", "picture", "--exr-type", "float"]

    def render(*more, code=0, says=""):
        done = run("sort-render", *base, *more, folder=folder)
        expect(done.returncode == code and says in done.stderr, f"{more}: {done.returncode} {done.stderr}")

    render("-o", "single.exr")
    total = []
    for number in range(3):
        after = ["--after", f"sum{number - 1}"] if number else []
        names = []
        for begin, end in ((0, 5), (5, 16)):
            names.append(f"part{number}.{begin}")
            render("--samples", f"{16 * number + begin}:{16 * number + end}", *after, "--partial", names[-1])
        done = run("sort-render", "merge", *total, *names, "--partial", f"sum{number}", "-o", "farm.exr", "--metadata", "picture",
                   "--exr-type", "float", folder=folder)
        expect(done.returncode == 0, done.stderr)
        total = [f"sum{number}"]
    expect((folder / "farm.exr").read_bytes() == (folder / "single.exr").read_bytes(), "rounds are not one adaptive render")
    taken = verified("sum2", folder=folder)[0]["samples"]
    expect(24 * 16 * 16 < taken < 24 * 16 * 48, f"rounds do not choose: {taken} samples")
    out = ["--partial", "x"]
    render("--samples", "16:32", *out, code=2, says="--after FILE")
    render("--samples", "30:40", "--after", "sum0", *out, code=1, says="not of the round behind it, which is 16:32")
    render("--samples", "5:16", "--after", "part0.0", *out, code=1, says="rounds end at multiples of 16")
    render("--samples", "32:48", "--after", "part1.0", *out, code=1, says="from the first")
    render("--samples", "16:32", "--after", "none", *out, code=1, says="none: ")
    render("--after", "sum0", *out, code=2, says="it needs --adaptive E and --samples A:B")
    # A part of a round that is interrupted goes on with what was judged.
    render("--samples", "16:32", "--after", "sum0", "--partial", "once", "--checkpoint", "c", "--keep-checkpoint")
    render("--samples", "16:32", "--after", "sum0", "--partial", "twice", "--checkpoint", "c", "--resume")
    once, twice = verified("once", "twice", folder=folder)
    expect(once["samples"] == twice["samples"], f"a resumed round: {once} {twice}")


run_checks(check_says_what_a_render_says, check_sequences, check_metadata, check_more_samples, check_verify,
           check_damage_stays, check_rounds)
