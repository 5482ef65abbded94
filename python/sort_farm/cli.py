"""The command line."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

from . import cost, errors, files, manifest, plan, records
from .errors import FAILED, GO_ON, USAGE, FarmError, tell
from .interruption import Interruption, raise_when_asked
from .tasks import find, graph_of
from .work import GoOn, Worker

PART_SECONDS = 600.0  # of each thread
EPILOG = "Exit codes: " + "; ".join(f"{code}: {text}" for code, text in errors.MEANING.items()) + "."


def _interruption() -> Interruption:
    made = Interruption()
    made.install()
    return made


# --- commands -------------------------------------------------------------------------------------------------


def run_plan(args, rest: list[str]) -> int:
    wish = plan.Wish(
        folder=args.farm, scene=args.scene, output=args.output, samples=args.spp, png=args.png,
        frames=plan.parse_frames(args.frames) if args.frames else None, cameras=args.camera, parts=args.parts,
        part_seconds=args.part_seconds or PART_SECONDS * args.threads, adaptive=args.adaptive, cpu=args.cpu, threads=args.threads, fan_in=args.fan_in,
        retries=args.retries, checkpoint_seconds=args.checkpoint_interval, stall_seconds=args.stall_limit,
        missing=args.missing, discards_parts=args.discard_parts, local_cache=args.local_cache,
        measured_shots=args.measure, arguments=rest)
    made = plan.make(wish, tell)
    parts = sum(len(shot.ranges) for shot in made.shots)
    seconds = sum(made.samples * shot.seconds_per_sample + len(shot.ranges) * shot.setup_seconds for shot in made.shots)
    from .status import duration, size
    print(f"{made.path(manifest.NAME)}: {len(made.shots)} picture{'s' * (len(made.shots) != 1)}, {parts} part{'s' * (parts != 1)}, about "
          f"{duration(seconds)} of CPU time, {size(made.film_bytes * parts)} of parts"
          f"{', at most a part for each node at a time and one sum' if made.discards_parts else ''}; class {made.cpu}")
    return 0


def run_run(args, rest) -> int:
    farm = manifest.load(args.farm)
    interruption = _interruption()
    worst = 0
    for name in args.task:
        graph, task = find(farm, name)
        before = records.failures(farm, task) if args.slurm else 0
        try:
            worst = max(worst, Worker(farm, interruption).make(graph, task))
        except (GoOn, FarmError) as why:
            if interruption.asked or isinstance(why, GoOn):  # a group's signal also ends what the task has called
                tell(f"{name}: interrupted; start it again to go on")
                return _hand_back(args, farm, task, GO_ON, before)
            tell(str(why))
            return _hand_back(args, farm, task, why.code, before)
    return worst


def _hand_back(args, farm, task, code: int, failures_before: int) -> int:
    """Lets the engine start the task again if it may be. A failure that cannot be recorded, as on a full disk, would be tried
    again for ever."""
    if args.slurm:
        from . import slurm
        idle = records.idle_attempts(farm, task) if code == GO_ON else 0
        if idle >= farm.retries:
            why = f"interrupted {idle} times before the first sample: the job needs a longer time limit (--limit-factor, --time-limit)"
            records.Attempt(farm, task).end("failed", why)
            tell(f"{task.id}: {why}")
            return FAILED
        if code == GO_ON or (code == FAILED and failures_before < records.failures(farm, task) < farm.retries):
            slurm.requeue_own_job(tell)
    return code


def _status(args):
    from . import status
    farm = manifest.load(args.farm)
    worker = Worker(farm, Interruption(), may_render=False) if args.verify else None
    return farm, status.of_farm(farm, worker)


def run_status(args, rest) -> int:
    from . import status, status_page
    farm, shots = _status(args)
    if args.html:
        status_page.write(farm, shots, args.html, not args.no_previews)
    print(json.dumps(status.as_json(farm, shots), indent=1) if args.json else status.as_text(farm, shots))
    return status.exit_code(shots)


def run_collect(args, rest) -> int:
    from .collect import collect
    farm, interruption = manifest.load(args.farm), _interruption()
    try:
        return collect(farm, interruption, tell)
    except (GoOn, FarmError) as why:
        if not interruption.asked and not isinstance(why, GoOn):
            raise
        tell("interrupted; the same command goes on")
        return GO_ON


def run_submit(args, rest) -> int:
    farm = manifest.load(args.farm)
    return _submit(args, farm)


def run_resume(args, rest) -> int:
    """Reads everything, sets what is damaged aside, and submits what is missing."""
    from .collect import set_damaged_aside
    farm = manifest.load(args.farm)
    for shot in farm.shots:
        records.forgive(farm, shot.name)
        set_damaged_aside(farm, graph_of(farm, shot.name), tell)
    return _submit(args, farm)


def _submit(args, farm) -> int:
    for name in () if args.slurm else _OF_SLURM:
        if getattr(args, name):
            raise FarmError(f"--{name.replace('_', '-')}: an option of --slurm", USAGE)
    if args.jobs and not args.local:
        raise FarmError("--jobs: an option of --local", USAGE)
    if args.local:
        return _run_local(args, farm)
    from . import slurm, texts
    if args.slurm:
        return slurm.submit(farm, slurm.Site.from_args(args), tell, args.dry_run, args.first)
    for name in texts.DIALECTS:
        path = getattr(args, name)
        if path:
            texts.write(farm, name, Path(path))
            print(f"{path}: {texts.DIALECTS[name].note}")
            return 0
    raise FarmError("submit: say where: --local, --slurm, --openjd FILE, --opencue FILE, --tractor FILE or --flamenco FILE", USAGE)


def _run_local(args, farm) -> int:
    from . import local
    from .status import exit_code, of_farm
    interruption = _interruption()
    jobs = args.jobs or max(1, (os.cpu_count() or 1) // farm.threads)
    pool = local.run_all(farm, jobs, interruption, tell)
    if interruption.asked:
        tell("interrupted; the same command goes on")
        return GO_ON
    for name in pool.failed:
        tell(f"{name}: failed; 'sort-farm status' has the reason")
    if pool.failed:
        return FAILED
    code = exit_code(of_farm(farm))
    return code or (errors.DAMAGED if pool.is_damaged else 0)


def run_tasks(args, rest) -> int:
    farm = manifest.load(args.farm)
    for shot in farm.shots:
        print("\n".join(task.id for stage in graph_of(farm, shot.name).stages for task in stage.tasks))
    return 0


def run_model(args, rest) -> int:
    from . import figures, model
    farm = manifest.load(args.farm)
    site = model.Site(
        nodes=args.nodes, cores=args.cores, storage_rate=args.storage * 1e9, node_rate=args.link * 1e9, operations_rate=args.operations,
        start_rate=args.starts, node_hours=args.node_hours, failing_share=args.failing, slow_share=args.slow,
        has_barriers=args.barriers, seed=args.seed)
    measured = figures.of_farm(farm, tell)
    answer = model.Model(farm, measured, site).run()
    if args.json:
        print(json.dumps({"site": asdict(site), "figures": asdict(measured), "answer": {**asdict(answer), "limit": answer.limit}}, indent=1))
    else:
        print(model.as_text(farm, measured, site, answer))
    return errors.DONE


def run_manual(args, rest) -> int:
    from . import pages
    print(pages.manual(parser()), end="")
    return 0


def run_completion(args, rest) -> int:
    from . import pages
    print(pages.completion(parser(), args.shell), end="")
    return 0


# --- options --------------------------------------------------------------------------------------------------


def _number(low, high, kind=float):
    """The type of an option whose value lies between both."""
    def parse(text: str):
        try:
            value = kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"'{text}' is no {'whole ' if kind is int else ''}number") from None
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text} is below {low}" if value < low else f"{text} is not between {low} and {high}")
        return value

    return parse


_positive = _number(1, (1 << 31) - 1, int)
_seconds = _number(0.01, 10000000)


def _add_plan(commands) -> None:
    p = _command(commands, "plan", run_plan, "plan a farm: measure what samples cost, cut them into parts, write the manifest",
                 usage="sort-farm plan FARM SCENE -o OUT.exr --spp N [options] [-- OPTIONS OF SORT-RENDER]")
    p.add_argument("farm", type=Path, metavar="FARM", help="folder of the farm, on a disk that all machines see; it is made")
    p.add_argument("scene", metavar="SCENE", help="scene package; with --frames, # in it is the frame number")
    p.add_argument("-o", "--output", required=True, metavar="FILE.exr", help="the picture; # is the frame number, {camera} the camera")
    p.add_argument("--png", metavar="FILE.png", help="a quick view of the picture, likewise named")
    p.add_argument("--spp", required=True, type=_positive, metavar="N", help="samples per pixel")
    p.add_argument("--frames", "--frame", metavar="A..B[:STEP]", help="frames of a sequence")
    p.add_argument("--camera", action="append", metavar="NAME", help="camera to look through; several make several pictures")
    p.add_argument("--parts", type=_positive, metavar="N", help="parts of each picture (of each round, with --adaptive); by default as many as take --part-seconds")
    p.add_argument("--part-seconds", type=_seconds, metavar="S", help="CPU time that a part should take (600 for each thread)")
    p.add_argument("--adaptive", type=_number(0.00001, 1), metavar="E", help="adaptive sampling, in rounds of 16 samples, to the bits of sort-render --adaptive E")
    p.add_argument("--cpu", metavar="NAME", help="CPU class that all machines have, such as x86-64-v3; by default that of this machine, and others are refused")
    p.add_argument("--threads", type=_positive, default=1, metavar="N", help="threads of a task (1)")
    p.add_argument("--missing", choices=("error", "magenta"), default="error", help="whether parts with missing or damaged textures are taken")
    p.add_argument("--discard-parts", action="store_true", help="remove parts when the sum that holds them is whole")
    p.add_argument("--local-cache", metavar="DIR", help="folder on each node's own disk that textures are copied to once; may name variables such as $TMPDIR")
    p.add_argument("--fan-in", type=_number(2, 1000, int), default=32, metavar="N", help="results that one merge adds at most (32)")
    p.add_argument("--retries", type=_positive, default=3, metavar="N", help="attempts of a task that may fail before it is given up (3)")
    p.add_argument("--checkpoint-interval", type=_seconds, default=120.0, metavar="S", help="interval between checkpoints: a task that is killed loses at most that (120)")
    p.add_argument("--stall-limit", type=_seconds, default=3600.0, metavar="S", help="stop a renderer that traces no ray for so long (3600)")
    p.add_argument("--measure", type=_positive, default=8, metavar="N", help="pictures whose cost is measured; the others lie between them (8)")


_OF_SLURM = ("dry_run", "constraint", "partition", "account", "max_running", "memory", "time_limit", "limit_factor")


def _add_engines(p) -> None:
    engine = p.add_mutually_exclusive_group()
    engine.add_argument("--local", action="store_true", help="run all tasks as processes on this machine")
    p.add_argument("-j", "--jobs", type=_positive, metavar="N", help="with --local: tasks at once; by default as many as CPUs allow")
    engine.add_argument("--slurm", action="store_true", help="submit array jobs to Slurm, with merges that depend on them")
    engine.add_argument("--openjd", metavar="FILE", help="write a template of the Open Job Description, for openjd-cli or Deadline Cloud")
    engine.add_argument("--opencue", metavar="FILE", help="write an outline of OpenCue (not run by SORT's tests)")
    engine.add_argument("--tractor", metavar="FILE", help="write a job script of Tractor (not run by SORT's tests)")
    engine.add_argument("--flamenco", metavar="FILE", help="write a job type of Flamenco (not run by SORT's tests)")
    p.add_argument("--dry-run", action="store_true", help="with --slurm: print what would be submitted")
    p.add_argument("--first", metavar="SHOT", help="with --slurm: submit only this shot and those behind it, beside what was submitted before")
    p.add_argument("--constraint", metavar="FEATURE", help="with --slurm: feature of nodes that have the CPU class")
    p.add_argument("--partition", metavar="NAME", help="with --slurm: partition")
    p.add_argument("--account", metavar="NAME", help="with --slurm: account")
    p.add_argument("--max-running", type=_positive, metavar="N", help="with --slurm: tasks of an array that run at once")
    p.add_argument("--memory", metavar="SIZE", help="with --slurm: memory of a task, such as 8G")
    p.add_argument("--time-limit", type=_number(3, 1000000, int), metavar="MIN", help="with --slurm: minutes that a job may ask for at most, such as the partition's limit; longer tasks go on in another job")
    p.add_argument("--limit-factor", type=_number(1, 1000), metavar="X", help="with --slurm: time limit of a task over what it was measured to take (4)")


def _rate(text: str) -> float:
    value = float(text)
    if not 0 < value < 1e12:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return value


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 0.9:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 0.9")
    return value


def _hours(text: str) -> float:
    value = float(text)
    if value != 0 and not 1 <= value < 1e9:
        raise argparse.ArgumentTypeError(f"{text} is neither 0 nor at least an hour")
    return value


def _add_model(commands) -> None:
    p = _command(commands, "model", run_model, "simulate the farm on a site: when it would be done, and what would be the limit")
    _add_farm(p)
    p.add_argument("--nodes", type=_positive, default=1000, metavar="N", help="machines (1000)")
    p.add_argument("--cores", type=_positive, default=32, metavar="N", help="cores of each (32)")
    p.add_argument("--storage", type=_rate, default=10.0, metavar="GB/S", help="rate of the shared disk (10)")
    p.add_argument("--link", type=_rate, default=1.0, metavar="GB/S", help="rate of a machine's connection to it (1)")
    p.add_argument("--operations", type=_rate, default=20000.0, metavar="N/S", help="operations on names that the shared disk answers (20000)")
    p.add_argument("--starts", type=_rate, default=20.0, metavar="N/S", help="tasks that the engine starts (20)")
    p.add_argument("--node-hours", type=_hours, default=2000.0, metavar="H", help="hours between two failures of a machine, on the mean; 0: none fails (2000)")
    p.add_argument("--failing", type=_share, default=0.001, metavar="SHARE", help="share of attempts at parts that fail (0.001)")
    p.add_argument("--slow", type=_share, default=0.02, metavar="SHARE", help="share of machines that take three times as long (0.02)")
    p.add_argument("--barriers", action="store_true", help="begin no merge before all parts are there, as --local does")
    p.add_argument("--seed", type=int, default=1, metavar="N", help="other failures (1)")
    p.add_argument("--json", action="store_true", help="print the site, the measured figures and the answer as JSON")


def _command(commands, name: str, run, text: str, **how) -> argparse.ArgumentParser:
    p = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".", epilog=EPILOG, allow_abbrev=False, **how)
    p.set_defaults(run=run)
    return p


def _add_farm(p) -> None:
    p.add_argument("farm", type=Path, metavar="FARM", help="folder of the farm")


def parser() -> argparse.ArgumentParser:
    from . import __version__
    top = argparse.ArgumentParser(prog="sort-farm", allow_abbrev=False, epilog=EPILOG,
                                  description="Renders pictures by many machines, to the bits of one.")
    top.add_argument("--version", action="version", version=f"sort-farm {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    _add_plan(commands)
    p = _command(commands, "submit", run_submit, "have the farm's tasks run: here, by Slurm, or by another engine's text")
    _add_farm(p)
    _add_engines(p)
    p = _command(commands, "status", run_status, "show what is there, who works and what has failed")
    _add_farm(p)
    p.add_argument("--html", type=Path, metavar="FILE", help="also write a page with thumbnails, times, retries and errors")
    p.add_argument("--no-previews", action="store_true", help="with --html: no thumbnails of unfinished pictures")
    p.add_argument("--json", action="store_true", help="print everything as JSON")
    p.add_argument("--verify", action="store_true", help="read every result, and set damaged ones aside")
    p = _command(commands, "resume", run_resume, "read every result, set damaged ones aside, and submit what is missing")
    _add_farm(p)
    _add_engines(p)
    p = _command(commands, "collect", run_collect, "read every result and make the pictures of what is there; render nothing")
    _add_farm(p)
    p = _command(commands, "run", run_run, "make the result of a task, as engines do; ends at once if it is there and whole")
    _add_farm(p)
    p.add_argument("task", nargs="+", metavar="TASK", help="task of the manifest, such as 0001/part/3, 0001/sum/1.0 or 0001/picture")
    p.add_argument("--slurm", action="store_true", help="this is a job of Slurm: put it back into the queue when it is interrupted")
    p = _command(commands, "tasks", run_tasks, "print the farm's tasks, in an order in which they may run")
    _add_farm(p)
    _add_model(commands)
    _command(commands, "manual", run_manual, "print the manual page")
    p = _command(commands, "completion", run_completion, "print what makes a shell complete the options")
    p.add_argument("shell", choices=("bash", "zsh", "fish"))
    return top


def _open_streams() -> None:
    """Lines are written when they are printed, so that a disk that is full is told. Names of files need not fit the terminal, and
    streams that were closed before are empty ones."""
    sys.stdout, sys.stderr = (stream or open(os.devnull, "w") for stream in (sys.stdout, sys.stderr))
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace", line_buffering=True)


def main(argv: list[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    rest: list[str] = []
    if words[:1] == ["plan"] and "--" in words:
        at = words.index("--")
        words, rest = words[:at], words[at + 1:]
    _open_streams()
    try:
        raise_when_asked()
        args = parser().parse_args(words)
        return args.run(args, rest)
    except SystemExit as why:  # of argparse, which has said all
        return why.code
    except FarmError as why:
        tell(str(why))
        return why.code
    except OSError as why:
        if not isinstance(why, BrokenPipeError):
            tell(f"{why.filename or 'standard output'}: {files.reason(why)}")
        return FAILED
    except KeyboardInterrupt:
        tell("interrupted")
        return GO_ON
