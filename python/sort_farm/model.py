"""What a farm that is planned would do on a site that is not here: its own tasks and merges, simulated, with the costs that
were measured on this machine (figures.py).

A task waits for a free node, for the engine to start it, for answers to its operations on names; then

    part           takes set-up and samples, with a checkpoint each interval; its sums are written, and read back from memory
    sum, picture   reads its inputs, adds them, writes the sum

Nodes fail and come back, attempts fail, some nodes are slow. The textures travel to each node once."""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass, field
from typing import Generator

from . import local, records
from .figures import Figures
from .manifest import Manifest
from .simulate import Clock, Pipe, Process, Servers, Wait
from .tasks import Task, graph_of

BEAT_OPERATIONS = 5  # of a sign of life: made, written, synchronised, renamed, looked up


@dataclass
class Site:
    """What the farm has. Rates are those of all nodes together."""

    nodes: int = 1000
    cores: int = 32
    storage_rate: float = 10e9  # bytes a second, of the shared disk
    node_rate: float = 1e9  # of one node's way to it
    operations_rate: float = 20e3  # on names, a second
    start_rate: float = 20.0  # tasks that the engine starts a second
    node_hours: float = 2000.0  # between two failures of a node; 0: none
    repair_seconds: float = 600.0
    failing_share: float = 0.001  # of attempts at parts
    slow_share: float = 0.02  # of nodes
    slowness: float = 3.0
    has_barriers: bool = False  # no picture is merged before all parts are there, as with --local
    seed: int = 1


@dataclass
class Answer:
    seconds: float = 0.0
    tasks: int = 0
    render_seconds: float = 0.0  # of cores: set-up and samples
    overhead_seconds: float = 0.0  # of cores: what else tasks computed
    lost_seconds: float = 0.0  # of cores: held by attempts that died, since their last checkpoints
    node_failures: int = 0
    task_failures: int = 0
    moved_bytes: float = 0.0
    written_bytes: float = 0.0
    operations: float = 0.0
    alone: dict[str, float] = field(default_factory=dict)  # seconds that each resource needs if no other is in its way

    @property
    def limit(self) -> str:
        return max(self.alone, key=lambda name: self.alone[name])


@dataclass(eq=False)
class _Attempt:
    task: Task
    chain: int
    node: int
    since: float  # the clock when it began, or wrote its last checkpoint
    process: Process | None = None


class _Node:
    def __init__(self, speed: float) -> None:
        self.speed = speed
        self.attempts: set[_Attempt] = set()
        self.is_up, self.has_textures = True, False


class Model:
    """One simulation."""

    def __init__(self, farm: Manifest, figures: Figures, site: Site) -> None:
        self.farm, self.figures, self.site = farm, figures, site
        self.clock, self.random, self.answer = Clock(), random.Random(site.seed), Answer()
        self.slots = max(1, site.cores // farm.threads)
        slow = set(self.random.sample(range(site.nodes), round(site.nodes * site.slow_share)))
        self.nodes = [_Node(1.0 / site.slowness if i in slow else 1.0) for i in range(site.nodes)]
        self.storage = Pipe(self.clock, site.storage_rate, site.node_rate)
        beats = site.nodes * self.slots * BEAT_OPERATIONS / records.BEAT_S
        self.operations_rate = max(site.operations_rate - beats, site.operations_rate / 100)
        self.names, self.engine = Servers(self.clock), Servers(self.clock)
        self.free = [i for _ in range(self.slots) for i in range(site.nodes)]
        self.ready: list[tuple[int, int, Task]] = []  # a heap: shots in order, and what follows first
        self.kept: dict[str, float] = {}  # CPU seconds of samples in a part's checkpoint
        self.chains = self._chains()
        self.left = [0] * len(self.chains)
        self.unfinished = len(self.chains)
        self._queued = 0

    def _chains(self) -> list[list[tuple[Task, ...]]]:
        """Steps of which each waits for the one before; those of the last step are at the front."""
        graphs = [graph_of(self.farm, shot.name) for shot in self.farm.shots]
        if not self.site.has_barriers:
            return [[stage.tasks for stage in reversed(graph.stages)] for graph in graphs]
        depth = max(len(graph.stages) for graph in graphs)
        steps = [tuple(task for graph in graphs for task in local.of_step(graph, i, depth)) for i in range(depth)]
        return [steps[::-1]]

    def run(self) -> Answer:
        for chain in range(len(self.chains)):
            self._begin_step(chain)
        for node in range(len(self.nodes)) if self.site.node_hours else ():
            self._fail_later(node)
        self.clock.run(lambda: self.unfinished == 0)
        return self._finished()

    # --- the engine -----------------------------------------------------------------------------------------

    def _begin_step(self, chain: int) -> None:
        tasks = self.chains[chain].pop()
        self.left[chain] = len(tasks)
        for task in tasks:
            self._queue(chain, task)
        self._start_some()

    def _queue(self, chain: int, task: Task) -> None:
        self._queued += 1
        heapq.heappush(self.ready, (chain, self._queued, task))

    def _start_some(self) -> None:
        while self.ready and self.free:
            node = self.free.pop()
            if self.nodes[node].is_up:  # else its slots come back with it
                chain, _, task = heapq.heappop(self.ready)
                self._start(_Attempt(task, chain, node, self.clock.now))

    def _start(self, attempt: _Attempt) -> None:
        node = self.nodes[attempt.node]
        node.attempts.add(attempt)
        steps = self._part(attempt, node) if attempt.task.kind == "part" else self._merge(attempt.task, node)
        attempt.process = Process(self._begun(attempt, steps))

    def _begun(self, attempt: _Attempt, steps: Generator[Wait, None, bool]) -> Generator[Wait, None, None]:
        yield self.engine.use(1.0 / self.site.start_rate)
        attempt.since = self.clock.now
        has_result = yield from steps
        self.nodes[attempt.node].attempts.discard(attempt)
        self.free.append(attempt.node)
        if has_result:
            self.answer.tasks += 1
            self.left[attempt.chain] -= 1
        else:
            self._queue(attempt.chain, attempt.task)
        if self.left[attempt.chain] == 0 and has_result:
            self.unfinished -= not self.chains[attempt.chain]
            if self.chains[attempt.chain]:
                self._begin_step(attempt.chain)
        self._start_some()

    # --- tasks ----------------------------------------------------------------------------------------------

    def _operate(self, count: float) -> Wait:
        self.answer.operations += count
        return self.names.use(count / self.operations_rate)

    def _compute(self, node: _Node, seconds: float, threads: int = 1) -> Wait:
        return self.clock.delay(seconds / threads / node.speed)

    def _write(self, size_bytes: float) -> Wait:
        self.answer.written_bytes += size_bytes
        return self.storage.move(size_bytes)

    def _part(self, attempt: _Attempt, node: _Node) -> Generator[Wait, None, bool]:
        cost, task, threads = self.figures.part, attempt.task, self.farm.threads
        shot = self.farm.shot_of[task.shot]
        yield self._operate(cost.operations + self.figures.package_operations)
        if not node.has_textures:
            node.has_textures = True
            yield self.storage.move(self.figures.cache_bytes)
        yield self._compute(node, shot.setup_seconds)
        total, done = (task.end - task.begin) * shot.seconds_per_sample, self.kept.get(task.id, 0.0)
        if done:
            yield self.storage.move(self.figures.film_bytes)
        fails_at = done + (total - done) * self.random.random() if self.random.random() < self.site.failing_share else total
        while done < fails_at:
            step = min(self.farm.checkpoint_seconds * threads * node.speed, fails_at - done)
            yield self._compute(node, step, threads)
            done += step
            if done < fails_at:
                yield self._write(self.figures.film_bytes)
                self.kept[task.id], attempt.since = done, self.clock.now
        if fails_at < total:
            self.answer.task_failures += 1
            self._lose(attempt)
            return False
        yield self._write(cost.written_bytes)
        yield self._compute(node, cost.cpu_seconds)
        yield self.clock.delay(cost.wait_seconds)
        self.answer.render_seconds += shot.setup_seconds + total
        self.answer.overhead_seconds += cost.cpu_seconds
        return True

    def _merge(self, task: Task, node: _Node) -> Generator[Wait, None, bool]:
        cost, added, count = self.figures.picture if task.kind == "picture" else self.figures.sum, self.figures.added, len(task.inputs)
        yield self._operate(cost.operations + count * added.operations)
        yield self.storage.move(count * self.figures.film_bytes)
        yield self._compute(node, cost.cpu_seconds + count * added.cpu_seconds)
        yield self._write(cost.written_bytes)
        yield self.clock.delay(cost.wait_seconds)
        self.answer.overhead_seconds += cost.cpu_seconds + count * added.cpu_seconds
        return True

    # --- failures -------------------------------------------------------------------------------------------

    def _fail_later(self, node: int) -> None:
        self.clock.at(self.random.expovariate(1.0 / (self.site.node_hours * 3600.0)), lambda: self._fail(node))

    def _lose(self, attempt: _Attempt) -> None:
        threads = self.farm.threads if attempt.task.kind == "part" else 1
        self.answer.lost_seconds += (self.clock.now - attempt.since) * threads

    def _fail(self, number: int) -> None:
        node = self.nodes[number]
        self.answer.node_failures += 1
        node.is_up = node.has_textures = False
        for attempt in sorted(node.attempts, key=lambda a: a.task.id):
            attempt.process.stop()
            self._lose(attempt)
            self._queue(attempt.chain, attempt.task)
        node.attempts.clear()
        self.clock.at(self.site.repair_seconds, lambda: self._repair(number))
        self._start_some()

    def _repair(self, number: int) -> None:
        self.nodes[number].is_up = True
        self.free = [number] * self.slots + [i for i in self.free if i != number]
        self._fail_later(number)
        self._start_some()

    # --- the answer -----------------------------------------------------------------------------------------

    def _finished(self) -> Answer:
        answer, site = self.answer, self.site
        answer.seconds, answer.moved_bytes = self.clock.now, self.storage.moved_bytes
        speed = sum(node.speed for node in self.nodes) / len(self.nodes)
        cores = site.nodes * speed
        answer.alone = {
            "cores": (answer.render_seconds / (self.slots * self.farm.threads) + answer.overhead_seconds / self.slots) / cores,
            "storage": answer.moved_bytes / site.storage_rate, "names": answer.operations / self.operations_rate,
            "engine": self.engine.busy_seconds}
        return answer


def _size(count: float) -> str:
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count / 1e3:.3g} kB"


def _advice(farm: Manifest, answer: Answer) -> str:
    """Everything but rendering grows with the number of parts."""
    limit, cores = answer.alone[answer.limit], answer.alone["cores"]
    if limit < 1.5 * cores:
        return ""
    parts = sum(len(shot.ranges) for shot in farm.shots)
    if parts == len(farm.shots):
        return "each picture is one part already"
    wanted = answer.render_seconds / parts * 2 * limit / cores
    return f"with parts of {wanted:.2g} s (--part-seconds) cores would be the limit, not {answer.limit}"


def as_text(farm: Manifest, figures: Figures, site: Site, answer: Answer) -> str:
    from .status import duration
    parts = sum(len(shot.ranges) for shot in farm.shots)
    render = max(answer.render_seconds, 1e-9)
    notes = {
        "cores": f"{duration(render)} of rendering, {100 * answer.overhead_seconds / render:.2g} % more for other work, "
                 f"{100 * answer.lost_seconds / render:.2g} % lost by failures",
        "storage": f"{_size(answer.moved_bytes)}, {_size(answer.written_bytes)} of it written, at {_size(site.storage_rate)}/s",
        "names": f"{answer.operations:.3g} operations on names, at {site.operations_rate:.3g}/s",
        "engine": f"tasks started, at {site.start_rate:g}/s"}
    lines = [f"{site.nodes} nodes of {site.cores} cores, {farm.threads} threads a task: {len(farm.shots)} pictures, {parts} parts of "
             f"{_size(figures.film_bytes)} that take {duration(render / parts)} of CPU time each",
             f"done in {duration(answer.seconds)}; {answer.node_failures} nodes and {answer.task_failures} attempts failed", "",
             f"{'':<8} {'needs alone':>11}"]
    lines += [f"{name:<8} {duration(seconds):>11}  {notes[name]}" for name, seconds in answer.alone.items()]
    advice = _advice(farm, answer)
    return "\n".join([*lines, *([advice] if advice else [])])
