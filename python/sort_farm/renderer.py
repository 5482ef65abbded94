"""Calls of sort-render: what a part holds, merging, and a render that can be interrupted."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from .errors import USAGE, FarmError
from .interruption import Interruption

FILES_A_CALL = 500  # paths on one command line
GRACE_S = 50.0  # for a renderer to write its checkpoint after it was asked to end
MESSAGE_BYTES = 4000
_PR_SET_PDEATHSIG = 1


def find(named: str | None = None) -> str:
    """The renderer: $SORT_RENDER, the one that is named, the one beside this program, or that of the PATH."""
    beside = Path(sys.argv[0]).absolute().parent / "sort-render"
    for choice in (os.environ.get("SORT_RENDER"), named, str(beside) if beside.exists() else None,
                   shutil.which("sort-render")):
        if choice:
            if not os.access(choice, os.X_OK):
                raise FarmError(f"{choice}: this renderer cannot be executed", USAGE)
            return choice
    raise FarmError("sort-render: not found beside this program nor on the PATH; $SORT_RENDER may name it", USAGE)


def _call(command: list[str]) -> subprocess.CompletedProcess:
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    except OSError as why:
        raise FarmError(f"{command[0]}: cannot be started: {why.strerror}") from None


def version(program: str) -> str:
    done = _call([program, "--version"])
    if done.returncode != 0:
        raise FarmError(f"{program}: --version ends with {done.returncode}: {done.stderr.strip()}")
    return done.stdout.strip()


def cpu_class(program: str, name: str = "native") -> str:
    """The class that parts of this machine have with `--cpu name`."""
    for line in _call([program, "--list", "cpus"]).stdout.splitlines():
        if line.split(maxsplit=1)[:1] == [name]:
            return line.rsplit(" ", 1)[1]
    raise FarmError(f"{program}: --list cpus does not name this machine's class for '{name}'")


def verify(program: str, paths: list[Path], adaptive: float | None = None) -> list[dict]:
    """What each partial result holds, or its "error". Reads each to its end."""
    found = []
    judge = ["--adaptive", repr(adaptive)] if adaptive else []
    for i in range(0, len(paths), FILES_A_CALL):
        batch = [str(path) for path in paths[i:i + FILES_A_CALL]]
        done = _call([program, "verify", *judge, *batch])
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        if len(lines) != len(batch):
            raise FarmError(f"{program} verify: ended with {done.returncode} after {len(lines)} of {len(batch)} files: "
                            f"{done.stderr[-MESSAGE_BYTES:].strip()}")
        found += lines
    return found


def why(ended: subprocess.CompletedProcess, what: str) -> str:
    """Of a call that failed: what it said, and if it was killed, that it was."""
    if ended.returncode >= 0:
        return ended.stderr.strip() or f"{what} ended with {ended.returncode}"
    killed = f"{what} was killed by signal {-ended.returncode}{' (out of memory?)' if ended.returncode == -9 else ''}"
    return f"{killed}: {ended.stderr.strip()}" if ended.stderr.strip() else killed


def merge(program: str, inputs: list[Path], options: list[str]) -> subprocess.CompletedProcess:
    return _call([program, "merge", *map(str, inputs), *options])


@dataclass
class Ended:
    code: int  # -N: by signal N
    message: str  # the last of standard error
    cpu_seconds: float
    seconds: float
    was_asked: bool  # to end, by a signal to this process
    was_silent: bool  # for too long, and was stopped


def _end_with(parent: int) -> Callable[[], None]:
    """For the child: it is asked to end, and writes its checkpoint, should this process be killed."""
    prctl = ctypes.CDLL(None).prctl

    def prepare() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # which was killed before this was set
            os._exit(1)

    return prepare


class _Listener:
    """Reads both streams of a renderer, so that it never waits for us."""

    def __init__(self, child: subprocess.Popen, progress: Callable[[float], None]) -> None:
        self.heard_s = time.monotonic()
        self.messages = b""
        self.has_ended = threading.Event()  # it has closed what it tells progress by
        self._rays = None
        self._progress = progress
        self._threads = [threading.Thread(target=self._read_progress, args=(child.stdout,), daemon=True),
                         threading.Thread(target=self._read_messages, args=(child.stderr,), daemon=True)]
        for thread in self._threads:
            thread.start()

    def _read_progress(self, stream) -> None:
        for line in stream:
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if record.get("rays", -1) != self._rays:  # a clock that ticks is no sign of life, a ray is
                self.heard_s = time.monotonic()
                self._rays = record.get("rays", -1)
            if "done" in record:
                self._progress(record["done"])
        self.has_ended.set()

    def _read_messages(self, stream) -> None:
        for line in stream:
            self.heard_s = time.monotonic()
            self.messages = (self.messages + line)[-MESSAGE_BYTES:]

    def finish(self) -> str:
        for thread in self._threads:
            thread.join(5)
        return self.messages.decode(errors="replace").strip()


def _wait(child: subprocess.Popen, listener: _Listener, interruption: Interruption, stall_s: float) -> tuple[int, bool]:
    """The exit code, and whether it was silent for too long."""
    asked_s, was_silent = None, False
    while True:
        listener.has_ended.wait(0.2)  # Popen.wait would look twenty times a second
        if child.poll() is not None:
            return child.returncode, was_silent
        if listener.has_ended.is_set():
            time.sleep(0.01)
        now = time.monotonic()
        if interruption.asked or was_silent:
            asked_s = asked_s or now
            if now - asked_s > GRACE_S:
                child.kill()
        elif now - listener.heard_s > stall_s:
            was_silent = True
            child.terminate()


def render(command: list[str], interruption: Interruption, stall_s: float, progress: Callable[[float], None]) -> Ended:
    """Runs the renderer until it ends. Asked to end, it has GRACE_S to write its checkpoint, then it is killed; so it is
    when it says nothing for stall_s."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 preexec_fn=_end_with(os.getpid()))
    except OSError as why:
        raise FarmError(f"{command[0]}: cannot be started: {why.strerror}") from None
    listener = _Listener(child, progress)
    interruption.watch(child)
    try:
        code, was_silent = _wait(child, listener, interruption, stall_s)
    finally:
        interruption.watch(None)
        child.kill()  # of use only if this process was asked to end at once
    message = listener.finish()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Ended(code, message, cpu, time.monotonic() - begun, interruption.asked, was_silent)
