"""What a viewport knows of the meshes of its last export: an object that Blender has not evaluated anew has the mesh that it
had. Blender says what it has evaluated (Depsgraph.updates); Cycles relies on that too."""

from __future__ import annotations

import bpy


class KeptMeshes:
    """The fingerprints of meshes (mesh.py), by the object that has them and by what its materials read of it."""

    def __init__(self) -> None:
        self._depsgraph = 0  # by address
        self._found: dict[str, dict[tuple, str]] = {}  # by object

    def forget(self, depsgraph: bpy.types.Depsgraph) -> None:
        """Drops what `depsgraph` says it has changed. It is to be called for each change, before it makes another."""
        for update in depsgraph.updates:
            if not update.is_updated_geometry:
                continue
            if isinstance(update.id, bpy.types.Object):
                self._found.pop(update.id.name_full, None)
            elif not isinstance(update.id, bpy.types.Mesh):  # of which Blender tells the objects, too
                self._found.clear()

    def use(self, depsgraph: bpy.types.Depsgraph) -> None:
        """An export of `depsgraph` begins. Another one has objects of its own."""
        if self._depsgraph != depsgraph.as_pointer():
            self._depsgraph = depsgraph.as_pointer()
            self._found.clear()

    def find(self, obj: bpy.types.Object, wanted: frozenset[str]) -> str:
        """The fingerprint of the object's mesh; "": it is not known."""
        return self._found.get(obj.name_full, {}).get(_name(obj, wanted), "")

    def has(self, obj: bpy.types.Object) -> bool:
        """Some of the object's fingerprints are known."""
        return obj.name_full in self._found

    def keep(self, obj: bpy.types.Object, wanted: frozenset[str], fingerprint: str) -> None:
        self._found.setdefault(obj.name_full, {})[_name(obj, wanted)] = fingerprint


def _name(obj: bpy.types.Object, wanted: frozenset[str]) -> tuple:
    return obj.data.as_pointer(), wanted
