"""Attributes that geometry nodes give to instances, by the geometry of the object whose nodes they are: Blender shows it to Python since
4.5. In earlier versions, and for instances of instances, none is found."""

from __future__ import annotations

import bpy
import numpy as np

NO_LEVEL = 0x7FFFFFFF  # in persistent_id, beyond the levels that an instance has
FIELDS = {"FLOAT": ("value", 1), "INT": ("value", 1), "INT8": ("value", 1), "BOOLEAN": ("value", 1), "FLOAT2": ("vector", 2),
          "FLOAT_VECTOR": ("vector", 3), "FLOAT_COLOR": ("color", 4), "BYTE_COLOR": ("color", 4)}


class InstanceAttributes:
    """Of one export: what was read is kept, by the name of the object."""

    def __init__(self) -> None:
        self._tables: dict[str, _Table] = {}

    def find(self, instance: bpy.types.DepsgraphObjectInstance, name: str) -> list[float] | float | None:
        parent = instance.parent
        if parent is None or not hasattr(parent, "evaluated_geometry"):
            return None
        levels = [number for number in instance.persistent_id if number != NO_LEVEL]
        if len(levels) > 2:
            return None
        if parent.name_full not in self._tables:
            self._tables[parent.name_full] = _Table(parent)
        return self._tables[parent.name_full].find(levels[-1], name)


class _Table:
    def __init__(self, parent: bpy.types.Object) -> None:
        self._geometry = parent.evaluated_geometry()  # keeps the points
        self._points = self._geometry.instances_pointcloud()
        self._columns: dict[str, np.ndarray | None] = {}
        numbers = self._column("id") if self._points else None
        self._rows = None if numbers is None else {int(number): row for row, number in enumerate(numbers)}

    def find(self, number: int, name: str) -> list[float] | float | None:
        """`number`: the instance's id, its index where nodes give none."""
        column = self._column(name) if self._points else None
        row = number if self._rows is None else self._rows.get(number, -1)
        return column[row].tolist() if column is not None and 0 <= row < len(column) else None

    def _column(self, name: str) -> np.ndarray | None:
        if name not in self._columns:
            self._columns[name] = self._read(self._points.attributes.get(name))
        return self._columns[name]

    @staticmethod
    def _read(attribute: bpy.types.Attribute | None) -> np.ndarray | None:
        if attribute is None or attribute.data_type not in FIELDS:
            return None
        field, width = FIELDS[attribute.data_type]
        is_whole = attribute.data_type.startswith("INT")
        values = np.empty(len(attribute.data) * width, np.int32 if is_whole else bool if attribute.data_type == "BOOLEAN" else np.float32)
        attribute.data.foreach_get(field, values)
        return values if width == 1 else values.reshape(-1, width)
