"""The scenes of scripts/mitsuba-comparison are the same for both renderers, as far as can be told without Mitsuba: files and numbers of its
description are those of the package, SORT renders the package, and two kinds of lamp light a box equally.
check_mitsuba_comparison.py SORT_RENDER"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import mitsuba_comparison_scenes as scenes  # noqa: E402
from renderer_comparison import compare, sort_render  # noqa: E402


def triangles_of_ply(path):
    header = path.read_bytes().split(b"end_header\n")[0].decode()
    return int(next(line for line in header.splitlines() if line.startswith("element face")).split()[2])


def check_descriptions(folder):
    """Yields in what the two descriptions of a scene differ."""
    package = json.loads((folder / "sort" / "scene.json").read_text())
    root = xml.etree.ElementTree.parse(folder / "mitsuba" / "scene.xml").getroot()
    for element in root.iter("string"):
        if element.get("name") == "filename" and not (folder / "mitsuba" / element.get("value")).is_file():
            yield f"there is no {element.get('value')}"
    numbers = {element.get("name"): element.get("value") for element in root.iter()
               if element.tag in ("default", "integer", "float") and not element.get("value").startswith("$")}
    settings, camera = package["settings"], package["cameras"][0]
    if [int(numbers["width"]), int(numbers["height"])] != settings["resolution"]:
        yield f"sizes {numbers['width']} x {numbers['height']} and {settings['resolution']}"
    if int(numbers["max_depth"]) != settings["max_depth"] + 1:
        yield f"depths {numbers['max_depth']} and {settings['max_depth']}"
    if float(numbers["fov"]) != camera["fov_y_degrees"]:
        yield f"angles {numbers['fov']} and {camera['fov_y_degrees']}"
    theirs = [triangles_of_ply(path) for path in sorted((folder / "mitsuba").glob("*.ply"), key=lambda path: int(path.stem))]
    if theirs != [mesh["triangle_count"] for mesh in package["meshes"]]:
        yield f"triangles {theirs}"


def main():
    failures, means = [], {}
    with tempfile.TemporaryDirectory(prefix="sort-mitsuba-comparison-") as place:
        out = pathlib.Path(place)
        args = argparse.Namespace(build=pathlib.Path(sys.argv[1]).parent.parent, out=out, threads=2, sort_options=[])
        for name in scenes.SCENES:
            scenes.write(name, out / name, detail=0.05)
            failures += [f"{name}: {problem}" for problem in check_descriptions(out / name)]
            picture = out / f"{name}.exr"
            seconds, mebibytes = sort_render(args, out / name / "sort", picture, 16, 1, "--size", "64x64")
            found = compare(args, picture, picture)
            means[name] = found["mean"]
            if found["relative_mse"] != 0 or found["not_finite"] != 0 or not found["mean"] > 0.05 or not min(seconds, mebibytes) > 0:
                failures.append(f"{name}: {found}, {seconds} s, {mebibytes} MiB")
        if not abs(means["cornell"] / means["cornell_rectangle"] - 1) < 0.03:
            failures.append(f"the two lamps: {means}")
        script = [sys.executable, "-B", str(ROOT / "scripts" / "mitsuba-comparison"), "--out", str(out)]
        for options, words in ((["nothing"], "there is no scene 'nothing'"), (["--build", place], "scripts/build release")):
            refused = subprocess.run([*script, *options], capture_output=True, text=True)
            if refused.returncode == 0 or words not in refused.stderr or "Traceback" in refused.stderr:
                failures.append(f"{options}: exit code {refused.returncode}\n{refused.stderr}")
    if failures:
        sys.exit("\n".join(failures))


main()
