"""sort-render as a farm uses it: check_farm.py FOLDER_OF_PROGRAMS

--check refuses what a render refuses, with its words; sequences have steps."""

import json

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


run_checks(check_says_what_a_render_says, check_sequences)
