"""The render engine: Blender calls SortRenderEngine.render for F12, for each frame of an animation and for
`blender -b file.blend -E SORT -f 1`, in a thread of its own when there is a window. The scene goes to
sort-render as a package in a temporary folder, the picture comes back as an EXR, linear: colour management
is Blender's."""

from __future__ import annotations

import tempfile
from pathlib import Path

import bpy

from . import locate, messages, preferences, process
from .messages import Report, SortError

ENGINE = "SORT"
CYCLES_FILTER_WIDTHS = 2  # a Blackman-Harris filter of width 1.5 in Cycles is 3 pixels wide from end to end
UPDATE_INTERVAL_S = 1.0  # of the picture in the render window
STAGE_SHARE = 0.05  # of the progress bar, for what comes before the first sample
MIB = 1024 * 1024


class SortRenderEngine(bpy.types.RenderEngine):
    bl_idname = ENGINE
    bl_label = "SORT"
    bl_use_preview = False
    bl_use_eevee_viewport = True
    bl_use_shading_nodes_custom = False
    bl_use_postprocess = True

    def render(self, depsgraph: bpy.types.Depsgraph) -> None:
        report = Report()
        try:
            self._render(depsgraph, report)
        except SortError as error:
            report.error = str(error)
            self.report({"ERROR"}, f"SORT: {error}")
            self.error_set(f"SORT: {error}")
        for text in report.warnings:
            self.report({"WARNING"}, f"SORT: {text}")
        messages.publish(report)

    def update_render_passes(self, scene: bpy.types.Scene, renderlayer: bpy.types.ViewLayer) -> None:
        self.register_pass(scene, renderlayer, "Combined", 4, "RGBA", "COLOR")

    def _render(self, depsgraph: bpy.types.Depsgraph, report: Report) -> None:
        locate.require_numpy()
        from .export import scene as scene_export  # needs numpy
        program = locate.find_renderer(preferences.renderer_preference())
        with tempfile.TemporaryDirectory(prefix="sort-", dir=bpy.app.tempdir) as folder:
            package = Path(folder, "package")
            self.update_stats("", "SORT: exporting the scene")
            frame = scene_export.export_scene(
                depsgraph, self.camera_override, package, report,
                texture_folder=process.filesystem_root(), is_cancelled=self.test_break)
            if self.test_break():
                return
            settings = depsgraph.scene.sort
            render = depsgraph.scene.render
            job = process.RenderJob(
                program=program, package=package, picture=Path(folder, "picture.exr"),
                stats=Path(folder, "stats.json"),
                filter_width_px=CYCLES_FILTER_WIDTHS * settings.filter_width,
                texture_memory_mib=settings.texture_memory_mib,
                texture_folder=process.filesystem_root(),
                threads=render.threads if render.threads_mode == "FIXED" else 0,
                update_interval_s=UPDATE_INTERVAL_S if is_watched() else 0.0)
            result = self.begin_result(0, 0, frame.width, frame.height, layer=depsgraph.view_layer.name)
            try:
                self._run(job, result, report)
            finally:
                self.end_result(result)

    def _run(self, job: process.RenderJob, result: bpy.types.RenderResult, report: Report) -> None:
        """Shows the picture as it grows."""
        def show(record: dict) -> None:
            if record.get("event") == "picture":
                _load(job.picture, result)
                self.update_result(result)
            else:
                self._show_record(record)
        watcher = process.Watcher(on_record=show, is_cancelled=self.test_break)
        if process.run_render(job, watcher, report) or job.picture.exists():
            _load(job.picture, result)

    def _show_record(self, record: dict) -> None:
        """A record of `sort-render --progress json`."""
        if record.get("event") == "stage":
            self.update_stats("", f"SORT: {record.get('stage', '')}")
        elif record.get("event") == "progress":
            done = float(record.get("done", 0.0))
            left = float(record.get("left_s", -1.0))
            used = float(record.get("texture_bytes", 0)) / MIB
            budget = float(record.get("texture_budget_bytes", 0)) / MIB
            self.update_progress(STAGE_SHARE + (1 - STAGE_SHARE) * done)
            self.update_memory_stats(memory_used=used, memory_peak=budget)
            remaining = f", {_clock(left)} left" if left >= 0 else ""
            self.update_stats("", f"SORT: {100 * done:.0f} %{remaining}, "
                                  f"textures {used:.0f} of {budget:.0f} MiB")


def is_watched() -> bool:
    """There is a window to show the picture in while it renders."""
    return not bpy.app.background


def _load(picture: Path, result: bpy.types.RenderResult) -> None:
    try:
        result.layers[0].load_from_file(str(picture))
    except RuntimeError as error:
        raise SortError(f"the picture could not be read back: {error}") from error


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def register() -> None:
    bpy.utils.register_class(SortRenderEngine)


def unregister() -> None:
    bpy.utils.unregister_class(SortRenderEngine)
