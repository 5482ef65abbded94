"""IES Texture nodes: the lamp's table from a text or a file."""

from __future__ import annotations

import hashlib
from pathlib import Path

import bpy

from .. import text_file
from . import ies


def finish(builder, node: bpy.types.Node, name: str) -> bool:
    try:
        text, what = _text(node)
        lamp = ies.parse(text)
    except (OSError, ies.BadFile) as error:
        builder.warn(node, f"{error}; it has no effect")
        return False
    key = "ies " + hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    texture = builder.images.table(what, key, lamp.table)
    texture["wrap"] = ["periodic", "clamp"]
    builder.bind_texture(name, "lamp", texture)
    return True


def _text(node: bpy.types.Node) -> tuple[str, str]:
    """Returns the text that the node shows, and its name."""
    if node.mode == "INTERNAL":
        if node.ies is None:
            raise ies.BadFile("no text is chosen")
        return node.ies.as_string(), node.ies.name
    if not node.filepath:
        raise ies.BadFile("no file is chosen")
    linked_from = getattr(node.id_data, "library", None)  # the .blend file that `//` belongs to
    path = Path(bpy.path.abspath(node.filepath, library=linked_from))
    return text_file.read(path, errors="surrogateescape"), path.name
