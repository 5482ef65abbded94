"""What people give a farm: check_farm_inputs.py FOLDER_OF_PROGRAMS

Odd names, places that went or moved, damaged manifests, folders that cannot be written, clocks that differ."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from urllib.parse import unquote, urlsplit

from farm_kit import FARM, PATIENCE_S, ROOT, SIZE, environment, manifest, picture, plan, run, run_checks, sequence, single


def names_of_all_kinds(folder):
    """Spaces, letters of other scripts and signs that engines give a meaning; in a locale without them, beside another Python."""
    folder = folder / "Größe 100% $HOME 'q' 好"
    folder.mkdir()
    sequence(folder, 1)
    path = folder / "scene.0001/scene.json"
    scene = json.loads(path.read_text())
    camera = scene["cameras"][0]["name"] = "Kamera größe/1"
    path.write_text(json.dumps(scene))
    odd = environment(LC_ALL="C", LANG="C", TZ="Asia/Kathmandu", PYTHONHOME="/nonexistent", PYTHONPATH="/nonexistent")
    farm = plan(folder, 8, "--parts", 3, "--camera", camera, name="Färm 好 #1%41?", frames="1", env=odd)
    run(FARM, "submit", farm, "--local", env=odd)
    assert picture(folder, 1) == single(folder, 1, 8, "--camera", camera)
    run(FARM, "status", farm, "--html", folder / "page.html", env=odd)
    shown = re.findall('<img src="([^"]*)"', (folder / "page.html").read_text())
    assert len(shown) == 1 and (folder / unquote(urlsplit(shown[0]).path)).is_file(), shown
    dry = run(FARM, "submit", plan(folder, 8, "--parts", 3, name="b", frames="1"), "--slurm", "--dry-run").stdout
    assert "100%% $HOME" in dry.split("--output=")[1].splitlines()[0], dry
    refused = subprocess.run([FARM, "plan", os.fsencode(folder / "c"), b"sc\xffne", "-o", "x.exr", "--spp", "1"], capture_output=True)
    assert refused.returncode == 2 and b"names in UTF-8" in refused.stderr, refused.stderr


def cameras_called_like_files(folder):
    """What a camera is called makes no folder, and no option, of its shot."""
    sequence(folder, 1)
    path = folder / "scene.0001/scene.json"
    scene = json.loads(path.read_text())
    names = ["..", "-h", "../../x", "{index}"]
    scene["cameras"] = [{**scene["cameras"][0], "name": name} for name in names]
    path.write_text(json.dumps(scene))
    before = sorted(path.name for path in folder.iterdir())
    farm = folder / "farm"
    run(FARM, "plan", farm, folder / "scene.0001", "-o", folder / "out.exr", "--spp", 4, "--parts", 2, *[f"--camera={name}" for name in names],
        "--", *SIZE)
    for task in run(FARM, "tasks", farm).stdout.split():
        run(FARM, "run", farm, task)
    run(FARM, "status", farm)
    made = [path.name for path in folder.glob("*.exr")]
    assert len(made) == len(names) and sorted(path.name for path in folder.iterdir()) == sorted([*before, "farm", *made]), made
    assert sorted(path.name for path in farm.iterdir()) == ["cache", "checkpoints", "manifest.json", "parts", "pictures", "records", "running"]


def two_plans_at_once(folder):
    """In one folder: one of them has it, and the others are told."""
    sequence(folder, 1)
    plans = [subprocess.Popen([FARM, "plan", folder / "farm", folder / "scene.0001", "-o", folder / f"{i}.exr", "--spp", "4", "--parts", str(i), "--", *SIZE],
                              stderr=subprocess.PIPE, text=True) for i in (1, 2, 3)]
    said = [one.communicate(timeout=PATIENCE_S)[1] for one in plans]
    codes = [one.returncode for one in plans]
    assert codes.count(0) == 1 and set(codes) <= {0, 1, 2}, (codes, said)
    assert all("File exists" in text or "there is a farm already" in text for code, text in zip(codes, said) if code), said
    assert len(manifest(folder / "farm")["shots"][0]["ranges"]) == 1 + codes.index(0)


# sort-farm on a client of NFS: names that were not there when it looked first stay away until their folder is listed.
STALE = """
import os, pathlib, sys
exists, listdir, fresh = pathlib.Path.exists, os.listdir, set()
pathlib.Path.exists = lambda path: exists(path) and (path.suffix != ".part" or str(path.parent) in fresh)
os.listdir = lambda folder: (fresh.add(str(folder)), listdir(folder))[1]
sys.argv = sys.argv[1:]
from sort_farm.cli import main
sys.exit(main())
"""


def names_that_are_seen_late(folder):
    """A merge that begins on another machine at once renders nothing again."""
    sequence(folder, 1)
    farm = plan(folder, 8, "--parts", 2, frames="1")
    run(FARM, "run", farm, "0001/part/0", "0001/part/1")
    stamps = [path.stat().st_mtime_ns for path in sorted(farm.glob("parts/0001/*"))]
    run(sys.executable, "-B", "-c", STALE, FARM, "run", farm, "0001/picture", env=environment(PYTHONPATH=str(ROOT / "python")))
    assert stamps == [path.stat().st_mtime_ns for path in sorted(farm.glob("parts/0001/*"))]
    assert picture(folder, 1) == single(folder, 1, 8)


def places_that_change(folder):
    """The farm moves between two tasks; the package goes; the folder of pictures goes."""
    sequence(folder)
    farm = plan(folder, 8, "--parts", 2)
    run(FARM, "run", farm, "0001/part/0")
    farm = farm.rename(folder / "moved")
    gone = (folder / "scene.0002").rename(folder / "gone")
    said = run(FARM, "submit", farm, "--local", code=1).stderr
    assert f"{folder}/scene.0002: cannot be read: No such file or directory" in said, said
    gone.rename(folder / "scene.0002")
    run(FARM, "resume", farm, "--local")
    for frame in (1, 2):
        assert picture(folder, frame) == single(folder, frame, 8)


def damaged_manifests(folder):
    """Each is told from the others, and nothing is rendered by it."""
    sequence(folder, 1)
    farm = plan(folder, 8, "--parts", 2, frames="1")
    path = farm / "manifest.json"
    whole = path.read_text()
    for text, says in ((whole[:-20], "not JSON"), ("[]", "this is no manifest of a farm"), ("", "not JSON"),
                       (whole.replace('"samples": 8', '"samples": 9'), "the manifest is damaged, or was changed after the plan"),
                       (whole.replace('"sort_farm": 1', '"sort_farm": 7'), "is of version 7, and this sort-farm reads version 1")):
        assert text != whole
        path.write_text(text)
        for words in (["status", farm], ["run", farm, "0001/part/0"], ["submit", farm, "--local"], ["collect", farm]):
            said = run(FARM, *words, code=1).stderr
            assert "manifest.json: " in said and says in said and "Traceback" not in said, said
    path.write_bytes(b"\xff\xfe\0")
    assert "not JSON" in run(FARM, "status", farm, code=1).stderr
    path.write_text(whole)
    run(FARM, "submit", farm, "--local")


def damaged_records(folder):
    """Of attempts and of running tasks they are as good as gone; of pictures and jobs they are told."""
    sequence(folder, 1)
    farm = plan(folder, 8, "--parts", 2, frames="1")
    run(FARM, "submit", farm, "--local")
    record = farm / "pictures/0001.json"
    attempt = next((farm / "records/0001").glob("*.json"))
    running = farm / "running/0001/part-0.a.json"
    for text in (b"{}", b"[]", b"3", b"\xff\xfe", b""):
        for path in (record, attempt, running):
            path.write_bytes(text)
        assert "finished" not in run(FARM, "status", farm, "--html", folder / "page.html", code=5).stdout, text
        said = run(FARM, "submit", farm, "--local").stderr
        assert "0001.json: " in said and "is set aside as 0001.json.damaged" in said and said.count(str(record)) == 1, said
        run(FARM, "resume", farm, "--local")
    (farm / "engine").mkdir(exist_ok=True)
    record.unlink()
    for text, says in (("{", "not JSON"), ("{}", "jobs: this field is missing"), ("[]", "jobs: this field is missing")):
        (farm / "engine/slurm.json").write_text(text)
        assert says in run(FARM, "submit", farm, "--slurm", code=1).stderr
    shutil.rmtree(farm / "parts")
    (farm / "parts").write_text("")
    for words in (["status", farm], ["submit", farm, "--local"], ["collect", farm]):
        said = run(FARM, *words, code=1).stderr
        assert f"{farm}/parts/0001" in said and "Not a directory" in said and "Traceback" not in said, said


def damaged_judgements(folder):
    """What adaptive rounds know of their sums is found again from these."""
    sequence(folder, 1)
    farm = plan(folder, 48, "--adaptive", 0.06, "--parts", 2, frames="1")
    run(FARM, "submit", farm, "--local")
    parts = sorted(path.name for path in farm.glob("parts/0001/*"))
    for text in ("{}", "[]", "x", ""):
        (farm / "pictures/0001.json").unlink()
        for path in farm.glob("sums/0001/*.json"):
            path.write_text(text)
        run(FARM, "status", farm, code=5)
        run(FARM, "submit", farm, "--local")
        assert sorted(path.name for path in farm.glob("parts/0001/*")) == parts
    assert picture(folder, 1) == single(folder, 1, 48, "--adaptive", "0.06")


def may_not_be_written(folder):
    """A disk that is mounted to be read: status reads it, tasks name the file."""
    sequence(folder, 1)
    disk = folder / "disk"
    disk.mkdir()
    if os.getuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "none", disk], capture_output=True).returncode != 0:
        print("no disk can be mounted here: folders that cannot be written are not tried")
        return
    try:
        farm = plan(folder, 8, "--parts", 2, name="disk/farm", frames="1")
        run(FARM, "run", farm, "0001/part/0")
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        assert "1/2" in run(FARM, "status", farm, "--html", folder / "page.html", code=5).stdout
        run(FARM, "run", farm, "0001/part/0")  # it is there: nothing has to be written
        said = run(FARM, "submit", farm, "--local", code=1).stderr
        assert "Read-only file system" in said and "Traceback" not in said, said
        said = run(FARM, "plan", disk / "b", folder / "scene.0001", "-o", folder / "x.exr", "--spp", 1, code=1).stderr
        assert f"{disk}/b: the folder cannot be made: Read-only file system" in said, said
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        run(FARM, "resume", farm, "--local")
        assert picture(folder, 1) == single(folder, 1, 8)
    finally:
        subprocess.run(["umount", disk], check=True)


def clocks_that_differ(folder):
    """Signs of life are dated by the disk: what a node's own clock says does not matter."""
    sequence(folder, 1)
    farm = plan(folder, 8, "--parts", 2, frames="1")
    place = farm / "running/0001"
    place.mkdir(parents=True)
    for name, host, silent_s in (("a", "future", 0), ("b", "silent", 600)):
        path = place / f"part-0.{name}.json"
        path.write_text(json.dumps({"task": "0001/part/0", "host": host, "pid": 1, "begun": time.time() + 86400, "fraction": 0.5}))
        os.utime(path, (time.time() - silent_s,) * 2)
    shot = json.loads(run(FARM, "status", farm, "--json", code=5).stdout)["shots"][0]
    assert [record["host"] for record in shot["running"]] == ["future"] and [record["host"] for record in shot["lost"]] == ["silent"], shot
    assert "no sign of life from silent since 10 min" in run(FARM, "status", farm, code=5).stdout


run_checks(*(check for check in (names_of_all_kinds, cameras_called_like_files, two_plans_at_once, names_that_are_seen_late, places_that_change, damaged_manifests, damaged_records, damaged_judgements, may_not_be_written, clocks_that_differ)
             if len(sys.argv) < 3 or check.__name__ in sys.argv[2:]))
