"""Finds sort-render: the add-on's preference, then the one bundled in the add-on, then PATH."""

from __future__ import annotations

import ctypes.util
import importlib.util
import os
import shutil
import stat
import subprocess
from pathlib import Path

import bpy

from .messages import SortError

PROGRAM = "sort-render"
BUNDLED = Path(__file__).parent / "renderer" / "bin" / PROGRAM
VERSION_WAIT_S = 10
OIDN_FILES = ("libOpenImageDenoise.so.2", "libOpenImageDenoise.so", "libOpenImageDenoise.so.1")


def find_renderer(preferred: str) -> Path:
    """`preferred`: the preference, a file or a folder with the program in it; "" when not set."""
    if preferred:
        return _preferred(Path(preferred))
    if BUNDLED.is_file():
        return _runnable(BUNDLED)
    on_path = shutil.which(PROGRAM)
    if on_path:
        return Path(on_path)
    raise SortError(
        f"{PROGRAM} was not found: the add-on has none bundled and none is on PATH. Set its place in "
        "Edit > Preferences > Add-ons > SORT Renderer")


def find_denoiser(name: str) -> str:
    """Returns the value of --denoiser for one of properties.DENOISERS. Open Image Denoise is that of this Blender, or else that of
    the system; "": there is none."""
    if name == "oidn":
        for folder in (Path(bpy.app.binary_path or bpy.__file__).parent, Path(bpy.__file__).parent):
            for file in OIDN_FILES:
                if (folder / "lib" / file).is_file():
                    return str(folder / "lib" / file)
        return name if ctypes.util.find_library("OpenImageDenoise") else ""
    return name


def _preferred(place: Path) -> Path:
    program = place / PROGRAM if place.is_dir() else place
    if not program.is_file():
        raise SortError(f"{program}: there is no such file. It is set in Edit > Preferences > Add-ons > "
                        "SORT Renderer")
    if not os.access(program, os.X_OK):
        raise SortError(f"{program}: this file may not be executed")
    return program


def _runnable(program: Path) -> Path:
    """Zip files that Blender unpacks lose the mode of programs."""
    helpers = (program.parent.parent / "lib" / "sort-renderer").glob("sort_denoiser_*")
    for file in (*program.parent.iterdir(), *helpers):
        if not os.access(file, os.X_OK):
            file.chmod(file.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return program


def renderer_version(program: Path) -> str:
    """Returns the version line that the program prints, such as "sort-render 0.1.0"."""
    try:
        answer = subprocess.run([str(program), "--version"], capture_output=True, timeout=VERSION_WAIT_S,
                                check=True, encoding="utf-8", errors="replace")
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stderr", None) or "").strip()  # such as that the C library of this system is too old
        raise SortError(f"{program} cannot be run: {said or error}") from error
    return answer.stdout.strip()


def require_numpy() -> None:
    if importlib.util.find_spec("numpy") is None:
        raise SortError("SORT needs numpy, and the Python of this Blender does not have it. Debian and "
                        "Ubuntu: install the package python3-numpy and start Blender again")
