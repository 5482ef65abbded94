"""A viewport in Rendered mode. Blender's main thread exports what changed and draws; the pictures come from a renderer that
stays, by a thread of live_picture.py. A view that merely moves is a new camera for the scene that the renderer has.
"""

from __future__ import annotations

import math
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import bpy
import gpu
import numpy as np
from gpu_extras.presets import draw_texture_2d

from . import locate, preferences, process
from .export import axes
from .export.camera import Frame, lens_record
from .export.kept import KeptMeshes
from .export.scene import ExportPlan, export_scene
from .job import make_job
from .live_picture import LivePicture, Wish
from .messages import Report, SortError, explain

QUIET_S = 0.12  # that nothing changes before a scene is exported that takes longer than this


class Viewport:
    def __init__(self, tag_redraw: Callable[[], None]) -> None:
        self._tag_redraw = tag_redraw
        self._folder = Path(tempfile.mkdtemp(prefix="sort-viewport-", dir=bpy.app.tempdir))
        self._live = LivePicture(self._folder, self._redraw)
        self._job: process.RenderJob | None = None  # None: the scene is to be exported
        self._kept = KeptMeshes()
        self._runs = 0
        self._samples = 1
        self._view: tuple | None = None  # size and projection of the region; the renderer
        self._changed_at = 0.0
        self._export_s = 0.0  # that the last one took
        self._texture: gpu.types.GPUTexture | None = None
        self.report = Report()  # of the last export and render

    def scene_changed(self, depsgraph: bpy.types.Depsgraph) -> None:
        self._kept.forget(depsgraph)
        self._job = None
        self._changed_at = time.monotonic()
        self._live.forget_failures()
        if self._export_s > QUIET_S:
            bpy.app.timers.register(self._tick, first_interval=QUIET_S)

    def status(self) -> str:
        return self._live.status()

    def picture(self) -> np.ndarray | None:
        """Rows from the bottom, RGBA; None: there is none yet."""
        return self._live.picture()

    def is_open(self) -> bool:
        return self._folder.is_dir()

    def close(self) -> None:
        self._live.close()

    def _tick(self) -> None:
        self._redraw()

    def _redraw(self) -> None:
        try:
            self._tag_redraw()
        except ReferenceError:  # the engine is gone
            self.close()

    # --- wishes ----------------------------------------------------------------------------------

    def _is_due(self) -> bool:
        """Whether to export now: what takes long waits until nothing changes any more."""
        return self._export_s <= QUIET_S or time.monotonic() - self._changed_at >= QUIET_S

    def _wish(self, context: bpy.types.Context, depsgraph: bpy.types.Depsgraph) -> None:
        try:
            if self._job is None:
                self._export(context, depsgraph)
            frame, camera = _camera(context, self.report)
            self._live.show(Wish(self._job, {"name": "Viewport", **camera}, frame.width, frame.height, self._samples, self.report))
        except SortError as error:
            self._live.say(f"Error: {error}")
        except OSError as error:
            self._live.say(f"Error: {explain(error, self._folder)}")
        except Exception as error:  # a viewport must not end in silence either
            traceback.print_exc()
            self._live.say(f"Error: {type(error).__name__}: {error}")

    def _export(self, context: bpy.types.Context, depsgraph: bpy.types.Depsgraph) -> None:
        begin = time.monotonic()
        self._runs += 1
        self.report = Report()
        program = locate.find_renderer(preferences.renderer_preference())
        run = self._folder / f"run{self._runs:08}"
        run.mkdir()
        job = make_job(depsgraph.scene, program, run, set(), is_preview=True, report=self.report)
        export_scene(depsgraph, ExportPlan(folder=job.package, texture_folder=process.filesystem_root(),
                                           view=_camera(context, self.report), kept=self._kept), self.report)
        self._job, self._samples = job, depsgraph.scene.sort.preview_samples
        self._export_s = time.monotonic() - begin

    def follow(self, context: bpy.types.Context, depsgraph: bpy.types.Depsgraph) -> None:
        """Wishes for a picture of what the region is to show now, if that is another one than before."""
        region = context.region
        program = preferences.renderer_preference()
        view = (region.width, region.height, *(x for row in context.region_data.perspective_matrix for x in row), program)
        if self._view and self._view[-1] != program:
            self._job = None
        is_changed = self._changed_at > 0.0 and self._job is None
        if view != self._view or is_changed:
            if self._job is not None or self._is_due():
                self._view, self._changed_at = view, 0.0
                self._wish(context, depsgraph)

    # --- drawing ---------------------------------------------------------------------------------

    def draw(self, context: bpy.types.Context, depsgraph: bpy.types.Depsgraph) -> None:
        self.follow(context, depsgraph)
        region = context.region
        pixels = self._live.new_picture()
        if pixels is not None:
            data = gpu.types.Buffer("FLOAT", pixels.size, np.ascontiguousarray(pixels, np.float32).ravel())
            self._texture = gpu.types.GPUTexture((pixels.shape[1], pixels.shape[0]), format="RGBA16F", data=data)
        if self._texture:
            gpu.state.blend_set("ALPHA_PREMULT")
            draw_texture_2d(self._texture, (0, 0), region.width, region.height)
            gpu.state.blend_set("NONE")


def _camera(context: bpy.types.Context, report: Report) -> tuple[Frame, dict]:
    """The view that the region shows. Its projection holds lens, zoom, shift and camera frame alike."""
    region, view, space = context.region, context.region_data, context.space_data
    projection = view.window_matrix
    matrix = axes.without_scale(view.view_matrix.inverted(), may_mirror=True)
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
