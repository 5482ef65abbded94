"""Materials: each is a group of shader units (graph.py), made once, with what it needs of the meshes."""

from __future__ import annotations

import bpy

from ..messages import Report
from . import nodes
from .graph import GraphBuilder
from .image import ImageExporter
from ..sort_package import PackageWriter

DEFAULT_ALBEDO = [0.8, 0.8, 0.8]  # Blender's, of objects without a material


class MaterialExporter:
    def __init__(self, writer: PackageWriter, images: ImageExporter, report: Report) -> None:
        self._writer = writer
        self._images = images
        self._report = report
        self.names: dict[str, str] = {}
        self._attributes: dict[str, frozenset[str]] = {}
        self._normal_maps: dict[str, list[tuple[str, str]]] = {}  # by material: node, the UV map it names

    def name_of(self, material: bpy.types.Material | None, uv_name: str) -> str:
        """The name in the package. `uv_name`: the render-active UV map of a mesh that wears it."""
        key = self._make(material)
        for where, wanted in self._normal_maps[key]:
            if wanted != uv_name:
                self._report.warn(where, f"UV map '{wanted}' is not the render-active one of each mesh; "
                                         "tangents are those of that one")
        return self.names[key]

    def attributes_of(self, material: bpy.types.Material | None) -> frozenset[str]:
        """What it reads of a mesh besides its first uv set (see mesh.py)."""
        return self._attributes[self._make(material)]

    def _make(self, material: bpy.types.Material | None) -> str:
        key = material.name_full if material else ""
        if key not in self.names:
            builder = GraphBuilder(key, self._images, self._report)
            record = builder.record(_surface(material, builder))
            self.names[key] = self._writer.add("materials", key or "Default", record)
            self._attributes[key] = frozenset(builder.attributes.values())
            self._normal_maps[key] = builder.normal_maps
        return key


def _surface(material: bpy.types.Material | None, builder: GraphBuilder) -> str:
    """The port of the surface."""
    if material is None:
        return builder.unit("default", "diffuse_bsdf", {"tint": DEFAULT_ALBEDO}) + ".bsdf"
    if not material.use_nodes or material.node_tree is None:
        return builder.unit("plain", "diffuse_bsdf", {"tint": list(material.diffuse_color)[:3]}) + ".bsdf"
    output = material.node_tree.get_output_node("CYCLES")
    if output is None:
        return builder.unit("black", "emission", {"strength": 0.0}) + ".light"
    for name in ("Volume", "Displacement"):
        if nodes.source(output.inputs[name]):
            builder.warn(output, f"{name} is not supported yet and is left out")
    return builder.surface(output.inputs["Surface"])
