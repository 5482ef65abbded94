"""Paths that data-blocks name: "//" stands for the folder of the .blend file that a data-block comes from."""

from __future__ import annotations

import bpy


def absolute(path: str, owner: bpy.types.ID) -> str:
    """owner: the data-block that names the path."""
    return bpy.path.abspath(path, library=owner.library)
