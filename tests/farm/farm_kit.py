"""The kit of the farm's checks: a small sequence of scenes, sort-farm, and pictures of single renders to hold farms against. The
first argument of a check is the folder of the programs."""

import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

BIN = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
os.environ["PATH"] = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"  # the same Python runs sort-farm, without what may stand before it
RENDER, FARM = str(BIN / "sort-render"), str(BIN / "sort-farm")
PATIENCE_S = 300  # before something is said to hang, on a machine that does ten other things too
SIZE = ["--size", "48x48", "--metadata", "picture", "--exr-type", "float"]


def run(*command, code=0, env=None, timeout=PATIENCE_S, **options):
    """Runs a command that must end with `code`."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=env, timeout=timeout, **options)
    assert done.returncode == code, f"{command[:4]}: exit code {done.returncode} instead of {code}\n{done.stdout}{done.stderr}"
    return done


def sequence(folder, frames=2):
    """scene.0001, scene.0002 ...: a room whose picture differs by frame."""
    run(sys.executable, "-B", ROOT / "scenes/gallery/make.py", folder / "made", "cornell")
    for frame in range(1, frames + 1):
        target = folder / f"scene.{frame:04}"
        shutil.copytree(folder / "made/cornell", target)
        scene = json.loads((target / "scene.json").read_text())
        scene["settings"]["seed"] = frame
        (target / "scene.json").write_text(json.dumps(scene))
    shutil.rmtree(folder / "made")
    return folder / "scene.####"


def single(folder, frame, spp, *options):
    """The picture of one render."""
    path = folder / f"single.{frame:04}.exr"
    run(RENDER, folder / f"scene.{frame:04}", "-o", path, "--spp", spp, *SIZE, "--cache", folder / "cache", "-q", *options)
    return path.read_bytes()


def plan(folder, spp, *options, frames="1..2", name="farm", more=(), code=0, env=None):
    """A farm in folder/name, whose pictures are folder/out.0001.exr ..."""
    done = run(FARM, "plan", folder / name, folder / "scene.####", "-o", folder / "out.####.exr", "--spp", spp, "--frames", frames,
               *options, "--", *SIZE, *more, code=code, env=env)
    return folder / name if code == 0 else done


def manifest(farm):
    return json.loads((farm / "manifest.json").read_text())


def change_manifest(farm, **fields):
    """As if it had been planned so."""
    sys.path.insert(0, str(ROOT / "python"))
    from sort_farm.manifest import sealed
    (farm / "manifest.json").write_text(json.dumps(sealed({**manifest(farm), **fields})))


def picture(folder, frame):
    return (folder / f"out.{frame:04}.exr").read_bytes()


def records(farm):
    return [json.loads(path.read_text()) for path in sorted(farm.glob("records/*/*.json"))]


def check_samples(farm, spp):
    """Every sample of every pixel is in each picture once."""
    for path in farm.glob("pictures/*.json"):
        record = json.loads(path.read_text())
        assert record["samples"] + record["dropped"] == 48 * 48 * spp and record["ranges"] == [[0, spp]], record


def damage(path, at=-100):
    data = bytearray(path.read_bytes())
    data[at] ^= 0x40
    path.write_bytes(data)


def wait(is_so, what, seconds=PATIENCE_S):
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, f"waited {seconds} s: {what}"
        time.sleep(0.02)


def children_of(pid):
    """Processes below one, deepest last."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1]) == pid:
                found += [int(folder.name), *children_of(int(folder.name))]
        except OSError:
            pass
    return found


def cpu_s():
    """CPU time of this process and of all that it has waited for."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def environment(**more):
    return {**os.environ, **more}


def run_checks(*checks):
    """Each in a folder of its own, whose name has a space."""
    failed = 0
    for check in checks:
        with tempfile.TemporaryDirectory(prefix="sort farm ") as name:
            begun, cpu = time.monotonic(), cpu_s()
            try:
                check(pathlib.Path(name))
                print(f"{check.__name__}: passed in {time.monotonic() - begun:.1f} s, {cpu_s() - cpu:.1f} s of CPU time", flush=True)
            except (AssertionError, OSError, subprocess.TimeoutExpired, KeyError, ValueError):
                failed += 1
                print(f"{check.__name__}: FAILED\n{traceback.format_exc()}", flush=True)
    sys.exit(1 if failed else 0)
