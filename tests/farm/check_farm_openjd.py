"""Templates of the Open Job Description, run by its own runner: check_farm_openjd.py FOLDER_OF_PROGRAMS"""

import ast
import json
import shutil
import sys

from farm_kit import FARM, ROOT, picture, plan, run, run_checks, sequence, single

OPENJD = ROOT / "build/farm-engines/bin/openjd"


def a_template(folder):
    sequence(folder)
    farm = plan(folder, 16, "--parts", 5, "--fan-in", 2)
    template = folder / "farm.json"
    run(FARM, "submit", farm, "--openjd", template)
    run(OPENJD, "check", template)
    last = [step["name"] for step in json.loads(template.read_text())["steps"] if step["name"].endswith("picture")]
    assert len(last) == 2
    for step in last:
        run(OPENJD, "run", template, "--step", step, "--run-dependencies")
    for frame in (1, 2):
        assert picture(folder, frame) == single(folder, frame, 16)
    run(FARM, "status", farm)


def rounds_of_a_template(folder):
    sequence(folder)
    farm = plan(folder, 32, "--adaptive", 0.06, "--parts", 2)
    run(FARM, "submit", farm, "--openjd", folder / "farm.json")
    run(OPENJD, "run", folder / "farm.json", "--step", "0002-4-picture", "--run-dependencies")
    assert picture(folder, 2) == single(folder, 2, 32, "--adaptive", "0.06")


def other_texts(folder):
    """These engines are not here: each task stands in each text once or more, and scripts can be parsed."""
    sequence(folder)
    farm = plan(folder, 8, "--parts", 3, "--fan-in", 2)
    tasks = run(FARM, "tasks", farm).stdout.split()
    for name in ("opencue", "tractor", "flamenco"):
        run(FARM, "submit", farm, f"--{name}", folder / name)
        text = (folder / name).read_text()
        assert "not run by SORT's tests" in text and all(task in text for task in tasks), text
    ast.parse((folder / "opencue").read_text())
    tractor = (folder / "tractor").read_text()
    assert tractor.count("{") == tractor.count("}")
    if shutil.which("node"):
        run("node", "--check", (folder / "flamenco").rename(folder / "flamenco.js"))


checks = [other_texts] if not OPENJD.exists() else [a_template, rounds_of_a_template, other_texts]
if not OPENJD.exists():
    print("the runner is not there: scripts/install-farm-engines installs it")
run_checks(*(check for check in checks if len(sys.argv) < 3 or check.__name__ in sys.argv[2:]))
