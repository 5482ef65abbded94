"""The render engine: Blender calls SortRenderEngine.render for F12, for each frame of an animation, for each view
layer, for previews of materials and for `blender -b file.blend -E SORT -f 1`, in a thread of its own when there is a
window; and SortRenderEngine.bake for each image of an object that is baked (baking.py). The scene goes to sort-render as a package in a temporary folder, the picture comes back as an EXR, linear:
colour management is Blender's. A viewport in Rendered mode is viewport.py's."""

from __future__ import annotations

import shutil
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import bpy
from mathutils import Matrix

from . import locate, messages, preferences, process, registration, resume
from .engine_name import ENGINE
from .job import make_job
from .messages import Report, SortError

if TYPE_CHECKING:  # these need numpy
    from .exr import Picture
    from .export.camera import Eye
    from .export.scene import Exported
    from .passes import Pass
    from .viewport import Viewport

UPDATE_INTERVAL_S = 1.0  # of the picture in the render window
STAGE_SHARE = 0.05  # of the progress bar, for what comes before the first sample
PREVIEW_SAMPLES = 24
MIB = 1024 * 1024

export_target: Path | None = None  # where the next render shall only write its package (operators.py),
export_textures = ""  # and below which folder it names images on disk by their path; "": it copies them


class SortRenderEngine(bpy.types.RenderEngine):
    bl_idname = ENGINE
    bl_label = "SORT"
    bl_use_preview = True
    bl_use_eevee_viewport = True  # for the Material Preview mode
    bl_use_shading_nodes_custom = False
    bl_use_postprocess = True

    def render(self, depsgraph: bpy.types.Depsgraph) -> None:
        self._report_on(lambda report: self._render(depsgraph, report))

    def update(self, data: bpy.types.BlendData, depsgraph: bpy.types.Depsgraph) -> None:
        """Blender calls it before a render, and before the images of an object are baked one after another."""
        self.baked_images = 0

    def bake(self, depsgraph: bpy.types.Depsgraph, obj: bpy.types.Object, pass_type: str, pass_filter: int, width: int,
             height: int) -> None:
        def run(report: Report) -> None:
            locate.require_numpy()
            from . import baking
            self.baked_images += 1
            image = baking.BakedImage(width, height, f"Bake {self.baked_images}")
            baking.bake(self, depsgraph, obj, baking.baked_of(pass_type, pass_filter), image, report)
        self._report_on(run)

    def _report_on(self, run: Callable[[Report], None]) -> None:
        """Tells the artist what `run` finds, and why it fails."""
        report = Report()
        try:
            run(report)
        except SortError as error:
            self._fail(str(error), report)
        except OSError as error:
            self._fail(messages.explain(error, Path(bpy.app.tempdir)), report)
        except Exception as error:  # whatever it is, the artist reads it where the picture would be
            traceback.print_exc()
            self._fail(f"internal error: {type(error).__name__}: {error} (the terminal has more)", report)
        if self.is_preview:
            return
        for text in report.warnings:
            self.report({"WARNING"}, f"SORT: {text}")
        messages.publish(report)
        if is_watched():
            bpy.app.timers.register(redraw_properties, first_interval=0)  # by the main thread: this may be another

    def _fail(self, text: str, report: Report) -> None:
        text = messages.clean(text)
        report.error = text
        self.report({"ERROR"}, f"SORT: {text}")
        self.error_set(f"SORT: {text}")

    def update_render_passes(self, scene: bpy.types.Scene, renderlayer: bpy.types.ViewLayer) -> None:
        self.register_pass(scene, renderlayer, "Combined", 4, "RGBA", "COLOR")
        try:
            locate.require_numpy()
        except SortError:
            return  # render() will say it
        from . import passes
        for item in passes.wanted(scene, renderlayer):
            self.register_pass(scene, renderlayer, item.name, len(item.channels), item.channels, item.kind)

    def _render(self, depsgraph: bpy.types.Depsgraph, report: Report) -> None:
        locate.require_numpy()
        from . import passes
        from .export.neighbours import is_asked_for
        view_layer = depsgraph.view_layer
        items = [] if self.is_preview else passes.wanted(depsgraph.scene, view_layer)
        for name in [] if self.is_preview else passes.unsupported(view_layer):
            report.warn(f"View layer '{view_layer.name}'", f"the pass {name} is not supported yet: it stays black")
        if view_layer.use_pass_vector and not self.is_preview and not is_asked_for(depsgraph.scene, view_layer):
            report.warn(f"View layer '{view_layer.name}'", "the pass Vector stays black beside motion blur, as in Cycles")
        if self.is_preview or not depsgraph.scene.render.use_multiview:
            self._render_views(depsgraph, [], items, report)
            return
        views = [view.name for view in depsgraph.scene.render.views if view.use]
        for some in [views] if export_target is not None else [[view] for view in views]:
            self._render_views(depsgraph, some, items, report)

    def _eyes(self, camera: bpy.types.Object, views: list[str]) -> dict[str, Eye]:
        from .export.camera import Eye
        is_spherical = camera.data.stereo.use_spherical_stereo
        eyes = {}
        for view in views:
            self.active_view_set(view)
            eyes[view] = Eye(Matrix(self.camera_model_matrix(camera, use_spherical_stereo=is_spherical)),
                             self.camera_shift_x(camera, use_spherical_stereo=is_spherical))
        return eyes

    def _render_views(self, depsgraph: bpy.types.Depsgraph, views: list[str], items: list[Pass], report: Report) -> None:
        """`views`: none if the scene has but one; one; all, into a package with a camera each."""
        view = views[0] if views else ""
        if view:
            self.active_view_set(view)
        from . import passes
        from .export import scene as scene_export
        view_layer = depsgraph.view_layer
        is_export = export_target is not None and not self.is_preview
        program = None if is_export else locate.find_renderer(preferences.renderer_preference())
        with tempfile.TemporaryDirectory(prefix="sort-", dir=bpy.app.tempdir) as folder:
            package = Path(folder, "package")
            self.update_stats("", "SORT: exporting the scene")
            exported = scene_export.export_scene(depsgraph, scene_export.ExportPlan(
                folder=export_target if is_export else package,
                texture_folder=export_textures if is_export else process.filesystem_root(), is_cancelled=self.test_break,
                frame_set=None if self.is_preview else lambda f, s: self.frame_set(f, subframe=s),
                camera_override=self.camera_override, eyes_of=(lambda camera: self._eyes(camera, views)) if views else None,
                is_fleeting=not is_export), report)
            if is_export or self.test_break():
                return
            job = make_job(depsgraph.scene, program, Path(folder), {item.layer for item in items}, layer=view_layer, report=report)
            if self.is_preview:
                job = replace(job, options=(*job.options, "--spp", str(PREVIEW_SAMPLES), "--unwatched"))
            elif is_watched():
                job = replace(job, update_interval_s=UPDATE_INTERVAL_S)
            if depsgraph.scene.sort.keeps_interrupted and not self.is_preview:
                try:
                    job = replace(job, checkpoint=resume.prepare(resume.checkpoint_of(depsgraph.scene, view_layer.name, view)))
                except OSError as error:
                    report.warn("Go On After Interruptions", f"{messages.explain(error).rstrip('.')}; what is interrupted begins anew")
            result = self.begin_result(0, 0, exported.frame.width, exported.frame.height, layer=view_layer.name,
                                       view=view)
            try:
                picture = self._run(job, result, view, items, exported, report)
                if picture:
                    passes.note_cryptomatte(self.get_result(), picture, view_layer)
            finally:
                self.end_result(result)

    def _run(self, job: process.RenderJob, result: bpy.types.RenderResult, view: str, items: list[Pass],
             exported: Exported, report: Report) -> Picture | None:
        """Shows the picture as it grows. The last one; None: cancelled before there was any."""
        def load() -> Picture:
            return _load(job.picture, result, view, items, exported)

        def show(record: dict) -> None:
            if record.get("event") == "picture":
                load()
                self.update_result(result)
            else:
                self.show_record(record)
        watcher = process.Watcher(on_record=show, is_cancelled=self.test_break)
        is_complete = process.run_render(job, watcher, report)
        if job.stats.exists() and not self.is_preview:
            report.stats = Path(bpy.app.tempdir, "sort-last-render.json")
            shutil.copyfile(job.stats, report.stats)
            report.texture_use = messages.texture_use(report.stats)
        return load() if is_complete or job.picture.exists() else None

    def show_record(self, record: dict) -> None:
        """A record of `sort-render --progress json`."""
        if record.get("event") == "stage":
            self.update_stats("", f"SORT: {record.get('stage', '')}")
        elif record.get("event") == "progress":
            done = float(record.get("done", 0.0))
            left = float(record.get("left_s", -1.0))
            used = float(record.get("texture_bytes", 0)) / MIB
            budget = float(record.get("texture_budget_bytes", 0)) / MIB
            self.update_progress(STAGE_SHARE + (1 - STAGE_SHARE) * done)
            self.texture_peak_mib = max(used, getattr(self, "texture_peak_mib", 0.0))
            self.update_memory_stats(memory_used=used, memory_peak=self.texture_peak_mib)
            remaining = f", {_clock(left)} left" if left >= 0 else ""
            self.update_stats("", f"SORT: {100 * done:.0f} %{remaining}, "
                                  f"textures {used:.0f} of {budget:.0f} MiB")

    # --- the viewport in Rendered mode ---

    def view_update(self, context: bpy.types.Context, depsgraph: bpy.types.Depsgraph) -> None:
        self._viewport().scene_changed(depsgraph)

    def view_draw(self, context: bpy.types.Context, depsgraph: bpy.types.Depsgraph) -> None:
        viewport = self._viewport()
        viewport.draw(context, depsgraph)
        self.update_stats("SORT", viewport.status())

    def _viewport(self) -> Viewport:
        if not hasattr(self, "viewport"):
            from .viewport import Viewport
            self.viewport = Viewport(self.tag_redraw)
        return self.viewport

    def __del__(self) -> None:
        try:
            viewport = self.__dict__.get("viewport")
        except (AttributeError, ReferenceError):  # Blender has taken the engine away already
            return
        if viewport:
            viewport.close()


def is_watched() -> bool:
    """There is a window to show the picture in while it renders."""
    return not bpy.app.background


def redraw_properties() -> None:
    """The messages and the report of the last render are in the properties."""
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            if area.type == "PROPERTIES":
                area.tag_redraw()


def _load(path: Path, result: bpy.types.RenderResult, view: str, items: list[Pass], exported: Exported) -> Picture:
    """Combined and `items`. Python cannot set the pixels of a pass in less than seconds; a file can. Blender's reader of
    single layers is no help: it multiplies colours by alpha, which they are already."""
    from . import exr, passes
    picture = exr.read(path)
    layer = result.layers[0].name
    within = f".{view}" if view else ""
    pixels = passes.combined(picture)
    channels = {f"{layer}.Combined{within}.{c}": pixels[:, k] for k, c in enumerate("RGBA")}
    for item in items:
        values = item.values(picture, exported)
        channels |= {f"{layer}.{item.name}{within}.{c}": values[:, k] for k, c in enumerate(item.channels)}
    named = path.with_name("passes.exr")
    exr.write(named, picture.width, picture.height, channels)
    result.load_from_file(str(named))
    return picture


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


register, unregister = registration.pair((SortRenderEngine,))
