"""A viewport in Rendered mode. It is a render of its own that starts anew whenever something changes, so the honest
parts are: what did not change is not exported again (export/cache.py), a view that merely moves keeps the package but
for its camera, a coarse picture comes first, and the old one stays until then.

Threads: Blender's main thread calls draw and scene_changed; one thread a render waits for the child and reads its
pictures. What both touch is under `_lock`.
"""

from __future__ import annotations

import json
import math
import shutil
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import bpy
import gpu
import numpy as np
from gpu_extras.presets import draw_texture_2d

from . import exr, locate, passes, preferences, process
from .export import axes
from .export.camera import Frame, lens_record
from .export.scene import ExportPlan, export_scene
from .job import make_job
from .messages import Report, SortError, explain

QUIET_S = 0.12  # that nothing moves before a render starts
UPDATE_INTERVAL_S = 0.25  # of the picture
COARSE, COARSE_SAMPLES = 4, 4  # the first picture: a part of width and height


class Viewport:
    def __init__(self, tag_redraw: Callable[[], None]) -> None:
        self._tag_redraw = tag_redraw
        self._lock = threading.Lock()
        self._folder = Path(tempfile.mkdtemp(prefix="sort-viewport-", dir=bpy.app.tempdir))
        self._package: Path | None = None  # None: the scene is to be exported
        self._runs = 0
        self._stop = threading.Event()  # of the render that is under way
        self._view: tuple | None = None  # size and projection of the region; the renderer
        self._changed_at = 0.0
        self._is_due = False
        self._picture: np.ndarray | None = None  # rows from the bottom, RGBA
        self._is_new = False
        self._texture: gpu.types.GPUTexture | None = None
        self._text = ""
        self.report = Report()  # of the last export and render

    def scene_changed(self, context: bpy.types.Context) -> None:
        self._package = None
        self._postpone()

    def status(self) -> str:
        with self._lock:
            return self._text

    def close(self) -> None:
        self._stop.set()
        shutil.rmtree(self._folder, ignore_errors=True)

    # --- starting -------------------------------------------------------------------------------

    def _postpone(self) -> None:
        """Ends what runs; the next render starts when nothing has moved for a moment."""
        self._stop.set()
        self._changed_at = time.monotonic()
        if not self._is_due:
            self._is_due = True
            bpy.app.timers.register(self._tick, first_interval=QUIET_S)

    def _tick(self) -> float | None:
        self._redraw()
        return QUIET_S / 2 if self._is_due and not self._is_closed() else None

    def _is_closed(self) -> bool:
        return not self._folder.is_dir()

    def _redraw(self) -> None:
        try:
            self._tag_redraw()
        except ReferenceError:  # the engine is gone
            self.close()

    def _start(self, context: bpy.types.Context, depsgraph: bpy.types.Depsgraph) -> None:
        self._is_due, self._stop = False, threading.Event()
        self._runs += 1
        run = self._folder / f"run{self._runs}"
        self.report = Report()
        try:
            program = locate.find_renderer(preferences.renderer_preference())
            run.mkdir()
            self._export(context, depsgraph, run / "package")
            for old in self._folder.iterdir():
                if old != run:
                    shutil.rmtree(old, ignore_errors=True)
        except SortError as error:
            self._say(f"Error: {error}")
            return
        except OSError as error:
            self._say(f"Error: {explain(error, self._folder)}")
            return
        except Exception as error:  # a viewport must not end in silence either
            traceback.print_exc()
            self._say(f"Error: {type(error).__name__}: {error}")
            return
        scene = depsgraph.scene
        job = make_job(scene, program, run, set())
        options = (*job.options, "--unwatched", "--spp")
        size = "x".join(str(max(n // COARSE, 1)) for n in self._view[:2])
        jobs = [replace(job, options=(*options, str(COARSE_SAMPLES), "--size", size)),
                replace(job, options=(*options, str(scene.sort.preview_samples)), update_interval_s=UPDATE_INTERVAL_S)]
        threading.Thread(target=self._render, args=(jobs, self._stop), daemon=True).start()

    def _export(self, context: bpy.types.Context, depsgraph: bpy.types.Depsgraph, target: Path) -> None:
        frame, camera = _camera(context, self.report)
        if self._package is None or not self._package.is_dir():
            export_scene(depsgraph, ExportPlan(folder=target, texture_folder=process.filesystem_root(),
                                               view=(frame, camera)), self.report)
            self._package = target
            return
        target.mkdir()
        for part in self._package.iterdir():
            if part.is_dir():
                (target / part.name).mkdir()
                for file in part.iterdir():
                    _link(file, target / part.name / file.name)
        scene = json.loads((self._package / "scene.json").read_text(encoding="utf-8"))
        scene["cameras"] = [{"name": "Viewport", **camera}]
        scene["settings"]["resolution"] = [frame.width, frame.height]
        (target / "scene.json").write_text(json.dumps(scene, ensure_ascii=False), encoding="utf-8")
        self._package = target

    # --- rendering, in a thread ------------------------------------------------------------------

    def _render(self, jobs: list[process.RenderJob], stop: threading.Event) -> None:
        try:
            picture = None
            for job in jobs:
                picture = self._run(job, picture, stop)
                if picture is None:
                    return
            warnings = self.report.warnings
            self._say(f"Done, {len(warnings)} warnings: {warnings[0]}" if warnings else "Done", stop)
        except SortError as error:
            self._say(f"Error: {error}", stop)
        except OSError as error:
            self._say(f"Error: {explain(error, self._folder)}", stop)

    def _run(self, job: process.RenderJob, coarse: np.ndarray | None, stop: threading.Event) -> np.ndarray | None:
        """The picture; None: something changed meanwhile."""
        def show(record: dict) -> None:
            if record.get("event") == "picture":
                self._take(job.picture, coarse, stop)
            elif record.get("event") == "progress":
                self._say(f"{100 * float(record.get('done', 0)):.0f} %", stop)
            elif coarse is None:
                self._say(str(record.get("stage", "")), stop)
        if process.run_render(job, process.Watcher(show, stop.is_set, patience_s=0), self.report):
            return self._take(job.picture, coarse, stop)
        for part in (job.picture, job.stats):
            part.unlink(missing_ok=True)
        return None

    def _take(self, path: Path, coarse: np.ndarray | None, stop: threading.Event) -> np.ndarray:
        """`coarse` shows where there are no samples yet."""
        picture = exr.read(path)
        pixels = passes.combined(picture).reshape(picture.height, picture.width, 4)
        if coarse is not None:
            rows, columns = (np.arange(n) * m // n for n, m in zip(pixels.shape, coarse.shape[:2]))
            pixels = np.where(pixels[..., 3:] == 0, coarse[rows[:, None], columns], pixels)
        with self._lock:
            if not stop.is_set():
                self._picture, self._is_new = pixels, True
        self._redraw()
        return pixels

    def _say(self, text: str, stop: threading.Event | None = None) -> None:
        with self._lock:
            if stop is None or not stop.is_set():
                self._text = text
        self._redraw()

    # --- drawing ---------------------------------------------------------------------------------

    def draw(self, context: bpy.types.Context, depsgraph: bpy.types.Depsgraph) -> None:
        region = context.region
        view = (region.width, region.height, *(x for row in context.region_data.perspective_matrix for x in row),
                preferences.renderer_preference())
        if view != self._view:
            self._view = view
            self._postpone()
        if self._is_due and time.monotonic() - self._changed_at >= QUIET_S:
            self._start(context, depsgraph)
        with self._lock:
            pixels, is_new, self._is_new = self._picture, self._is_new, False
        if is_new:
            data = gpu.types.Buffer("FLOAT", pixels.size, np.ascontiguousarray(pixels, np.float32).ravel())
            self._texture = gpu.types.GPUTexture((pixels.shape[1], pixels.shape[0]), format="RGBA16F", data=data)
        if self._texture:
            gpu.state.blend_set("ALPHA_PREMULT")
            draw_texture_2d(self._texture, (0, 0), region.width, region.height)
            gpu.state.blend_set("NONE")


def _link(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except OSError:
        shutil.copyfile(source, target)


def _camera(context: bpy.types.Context, report: Report) -> tuple[Frame, dict]:
    """The view that the region shows. Its projection holds lens, zoom, shift and camera frame alike."""
    region, view, space = context.region, context.region_data, context.space_data
    projection = view.window_matrix
    matrix = axes.without_scale(view.view_matrix.inverted())
    record: dict = {"transform": axes.place(matrix)}
    if projection[3][3] == 0:
        record["fov_y_degrees"] = math.degrees(2 * math.atan(1 / projection[1][1]))
        record["lens_shift"] = [projection[0][2] / 2, projection[1][2] / 2]
    else:
        record |= {"type": "orthographic", "height_m": 2 / projection[1][1],
                   "lens_shift": [-projection[0][3] / 2, -projection[1][3] / 2]}
    camera = space.camera if space.use_local_camera else context.scene.camera
    if view.view_perspective == "CAMERA" and camera and camera.type == "CAMERA":
        record |= lens_record(camera)
    return Frame(region.width, region.height, 0, 0, region.width, region.height), record
