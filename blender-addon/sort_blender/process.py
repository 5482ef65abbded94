"""sort-render as a child process.

Two threads read its pipes into one queue; the caller's thread takes records from the queue, shows them and
asks whether to cancel. The child has a session of its own, so a Ctrl-C on Blender's terminal reaches it
only once, from here: a second signal would end it before it has written its picture.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from . import caches, stand_in
from .messages import Report, SortError

EXIT_DONE, EXIT_FAILED, EXIT_USAGE, EXIT_DAMAGED, EXIT_INTERRUPTED = range(5)  # docs/reference/sort-render.md
POLL_S = 0.1
PATIENCE_S = 10  # after a cancel, to write the picture
NAME = "sort-render"
CANNOT_GO_ON = "cannot be resumed"  # of a checkpoint, in its messages


@dataclass(frozen=True)
class RenderJob:
    program: Path
    package: Path
    picture: Path
    stats: Path
    filter_width_px: float  # full width; 0: the renderer's own
    texture_memory_mib: int
    texture_folder: str  # where the package's textures are looked for besides the package; "": nowhere
    threads: int  # 0: all
    update_interval_s: float = 0.0  # of job.picture while rendering; 0: only at the end
    layers: tuple[str, ...] = ()  # of --aov
    options: tuple[str, ...] = ()  # further ones
    denoising: tuple[str, ...] = ()  # options; none: the picture stays as it is
    checkpoint: Path | None = None  # keeps the samples of an interrupted render, with which the next one goes on; None: they are lost
    goes_on: bool = True  # with the checkpoint, if it is there

    def arguments(self) -> list[str]:
        args = [str(self.program), str(self.package), "-o", str(self.picture), "--stats", str(self.stats),
                "--progress", "json", "--exr-type", "float", *self.scene_options(), *self.denoising]
        if self.layers:
            args += ["--aov", ",".join(self.layers)]
        if self.update_interval_s > 0:
            args += ["--update-interval", f"{self.update_interval_s:g}"]
        if self.checkpoint:
            args += ["--checkpoint", str(self.checkpoint), *(["--resume"] if self.goes_on else [])]
        return args

    def scene_options(self) -> list[str]:
        """Those that all pictures of the scene have."""
        args = ["--missing", "magenta", "--texture-memory", f"{self.texture_memory_mib}M", *self.options]
        if self.filter_width_px:
            args += ["--filter-width", f"{self.filter_width_px:g}"]
        if self.texture_folder:
            args += ["--texture-path", self.texture_folder]
        if self.threads:
            args += ["--threads", str(self.threads)]
        return args


@dataclass(frozen=True)
class Watcher:
    """What the caller wants to know and to say while the child runs."""
    on_record: Callable[[dict], None]
    is_cancelled: Callable[[], bool]
    patience_s: float = PATIENCE_S  # after a cancel; 0: it ends at once and writes nothing


def run_render(job: RenderJob, watcher: Watcher, report: Report) -> bool:
    """True when job.picture is complete, False when cancelled: it may then hold a part, or not be there.
    Messages of the child become warnings of `report`, or the text of the SortError. Materials that it refuses become magenta; with a
    checkpoint that it refuses it begins anew, and without one where there can be none, as on a full disk."""
    while True:
        try:
            return _run_once(job, watcher, report)
        except SortError as error:
            if job.checkpoint and job.goes_on and CANNOT_GO_ON in str(error):
                job = replace(job, goes_on=False)  # the scene was edited since, or the file is damaged
                continue
            if job.checkpoint and str(job.checkpoint) in str(error) and not job.picture.exists():
                report.warn("Go On After Interruptions", f"{error}; what is interrupted begins anew")
                job = replace(job, checkpoint=None)
                continue
            refused = stand_in.replace_refused(job.package, str(error))
            if refused is None:
                raise
            report.warn(f"Material '{refused[0]}'", refused[1])


def _run_once(job: RenderJob, watcher: Watcher, report: Report) -> bool:
    environment = caches.environment()
    if environment:
        report.warn(str(caches.folder()), caches.KEPT_BRIEFLY)
    try:
        child = subprocess.Popen(job.arguments(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, encoding="utf-8", errors="replace",
                                 start_new_session=True, env=environment)
    except OSError as error:
        raise SortError(f"{job.program} cannot be run: {error.strerror}") from error
    with child:
        try:
            lines, is_cancelled = _follow(child, watcher)
        finally:
            _end(child)
    return _judge(child.returncode, is_cancelled, lines, report)


def _read(kind: str, pipe: IO[str], out: queue.SimpleQueue) -> None:
    for line in pipe:
        out.put((kind, line.rstrip("\n")))
    out.put((kind, None))


def _follow(child: subprocess.Popen, watcher: Watcher) -> tuple[list[str], bool]:
    """The lines of standard error, and whether the child was told to stop."""
    events: queue.SimpleQueue = queue.SimpleQueue()
    for kind, pipe in (("record", child.stdout), ("message", child.stderr)):
        threading.Thread(target=_read, args=(kind, pipe, events), daemon=True).start()
    lines: list[str] = []
    is_cancelled = False
    open_pipes = 2
    while open_pipes:
        if not is_cancelled and watcher.is_cancelled():
            is_cancelled = True
            _stop(child, watcher.patience_s)
        try:
            kind, line = events.get(timeout=POLL_S)
        except queue.Empty:
            continue
        if line is None:
            open_pipes -= 1
        elif kind == "message":
            lines.append(line)
        else:
            _pass_record(line, watcher)
    child.wait()
    return lines, is_cancelled


def _stop(child: subprocess.Popen, patience_s: float) -> None:
    if patience_s <= 0:
        child.kill()
        return
    child.send_signal(signal.SIGTERM)
    killer = threading.Timer(patience_s, child.kill)
    killer.daemon = True
    killer.start()


def _pass_record(line: str, watcher: Watcher) -> None:
    try:
        record = json.loads(line)
    except ValueError:
        return  # a line cut short by a child that died; its exit code tells
    if isinstance(record, dict):
        watcher.on_record(record)


def _end(child: subprocess.Popen) -> None:
    """Also when the caller's code failed: no renderer stays behind."""
    if child.poll() is None:
        child.kill()
        child.wait()


def _judge(code: int, is_cancelled: bool, lines: list[str], report: Report) -> bool:
    said = [line for line in lines if line.strip()]
    if is_cancelled:
        return False
    if code in (EXIT_DONE, EXIT_DAMAGED):
        for line in said:
            report.warn("", line.removeprefix(NAME + ": ").removeprefix("warning: "))
        return True
    raise SortError(describe_end(code, said))


def describe_end(code: int, said: list[str]) -> str:
    """What to tell the artist of a renderer that ended with this code after these messages."""
    lines = list(said)
    if code < 0:
        lines.append(f"{NAME} was ended by {_signal_name(-code)}")
    elif not lines:
        lines.append(f"{NAME} ended with exit code {code} and no message")
    return "\n".join(lines).removeprefix(NAME + ": ")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def filesystem_root() -> str:
    """Textures on disk are named by their whole path below this folder; "": not possible here."""
    return "/" if os.sep == "/" else ""
