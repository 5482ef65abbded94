"""Images: files stay where they are when the renderer can reach them there; packed, generated and painted
ones are written into the package, each once."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np

from .. import blend_path
from ..messages import Report
from ..sort_package import PackageWriter, file_component
from ..versions import ALPHA_MODES_COUNT
from . import color_space, tiff
from .background import BackgroundFailed
from .cache import Entry, ExportCache
from .frame_reader import FLOAT_SUFFIXES, Frame
from .image_header import is_loadable

COLOR_SPACES = {"sRGB": "srgb", "Linear": "linear", "Linear Rec.709": "linear", "Non-Color": "raw",
                "Raw": "raw"}
SUFFIXES = {"PNG": ".png", "JPEG": ".jpg", "JPEG2000": ".jp2", "TARGA": ".tga", "TARGA_RAW": ".tga",
            "OPEN_EXR": ".exr", "OPEN_EXR_MULTILAYER": ".exr", "HDR": ".hdr", "TIFF": ".tif", "BMP": ".bmp",
            "WEBP": ".webp", "DPX": ".dpx", "CINEON": ".cin", "IRIS": ".rgb"}
OPAQUE_SUFFIXES = (".jpg", ".jpeg", ".hdr")
NOT_IN_FILES = re.compile(r"[\x00-\x1f\x7f/\\:]")
UDIM = "<UDIM>"
PATH_BYTES_MAX, COMPONENT_BYTES_MAX = 1024, 255


class ImageExporter:
    def __init__(self, writer: PackageWriter, texture_folder: str, cache: ExportCache, report: Report) -> None:
        """`texture_folder`: where the renderer will look for textures besides the package, "/"; "": the
        package shall hold all."""
        self.writer = writer
        self._texture_folder = texture_folder
        self._cache = cache
        self._report = report
        self._files: dict[tuple, str | None] = {}
        self._tables: dict[str, str] = {}

    def texture(self, image: bpy.types.Image | None, user: bpy.types.ImageUser, where: str,
                wrap: str | None = "periodic") -> dict | None:
        """A TEXTURE record. None: there is no such image; that was said, and it should show magenta.
        `wrap` None: for environments."""
        if image is None:
            self._report.warn(where, "it has no image; magenta")
            return None
        if image.source == "VIEWER":
            self._report.warn(where, f"image '{image.name}': images of type {image.source} are not "
                                     "supported; magenta")
            return None
        file = self._file(image, user, where)
        if file is None:
            return None
        record = {"file": file, "color_space": self._color_space(image, where)}
        if wrap and image.source != "TILED":
            record["wrap"] = [wrap, wrap]
        return record

    def table(self, name: str, key: str, make: Callable[[], np.ndarray]) -> dict:
        """A TEXTURE record of numbers that the add-on computes: [rows from the bottom, columns, channels] float32, by
        `key` kept for later exports."""
        def write(path: Path) -> dict:
            tiff.write_tiff(path, make()[::-1])
            return {}
        if key not in self._tables:
            entry = self._cache.find(key) or self._cache.make(key, write)
            self._tables[key] = self.writer.link_file(entry.path, f"textures/table {len(self._tables)} {file_component(name)}.tif")
        return {"file": self._tables[key], "color_space": "linear", "wrap": ["clamp", "clamp"]}

    def _color_space(self, image: bpy.types.Image, where: str) -> str:
        name = space_of(image)
        if _needs_reader(image):
            return "linear"
        if name not in COLOR_SPACES and _conversion(image) is None:
            self._report.warn(where, f"image '{image.name}': colour space '{name}' is not supported; read "
                                     "as linear")
        space = COLOR_SPACES.get(name, "linear")
        # Float pixels in Blender's memory are linear already, and these we write from there.
        is_linear = _is_in_memory(image) and image.is_float or _conversion(image) is not None
        return "linear" if space == "srgb" and is_linear else space

    def _file(self, image: bpy.types.Image, user: bpy.types.ImageUser, where: str) -> str | None:
        """In the package or below the texture folder. A UDIM set has one name, with <UDIM> in it."""
        is_sequence, is_movie = image.source == "SEQUENCE", image.source == "MOVIE"
        path = "" if not image.filepath else blend_path.absolute(
            image.filepath_from_user(image_user=user) if is_sequence else image.filepath, image)
        number = user.frame_current if is_movie else 1
        key = (image.name_full, path, number)
        if key not in self._files:
            if _must_be_loaded(image) and not is_loadable(Path(path)):
                self._report.warn(where, f"image '{image.name}': {_shown(path)} cannot be read, or says that it is larger than the "
                                         "memory; magenta")
                self._files[key] = None
            elif is_movie or is_sequence and _needs_reader(image):
                self._files[key] = self._read(path, number, image, where)
            elif image.source == "TILED":
                self._files[key] = self._reach_tiles(path, image, where)
            elif _is_in_memory(image) or _conversion(image):
                self._files[key] = self._write_pixels(image, where)
            elif image.packed_file and not is_sequence:
                self._files[key] = self._write_packed(image)
            else:
                self._files[key] = self._reach(path, image, where)
        return self._files[key]

    def _reach_tiles(self, pattern: str, image: bpy.types.Image, where: str) -> str | None:
        if UDIM not in Path(pattern).name:
            self._report.warn(where, f"image '{image.name}': tiles are found by {UDIM} in the name of the file; "
                                     "magenta")
            return None
        if image.is_dirty:
            self._report.warn(where, f"image '{image.name}': what was painted and is not saved yet is left out")
        suffix = Path(pattern).suffix.lower()
        numbers = [tile.number for tile in image.tiles]
        packed = {item.tile_number: item.packed_file for item in image.packed_files}
        files = {n: Path(pattern.replace(UDIM, str(n))) for n in numbers if n not in packed}
        for number, path in files.items():
            if not path.is_file():
                self._report.warn(where, f"image '{image.name}': there is no file {_shown(str(path))}; that tile is magenta")
        if not packed and not any(path.is_file() for path in files.values()):
            return None
        if _needs_reader(image):
            return self._read_tiles(files, image, where)
        absolute = str(Path(pattern).parent.resolve() / Path(pattern).name)
        if not packed and self._texture_folder == "/" and _may_be_named(absolute[1:]):
            return absolute[1:]
        stem = file_component(Path(_shown(pattern)).stem.replace(UDIM, ""))
        file = f"textures/{len(self._files)}_{stem}{UDIM}{suffix}"
        for number in numbers:
            target = file.replace(UDIM, str(number))
            if number in packed:
                self._link_bytes(packed[number].data, target)
            elif files[number].is_file():
                shutil.copyfile(files[number], self.writer.folder / target)
        return file

    def _read_tiles(self, files: dict[int, Path], image: bpy.types.Image, where: str) -> str | None:
        file = f"textures/{len(self._files)}_{file_component(image.name.replace(UDIM, ''))}{UDIM}.tif"
        entries = {number: self._frame(str(path), 1, image, where) for number, path in files.items() if path.is_file()}
        for number, entry in entries.items():
            if entry:
                self.writer.link_file(entry.path, file.replace(UDIM, str(number)))
        return file if any(entries.values()) else None

    def _read(self, path: str, number: int, image: bpy.types.Image, where: str) -> str | None:
        """A frame of a movie or a sequence."""
        if not path or not Path(path).is_file():
            self._report.warn(where, f"image '{image.name}': there is no file {_shown(path)}; magenta")
            return None
        entry = self._frame(path, number, image, where)
        return self.writer.link_file(entry.path, self._new_file(image.name, ".tif")) if entry else None

    def _frame(self, path: str, number: int, image: bpy.types.Image, where: str) -> Entry | None:
        frame = Frame(path, "MOVIE" if image.source == "MOVIE" else "FILE", number, image.colorspace_settings.name,
                      image.alpha_mode)

        def write(target: Path) -> dict:
            tiff.write_tiff(target, frame.pixels())
            return {}
        try:
            return self._cache.find(frame.key()) or self._cache.make(frame.key(), write)
        except (BackgroundFailed, OSError) as error:
            self._report.warn(where, f"image '{image.name}': {_shown(path)} cannot be read: {error}; magenta")
            return None

    def _link_bytes(self, data: bytes, file: str) -> str:
        key = "bytes " + hashlib.sha1(data, usedforsecurity=False).hexdigest()

        def write(path: Path) -> dict:
            path.write_bytes(data)
            return {}
        return self.writer.link_file((self._cache.find(key) or self._cache.make(key, write)).path, file)

    def _new_file(self, name: str, suffix: str) -> str:
        name = _shown(name)
        stem = file_component(Path(name).stem if Path(name).suffix.lower() == suffix else name)
        return f"textures/{len(self._files)}_{stem}{suffix}"

    def _write_packed(self, image: bpy.types.Image) -> str:
        file = self._new_file(image.name, _suffix_of(image))
        return self._link_bytes(image.packed_file.data, file)

    def _write_pixels(self, image: bpy.types.Image, where: str) -> str | None:
        width, height = image.size
        if width == 0 or height == 0:
            self._report.warn(where, f"image '{image.name}' has no pixels; magenta")
            return None
        pixels = np.empty(width * height * image.channels, dtype=np.float32)
        image.pixels.foreach_get(pixels)
        if space_of(image) == "sRGB" and image.is_float and not _is_in_memory(image) and _is_veiled(pixels, image.channels):
            self._report.warn(where, f"image '{image.name}': floats that are said to be sRGB are as Blender shows them; where alpha is "
                                     "neither 0 nor 1 Cycles has other colours")
        convert = _conversion(image)
        space = image.colorspace_settings.name if convert else ""
        key = f"pixels {image.is_float} {space} {width} " + hashlib.sha1(pixels, usedforsecurity=False).hexdigest()
        file = self._new_file(image.name, ".tif")
        entry = self._cache.find(key)
        if entry:
            return self.writer.link_file(entry.path, file)
        pixels = pixels.reshape(height, width, image.channels)[::-1]
        if convert:
            try:
                pixels = _converted(pixels, image, convert)
            except (BackgroundFailed, OSError) as error:
                self._report.warn(where, f"image '{image.name}': colour space '{space}' cannot be computed: {error}; magenta")
                return None
        elif not image.is_float:
            pixels = np.rint(np.clip(pixels, 0, 1) * 255).astype(np.uint8)

        def write(path: Path) -> dict:
            tiff.write_tiff(path, pixels)
            return {}
        return self.writer.link_file(self._cache.make(key, write).path, file)

    def _reach(self, path: str, image: bpy.types.Image, where: str) -> str | None:
        if not path or not Path(path).is_file():
            self._report.warn(where, f"image '{image.name}': there is no file {_shown(path)}; magenta")
            return None
        absolute = str(Path(path).resolve())
        if self._texture_folder == "/" and _may_be_named(absolute[1:]):
            return absolute[1:]
        file = self._new_file(Path(path).name, Path(path).suffix.lower())
        shutil.copyfile(path, self.writer.folder / file)
        return file


def _suffix_of(image: bpy.types.Image) -> str:
    """Of its file's name; what is packed has the format that Blender found in it, and need not have a name."""
    named = Path(image.filepath_raw.replace("\\", "/")).suffix.lower()
    return SUFFIXES.get(image.file_format, named) if image.packed_file else named


def association(image: bpy.types.Image, is_alpha_used: bool) -> dict:
    """Parameters of tex_image: how colour goes with alpha. As in Cycles, colours of files lie times alpha, as float files
    hold them and others become before they are linear, and only a node whose Alpha is used divides by it."""
    suffix = _suffix_of(image)
    is_file = image.source != "GENERATED" and not image.is_dirty
    if image.alpha_mode in ("NONE", "CHANNEL_PACKED") or image.colorspace_settings.is_data or suffix in OPAQUE_SUFFIXES:
        return {}
    if (suffix in FLOAT_SUFFIXES or ALPHA_MODES_COUNT) and (_needs_reader(image) or _conversion(image)):
        return {} if is_alpha_used else {"association": 1}  # these are made straight
    is_float = suffix in FLOAT_SUFFIXES if is_file else image.is_float
    encoded = {"is_encoded": True} if space_of(image) == "sRGB" and not is_float else {}
    if ALPHA_MODES_COUNT:
        if image.alpha_mode == "PREMUL":
            return {"association": 3, **encoded} if is_alpha_used else {}
        return {"association": 2} if is_alpha_used else {"association": 1, **encoded}
    if suffix in FLOAT_SUFFIXES and image.packed_file and image.alpha_mode == "STRAIGHT":
        return {} if is_alpha_used else {"association": 1}  # Blender reads these, and believes that they are
    if is_float:
        return {"association": 3} if is_alpha_used else {}
    if image.packed_file and image.alpha_mode == "PREMUL" and not is_alpha_used:
        return {}  # Blender divides by alpha, and Cycles multiplies
    return {"association": 2} if is_alpha_used else {"association": 1, **encoded}


def _needs_reader(image: bpy.types.Image) -> bool:
    """A movie, or files of a colour space that the renderer does not know; of tiles, those that are not packed."""
    if image.source == "MOVIE":
        return True
    return image.source in ("SEQUENCE", "TILED") and not _is_known(image) and not image.packed_file and not len(image.packed_files)


def space_of(image: bpy.types.Image) -> str:
    """The name of its colour space; what Blender would choose where it has not looked into the file yet, or cannot read it."""
    usual = "Linear" if _suffix_of(image) in FLOAT_SUFFIXES else "sRGB"
    return image.colorspace_settings.name or usual


def _must_be_loaded(image: bpy.types.Image) -> bool:
    """Blender's pixels of a file are wanted, and it does not have them yet: the renderer does not know its colour space."""
    return image.source == "FILE" and not image.packed_file and not image.has_data and not _is_known(image)


def _is_known(image: bpy.types.Image) -> bool:
    name = space_of(image)
    return name in COLOR_SPACES and not (name == "sRGB" and _suffix_of(image) in FLOAT_SUFFIXES)


def _is_in_memory(image: bpy.types.Image) -> bool:
    """Its pixels are in no file, or not yet."""
    return image.source == "GENERATED" or image.is_dirty


def _conversion(image: bpy.types.Image) -> Callable[[np.ndarray], np.ndarray] | None:
    """How the pixels that Blender has of it become linear, where the renderer does not know their colour space. None: it
    does, or none is known."""
    if _is_known(image) or image.source not in ("FILE", "GENERATED") or _must_be_loaded(image) and not _is_loadable(image):
        return None
    if image.size[0] == 0:
        return None
    return (lambda rgb: rgb) if image.is_float else color_space.to_linear(space_of(image))


def _converted(pixels: np.ndarray, image: bpy.types.Image, convert: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Linear, straight alpha."""
    count = 3 if image.channels >= 3 else 1
    rgb = np.repeat(pixels[..., :1], 3, axis=2) if count == 1 else pixels[..., :3]
    rest = pixels[..., count:]
    if rest.shape[2] != 1:
        return np.concatenate([convert(rgb), rest], axis=2).astype(np.float32)
    # Blender has changed files of floats that it was told are straight, and of bytes that it was told are not; Cycles before 5.1,
    # which does not ask, takes the former as they are, times alpha, and the latter as straight.
    is_premultiplied_bytes = not image.is_float and image.alpha_mode == "PREMUL"
    if is_premultiplied_bytes:
        rgb = rgb * rest
    rgb = convert(rgb)
    times_alpha = 0 if not image.is_float else {"PREMUL": 1, "STRAIGHT": 1 if ALPHA_MODES_COUNT else 2}.get(image.alpha_mode, 0)
    if is_premultiplied_bytes and ALPHA_MODES_COUNT:
        times_alpha = 1
    if times_alpha:
        rgb = rgb / np.where(rest > 0, rest, 1) ** times_alpha
    return np.concatenate([rgb, rest], axis=2).astype(np.float32)


def _is_veiled(pixels: np.ndarray, channels: int) -> bool:
    """Somewhere alpha is neither 0 nor 1."""
    alpha = pixels[3::4]
    return channels == 4 and bool(((alpha != 0) & (alpha != 1)).any())


def _is_loadable(image: bpy.types.Image) -> bool:
    return is_loadable(Path(blend_path.absolute(image.filepath, image)))


def _shown(path: str) -> str:
    """For messages, whose text is UTF-8; names of files need not be."""
    return path.encode("utf-8", "backslashreplace").decode() or "(no path)"


def _may_be_named(path: str) -> bool:
    """By the rules for files in packages."""
    if not path.isprintable() and any("\ud800" <= c <= "\udfff" for c in path):
        return False
    return len(path.encode("utf-8", "surrogateescape")) <= PATH_BYTES_MAX and all(
        0 < len(part.encode("utf-8", "surrogateescape")) <= COMPONENT_BYTES_MAX
        and not NOT_IN_FILES.search(part) for part in path.split("/"))
