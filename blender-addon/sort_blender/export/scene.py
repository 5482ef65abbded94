"""A whole scene: walks the depsgraph once and writes the package."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import bpy

from ..messages import Report, SortError
from .camera import Frame, camera_record, frame_of
from .image import ImageExporter
from .instance import InstanceExporter
from .light import add_light
from .material import MaterialExporter
from .package import PackageWriter
from .world import environment_record


def export_scene(depsgraph: bpy.types.Depsgraph, camera: bpy.types.Object | None, folder: Path,
                 report: Report, texture_folder: str, is_cancelled: Callable[[], bool]) -> Frame:
    """Writes the package into `folder`, which must not be there yet. When cancelled, the package is
    incomplete and not to be used. `texture_folder`: see ImageExporter."""
    scene = depsgraph.scene_eval
    camera = camera or scene.camera
    if camera is None:
        raise SortError(f"Scene '{scene.name}' has no camera")
    frame = frame_of(scene.render, report)
    _warn_of_settings(scene, report)

    writer = PackageWriter(folder)
    images = ImageExporter(writer, texture_folder, report)
    instances = InstanceExporter(writer, MaterialExporter(writer, images, report), report)
    writer.settings = {
        "resolution": [frame.width, frame.height], "samples": scene.sort.samples,
        "max_depth": scene.sort.max_depth, "seed": scene.sort.seed}
    writer.add("cameras", camera.name, camera_record(camera.evaluated_get(depsgraph), frame, report))
    writer.environment = environment_record(scene.world, images, report)
    for instance in depsgraph.object_instances:
        if is_cancelled():
            return frame
        obj = instance.object
        if not (instance.is_instance or instance.show_self):
            continue
        if obj.type == "LIGHT":
            add_light(obj, instance.matrix_world, writer, report)
        else:
            instances.add(instance)
    writer.finish()
    return frame


def _warn_of_settings(scene: bpy.types.Scene, report: Report) -> None:
    unsupported = {
        "motion blur": scene.render.use_motion_blur,
        "a transparent film": scene.render.film_transparent,
        "stereoscopy": scene.render.use_multiview,
    }
    for what, is_used in unsupported.items():
        if is_used:
            report.warn("Render settings", f"{what} is not supported yet and is left out")
