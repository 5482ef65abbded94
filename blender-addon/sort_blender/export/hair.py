"""Strands: hair of particle systems, and objects of type Curves, to the arrays of a package's curves.

Radii are as Cycles has them: half of what the particle settings say, from root to tip by the strand's shape.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import bpy
import numpy as np
from mathutils import Vector

from ..sort_package import write_curves
from .attributes import finite, get as _get
from .cache import Entry, ExportCache

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
    return Strands(points.reshape(-1, 4), np.full(len(points), keys, np.uint32), None if uv is None else uv[grown], False)


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
    modifier = next(m for m in obj.modifiers if m.type == "PARTICLE_SYSTEM" and m.particle_system == system)
    layers = obj.data.uv_layers
    if not layers:
        return None
    active = next((k for k, layer in enumerate(layers) if layer.active_render), 0)
    count = len(system.particles)
    parents, children = system.particles, system.child_particles
    return _rows(2, (system.uv_on_emitter(modifier, particle=parents[k if k < count else 0] if count else children[0], particle_no=k, uv_no=active)
                     for k in range(first, last))).astype(np.float32)


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
        counts = counts[counts >= 2]
    return Strands(points, counts, None, is_linear, normals) if len(counts) else None


def _normals(curves: bpy.types.Curves) -> np.ndarray:
    """One by one: Blender keeps these only while they are iterated, and its foreach_get copies them after it has freed them."""
    return finite(np.array([normal.vector[:] for normal in curves.normals], np.float32))


def _has_flat_hair(tree: bpy.types.NodeTree) -> bool:
    """A node's fibres have elliptical sections, which the curves' normals turn."""
    return any(node.bl_idname == "ShaderNodeBsdfHairPrincipled" and getattr(node, "model", "") == "HUANG"
               or node.type == "GROUP" and node.node_tree and _has_flat_hair(node.node_tree) for node in tree.nodes)


def make(keys: list[Strands], shape: str, cache: ExportCache) -> Entry:
    """`keys`: over the shutter, one or more."""
    strands = keys[0]
    h = hashlib.sha1(shape.encode(), usedforsecurity=False)
    for values in (strands.points, strands.counts, *(np.empty(0) if part is None else part for part in (strands.uv, strands.normals))):
        h.update(str(values.shape).encode())
        h.update(np.ascontiguousarray(values))
    for later in keys[1:]:
        h.update(np.ascontiguousarray(later.points))
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
        if not strands.is_linear:  # through all points: the ends twice
            ends = np.ones(len(points), np.int64)
            ends[starts] += 1
            ends[starts + counts - 1] += 1
            points, attributes["intercept"] = np.repeat(points, ends, axis=0), (1, np.repeat(along, ends))
            if strands.normals is not None:
                attributes["curve_normal"] = (3, np.repeat(strands.normals, ends, axis=0))
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
