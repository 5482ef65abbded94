"""What is there, who works, what has failed; for people, for pages and as JSON."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

from . import files, records
from .errors import DONE, FAILED, UNFINISHED, FarmError
from .manifest import Manifest, Shot
from .tasks import Graph, graph_of
from .work import Worker, open_pixels


@dataclass
class ShotStatus:
    name: str
    parts: int
    parts_there: int  # or held by a sum that is there
    samples: int
    samples_there: int
    is_finished: bool
    is_damaged: bool
    running: list[dict] = field(default_factory=list)
    lost: list[dict] = field(default_factory=list)  # under way once, without a sign of life
    failures: list[dict] = field(default_factory=list)  # attempts
    gave_up: list[str] = field(default_factory=list)  # tasks that have failed too often and are not there
    interruptions: int = 0
    cpu_seconds: float = 0.0
    expected_seconds: float = 0.0  # of CPU time, for what is left
    output: str = ""
    preview: str | None = None


def _there(folder: Path) -> set[str]:
    try:
        return set(os.listdir(folder))
    except FileNotFoundError:
        return set()
    except OSError as why:
        raise FarmError(f"{folder}: cannot be read: {files.reason(why)}") from None


def missing_parts(graph: Graph, worker: Worker | None) -> list:
    """Parts that have to be rendered still. With a worker, each is read, and damaged ones are set aside."""
    m, shot = graph.manifest, graph.shot.name
    parts, sums = _there(m.path("parts", shot)), _there(m.path("sums", shot))
    needless: set[str] = set()  # parts and sums that a sum which is there already holds
    missing = []
    last_round = _last_round(graph)
    for stage in reversed(graph.stages[:-1]):
        for task in reversed(stage.tasks):
            path = graph.result(task)
            if task.id in needless or task.round > last_round:
                needless.update(task.inputs)
            elif path.name in (parts if task.kind == "part" else sums) and not (worker and not worker.is_there(graph, task)):
                needless.update(task.inputs)
            elif task.kind == "part":
                missing.append(task)
    missing.reverse()
    return missing


def _last_round(graph: Graph) -> int:
    """The round that adaptive sampling has ended with, or the last one."""
    return next((number for number in range(len(graph.shot.rounds)) if open_pixels(graph, number) == 0), len(graph.shot.rounds))


def _picture(graph: Graph) -> dict | None:
    """The record of the finished picture; None: there is none, or it is damaged."""
    try:
        record = files.read_json(graph.result(graph.picture))
    except FarmError:
        return None
    return record if isinstance(record, dict) and "outputs" in record and "is_damaged" in record else None


def of_shot(manifest: Manifest, shot: Shot, worker: Worker | None = None) -> ShotStatus:
    graph = graph_of(manifest, shot.name)
    picture = _picture(graph)
    if picture and worker and not worker.is_there(graph, graph.picture):
        picture = None
    missing = [] if picture else missing_parts(graph, worker)
    samples = sum(end - begin for begin, end in shot.ranges)
    left = sum(task.end - task.begin for task in missing)
    found = records.attempts(manifest, shot.name)
    under_way = records.running(manifest, shot.name)
    counted: dict[str, int] = {}
    for record in found:
        if record["outcome"] == "failed" and not record.get("forgiven"):
            counted[record["task"]] = counted.get(record["task"], 0) + 1
    there = {task.id for stage in graph.stages for task in stage.tasks if counted.get(task.id) and graph.result(task).exists()}
    return ShotStatus(
        name=shot.name, parts=len(shot.ranges), parts_there=len(shot.ranges) - len(missing), samples=samples,
        samples_there=samples - left, is_finished=picture is not None, is_damaged=bool(picture and picture["is_damaged"]),
        running=[r for r in under_way if not r["is_lost"]], lost=[r for r in under_way if r["is_lost"]],
        failures=[r for r in found if r["outcome"] == "failed"],
        gave_up=[] if picture else [t for t, n in counted.items() if n >= manifest.retries and t not in there],
        interruptions=sum(1 for r in found if r["outcome"] == "go_on"),
        cpu_seconds=sum(r["cpu_seconds"] for r in found),
        expected_seconds=left * shot.seconds_per_sample + len(missing) * shot.setup_seconds, output=shot.output)


def of_farm(manifest: Manifest, worker: Worker | None = None) -> list[ShotStatus]:
    if worker:  # which reads all results, one after another
        return [of_shot(manifest, shot, worker) for shot in manifest.shots]
    return files.at_once(lambda shot: of_shot(manifest, shot), manifest.shots)


def exit_code(shots: list[ShotStatus]) -> int:
    if all(shot.is_finished for shot in shots):
        return DONE
    return FAILED if any(shot.gave_up for shot in shots) else UNFINISHED


def duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def size(count: float) -> str:
    """Of bytes, as people read it."""
    units = ["bytes", "KiB", "MiB", "GiB", "TiB"]
    while count >= 1000 and len(units) > 1:
        count /= 1024
        units.pop(0)
    return f"{count:.3g} {units[0]}"


def as_text(manifest: Manifest, shots: list[ShotStatus]) -> str:
    """A line a shot, then what has failed, the last of each task."""
    lines = [f"{'shot':<16} {'parts':>13} {'samples':>8}  {'running':>7} {'failed':>6}  {'CPU time':>8}  {'left':>8}"]
    for s in shots:
        state = "finished" if s.is_finished else duration(s.expected_seconds)
        lines.append(f"{s.name:<16} {f'{s.parts_there}/{s.parts}':>13} {100 * s.samples_there // max(s.samples, 1):>7}%  "
                     f"{len(s.running):>7} {len(s.failures):>6}  {duration(s.cpu_seconds):>8}  {state:>8}")
    for s in shots:
        last = {record["task"]: record for record in s.failures}
        for task, record in last.items():
            count = sum(1 for r in s.failures if r["task"] == task)
            word = "gave up" if task in s.gave_up else "failed"
            lines.append(f"{task}: {word} {count} time{'s' if count > 1 else ''}, last on {record['host']}: "
                         f"{record['message'].splitlines()[-1] if record['message'] else 'without a word'}")
        for record in [] if s.is_finished else s.lost:
            lines.append(f"{record['task']}: no sign of life from {record['host']} since "
                         f"{duration(record['silent_seconds'])}")
    return "\n".join(lines)


def as_json(manifest: Manifest, shots: list[ShotStatus]) -> dict:
    return {"farm": str(manifest.folder), "exit_code": exit_code(shots), "shots": [asdict(shot) for shot in shots]}
