"""Skies that Blender's Cycles, in a process in the background, paints once, and whose picture the renderer reads: those of type
Hosek / Wilkie, whose data is a program under a licence of its own [Hosek2012], and those of light that is scattered often."""

from __future__ import annotations

import json
import math
from dataclasses import astuple, dataclass

import bpy
import numpy as np

from . import background, sky

WIDTH, HEIGHT = 256, 512


@dataclass(frozen=True)
class PaintedSky:
    """The sun's elevation, radians; turbidity 1 to 10; the ground's albedo 0 to 1."""
    elevation: float
    turbidity: float
    albedo: float

    def key(self) -> str:
        return f"painted sky {astuple(self)}"

    def table(self) -> np.ndarray:
        """See _paint."""
        toward = (0.0, math.cos(self.elevation), math.sin(self.elevation))
        return _paint({"sky_type": "HOSEK_WILKIE", "sun_direction": toward, "turbidity": self.turbidity,
                       "ground_albedo": self.albedo})


class MultipleSky(sky.Sky):
    """Light that is scattered often, of Blender 5: painted, above the horizon. The sun is that of light scattered once."""

    def key(self) -> str:
        return f"multiple {super().key()}"

    def table(self) -> np.ndarray:
        """Radiance [rows, columns, rgb] float32, as tex_sky_nishita.ssl reads it. BackgroundFailed."""
        picture = _paint({"sky_type": "MULTIPLE_SCATTERING", "sun_disc": False, "sun_elevation": self.elevation, "sun_rotation": 0.0,
                          "altitude": self.altitude_m, "air_density": self.air, "aerosol_density": self.dust,
                          "ozone_density": self.ozone})[HEIGHT // 2:]
        row = np.clip(((np.arange(sky.HEIGHT) + 0.5) / sky.HEIGHT) ** 2 * (HEIGHT // 2) - 0.5, 0, HEIGHT // 2 - 1.001)
        below, part = row.astype(int), (row % 1)[:, None, None]
        return (picture[below] * (1 - part) + picture[below + 1] * part).astype(np.float32)


def _paint(settings: dict) -> np.ndarray:
    """Radiance [rows from straight down to straight up, columns from the sun's azimuth to the opposite, rgb] float32.
    BackgroundFailed."""
    if not bpy.app.build_options.cycles:
        raise background.BackgroundFailed("this Blender was built without Cycles")
    data = background.run("paint_sky.py", [str(WIDTH), str(HEIGHT), json.dumps(settings)])
    return np.frombuffer(data, "<f4").reshape(HEIGHT, WIDTH, 3)
