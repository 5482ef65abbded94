"""What each unit of ssl/units takes and gives, out of units.json, which scripts/package-addon puts beside this file."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("units.json")


@dataclass(frozen=True)
class Unit:
    """`choices`: by parameter with a fixed set of values, those values, as Blender names them. `usual`: of those that
    are given by name, which one it is by default."""
    inputs: frozenset[str]
    outputs: dict[str, str]  # name: type
    choices: dict[str, tuple[str, ...]]
    usual: dict[str, str]

    def is_surface(self) -> bool:
        return "closure" in self.outputs.values()

    def unknown_choice(self, parameters: dict) -> str | None:
        """The parameter whose value is a choice that the unit does not have."""
        return next((name for name, choices in self.choices.items()
                     if isinstance(parameters.get(name), str) and parameters[name] not in choices), None)


@functools.cache
def _all() -> dict[str, Unit]:
    described = json.loads(FILE.read_text(encoding="utf-8"))
    return {name: Unit(frozenset(unit["inputs"]), unit["outputs"],
                       {parameter: tuple(given["enum"]) for parameter, given in unit["inputs"].items() if "enum" in given},
                       {parameter: given["default"] for parameter, given in unit["inputs"].items() if "default" in given})
            for name, unit in described.items()}


def unit(name: str) -> Unit:
    return _all()[name]
