"""Attributes of meshes that materials read: UV maps by name, colours, values of geometry nodes, and the box
coordinates that Blender calls Generated. One value a vertex or a corner, as float32."""

from __future__ import annotations

from dataclasses import dataclass, replace

import bpy
import numpy as np

from ..versions import EDGES_KEEP_TYPES
from .node_options import GENERATED, ISLAND, POINTINESS, RENDER_COLOR, VALUE
from .object_values import INSTANCER, PROPERTY, VIEW_LAYER, hashes_to_floats

FIELDS = {"FLOAT": ("value", 1), "INT": ("value", 1), "INT8": ("value", 1), "BOOLEAN": ("value", 1),
          "FLOAT2": ("vector", 2), "FLOAT_VECTOR": ("vector", 3), "FLOAT_COLOR": ("color", 4),
          "BYTE_COLOR": ("color", 4), "QUATERNION": ("value", 4)}
SURFACE_UV = "surface_uv_coordinate"  # of curves: where their roots are on the surface that they grow on
NUMPY_TYPES = {"INT": np.int32, "INT8": np.int32, "BOOLEAN": bool}


@dataclass(frozen=True)
class Values:
    array: np.ndarray  # [vertices or corners, 1 to 4]
    is_of_vertices: bool = False


def get(items: bpy.types.bpy_prop_collection, attribute: str, kind: type, width: int) -> np.ndarray:
    values = np.empty(len(items) * width, dtype=kind)
    items.foreach_get(attribute, values)
    return values.reshape(-1, width)


def get_indices(items: bpy.types.bpy_prop_collection, attribute: str, width: int = 1) -> np.ndarray:
    """int32 [items, width]. Such properties are unsigned, and Blender copies them as they lie in memory into an array that is unsigned too;
    into one of int32 it converts them one by one, in a dozen times the time."""
    return get(items, attribute, np.uint32, width).view(np.int32)


def finite(values: np.ndarray) -> np.ndarray:
    """With 0 for what is no number."""
    return values if np.isfinite(values).all() else np.nan_to_num(values, posinf=0, neginf=0)


def read_attributes(mesh: bpy.types.Mesh, wanted: frozenset[str]) -> dict[str, Values]:
    """Those of `wanted` that the mesh has."""
    found = {}
    for name in sorted(wanted):
        values = _read(mesh, name)
        if values is not None:
            found[name] = replace(values, array=finite(values.array.astype(np.float32, copy=False)))
    return found


def is_on_mesh(mesh: bpy.types.Mesh, name: str) -> bool:
    """Whether read_attributes would find it, by its name alone."""
    if name == RENDER_COLOR:
        return len(getattr(mesh, "color_attributes", ())) > 0  # curves have none
    plain = plain_name(name)
    if plain in getattr(mesh, "uv_layers", ()) or plain == SURFACE_UV and hasattr(mesh, "curves"):
        return True
    attribute = mesh.attributes.get(plain) if name.startswith(VALUE) and hasattr(mesh, "attributes") else None
    return attribute is not None and attribute.data_type in FIELDS


def plain_name(name: str) -> str:
    """As the artist knows it."""
    for start in (VALUE, PROPERTY, INSTANCER, VIEW_LAYER):
        if name.startswith(start):
            return name[len(start):]
    return "active color" if name == RENDER_COLOR else name


def _read(mesh: bpy.types.Mesh, name: str) -> Values | None:
    if name == GENERATED:
        return Values(_box(mesh), is_of_vertices=True)
    if name == POINTINESS:
        return Values(_pointiness(mesh), is_of_vertices=True)
    if name == ISLAND:
        return Values(hashes_to_floats(_islands(mesh))[:, None], is_of_vertices=True)
    if name == RENDER_COLOR:
        index = mesh.color_attributes.render_color_index
        layers = mesh.color_attributes
        return _four_of(_values(mesh, layers[index])) if 0 <= index < len(layers) else None
    if not name.startswith(VALUE):
        layer = mesh.uv_layers.get(name)
        return Values(get(layer.data, "uv", np.float32, 2)) if layer else None
    layer = mesh.uv_layers.get(name[len(VALUE):])
    if layer:
        return _four_of(Values(get(layer.data, "uv", np.float32, 2)))
    attribute = mesh.attributes.get(name[len(VALUE):])
    return _four_of(_values(mesh, attribute)) if attribute else None


def _box(mesh: bpy.types.Mesh) -> np.ndarray:
    """The place in the box of the mesh's texture space, of vertices as they were before deformation."""
    return to_box(mesh, get(mesh.vertices, "undeformed_co", np.float32, 3))


def to_box(mesh: bpy.types.Mesh, places: np.ndarray) -> np.ndarray:
    middle, half = np.array(mesh.texspace_location), np.array(mesh.texspace_size)
    return ((places - middle) / np.where(half == 0, 1, half) + 1) / 2


def _edges(mesh: bpy.types.Mesh) -> tuple[np.ndarray, np.ndarray]:
    ends = get_indices(mesh.edges, "vertices", 2)
    return ends[:, 0], ends[:, 1]


def _pointiness(mesh: bpy.types.Mesh) -> np.ndarray:
    """As Cycles: the angle between the normal and the mean direction along the edges to the neighbours, over pi, averaged over a
    vertex and its neighbours. Vertices in one place count as one."""
    places = get(mesh.vertices, "co", np.float32, 3)
    _, first, same = np.unique(places, axis=0, return_index=True, return_inverse=True)
    same = same.reshape(-1)
    a, b = (same[ends] for ends in _edges(mesh))
    pairs = np.unique(np.sort(np.stack([a, b], axis=1), axis=1), axis=0)
    a, b = pairs[pairs[:, 0] != pairs[:, 1]].T
    count = len(first)
    along = places[first[a]] - places[first[b]]
    along /= np.maximum(np.linalg.norm(along, axis=1), 1e-12)[:, None]
    degree = np.bincount(a, minlength=count) + np.bincount(b, minlength=count)
    mean = np.stack([np.bincount(a, along[:, k], count) - np.bincount(b, along[:, k], count) for k in range(3)], axis=1)
    normals = np.zeros((count, 3))
    np.add.at(normals, same, get(mesh.vertices, "normal", np.float32, 3))
    normals /= np.maximum(np.linalg.norm(normals, axis=1), 1e-12)[:, None]
    cosine = np.einsum("ij,ij->i", normals, mean / np.maximum(degree, 1)[:, None])
    raw = np.where(degree > 0, np.arccos(np.clip(-cosine, -1, 1)) / np.pi, 0)
    blurred = raw + np.bincount(a, raw[b], count) + np.bincount(b, raw[a], count)
    return (blurred / (degree + 1))[same, None]


def _islands(mesh: bpy.types.Mesh) -> np.ndarray:
    """For each vertex the one that stands for its island: the root of the tree that edge by edge grows by union by rank
    [Tarjan1975], as Cycles has it."""
    parents = list(range(len(mesh.vertices)))
    ranks = [0] * len(parents)

    def root(vertex: int) -> int:
        while parents[vertex] != vertex:
            parents[vertex] = vertex = parents[parents[vertex]]
        return vertex

    for a, b in zip(*(ends.tolist() for ends in _edges(mesh))):
        a, b = root(a), root(b)
        if a == b:
            continue
        if ranks[a] < ranks[b]:
            a, b = b, a
        parents[b] = a
        ranks[a] += ranks[a] == ranks[b]
    return np.array([root(vertex) for vertex in range(len(parents))])


def _values(mesh: bpy.types.Mesh, attribute: bpy.types.Attribute) -> Values | None:
    """None: of a type, or on something, that materials cannot read."""
    values = raw_values(attribute)
    if values is None:
        return None
    if attribute.domain in ("CORNER", "POINT"):
        return Values(values, is_of_vertices=attribute.domain == "POINT")
    if attribute.domain == "FACE":
        return Values(np.repeat(values, get_indices(mesh.polygons, "loop_total")[:, 0], axis=0))
    return Values(_of_edges(mesh, values), is_of_vertices=True) if attribute.domain == "EDGE" else None


def raw_values(attribute: bpy.types.Attribute) -> np.ndarray | None:
    """[items, 1 to 4]. None: of a type that materials cannot read."""
    if attribute.data_type not in FIELDS:
        return None
    of_items, width = FIELDS[attribute.data_type]
    return get(attribute.data, of_items, NUMPY_TYPES.get(attribute.data_type, np.float32), width)


def _of_edges(mesh: bpy.types.Mesh, values: np.ndarray) -> np.ndarray:
    """The mean at each vertex of the values of its edges. As in Cycles: whole numbers stay whole since Blender 4, and a vertex has
    what is true of any of its edges."""
    ends, count = np.concatenate(_edges(mesh)), len(mesh.vertices)
    sums = np.stack([np.bincount(ends, np.tile(column, 2), count) for column in values.T], axis=1)
    means = sums / np.maximum(np.bincount(ends, minlength=count), 1)[:, None]
    if not EDGES_KEEP_TYPES or values.dtype.kind == "f":
        return means
    return (sums > 0) if values.dtype.kind == "b" else np.trunc(means + np.copysign(0.5, means))


def _four_of(values: Values | None) -> Values | None:
    return None if values is None else replace(values, array=four_of(values.array))


def four_of(values: np.ndarray) -> np.ndarray:
    """A number as grey, a vector with alpha 1."""
    values = values.astype(np.float32)
    if values.shape[1] == 1:
        values = np.repeat(values, 3, axis=1)
    four = np.zeros((len(values), 4), np.float32)
    four[:, 3] = 1
    four[:, :values.shape[1]] = values
    return four
