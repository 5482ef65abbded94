"""A second Blender in the background, with factory settings, for what Blender or Cycles can do and an add-on within a
render cannot."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import bpy

PATIENCE_S = 120


class BackgroundFailed(Exception):
    """Why."""


def run(script: str, words: list[str]) -> bytes:
    """Runs `script`, a file of this folder, whose first word is the file that it shall write; the contents of that file.
    BackgroundFailed."""
    if not bpy.app.binary_path:
        raise BackgroundFailed("there is no program of this Blender")
    with tempfile.TemporaryDirectory(prefix="sort-background-", dir=bpy.app.tempdir) as folder:
        out = Path(folder) / "out.raw"
        # No sound, and an exit code where the script fails.
        command = [bpy.app.binary_path, "--background", "-noaudio", "--factory-startup", "--python-exit-code", "1",
                   "--python", str(Path(__file__).with_name(script)), "--", str(out), *words]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S, check=False)
        except (OSError, subprocess.SubprocessError) as error:
            raise BackgroundFailed(f"Blender could not be run in the background: {error}") from error
        if done.returncode != 0 or not out.is_file():
            last = (done.stderr or done.stdout).decode(errors="replace").strip().rpartition("\n")[2]
            raise BackgroundFailed(f"Blender in the background failed ({done.returncode}): {last}")
        return out.read_bytes()
