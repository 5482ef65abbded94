"""Every scene of the gallery is sound: made, read, its shaders compiled; and scripts/gallery --bench makes a table that can
be compared with another. check_gallery.py SORT_RENDER"""

import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def run_gallery(build, out, *arguments):
    return subprocess.run([sys.executable, "-B", str(ROOT / "scripts" / "gallery"), "--build", str(build), "--out", str(out),
                           *arguments], capture_output=True, text=True)


def check_bench(folder):
    """Yields what is wrong with the table and its comparison."""
    build, out = pathlib.Path(sys.argv[1]).parent.parent, pathlib.Path(folder) / "bench"
    out.mkdir()
    old = {"settings": {"size": "160x90", "samples": 64},
           "scenes": {"furnace": {"cpu_s": 1000, "relative_mse": 0.5, "mse_cpu_s": 500}}}
    (out / "old.json").write_text(json.dumps(old))
    made = run_gallery(build, out, "--bench", "--compare", str(out / "old.json"), "furnace")
    if made.returncode != 0:
        yield f"--bench: exit code {made.returncode}\n{made.stdout}{made.stderr}"
        return
    new = json.loads((out / "bench.json").read_text())
    row, columns = new["scenes"]["furnace"], made.stdout.splitlines()[1].split()
    if new["settings"] != old["settings"] or not all(row[key] > 0 for key in ("rays_per_s", "memory_bytes", "relative_mse")):
        yield f"--bench: {new}"
    expected = [row["cpu_s"] / 1000, row["relative_mse"] / 0.5, row["mse_cpu_s"] / 500]
    if len(columns) != 9 or any(abs(float(column) - value) > 0.0051 for column, value in zip(columns[6:], expected)):
        yield f"--compare: {columns}, expected {expected}"
    old["settings"]["samples"] = 1
    (out / "other.json").write_text(json.dumps(old))
    (out / "broken.json").write_text('{"scenes": []}')
    for name, words in (("other.json", "other settings"), ("broken.json", "no table"), ("missing.json", "no table")):
        refused = run_gallery(build, out, "--bench", "--compare", str(out / name), "cornell")
        if refused.returncode == 0 or words not in refused.stderr or "Traceback" in refused.stderr:
            yield f"--compare {name}: exit code {refused.returncode}\n{refused.stderr}"
    nowhere = run_gallery(pathlib.Path(folder) / "nowhere", out, "cornell")
    if nowhere.returncode == 0 or "scripts/build release" not in nowhere.stderr:
        yield f"without a build: exit code {nowhere.returncode}\n{nowhere.stderr}"


def main():
    with tempfile.TemporaryDirectory(prefix="sort-gallery-") as folder:
        made = subprocess.run([sys.executable, "-B", str(ROOT / "scenes" / "gallery" / "make.py"), folder],
                              capture_output=True, text=True, check=True).stdout.split()
        failures = 0
        for scene in made:
            check = subprocess.run([sys.argv[1], "--check", scene, "--cache", f"{folder}/cache"],
                                   capture_output=True, text=True)
            name = pathlib.Path(scene).name
            if check.returncode != 0 or "error" in check.stderr:
                failures += 1
                print(f"{name}: exit code {check.returncode}\n{check.stderr}")
        again = subprocess.run([sys.executable, "-B", str(ROOT / "scenes" / "gallery" / "make.py"), folder, "nothing"],
                               capture_output=True, text=True)
        if again.returncode == 0 or "there is no scene 'nothing'" not in again.stderr:
            failures += 1
            print(f"a scene that does not exist: exit code {again.returncode}\n{again.stderr}")
        for problem in check_bench(folder):
            failures += 1
            print(problem)
    if len(made) < 7 or failures:
        sys.exit(f"{failures} problem(s) in {len(made)} scenes")


main()
