"""Point clouds: a sphere for each point, all of one mesh, with the values of the point that materials read."""

from __future__ import annotations

import bpy
import numpy as np
from mathutils import Matrix

from ..sort_package import PackageWriter, shapes
from . import axes
from .attributes import four_of, get, raw_values
from .neighbours import Neighbours
from .node_options import VALUE

DEFAULT_RADIUS_M = 0.01  # Blender's, where there is no attribute
MESH = "Sphere of points"


class PointExporter:
    def __init__(self, writer: PackageWriter) -> None:
        self._writer = writer
        self._mesh = ""

    def add(self, instance: bpy.types.DepsgraphObjectInstance, wanted: frozenset[str], fields: dict,
            neighbours: Neighbours | None) -> None:
        """`wanted`: attributes that its material reads. `fields`: of the records, but for mesh and place. `neighbours`: where the object is
        in the frames before and after; its points stay in it."""
        obj = instance.object
        places = get(obj.data.points, "co", np.float32, 3)
        radius = obj.data.attributes.get("radius")
        radii = get(radius.data, "value", np.float32, 1)[:, 0] if radius else np.full(len(places), DEFAULT_RADIUS_M)
        seen = np.isfinite(places).all(axis=1) & np.isfinite(radii) & (radii > 0)
        values = {name: numbers for name in wanted if name.startswith(VALUE)
                  if (numbers := _values(obj.data.attributes.get(name[len(VALUE):]))) is not None}
        if seen.any() and not self._mesh:
            self._mesh = self._writer.add_mesh(MESH, **shapes.sphere(1.0, 32, 16))
        given = fields.get("attributes", {})
        for k in np.nonzero(seen)[0]:
            local = Matrix.Translation(places[k]) @ Matrix.Scale(float(radii[k]), 4)
            matrix = axes.with_thickness(instance.matrix_world @ local)
            if matrix is None:
                continue
            own = {**given, **{name: [float(x) for x in numbers[k]] for name, numbers in values.items()}}
            record = {**fields, "attributes": own} if own else fields
            self._writer.add("instances", obj.name, {
                "mesh": self._mesh, "transform": axes.place(matrix), **(neighbours.placement(instance, local) if neighbours else {}), **record})


def _values(attribute: bpy.types.Attribute | None) -> np.ndarray | None:
    """Returns the attribute's value at each point, as four numbers; None if its type is not supported."""
    values = raw_values(attribute) if attribute else None
    return None if values is None else np.nan_to_num(four_of(values))
