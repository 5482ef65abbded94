"""Makes results: of a task, and of what it needs if that is missing or damaged.

A result is made beside its name and gets its name when it was read back and found to be what the manifest says. So a file
with a result's name is a result, unless the disk changed it since; whoever adds it reads its check sum.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path

from . import files, renderer, staging
from .errors import DAMAGED, DONE, GO_ON, FarmError, tell
from .interruption import Interruption
from .manifest import Manifest
from .records import Attempt
from .stamp import package_stamp
from .tasks import Graph, Task

SAME = ("scene", "cpu", "filter", "nominal_samples", "seed", "width", "height", "crop")


class GoOn(Exception):
    """The work was interrupted, and a checkpoint holds what was rendered."""


def difference(manifest: Manifest, graph: Graph, task: Task, found: dict) -> str | None:
    """What is wrong with a result as `sort-render verify` describes it; None: nothing."""
    if "error" in found:
        return found["error"]
    path = found["path"]
    expected = {"cpu": manifest.cpu, "nominal_samples": manifest.samples, **(graph.shot.identity or {})}
    for name in SAME:
        if name in expected and found[name] != expected[name]:
            return f"{path}: {name} is {found[name]}, and {expected[name]} in the manifest"
    if found["is_checkpoint"]:
        return f"{path}: an unfinished render"
    if found["ranges"] != [[task.begin, task.end]]:
        return f"{path}: holds the samples {found['ranges']} instead of {task.begin}:{task.end}"
    pixels = found["crop"][2] * found["crop"][3]
    taken, due = found["samples"] + found["dropped"], pixels * (task.end - task.begin)
    if taken != due and not (manifest.adaptive and taken < due):
        return f"{path}: holds {taken} samples instead of {due}"
    if found["is_damaged"] and not manifest.may_be_damaged:
        return (f"{path}: rendered with missing or unreadable textures, or with faults of shaders; the plan does not allow "
                "it (--missing magenta)")
    return None


@dataclass
class Worker:
    """Makes results of one farm, one at a time, in this process."""

    manifest: Manifest
    interruption: Interruption
    may_render: bool = True  # else a missing part is an error
    healed: list[str] = field(default_factory=list)  # results that were damaged and were made again
    _stamps: dict[str, str] = field(default_factory=dict)
    _class: str | None = None
    _version: str | None = None

    @property
    def program(self) -> str:
        return renderer.find(self.manifest.program)

    # --- what is there ------------------------------------------------------------------------------------

    def wrong(self, graph: Graph, task: Task) -> str | None:
        """Reads the task's result to its end: what is wrong with it; None: nothing. It exists."""
        path = graph.result(task)
        if task.kind == "picture":
            return picture_difference(path)
        return difference(self.manifest, graph, task, renderer.verify(self.program, [path])[0])

    def is_closed(self, graph: Graph, number: int) -> bool:
        """Whether a round before this one left no pixel open, so that this one has nothing to do."""
        return any(open_pixels(graph, i) == 0 for i in range(number))

    def is_there(self, graph: Graph, task: Task) -> bool:
        """Whether the result is there and whole; a damaged one is set aside, and told."""
        path = graph.result(task)
        if not path.exists():
            return False
        wrong = self.wrong(graph, task)
        if not wrong:
            self._judge_again(graph, task)
            return True
        tell(f"{wrong}; it is set aside as {files.set_aside(path).name} and made again")
        self.healed.append(task.id)
        return False

    def _judge_again(self, graph: Graph, task: Task) -> None:
        """Of a round's sum whose record of open pixels is gone or damaged."""
        if task.kind == "sum" and graph.shot.rounds and open_pixels(graph, task.round) is None:
            found = renderer.verify(self.program, [graph.result(task)], self.manifest.adaptive)[0]
            files.write_json(graph.judgement(task.round), {"open_pixels": found["open_pixels"]})

    # --- making -------------------------------------------------------------------------------------------

    def make(self, graph: Graph, task: Task) -> int:
        """Makes the task's result unless it is there, and before that what it needs. Returns an exit code; raises GoOn."""
        if graph.shot.rounds and task.kind != "picture" and self.is_closed(graph, task.round):
            return DONE
        if self.is_there(graph, task):
            return DONE
        self._check_interrupted()
        for name in ([task.after] if task.after else []):
            self._need(graph, graph.tasks[name])
        if graph.shot.rounds and self._is_closed_now(graph, task):
            return DONE
        if task.kind == "part":
            if not self.may_render:
                raise FarmError(f"{graph.result(task)}: this part is missing; 'sort-farm resume' has it rendered")
            return self._attempt(graph, task, self._render)
        inputs = self._inputs(graph, task)
        for needed in inputs:
            if not graph.result(needed).exists():  # read when they are added; only if that fails one by one
                self._need(graph, needed)
        if graph.shot.rounds and self._is_closed_now(graph, task):
            return DONE
        return self._attempt(graph, task, self._add)

    def _is_closed_now(self, graph: Graph, task: Task) -> bool:
        return task.kind != "picture" and self.is_closed(graph, task.round)

    def _need(self, graph: Graph, task: Task) -> None:
        files.look_again(graph.result(task).parent)
        code = self.make(graph, task)
        if code not in (DONE, DAMAGED):
            raise FarmError(f"{task.id}: needed, and could not be made", code)

    def _inputs(self, graph: Graph, task: Task) -> list[Task]:
        """Those that exist if adaptive sampling ended early: the last round's sum is then an earlier one."""
        if task.kind == "picture" and graph.shot.rounds:
            sums = [t for stage in graph.stages for t in stage.tasks if t.kind == "sum"]
            for number, total in enumerate(sums):
                if not graph.result(total).exists() or open_pixels(graph, number) is None:
                    self._need(graph, total)
                if open_pixels(graph, number) == 0:
                    return [total]
            return sums[-1:]
        return graph.inputs(task)

    def _check_interrupted(self) -> None:
        if self.interruption.asked:
            raise GoOn

    def _attempt(self, graph: Graph, task: Task, how) -> int:
        attempt = Attempt(self.manifest, task)
        try:
            code = how(graph, task, attempt)
        except GoOn:
            attempt.end("go_on", "interrupted")
            raise
        except FarmError as why:
            if self.interruption.asked:  # as was what the task had called
                attempt.end("go_on", "interrupted")
                raise GoOn from None
            attempt.end("failed", str(why))
            raise
        attempt.end("done")
        return code

    # --- parts --------------------------------------------------------------------------------------------

    def _check_place(self, graph: Graph) -> None:
        """Whether this machine and the package are those of the plan."""
        m, shot = self.manifest, graph.shot
        self._version = self._version or renderer.version(self.program)
        if self._version != m.renderer:
            raise FarmError(f"{self.program}: this is {self._version}, and the farm was planned with {m.renderer}: pictures of "
                            "different versions need not have the same bits")
        asked = m.arguments[m.arguments.index("--cpu") + 1] if "--cpu" in m.arguments else "native"
        self._class = self._class or renderer.cpu_class(self.program, asked)
        if self._class != m.cpu:
            way_out = f", or plan with --cpu {_common()}" if asked == "native" else ": CPUs of other makers round differently"
            raise FarmError(f"{m.path('manifest.json')}: cpu: parts have the class '{m.cpu}', and this machine is of "
                            f"'{self._class}': submit with a constraint on it{way_out}")
        if shot.scene not in self._stamps:
            self._stamps[shot.scene] = package_stamp(Path(shot.scene))
        if self._stamps[shot.scene] != shot.stamp:
            raise FarmError(f"{shot.scene}: the package is not the one that was planned: its files have changed since; "
                            "plan again")

    def _usable_checkpoint(self, graph: Graph, task: Task) -> Path:
        """The checkpoint's path; a file there that is of no use is set aside."""
        path = graph.checkpoint(task)
        if not path.exists():
            return path
        found = renderer.verify(self.program, [path])[0]
        expected = graph.shot.identity or {}
        other = next((name for name in SAME if name in expected and found.get(name) != expected[name]), None)
        if "error" in found or other or (found["is_damaged"] and not self.manifest.may_be_damaged):
            wrong = found.get("error") or f"{path}: {other or 'is_damaged'} is {found.get(other or 'is_damaged')}"
            tell(f"{wrong}; the checkpoint is set aside, and the part begins anew")
            files.set_aside(path)
        return path

    def _fill_cache(self, graph: Graph, cache: Path) -> None:
        """Has the scene's textures converted and its shaders compiled there. Several machines share the work."""
        m, shot = self.manifest, graph.shot
        ended = renderer.render([self.program, "--check", shot.scene, *m.arguments, *shot.arguments, "--threads", str(m.threads),
                                 "--cache", str(cache), "--quiet"], self.interruption, m.stall_seconds, lambda done: None)
        self._check_interrupted()
        if ended.code not in (DONE, DAMAGED):
            raise FarmError(f"{shot.name}: sort-render --check ended with {ended.code}: {ended.message}")

    def _cache(self, graph: Graph) -> Path:
        try:
            return staging.cache_for(self.manifest, graph.shot.stamp, lambda cache: self._fill_cache(graph, cache), self.interruption,
                                     tell)
        except staging.Interrupted:
            raise GoOn from None

    def _render(self, graph: Graph, task: Task, attempt: Attempt) -> int:
        m, shot, final = self.manifest, graph.shot, graph.result(task)
        attempt.is_idle = True
        self._check_place(graph)
        for folder in (final.parent, graph.checkpoint(task).parent):
            files.make_folder(folder)
        left = self._left_by_another(graph, task)
        if left:
            return DAMAGED if left["is_damaged"] else DONE
        checkpoint, new = self._usable_checkpoint(graph, task), graph.unread(task, files.own_name())
        after = ["--after", str(graph.result(graph.tasks[task.after]))] if task.after else []
        command = [self.program, shot.scene, *m.arguments, *shot.arguments, "--samples", f"{task.begin}:{task.end}", *after,
                   "--partial", str(new), "--checkpoint", str(checkpoint), "--resume",
                   "--checkpoint-interval", str(m.checkpoint_seconds), "--threads", str(m.threads),
                   "--cache", str(self._cache(graph)), "--progress", "json"]
        before = _date(checkpoint)
        try:
            ended = renderer.render(command, self.interruption, m.stall_seconds, attempt.beat)
            attempt.cpu_seconds = ended.cpu_seconds
            attempt.is_idle = _date(checkpoint) == before
            self._judge_end(graph, task, ended, checkpoint)
            found = self._take(graph, task, new)
            if "wrong" in found:
                raise FarmError(f"{found['wrong']}\n{ended.message}".strip())
        except OSError as why:
            raise FarmError(f"{why.filename or final}: {files.reason(why)}") from None
        finally:
            files.remove(new)
        return DAMAGED if found["is_damaged"] else DONE

    def _take(self, graph: Graph, task: Task, new: Path) -> dict:
        """Reads a part back and gives it its name, unless another machine has done so meanwhile. Returns what it holds, and what
        is "wrong" with it if something is."""
        final = graph.result(task)
        for path in (new, final):
            found = renderer.verify(self.program, [path])[0]
            wrong = difference(self.manifest, graph, task, found)
            if not wrong:
                try:
                    os.replace(path, final)
                    return found
                except FileNotFoundError as why:
                    wrong = f"{path}: {files.reason(why)}"
            if path.exists():
                break  # it is damaged; else another machine has given it its name
        return {**found, "wrong": wrong}

    def _left_by_another(self, graph: Graph, task: Task) -> dict | None:
        """What the part holds that a task had rendered when it was killed, before the part got its name."""
        for path in sorted(graph.checkpoint(task).parent.glob(graph.unread(task, "*").name)):
            found = self._take(graph, task, path)
            if "wrong" not in found:
                files.remove(graph.checkpoint(task))
                return found
        return None

    def _judge_end(self, graph: Graph, task: Task, ended: renderer.Ended, checkpoint: Path) -> None:
        """Raises unless the renderer has written the part."""
        if ended.code in (DONE, DAMAGED):
            return
        if ended.was_asked and not ended.was_silent:
            if ended.code == GO_ON or ended.code < 0:
                raise GoOn
        said = f": {ended.message}" if ended.message else ""
        kept = "; its checkpoint stays" if checkpoint.exists() else ""
        if ended.was_silent:
            raise FarmError(f"{task.id}: sort-render traced no ray for {self.manifest.stall_seconds:g} s and was "
                            f"stopped{kept}{said}")
        if ended.code == GO_ON:
            raise GoOn  # somebody has sent the signal to the renderer alone
        if ended.code < 0:
            raise FarmError(f"{task.id}: sort-render was killed by signal {-ended.code}"
                            f"{' (out of memory?)' if ended.code == -9 else ''}{kept}{said}")
        raise FarmError(f"{task.id}: sort-render ended with {ended.code}{kept}{said}")

    # --- sums and pictures ------------------------------------------------------------------------------------

    def _add(self, graph: Graph, task: Task, attempt: Attempt) -> int:
        """Adds the inputs; if that fails, reads them one by one, makes those that are damaged again, and adds once more."""
        for is_last in (False, True):
            wrong = self._merge(graph, task)
            if not wrong:
                break
            self._check_interrupted()  # which a terminal tells the merge, too
            bad = [i for i in self._inputs(graph, task) if not self.is_there(graph, i)]
            if is_last or not bad:
                raise FarmError(f"{task.id}: {wrong}")
            for needed in bad:
                self._need(graph, needed)
        if self.manifest.discards_parts:
            for needed in self._inputs(graph, task):
                if needed.kind == "part" or (task.kind == "sum" and not graph.shot.rounds):
                    files.remove(graph.result(needed))
        return self._code_of(graph, task)

    def _code_of(self, graph: Graph, task: Task) -> int:
        if task.kind == "picture":
            return DAMAGED if files.read_json(graph.result(task))["is_damaged"] else DONE
        return DONE

    def _merge(self, graph: Graph, task: Task) -> str | None:
        """Returns what went wrong."""
        inputs = self._inputs(graph, task)
        paths = [graph.result(needed) for needed in inputs]
        final = graph.result(task)
        files.make_folder(final.parent)
        if task.kind == "picture":
            return self._write_picture(graph, inputs, paths, final)
        new = final.with_name(f".{final.name}.{files.own_name()}")
        try:
            done = renderer.merge(self.program, paths, ["--partial", str(new)])
            if done.returncode not in (DONE, DAMAGED):
                return renderer.why(done, "sort-render merge")
            found = renderer.verify(self.program, [new], self.manifest.adaptive)[0]
            wrong = difference(self.manifest, graph, task, found)
            if wrong:
                return wrong
            if graph.shot.rounds:
                files.write_json(graph.judgement(task.round), {"open_pixels": found["open_pixels"]})
            os.replace(new, final)
        except OSError as why:
            return f"{why.filename or final}: {files.reason(why)}"
        finally:
            files.remove(new)
        return None

    def _write_picture(self, graph: Graph, inputs: list[Task], paths: list[Path], record: Path) -> str | None:
        shot, thumbnail = graph.shot, record.with_suffix(".png")
        total = record.with_name(f".{shot.name}.{files.own_name()}.sum")
        output = [*self._output_options(), "-o", shot.output, "--png", shot.png or str(thumbnail)]
        files.make_folder(Path(shot.output).parent)
        if shot.png:
            files.make_folder(Path(shot.png).parent)
        try:
            done = renderer.merge(self.program, paths, ["--partial", str(total), *output])
            if done.returncode not in (DONE, DAMAGED):
                return renderer.why(done, "sort-render merge")
            found = renderer.verify(self.program, [total])[0]
            whole = Task(f"{shot.name}/picture", shot.name, "sum", 0, inputs[0].begin, inputs[-1].end, ())
            wrong = difference(self.manifest, graph, whole, found)
            if wrong:
                return wrong
            outputs = [path for path in (shot.output, shot.png) if path]
            files.write_json(record, {"outputs": {path: _digest(Path(path)) for path in outputs},
                                      "samples": found["samples"], "dropped": found["dropped"],
                                      "ranges": found["ranges"], "is_damaged": found["is_damaged"],
                                      "render_seconds": found["render_seconds"]})
        finally:
            files.remove(total)
        return None

    def _output_options(self) -> list[str]:
        """Of the plan's arguments those that say how pictures are written: as --NAME VALUE or --NAME=VALUE."""
        words, chosen = self.manifest.arguments, []
        for i, word in enumerate(words):
            name, equals, _ = word.partition("=")
            if name in OUTPUT_FLAGS or (name in OUTPUT_OPTIONS and equals):
                chosen.append(word)
            elif name in OUTPUT_OPTIONS:
                chosen += words[i:i + 2]
        return chosen


OUTPUT_OPTIONS = ("--exr-type", "--metadata", "--view", "--exposure", "--denoiser")
OUTPUT_FLAGS = ("--denoise", "--denoising-data")


def _date(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return None


def _common() -> str:
    return "x86-64-v3"


def open_pixels(graph: Graph, number: int) -> int | None:
    path = graph.judgement(number)
    if not path.exists() or not graph.result(graph.tasks[f"{graph.shot.name}/sum/{number + 1}.0"]).exists():
        return None
    try:
        return int(files.read_json(path)["open_pixels"])
    except (FarmError, KeyError, TypeError, ValueError):
        return None  # Worker.is_there judges again


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as stream:
            for block in iter(lambda: stream.read(1 << 20), b""):
                digest.update(block)
    except OSError as why:
        raise FarmError(f"{path}: cannot be read: {files.reason(why)}") from None
    return digest.hexdigest()


def picture_difference(record: Path) -> str | None:
    """What is wrong with a finished picture."""
    try:
        outputs = files.read_json(record)["outputs"]
        for path, digest in outputs.items():
            if not Path(path).exists():
                return f"{path}: the picture is gone"
            if _digest(Path(path)) != digest:
                return f"{path}: the picture is not the one that was written"
    except FarmError as why:
        return str(why)
    except (KeyError, TypeError, AttributeError):
        return f"{record}: outputs: this field is missing"
    return None
