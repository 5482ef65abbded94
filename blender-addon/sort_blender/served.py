"""`sort-render serve` as a child process (docs/reference/serve.md): commands in, events out.

Threads: `send` may be called from any; one thread follows. Two threads read the child's pipes. The child ends by itself when
its standard input does, so also when Blender is killed.
"""

from __future__ import annotations

import collections
import json
import queue
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO

from . import caches
from .messages import SortError
from .process import describe_end

PROTOCOL = 1
ENDS = ("done", "stopped", "error")
MESSAGES_KEPT = 20
PATIENCE_S = 5  # for the end of a child whose input has ended


class RendererEnded(SortError):
    """The process has gone by itself."""


class Renderer:
    def __init__(self, program: Path) -> None:
        self.program = program
        self._events: queue.SimpleQueue = queue.SimpleQueue()
        self._said: collections.deque[str] = collections.deque(maxlen=MESSAGES_KEPT)
        self._lock = threading.Lock()
        self._last = 0
        try:
            self._child = subprocess.Popen([str(program), "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                           stderr=subprocess.PIPE, encoding="utf-8", errors="replace", start_new_session=True,
                                           env=caches.environment())
        except OSError as error:
            raise SortError(f"{program} cannot be run: {error.strerror}") from error
        self._listener = threading.Thread(target=self._listen, args=(self._child.stderr,), daemon=True)
        self._listener.start()
        threading.Thread(target=self._read, args=(self._child.stdout,), daemon=True).start()
        try:
            hello = self._next()
            if hello.get("event") != "ready" or hello.get("protocol") != PROTOCOL:
                raise SortError(f"{program} speaks another protocol than this add-on: {hello}")
        except SortError:
            self.close()
            raise

    def send(self, command: str, **fields: object) -> int:
        """The number of the command, for `follow`."""
        with self._lock:
            self._last += 1
            line = json.dumps({"command": command, "id": self._last, **fields}, ensure_ascii=False) + "\n"
            try:
                self._child.stdin.write(line)
                self._child.stdin.flush()
            except (OSError, ValueError):  # it has ended, or was closed: `follow` tells
                pass
            return self._last

    def follow(self, number: int, on_event: Callable[[dict], None]) -> dict:
        """The event that ends the command; on_event gets those before. RendererEnded: there will be none."""
        while True:
            event = self._next()
            if event.get("event") in ENDS and event.get("id") == number:
                return event
            on_event(event)

    def close(self) -> None:
        """At once; any thread, also a second time."""
        with self._lock:
            try:
                self._child.stdin.close()
            except OSError:
                pass
        if self._child.poll() is None:
            killer = threading.Timer(PATIENCE_S, self._child.kill)
            killer.daemon = True
            killer.start()

    def process_id(self) -> int:
        return self._child.pid

    def _next(self) -> dict:
        event = self._events.get()
        if event is None:
            self._events.put(None)  # for whoever asks again
            self.close()
            self._listener.join(PATIENCE_S)
            raise RendererEnded(describe_end(self._child.wait(), list(self._said)))
        return event

    def _read(self, pipe: IO[str]) -> None:
        with pipe:
            for line in pipe:
                try:
                    event = json.loads(line)
                except ValueError:
                    continue  # a line cut short by a child that died
                if isinstance(event, dict):
                    self._events.put(event)
        self._events.put(None)

    def _listen(self, pipe: IO[str]) -> None:
        with pipe:
            for line in pipe:
                if line.strip():
                    self._said.append(line.rstrip("\n"))
