"""The messages of an export and a render to the artist.

A Report gathers warnings, each once, with the object, material or node it is about. The last report stays
for the panel in the render properties.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path

import bpy

MIB = 1024 * 1024
PRESSURE_FELT = 1.5  # how many times each tile was read, from which on more memory would save time


class SortError(Exception):
    """Ends the render; the text is for the artist."""


class Report:
    def __init__(self) -> None:
        self.warnings: list[str] = []
        self.error = ""
        self.stats: Path | None = None  # of the render, as sort-render wrote them
        self.texture_use = ""  # what they say of textures
        self._seen: set[str] = set()

    def warn(self, where: str, what: str) -> None:
        """`where` names the thing ("Material 'Wood', node 'Noise Texture'"), `what` what happens to it."""
        text = clean(f"{where}: {what}" if where else what)
        if text not in self._seen:
            self._seen.add(text)
            self.warnings.append(text)


def texture_use(stats: Path) -> str:
    """Returns what textures took in memory in a render, and what they would take if all were loaded; "": it had none, or the
    statistics are not whole."""
    try:
        textures = json.loads(stats.read_text(encoding="utf-8"))["textures"]
    except ValueError:  # cut short by a renderer that was killed
        return ""
    whole = sum(texture["tiles"] * texture["tile_bytes"] for texture in textures["by_texture"])
    if not whole:
        return ""
    text = (f"Last render: {textures['bytes_peak'] / MIB:.0f} of {textures['budget_bytes'] / MIB:.0f} MiB in use, "
            f"{textures['bytes_unique'] / MIB:.1f} of the textures' {whole / MIB:.1f} MiB were needed")
    if textures["pressure"] >= PRESSURE_FELT:
        text += f", each tile was read {textures['pressure']:.1f} times: more memory would save time"
    return text


def clean(text: str) -> str:
    """Names of files need not be UTF-8; what Blender shows has to be."""
    return text.encode("utf-8", "backslashreplace").decode()


def explain(error: OSError, folder: Path | None = None) -> str:
    """For the artist: which file, what is wrong with it, and what can be done. `folder`: where files were written."""
    place = Path(os.fsdecode(error.filename)) if isinstance(error.filename, (str, bytes)) else folder
    named = f"{place}: " if place else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return clean(f"{named}the disk is full: {_space(folder or place)}. {ELSEWHERE}")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return clean(f"{named}may not be read or written here ({error.strerror}). {ELSEWHERE if _is_temporary(place) else ''}".strip())
    if error.errno == errno.ENOENT and _is_temporary(place):
        return clean(f"{named}is gone: something removed Blender's temporary files while they were in use. {ELSEWHERE}")
    return clean(f"{named}{error.strerror or error}")


ELSEWHERE = "Another folder for temporary files: Edit > Preferences > File Paths > Temporary Files"


def _is_temporary(place: Path | None) -> bool:
    return place is not None and str(place).startswith(bpy.app.tempdir.rstrip("/\\"))


def _space(place: Path | None) -> str:
    while place and not place.exists() and place != place.parent:
        place = place.parent
    if not place:
        return "nothing more can be written"
    try:
        free = shutil.disk_usage(place).free
        written = sum(f.stat().st_size for f in place.rglob("*") if f.is_file()) if place.is_dir() else 0
    except OSError:
        return "nothing more can be written"
    return f"{free / MIB:.0f} MiB are free below {place}, and the scene needs more than {(free + written) / MIB:.0f} MiB there"


_last = Report()


def publish(report: Report) -> None:
    global _last
    _last = report


def last() -> Report:
    return _last
