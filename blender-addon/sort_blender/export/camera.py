"""Perspective cameras, with sensor fit, shift, depth of field and render regions.

Blender's full frame is wide x high pixels; a region is a window in it. A package has no regions, but its
lens shift is in units of the picture, so a window is a smaller angle of view, shifted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import bpy
import numpy as np

from ..messages import Report, SortError
from . import axes


@dataclass(frozen=True)
class Frame:
    """The full frame, and the window of it that is rendered (pixels, y up)."""
    full_width: int
    full_height: int
    x: int
    y: int
    width: int
    height: int


def frame_of(render: bpy.types.RenderSettings, report: Report) -> Frame:
    wide = max(render.resolution_x * render.resolution_percentage // 100, 1)
    high = max(render.resolution_y * render.resolution_percentage // 100, 1)
    if not math.isclose(render.pixel_aspect_x, render.pixel_aspect_y):
        report.warn("Output", "pixels that are not square are not supported; rendered square")
    if not render.use_border:
        return Frame(wide, high, 0, 0, wide, high)
    x0, x1 = _pixel(render.border_min_x, wide), _pixel(render.border_max_x, wide)
    y0, y1 = _pixel(render.border_min_y, high), _pixel(render.border_max_y, high)
    if x1 <= x0 or y1 <= y0:
        raise SortError("the render region is smaller than a pixel")
    return Frame(wide, high, x0, y0, x1 - x0, y1 - y0)


def _pixel(fraction: float, size: int) -> int:
    """As Blender does it, in single precision: 0.9 of 60 is 54, not 53."""
    return int(np.float32(fraction) * np.float32(size))


def camera_record(camera: bpy.types.Object, frame: Frame, report: Report) -> dict:
    """`camera` is evaluated."""
    data = camera.data
    if camera.type != "CAMERA":
        raise SortError(f"Camera '{camera.name}': an object of type {camera.type} cannot be looked through")
    if data.type != "PERSP":
        raise SortError(f"Camera '{camera.name}': only perspective cameras are supported, not {data.type}")
    matrix = axes.without_scale(camera.matrix_world)
    if matrix is None:
        raise SortError(f"Camera '{camera.name}': an axis is scaled to nothing")
    fov_y, shift = _window(data, frame)
    return {"transform": axes.place(matrix), "fov_y_degrees": math.degrees(fov_y), "lens_shift": shift,
            **_lens(camera, report)}


def _window(data: bpy.types.Camera, frame: Frame) -> tuple[float, list[float]]:
    """Vertical angle and lens shift of the frame's window."""
    is_horizontal = data.sensor_fit == "HORIZONTAL" or (
        data.sensor_fit == "AUTO" and frame.full_width >= frame.full_height)
    sensor = data.sensor_height if data.sensor_fit == "VERTICAL" else data.sensor_width
    fitted_px = frame.full_width if is_horizontal else frame.full_height  # what `sensor` covers
    slope_px = sensor / (2 * data.lens) / (fitted_px / 2)  # tangent of the angle, a pixel
    fov_y = 2 * math.atan(slope_px * frame.height / 2)
    centre_x = frame.x + frame.width / 2 - frame.full_width / 2 + data.shift_x * fitted_px
    centre_y = frame.y + frame.height / 2 - frame.full_height / 2 + data.shift_y * fitted_px
    return fov_y, [centre_x / frame.width, centre_y / frame.height]


def _lens(camera: bpy.types.Object, report: Report) -> dict:
    data, dof = camera.data, camera.data.dof
    if not dof.use_dof:
        return {}
    if dof.aperture_blades >= 3 or not math.isclose(dof.aperture_ratio, 1.0):
        report.warn(f"Camera '{camera.name}'", "the bokeh is round: blades and ratio are not supported yet")
    distance = dof.focus_distance
    if dof.focus_object:
        away = dof.focus_object.matrix_world.translation - camera.matrix_world.translation
        distance = abs(away.dot(camera.matrix_world.col[2].xyz.normalized()))
    return {"aperture_radius_m": data.lens * 1e-3 / (2 * max(dof.aperture_fstop, 1e-5)),
            "focus_distance_m": max(distance, 1e-5)}
