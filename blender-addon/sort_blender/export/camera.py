"""Cameras: perspective and orthographic, with sensor fit, shift, depth of field and render regions; panoramas.

Blender's full frame is wide x high pixels; a region is a window in it. A package has no regions, but its
lens shift is in units of the picture, so a window is a smaller angle of view, shifted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Matrix, Vector

from ..messages import Report, SortError
from ..versions import panorama_settings
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
    pixel_aspect: float = 1.0  # width of a pixel over its height


def frame_of(render: bpy.types.RenderSettings) -> Frame:
    wide = max(render.resolution_x * render.resolution_percentage // 100, 1)
    high = max(render.resolution_y * render.resolution_percentage // 100, 1)
    aspect = render.pixel_aspect_x / render.pixel_aspect_y
    if not render.use_border:
        return Frame(wide, high, 0, 0, wide, high, aspect)
    x0, x1 = _pixel(render.border_min_x, wide), _pixel(render.border_max_x, wide)
    y0, y1 = _pixel(render.border_min_y, high), _pixel(render.border_max_y, high)
    if x1 <= x0 or y1 <= y0:
        raise SortError("the render region is smaller than a pixel")
    return Frame(wide, high, x0, y0, x1 - x0, y1 - y0, aspect)


def _pixel(fraction: float, size: int) -> int:
    """As Blender does it, in single precision: 0.9 of 60 is 54, not 53."""
    return int(np.float32(fraction) * np.float32(size))

KINDS = ("PERSP", "ORTHO", "PANO")
ANGLES = (0.0001, 179.999)  # degrees, that a view in perspective can have from bottom to top


@dataclass(frozen=True)
class Eye:
    """One of several views of a camera, as for stereoscopy."""
    camera_to_world: Matrix
    shift_x: float


def camera_record(camera: bpy.types.Object, frame: Frame, report: Report, keys: list[Matrix], eye: Eye | None = None) -> dict:
    """`camera` is evaluated. `keys`: where it is over the shutter, one or more."""
    if eye:
        moved = eye.camera_to_world @ camera.matrix_world.normalized().inverted()
        keys = [moved @ key.normalized() for key in keys]
    data = camera.data
    if camera.type != "CAMERA":
        raise SortError(f"Camera '{camera.name}': an object of type {camera.type} cannot be looked through")
    if data.type not in KINDS:
        raise SortError(f"Camera '{camera.name}': a camera of type {data.type} is not supported")
    placed = [axes.without_scale(key) for key in keys]
    if None in placed:
        raise SortError(f"Camera '{camera.name}': an axis is scaled to nothing")
    places = [axes.place(matrix) for matrix in placed]
    record = {"transform": places[0]} if len(places) == 1 else {"motion": places}
    if data.type == "PANO":
        return {**record, **_panorama(camera.name, data, frame), **_clip(data)}
    height, shift = _window(data, frame, eye.shift_x if eye else data.shift_x)
    if data.type == "ORTHO":
        view = {"type": "orthographic", "height_m": height}
    else:
        angle = math.degrees(2 * math.atan(height / 2))
        view = {"fov_y_degrees": min(max(angle, ANGLES[0]), ANGLES[1])}
        if view["fov_y_degrees"] != angle:
            report.warn(f"Camera '{camera.name}'", f"a view of {angle:g} degrees is not possible; {view['fov_y_degrees']:g} are used")
    if frame.pixel_aspect != 1:
        view["pixel_aspect"] = frame.pixel_aspect
    return {**record, **view, "lens_shift": shift, **_clip(data), **lens_record(camera)}


def _clip(data: bpy.types.Camera) -> dict:
    """Returns the clipping distances: as in Cycles, the camera sees nothing nearer or farther."""
    near = max(data.clip_start, 0.0)
    return {"clip_m": [near, data.clip_end]} if near < data.clip_end else {}


def _window(data: bpy.types.Camera, frame: Frame, shift_x: float) -> tuple[float, list[float]]:
    """How high the window is, at distance 1 (orthographic: at any), and the lens shift of the window."""
    pixel_height = 1 / frame.pixel_aspect  # in widths of a pixel, as all lengths on the film here
    wide, high = frame.full_width, frame.full_height * pixel_height
    is_horizontal = data.sensor_fit == "HORIZONTAL" or (data.sensor_fit == "AUTO" and wide >= high)
    sensor = data.sensor_height if data.sensor_fit == "VERTICAL" else data.sensor_width
    fitted = wide if is_horizontal else high  # what `sensor` covers
    per_pixel = (data.ortho_scale if data.type == "ORTHO" else sensor / data.lens) / fitted
    centre_x = frame.x + frame.width / 2 - frame.full_width / 2 + shift_x * fitted
    centre_y = frame.y + frame.height / 2 - frame.full_height / 2 + data.shift_y * fitted / pixel_height
    return per_pixel * pixel_height * frame.height, [centre_x / frame.width, centre_y / frame.height]


def _panorama(name: str, data: bpy.types.Camera, frame: Frame) -> dict:
    settings = panorama_settings(data)
    if settings is None:
        raise SortError(f"Camera '{name}': its panorama is described by the Cycles add-on, which is off")
    kind = settings.panorama_type
    if kind == "EQUIRECTANGULAR":
        longitude, latitude = _part(frame, settings.longitude_min, settings.longitude_max, settings.latitude_min,
                                    settings.latitude_max)
        return {"type": "equirectangular", "longitude_degrees": _degrees(longitude, 180.0),
                "latitude_degrees": _degrees(latitude, 90.0)}
    if kind == "EQUIANGULAR_CUBEMAP_FACE":
        longitude, latitude = _part(frame, -math.pi / 4, math.pi / 4, -math.pi / 4, math.pi / 4)
        return {"type": "equiangular", "longitude_degrees": _degrees(longitude, 45.0),
                "latitude_degrees": _degrees(latitude, 45.0)}
    mapping = _FISHEYES.get(kind)
    if mapping is None:
        raise SortError(f"Camera '{name}': a panorama of type {kind} is not supported")
    half_width, half_height, fields = mapping(data, settings, frame)
    across, up = _part(frame, -half_width, half_width, -half_height, half_height)
    return {"type": "fisheye", "window": across + up, **fields}


def _part(frame: Frame, left: float, right: float, bottom: float, top: float) -> tuple[list[float], list[float]]:
    """Returns the part of a full frame of these spans that the region shows."""
    spans = ((left, right, frame.x, frame.width, frame.full_width), (bottom, top, frame.y, frame.height, frame.full_height))
    across, up = ([low + (high - low) * pixel / full for pixel in (start, start + size)]
                  for low, high, start, size, full in spans)
    return across, up


def _degrees(angles: list[float], limit: float) -> list[float]:
    return [min(max(math.degrees(angle), -limit), limit) for angle in angles]


# --- fisheyes: half the width and height of the full frame, in radii of the circle, and further fields ---------------

def _equidistant(data: bpy.types.Camera, settings, frame: Frame) -> tuple[float, float, dict]:
    """An ellipse, where the frame is no square."""
    return 1.0, 1.0, {"fov_degrees": _fov(settings)}


def _mirror_ball(data: bpy.types.Camera, settings, frame: Frame) -> tuple[float, float, dict]:
    return 1.0, 1.0, {"mapping": "equisolid", "fov_degrees": 360.0}


def _equisolid(data: bpy.types.Camera, settings, frame: Frame) -> tuple[float, float, dict]:
    """Lengths of the sensor and the lens are millimetres: the radius at the angle a is 2 f sin(a / 2)."""
    width, height = _sensor(data, frame)
    diameter = 4 * settings.fisheye_lens * math.sin(settings.fisheye_fov / 4)
    return width / diameter, height / diameter, {"mapping": "equisolid", "fov_degrees": _fov(settings)}


def _polynomial(data: bpy.types.Camera, settings, frame: Frame) -> tuple[float, float, dict]:
    width, height = _sensor(data, frame)
    factors = [-getattr(settings, f"fisheye_polynomial_k{k}") for k in range(5)]
    return width / 2, height / 2, {"mapping": "polynomial", "polynomial": factors, "fov_degrees": _fov(settings)}


_FISHEYES = {"FISHEYE_EQUIDISTANT": _equidistant, "MIRRORBALL": _mirror_ball, "FISHEYE_EQUISOLID": _equisolid,
             "FISHEYE_LENS_POLYNOMIAL": _polynomial}


def _fov(settings) -> float:
    return min(math.degrees(settings.fisheye_fov), 360.0)


def _sensor(data: bpy.types.Camera, frame: Frame) -> tuple[float, float]:
    """Returns the part of the sensor that the full frame covers, in millimetres, as Cycles computes it."""
    aspect = frame.full_width * frame.pixel_aspect / frame.full_height
    if data.sensor_fit == "AUTO":
        return (data.sensor_width, data.sensor_width / aspect) if aspect > 1 else (data.sensor_width * aspect, data.sensor_width)
    if data.sensor_fit == "HORIZONTAL":
        return data.sensor_width, data.sensor_width / aspect
    return data.sensor_height * aspect, data.sensor_height


def _focus(dof: bpy.types.CameraDOFSettings) -> Vector:
    """A bone of the object, where one is named."""
    bone = dof.focus_object.pose.bones.get(dof.focus_subtarget) if dof.focus_object.pose else None
    place = dof.focus_object.matrix_world @ bone.matrix if bone else dof.focus_object.matrix_world
    return place.translation


def lens_record(camera: bpy.types.Object) -> dict:
    data, dof = camera.data, camera.data.dof
    if not dof.use_dof:
        return {}
    distance = dof.focus_distance
    if dof.focus_object:
        away = _focus(dof) - camera.matrix_world.translation
        distance = abs(away.dot(camera.matrix_world.col[2].xyz.normalized()))
    record = {"aperture_radius_m": data.lens * 1e-3 / (2 * max(dof.aperture_fstop, 1e-5)),
              "focus_distance_m": max(distance, 1e-5), "aperture_ratio": dof.aperture_ratio}
    if dof.aperture_blades >= 3:
        # Cycles turns the middle of an edge, we the first corner.
        corner = dof.aperture_rotation + math.pi / dof.aperture_blades
        record.update(aperture_blades=dof.aperture_blades, aperture_rotation_degrees=math.degrees(corner))
    return record
