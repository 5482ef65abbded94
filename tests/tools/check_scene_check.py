"""`sort-render --check` refuses what rendering refuses, with the same words, and accepts the rest:
check_scene_check.py FOLDER_OF_PROGRAMS [COUNT [SEED]]

Each case spoils one or two places of a package that has a bit of everything: a number becomes one at the edge of a range or beyond
all floats, a value one of another type, an entry goes, an array is shorter or longer. COUNT 2000 is a thorough run."""

import ast
import copy
import json
import os
import pathlib
import random
import re
import struct
import subprocess
import sys

from tool_kit import expect, package, run, run_checks

COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 24
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 1
AT_2_M = [1, 0, 0, 0, 0, 1, 0, 2, 0, 0, 1, 0, 0, 0, 0, 1]
IDENTITY = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
# Text with an @ is written without quotes: what JSON has no number for.
NUMBERS = [0, -0.0, -1, 1, 2, 3, 0.5, 1.5, 1e-45, -1e-45, 1e-38, 1e-7, 1e-4, 64, 65, 90, 128, 129, 179.999, 180, -360, 360, 361, 1024, 1025,
           65535, 65536, 16777216, 16777217, 2**31 - 1, 2**31, -2**31, 2**32 - 1, 2**32, 2**53, 2**64, 1e20, 3.4028234e38, -3.4028234e38,
           3.4028236e38, 1e308, "@1e400", "@-1e400", "@NaN", "@Infinity"]
OTHERS = [None, True, False, "", "x", [], {}, [1], {"a": 1}, "\0", "x" * 300, "../x", "/etc/passwd", "textures/map.png"]


def everything(folder):
    """The package, and its description."""
    package(folder)
    quad = folder / "meshes/quad.bin"
    start = quad.stat().st_size
    quad.write_bytes(quad.read_bytes() + struct.pack("<8fI", -1, 0.5, 0, 0.1, 1, 0.5, 0, 0.1, 2))

    def array(offset, kind, components, count):
        return {"file": "meshes/quad.bin", "offset_bytes": offset, "type": kind, "components": components, "count": count}

    scene = json.loads((folder / "scene.json").read_text())
    scene["settings"].update(max_diffuse=2, max_glossy=2, max_transmission=2, max_transparent=4, clamp_direct=10, clamp_indirect=5,
                             filter_glossy=1, seed=3, transparent_film=False, film_exposure=1, camera="above", frame=4,
                             frames_per_second=24, mist={"start_m": 1, "depth_m": 10, "falloff": "linear"})
    scene["cameras"][0].update(clip_m=[0.1, 100], aperture_radius_m=0.1, focus_distance_m=3, lens_shift=[0, 0.1], aperture_blades=5,
                               aperture_rotation_degrees=10, aperture_ratio=1.5, pixel_aspect=1)
    scene["cameras"] += [{"name": "flat", "type": "orthographic", "height_m": 2, "transform": AT_2_M},
                         {"name": "moving", "fov_y_degrees": 30, "motion": [AT_2_M, IDENTITY]}]
    scene["materials"].append({"name": "glossy", "shader": "unit:gltf_pbr",
                               "parameters": {"base_color": [0.8, 0.1, 0.1], "metallic": 0.5, "roughness": 0.5}})
    scene["curves"] = [{"name": "hair", "basis": "linear", "shape": "ribbon", "point_count": 2, "curve_count": 1,
                        "points": array(start, "float32", 4, 2), "point_counts": array(start + 32, "uint32", 1, 1)}]
    scene["instances"] += [{"name": "moving", "mesh": "quad", "materials": ["glossy"], "motion": [AT_2_M, IDENTITY]},
                           {"name": "hair", "curves": "hair", "materials": ["glossy"], "transform": AT_2_M}]
    scene["lights"] = [
        {"name": "point", "type": "point", "transform": AT_2_M, "intensity": [1, 2, 3], "radius_m": 0.1},
        {"name": "spot", "type": "spot", "transform": AT_2_M, "intensity": [1, 2, 3], "outer_angle_degrees": 30, "inner_angle_degrees": 20,
         "falloff": "smooth"},
        {"name": "sun", "type": "distant", "transform": AT_2_M, "irradiance": [1, 2, 3], "angle_degrees": 0.5},
        {"name": "sheet", "type": "area_rectangle", "transform": AT_2_M, "radiance": [4, 5, 6], "size": [2, 1], "is_two_sided": True,
         "max_bounces": 3},
        {"name": "disk", "type": "area_disk", "transform": AT_2_M, "radiance": [4, 5, 6], "radius_m": 0.5, "invisible_to": ["camera"]},
        {"name": "ball", "type": "sphere", "transform": AT_2_M, "radiance": [4, 5, 6], "radius_m": 0.75, "light_group": "balls"}]
    scene["portals"] = [{"name": "window", "transform": AT_2_M, "size": [1, 2]}]
    scene["environment"].update(strength=0.5, transform=IDENTITY, max_bounces=4)
    return scene


def places(value, path=()):
    if path:
        yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], path + (key,))


def at(value, path):
    for key in path:
        value = value[key]
    return value


def spoil(scene, dice):
    """One place; says which, and what becomes of it."""
    every = list(places(scene))
    numbers = [path for path in every if type(at(scene, path)) in (int, float)]
    path = dice.choice(numbers if dice.random() < 0.6 else every)
    holder, key = at(scene, path[:-1]), path[-1]
    how = dice.random()
    if how < 0.6:
        holder[key] = dice.choice(NUMBERS)
    elif how < 0.75:
        holder[key] = copy.deepcopy(dice.choice(OTHERS))
    elif how < 0.9 or not isinstance(holder[key], list) or not holder[key]:
        del holder[key]
        return f"{path} is gone"
    elif dice.random() < 0.5:
        holder[key].pop()
    else:
        holder[key].append(copy.deepcopy(holder[key][0]))
    return f"{path} = {json.dumps(holder[key])[:80]}"


def check_same_answer(folder):
    scene = everything(folder / "p")
    accepted = 0
    for case in range(SEED, SEED + COUNT):
        dice = random.Random(case)
        spoilt = copy.deepcopy(scene)
        what = "; ".join(spoil(spoilt, dice) for _ in range(dice.choice([1, 1, 1, 1, 2]))) if case > SEED else "as it is"
        (folder / "p/scene.json").write_text(re.sub(r'"@([^"]*)"', r"\1", json.dumps(spoilt)))
        common = [folder / "p", "--cache", folder / "cache", "--size", "4x4", "--spp", "1", "-q"]
        checked = run("sort-render", *common, "--check", folder=folder)
        rendered = run("sort-render", *common, "-o", "a.exr", "--unwatched", folder=folder)
        said = [done.stderr.strip().splitlines()[-1:] for done in (checked, rendered)]
        label = f"case {case}: {what}: --check {checked.returncode} {said[0]}, rendering {rendered.returncode} {said[1]}"
        if checked.returncode == 0:  # A shader's faults, 3, show when it runs
            expect(rendered.returncode in (0, 3) and (folder / "a.exr").exists(), label)
        else:
            expect(checked.returncode == rendered.returncode == 1 and said[0] == said[1] and str(folder / "p") in str(said[0]), label)
            expect("internal" not in str(said[0]), label)
        accepted += checked.returncode == 0
        expect(case > SEED or checked.returncode == 0, label)
        (folder / "a.exr").unlink(missing_ok=True)
    print(f"{COUNT} packages, {accepted} of them accepted")


def check_surfaces_are_named(folder):
    """What --check prints of a material is its shader, or the group that it is made with."""
    package(folder / "p")
    scene = json.loads((folder / "p/scene.json").read_text())
    scene["groups"] = {"layer": {"nodes": {"base": {"shader": "unit:gltf_pbr"}}, "outputs": {"surface": "base.surface"}}}
    scene["materials"] += [{"name": "grouped", "group": "layer", "parameters": {"base.metallic": 0.5}},
                           {"name": "own", "group": scene["groups"]["layer"]}]
    (folder / "p/scene.json").write_text(json.dumps(scene))
    done = run("sort-render", folder / "p", "--cache", folder / "cache", "--check", folder=folder)
    lines = [line.split() for line in done.stdout.splitlines()]
    for words in ("grouped group layer, 1 parameters, 0 textures", "own group own, 0 parameters, 0 textures"):
        expect(words.split() in lines, f"{words}: {done.stdout}{done.stderr}")


def check_environments_are_named(folder):
    """What --check prints of the environment is what it is made of."""
    package(folder / "p")
    scene = json.loads((folder / "p/scene.json").read_text())
    image = {"image": scene["environment"]["image"]}
    for environment, word in ((None, "none"), ({"color": [1, 1, 1]}, "one colour"), (image, "image"), ({"material": "sky"}, "material")):
        told = copy.deepcopy(scene)
        told.pop("environment", None)
        if environment:
            told["environment"] = environment
        told["materials"].append({"name": "sky", "shader": "unit:emission"})
        (folder / "p/scene.json").write_text(json.dumps(told))
        done = run("sort-render", folder / "p", "--cache", folder / "cache", "--check", folder=folder)
        expect(done.returncode == 0 and f"environment  {word}\n" in done.stdout, f"{environment}: {done.returncode} {done.stdout}{done.stderr}")


def check_example_of_the_writer(folder):
    """The example of python/sort_package, as its reader runs it."""
    python = pathlib.Path(__file__).resolve().parents[2] / "python"
    text = ast.get_docstring(ast.parse((python / "sort_package/__init__.py").read_text()))
    example = "\n".join(line[4:] for line in text.splitlines() if line.startswith("    "))
    made = subprocess.run([sys.executable, "-B", "-c", example], cwd=folder, env={**os.environ, "PYTHONPATH": str(python)},
                          capture_output=True, text=True, check=False)
    expect(made.returncode == 0, f"the example of sort_package: {made.stderr}")
    done = run("sort-render", folder / "out", "--cache", folder / "cache", "--check", folder=folder)
    expect(done.returncode == 0 and not done.stderr, f"its package: {done.stderr}")


run_checks(check_same_answer, check_surfaces_are_named, check_environments_are_named, check_example_of_the_writer)
