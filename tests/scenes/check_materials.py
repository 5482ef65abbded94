"""The materials of the add-on are sound: each compiles without a warning, is documented, and renders at its defaults and at both ends
of each parameter: no fault, no sample that is not a number, and in a white world nothing returns more light than it receives.
check_materials.py SORT_RENDER SSLC"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

import material_pictures as pictures  # noqa: E402
from sort_package import PackageWriter, place  # noqa: E402

COUNT_MIN = 30
TILE, SAMPLES, COLUMNS = 8, 4, 24
GAIN = 1.03  # closures promise less; the rest is noise of a tile's mean


def check_sources(compiler, folder):
    """Yields what is wrong with the sources, which are written to `folder`."""
    for name in pictures.names():
        (folder / f"{name}.ssl").write_text(pictures.source(name), encoding="utf-8")
    check = subprocess.run([compiler, "check", str(folder)], capture_output=True, text=True)
    if check.returncode != 0 or check.stderr or "warning" in check.stdout:
        yield f"sslc check: exit code {check.returncode}\n{check.stdout}{check.stderr}"


def check_documents(records):
    if len(records) < COUNT_MIN:
        yield f"there are {len(records)} materials: at least {COUNT_MIN} are promised"
    for name, record in records.items():
        about = record["metadata"]
        if not all(about.get(key) for key in ("label", "catalog", "tags", "preview_m")) or len(pictures.comment(name)) < 30:
            yield f"{name}: label, catalog, tags, preview_m or its comment is missing"
        for parameter in record["parameters"]:
            known = parameter["metadata"]
            bounded = parameter["type"] == "color" or "enum" in known or known.get("min", 1) < known.get("max", 0)
            default = parameter["default"]
            if not bounded or "label" not in known:
                yield f"{name}: '{parameter['name']}' has no label or no range"
            elif isinstance(default, (int, float)) and "min" in known and not known["min"] <= default <= known["max"]:
                yield f"{name}: the default of '{parameter['name']}' is out of its range"
        if [output["type"] for output in record["outputs"]] != ["closure"] or record["textures"]:
            yield f"{name}: it is more than a procedural surface"


def variants(record):
    """What is set beside the defaults: nothing, then each parameter at its ends."""
    yield {}
    for parameter in record["parameters"]:
        known = parameter["metadata"]
        if parameter["type"] == "color":
            ends = [[0, 0, 0], [1, 1, 1]]
        elif "enum" in known:
            ends = [k for k in range(len(known["enum"].split("|"))) if k != parameter["default"]]
        else:
            ends = [known["min"], known["max"]]
        yield from ({parameter["name"]: end} for end in ends)


def write_furnace(folder, records):
    """All variants side by side in a white world; returns what stands in each tile, by rows from the top."""
    tiles = [(name, values) for name, record in records.items() for values in variants(record)]
    rows = -(-len(tiles) // COLUMNS)
    writer = PackageWriter(folder)
    meshes = {name: writer.add_mesh(name, **pictures.body(record["metadata"]["preview_m"], 32, 16)) for name, record in records.items()}
    files = {name: writer.add_shader(f"{name}.ssl", pictures.source(name)) for name in records}
    for k, (name, values) in enumerate(tiles):
        material = writer.add("materials", f"{name} {values}", {"shader": files[name], "parameters": values})
        # The instance is as wide as a tile, its own metres are those of the preview.
        where = place.product(place.translation((k % COLUMNS + 0.5, rows - k // COLUMNS - 0.5, 0)), place.rotation("y", 28),
                              place.rotation("x", 20), place.scaling(0.8 / records[name]["metadata"]["preview_m"]))
        writer.add("instances", name, {"mesh": meshes[name], "materials": [material], "transform": where})
    writer.add("cameras", "camera", {"type": "orthographic", "height_m": rows,
                                     "transform": place.translation((COLUMNS / 2, rows / 2, 10))})
    writer.environment = {"color": [1, 1, 1]}
    writer.settings = {"resolution": [TILE * COLUMNS, TILE * rows], "samples": SAMPLES, "max_depth": 64}
    writer.finish()
    return tiles, rows


def check_furnace(renderer, folder, records):
    tiles, rows = write_furnace(folder / "furnace", records)
    picture, stats = str(folder / "furnace.exr"), folder / "stats.json"
    made = subprocess.run([renderer, str(folder / "furnace"), "-o", picture, "--exr-type", "float", "--stats", str(stats), "--quiet"],
                          capture_output=True, text=True)
    if made.returncode != 0 or made.stderr:
        yield f"sort-render: exit code {made.returncode}\n{made.stderr}"
        return
    dropped = json.loads(stats.read_text())["dropped_samples"]["count"]
    if dropped:
        yield f"{dropped} samples are not finite"
    small = str(folder / "means.exr")
    subprocess.run(["oiiotool", picture, "--ch", "R,G,B", "--resize:filter=box", f"{COLUMNS}x{rows}", "-o", small], check=True)
    dump = subprocess.run(["oiiotool", "--dumpdata", small], check=True, capture_output=True, text=True).stdout
    means = [[float(x) for x in line.split()] for line in re.findall(r"Pixel \(\d+, \d+\): (.*)", dump)]
    if len(means) != COLUMNS * rows:
        yield f"oiiotool shows {len(means)} pixels"
        return
    for (name, values), mean in zip(tiles, means):
        if not all(0 < x <= GAIN for x in mean):
            yield f"{name} {values}: a mean of {mean} in a world of 1"
    if all(min(mean) > 0.97 for mean in means):
        yield "nothing is darker than the world"


def main():
    renderer, compiler = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="sort-materials-") as text:
        folder = pathlib.Path(text)
        sources = folder / "sources"
        sources.mkdir()
        failures = list(check_sources(compiler, sources))
        if not failures:
            records = pictures.described(compiler, sources, pictures.names())
            failures = [*check_documents(records), *check_furnace(renderer, folder, records)]
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
