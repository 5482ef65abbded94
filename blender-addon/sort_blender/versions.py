"""The differences between versions of Blender: where each keeps things, and what each added since 3.4, in whose terms the
rest of the add-on is written. What is tested is in docs/manual/blender.md.

Facts about the file that is open are read from it (has a node this socket?); facts about the program are here.
"""

from __future__ import annotations

import bl_ui.properties_view_layer as _view_layer
import bpy

# --- lights ---------------------------------------------------------------------------------------------------
# Before 4.0, Cycles gives soft points and spots the shape of a disk that faces the point lit, dims spots by the cosine
# of the angle from their axis, and counts a watt of an area light by another factor.
LIGHTS_AS_3 = bpy.app.version < (4, 0, 0)
# Since 4.2, whether a light casts shadows is a setting of all engines, no longer Cycles' own.
LIGHTS_SHARE_SHADOW = bpy.app.version >= (4, 2, 0)

# --- normals --------------------------------------------------------------------------------------------------
# Before 4.0, normals that nodes bend so far that mirrors would look below the surface are turned back for all closures;
# since then for those that mirror.
BENT_NORMALS_ARE_VALID = bpy.app.version < (4, 0, 0)
# Since 4.5, bumps shadow diffuse light as a rough surface does, where earlier versions count the angles alone.
BUMP_SHADOWS_ARE_SOFT = bpy.app.version >= (4, 5, 0)

# --- attributes -------------------------------------------------------------------------------------------------
# Since 4.0, what edges have is brought to vertices in its own type.
EDGES_KEEP_TYPES = bpy.app.version >= (4, 0, 0)

# --- closures -------------------------------------------------------------------------------------------------
# Since 4.0, Multiscatter GGX makes single scattering brighter by a factor of the view; before, light goes from facet to facet.
MULTISCATTER = 1.0 if bpy.app.version < (4, 0, 0) else 2.0  # of closures
# Since 4.0, each microfacet of glass reflects by its own angle, and light is refracted into translucent bodies.
CLOSURES_AS_4 = bpy.app.version >= (4, 0, 0)
# Since 4.3, rough diffuse reflection loses no energy.
DIFFUSE_KEEPS_ENERGY = bpy.app.version >= (4, 3, 0)
# Before 4.5, a coat takes from the base what a smooth one would, and loses light among its facets.
COATS_ARE_AS_IF_SMOOTH = bpy.app.version < (4, 5, 0)
# Since 5.0, the Thin Film of a Principled BSDF is on its metal too.
METAL_HAS_FILM = bpy.app.version >= (5, 0, 0)
# Since 5.0, what has no material is a Principled BSDF.
DEFAULT_IS_PRINCIPLED = bpy.app.version >= (5, 0, 0)

# --- textures and skies ---------------------------------------------------------------------------------------
# Since 5.0, the points of Voronoi's cells are elsewhere, and the sky shines through the sun's disc.
VORONOI_AS_5 = SUN_ADDS_TO_SKY = bpy.app.version >= (5, 0, 0)

# --- images ---------------------------------------------------------------------------------------------------
# Before 4.0, the compositor does not multiply the colours of files of bytes by alpha.
BYTES_STAY_STRAIGHT = bpy.app.version < (4, 0, 0)
# Before 5.1, Cycles takes files of bytes as straight and those of floats as premultiplied, whatever their alpha mode says.
ALPHA_MODES_COUNT = bpy.app.version >= (5, 1, 0)

# --- passes ---------------------------------------------------------------------------------------------------
# Since 5.0 their names are words, by which compositors find them.
_PASSES_IN_5 = {"Emit": "Emission", "Env": "Environment", "AO": "Ambient Occlusion", "IndexOB": "Object Index", "IndexMA": "Material Index",
                **{kind[0] + part[0]: f"{kind[1]} {part[1]}"
                   for kind in (("Diff", "Diffuse"), ("Gloss", "Glossy"), ("Trans", "Transmission"))
                   for part in (("Dir", "Direct"), ("Ind", "Indirect"), ("Col", "Color"))}}


def pass_name(short: str) -> str:
    """Of a pass of Blender's own, which 4 calls `short`."""
    return _PASSES_IN_5.get(short, short) if bpy.app.version >= (5, 0, 0) else short


# --- panels ---------------------------------------------------------------------------------------------------
# What Eevee is called where panels name the engines they are for: its successor had a name of its own for a while.
EEVEE = "BLENDER_EEVEE_NEXT" if (4, 2, 0) <= bpy.app.version < (5, 0, 0) else "BLENDER_EEVEE"


def _panel_of(name: str) -> type:
    """A panel of the view layer to derive from, which later versions call a helper."""
    return getattr(_view_layer, name, None) or getattr(_view_layer, name + "Helper")


AovPanel = _panel_of("ViewLayerAOVPanel")
LightGroupsPanel = _panel_of("ViewLayerLightgroupsPanel")


# Since 4.5, a property for a file or folder says whether it may begin with // for the folder of the blend file.
PATH_OPTIONS = {"PATH_SUPPORTS_BLEND_RELATIVE"} if bpy.app.version >= (4, 5, 0) else set()

# --- where things are -----------------------------------------------------------------------------------------

def panorama_settings(camera: bpy.types.Camera) -> bpy.types.bpy_struct | None:
    """Blender 4 keeps them on the camera, 3 where Cycles has its own. None: the Cycles add-on is off."""
    return camera if hasattr(camera, "panorama_type") else getattr(camera, "cycles", None)


def shutter_settings(scene: bpy.types.Scene) -> bpy.types.bpy_struct | None:
    """What has the motion_blur_position: since 4.2 the render settings, before it Cycles' own. None: its add-on is off."""
    return scene.render if hasattr(scene.render, "motion_blur_position") else getattr(scene, "cycles", None)


def nodes_of(owner: bpy.types.Material | bpy.types.World) -> bpy.types.NodeTree | None:
    """None: it is described without. Since 5.0 nodes always count, and to ask is deprecated."""
    return owner.node_tree if bpy.app.version >= (5, 0, 0) or owner.use_nodes else None


def world_of(scene: bpy.types.Scene, view_layer: bpy.types.ViewLayer) -> bpy.types.World | None:
    """Since 4.2 a view layer may have one of its own."""
    return getattr(view_layer, "world_override", None) or scene.world


def shadows_bumps(material: bpy.types.Material) -> bool:
    """Whether bumps throw soft shadows, which before 4.1 they always do."""
    return getattr(getattr(material, "cycles", None), "use_bump_map_correction", True)


def displacement_moves(material: bpy.types.Material) -> bool:
    """Whether displacement shall move vertices, a setting that Cycles had to itself before 4.1; by default it bends normals alone."""
    owner = material if hasattr(material, "displacement_method") else getattr(material, "cycles", None)
    return getattr(owner, "displacement_method", "BUMP") != "BUMP"


def aov_name(node: bpy.types.Node) -> str:
    """Returns the name that an AOV Output writes to; since 4 the node has a property of its own for it."""
    return getattr(node, "aov_name", None) or node.name


def has_corner_normals(mesh: bpy.types.Mesh) -> bool:
    """Since 4.1 a mesh has them ready; before, it is told to compute them."""
    return hasattr(mesh, "corner_normals")


# --- baking ---------------------------------------------------------------------------------------------------
# Where the pass BakePrimitive has the number of the triangle, and the weights of its first and second corner: by the count of its
# channels, of which Blender 3 has one more.
BAKE_PRIMITIVE = {4: (1, 2), 3: (2, 0)}
# Baked shadows are those of lamps alone; since 4 what the other objects take of all light, as of a shadow catcher. Found in 4.5; by which
# version it came is not known, as those between are not tested.
BAKES_SHADOWS_OF_LAMPS = bpy.app.version < (4, 0, 0)
_MULTIRES_BEFORE_5 = {"use_multires": "use_bake_multires", "type": "bake_type", "use_clear": "use_bake_clear",
                      "use_lores_mesh": "use_bake_lores_mesh", "margin_type": "bake_margin_type", "margin": "bake_margin"}


def multires_setting(scene: bpy.types.Scene, name: str) -> tuple[bpy.types.bpy_struct, str]:
    """What has a setting of Bake from Multires, and its name there; `name`: as in 5.0, where it is one of the other bakes' settings."""
    bake = scene.render.bake
    return (bake, name) if hasattr(bake, "use_multires") else (scene.render, _MULTIRES_BEFORE_5[name])


# The baked roughness of surfaces of which no closure has one, such as smooth diffuse ones.
NO_ROUGHNESS = 0.0 if bpy.app.version < (4, 0, 0) else 1.0


# --- skies ----------------------------------------------------------------------------------------------------

def sky_model(node: bpy.types.Node) -> str:
    """PREETHAM, HOSEK_WILKIE, or NISHITA: light that is scattered once, which 5.0 calls so. Else as Blender calls it."""
    return {"SINGLE_SCATTERING": "NISHITA"}.get(node.sky_type, node.sky_type)


def sky_dust(node: bpy.types.Node) -> float:
    """Its density, which 5.0 calls aerosol."""
    return node.aerosol_density if hasattr(node, "aerosol_density") else node.dust_density


# --- the interface of a node group ----------------------------------------------------------------------------

def group_sockets(tree: bpy.types.NodeTree, side: str) -> list:
    """side: INPUT or OUTPUT."""
    if hasattr(tree, "interface"):
        return [i for i in tree.interface.items_tree if i.item_type == "SOCKET" and i.in_out == side]
    return list(_side(tree, side))


def group_socket_kind(socket: object) -> str:
    return getattr(socket, "bl_socket_idname", None) or socket.socket_type


def add_group_socket(tree: bpy.types.NodeTree, side: str, name: str, kind: str) -> object:
    if hasattr(tree, "interface"):
        return tree.interface.new_socket(name, in_out=side, socket_type=kind.removesuffix("Factor"))
    return _side(tree, side).new(kind, name)


def remove_group_socket(tree: bpy.types.NodeTree, side: str, socket: object) -> None:
    (tree.interface if hasattr(tree, "interface") else _side(tree, side)).remove(socket)


def move_group_socket(tree: bpy.types.NodeTree, side: str, start: int, end: int) -> None:
    if hasattr(tree, "interface"):
        sockets = group_sockets(tree, side)
        tree.interface.move(sockets[start], sockets[end].position)  # which counts inputs and outputs
    else:
        _side(tree, side).move(start, end)


def _side(tree: bpy.types.NodeTree, side: str) -> bpy.types.bpy_prop_collection:
    return tree.inputs if side == "INPUT" else tree.outputs


def add_asset_library(name: str, folder: str) -> None:
    """Before 4.0, only an operator makes one, which takes the name of its folder."""
    libraries = bpy.context.preferences.filepaths.asset_libraries
    if hasattr(libraries, "new"):
        libraries.new(name=name, directory=folder)
    else:
        bpy.ops.preferences.asset_library_add(directory=folder)
        libraries[len(libraries) - 1].name = name


LINEAR_SRGB = {"Linear Rec.709", "scene_linear"}  # of working spaces


def working_space() -> str:
    """The primaries of colours in this file. Before 5.0, all files have one."""
    return bpy.data.colorspace.working_space if hasattr(bpy.data, "colorspace") else "Linear Rec.709"
