"""scripts/race with a few samples: what it prints of SORT and Cycles, that their scenes agree, that references are kept, a file of
--blend, and what it refuses. check_race.py BUILD BLENDER"""

import math
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FEW = ("--size", "48x27", "--samples", "16", "--reference", "64", "--repeats", "2", "--threads", "2")


def race(*words):
    return subprocess.run([sys.executable, "-B", str(ROOT / "scripts" / "race"), *words], capture_output=True, text=True)


def rows(said, scene):
    """{engine: numbers} of the lines of a scene."""
    if said.returncode != 0:
        sys.exit(f"exit code {said.returncode}\n{said.stdout}{said.stderr}")
    lines = [line.split() for line in said.stdout.splitlines() if line.startswith(f"{scene} ")]
    return {line[1]: [float(x) for x in line[2:]] for line in lines}


def check_table(found):
    if list(found) != ["sort", "sort-guided", "cycles"]:
        yield f"engines {list(found)}"
        return
    for engine, numbers in found.items():
        apart, seconds, middle, mean, trimmed, *ratios = numbers
        if not all(map(math.isfinite, numbers)) or not (abs(apart) < 3 and 0 < trimmed <= middle <= 2 * mean < 1):
            yield f"{engine}: {numbers}"
        if seconds > 0 and found["cycles"][1] > 0 and len(ratios) != (0 if engine == "cycles" else 4):
            yield f"{engine}: {len(ratios)} ratios"
        if ratios and abs(mean / found["cycles"][3] / ratios[0] - 1) > 0.02:
            yield f"the ratio of errors is {mean / found['cycles'][3]}, not {ratios[0]}"
    if found["sort"][2:5] == found["sort-guided"][2:5]:
        yield "guiding changes nothing"


def main():
    build, blender = sys.argv[1:]
    failures = []
    with tempfile.TemporaryDirectory(prefix="sort-race-test-") as place:
        out = pathlib.Path(place)
        always = ("--build", build, "--blender", blender, "--out", place)
        first = race(*always, *FEW, "--engines", "sort,sort-guided,cycles", "cornell")
        found = rows(first, "cornell")
        failures += check_table(found)
        kept = {path: path.stat().st_mtime_ns for path in (out / "references").iterdir()}
        file = out / "artist.blend"
        file.write_bytes((out / "cornell" / "scene.blend").read_bytes())
        second = race(*always, *FEW, "--engines", "sort", "--blend", str(file), "cornell")
        if rows(second, "cornell")["sort"][2:] != found["sort"][2:5] or rows(second, "artist")["sort"][2:] != found["sort"][2:5]:
            failures.append(f"two runs differ, or a file of Blender from the scene that it holds:\n{first.stdout}{second.stdout}")
        if not kept or any(path.stat().st_mtime_ns != time for path, time in kept.items()):
            failures.append("references were not kept")
        for words, message in ((["nothing"], "there is no scene 'nothing'"), (["--engines", "luxury"], "there is no engine 'luxury'"),
                               (["--blend", "no.blend"], "there is no file no.blend"), (["--build", place], "scripts/build release")):
            refused = race(*always, *words)
            if refused.returncode == 0 or message not in refused.stderr or "Traceback" in refused.stderr:
                failures.append(f"{words}: exit code {refused.returncode}\n{refused.stderr}")
    if failures:
        sys.exit("\n".join(failures))


main()
