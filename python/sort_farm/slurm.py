"""Slurm: an array job for each stage of a shot, which depends on the one before.

    parts      --array=0-7 --requeue --signal=B:TERM@60 --time=...     sort-farm run --slurm FARM SHOT/part/$INDEX
    sums       --dependency=afterok:PARTS                              a level of the tree each
    picture    --dependency=afterok:SUMS

The signal comes a minute before the time limit: the task writes its checkpoint and puts itself back into the queue. A job that
somebody cancels gets the same signal, but is not running any more when it comes, and stays cancelled.
"""

from __future__ import annotations

import dataclasses
import math
import os
import re
import shlex
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from . import files
from .errors import FAILED, USAGE, FarmError
from .manifest import Manifest
from .slurm_queue import Queue
from .tasks import Graph, Task, graph_of

LIMIT_FACTOR = 4.0  # time that a job may take, over what its tasks were measured to take
ARRAY_MAX = 1000  # Slurm's MaxArraySize is 1001 unless a site says otherwise
REST_MINUTES = 60  # time limit of a job that submits others
REST_WAIT_S = 60
SIGNAL_BEFORE_S = 60
CONTROLLER_WAIT_S = 40.0  # before Slurm ends a job whose time is up
MERGE_BYTES_A_SECOND = 20e6  # what a busy shared disk gives a merge, taken low
NOT_A_JOB = re.compile(r"[^\w.-]")


@dataclass
class Site:
    """What a site adds to each job."""

    constraint: str | None = None
    partition: str | None = None
    account: str | None = None
    memory: str | None = None
    max_running: int | None = None
    limit_factor: float = LIMIT_FACTOR
    limit_minutes: int | None = None  # no job may ask for more
    array_max: int = ARRAY_MAX

    @staticmethod
    def from_args(args) -> Site:
        return Site(args.constraint, args.partition, args.account, args.memory, args.max_running, args.limit_factor or LIMIT_FACTOR, args.time_limit)

    def options(self) -> list[str]:
        named = (("constraint", self.constraint), ("partition", self.partition), ("account", self.account), ("mem", self.memory))
        return [f"--{name}={value}" for name, value in named if value]

    def as_arguments(self) -> list[str]:
        """What `sort-farm submit` was told."""
        named = (("max-running", self.max_running), ("limit-factor", self.limit_factor), ("time-limit", self.limit_minutes),
                 ("constraint", self.constraint), ("partition", self.partition), ("account", self.account), ("memory", self.memory))
        return [f"--{name}={value}" for name, value in named if value]


def array_text(indices: list[int]) -> str:
    """0-2,5,7-8"""
    runs: list[list[int]] = []
    for index in sorted(indices):
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(f"{a}-{b}" if b > a else str(a) for a, b in runs)


def limit_minutes(manifest: Manifest, graph: Graph, tasks: list[Task], site: Site) -> int:
    """What the longest of the tasks was measured to take, times the factor, and the time in which it writes its checkpoint. A
    task that reaches it goes on later, so a limit that is too short costs a start and no samples."""
    shot = graph.shot
    longest = max(tasks, key=lambda task: task.end - task.begin)
    if longest.kind == "part":
        seconds = (shot.setup_seconds + (longest.end - longest.begin) * shot.seconds_per_sample) / manifest.threads
    else:
        seconds = (len(longest.inputs) + 1) * manifest.film_bytes / MERGE_BYTES_A_SECOND
    minutes = math.ceil((seconds * site.limit_factor + 2 * SIGNAL_BEFORE_S + 60) / 60)
    return min(minutes, site.limit_minutes or minutes)


def script(manifest: Manifest, pattern: str, offset: int) -> str:
    """The batch script: it becomes the task, so that signals of Slurm reach it."""
    from .local import own_command
    command = " ".join(shlex.quote(word) for word in own_command())
    index = f"$((SLURM_ARRAY_TASK_ID + {offset}))" if offset else "$SLURM_ARRAY_TASK_ID"
    task = shlex.quote(pattern).replace("{index}", f"'\"{index}\"'") if "{index}" in pattern else shlex.quote(pattern)
    return f"#!/bin/sh\nexec {command} run --slurm {shlex.quote(str(manifest.folder))} {task}\n"


def _sbatch(options: list[str], text: str, is_dry: bool) -> str:
    if is_dry:
        print(shlex.join(["sbatch", *options]) + " <<'END'\n" + text + "END")
        return "JOB"
    done = _command(["sbatch", "--parsable", *options], text)
    return done.strip().split(";")[0]


def _command(words: list[str], text: str | None = None) -> str:
    try:
        done = subprocess.run(words, input=text, capture_output=True, text=True, timeout=120)
    except FileNotFoundError:
        raise FarmError(f"{words[0]}: not found: Slurm's commands are needed on this machine", USAGE) from None
    except subprocess.TimeoutExpired:
        raise FarmError(f"{words[0]}: no answer of Slurm's controller for 120 s") from None
    if done.returncode != 0:
        raise FarmError(f"{shlex.join(words)}: {done.stderr.strip() or f'ended with {done.returncode}'}")
    return done.stdout


def _groups(tasks: list[Task], size: int) -> list[list[Task]]:
    """Tasks of one array: less than `size` apart."""
    groups: dict[int, list[Task]] = {}
    for task in tasks:
        groups.setdefault(_index(task) // size, []).append(task)
    return list(groups.values())


def _index(task: Task) -> int:
    return int(re.split(r"[/.]", task.id)[-1]) if task.kind != "picture" else 0


def _pattern(task: Task) -> str:
    return task.id if task.kind == "picture" else re.sub(r"\d+$", "{index}", task.id)


def _submit_stage(manifest: Manifest, graph: Graph, tasks: list[Task], after: list[str], site: Site, is_dry: bool) -> list[str]:
    """Returns the jobs."""
    jobs = []
    files.make_folder(manifest.path("engine", "logs"))
    logs = str(manifest.path("engine", "logs")).replace("%", "%%")  # Slurm's own names begin with it
    for group in _groups(tasks, site.array_max):
        kind, offset = group[0].kind, _index(group[0]) // site.array_max * site.array_max
        threads = manifest.threads if kind == "part" else 1
        options = [f"--job-name={NOT_A_JOB.sub('_', manifest.folder.name)}-{group[0].shot}-{kind}",
                   "--requeue", f"--signal=B:TERM@{SIGNAL_BEFORE_S}", "--open-mode=append", f"--cpus-per-task={threads}",
                   f"--time={limit_minutes(manifest, graph, group, site)}",
                   f"--chdir={manifest.folder}", *site.options()]
        if kind == "picture":
            options.append(f"--output={logs}/{group[0].shot}-%x-%j.txt")
        else:
            limit = f"%{site.max_running}" if site.max_running else ""
            options += [f"--array={array_text([_index(task) - offset for task in group])}{limit}", f"--output={logs}/%x-%A-%a.txt"]
        if after:
            options += [f"--dependency=afterok:{':'.join(after)}", "--kill-on-invalid-dep=yes"]
        jobs.append(_sbatch(options, script(manifest, _pattern(group[0]), offset), is_dry))
    return jobs


def own_jobs(manifest: Manifest) -> list[str]:
    """Jobs that were submitted before, by their numbers."""
    path = manifest.path("engine", "slurm.json")
    try:
        return list(files.read_json(path)["jobs"]) if path.exists() else []
    except (KeyError, TypeError):
        raise FarmError(f"{path}: jobs: this field is missing: remove the file if no job of this farm is in the queue") from None


def _refuse_if_queued(manifest: Manifest) -> None:
    """Twice the same tasks would do no harm and no good."""
    jobs = own_jobs(manifest)
    if not jobs:
        return
    listed = _command(["squeue", "--noheader", "--format=%F"])
    there = set(listed.split())
    queued = [job for job in jobs if job in there]
    if queued:
        raise FarmError(f"{manifest.path('engine', 'slurm.json')}: the jobs {', '.join(queued[:8])} are still in the queue: wait, or "
                        f"cancel them first: scancel {' '.join(queued)}", USAGE)


def _queue() -> Queue:
    return Queue.read(_command(["scontrol", "show", "config"]),
                      _command(["squeue", "--noheader", "--array", "--states=all", "--format=%i"]))


def submit(manifest: Manifest, site: Site, tell: Callable[[str], None], is_dry: bool, first: str | None = None) -> int:
    """Submits every task whose result is missing; what follows depends on it. Shots that do not fit into Slurm's queue are left to
    a job that goes on with them when half of the others are done; `first` is the shot it begins with."""
    if not is_dry and not first:
        _refuse_if_queued(manifest)
    if first:
        graph_of(manifest, first)  # says so if there is no such shot
    names = [shot.name for shot in manifest.shots]
    jobs = own_jobs(manifest) if first else []
    before = len(jobs)
    try:
        _submit_shots(manifest, names[names.index(first) if first else 0:], site, is_dry, jobs, tell)
    finally:  # also those of a submission that was cut off
        if jobs and not is_dry:
            files.write_json(manifest.path("engine", "slurm.json"), {"jobs": jobs})
    if len(jobs) == before:
        tell("all pictures are there; nothing to submit")
    elif not is_dry:
        print(f"{len(jobs) - before} jobs: {' '.join(jobs[before:])}")
    return 0


def _submit_shots(manifest: Manifest, names: list[str], site: Site, is_dry: bool, jobs: list[str], tell: Callable[[str], None]) -> None:
    """Adds to jobs."""
    queue = None if is_dry else _queue()
    site = dataclasses.replace(site, array_max=min(ARRAY_MAX, queue.array_max)) if queue else site
    pictures: list[str] = []
    for name in names:
        graph = graph_of(manifest, name)
        if graph.result(graph.picture).exists():
            continue
        stages = _missing(graph)
        count = sum(len(tasks) for tasks in stages)
        if queue and not queue.has_room(count):
            if count > queue.most:
                raise FarmError(f"{name}: {count} tasks are missing, and Slurm's queue holds {queue.jobs_max} (MaxJobCount), of which a "
                                f"farm takes {queue.most} at most: plan longer parts", USAGE)
            jobs.append(_submit_rest(manifest, name, pictures, site))
            tell(f"Slurm's queue holds {queue.jobs_max} tasks (MaxJobCount): job {jobs[-1]} goes on with {name}")
            return
        added = _submit_shot(manifest, graph, stages, site, is_dry)
        jobs += added
        pictures += added[-1:]
        if queue:
            queue.add(count)


def _missing(graph: Graph) -> list[list[Task]]:
    """Tasks of each stage that have to be run."""
    from .status import missing_parts
    wanted = {task.id for task in missing_parts(graph, None)}
    stages = [[t for t in stage.tasks if (t.id in wanted if t.kind == "part" else not graph.result(t).exists())]
              for stage in graph.stages]
    return [tasks for tasks in stages if tasks]


def _submit_shot(manifest: Manifest, graph: Graph, stages: list[list[Task]], site: Site, is_dry: bool) -> list[str]:
    jobs: list[str] = []
    after: list[str] = []
    for tasks in stages:
        after = _submit_stage(manifest, graph, tasks, after, site, is_dry)
        jobs += after
    return jobs


def _submit_rest(manifest: Manifest, first: str, pictures: list[str], site: Site) -> str:
    """A job that submits the shots from `first` on, when half of these pictures have ended in whatever way, or soon."""
    from .local import own_command
    words = [*own_command(), "submit", str(manifest.folder), "--slurm", "--first", first, *site.as_arguments()]
    start = f"--dependency=afterany:{pictures[(len(pictures) - 1) // 2]}" if pictures else f"--begin=now+{REST_WAIT_S}"
    files.make_folder(manifest.path("engine", "logs"))
    logs = str(manifest.path("engine", "logs")).replace("%", "%%")
    return _sbatch([f"--job-name={NOT_A_JOB.sub('_', manifest.folder.name)}-submit", "--requeue", f"--time={REST_MINUTES}", start,
                    f"--chdir={manifest.folder}", f"--output={logs}/%x-%j.txt", *site.options()],
                   f"#!/bin/sh\nexec {shlex.join(words)}\n", False)


def requeue_own_job(tell: Callable[[str], None]) -> None:
    """Puts the job of this process back into the queue, unless somebody has cancelled it. A controller that is away is waited for."""
    job = os.environ.get("SLURM_JOB_ID")
    if not job:
        tell("--slurm: $SLURM_JOB_ID is not set: this is no job of Slurm, and is not put back into the queue")
        return
    end = time.monotonic() + CONTROLLER_WAIT_S
    while True:
        try:
            state = _command(["squeue", "--noheader", f"--jobs={job}", "--format=%T"]).strip()
            if state == "RUNNING":
                _command(["scontrol", "requeue", job])
                tell(f"job {job} goes back into the queue")
            return
        except FarmError as why:
            if time.monotonic() > end:
                tell(f"{why}; the job is not put back into the queue: 'sort-farm resume' does")
                return
            time.sleep(1)
