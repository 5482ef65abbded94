"""Renders the cases of node_cases.py in Cycles and writes node_reference.json:
  tests/blender/run_blender.py --blender blender --build build/release tests/blender/make_node_reference.py"""

import json
import os
import pathlib

import blender_scene as kit
import node_cases

SAMPLES = {"values": 64, "surfaces": 2048, "pictures": 512}


def numbers(cells):
    return [float(f"{x:.4g}") for x in cells.ravel()]


def main():
    kit.install()
    out = {}
    for scene_name, (cases, build) in node_cases.SCENES.items():
        columns, rows = build()
        kit.bpy.context.scene.cycles.samples = SAMPLES[scene_name]
        kit.bpy.context.scene.cycles.seed = 1
        picture = kit.render("CYCLES")
        for number, case in enumerate(cases):
            cells = node_cases.measure(picture, number, columns, rows)
            out[f"{scene_name}: {case.name}"] = numbers(cells)
    for case in node_cases.PICTURES:
        case.build()
        kit.bpy.context.scene.cycles.samples = SAMPLES["pictures"]
        out[f"pictures: {case.name}"] = numbers(node_cases.measure_all(kit.render("CYCLES")))
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(values, separators=(',', ':'))}" for name, values in out.items())
    pathlib.Path(__file__).with_name("node_reference.json").write_text("{\n" + lines + "\n}\n")
    os._exit(0)


main()
