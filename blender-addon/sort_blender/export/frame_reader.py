"""Pixels of files that only Blender can read: frames of movies, and images of its colour spaces that are not in its
memory. A Blender in the background reads them."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np

from ..versions import ALPHA_MODES_COUNT, BYTES_STAY_STRAIGHT
from . import background

FLOAT_SUFFIXES = (".exr", ".hdr")


@dataclass(frozen=True)
class Frame:
    path: str
    source: str  # MOVIE or FILE
    number: int  # of the movie, from 1; else 1
    color_space: str
    alpha_mode: str

    def key(self) -> str:
        """Another one when the file has changed. OSError."""
        stat = Path(self.path).stat()
        return f"frame {astuple(self)} {stat.st_mtime_ns} {stat.st_size}"

    def pixels(self) -> np.ndarray:
        """[rows from the top, columns, rgb or rgba] float32, linear, straight alpha. BackgroundFailed."""
        data = background.run("read_frame.py", [self.path, self.source, str(self.number), self.color_space, self.alpha_mode])
        width, height = np.frombuffer(data[:8], "<u4")
        rgba = np.frombuffer(data[8:], "<f4").reshape(height, width, 4)[::-1]
        if (rgba[..., 3] == 1).all():
            return rgba[..., :3]
        if self.alpha_mode == "CHANNEL_PACKED":
            return rgba
        alpha = rgba[..., 3:]
        power = 1  # see image.py, _converted(): what Cycles makes of files, which does not ask for the mode
        if Path(self.path).suffix.lower() in FLOAT_SUFFIXES:
            power += self.alpha_mode == "STRAIGHT" and not ALPHA_MODES_COUNT
        else:
            power -= BYTES_STAY_STRAIGHT
            power -= self.alpha_mode == "PREMUL" and self.source == "FILE" and not ALPHA_MODES_COUNT
        return np.concatenate([rgba[..., :3] / np.where(alpha > 0, alpha, 1) ** float(power), alpha], axis=2).astype(np.float32)
