"""The tasks of a farm, in the order in which they need each other:

    SHOT/part/I       renders the samples of range I
    SHOT/sum/L.I      adds up to fan_in results of the level below (parts, at level 1)
    SHOT/picture      adds the last sums and writes the picture

Adaptive sampling has a sum for each round, which adds the round's parts to the sum before; parts of the next round need it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .errors import USAGE, FarmError
from .manifest import Manifest, Shot


@dataclass(frozen=True)
class Task:
    id: str
    shot: str
    kind: str  # part, sum, picture
    level: int  # 0 for parts
    begin: int  # samples that the result holds
    end: int
    inputs: tuple[str, ...]  # tasks whose results are added
    after: str | None = None  # the sum that decides which pixels go on
    round: int = 0

    @property
    def name(self) -> str:
        """What tells it from others of its shot, fit for file names."""
        return self.id.split("/", 1)[1].replace("/", "-")


@dataclass(frozen=True)
class Stage:
    """Tasks that may run at once, and need the stages before."""

    name: str  # SHOT/part, SHOT/sum/L, SHOT/picture
    tasks: tuple[Task, ...]


def _parts(shot: Shot) -> list[Task]:
    rounds = shot.rounds or [len(shot.ranges)]
    tasks, index = [], 0
    for number, count in enumerate(rounds):
        after = f"{shot.name}/sum/{number}.0" if number else None
        for begin, end in shot.ranges[index:index + count]:
            tasks.append(Task(f"{shot.name}/part/{len(tasks)}", shot.name, "part", 0, begin, end, (), after, number))
        index += count
    return tasks


def _sum(shot: Shot, level: int, index: int, inputs: list[Task], number: int = 0) -> Task:
    return Task(f"{shot.name}/sum/{level}.{index}", shot.name, "sum", level, inputs[0].begin, inputs[-1].end,
                tuple(task.id for task in inputs), None, number)


def _picture(shot: Shot, inputs: list[Task]) -> Stage:
    return Stage(f"{shot.name}/picture", (Task(f"{shot.name}/picture", shot.name, "picture", 0, inputs[0].begin,
                                               inputs[-1].end, tuple(task.id for task in inputs)),))


def _tree(shot: Shot, fan_in: int) -> list[Stage]:
    results = _parts(shot)
    stages = [Stage(f"{shot.name}/part", tuple(results))]
    while len(results) > fan_in:
        level = len(stages)
        results = [_sum(shot, level, i // fan_in, results[i:i + fan_in]) for i in range(0, len(results), fan_in)]
        stages.append(Stage(f"{shot.name}/sum/{level}", tuple(results)))
    return [*stages, _picture(shot, results)]


def _rounds(shot: Shot) -> list[Stage]:
    parts, stages, total = _parts(shot), [], []
    for number in range(len(shot.rounds)):
        of_round = [task for task in parts if task.round == number]
        stages.append(Stage(f"{shot.name}/part", tuple(of_round)))
        total = [_sum(shot, number + 1, 0, total + of_round, number)]
        stages.append(Stage(f"{shot.name}/sum/{number + 1}", tuple(total)))
    return [*stages, _picture(shot, total)]


class Graph:
    """The tasks of one shot."""

    def __init__(self, manifest: Manifest, shot: Shot) -> None:
        self.manifest, self.shot = manifest, shot
        self.stages = _rounds(shot) if shot.rounds else _tree(shot, manifest.fan_in)
        self.tasks = {task.id: task for stage in self.stages for task in stage.tasks}

    @property
    def picture(self) -> Task:
        return self.stages[-1].tasks[0]

    def inputs(self, task: Task) -> list[Task]:
        return [self.tasks[name] for name in task.inputs]

    def result(self, task: Task) -> Path:
        """The file that the task makes; of a picture, its record."""
        m = self.manifest
        if task.kind == "picture":
            return m.path("pictures", f"{task.shot}.json")
        number = task.name.split("-", 1)[1]
        if task.kind == "part":
            return m.path("parts", task.shot, f"{int(number):06}.part")
        return m.path("sums", task.shot, f"{number}.sum")

    def judgement(self, number: int) -> Path:
        """The record of a round's sum: how many pixels it leaves open."""
        return self.manifest.path("sums", self.shot.name, f"{number + 1}.0.json")

    def checkpoint(self, task: Task) -> Path:
        return self.manifest.path("checkpoints", task.shot, f"{task.name}.checkpoint")

    def unread(self, task: Task, writer: str) -> Path:
        """A finished part that its writer has not read back yet."""
        return self.manifest.path("checkpoints", task.shot, f"{task.name}.{writer}.part")


def graph_of(manifest: Manifest, shot: str) -> Graph:
    if shot not in manifest.shot_of:
        some = ", ".join(list(manifest.shot_of)[:8])
        raise FarmError(f"{manifest.path('manifest.json')}: there is no shot '{shot}'; there are {some}", USAGE)
    return Graph(manifest, manifest.shot_of[shot])


def find(manifest: Manifest, task_id: str) -> tuple[Graph, Task]:
    graph = graph_of(manifest, task_id.split("/", 1)[0])
    if task_id not in graph.tasks:
        last = graph.stages[-1].tasks[0].id
        raise FarmError(f"{manifest.path('manifest.json')}: there is no task '{task_id}'; there are "
                        f"{graph.shot.name}/part/0 to {len(graph.shot.ranges) - 1}, sums, and {last}", USAGE)
    return graph, graph.tasks[task_id]
