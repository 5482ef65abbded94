"""Materials: each is a group of shader units (graph.py), made once, with what it needs of the meshes."""

from __future__ import annotations

import bpy

from ..messages import Report
from ..sort_package import PackageWriter
from ..versions import BUMP_SHADOWS_ARE_SOFT, DEFAULT_IS_PRINCIPLED, displacement_moves, nodes_of, shadows_bumps
from . import nodes, shader_aovs, unfollowed
from .attributes import is_on_mesh, plain_name
from .graph import GraphBuilder
from .image import ImageExporter
from .instance_attributes import InstanceAttributes
from .layers import Layers
from .object_values import OBJECT, values_of
from .surroundings import Surroundings

DEFAULT_ALBEDO = [0.8, 0.8, 0.8]  # Blender's, of objects without a material


class MaterialExporter:
    def __init__(self, writer: PackageWriter, images: ImageExporter, report: Report,
                 surroundings: Surroundings | None = None, layers: Layers | None = None) -> None:
        self._layers = layers
        self._writer = writer
        self._surroundings = surroundings or Surroundings()
        self._instance_attributes = InstanceAttributes()
        self.images = images
        self._report = report
        self.names: dict[str, str] = {}
        self._attributes: dict[str, frozenset[str]] = {}
        self._notes: dict[str, dict[str, list[tuple[str, str]]]] = {}  # see GraphBuilder
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
        return frozenset(name for name in self._attributes[self._make(material)] if not name.startswith(OBJECT))

    def values_for(self, instance: bpy.types.DepsgraphObjectInstance,
                   worn: list[bpy.types.Material | None]) -> dict:
        """Fields of the instance's record: what `worn` read of the whole object. Says what its mesh lacks."""
        keys = [self._make(material) for material in worn]
        wanted = frozenset().union(*(self._attributes[key] for key in keys))
        depsgraph = self._surroundings.depsgraph
        values = values_of(instance, wanted, depsgraph, self._instance_attributes) if depsgraph else {}
        for key in keys:
            for attribute, notes in self._notes[key].items():
                if attribute not in values and not is_on_mesh(instance.object.data, attribute):
                    self._warn_of_absence(instance.object, attribute, notes)
        return {"attributes": values} if values else {}

    def _warn_of_absence(self, obj: bpy.types.Object, attribute: str, notes: list[tuple[str, str]]) -> None:
        for node, instead in notes:
            self._report.warn(f"Object '{obj.name}', {node}", f"there is no '{plain_name(attribute)}' here; {instead}")

    def environment(self, world: bpy.types.World, surface: bpy.types.NodeSocket,
                    sun_node: bpy.types.Node | None = None) -> str:
        """The name in the package of the material that a world's nodes make. `sun_node`: see GraphBuilder."""
        builder = GraphBuilder(f"World '{world.name}'", self.images, self._report, self._surroundings, is_world=True)
        builder.sun_node = sun_node
        return self._writer.add("materials", f"World {world.name}", builder.record(builder.surface(surface)))

    def emission(self, owner: str, surface: bpy.types.NodeSocket, parameters: dict, ball_m: float) -> str:
        """Adds the material of a light's nodes. `parameters` go to the unit `light_front`; ball_m is the radius of a light
        that is a ball, else 0."""
        builder = GraphBuilder(owner, self.images, self._report, self._surroundings, ball_m=ball_m, is_panel=ball_m == 0)
        port = builder.unit("front", "light_front", parameters)
        builder.wire(builder.surface(surface), f"{port}.light")
        return self._writer.add("materials", owner, builder.record(f"{port}.front"))

    def light_factor(self, owner: str, surface: bpy.types.NodeSocket) -> str:
        """Adds the material of a light that is not made a mesh: the emission of its nodes multiplies the light."""
        builder = GraphBuilder(owner, self.images, self._report, self._surroundings)
        return self._writer.add("materials", owner, builder.record(builder.surface(surface)))

    def _make(self, material: bpy.types.Material | None) -> str:
        key = material.name_full if material else ""
        if key not in self.names:
            if material:
                unfollowed.warn(material, unfollowed.MATERIAL, f"Material '{key}'", self._report)
            builder = GraphBuilder(f"Material '{key}'", self.images, self._report, self._surroundings,
                                   material_index=material.pass_index if material else 0)
            record = builder.record(self._with_aovs(material, builder, _surface(material, builder))) | {"keeps_radiance": True}
            if material is None or shadows_bumps(material) and not builder.is_bent_as_a_whole:  # Cycles compares with that normal
                record["shadows_bumps"] = True
                record["soft_bump_shadows"] = BUMP_SHADOWS_ARE_SOFT
            self.names[key] = self._writer.add("materials", key or "Default", record)
            self._attributes[key] = frozenset(builder.attributes.values())
            self._notes[key] = builder.notes
            self._normal_maps[key] = builder.normal_maps
        return key


    def _with_aovs(self, material: bpy.types.Material | None, builder: GraphBuilder, surface: str) -> str:
        tree = nodes_of(material) if material and self._layers and self._layers.aovs else None
        return shader_aovs.add(builder, tree, self._layers, surface) if tree else surface


def _surface(material: bpy.types.Material | None, builder: GraphBuilder) -> str:
    """The port of the surface."""
    if material is None:
        if DEFAULT_IS_PRINCIPLED:
            return builder.unit("default", "principled_bsdf_4", {"base_color": DEFAULT_ALBEDO}) + ".surface"
        return builder.unit("default", "diffuse_bsdf", {"tint": DEFAULT_ALBEDO}) + ".bsdf"
    tree = nodes_of(material)
    if tree is None:
        return builder.unit("plain", "diffuse_bsdf", {"tint": list(material.diffuse_color)[:3]}) + ".bsdf"
    output = tree.get_output_node("CYCLES")
    if output is None:
        return builder.unit("black", "emission", {"strength": 0.0}) + ".light"
    if nodes.source_of(output, "Volume"):
        builder.warn(output, "Volume is not supported yet and is left out")
    return builder.surface(output.inputs["Surface"], output.inputs.get("Displacement"), displacement_moves(material))
