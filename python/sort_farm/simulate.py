"""A discrete-event simulation: a clock, processes, and what they wait for.

A process is a generator. What it yields is a function that is called with the process's continuation, once:

    def errand(clock, desk, pipe):
        yield clock.delay(3.0)
        yield desk.use(0.5)
        yield pipe.move(1e9)
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from typing import Callable, Generator

Resume = Callable[[], None]
Wait = Callable[[Resume], None]


class Clock:
    """Events in order of time; those of one time in the order in which they were asked for."""

    def __init__(self) -> None:
        self.now = 0.0
        self._due: list[tuple[float, int, Resume]] = []
        self._count = 0

    def at(self, delay: float, then: Resume) -> None:
        self._count += 1
        heapq.heappush(self._due, (self.now + delay, self._count, then))

    def delay(self, seconds: float) -> Wait:
        return lambda resume: self.at(seconds, resume)

    def run(self, is_over: Callable[[], bool] = lambda: False) -> None:
        while self._due and not is_over():
            self.now, _, then = heapq.heappop(self._due)
            then()


class Process:
    """A generator under way. A process that is stopped never goes on; what it waits for is used up all the same."""

    def __init__(self, steps: Generator[Wait, None, None], ended: Resume = lambda: None) -> None:
        self._steps, self._ended = steps, ended
        self._is_stopped = False
        self._go_on()

    def _go_on(self) -> None:
        if self._is_stopped:
            return
        wait = next(self._steps, None)
        if wait:
            wait(self._go_on)
        else:
            self._ended()

    def stop(self) -> None:
        self._is_stopped = True
        self._steps.close()


class Servers:
    """Some servers and a queue: first come, first served."""

    def __init__(self, clock: Clock, count: int = 1) -> None:
        self.count, self.busy_seconds = count, 0.0
        self._clock, self._free = clock, count
        self._queue: deque[tuple[float, Resume]] = deque()

    def use(self, seconds: float) -> Wait:
        def ask(resume: Resume) -> None:
            self._queue.append((seconds, resume))
            self._serve()
        return ask

    def _serve(self) -> None:
        while self._free and self._queue:
            seconds, resume = self._queue.popleft()
            self._free -= 1
            self.busy_seconds += seconds
            self._clock.at(seconds, lambda resume=resume: self._end(resume))

    def _end(self, resume: Resume) -> None:
        self._free += 1
        resume()
        self._serve()


class Pipe:
    """Flows share a rate equally; none gets more than `flow_rate`. All get the same, so one number says what each has got
    since the beginning, and a flow ends when that has grown by the flow's bytes."""

    def __init__(self, clock: Clock, rate: float, flow_rate: float = math.inf) -> None:
        self.rate, self.moved_bytes = rate, 0.0
        self._clock, self._flow_rate = clock, flow_rate
        self._got, self._since = 0.0, 0.0
        self._ends: list[tuple[float, int, Resume]] = []
        self._count = self._version = 0

    def _each(self) -> float:
        return min(self._flow_rate, self.rate / max(len(self._ends), 1))

    def _advance(self) -> None:
        self._got += (self._clock.now - self._since) * self._each() if self._ends else 0.0
        self._since = self._clock.now

    def move(self, size_bytes: float) -> Wait:
        def ask(resume: Resume) -> None:
            if self._each() == math.inf or not size_bytes:
                self.moved_bytes += size_bytes
                self._clock.at(0.0, resume)
                return
            self._advance()
            self._count += 1
            heapq.heappush(self._ends, (self._got + size_bytes, self._count, resume))
            self.moved_bytes += size_bytes
            self._plan()
        return ask

    def _plan(self) -> None:
        """The first flow's end, unless another event changes the rate before."""
        self._version += 1
        if self._ends:
            left = max(self._ends[0][0] - self._got, 0.0)
            self._clock.at(left / self._each(), lambda version=self._version: self._end(version))

    def _end(self, version: int) -> None:
        if version != self._version:
            return
        self._advance()
        self._got, _, resume = heapq.heappop(self._ends)
        self._plan()
        resume()
