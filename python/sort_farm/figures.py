"""What the tasks of a farm cost beside rendering: real tasks of the farm's own picture, measured on this machine.

Six parts of a sample each, a sum of four of them, one of two, and their picture are made in FARM/figures, and removed. Samples
and set-up are in the manifest; FARM/figures.json keeps the rest."""

from __future__ import annotations

import dataclasses
import os
import platform
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from . import files, manifest
from .errors import DAMAGED, DONE, USAGE, FarmError
from .local import own_command
from .manifest import Manifest
from .tasks import find

NAME = "figures.json"
SAMPLES = 6
FAN_IN = 4
BLOCK_BYTES = 512  # of getrusage


@dataclass
class Cost:
    """Of one task. The CPU seconds are one thread's; waiting is what it took longer."""

    cpu_seconds: float
    wait_seconds: float
    written_bytes: float
    operations: float  # on names of the shared disk


@dataclass
class Figures:
    machine: str
    date: str
    part: Cost  # beside set-up and samples: the program, reading the manifest, writing, reading back
    sum: Cost  # beside its inputs
    picture: Cost
    added: Cost  # of a sum or picture: for each input
    film_bytes: int
    package_operations: float  # of each part: on names of the scene's package
    cache_bytes: int  # textures and compiled shaders


_CALL = re.compile(r"^\d+ +(\w+)\(")
_NAME = re.compile(r"\"(/[^\"]*)\"")
_LOOKS = ("newfstatat", "stat", "lstat", "statx", "access", "faccessat2", "readlink", "readlinkat")


def count_operations(trace: str, folders: list[str]) -> list[int]:
    """Operations in what strace wrote that each folder's disk must answer: all that open, make, rename, list or remove, and
    the first look at each name; further looks are answered by the machine's memory."""
    counts, seen = [0] * len(folders), set()
    for line in trace.splitlines():
        call = _CALL.match(line)
        for name in _NAME.findall(line) if call else ():
            folder = next((i for i, top in enumerate(folders) if (name + "/").startswith(top + "/")), None)
            if folder is None or (call[1] in _LOOKS and name in seen):
                continue
            seen.add(name)
            counts[folder] += 1
            break  # a renaming is one operation
    return counts


def _run(farm: Manifest, task: str) -> Cost:
    """CPU and waiting seconds and bytes written of a task."""
    begun = time.monotonic()
    child = subprocess.Popen([*own_command(), "run", str(farm.folder), task], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    message = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (DONE, DAMAGED):
        raise FarmError(f"{task}: {message.decode(errors='replace').strip()}")
    cpu = usage.ru_utime + usage.ru_stime
    graph, made = find(farm, task)
    own = graph.result(made).stat().st_size if made.kind != "picture" else farm.film_bytes
    written = max(usage.ru_oublock * BLOCK_BYTES - own, 0) + farm.film_bytes  # its samples are fewer; memory disks count nothing
    return Cost(cpu, max(time.monotonic() - begun - cpu, 0.0), written, 0.0)


def _traced(farm: Manifest, task: str, scene: str) -> list[int]:
    """Operations of a task in the farm's folder and in the package."""
    with tempfile.NamedTemporaryFile(prefix="sort-farm-") as out:
        done = subprocess.run(["strace", "-f", "-s", "4096", "-o", out.name, "-e", "trace=%file", *own_command(), "run",
                               str(farm.folder), task], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode not in (DONE, DAMAGED):
            raise FarmError(f"{task}: {done.stderr.strip()}")
        return count_operations(out.read().decode(errors="replace"), [str(farm.folder), scene])


def _small(farm: Manifest, folder: Path) -> Manifest:
    """The first picture in six parts of a sample."""
    shot = dataclasses.replace(farm.shots[0], output=str(folder / "picture.exr"), png=None, rounds=[],
                               ranges=[[i, i + 1] for i in range(SAMPLES)])
    return dataclasses.replace(farm, folder=folder, shots=[shot], fan_in=FAN_IN, discards_parts=False, local_cache=None)


def _folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) if folder.exists() else 0


def measure(farm: Manifest) -> Figures:
    """Runs the tasks, once more under strace where that is, to count operations on names."""
    if farm.samples < SAMPLES:
        raise FarmError(f"{farm.path(manifest.NAME)}: samples: {farm.samples}, and at least {SAMPLES} are needed to measure", USAGE)
    folder = farm.path("figures")
    shutil.rmtree(folder, ignore_errors=True)
    files.make_folder(folder)
    files.make_folder(farm.cache)
    try:
        os.symlink(farm.cache, folder / "cache")
        small = _small(farm, folder)
        manifest.save(small)
        return _figures(farm, small)
    except OSError as why:
        raise FarmError(f"{why.filename or folder}: {files.reason(why)}") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _typical(costs: list[Cost], known_cpu: float, operations: float) -> Cost:
    """The median of the CPU time beside what is known; the least waiting, as others use the machine too."""
    return Cost(max(statistics.median(cost.cpu_seconds for cost in costs) - known_cpu, 0.0), min(cost.wait_seconds for cost in costs),
                statistics.median(cost.written_bytes for cost in costs), operations)


def _figures(farm: Manifest, small: Manifest) -> Figures:
    shot = small.shots[0]
    parts = [_run(small, f"{shot.name}/part/{i}") for i in range(SAMPLES)]
    sums = [_run(small, f"{shot.name}/sum/1.{i}") for i in range(2)]
    picture = _run(small, f"{shot.name}/picture")
    each_cpu = max((sums[0].cpu_seconds - sums[1].cpu_seconds) / (FAN_IN - 2), 0.0)
    counted = _operations(small, shot) if shutil.which("strace") else OPERATIONS
    return Figures(
        machine=f"{platform.node()}, {farm.cpu}", date=time.strftime("%Y-%m-%d"), film_bytes=farm.film_bytes,
        part=_typical(parts, shot.setup_seconds + shot.seconds_per_sample, counted.part),
        sum=_typical(sums, 3 * each_cpu, counted.sum), picture=_typical([picture], 2 * each_cpu, counted.picture),
        added=Cost(each_cpu, 0.0, 0.0, counted.added), package_operations=counted.package, cache_bytes=_folder_bytes(farm.cache))


class Operations(NamedTuple):
    part: float
    package: float
    sum: float
    added: float
    picture: float


OPERATIONS = Operations(57, 143, 24, 2, 43)  # where there is no strace: those of the gallery's Cornell box


def _operations(small: Manifest, shot: manifest.Shot) -> Operations:
    scene = str(Path(shot.scene).resolve())
    for name in ("parts/{}/000000.part", "sums/{}/1.0.sum", "sums/{}/1.1.sum", "pictures/{}.json"):
        files.remove(small.path(name.format(shot.name)))
    part, package = _traced(small, f"{shot.name}/part/0", scene)
    four, two = (_traced(small, f"{shot.name}/sum/1.{i}", scene)[0] for i in range(2))
    each = max((four - two) / (FAN_IN - 2), 0.0)
    picture = _traced(small, f"{shot.name}/picture", scene)[0]
    return Operations(part, package, two - 2 * each, each, max(picture - 2 * each, 0.0))


def of_farm(farm: Manifest, tell) -> Figures:
    """Those that were measured before, else measured now."""
    path = farm.path(NAME)
    if path.exists():
        body = files.read_json(path)
        try:
            costs = {name: Cost(**body.pop(name)) for name in ("part", "sum", "picture", "added")}
            return Figures(**body, **costs)
        except (AttributeError, KeyError, TypeError) as why:
            raise FarmError(f"{path}: {why}: remove the file to have it measured again") from None
    tell(f"measuring what tasks of {farm.shots[0].name} cost")
    made = measure(farm)
    files.write_json(path, dataclasses.asdict(made))
    return made
