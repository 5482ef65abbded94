"""The operators of the add-on: a package without a render, and the report on textures of the last render."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import bpy
from bpy_extras.io_utils import ExportHelper

from . import engine, locate, messages, preferences, registration
from .engine_name import ENGINE
from .messages import SortError

REPORT_WAIT_S = 120


class SORT_OT_export_package(bpy.types.Operator, ExportHelper):
    """Write the scene as a package for sort-render: what F12 would render, with all its images"""
    bl_idname = "sort.export_package"
    bl_label = "Export SORT Package"
    filename_ext = ".zip"
    filter_glob: bpy.props.StringProperty(default="*.zip", options={"HIDDEN"})
    as_folder: bpy.props.BoolProperty(
        name="As a Folder", description="A folder of that name without .zip, instead of one file")

    def execute(self, context: bpy.types.Context) -> set[str]:
        if self.filepath.startswith("//") and not bpy.data.filepath:
            self.report({"ERROR"}, f"{self.filepath} lies beside the file, which is not saved yet: save it, or choose another folder")
            return {"CANCELLED"}
        target = Path(bpy.path.abspath(self.filepath))
        if not self.filepath or not self.as_folder and target.is_dir():
            self.report({"ERROR"}, f"Choose a name for the package: {self.filepath or 'there is none'}{' is a folder' if self.filepath else ''}")
            return {"CANCELLED"}
        if self.as_folder:
            target = target.with_suffix("") if target.suffix == ".zip" else target
            if target.exists():
                self.report({"ERROR"}, f"{target} is there already")
                return {"CANCELLED"}
        try:
            with tempfile.TemporaryDirectory(prefix="sort-export-", dir=bpy.app.tempdir) as folder:
                package = Path(folder, "package")
                export(context, package)
                if self.as_folder:
                    shutil.move(package, target)
                else:
                    shutil.move(shutil.make_archive(str(Path(folder, "zip")), "zip", package), target)
        except OSError as error:
            self.report({"ERROR"}, f"SORT: {messages.explain(error, target.parent)}")
            return {"CANCELLED"}
        except SortError as error:
            self.report({"ERROR"}, f"SORT: {error}")
            return {"CANCELLED"}
        for text in messages.last().warnings:
            self.report({"WARNING"}, f"SORT: {text}")
        self.report({"INFO"}, f"Wrote {target}")
        return {"FINISHED"}


def export(context: bpy.types.Context, package: Path) -> None:
    """The active scene and view layer. Only a render has Blender evaluate a scene for rendering, so this is one that
    ends before the renderer starts."""
    render = context.scene.render
    before, engine.export_target = render.engine, package
    try:
        render.engine = ENGINE
        bpy.ops.render.render(layer=context.view_layer.name, scene=context.scene.name)
    except RuntimeError as error:
        raise SortError(messages.last().error or str(error)) from error
    finally:
        render.engine, engine.export_target = before, None


class SORT_OT_texture_report(bpy.types.Operator):
    """Show what the texture cache did in the last render: which textures were read, at which levels, what it cost"""
    bl_idname = "sort.texture_report"
    bl_label = "Texture Report"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return messages.last().stats is not None

    def execute(self, context: bpy.types.Context) -> set[str]:
        try:
            page = write_report(messages.last().stats)
        except SortError as error:
            self.report({"ERROR"}, f"SORT: {error}")
            return {"CANCELLED"}
        if not bpy.app.background:
            bpy.ops.wm.url_open(url=page.as_uri())
        self.report({"INFO"}, f"Wrote {page}")
        return {"FINISHED"}


def write_report(stats: Path) -> Path:
    """The page."""
    program = locate.find_renderer(preferences.renderer_preference()).resolve().with_name("texcache")
    page = Path(bpy.app.tempdir, "sort-texture-report.html")
    try:
        run = subprocess.run([str(program), "report", str(stats), "-o", str(page)], capture_output=True, text=True,
                             timeout=REPORT_WAIT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SortError(f"{program} cannot be run: {error}") from error
    if run.returncode:
        raise SortError(run.stderr.strip() or f"{program} ended with exit code {run.returncode}")
    return page


def _draw_export(self: bpy.types.Menu, context: bpy.types.Context) -> None:
    self.layout.operator(SORT_OT_export_package.bl_idname, text="SORT Package (.zip)")


register, unregister = registration.pair((SORT_OT_export_package, SORT_OT_texture_report),
                                         [(bpy.types.TOPBAR_MT_file_export, _draw_export)])
