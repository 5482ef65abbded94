"""Texts for engines that this program does not talk to: templates of the Open Job Description, which its own runner runs, and
scripts for OpenCue, Tractor and Flamenco, which SORT's tests do not run.

All have the same steps: the parts of a shot, each level of its sums, the picture."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from . import files
from .local import own_command
from .manifest import Manifest
from .tasks import Task, graph_of

NOT_RUN = "generated; not run by SORT's tests: try it with a small farm first"


@dataclass(frozen=True)
class Step:
    name: str
    tasks: tuple[Task, ...]
    after: str | None  # the step before, of the same shot


def steps(manifest: Manifest) -> list[Step]:
    """The steps of all shots, in order."""
    made = []
    for shot in manifest.shots:
        last = None
        for number, stage in enumerate(graph_of(manifest, shot.name).stages):
            kind = stage.tasks[0].kind
            made.append(Step(f"{shot.name}-{number}-{kind}", stage.tasks, last))
            last = made[-1].name
    return made


def command(manifest: Manifest, task: str) -> list[str]:
    return [*own_command(), "run", str(manifest.folder), task]


def title(manifest: Manifest) -> str:
    return re.sub(r"[^\w.-]", "_", manifest.folder.name)


# --- Open Job Description ---------------------------------------------------------------------------------------


def _openjd_step(manifest: Manifest, step: Step) -> dict:
    """Indices of a step's tasks follow each other: a range says them all, however many they are."""
    pattern, numbers = re.sub(r"\d+$", "{{Task.Param.Index}}", step.tasks[0].id), [0, 0]
    if step.tasks[0].kind == "picture":
        pattern = step.tasks[0].id
    else:
        numbers = [int(re.split(r"[/.]", task.id)[-1]) for task in (step.tasks[0], step.tasks[-1])]
    words = command(manifest, pattern)
    body = {
        "name": step.name,
        "script": {"actions": {"onRun": {"command": words[0], "args": words[1:],
                                         "cancelation": {"mode": "NOTIFY_THEN_TERMINATE", "notifyPeriodInSeconds": 60}}}},
        "parameterSpace": {"taskParameterDefinitions": [{"name": "Index", "type": "INT", "range": f"{numbers[0]}-{numbers[1]}"}]},
    }
    if step.after:
        body["dependencies"] = [{"dependsOn": step.after}]
    return body


def openjd(manifest: Manifest) -> str:
    """A job template of specification 2023-09, as JSON. An interrupted task ends with 4: the engine's retries start it again."""
    return json.dumps({"specificationVersion": "jobtemplate-2023-09", "name": title(manifest),
                       "steps": [_openjd_step(manifest, step) for step in steps(manifest)]}, indent=1) + "\n"


# --- engines that are not here ----------------------------------------------------------------------------------


def opencue(manifest: Manifest) -> str:
    """A Python script for PyOutline: a layer a step, a frame a task."""
    lines = [f"# {NOT_RUN}.", "import outline", "from outline.modules.shell import Shell", "", f"job = outline.Outline({title(manifest)!r})"]
    for i, step in enumerate(steps(manifest)):
        words = command(manifest, "TASK")
        names = " ".join(shlex.quote(task.id) for task in step.tasks)
        script = f"set -- {names}; shift $((#IFRAME# - 1)); exec {shlex.join(words[:-1])} \"$1\""
        lines += [f"layer{i} = Shell({step.name!r}, command=['sh', '-c', {script!r}], range='1-{len(step.tasks)}',",
                  f"                threads={manifest.threads if step.tasks[0].kind == 'part' else 1})", f"job.add_layer(layer{i})"]
        if step.after:
            lines.append(f"layer{i}.depend_all(layer{i - 1})")
    return "\n".join([*lines, "outline.cuerun.launch(job, use_pycuerun=False)", ""])


def _tcl(words: list[str]) -> str:
    return " ".join("{" + word.replace("\\", "\\\\").replace("{", "\\{").replace("}", "\\}") + "}" for word in words)


def tractor(manifest: Manifest) -> str:
    """A job script (alf): a task waits for its subtasks, so steps nest, the picture outermost."""
    by_name = {step.name: step for step in steps(manifest)}

    def nested(step: Step, indent: str) -> list[str]:
        lines = [f"{indent}Task {{{step.name}}} -subtasks {{"]
        for task in step.tasks:
            lines.append(f"{indent}  Task {{{task.id}}} -cmds {{ RemoteCmd {{{_tcl(command(manifest, task.id))}}} -service {{PixarRender}} "
                         f"-retryrc {{4}} }}" + (f" -subtasks {{ Instance {{{step.after}}} }}" if step.after else ""))
        return [*lines, f"{indent}}}"]

    lines = [f"# {NOT_RUN}.", f"Job -title {{{title(manifest)}}} -serialsubtasks 0 -subtasks {{"]
    for step in by_name.values():
        lines += nested(step, "  ")
    return "\n".join([*lines, "}", ""])


def flamenco(manifest: Manifest) -> str:
    """A job type: JavaScript that makes a task of each of ours."""
    body = [{"name": step.name, "after": step.after, "tasks": [task.id for task in step.tasks]} for step in steps(manifest)]
    words = command(manifest, "TASK")
    return f"""// {NOT_RUN}.
const JOB_TYPE = {{ label: {json.dumps("SORT: " + title(manifest))}, settings: [] }};
const STEPS = {json.dumps(body, indent=1)};

function compileJob(job) {{
    const tasks = {{}};
    for (const step of STEPS) {{
        tasks[step.name] = [];
        for (const name of step.tasks) {{
            const task = author.Task(name, step.name.endsWith("part") ? "blender" : "misc");
            task.addCommand(author.Command("exec", {{ exe: {json.dumps(words[0])}, args: {json.dumps(words[1:-1])}.concat([name]) }}));
            for (const before of step.after ? tasks[step.after] : [])
                task.addDependency(before);
            job.addTask(task);
            tasks[step.name].push(task);
        }}
    }}
}}
"""


@dataclass(frozen=True)
class Dialect:
    make: Callable[[Manifest], str]
    note: str


DIALECTS = {"openjd": Dialect(openjd, "'openjd run FILE --step STEP --run-dependencies' runs it up to a step (the last is the picture); Deadline Cloud takes it too"),
            "opencue": Dialect(opencue, NOT_RUN), "tractor": Dialect(tractor, NOT_RUN), "flamenco": Dialect(flamenco, NOT_RUN)}


def write(manifest: Manifest, name: str, path: Path) -> None:
    files.write_whole(path.absolute(), DIALECTS[name].make(manifest).encode())
