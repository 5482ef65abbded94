"""Where sort-render keeps compiled shaders and converted textures, and where it does so if it may not write there: a home without write
permission, as on farms, ends no render."""

from __future__ import annotations

import os
from pathlib import Path

import bpy

VARIABLE = "XDG_CACHE_HOME"
KEPT_BRIEFLY = f"nothing can be kept there: compiled shaders and converted textures go when Blender ends. The environment variable {VARIABLE} names " \
               "another folder"


def folder() -> Path:
    """The one that sort-render takes by itself."""
    base = os.environ.get(VARIABLE, "")
    return Path(base, "sort") if base.startswith("/") else Path.home() / ".cache" / "sort"


def is_usable() -> bool:
    try:
        folder().mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder(), os.W_OK | os.X_OK)


def environment() -> dict[str, str] | None:
    """For a process of sort-render: with a folder that goes when Blender ends, in place of one that is not usable. None: this
    process's own."""
    return None if is_usable() else {**os.environ, VARIABLE: bpy.app.tempdir}
