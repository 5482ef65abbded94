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
# What a view can have:
ANGLES = (0.0001, 179.999)  # degrees, in perspective from bottom to top
ANGLE_MIN = 0.001  # degrees, of a panorama
HEIGHTS_M = (1e-9, 1e9)  # without perspective
SHIFT_MAX = 1e6  # widths or heights of the picture, that the lens is shifted


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
    where = f"Camera '{camera.name}'"
    if data.type not in KINDS:
        report.warn(where, f"a camera of type {data.type} is not supported yet; it is rendered in perspective")
    placed = [axes.without_scale(key, may_mirror=True) for key in keys]
    if None in placed:
        raise SortError(f"Camera '{camera.name}': an axis is scaled to nothing, or it is nowhere")
    if any(map(axes.is_sheared, keys)):
        report.warn(where, "what it is parented to shears it; it is rendered as if its axes were at right angles")
    places = [axes.place(matrix) for matrix in placed]
    record = {"transform": places[0]} if len(places) == 1 else {"motion": places}
    if data.type == "PANO":
        return {**record, **_panorama(where, data, frame, report), **_clip(data)}
    height, shift = _window(data, frame, eye.shift_x if eye else data.shift_x)
    shift = [_possible(part, (-SHIFT_MAX, SHIFT_MAX), "a shift of {:g} frames", where, report) for part in shift]
    if data.type == "ORTHO":
        view = {"type": "orthographic", "height_m": _possible(height, HEIGHTS_M, "a view {:g} m high", where, report)}
    else:
        angle = math.degrees(2 * math.atan(height / 2))
        view = {"fov_y_degrees": _possible(angle, ANGLES, "a view of {:g} degrees", where, report)}
    if frame.pixel_aspect != 1:
        view["pixel_aspect"] = frame.pixel_aspect
    return {**record, **view, "lens_shift": shift, **_clip(data), **lens_record(camera)}


def _possible(value: float, limits: tuple[float, float], what: str, where: str, report: Report) -> float:
    """Returns the value that lies within the limits and is nearest to `value`."""
    possible = min(max(value, limits[0]), limits[1])
    if possible != value:
        report.warn(where, f"{what.format(value)} is not possible; {possible:g} is used")
    return possible


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


def _panorama(where: str, data: bpy.types.Camera, frame: Frame, report: Report) -> dict:
    settings = panorama_settings(data)
    if settings is None:
        raise SortError(f"{where}: its panorama is described by the Cycles add-on, which is off")
    kind = settings.panorama_type
    if kind == "EQUIRECTANGULAR":
        return _equirectangular(frame, (settings.longitude_min, settings.longitude_max, settings.latitude_min, settings.latitude_max),
                                where, report)
    if kind == "EQUIANGULAR_CUBEMAP_FACE":
        longitude, latitude = _part(frame, -math.pi / 4, math.pi / 4, -math.pi / 4, math.pi / 4)
        return {"type": "equiangular", "longitude_degrees": _degrees(longitude, 45.0),
                "latitude_degrees": _degrees(latitude, 45.0)}
    mapping = _FISHEYES.get(kind)
    if mapping is None:
        report.warn(where, f"a panorama of type {kind} is not supported yet; it is rendered as equirectangular")
        return _equirectangular(frame, _cylinder(settings) if kind == "CENTRAL_CYLINDRICAL" else FULL_SPHERE, where, report)
    half_width, half_height, fields = mapping(data, settings, frame)
    across, up = _part(frame, -half_width, half_width, -half_height, half_height)
    return {"type": "fisheye", "window": across + up, **fields}


FULL_SPHERE = (-math.pi, math.pi, -math.pi / 2, math.pi / 2)


def _equirectangular(frame: Frame, angles: tuple[float, float, float, float], where: str, report: Report) -> dict:
    """`angles`: from left to right and from bottom to top, in radians."""
    longitude, latitude = _part(frame, *angles)
    record = {"type": "equirectangular", "longitude_degrees": _degrees(longitude, 180.0), "latitude_degrees": _degrees(latitude, 90.0)}
    for name, limit in (("longitude_degrees", 180.0), ("latitude_degrees", 90.0)):
        low, high = record[name]
        if high - low < ANGLE_MIN:
            record[name] = [-limit, limit]
            report.warn(where, f"a panorama from {low:g} to {high:g} degrees is not possible; {-limit:g} to {limit:g} are used")
    return record


def _cylinder(settings) -> tuple[float, float, float, float]:
    """Returns the angles that a cylinder around the camera shows, whose heights are lengths."""
    bottom, top = (math.atan2(getattr(settings, f"central_cylindrical_range_v_{end}"), settings.central_cylindrical_radius)
                   for end in ("min", "max"))
    return settings.central_cylindrical_range_u_min, settings.central_cylindrical_range_u_max, bottom, top


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
