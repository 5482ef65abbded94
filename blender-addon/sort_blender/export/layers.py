"""Layers of the picture that a view layer names: light groups, and values of shaders (AOVs)."""

from __future__ import annotations

from dataclasses import dataclass

import bpy

from ..messages import Report

LAYERS_MAX = 8  # of a package, of each kind
NAME_BYTES_MAX = 63


@dataclass(frozen=True)
class Layers:
    """`groups`: names in the package by Blender's. `aovs`: the same, in the order of their slots; `values`: those of
    them that are numbers, not colours."""
    groups: dict[str, str]
    aovs: dict[str, str]
    values: frozenset[str]

    def light_group(self, name: str) -> dict:
        """The field of a record. Names that the view layer does not have count as none."""
        return {"light_group": self.groups[name]} if name in self.groups else {}


def layers_of(view_layer: bpy.types.ViewLayer, report: Report | None = None) -> Layers:
    aovs = [aov for aov in view_layer.aovs if aov.is_valid]
    where = f"View layer '{view_layer.name}'"
    groups = [group.name for group in getattr(view_layer, "lightgroups", ())]
    return Layers(_named(groups, where, "light groups", report), _named([a.name for a in aovs], where, "shader AOVs", report),
                  frozenset(aov.name for aov in aovs if aov.type == "VALUE"))


def _named(names: list[str], where: str, what: str, report: Report | None) -> dict[str, str]:
    """Without dots, each another, not too long."""
    if len(names) > LAYERS_MAX and report:
        report.warn(where, f"more than {LAYERS_MAX} {what} are not supported; the others stay black")
    found: dict[str, str] = {}
    for number, name in enumerate(names[:LAYERS_MAX]):
        plain = name.replace(".", "_").encode()[:NAME_BYTES_MAX - 2].decode("utf-8", "ignore")
        found[name] = plain if plain and plain not in found.values() else f"{plain}_{number}"
    return found
