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
from mathutils import Matrix

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
                                           view=_camera(context, self.report), space=context.space_data, kept=self._kept), self.report)
        self._job, self._samples = job, depsgraph.scene.sort.preview_samples
        self._export_s = time.monotonic() - begin

    def follow(self, context: bpy.types.Context, depsgraph: bpy.types.Depsgraph) -> None:
        """Wishes for a picture of what the region is to show now, if that is another one than before."""
        region = context.region
        state = (bool(getattr(context.space_data, "local_view", None)), preferences.renderer_preference())
        view = (region.width, region.height, _part(context), *(x for row in context.region_data.perspective_matrix for x in row), *state)
        if self._view and self._view[-2:] != state:
            self._job = None
        is_changed = self._changed_at > 0.0 and self._job is None
        if view != self._view or is_changed:
            if self._job is not None or self._is_due():
                self._view, self._changed_at = view, 0.0
                self._wish(context, depsgraph)

    # --- drawing ---------------------------------------------------------------------------------

    def draw(self, context: bpy.types.Context, depsgraph: bpy.types.Depsgraph) -> None:
        self.follow(context, depsgraph)
        pixels = self._live.new_picture()
        if pixels is not None:
            data = gpu.types.Buffer("FLOAT", pixels.size, np.ascontiguousarray(pixels, np.float32).ravel())
            self._texture = gpu.types.GPUTexture((pixels.shape[1], pixels.shape[0]), format="RGBA16F", data=data)
        if self._texture:
            gpu.state.blend_set("ALPHA_PREMULT")
            draw_texture_2d(self._texture, *_rectangle(_part(context) or WHOLE, context.region))
            gpu.state.blend_set("NONE")


WHOLE = (0.0, 0.0, 1.0, 1.0)


def _part(context: bpy.types.Context) -> tuple[float, float, float, float] | None:
    """The render region, in parts of the 3D view's region: left, bottom, right, top. Through a camera it is that of the scene, within the camera's
    frame. None: all is rendered."""
    space, view, scene = context.space_data, context.region_data, context.scene
    if view.view_perspective != "CAMERA":
        if not getattr(space, "use_render_border", False):
            return None
        borders, frame = space, WHOLE
        names = "render_border_min_x", "render_border_min_y", "render_border_max_x", "render_border_max_y"
    else:
        camera = _looked_through(context)
        if not scene.render.use_border or camera is None:
            return None
        borders, frame = scene.render, _frame_in_view(camera, scene, view.perspective_matrix)
        names = "border_min_x", "border_min_y", "border_max_x", "border_max_y"
    inside = [getattr(borders, name) for name in names]
    edges = [min(max(frame[k % 2] + part * (frame[2 + k % 2] - frame[k % 2]), 0.0), 1.0) for k, part in enumerate(inside)]
    return tuple(edges) if edges[0] < edges[2] and edges[1] < edges[3] else None


def _looked_through(context: bpy.types.Context) -> bpy.types.Object | None:
    space = context.space_data
    camera = space.camera if space.use_local_camera else context.scene.camera
    return camera if camera and camera.type == "CAMERA" else None


def _frame_in_view(camera: bpy.types.Object, scene: bpy.types.Scene, perspective: Matrix) -> tuple[float, float, float, float]:
    corners = [perspective @ (camera.matrix_world.normalized() @ corner).to_4d() for corner in camera.data.view_frame(scene=scene)]
    across, up = ([0.5 + 0.5 * corner[k] / corner.w for corner in corners] for k in range(2))
    return min(across), min(up), max(across), max(up)


def _rectangle(part: tuple[float, float, float, float], region: bpy.types.Region) -> tuple[tuple[int, int], int, int]:
    """Lower left corner, width and height in whole pixels, at least one of each."""
    x0, y0, x1, y1 = (round(edge * size) for edge, size in zip(part, (region.width, region.height) * 2))
    x0, y0 = min(x0, region.width - 1), min(y0, region.height - 1)
    return (x0, y0), max(x1 - x0, 1), max(y1 - y0, 1)


def _camera(context: bpy.types.Context, report: Report) -> tuple[Frame, dict]:
    """The view that the region shows. Its projection holds lens, zoom, shift and camera frame alike."""
    region, view = context.region, context.region_data
    projection = view.window_matrix
    (x, y), width, height = _rectangle(_part(context) or WHOLE, region)
    across, up = width / region.width, height / region.height  # parts of the region, and where their middle is
    shift_x, shift_y = (x + width / 2) / region.width - 0.5, (y + height / 2) / region.height - 0.5
    matrix = axes.without_scale(view.view_matrix.inverted(), may_mirror=True)
    record: dict = {"transform": axes.place(matrix)}
    if projection[3][3] == 0:
        record["fov_y_degrees"] = math.degrees(2 * math.atan(up / projection[1][1]))
        record["lens_shift"] = [(projection[0][2] / 2 + shift_x) / across, (projection[1][2] / 2 + shift_y) / up]
    else:
        record |= {"type": "orthographic", "height_m": 2 * up / projection[1][1],
                   "lens_shift": [(-projection[0][3] / 2 + shift_x) / across, (-projection[1][3] / 2 + shift_y) / up]}
    camera = _looked_through(context) if view.view_perspective == "CAMERA" else None
    if camera:
        record |= lens_record(camera)
    return Frame(width, height, 0, 0, width, height), record
