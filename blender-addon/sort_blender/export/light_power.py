"""How bright a light is, before its nodes: colour, temperature, power and exposure in one, and what its size does to it."""

from __future__ import annotations

import math

import bpy

EXPOSURE_MAX = 1000.0  # stops; more is infinite light in single precision, and an error in double
TOO_BRIGHT = "its light is infinite or no number; it is left out"


def colour_of(light: bpy.types.Light) -> list[float]:
    """Linear RGB times Blender's power. Exposure, temperature and Normalize came with Blender 4.5. Below 0 the light takes
    away. Of area lights without Normalize a watt is one a square metre, which is not in here."""
    power = light.energy * 2.0 ** min(getattr(light, "exposure", 0.0), EXPOSURE_MAX)
    if not is_normalized(light):
        power *= _growth(light)
    tint = light.temperature_color if getattr(light, "use_temperature", False) else (1.0, 1.0, 1.0)
    return [c * t * power for c, t in zip(light.color, tint)]


def is_normalized(light: bpy.types.Light) -> bool:
    """Its power is the same whatever its size."""
    return getattr(light, "normalize", True)


def _growth(light: bpy.types.Light) -> float:
    """What Cycles multiplies the power of a light by that has a radius or an angle, where it grows with that: measured."""
    if light.type == "SUN":
        return math.pi * math.sin(light.angle / 2) ** 2 if light.angle > 0 else 1.0
    if light.type == "AREA":
        return 1.0
    radius = light.shadow_soft_size
    return 4 * math.pi * radius ** 2 if radius > 0 else 4.0
