"""A farm of the open scene: its frames as packages, planned and submitted by sort-farm, and rendered by processes of this machine or by
Slurm. Blender writes the packages; then a thread runs sort-farm and asks it how far things are, for the status line. What renders
outlives Blender.

    FARM/packages/scene.####    what each frame renders
    FARM/...                    sort-farm's own (docs/reference/sort-farm.md)
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import bpy

from . import engine, locate, messages, operators, preferences, process, registration
from .job import make_job
from .messages import Report, SortError

PROGRAM = "sort-farm"
STATUS_S = 5.0  # between two looks at the farm
OF_THE_PLAN = ("--adaptive", "--cpu", "--time-limit")  # which are not for sort-render here
DONE, FAILED = 0, 1  # of sort-farm status


@dataclass(frozen=True)
class Order:
    """What is asked of sort-farm."""
    program: Path
    folder: Path
    plan: tuple[str, ...] | None  # arguments; None: it is planned
    submit: tuple[str, ...]
    is_local: bool

    @property
    def log(self) -> Path:
        return self.folder / "engine" / "local.txt"


class Farm:
    """The last farm: its status line or error, and the process that renders it, if that is one of this machine."""

    def __init__(self) -> None:
        self.status = ""
        self.error = ""
        self.is_busy = False  # until it is submitted
        self.child: subprocess.Popen | None = None
        self.order: Order | None = None

    def submit(self, order: Order) -> None:
        """Plans if that is asked for, and submits. Takes as long as the plan's measurements."""
        self.order, self.error, self.is_busy = order, "", True
        try:
            if order.plan:
                self.status = "Planning: measuring what samples cost"
                self.status = run(order, order.plan).strip().rpartition("manifest.json: ")[2]
            if order.is_local:
                self.child = _start(order)
            else:
                self.status = run(order, order.submit).strip()
        except SortError as error:
            self.status, self.error = "", str(error)
        finally:
            self.is_busy = False

    def look(self) -> bool:
        """Asks how far the farm is. Returns whether it is still at work."""
        try:
            body = json.loads(run(self.order, ("status", str(self.order.folder), "--json"), is_status=True))
        except (SortError, ValueError) as error:
            self.error = str(error)
            return False
        self.status = describe(body)
        has_ended = self.child is not None and self.child.poll() is not None
        if has_ended and self.child.returncode == process.EXIT_FAILED:
            self.error = _last_lines(self.order.log)
        return body["exit_code"] != DONE and not has_ended

    def stop(self) -> bool:
        """Asks the process of this machine to end; it writes checkpoints. Returns whether there is one."""
        if self.child is None or self.child.poll() is not None:
            return False
        self.child.terminate()
        self.status = "Stopped: Go On continues"
        return True


farm = Farm()


def find_program() -> Path:
    program = locate.find_renderer(preferences.renderer_preference()).resolve().with_name(PROGRAM)
    if not program.is_file():
        raise SortError(f"{program}: there is no such file; farms need the program {PROGRAM} beside the renderer")
    return program


def run(order: Order, words: Iterable[str], is_status: bool = False) -> str:
    """What sort-farm prints. is_status: codes other than 0 are answers too."""
    try:
        done = subprocess.run([str(order.program), *words], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
                              errors="replace")
    except OSError as error:
        raise SortError(f"{order.program} cannot be run: {error.strerror}") from error
    if done.returncode != DONE and not (is_status and done.stdout):
        said = [line.removeprefix(f"{PROGRAM}: ") for line in done.stderr.splitlines() if ": measuring " not in line]
        raise SortError("\n".join(said[-12:]) or f"{PROGRAM} ended with exit code {done.returncode} and no message")
    return done.stdout


def _start(order: Order) -> subprocess.Popen:
    """A process that Blender does not take along when it ends."""
    try:
        order.log.parent.mkdir(parents=True, exist_ok=True)
        with open(order.log, "ab") as log:
            return subprocess.Popen([str(order.program), *order.submit], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                    start_new_session=True)
    except OSError as error:
        raise SortError(messages.explain(error, order.folder)) from error


def _last_lines(log: Path, count: int = 6) -> str:
    try:
        return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-count:])
    except OSError as error:
        return messages.explain(error, log.parent)


def describe(body: dict) -> str:
    """The status line, of what `sort-farm status --json` prints."""
    shots = body["shots"]
    finished = sum(shot["is_finished"] for shot in shots)
    parts, there = (sum(shot[name] for shot in shots) for name in ("parts", "parts_there"))
    words = [f"{finished} of {len(shots)} picture{'s' * (len(shots) != 1)}", f"{there} of {parts} parts"]
    running, failures = (sum(len(shot[name]) for shot in shots) for name in ("running", "failures"))
    words += [f"{running} running"] if running else []
    words += [f"{failures} failed attempt{'s' * (failures != 1)}"] if failures and body["exit_code"] != DONE else []
    return ("Finished: " if body["exit_code"] == DONE else "") + ", ".join(words)


# --- what is asked for ------------------------------------------------------------------------------------------

def frames_of(scene: bpy.types.Scene) -> range:
    if scene.sort.farm_frames == "CURRENT":
        return range(scene.frame_current, scene.frame_current + 1)
    return range(scene.frame_start, scene.frame_end + 1, scene.frame_step)


def output_of(scene: bpy.types.Scene) -> str:
    """The picture's name, with # for the frame as Blender has it, and with the suffix of an EXR."""
    if scene.render.filepath.startswith("//") and not bpy.data.filepath:
        raise SortError(f"the pictures {scene.render.filepath} lie beside the file, which is not saved yet: save it, or choose another Output")
    path = bpy.path.abspath(scene.render.filepath)
    if not path or path.endswith(("/", "\\")):
        path += "picture_"
    path = re.sub(r"\.(exr|png|jpe?g|tiff?|webp)$", "", path, flags=re.IGNORECASE)
    if scene.sort.farm_frames != "CURRENT" and "#" not in Path(path).name:
        path += "####"
    return path + ".exr"


def folder_of(scene: bpy.types.Scene, is_new: bool) -> Path:
    name = scene.sort.farm_folder
    if not name:
        raise SortError("choose a folder for the farm: Render Properties > Farm > Folder. All machines must see it under this name")
    if name.startswith("//") and not bpy.data.filepath:
        raise SortError(f"the farm's folder {name} lies beside the file, which is not saved yet: save it, or choose another folder")
    folder = Path(bpy.path.abspath(name)).absolute()
    is_there = (folder / "manifest.json").exists()
    if is_new and is_there:
        raise SortError(f"{folder} holds a farm already, which does not change: choose another folder, or press Go On to finish that one")
    if not is_new and not is_there:
        raise SortError(f"{folder} holds no farm yet: press Submit")
    return folder


def plan_words(context: bpy.types.Context, folder: Path, layers: set[str], report: Report) -> tuple[str, ...]:
    """The arguments of `sort-farm plan`."""
    scene, settings = context.scene, context.scene.sort
    job = make_job(scene, Path(PROGRAM), folder, layers, layer=context.view_layer, report=report)
    named = dict(zip(job.options[::2], job.options[1::2]))
    if "--time-limit" in named:
        report.warn("Time Limit", "a farm renders all samples, however long they take")
    frames = frames_of(scene)
    words = ["plan", str(folder), str(folder / "packages" / "scene.####"), "-o", output_of(scene),
             "--spp", str(context.view_layer.samples or settings.samples), f"--frames={frames[0]}..{frames[-1]}:{frames.step}",
             "--part-seconds", f"{60 * settings.farm_part_minutes:g}", "--threads", str(job.threads or 1), "--missing", "magenta"]
    for name in ("--adaptive", "--cpu"):
        words += [name, named[name]] if name in named else []
    words += ["--", "--filter-width", f"{job.filter_width_px:g}", "--texture-memory", f"{job.texture_memory_mib}M", *job.denoising]
    words += [word for name, value in named.items() if name not in OF_THE_PLAN for word in (name, value)]
    words += ["--exr-type", "float"] if scene.render.image_settings.color_depth == "32" else []
    words += ["--aov", ",".join(job.layers)] if job.layers else []
    words += [] if settings.farm_packs_images else ["--texture-path", process.filesystem_root()]
    return tuple(words)


def submit_words(scene: bpy.types.Scene, folder: Path, verb: str) -> tuple[str, ...]:
    if scene.sort.farm_engine == "LOCAL":
        return (verb, str(folder), "--local")
    try:
        return (verb, str(folder), "--slurm", *shlex.split(scene.sort.farm_options))
    except ValueError as error:
        raise SortError(f"Options of the farm: {scene.sort.farm_options}: {error}") from error


def export_frames(context: bpy.types.Context, folder: Path, report: Report) -> None:
    """The packages. Those of an earlier attempt that was not planned go."""
    scene, before = context.scene, context.scene.frame_current
    packages = folder / "packages"
    shutil.rmtree(packages, ignore_errors=True)
    packages.mkdir(parents=True, exist_ok=True)
    frames = frames_of(scene)
    context.window_manager.progress_begin(0, len(frames))
    engine.export_textures = "" if scene.sort.farm_packs_images else process.filesystem_root()
    try:
        for done, frame in enumerate(frames):
            context.window_manager.progress_update(done)
            scene.frame_set(frame)
            operators.export(context, packages / f"scene.{frame:04}")
            for text in messages.last().warnings:
                report.warn("", text)
    finally:
        engine.export_textures = ""
        scene.frame_set(before)
        context.window_manager.progress_end()


def new_order(context: bpy.types.Context, report: Report) -> Order:
    """Checks everything that can be checked before frames are written, and writes them."""
    scene = context.scene
    program, folder = find_program(), folder_of(scene, is_new=True)
    if scene.render.use_multiview:
        raise SortError("a farm renders one view: turn Output > Stereoscopy off")
    if scene.camera is None:
        raise SortError(f"Scene '{scene.name}' has no camera")
    locate.require_numpy()
    from . import passes
    layers = {item.layer for item in passes.wanted(scene, context.view_layer)}
    order = Order(program, folder, plan_words(context, folder, layers, report), submit_words(scene, folder, "submit"),
                  scene.sort.farm_engine == "LOCAL")
    export_frames(context, folder, report)
    return order


# --- operators --------------------------------------------------------------------------------------------------

class _FarmOperator(bpy.types.Operator):
    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return not farm.is_busy

    def execute(self, context: bpy.types.Context) -> set[str]:
        try:
            return self.act(context)
        except OSError as error:
            farm.error = messages.explain(error)
        except SortError as error:
            farm.error = messages.clean(str(error))
        self.report({"ERROR"}, f"SORT: {farm.error}")
        return {"CANCELLED"}

    def start(self, order: Order) -> set[str]:
        """In a thread if there is a window that shows its status line."""
        if engine.is_watched():
            farm.is_busy = True
            threading.Thread(target=_work, args=(order,), daemon=True).start()
            bpy.app.timers.register(_redraw, first_interval=0.5)
            return {"FINISHED"}
        farm.submit(order)
        if farm.error:
            raise SortError(farm.error)
        self.report({"INFO"}, f"SORT: {farm.status}")
        return {"FINISHED"}


def _work(order: Order) -> None:
    farm.submit(order)
    while not farm.error and farm.order is order and farm.look():
        time.sleep(STATUS_S)


def _redraw() -> float | None:
    engine.redraw_properties()
    return 1.0 if threading.active_count() > 1 else None


class SORT_OT_farm_submit(_FarmOperator):
    """Write the frames as packages into the farm's folder, cut them into parts by what their samples cost, and have the parts rendered.
    The pictures have the bits of F12's, whoever renders them"""
    bl_idname = "sort.farm_submit"
    bl_label = "Submit to Farm"

    def act(self, context: bpy.types.Context) -> set[str]:
        report = Report()
        order = new_order(context, report)
        for text in report.warnings:
            self.report({"WARNING"}, f"SORT: {text}")
        return self.start(order)


class SORT_OT_farm_resume(_FarmOperator):
    """Read what the farm in this folder has made, and have the rest rendered: after a failure, a stop or a crash"""
    bl_idname = "sort.farm_resume"
    bl_label = "Go On"

    def act(self, context: bpy.types.Context) -> set[str]:
        scene, folder = context.scene, folder_of(context.scene, is_new=False)
        return self.start(Order(find_program(), folder, None, submit_words(scene, folder, "resume"), scene.sort.farm_engine == "LOCAL"))


class SORT_OT_farm_stop(_FarmOperator):
    """Stop rendering on this machine. What was rendered stays; Go On continues. Jobs of Slurm are cancelled with scancel"""
    bl_idname = "sort.farm_stop"
    bl_label = "Stop"

    def act(self, context: bpy.types.Context) -> set[str]:
        if not farm.stop():
            raise SortError("no farm renders on this machine from this Blender")
        return {"FINISHED"}


class SORT_OT_farm_page(_FarmOperator):
    """Show the farm in this folder as a web page: thumbnails, times, retries and errors"""
    bl_idname = "sort.farm_page"
    bl_label = "Status Page"

    def act(self, context: bpy.types.Context) -> set[str]:
        folder = folder_of(context.scene, is_new=False)
        page = folder / "status.html"
        order = Order(find_program(), folder, None, (), False)
        farm.status = describe(json.loads(run(order, ("status", str(folder), "--html", str(page), "--json"), is_status=True)))
        if not bpy.app.background:
            bpy.ops.wm.url_open(url=page.as_uri())
        self.report({"INFO"}, f"SORT: {farm.status}. Wrote {page}")
        return {"FINISHED"}


register, unregister = registration.pair((SORT_OT_farm_submit, SORT_OT_farm_resume, SORT_OT_farm_stop, SORT_OT_farm_page))
