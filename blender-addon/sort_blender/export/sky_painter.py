"""Skies of type Hosek / Wilkie, whose data is a program under a licence of its own [Hosek2012]: Blender's Cycles, in a
process in the background, paints them once, and the renderer reads the picture."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import astuple, dataclass
from pathlib import Path

import bpy
import numpy as np

WIDTH, HEIGHT = 256, 512
PATIENCE_S = 120
SCRIPT = Path(__file__).with_name("paint_sky.py")


class CannotPaint(Exception):
    """Why."""


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
        CannotPaint."""
        if not bpy.app.binary_path:
            raise CannotPaint("there is no program of this Blender")
        if not bpy.app.build_options.cycles:
            raise CannotPaint("this Blender was built without Cycles")
        with tempfile.TemporaryDirectory(prefix="sort-sky-", dir=bpy.app.tempdir) as folder:
            out = Path(folder) / "sky.raw"
            # No sound, no scripts of the user, and an exit code where the script fails.
            command = [bpy.app.binary_path, "--background", "-noaudio", "--factory-startup", "--python-exit-code", "1",
                       "--python", str(SCRIPT), "--", str(out), str(WIDTH), str(HEIGHT), *map(repr, astuple(self))]
            try:
                done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S,
                                      check=False)
            except (OSError, subprocess.SubprocessError) as error:
                raise CannotPaint(f"Blender could not be run in the background: {error}") from error
            data = out.read_bytes() if out.is_file() else b""
        if done.returncode != 0 or len(data) != 4 * 3 * WIDTH * HEIGHT:
            last = (done.stderr or done.stdout).decode(errors="replace").strip().rpartition("\n")[2]
            raise CannotPaint(f"Blender in the background failed ({done.returncode}): {last}")
        return np.frombuffer(data, "<f4").reshape(HEIGHT, WIDTH, 3)
