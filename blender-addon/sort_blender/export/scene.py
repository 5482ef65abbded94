"""A whole scene: walks the depsgraph once and writes the package."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

import bpy

from .. import cycles_settings, render_settings
from ..messages import Report, SortError
from ..sort_package import PackageWriter
from ..versions import LINEAR_SRGB, working_space, world_of
from . import cache, unfollowed
from .camera import Eye, Frame, camera_record, frame_of
from .image import ImageExporter
from .instance import InstanceExporter
from .kept import KeptMeshes
from .layers import layers_of
from .linking import Linking
from .light import add_light
from .material import MaterialExporter
from .motion import Motion
from .neighbours import Neighbours, is_asked_for
from .surroundings import surroundings_of
from .world import environment_record, mist_settings


@dataclass(frozen=True)
class Exported:
    frame: Frame
    object_indices: dict[str, int] = field(default_factory=dict)  # pass indices by name in the package
    material_indices: dict[str, int] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)  # of objects' meshes in the package, by full name


@dataclass(frozen=True)
class ExportPlan:
    """What is asked for besides the depsgraph. `texture_folder`: see ImageExporter. frame_set(frame, subframe)
    evaluates the depsgraph at another time; None: no motion blur and no vectors. `camera`, `frame`: given by a viewport, else those
    of the scene. `kept`, `space`: of a viewport, which exports the scene again and again, and may show a part of it (local view). `is_fleeting`: one picture is rendered of the package, and it
    may hold what nothing names. `catcher`: the full name of an object that is a shadow catcher, whatever it says of itself."""
    folder: Path  # must not be there yet
    texture_folder: str = ""
    is_cancelled: Callable[[], bool] = lambda: False
    frame_set: Callable[[int, float], None] | None = None
    camera_override: bpy.types.Object | None = None
    eyes_of: Callable[[bpy.types.Object], dict[str, Eye]] | None = None  # by the name of the view, where there are several
    view: tuple[Frame, dict] | None = None
    space: bpy.types.SpaceView3D | None = None
    kept: KeptMeshes = field(default_factory=KeptMeshes)
    is_fleeting: bool = False
    catcher: str = ""


def export_scene(depsgraph: bpy.types.Depsgraph, plan: ExportPlan, report: Report) -> Exported:
    """Writes the package. When cancelled, it is incomplete and not to be used."""
    with ExitStack() as open_files:
        return _export(depsgraph, plan, report, open_files)


def _export(depsgraph: bpy.types.Depsgraph, plan: ExportPlan, report: Report, open_files: ExitStack) -> Exported:
    scene = depsgraph.scene_eval
    view_layer = depsgraph.view_layer_eval
    camera = plan.camera_override or scene.camera
    if camera is None and plan.view is None:
        raise SortError(f"Scene '{scene.name}' has no camera")
    world = world_of(scene, view_layer)
    frame = plan.view[0] if plan.view else frame_of(scene.render)
    _warn_of_settings(scene, view_layer, report)
    motion = None
    if plan.frame_set and scene.render.use_motion_blur and view_layer.use_motion_blur:
        motion = Motion(scene, report)
        motion.gather(depsgraph, camera, plan.frame_set)
    neighbours = None
    if plan.frame_set and is_asked_for(scene, view_layer):
        neighbours = Neighbours()
        neighbours.gather(depsgraph, plan.frame_set, lambda: _camera_records(camera, depsgraph, plan, frame, None, Report()))

    cache.shared.begin()
    plan.kept.use(depsgraph)
    writer = PackageWriter(plan.folder)
    images = ImageExporter(writer, plan.texture_folder, cache.shared, report)
    layers = layers_of(view_layer, report)
    materials = MaterialExporter(writer, images, report, surroundings_of(depsgraph, camera), layers)
    linking = Linking(depsgraph, report)
    pile = open_files.enter_context(closing(cache.Pile(cache.shared, plan.folder))) if plan.is_fleeting else None
    instances = InstanceExporter(writer, materials, cache.shared, pile, motion, neighbours, depsgraph, layers, linking, _strand_shape(scene), plan.kept,
                                 plan.catcher)
    writer.name = scene.name
    writer.settings = {
        "resolution": [frame.width, frame.height],
        **render_settings.exported(scene, view_layer, cycles_settings.unset_taken_from(scene)),
        "frame": scene.frame_current, "frames_per_second": scene.render.fps / scene.render.fps_base, **mist_settings(world)}
    writer.shader_aovs = list(layers.aovs.values())
    if plan.view:
        writer.add("cameras", "Viewport", plan.view[1])
    else:
        records = _camera_records(camera, depsgraph, plan, frame, motion, report)
        for view, record in records.items():
            name = f"{camera.name} {view}" if len(records) > 1 else camera.name
            writer.add("cameras", name, {**record, **(neighbours.camera(view, record) if neighbours else {})})
    writer.environment = environment_record(world if view_layer.use_sky else None, layers, materials, report)
    instances.find_normals(depsgraph, plan.is_cancelled)
    for instance in depsgraph.object_instances:
        if plan.is_cancelled():
            return Exported(frame)
        obj = instance.object
        if not (instance.is_instance or instance.show_self or instance.show_particles):
            continue
        if plan.space and not obj.visible_in_viewport_get(plan.space):
            continue
        if obj.type == "LIGHT":
            carrier = instance.parent if instance.is_instance and instance.parent else obj
            add_light(obj, carrier, instance.matrix_world, layers.light_group(obj.lightgroup), linking.of_light(obj, carrier), writer,
                      materials, report)
        else:
            instances.add(instance)
    writer.finish()
    if pile:
        pile.keep()
    return Exported(frame, instances.indices, _material_indices(materials), instances.names)


def _camera_records(camera: bpy.types.Object, depsgraph: bpy.types.Depsgraph, plan: ExportPlan, frame: Frame, motion: Motion | None,
                    report: Report) -> dict[str, dict]:
    """By the name of the view; "": the only one."""
    evaluated = camera.evaluated_get(depsgraph)
    keys = motion.camera_keys() if motion else [evaluated.matrix_world]
    eyes = plan.eyes_of(evaluated) if plan.eyes_of else {"": None}
    return {view: camera_record(evaluated, frame, report, keys, eye) for view, eye in eyes.items()}


def _strand_shape(scene: bpy.types.Scene) -> str:
    """As Cycles: flat and turned to the viewer, unless the artist asks for tubes."""
    if hasattr(scene, "cycles_curves"):
        return "ribbon" if scene.cycles_curves.shape == "RIBBONS" else "round"
    return "round" if scene.render.hair_type == "CYLINDER" else "ribbon"


def _material_indices(materials: MaterialExporter) -> dict[str, int]:
    indices = {}
    for full_name, name in materials.names.items():
        material = next((m for m in bpy.data.materials if m.name_full == full_name), None)
        if material and material.pass_index:
            indices[name] = material.pass_index
    return indices


def _warn_of_settings(scene: bpy.types.Scene, view_layer: bpy.types.ViewLayer, report: Report) -> None:
    unfollowed.warn(scene, unfollowed.SCENE, "Render settings", report)
    unfollowed.warn(view_layer, unfollowed.VIEW_LAYER, f"View layer '{view_layer.name}'", report)
    if scene.render.use_motion_blur and not _is_flat(scene.render.motion_blur_shutter_curve):
        report.warn("Render settings", "the shutter's curve is not supported: it is open alike all the time")
    if working_space() not in LINEAR_SRGB:
        report.warn("Working Space", f"the file's is '{working_space()}'; images, Blackbody, Wavelength, skies and temperatures are those of Linear Rec.709")


def _is_flat(curve: bpy.types.CurveMapping) -> bool:
    curve.initialize()
    return all(abs(curve.evaluate(curve.curves[0], k / 16) - 1) < 1e-3 for k in range(17))
