"""Skies of type Hosek / Wilkie, whose data is a program under a licence of its own [Hosek2012]: Blender's Cycles, in a
process in the background, paints them once, and the renderer reads the picture."""

from __future__ import annotations

from dataclasses import astuple, dataclass

import bpy
import numpy as np

from . import background

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
        """Radiance [rows from straight down to straight up, columns from the sun's azimuth to the opposite, rgb] float32.
        BackgroundFailed."""
        if not bpy.app.build_options.cycles:
            raise background.BackgroundFailed("this Blender was built without Cycles")
        data = background.run("paint_sky.py", [str(WIDTH), str(HEIGHT), *map(repr, astuple(self))])
        return np.frombuffer(data, "<f4").reshape(HEIGHT, WIDTH, 3)
