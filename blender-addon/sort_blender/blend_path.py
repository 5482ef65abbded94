"""Paths that data-blocks name: "//" stands for the folder of the .blend file that a data-block comes from."""

from __future__ import annotations

import bpy


def absolute(path: str, owner: bpy.types.ID) -> str:
    """owner: the data-block that names the path."""
    linked_from = getattr(owner, "library")  # None: the open file
    return bpy.path.abspath(path, library=linked_from)
