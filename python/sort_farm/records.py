"""What happened to tasks: a file for each attempt, and one for each task under way. They inform people and decide about
retries; no result depends on them, so a record that cannot be written is told and nothing more."""

from __future__ import annotations

import json
import os
import socket
import time
from pathlib import Path

from . import files
from .errors import FarmError, tell
from .manifest import Manifest
from .tasks import Task

BLOCK = 250  # records that a thread reads
BEAT_S = 10.0  # between two signs of life
LOST_S = 90.0  # without one, a task is taken for dead
_COUNTED = ("failed",)
_OF_ATTEMPTS = ("task", "host", "begun", "cpu_seconds", "outcome", "message")
_OF_RUNNING = ("task", "host", "fraction")


def host_name() -> str:
    """The node's name as its engine has it, else that of the machine."""
    return os.environ.get("SLURMD_NODENAME") or socket.gethostname()


def _try_write(path: Path, value) -> None:
    try:
        files.write_json(path, value)
    except FarmError as why:
        tell(f"{why} (a record; the work goes on)")


class Attempt:
    """One attempt at a task, from its begin to its end."""

    cpu_seconds = 0.0  # of the renderer
    is_idle = False  # it ended before the renderer took a sample

    def __init__(self, manifest: Manifest, task: Task) -> None:
        self._folder = manifest.path("records", task.shot)
        self._task, self._begun, self._beaten = task, time.time(), -BEAT_S
        self._running = manifest.path("running", task.shot, f"{task.name}.{files.own_name()}.json")
        self.beat(0.0)

    def beat(self, fraction: float) -> None:
        if time.monotonic() - self._beaten < BEAT_S:
            return
        self._beaten = time.monotonic()
        _try_write(self._running, {"task": self._task.id, "host": host_name(), "pid": os.getpid(),
                                   "begun": self._begun, "fraction": fraction})

    def end(self, outcome: str, message: str = "") -> None:
        """outcome: done, go_on or failed."""
        files.remove(self._running)
        name = f"{self._task.name}.{time.time_ns()}.{files.own_name()}.json"
        _try_write(self._folder / name, {
            "task": self._task.id, "host": host_name(), "begun": self._begun,
            "seconds": time.time() - self._begun, "cpu_seconds": self.cpu_seconds, "outcome": outcome, "is_idle": self.is_idle,
            "message": message})


def _names(folder: Path) -> list[str]:
    try:
        return [name for name in os.listdir(folder) if name.endswith(".json") and not name.startswith(".")]
    except FileNotFoundError:
        return []


def _read(path: Path, needed: tuple[str, ...]) -> dict | None:
    """None: it went meanwhile, or the disk is at fault: a record is missing, no result."""
    try:
        record = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) and all(name in record for name in needed) else None


def _read_all(folder: Path, names: list[str], needed: tuple[str, ...]) -> list[dict]:
    """Those that can be read, in any order."""
    def read(part: list[str]) -> list[dict]:
        return [record for record in (_read(folder / name, needed) for name in part) if record]

    blocks = [names[i:i + BLOCK] for i in range(0, len(names), BLOCK)]
    return [record for found in files.at_once(read, blocks) for record in found]


def _date(path: Path) -> float | None:
    try:
        return path.stat().st_mtime
    except OSError:
        return None


def attempts(manifest: Manifest, shot: str) -> list[dict]:
    """All ended attempts at tasks of a shot, the oldest first."""
    folder = manifest.path("records", shot)
    return sorted(_read_all(folder, _names(folder), _OF_ATTEMPTS), key=lambda record: record["begun"])


def _attempts_at(manifest: Manifest, task: Task) -> list[dict]:
    """Those at one task, the oldest first."""
    folder = manifest.path("records", task.shot)
    names = [name for name in _names(folder) if name.startswith(task.name + ".")]
    return sorted(_read_all(folder, names, _OF_ATTEMPTS), key=lambda record: record["begun"])


def failures(manifest: Manifest, task: Task) -> int:
    """How many attempts at the task have failed since it was last submitted anew (forgive)."""
    return sum(1 for record in _attempts_at(manifest, task) if record["outcome"] in _COUNTED and not record.get("forgiven"))


def idle_attempts(manifest: Manifest, task: Task) -> int:
    """How often in a row, until now, the task was interrupted before its renderer took a sample."""
    count = 0
    for record in _attempts_at(manifest, task):
        count = count + 1 if record["outcome"] == "go_on" and record.get("is_idle") and not record.get("forgiven") else 0
    return count


def forgive(manifest: Manifest, shot: str) -> None:
    """Failures until now no longer count: somebody submits the tasks again."""
    folder = manifest.path("records", shot)
    for name in _names(folder):
        record = _read(folder / name, _OF_ATTEMPTS)
        if record and (record["outcome"] in _COUNTED or record.get("is_idle")) and not record.get("forgiven"):
            _try_write(folder / name, {**record, "forgiven": True})


def running(manifest: Manifest, shot: str) -> list[dict]:
    """Tasks under way, with the seconds since their last sign of life by the clock of the disk; is_lost: too many."""
    folder = manifest.path("running", shot)
    names = _names(folder)
    now = files.now_there(folder) if names else 0.0
    found = []
    for name in names:
        record, seen = _read(folder / name, _OF_RUNNING), _date(folder / name)
        if record and seen:
            found.append({**record, "silent_seconds": max(now - seen, 0.0), "is_lost": now - seen > LOST_S})
    return found
