"""The engine of those who have none: tasks as processes on this machine, some at once."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from typing import Callable, Iterable

from . import records
from .errors import DAMAGED, DONE, GO_ON
from .manifest import Manifest
from .interruption import Interruption
from .tasks import Graph, Task, graph_of


LISTEN_S = 0.2  # until it is seen that the user asks for an end
POLL_S = 0.05  # between two looks at the tasks, where the system does not tell when they end
open_pidfd = getattr(os, "pidfd_open", None)  # of some Pythons


def own_command() -> list[str]:
    """How this program is started again, from any folder."""
    return [sys.executable, "-I", "-S", os.path.abspath(sys.argv[0])]


def _handle_of(process: subprocess.Popen) -> int | None:
    """A descriptor that can be read once the process has ended; None where the system has none. The caller closes it."""
    try:
        return open_pidfd(process.pid) if open_pidfd else None
    except OSError:
        return None


class Pool:
    """Tasks under way, each in a process `sort-farm run`."""

    def __init__(self, manifest: Manifest, jobs: int, interruption: Interruption, tell: Callable[[str], None]) -> None:
        self.manifest, self.jobs, self.interruption, self.tell = manifest, jobs, interruption, tell
        self.failed: list[str] = []
        self.is_damaged = False
        self._running: dict[subprocess.Popen, Task] = {}
        self._handles: dict[subprocess.Popen, int | None] = {}  # of _handle_of
        self._are_told = False  # to end
        self._failures: dict[str, int] = {}  # also of those that a full disk kept from being recorded

    def run(self, tasks: Iterable[Task]) -> None:
        """Runs tasks that do not need each other, each again until it is done or has failed for good."""
        waiting = list(tasks)
        waiting.reverse()
        while (waiting or self._running) and not (self.interruption.asked and not self._running):
            waiting += self._collect()
            while waiting and len(self._running) < self.jobs and not self.interruption.asked:
                self._start(waiting.pop())
            if self._running:
                self._pause()

    def _pause(self) -> None:
        """Waits for the end of a task, or a while."""
        if None in self._handles.values():
            time.sleep(POLL_S)
            return
        ends = select.poll()
        for handle in self._handles.values():
            ends.register(handle, select.POLLIN)
        ends.poll(1000 * LISTEN_S)

    def _start(self, task: Task) -> None:
        process = subprocess.Popen([*own_command(), "run", str(self.manifest.folder), task.id], stdin=subprocess.DEVNULL,
                                   start_new_session=True)
        self._running[process] = task
        self._handles[process] = _handle_of(process)

    def _collect(self) -> list[Task]:
        """Returns tasks that are to be tried again."""
        again = []
        if self.interruption.asked and not self._are_told:
            self._are_told = True
            for process in self._running:
                process.terminate()  # they write checkpoints
        for process in [p for p in self._running if p.poll() is not None]:
            task = self._running.pop(process)
            if (handle := self._handles.pop(process)) is not None:
                os.close(handle)
            if process.returncode == GO_ON or (process.returncode < 0 and not self.interruption.asked):
                again.append(task)
            elif process.returncode == DAMAGED:
                self.is_damaged = True
            elif process.returncode != DONE:
                self._failures[task.id] = self._failures.get(task.id, 0) + 1
                if 0 < records.failures(self.manifest, task) < self.manifest.retries > self._failures[task.id]:
                    again.append(task)
                else:
                    self.failed.append(task.id)
        return [] if self.interruption.asked else again


def run_all(manifest: Manifest, jobs: int, interruption: Interruption, tell: Callable[[str], None]) -> Pool:
    """Everything of the farm. A finished picture needs nothing but to be read."""
    pool = Pool(manifest, jobs, interruption, tell)
    graphs = [graph_of(manifest, shot.name) for shot in manifest.shots]
    depth = max(len(graph.stages) for graph in graphs)
    for step in range(depth):
        pool.run(task for graph in graphs if step == depth - 1 or not graph.result(graph.picture).exists()
                 for task in of_step(graph, step, depth) if task.shot not in {name.split("/")[0] for name in pool.failed})
        if interruption.asked:
            break
        tell(f"stage {step + 1} of {depth} {'has ended, with failures' if pool.failed else 'is done'}")
    return pool


def of_step(graph: Graph, step: int, depth: int) -> tuple[Task, ...]:
    """Tasks of one of `depth` steps of a farm, which wait for each other. Pictures come last."""
    if step == depth - 1:
        return graph.stages[-1].tasks
    return graph.stages[step].tasks if step < len(graph.stages) - 1 else ()
