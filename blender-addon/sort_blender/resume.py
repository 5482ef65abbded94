"""Renders that go on where they were interrupted: where the checkpoint of a frame lies. sort-render goes on with one only if
it is of the same scene and settings, so that the file's name may depend on less."""

from __future__ import annotations

import errno
import hashlib
import os
import time
from pathlib import Path

import bpy

from . import caches

DAYS_KEPT = 30


def folder() -> Path:
    """Beside the renderer's own caches, so that checkpoints outlive Blender."""
    return caches.folder() / "interrupted"


def checkpoint_of(scene: bpy.types.Scene, layer: str, view: str = "") -> Path:
    """Of the frame that `scene` shows. `view`: one of several, as for stereoscopy."""
    words = (bpy.data.filepath, scene.name, layer, view, str(scene.frame_current))
    name = hashlib.blake2b("\0".join(words).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    return folder() / f"{name}.checkpoint"


def prepare(path: Path) -> Path:
    """Makes the folder, and removes checkpoints that nobody has gone on with for long. OSError: nothing can be kept there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path.parent))
    for old in path.parent.glob("*.checkpoint"):
        try:
            if time.time() - old.stat().st_mtime > DAYS_KEPT * 86400:
                old.unlink()
        except OSError:
            pass  # another Blender was quicker
    return path


def is_waiting(scene: bpy.types.Scene) -> bool:
    """Whether a render of this frame was interrupted, of any view layer."""
    views = [view.name for view in scene.render.views] if scene.render.use_multiview else [""]
    return any(checkpoint_of(scene, layer.name, view).exists() for layer in scene.view_layers for view in views)
