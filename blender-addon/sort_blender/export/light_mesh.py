"""Lights with node trees: meshes that emit what the nodes say and hide nothing, as in Cycles."""

from __future__ import annotations

import math

import bpy
import numpy as np
from mathutils import Matrix

from ..messages import Report
from ..sort_package import PackageWriter
from ..versions import LIGHTS_AS_3
from . import axes, folding, light_power, nodes, object_values, single, unfollowed
from .material import MaterialExporter

# W/(m2 sr) a watt and square metre. In Blender 4 a watt is one; measured with 4.2.
AREA_RADIANCE = 1 / 4 if LIGHTS_AS_3 else 1 / math.pi
SMALLEST = 1e-3  # metres; the radius of lights that are points
ROUND = 32  # corners of a disk
SPLITS = 2  # of an icosahedron's triangles
SPREAD_MIN = 0.06  # degrees; as in Cycles


def is_needed(light: bpy.types.Light) -> bool:
    """Its nodes do not say the same for all of its light, and it has a place."""
    if light.type == "SUN" or not light.use_nodes or light.node_tree is None:
        return False
    output = light.node_tree.get_output_node("CYCLES")
    feed = nodes.source(output.inputs["Surface"]) if output else None
    if feed is None:
        return False
    return not folding.is_even(output.inputs["Surface"])


def add(obj: bpy.types.Object, matrix: Matrix, object_to_world: Matrix, fields: dict, paths: dict, writer: PackageWriter,
        materials: MaterialExporter, report: Report) -> None:
    """`matrix`: of the light without its scale. `fields`: further ones of the record. `paths`: which rays it is for."""
    light = obj.data
    where = f"Light '{obj.name}'"
    unfollowed.warn(light, unfollowed.of_light(light), where, report)
    ball = 0.0 if light.type == "AREA" else max(light.shadow_soft_size, SMALLEST)
    if light.type == "AREA":
        positions, triangles, strength, uv = _area(light, object_to_world)
    else:
        (positions, triangles), uv = _ball(ball), []
        strength = 1 / (4 * math.pi) / (math.pi * ball ** 2)
    parameters = {"factor": [c * strength for c in light_power.colour_of(light)],
                  "axis": list(-matrix.col[2].xyz), **_cone(light)}
    if not single.fits(parameters):
        report.warn(where, light_power.TOO_BRIGHT)
        return
    output = light.node_tree.get_output_node("CYCLES")
    material = materials.emission(where, output.inputs["Surface"], parameters, ball)
    mesh = writer.add_mesh(where, positions=positions.ravel(), indices=triangles.ravel(), uv=uv)
    rows = {row: list(matrix[k]) for k, row in enumerate(object_values.ROWS)}
    writer.add("instances", where, {"mesh": mesh, "transform": axes.place(matrix), "materials": [material],
                                    "attributes": rows, "light": paths, **fields})


def _cone(light: bpy.types.Light) -> dict:
    """Parameters of light_front: where it is dimmed."""
    if light.type == "SPOT":
        half = light.spot_size / 2
        return {"edge": math.cos(half), "is_spot": True, "is_cosine": LIGHTS_AS_3,
                "fade": light.spot_blend * (1 - math.cos(half))}
    if light.type == "AREA" and is_grid(light):
        half = math.radians(spread_degrees(light)) / 2
        cot = 1 / math.tan(half)
        # The difference loses digits as the square of the angle; its series does not.
        scale = half ** 2 / 3 + half ** 4 / 45 if half < 0.01 else 1 - half * cot
        return {"is_grid": True, "cot_spread": cot, "spread_scale": 1 / scale}
    return {}


def is_grid(light: bpy.types.AreaLight) -> bool:
    """It does not shine into all of its half space."""
    return light.spread < math.pi * 0.9999


def spread_degrees(light: bpy.types.AreaLight) -> float:
    return max(math.degrees(light.spread), SPREAD_MIN)


def _area(light: bpy.types.AreaLight, object_to_world: Matrix) -> tuple[np.ndarray, np.ndarray, float, list[np.ndarray]]:
    """In the xy plane, shining along -z; its radiance a watt; its texture coordinates."""
    is_even = light.shape in ("SQUARE", "DISK")
    width = max(light.size * object_to_world.col[0].xyz.length, 1e-6)
    height = max((light.size if is_even else light.size_y) * object_to_world.col[1].xyz.length, 1e-6)
    if light.shape in ("SQUARE", "RECTANGLE"):
        corners = np.array([(-1, -1), (-1, 1), (1, 1), (1, -1)]) / 2
    else:
        turns = -np.arange(ROUND) * (2 * math.pi / ROUND)
        area = ROUND / 2 * math.sin(2 * math.pi / ROUND)
        corners = np.stack([np.cos(turns), np.sin(turns)], axis=1) / 2 * math.sqrt(math.pi / area)
    places = np.zeros((len(corners), 3), np.float32)
    places[:, :2] = corners * (width, height)
    fan = np.array([(0, k, k + 1) for k in range(1, len(corners) - 1)], np.uint32)
    area = width * height * (1 if light.shape in ("SQUARE", "RECTANGLE") else math.pi / 4)
    return places, fan, AREA_RADIANCE / (area if light_power.is_normalized(light) else 1), [(corners + 0.5).astype(np.float32).ravel()]


def _ball(radius: float) -> tuple[np.ndarray, np.ndarray]:
    """As large, seen from afar, as a sphere of this radius: a convex body's mean shadow is a quarter of its
    surface [Cauchy1832]."""
    g = (1 + math.sqrt(5)) / 2
    points = np.array([p for a in (-1, 1) for b in (-g, g) for p in ((0, a, b), (a, b, 0), (b, 0, a))])
    near = [(i, j, k) for i in range(12) for j in range(i) for k in range(j)
            if all(abs(np.linalg.norm(points[a] - points[b]) - 2) < 1e-6 for a, b in ((i, j), (j, k), (i, k)))]
    faces = points[np.array(near)]
    for _ in range(SPLITS):
        a, b, c = faces[:, 0], faces[:, 1], faces[:, 2]
        ab, bc, ca = a + b, b + c, c + a
        faces = np.concatenate([np.stack(t, axis=1) for t in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))])
        faces /= np.linalg.norm(faces, axis=2)[:, :, None]
    normals = np.cross(faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0])
    inward = np.einsum("ij,ij->i", normals, faces[:, 0]) < 0
    faces[inward] = faces[inward][:, ::-1]
    surface = np.linalg.norm(normals, axis=1).sum() / 2
    # The renderer looks at faces head-on to tell what shines: the first one looks along -z, where spots do.
    first = np.cross(faces[0, 1] - faces[0, 0], faces[0, 2] - faces[0, 0])
    first /= np.linalg.norm(first)
    side = np.cross(first, (1, 0, 0) if abs(first[0]) < 0.5 else (0, 1, 0))
    side /= np.linalg.norm(side)
    faces = faces @ np.stack([side, np.cross(side, first), -first], axis=1)
    places = (faces * radius * math.sqrt(4 * math.pi / surface)).reshape(-1, 3).astype(np.float32)
    return places, np.arange(len(places), dtype=np.uint32).reshape(-1, 3)
