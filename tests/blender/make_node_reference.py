"""Renders the cases of node_cases.py, node_surfaces.py and node_pictures.py in Cycles and writes the node_reference_VERSION.json of its version:
  tests/blender/run_blender.py --blender blender --build build/release tests/blender/make_node_reference.py
With SORT_CASES=WORD only the new cases and those whose names contain it; the others stay as they are, and those that are
no more go. A new tile moves others, so it wants SORT_CASES=values."""

import json
import os
import pathlib

import blender_scene as kit
import node_cases  # noqa: F401 - fills the tiles
import node_pictures
import node_surfaces  # noqa: F401
import node_tiles

SAMPLES = {"values": 64, "surfaces": 2048, "fibres": 4096, "pictures": 256}
FILE = pathlib.Path(__file__).with_name(f"node_reference_{node_tiles.VERSION}.json")
WORD = os.environ.get("SORT_CASES", "")


def is_wanted(key, out):
    return WORD in key or key not in out


def numbers(cells):
    return [float(f"{x:.4g}") for x in cells.ravel()]


def tiles(scene_name, out):
    cases, build = node_tiles.SCENES[scene_name]
    if not any(is_wanted(f"{scene_name}: {case.name}", out) for case in cases):
        return
    columns, rows = build()
    kit.bpy.context.scene.cycles.samples = SAMPLES[scene_name]
    kit.bpy.context.scene.cycles.seed = 1
    picture = kit.render("CYCLES")
    for number, case in enumerate(cases):
        key = f"{scene_name}: {case.name}"
        if is_wanted(key, out):
            out[key] = numbers(node_tiles.measure(picture, number, columns, rows))


def write(out, names):
    """After each picture, since some take minutes."""
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(out[name], separators=(',', ':'))}" for name in names if name in out)
    FILE.write_text("{\n" + lines + "\n}\n")


def main():
    kit.install()
    out = json.loads(FILE.read_text()) if FILE.is_file() else {}
    names = [f"{name}: {case.name}" for name, (cases, _) in node_tiles.SCENES.items() for case in cases]
    names += [f"pictures: {case.name}" for case in node_pictures.PICTURES]
    for scene_name in node_tiles.SCENES:
        tiles(scene_name, out)
        write(out, names)
    for case in node_pictures.PICTURES:
        key = f"pictures: {case.name}"
        if is_wanted(key, out):
            case.build()
            kit.bpy.context.scene.cycles.samples = SAMPLES["pictures"]
            out[key] = numbers(node_pictures.measure_all(kit.render("CYCLES")))
            write(out, names)
    os._exit(0)


main()
