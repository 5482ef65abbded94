"""A queue of Slurm that is too small for the farm, and the templates of sites: check_farm_queue.py FOLDER_OF_PROGRAMS

Programs named sbatch, squeue and scontrol stand for Slurm here. Their queue holds so many tasks; where the real sbatch would wait
for ever, this one fails."""

import json
import os
import subprocess
import sys

from farm_kit import BIN, FARM, PATIENCE_S, ROOT, manifest, picture, plan, run, run_checks, sequence, single

TEMPLATES = ROOT / "docs/examples/farm"
ENGINE = r'''#!%s
"""sbatch, squeue and scontrol of a queue that lies in a file."""
import json, pathlib, re, sys
here = pathlib.Path(__file__).resolve().parent
state = json.loads((here / "queue.json").read_text())
name = pathlib.Path(sys.argv[0]).name
if name == "scontrol":
    print(f"MaxArraySize            = {state['array']}\nMaxJobCount             = {state['most']}")
elif name == "squeue":
    tasks = [f"{job['number']}_{i}" for job in state["jobs"] for i in range(job["tasks"])]
    print("\n".join(tasks if "--array" in sys.argv else [str(job["number"]) for job in state["jobs"] if not job["is_over"]]))
else:
    array = next((word for word in sys.argv if word.startswith("--array=")), None)
    ranges = [part.split("-") for part in array[8:].split("%%")[0].split(",")] if array else [["0"]]
    indices = [i for r in ranges for i in range(int(r[0]), int(r[-1]) + 1)]
    if sum(job["tasks"] for job in state["jobs"]) + len(indices) > state["most"] or max(indices) >= state["array"]:
        sys.exit("sbatch: error: the queue is full")
    number = len(state["jobs"]) + state["gone"] + 1
    state["jobs"].append({"number": number, "tasks": len(indices), "indices": indices, "is_array": bool(array), "is_over": False,
                          "options": sys.argv[1:], "script": sys.stdin.read()})
    (here / "queue.json").write_text(json.dumps(state))
    print(number)
'''


class Queue:
    def __init__(self, folder, most, array=1001):
        self.file = folder / "queue.json"
        (folder / "engine").write_text(ENGINE % sys.executable)
        (folder / "engine").chmod(0o755)
        for name in ("sbatch", "squeue", "scontrol"):
            os.symlink(folder / "engine", folder / name)
        self.environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
        self.save({"most": most, "array": array, "gone": 0, "jobs": []})
        self.submitters = 0

    def load(self):
        return json.loads(self.file.read_text())

    def save(self, state):
        self.file.write_text(json.dumps(state))

    def run_next(self):
        """Runs the first job that is not over, and forgets all that were before the last two. False: there is none."""
        state = self.load()
        job = next((job for job in state["jobs"] if not job["is_over"]), None)
        if not job:
            return False
        submits = " submit " in job["script"]
        self.submitters += submits
        for index in job["indices"]:
            run("/bin/sh", "-c", job["script"], env={**self.environment, "SLURM_ARRAY_TASK_ID": str(index)})
        state = self.load()
        for other in state["jobs"]:
            other["is_over"] |= other["number"] == job["number"]
        over = [other for other in state["jobs"] if other["is_over"]]
        for other in over[:-2]:
            state["jobs"].remove(other)
            state["gone"] += 1
        self.save(state)
        return True


def farms_larger_than_the_queue(folder):
    """Four frames of four tasks, and a queue of fourteen: two frames at first, the others as those end."""
    sequence(folder, 4)
    farm = plan(folder, 6, "--parts", 3, "--measure", 1, frames="1..4")
    (folder / "bin").mkdir()
    queue = Queue(folder / "bin", 14, array=3)
    said = run(FARM, "submit", farm, "--slurm", "--partition", "night", "--limit-factor", 3, env=queue.environment)
    assert "MaxJobCount): job 7 goes on with 0003" in said.stderr, said.stderr
    jobs = queue.load()["jobs"]
    assert [job["tasks"] for job in jobs] == [2, 1, 1, 2, 1, 1, 1]  # arrays of two indices: MaxArraySize - 1
    assert "--dependency=afterany:3" in jobs[-1]["options"] and "--partition=night" in jobs[-1]["options"], jobs[-1]
    assert "--first 0003" in jobs[-1]["script"] and "--limit-factor=3" in jobs[-1]["script"], jobs[-1]["script"]
    # Nobody submits the same twice meanwhile.
    assert "are still in the queue" in run(FARM, "resume", farm, "--slurm", env=queue.environment, code=2).stderr
    while queue.run_next():
        pass
    assert queue.submitters >= 1, queue.submitters
    run(FARM, "status", farm)
    for frame in (1, 4):
        assert picture(folder, frame) == single(folder, frame, 6)
    assert len(set(json.loads((farm / "engine/slurm.json").read_text())["jobs"])) == 4 * 3 + queue.submitters


def a_shot_larger_than_the_queue(folder):
    sequence(folder, 1)
    farm = plan(folder, 24, "--parts", 24, frames="1")
    (folder / "bin").mkdir()
    queue = Queue(folder / "bin", 20)
    said = run(FARM, "submit", farm, "--slurm", env=queue.environment, code=2).stderr
    assert "0001: 25 tasks are missing, and Slurm's queue holds 20 (MaxJobCount)" in said and not queue.load()["jobs"], said
    # Full of the jobs of others: the farm waits in it with one job.
    full = queue.load()
    full["most"], full["jobs"] = 60, [{"number": 1, "tasks": 50, "is_over": False}]
    queue.save(full)
    said = run(FARM, "submit", farm, "--slurm", env=queue.environment).stderr
    assert "job 2 goes on with 0001" in said and any(word.startswith("--begin=now+") for word in queue.load()["jobs"][-1]["options"]), said
    assert len(manifest(farm)["shots"]) == 1 and "there is no shot '7'" in run(
        FARM, "submit", farm, "--slurm", "--first", 7, env=queue.environment, code=2).stderr


def slurm_template(folder):
    """With a picture of the package's own size, as the template plans it."""
    sequence(folder)
    for frame in (1, 2):
        path = folder / f"scene.{frame:04}/scene.json"
        scene = json.loads(path.read_text())
        scene["settings"]["resolution"] = [24, 24]
        path.write_text(json.dumps(scene))
    (folder / "bin").mkdir()
    queue = Queue(folder / "bin", 1000)
    environment = {**queue.environment, "PATH": f"{BIN}:{queue.environment['PATH']}", "SCRATCH": str(folder / "node"), "THREADS": "1"}
    words = [TEMPLATES / "slurm-scratch.sh", folder / "farm", folder / "scene.####", folder / "out.####.exr", 8, "1..2"]
    said = run(*words, env={**environment, "DRY_RUN": "yes"})
    assert "--partition=preemptible" in said.stdout and not queue.load()["jobs"], said.stdout
    run(*words, env=environment)
    while queue.run_next():
        pass
    run(FARM, "status", folder / "farm")
    assert list(folder.glob("node/sort-*/kernels/*")), "nothing lies on the node's disk"


def desktops_template(folder):
    sequence(folder)
    farm = plan(folder, 16, "--parts", 4)
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "JOBS": "1"}
    desktops = [subprocess.Popen([TEMPLATES / "desktops.sh", farm, str(number), "2"], env=environment, stderr=subprocess.PIPE, text=True)
                for number in (1, 2)]
    ends = [(desktop.communicate(timeout=PATIENCE_S)[1], desktop.returncode) for desktop in desktops]
    assert [code for _, code in ends] == [0, 0], ends
    for frame in (1, 2):
        assert picture(folder, frame) == single(folder, frame, 16)


def texts_templates(folder):
    sequence(folder, 1)
    farm = plan(folder, 4, "--parts", 2, frames="1")
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    run(TEMPLATES / "deadline-cloud.sh", farm, folder / "bundle", env=environment)
    body = json.loads((folder / "bundle/template.json").read_text())
    assert body["specificationVersion"] == "jobtemplate-2023-09" and len(body["steps"]) == 2
    run(TEMPLATES / "other-engines.sh", farm, folder / "texts", env=environment)
    for name in ("outline.py", "job.alf", "sort.js"):
        assert "0001/part/1" in (folder / "texts" / name).read_text(), name


run_checks(*(check for check in (farms_larger_than_the_queue, a_shot_larger_than_the_queue, slurm_template, desktops_template, texts_templates)
             if len(sys.argv) < 3 or check.__name__ in sys.argv[2:]))
