"""Baking, Render Properties > Bake: Blender finds what each pixel of an image shows (the layer that begin_result gives has it as passes),
sort-render renders these points instead of what the camera sees, and Blender does the rest: margins, spaces of normals, tiles,
selected to active. For each object and image it calls the engine anew."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import bpy
import numpy as np

from . import exr, locate, passes, preferences, process
from .job import make_job
from .messages import Report, SortError
from .versions import BAKE_PRIMITIVE, BAKES_SHADOWS_OF_LAMPS, NO_ROUGHNESS

if TYPE_CHECKING:
    from .engine import SortRenderEngine

SIDE_MAX, ROW = 65535, 4096  # pixels, of a picture
KINDS = ("diffuse", "glossy", "transmission")
FILTERS = {item.identifier: item.value for item in bpy.types.BakeSettings.bl_rna.properties["pass_filter"].enum_items}
POINT = np.dtype([("triangle", "<i4"), ("b1", "<f4"), ("b2", "<f4"), ("db1dx", "<f4"), ("db2dx", "<f4"), ("db1dy", "<f4"), ("db2dy", "<f4")])
NO_CAMERA = {"transform": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1], "fov_y_degrees": 40.0}


class Baked:
    """What a type of Bake shows. `layers`: of sort-render's --aov; values(picture): float32 [pixels, 4]. look: of --bake-look; "": as
    the scene says. is_caught: the object is a shadow catcher."""

    def __init__(self, layers: set[str], values: Callable[[exr.Picture], np.ndarray], look: str = "above", is_caught: bool = False) -> None:
        self.layers, self.values, self.look, self.is_caught = layers, values, look, is_caught


@dataclass(frozen=True)
class BakedImage:
    """`layer`: by the name of its layer Blender knows a result's image again, so each has its own, which is the same for all objects."""
    width: int
    height: int
    layer: str

    @property
    def table(self) -> tuple[int, int]:
        """The size of the table and its picture. Color attributes are images of one row, which are longer than pictures may be."""
        count = self.width * self.height
        return (self.width, self.height) if max(self.width, self.height) <= SIDE_MAX else (ROW, -(-count // ROW))


def _opaque(colour: Callable[[exr.Picture], np.ndarray]) -> Callable[[exr.Picture], np.ndarray]:
    def values(picture: exr.Picture) -> np.ndarray:
        rgb = colour(picture)
        return np.concatenate([rgb, np.ones((len(rgb), 1), np.float32)], axis=1)
    return values


def _with_alpha(colour: Callable[[exr.Picture], np.ndarray]) -> Callable[[exr.Picture], np.ndarray]:
    return lambda picture: np.concatenate([colour(picture), picture.stack(["A"])], axis=1)


def _layer(name: str, channels: str = "RGB") -> Callable[[exr.Picture], np.ndarray]:
    return lambda picture: picture.stack([f"{name}.{c}" for c in channels])


def _z_up(layer: str) -> Callable[[exr.Picture], np.ndarray]:
    return lambda picture: passes.z_up(picture, layer)


def _uv(picture: exr.Picture) -> np.ndarray:
    return picture.stack(["uv.U", "uv.V", "A"])


def _roughness(picture: exr.Picture) -> np.ndarray:
    """-1 is that of surfaces whose closures have none, and of pixels without a surface."""
    values, alpha = picture.stack(["roughness.V"]), picture.stack(["A"])
    return np.repeat(np.where(values >= 0, values, np.where(alpha > 0, np.float32(NO_ROUGHNESS), np.float32(0))), 3, axis=1)


def _light(kind: str, parts: list[str], is_coloured: bool) -> Callable[[exr.Picture], np.ndarray]:
    """The light that lobes of a kind receive, "direct" or "indirect", times their colour; no parts: that alone."""
    def values(picture: exr.Picture) -> np.ndarray:
        light = sum((_layer(f"{kind}_{part}")(picture) for part in parts), np.float32(0))
        if not parts:
            return _layer(f"{kind}_color")(picture)
        return light * _layer(f"{kind}_color")(picture) if is_coloured else light
    return values


def _of_kind(kind: str, chosen: set[str]) -> Baked:
    parts = [part for part in ("direct", "indirect") if part.upper() in chosen]
    return Baked({f"{kind}_{part}" for part in [*parts, "color"]}, _with_alpha(_light(kind, parts, "COLOR" in chosen)), "")


def _combined(chosen: set[str]) -> Baked:
    """The picture; or, where something is left out, the sum of the others."""
    if {"EMIT", "DIRECT", "INDIRECT", "DIFFUSE", "GLOSSY", "TRANSMISSION"} <= chosen:
        return Baked(set(), lambda picture: picture.stack(list("RGBA")), "")
    parts = [part for part in ("direct", "indirect") if part.upper() in chosen]
    kinds = [kind for kind in KINDS if kind.upper() in chosen and parts]
    seen = ["environment", *(["emission"] if "EMIT" in chosen else [])]

    def values(picture: exr.Picture) -> np.ndarray:
        light = sum((_light(kind, parts, True)(picture) for kind in kinds), np.float32(0))
        return light + sum(_layer(name)(picture) for name in seen)
    return Baked({f"{kind}_{part}" for kind in kinds for part in [*parts, "color"]} | set(seen), _with_alpha(values), "")


DATA = {
    "AO": Baked({"ambient_occlusion"}, _opaque(_layer("ambient_occlusion"))),
    "EMIT": Baked({"emission"}, _opaque(_layer("emission")), ""),
    "ENVIRONMENT": Baked({"environment"}, _opaque(_layer("environment")), "environment"),
    "NORMAL": Baked({"normal"}, _opaque(_z_up("normal"))),
    "ROUGHNESS": Baked({"roughness"}, _opaque(_roughness)),
    "SHADOW": Baked({"shadow"}, _opaque(_layer("shadow")), "") if BAKES_SHADOWS_OF_LAMPS
              else Baked({"shadow_catcher"}, _opaque(_layer("shadow_catcher")), "", is_caught=True),
    "POSITION": Baked({"position"}, _opaque(_z_up("position"))),
    "UV": Baked({"uv"}, _opaque(_uv)),
}


def baked_of(pass_type: str, pass_filter: int) -> Baked:
    chosen = {name for name, bit in FILTERS.items() if bit and pass_filter & bit}
    if pass_type in DATA:
        return DATA[pass_type]
    if pass_type == "COMBINED":
        return _combined(chosen)
    if pass_type.lower() in KINDS:
        return _of_kind(pass_type.lower(), chosen)
    raise SortError(f"Bake: the type {pass_type.capitalize()} is not supported; nothing was baked")


def write_points(path: Path, primitives: np.ndarray, places: np.ndarray, steps: np.ndarray, image: BakedImage) -> None:
    """A table for --bake-points. primitives: int32 [pixels], rows from the bottom, -1 for none; places: float32 [pixels, 2], the weights
    of the first and second corner; steps: [pixels, 4], the first one's change from pixel to pixel to the right and upwards, and the second
    one's. Where an image is wound about a triangle without an area in it, the steps are no numbers: then they are 0."""
    width, height = image.table
    points = np.zeros(width * height, POINT)
    points["triangle"] = np.pad(primitives, (0, len(points) - len(primitives)), constant_values=-1)
    shown = np.flatnonzero(primitives >= 0)
    u, v = places[shown].T
    du_dx, du_dy, dv_dx, dv_dy = np.nan_to_num(steps[shown], nan=0, posinf=0, neginf=0).T
    for name, values in (("b1", v), ("b2", 1 - u - v), ("db1dx", dv_dx), ("db2dx", -du_dx - dv_dx), ("db1dy", -dv_dy), ("db2dy", du_dy + dv_dy)):
        points[name][shown] = np.nan_to_num(values, nan=0, posinf=0, neginf=0)
    with open(path, "wb") as out:
        out.write(b"SORTBAKE" + struct.pack("<II", width, height))
        points.reshape(height, width)[::-1].tofile(out)


def _exchange(move: Callable, values: np.ndarray) -> None:
    """`move` pixels of a pass from or to `values`, float32 [pixels, channels]. Blender 3 takes rows, later versions numbers."""
    try:
        move(values)
    except TypeError:
        move(values.reshape(-1))


def _pixels(of: bpy.types.RenderPass, image: BakedImage) -> np.ndarray:
    values = np.empty((image.width * image.height, of.channels), np.float32)
    _exchange(of.rect.foreach_get, values)
    return values


def _primitives(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of triangles and the weights of corners."""
    number, weights = BAKE_PRIMITIVE[values.shape[1]]
    return values.view(np.int32)[:, number], values[:, weights:weights + 2]


def bake(engine: SortRenderEngine, depsgraph: bpy.types.Depsgraph, obj: bpy.types.Object, baked: Baked, image: BakedImage,
         report: Report) -> None:
    """Bakes what the pixels of one image show of an object."""
    result = engine.begin_result(0, 0, image.width, image.height, layer=image.layer, view="")
    is_complete = False
    try:
        found = result.layers[0].passes
        primitives, places = _primitives(_pixels(found["BakePrimitive"], image))
        if not (primitives >= 0).any():  # the image shows other objects alone
            return
        with tempfile.TemporaryDirectory(prefix="sort-", dir=bpy.app.tempdir) as folder:
            write_points(Path(folder, "points"), primitives, places, _pixels(found["BakeDifferential"], image), image)
            picture = _render(engine, depsgraph, obj, baked, Path(folder), report)
            if picture:
                _exchange(found["Combined"].rect.foreach_set, np.ascontiguousarray(baked.values(picture)[:len(primitives)], np.float32))
                is_complete = True
    finally:
        engine.end_result(result, cancel=not is_complete)


def _render(engine: SortRenderEngine, depsgraph: bpy.types.Depsgraph, obj: bpy.types.Object, baked: Baked, folder: Path,
            report: Report) -> exr.Picture | None:
    """None: it was cancelled."""
    from .export import scene as scene_export
    from .export.camera import Frame
    program = locate.find_renderer(preferences.renderer_preference())
    scene = depsgraph.scene
    camera = engine.camera_override or depsgraph.scene_eval.camera
    engine.update_stats("", "SORT: exporting the scene")
    exported = scene_export.export_scene(depsgraph, scene_export.ExportPlan(
        folder=folder / "package", texture_folder=process.filesystem_root(), is_cancelled=engine.test_break,
        is_fleeting=True, camera_override=engine.camera_override, view=None if camera else (Frame(1, 1, 0, 0, 1, 1), NO_CAMERA),
        catcher=obj.name_full if baked.is_caught else ""), report)
    if engine.test_break():
        return None
    name = exported.names.get(obj.name_full)
    if name is None:
        raise SortError(f"Object '{obj.name}' has nothing that SORT renders: nothing was baked")
    is_from_camera = camera and scene.render.bake.view_from == "ACTIVE_CAMERA"
    job = make_job(scene, program, folder, baked.layers, layer=depsgraph.view_layer, report=report, is_bake=True)
    look = baked.look or ("camera" if is_from_camera else "above")
    job = replace(job, options=(*job.options, "--bake", name, "--bake-points", str(folder / "points"), "--bake-look", look))
    watcher = process.Watcher(on_record=engine.show_record, is_cancelled=engine.test_break, patience_s=0)
    return exr.read(job.picture) if process.run_render(job, watcher, report) else None
