"""Settings of a scene: scene.sort."""

from __future__ import annotations

import bpy


class SortSceneSettings(bpy.types.PropertyGroup):
    samples: bpy.props.IntProperty(
        name="Samples", default=64, min=1, max=1 << 24, soft_max=4096,
        description="Paths per pixel")
    max_depth: bpy.props.IntProperty(
        name="Max Depth", default=8, min=1, max=1024, soft_max=64,
        description="Surface interactions of a path")
    seed: bpy.props.IntProperty(
        name="Seed", default=0, min=0, max=(1 << 31) - 1,
        description="Another pattern of noise")
    filter_width: bpy.props.FloatProperty(
        name="Filter Width", default=1.5, min=0.01, max=8.0, subtype="PIXEL",
        description="Width of the pixel filter (Blackman-Harris), measured as Cycles measures it")
    texture_memory_mib: bpy.props.IntProperty(
        name="Texture Memory (MiB)", default=1024, min=1, max=1 << 24, soft_max=65536,
        description="Budget of the texture cache; never exceeded. Textures are paged in from disk")


def register() -> None:
    bpy.utils.register_class(SortSceneSettings)
    bpy.types.Scene.sort = bpy.props.PointerProperty(type=SortSceneSettings)


def unregister() -> None:
    del bpy.types.Scene.sort
    bpy.utils.unregister_class(SortSceneSettings)
