"""Colour spaces of images that the renderer does not know: their pixels are made linear sRGB here. Blender itself does it when it
reads float pixels; these are those of 8 bits, by the transforms of Blender's own configuration, of which the usual ones are computed here."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
from mathutils import Color

from . import tiff
from .frame_reader import Frame

# From ACEScg's primaries to ACES2065-1's, which have the same white [ACES2014].
ACESCG_TO_ACES = np.array([(0.6954522414, 0.1406786965, 0.1638690622), (0.0447945634, 0.8596711185, 0.0955343182),
                           (-0.0055258826, 0.0040252103, 1.0015006723)])
FILMIC_STOPS, FILMIC_LEAST = 16.5, -12.473931188  # the exponents of 2 of 0 to 1
FILMIC_CURVE = "colormanagement/filmic/filmic_to_0-70_1-03.spi1d"


def to_linear(name: str) -> Callable[[np.ndarray], np.ndarray]:
    """From rgb [rows, columns, 3] in the colour space of that name. What it returns may raise BackgroundFailed."""
    if name in ("XYZ", "Linear CIE-XYZ D65"):
        return _matrix("from_xyz_d65_to_scene_linear")
    if name in ("Linear ACES", "ACES2065-1"):
        return _matrix("from_aces_to_scene_linear")
    if name in ("Linear ACEScg", "ACEScg"):
        from_aces = _matrix("from_aces_to_scene_linear")
        return lambda rgb: from_aces(rgb @ ACESCG_TO_ACES.T)
    if name == "Filmic Log":
        return _from_filmic_log
    if name == "Filmic sRGB":
        curve = _filmic_curve()
        if curve is not None:
            return lambda rgb: _from_filmic_log(np.interp(rgb, curve, np.linspace(0, 1, len(curve))))
    return lambda rgb: _by_blender(rgb, name)


def _by_blender(rgb: np.ndarray, name: str) -> np.ndarray:
    """In a Blender of its own, as pixels of a float file of that colour space."""
    with tempfile.TemporaryDirectory(prefix="sort-colours-") as folder:
        path = Path(folder) / "pixels.tif"
        tiff.write_tiff(path, rgb.astype(np.float32))
        return Frame(str(path), "FILE", 1, name, "NONE").pixels()[..., :3]


def _matrix(method: str) -> Callable[[np.ndarray], np.ndarray]:
    rows = np.array([list(getattr(Color(axis), method)()) for axis in ((1, 0, 0), (0, 1, 0), (0, 0, 1))])
    return lambda rgb: rgb @ rows


def _from_filmic_log(rgb: np.ndarray) -> np.ndarray:
    return np.exp2(rgb * FILMIC_STOPS + FILMIC_LEAST)


def _filmic_curve() -> np.ndarray | None:
    """What the view makes of 0 to 1 of Filmic Log: of the file in Blender's own folder, which grows."""
    folder = bpy.utils.system_resource("DATAFILES")
    path = Path(folder) / FILMIC_CURVE if folder else None
    if path is None or not path.is_file():
        return None
    rows = path.read_text().partition("{")[2].partition("}")[0].split()
    return np.maximum.accumulate(np.array([float(row) for row in rows]))
