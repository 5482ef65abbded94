"""How bright a light is, before its nodes: colour, temperature, power and exposure in one, and what its size does to it."""

from __future__ import annotations

import bpy


def colour_of(light: bpy.types.Light) -> list[float]:
    """Linear RGB times Blender's power. Exposure and temperature came with Blender 4.5. Below 0 the light takes away."""
    power = light.energy * 2.0 ** getattr(light, "exposure", 0.0)
    tint = light.temperature_color if getattr(light, "use_temperature", False) else (1.0, 1.0, 1.0)
    return [c * t * power for c, t in zip(light.color, tint)]
