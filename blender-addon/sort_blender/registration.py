"""Registering a module's classes with Blender, and its entries in Blender's menus."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import bpy


def pair(classes: Sequence[type], menus: Sequence[tuple[type, Callable]] = ()) -> tuple[Callable, Callable]:
    """register() and unregister(). `menus`: a menu and what draws into it."""
    def register() -> None:
        for cls in classes:
            bpy.utils.register_class(cls)
        for menu, draw in menus:
            menu.append(draw)

    def unregister() -> None:
        for menu, draw in menus:
            menu.remove(draw)
        for cls in reversed(classes):
            bpy.utils.unregister_class(cls)
    return register, unregister
