"""Light and shadow linking: which objects a light is for, and which block it. Objects that all lights treat alike are one link
set of the package; everything that no collection of a light tells apart is set 0."""

from __future__ import annotations

import bpy

from ..messages import Report

SETS_MAX = 64
UNLIT, OPEN = "unlit_sets", "open_sets"
SETTINGS = {UNLIT: "receiver_collection", OPEN: "blocker_collection"}


class Linking:
    """Of a depsgraph. Before Blender 4 there is none."""

    def __init__(self, depsgraph: bpy.types.Depsgraph, report: Report) -> None:
        self.report = report
        objects = [item.original for item in depsgraph.ids if isinstance(item, bpy.types.Object)]
        # By name and setting of the light: the objects that it leaves out.
        self._left_out: dict[tuple[str, str], set[str]] = {}
        for obj in objects:
            for field, setting in SETTINGS.items():
                collection = getattr(getattr(obj, "light_linking", None), setting, None)
                if collection is not None:
                    self._left_out[obj.name_full, field] = _left_out(collection, objects)
        self._sets: dict[frozenset, int] = {frozenset(): 0}  # by the lights that leave an object out
        self._set_of: dict[str, int] = {}
        for obj in objects if self._left_out else ():
            lights = frozenset(key for key, names in self._left_out.items() if obj.name_full in names)
            number = self._sets.setdefault(lights, len(self._sets))
            if number >= SETS_MAX:
                report.warn(f"Object '{obj.name}'", f"lights tell apart more than {SETS_MAX} kinds of objects; it is as if none were "
                            "linked to it")
                number = 0
            if number:
                self._set_of[obj.name_full] = number

    def of_object(self, obj: bpy.types.Object, carrier: bpy.types.Object) -> dict:
        """A field of an instance. `carrier`: what instances it, whose links count first; else itself."""
        for each in (carrier, obj):
            number = self._set_of.get(each.original.name_full)
            if number:
                return {"link_set": number}
        return {}

    def of_light(self, obj: bpy.types.Object, carrier: bpy.types.Object) -> dict:
        """Fields of a light, or of the light of an instance."""
        fields = {}
        for field in SETTINGS:
            key = next(((each.original.name_full, field) for each in (carrier, obj)
                        if (each.original.name_full, field) in self._left_out), None)
            sets = sorted(number for lights, number in self._sets.items() if key in lights and number < SETS_MAX)
            if sets:
                fields[field] = sets
        return fields


def _left_out(collection: bpy.types.Collection, objects: list[bpy.types.Object]) -> set[str]:
    """The names of the objects that are excluded; where some are included, of all others."""
    members: dict[str, set[str]] = {"INCLUDE": set(), "EXCLUDE": set()}
    for child in zip(collection.children, collection.collection_children):
        members[child[1].light_linking.link_state] |= {obj.name_full for obj in child[0].all_objects}
    for obj, entry in zip(collection.objects, collection.collection_objects):
        members[entry.light_linking.link_state].add(obj.name_full)
    has_included = any(entry.light_linking.link_state == "INCLUDE"
                       for entry in (*collection.collection_objects, *collection.collection_children))
    others = {obj.name_full for obj in objects} - members["INCLUDE"] if has_included else set()
    return others | members["EXCLUDE"]
