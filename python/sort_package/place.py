"""Transforms as scene packages have them: 16 numbers, row by row, for column vectors."""

from __future__ import annotations

import math

Vector = tuple[float, float, float]


def identity() -> list[float]:
    return translation((0.0, 0.0, 0.0))


def translation(by: Vector) -> list[float]:
    return [1.0, 0.0, 0.0, by[0], 0.0, 1.0, 0.0, by[1], 0.0, 0.0, 1.0, by[2], 0.0, 0.0, 0.0, 1.0]


def scaling(by: float | Vector) -> list[float]:
    x, y, z = by if isinstance(by, tuple) else (by, by, by)
    return [x, 0.0, 0.0, 0.0, 0.0, y, 0.0, 0.0, 0.0, 0.0, z, 0.0, 0.0, 0.0, 0.0, 1.0]


def rotation(axis: str, degrees: float) -> list[float]:
    """Counter-clockwise about "x", "y" or "z", seen from its tip."""
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    a = "xyz".index(axis)
    m = [[float(r == k) for k in range(4)] for r in range(4)]
    u, v = (a + 1) % 3, (a + 2) % 3
    m[u][u], m[u][v], m[v][u], m[v][v] = c, -s, s, c
    return [x for row in m for x in row]


def product(*transforms: list[float]) -> list[float]:
    """The last one is applied first."""
    out = identity()
    for t in transforms:
        out = [sum(out[4 * r + k] * t[4 * k + c] for k in range(4)) for r in range(4) for c in range(4)]
    return out


def subtract(a: Vector, b: Vector) -> Vector:
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def cross(a: Vector, b: Vector) -> Vector:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def dot(a: Vector, b: Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def unit(a: Vector) -> Vector:
    """Zero stays zero."""
    length = math.sqrt(dot(a, a))
    return (a[0] / length, a[1] / length, a[2] / length) if length > 0 else (0.0, 0.0, 0.0)


def look_at(eye: Vector, target: Vector, up: Vector = (0.0, 1.0, 0.0)) -> list[float]:
    """For cameras and lights, which look along -z."""
    back = unit(subtract(eye, target))
    right = unit(cross(up, back))
    over = cross(back, right)
    return [right[0], over[0], back[0], eye[0], right[1], over[1], back[1], eye[1],
            right[2], over[2], back[2], eye[2], 0.0, 0.0, 0.0, 1.0]


def motion(keys: list[list[float]]) -> dict:
    """The field of a camera or an instance that places it: `transform`, or `motion` when the keys over the shutter differ."""
    if not 1 <= len(keys) <= 129:
        raise ValueError(f"a motion has 1 to 129 keys, not {len(keys)}")
    still = all(key == keys[0] for key in keys)
    return {"transform": keys[0]} if still else {"motion": keys}
