"""Strands: hair of particle systems, and objects of type Curves, to the arrays of a package's curves.

Radii are as Cycles has them: half of what the particle settings say, from root to tip by the strand's shape.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import bpy
import numpy as np
from mathutils import Vector

from ..sort_package import write_curves
from .attributes import SURFACE_UV, finite, four_of, get as _get, plain_name, raw_values, to_box
from .cache import Entry, ExportCache
from .node_options import GENERATED, VALUE

DEFAULT_RADIUS_M = 0.005  # of Curves objects without the attribute
RENDER = "RENDER"  # mode of a depsgraph; another one is a viewport's
POLY = 1  # of the attribute curve_type


@dataclass
class Strands:
    points: np.ndarray  # float32 [points, 4]: place in the object's space, radius; strand after strand
    counts: np.ndarray  # uint32 [strands], 2 or more each
    uv: np.ndarray | None  # float32 [strands, 2], of the roots
    is_linear: bool
    normals: np.ndarray | None = None  # float32 [points, 3], in the object's space; None: no material asks for them
    origin: np.ndarray | None = None  # of each strand: its number among those of the curves, or of the particles and children


def systems_of(obj: bpy.types.Object, mode: str) -> list[bpy.types.ParticleSystem]:
    """Those of an object whose hair is rendered as strands. `mode`: of the depsgraph that has evaluated it."""
    return [m.particle_system for m in obj.modifiers
            if m.type == "PARTICLE_SYSTEM" and (m.show_render if mode == RENDER else m.show_viewport) and m.particle_system.settings.type == "HAIR"
            and m.particle_system.settings.render_type == "PATH"]


def strands_of(obj: bpy.types.Object, system_name: str, mode: str) -> Strands | None:
    """`system_name`: of the particle system; "": the object is of type Curves. `mode`: of the depsgraph that has evaluated it."""
    return of_system(obj, obj.particle_systems[system_name], mode) if system_name else of_curves(obj)


def of_system(obj: bpy.types.Object, system: bpy.types.ParticleSystem, mode: str) -> Strands | None:
    """A viewport has strands of fewer points, and maybe not all children: what is asked for beyond them is nowhere."""
    settings = system.settings
    children, step = len(system.child_particles), settings.render_step
    if mode != RENDER:
        children, step = int(children * settings.display_percentage / 100), settings.display_step
    first = 0
    if settings.child_type != "NONE" and children and not settings.use_parent_particles:
        first = len(system.particles)
    last = len(system.particles) + children
    keys = (1 << step) + 1
    if settings.kink == "SPIRAL":
        keys += settings.kink_extra_steps
    if last <= first:
        return None
    place_of = system.co_hair
    places = _rows(3, (place_of(obj, particle_no=k, step=step) for k in range(first, last) for step in range(keys)))
    inverse = np.array(obj.matrix_world.inverted_safe())
    places = (places @ inverse[:3, :3].T + inverse[:3, 3]).astype(np.float32).reshape(-1, keys, 3)
    radii = _radii(settings, keys)
    points = np.concatenate([places, np.broadcast_to(radii[:, None], places.shape[:2] + (1,))], axis=2)
    grown = np.linalg.norm(np.diff(places, axis=1), axis=2).sum(axis=1) > 0
    if not grown.any():
        return None
    points = np.ascontiguousarray(points[grown], np.float32)
    uv = _root_uv(obj, system, first, last)
    return Strands(points.reshape(-1, 4), np.full(len(points), keys, np.uint32), None if uv is None else uv[grown], False,
                   origin=np.arange(first, last)[grown])


def _rows(width: int, vectors: Iterable[Vector]) -> np.ndarray:
    """float64 [vectors, width]: an array of all numbers, which takes half the time of one of rows."""
    return np.fromiter(chain.from_iterable(vectors), np.float64).reshape(-1, width)


def _radii(settings: bpy.types.ParticleSettings, keys: int) -> np.ndarray:
    along = np.linspace(0, 1, keys)
    root, tip = (settings.radius_scale / 2 * r for r in (settings.root_radius, settings.tip_radius))
    thick, shape = 1 - along, settings.shape
    if shape < 0:
        thick = thick ** (1 + shape) if shape > -1 else np.ones(keys)
    elif shape > 0:
        thick = thick ** (1 / max(1 - shape, 1e-6))
    radii = thick * (root - tip) + tip
    if settings.use_close_tip:
        radii[-1] = 0
    return radii


def _root_uv(obj: bpy.types.Object, system: bpy.types.ParticleSystem, first: int, last: int) -> np.ndarray | None:
    layers = obj.data.uv_layers
    if not layers:
        return None
    active = next((k for k, layer in enumerate(layers) if layer.active_render), 0)
    ask = system.uv_on_emitter
    return _rows(2, (ask(uv_no=active, **who) for who in _emitted(obj, system, range(first, last)))).astype(np.float32)


def _emitted(obj: bpy.types.Object, system: bpy.types.ParticleSystem, which: Iterable[int]) -> Iterator[dict]:
    """What Blender's functions want to know of each particle or child, to tell where its root is."""
    modifier = next(m for m in obj.modifiers if m.type == "PARTICLE_SYSTEM" and m.particle_system == system)
    parents, children, count = system.particles, system.child_particles, len(system.particles)
    for k in which:
        k = int(k)
        yield {"modifier": modifier, "particle": parents[k if k < count else 0] if count else children[0], "particle_no": k}


def values_of(obj: bpy.types.Object, system_name: str, strands: Strands, wanted: frozenset[str]) -> dict[str, np.ndarray]:
    """Attributes that materials read, float32 [points, 3 or 4]: those of curves, and the emitter's colours at the roots of particles. Generated, as
    Cycles has it, is where the root is in the emitter's box; the place itself on curves, which have no box."""
    found = {}
    for name in sorted(wanted):
        values = None
        if name == GENERATED:
            values = _in_box(obj.data, strands) if system_name else strands.points[:, :3]
        elif system_name:
            values = _root_colours(obj, obj.particle_systems[system_name], plain_name(name), strands)
        elif name.startswith(VALUE):
            values = _of_curves(obj.data, plain_name(name), strands)
        if values is not None and len(values) == len(strands.points):
            found[name] = finite(np.ascontiguousarray(values, np.float32))
    return found


def _in_box(mesh: bpy.types.Mesh, strands: Strands) -> np.ndarray:
    roots = strands.points[np.cumsum(strands.counts) - strands.counts, :3]
    return np.repeat(to_box(mesh, roots), strands.counts, axis=0)


def _root_colours(obj: bpy.types.Object, system: bpy.types.ParticleSystem, name: str, strands: Strands) -> np.ndarray | None:
    number = obj.data.vertex_colors.find(name)
    if number < 0:
        return None
    ask = system.mcol_on_emitter
    encoded = _rows(3, (ask(vcol_no=number, **who) for who in _emitted(obj, system, strands.origin)))
    colours = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
    return np.repeat(four_of(colours), strands.counts, axis=0)


def _of_curves(curves: bpy.types.Curves, name: str, strands: Strands) -> np.ndarray | None:
    attribute = curves.attributes.get(name)
    values = raw_values(attribute) if attribute else None
    if values is None:
        return None
    counts = _get(curves.curves, "points_length", np.uint32, 1)[:, 0]
    if attribute.domain == "CURVE":
        values = np.repeat(values, counts, axis=0)
    kept = np.zeros(len(counts), bool)
    kept[strands.origin] = True
    return four_of(values[np.repeat(kept, counts)])


def of_curves(obj: bpy.types.Object) -> Strands | None:
    """An object of type Curves."""
    curves = obj.data
    if len(curves.curves) == 0:
        return None
    counts = _get(curves.curves, "points_length", np.uint32, 1)[:, 0]
    places = _get(curves.points, "position", np.float32, 3)
    radius = curves.attributes.get("radius")
    radii = _get(radius.data, "value", np.float32, 1) if radius and len(radius.data) == len(places) \
        else np.full((len(places), 1), DEFAULT_RADIUS_M, np.float32)
    kinds = curves.attributes.get("curve_type")
    is_linear = kinds is not None and bool((_get(kinds.data, "value", np.int32, 1) == POLY).all())
    points = np.concatenate([places, radii], axis=1)
    is_flat = any(slot.material and slot.material.node_tree and _has_flat_hair(slot.material.node_tree) for slot in obj.material_slots)
    normals = _normals(curves) if is_flat and len(curves.normals) == len(places) else None
    if (counts < 2).any():  # points alone are no strands
        kept = np.repeat(counts >= 2, counts)
        points, normals = points[kept], None if normals is None else normals[kept]
    origin = np.nonzero(counts >= 2)[0]
    if not len(origin):
        return None
    uv = curves.attributes.get(SURFACE_UV)
    is_uv = uv is not None and (uv.data_type, uv.domain) == ("FLOAT2", "CURVE")
    return Strands(points, counts[origin], finite(_get(uv.data, "vector", np.float32, 2)[origin]) if is_uv else None, is_linear, normals, origin)


def _normals(curves: bpy.types.Curves) -> np.ndarray:
    """One by one: Blender keeps these only while they are iterated, and its foreach_get copies them after it has freed them."""
    return finite(np.array([normal.vector[:] for normal in curves.normals], np.float32))


def _has_flat_hair(tree: bpy.types.NodeTree) -> bool:
    """A node's fibres have elliptical sections, which the curves' normals turn."""
    return any(node.bl_idname == "ShaderNodeBsdfHairPrincipled" and getattr(node, "model", "") == "HUANG"
               or node.type == "GROUP" and node.node_tree and _has_flat_hair(node.node_tree) for node in tree.nodes)


def make(keys: list[Strands], values: dict[str, np.ndarray], shape: str, cache: ExportCache) -> Entry:
    """`keys`: over the shutter, one or more. `values`: see values_of."""
    strands = keys[0]
    h = hashlib.sha1(shape.encode(), usedforsecurity=False)
    for array in (strands.points, strands.counts, *(np.empty(0) if part is None else part for part in (strands.uv, strands.normals))):
        h.update(str(array.shape).encode())
        h.update(np.ascontiguousarray(array))
    for later in keys[1:]:
        h.update(np.ascontiguousarray(later.points))
    for name, column in values.items():
        h.update(name.encode() + b"\0")
        h.update(column)
    key = "strands " + h.hexdigest()

    def write(path: Path) -> dict:
        points, counts = strands.points, strands.counts.astype(np.int64)
        later = [key.points for key in keys[1:]]
        along = _along(counts)
        lengths = np.zeros(len(points), np.float32)
        lengths[1:] = np.linalg.norm(np.diff(points[:, :3], axis=0), axis=1)
        starts = np.cumsum(counts) - counts
        lengths[starts] = 0
        attributes = {"intercept": (1, along), "strand_length": (1, np.add.reduceat(lengths, starts).astype(np.float32))}
        if strands.normals is not None:
            attributes["curve_normal"] = (3, strands.normals)
        attributes |= {name: (column.shape[1], column) for name, column in values.items()}
        if not strands.is_linear:  # through all points: the ends twice
            ends = np.ones(len(points), np.int64)
            ends[starts] += 1
            ends[starts + counts - 1] += 1
            points = np.repeat(points, ends, axis=0)
            attributes = {name: (width, column if name == "strand_length" else np.repeat(column, ends, axis=0))
                          for name, (width, column) in attributes.items()}
            later = [np.repeat(places, ends, axis=0) for places in later]
            counts = counts + 2
        record = write_curves(
            path, "", basis="linear" if strands.is_linear else "catmull_rom", shape=shape,
            points=np.ascontiguousarray(points, np.float32).ravel(), point_counts=np.ascontiguousarray(counts, np.uint32),
            uv=[] if strands.uv is None else [np.ascontiguousarray(strands.uv, np.float32).ravel()], attributes=attributes,
            motion=[np.ascontiguousarray(places, np.float32).ravel() for places in later])
        return {"record": record, "file": f"meshes/{h.hexdigest()}.bin"}
    return cache.find(key) or cache.make(key, write)


def _along(counts: np.ndarray) -> np.ndarray:
    """0 at each strand's root to 1 at its tip, by points."""
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    return ((np.arange(counts.sum()) - starts) / (np.repeat(counts, counts) - 1)).astype(np.float32)
