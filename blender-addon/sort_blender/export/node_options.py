"""What units are told of their nodes besides the sockets, and what they do not do as Blender: said in the report,
with material and node.

Functions that end a node (`finish_...`) get the builder, the node and its name in the group; False: the node has
nothing to show.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import bpy

from ..versions import (CLOSURES_AS_4, COATS_ARE_AS_IF_SMOOTH, DIFFUSE_KEEPS_ENERGY, LIGHTS_AS_3, METAL_HAS_FILM, MULTISCATTER,
                        VORONOI_AS_5)
from . import object_values
from .image import association as image_association
from .surroundings import numbers

GENERATED = "sort:generated"  # attributes of meshes that attributes.py makes
RENDER_COLOR = "sort:color"
POINTINESS = "sort:pointiness"
ISLAND = "sort:island"
VALUE = "value:"  # before the name of what the Attribute nodes read, four numbers each
GLOSSY_STRETCH_MAX = 0.68  # see glossy_bsdf.ssl
WRAPS = {"REPEAT": "periodic", "EXTEND": "clamp", "CLIP": "black", "MIRROR": "mirror"}
TABLE_SIZE = 256


def no_options(node: bpy.types.Node) -> dict:
    return {}


def take(*names: str, **renamed: str) -> Callable[[bpy.types.Node], dict]:
    """Parameters from properties of the node: of the same name, or parameter=property."""
    pairs = [(name, name) for name in names] + list(renamed.items())
    return lambda node: {parameter: getattr(node, name) for parameter, name in pairs}


def principled(node: bpy.types.Node) -> dict:
    found = {"multiscatter": MULTISCATTER if node.distribution == "MULTI_GGX" else 0.0}
    if METAL_HAS_FILM:
        found["has_film_on_metal"] = True
    if COATS_ARE_AS_IF_SMOOTH and "Coat Weight" in node.inputs:
        found["has_coat_as_if_smooth"] = True
    return {**found, **_walk(node, "subsurface_method")}


def diffuse(node: bpy.types.Node) -> dict:
    return {"keeps_energy": DIFFUSE_KEEPS_ENERGY}


def glossy(node: bpy.types.Node) -> dict:
    return {"distribution": node.distribution, "multiscatter": MULTISCATTER}


def glass(node: bpy.types.Node) -> dict:
    return {"distribution": node.distribution, "by_facet": CLOSURES_AS_4}


def _walk(node: bpy.types.Node, setting: str) -> dict:
    """Since 5.2 the mean free path of RANDOM_WALK is the radius as it stands, and RANDOM_WALK_LEGACY is the walk of before."""
    method, known = getattr(node, setting), node.bl_rna.properties[setting].enum_items
    if method == "RANDOM_WALK_LEGACY":
        return {setting: "RANDOM_WALK"}
    is_plain = method == "RANDOM_WALK" and "RANDOM_WALK_LEGACY" in known
    return {setting: method, **({"has_plain_radius": True} if is_plain else {})}


def subsurface(node: bpy.types.Node) -> dict:
    """Blender 4 calls the walk of a fixed radius RANDOM_WALK, and the other one RANDOM_WALK_SKIN."""
    in_3 = {"RANDOM_WALK": "RANDOM_WALK_FIXED_RADIUS", "RANDOM_WALK_SKIN": "RANDOM_WALK"}
    found = {**_walk(node, "falloff"), "is_refracted": CLOSURES_AS_4}
    if CLOSURES_AS_4:
        found["falloff"] = in_3.get(found["falloff"], found["falloff"])
    return found


def hair_principled(node: bpy.types.Node) -> dict:
    """Blender 3 has one model."""
    return {"parametrization": node.parametrization, "model": getattr(node, "model", "CHIANG")}


def index(**enums: tuple) -> Callable[[bpy.types.Node], dict]:
    """parameter=(property, its values in the order of the unit). A value that is not among these stays a name."""
    return lambda node: {p: number_of(getattr(node, name), values) for p, (name, values) in enums.items()}


def number_of(name: str, names: tuple[str, ...]) -> int | str:
    return names.index(name) if name in names else name


def fixed(**values: object) -> Callable:
    return lambda node: dict(values)


def bind_rows(builder, name: str) -> None:
    """The object's matrix."""
    for axis, attribute in zip("xyz", object_values.ROWS):
        builder.attributes[f"{name}.object_{axis}"] = attribute


def bind_tangent(builder, name: str) -> None:
    """What the unit `geometry` needs for its Tangent."""
    bind_rows(builder, name)
    builder.attributes[f"{name}.generated"] = GENERATED


def _is_asked(node: bpy.types.Node, output: str) -> bool:
    """Something is linked to it. Later versions do not find a socket by name that has no meaning as the node is set."""
    socket = node.outputs.get(output)
    return socket is not None and socket.is_linked


# --- surfaces ---------------------------------------------------------------------------------------------

def _is_used(builder, name: str, parameter: str) -> bool:
    """It is linked, or has a value that is not 0."""
    value = builder.parameters(name).get(parameter, 0.0)
    return builder.is_wired(f"{name}.{parameter}") or value not in (0.0, [0.0, 0.0, 0.0])


def finish_principled(builder, node: bpy.types.Node, name: str) -> None:
    is_4 = "Coat Weight" in node.inputs
    if not _is_used(builder, name, "emission_color" if is_4 else "emission"):
        builder.parameters(name)["emission_strength"] = 0.0  # so that it is no light
    _default_tangent(builder, name, "anisotropic")
    if _is_used(builder, name, "transmission_weight" if is_4 else "transmission"):
        _warn_of_ior(builder, node, name)
    if _is_used(builder, name, "subsurface_weight" if is_4 else "subsurface"):
        if node.subsurface_method == "BURLEY":
            builder.warn(node, "Christensen-Burley is rendered as a random walk")


def _warn_of_ior(builder, node: bpy.types.Node, name: str) -> None:
    value = builder.parameters(name).get("ior", 1.0)
    if isinstance(value, float) and not 0.25 <= value <= 4:
        builder.warn(node, f"IOR {value:g} is beyond what closures take; {min(max(value, 0.25), 4):g} is used")


def finish_glass(builder, node: bpy.types.Node, name: str) -> None:
    _warn_of_ior(builder, node, name)


def finish_refraction(builder, node: bpy.types.Node, name: str) -> None:
    _warn_of_ior(builder, node, name)


def _default_tangent(builder, name: str, stretch: str) -> None:
    """As Cycles: around the object's z where nothing feeds the Tangent, and that counts."""
    if _is_used(builder, name, stretch) and not builder.is_wired(f"{name}.along"):
        builder.wire(builder.default_vector("tangent"), f"{name}.along")


def finish_glossy(builder, node: bpy.types.Node, name: str) -> None:
    _default_tangent(builder, name, "anisotropy")
    stretch = builder.parameters(name).get("anisotropy", 0.0)
    if isinstance(stretch, float) and abs(stretch) > GLOSSY_STRETCH_MAX:
        builder.warn(node, f"Anisotropy {stretch:g} is beyond what closures take; {math.copysign(GLOSSY_STRETCH_MAX, stretch):g} is used")
    if node.distribution == "ASHIKHMIN_SHIRLEY":
        builder.warn(node, "distribution ASHIKHMIN_SHIRLEY is rendered as GGX")


def finish_metallic(builder, node: bpy.types.Node, name: str) -> None:
    _default_tangent(builder, name, "anisotropy")


def finish_portal(builder, node: bpy.types.Node, name: str) -> None:
    """Where nothing feeds the Position, the path goes on from the surface."""
    builder.parameters(name)["has_place"] = _is_used(builder, name, "place")


def finish_subsurface(builder, node: bpy.types.Node, name: str) -> None:
    if node.falloff == "BURLEY":
        builder.warn(node, "Christensen-Burley is rendered as a random walk")


def finish_hair_principled(builder, node: bpy.types.Node, name: str) -> None:
    builder.parameters(name)["has_random"] = builder.is_wired(f"{name}.random")


def finish_specular(builder, node: bpy.types.Node, name: str) -> None:
    builder.warn(node, "Cycles has no Specular BSDF; rendered by its meaning in Eevee")


def finish_background(builder, node: bpy.types.Node, name: str) -> None:
    if not builder.is_world:
        builder.warn(node, "Background on a surface is rendered as Emission")


# --- textures and coordinates -----------------------------------------------------------------------------

def _bind_image(builder, node: bpy.types.Node, name: str, wrap: str) -> bool:
    if node.interpolation in ("Cubic", "Smart"):
        builder.warn(node, f"interpolation {node.interpolation} is the renderer's own filter")
    texture = builder.images.texture(node.image, node.image_user, builder.where(node), wrap)
    if texture is None:
        return False
    builder.bind_texture(name, "image", texture)
    return True


def image(node: bpy.types.Node) -> dict:
    if node.projection == "BOX":
        return {"blend": node.projection_blend, "interpolation": node.interpolation}
    return {"projection": node.projection, "interpolation": node.interpolation}


def finish_image(builder, node: bpy.types.Node, name: str) -> bool:
    if node.projection == "BOX":
        bind_rows(builder, name)
    if not _bind_image(builder, node, name, WRAPS[node.extension]):
        return False
    if node.image.alpha_mode == "NONE":
        builder.parameters(name)["is_opaque"] = True
    builder.parameters(name).update(image_association(node.image, _is_asked(node, "Alpha")))
    return True


def finish_environment(builder, node: bpy.types.Node, name: str) -> bool:
    return _bind_image(builder, node, name, "periodic")


def coordinates_of(builder) -> dict:
    """Of texture_coordinate: what it is that the nodes describe."""
    return {"is_world": builder.is_world, "is_ball": builder.ball_m > 0, "is_panel": builder.is_panel and not LIGHTS_AS_3,
            "is_old_panel": builder.is_panel and LIGHTS_AS_3}


def finish_coordinates(builder, node: bpy.types.Node, name: str) -> None:
    given, around = builder.parameters(name), builder.surroundings
    given.update(coordinates_of(builder))
    if builder.is_world and _is_asked(node, "UV"):
        builder.warn(node, "a world has no UV; 0 is used")
    if _is_asked(node, "Generated"):
        builder.attributes[f"{name}.generated"] = object_values.INSTANCER_BOX if node.from_instancer else GENERATED
    if _is_asked(node, "Normal"):
        bind_rows(builder, name)
    if node.object is not None and _is_asked(node, "Object"):
        other = node.object.evaluated_get(around.depsgraph) if around.depsgraph else node.object
        if abs(other.matrix_world.determinant()) > 0:
            given["has_object"] = True
            given["world_to_object"] = numbers(other.matrix_world.inverted())
        else:
            builder.warn(node, f"object '{other.name}' is scaled to nothing; the object's own coordinates are used")
    if _is_asked(node, "Camera"):
        given["world_to_camera"] = numbers(around.world_to_camera)
    if _is_asked(node, "Window"):
        if around.world_to_window is None:
            builder.warn(node, "a panorama has no Window coordinates; those of the camera are used")
        given["world_to_window"] = numbers(around.world_to_window or around.world_to_camera)
    if node.from_instancer:
        given["is_instancer"] = True
        builder.attributes[f"{name}.instancer_uv"] = object_values.INSTANCER_UV


def finish_uv_map(builder, node: bpy.types.Node, name: str) -> None:
    if node.from_instancer:
        builder.attributes[f"{name}.set"] = object_values.INSTANCER_UV
    elif node.uv_map:
        builder.attributes[f"{name}.set"] = node.uv_map
        builder.note_attribute(node, node.uv_map, "the first UV map is used")


def finish_attribute(builder, node: bpy.types.Node, name: str) -> None:
    kind = {"GEOMETRY": VALUE, "OBJECT": object_values.PROPERTY, "INSTANCER": object_values.INSTANCER,
            "VIEW_LAYER": object_values.VIEW_LAYER}[node.attribute_type]
    builder.attributes[f"{name}.value"] = kind + node.attribute_name
    builder.note_attribute(node, kind + node.attribute_name, "0 is used")


def finish_vertex_color(builder, node: bpy.types.Node, name: str) -> None:
    attribute = VALUE + node.layer_name if node.layer_name else RENDER_COLOR
    builder.attributes[f"{name}.value"] = attribute
    builder.note_attribute(node, attribute, "0 is used")


def normal_map(node: bpy.types.Node) -> dict:
    return {"space": node.space, "convention": getattr(node, "convention", "OPENGL")}


def finish_normal_map(builder, node: bpy.types.Node, name: str) -> None:
    if getattr(node, "base", "ORIGINAL") == "DISPLACED":
        builder.on_displaced.append(node)
    if node.space in ("OBJECT", "BLENDER_OBJECT"):
        bind_rows(builder, name)
    elif node.space == "TANGENT" and node.uv_map:
        builder.normal_maps.append((builder.where(node), node.uv_map))


def finish_tangent(builder, node: bpy.types.Node, name: str) -> None:
    if node.direction_type == "RADIAL":
        bind_tangent(builder, name)
    elif node.uv_map:
        builder.normal_maps.append((builder.where(node), node.uv_map))


def finish_geometry(builder, node: bpy.types.Node, name: str) -> None:
    builder.parameters(name).update(is_ball=builder.ball_m > 0, is_panel=builder.is_panel)
    if _is_asked(node, "Tangent") and not builder.is_world:
        bind_tangent(builder, name)
    if _is_asked(node, "Pointiness"):
        builder.attributes[f"{name}.sharpness"] = POINTINESS
    if _is_asked(node, "Random Per Island"):
        builder.attributes[f"{name}.island"] = ISLAND


def finish_object_info(builder, node: bpy.types.Node, name: str) -> None:
    builder.parameters(name)["material_pass"] = float(builder.material_index)
    for attribute, value, output in (("object_location", object_values.LOCATION, "Location"),
                                     ("object_color", object_values.COLOR, "Color"),
                                     ("object_color", object_values.COLOR, "Alpha"),
                                     ("object_index", object_values.INDEX, "Object Index"),
                                     ("random_id", object_values.RANDOM, "Random")):
        if _is_asked(node, output):
            builder.attributes[f"{name}.{attribute}"] = value


def finish_particle(builder, node: bpy.types.Node, name: str) -> None:
    names = ("numbers", "chance", "place", "speed", "turning")
    for attribute, value in zip(names, object_values.PARTICLE):
        builder.attributes[f"{name}.{attribute}"] = value


def finish_rows(builder, node: bpy.types.Node, name: str) -> None:
    bind_rows(builder, name)


def finish_vector_transform(builder, node: bpy.types.Node, name: str) -> None:
    bind_rows(builder, name)
    finish_camera(builder, node, name)


def finish_light_path(builder, node: bpy.types.Node, name: str) -> None:
    builder.parameters(name)["is_world"] = builder.is_world


def finish_falloff(builder, node: bpy.types.Node, name: str) -> None:
    builder.parameters(name)["ball"] = builder.ball_m


def finish_camera(builder, node: bpy.types.Node, name: str) -> None:
    builder.parameters(name)["world_to_camera"] = numbers(builder.surroundings.world_to_camera)


def finish_occlusion(builder, node: bpy.types.Node, name: str) -> None:
    """A Distance of 0 that nothing feeds is that of the world's Ambient Occlusion."""
    if not builder.is_wired(f"{name}.distance") and builder.parameters(name).get("distance") == 0.0:
        builder.parameters(name)["distance"] = builder.surroundings.occlusion_distance_m


DIMENSIONS = ("1D", "2D", "3D", "4D")
FRACTALS = ("MULTIFRACTAL", "FBM", "HYBRID_MULTIFRACTAL", "RIDGED_MULTIFRACTAL", "HETERO_TERRAIN")


def noise(node: bpy.types.Node) -> dict:
    """Blender 4 has a Normalize, 4.1 a type."""
    found = {"dimensions": number_of(node.noise_dimensions, DIMENSIONS)}
    if hasattr(node, "normalize"):
        found.update(is_normalized=node.normalize, kind=number_of(getattr(node, "noise_type", "FBM"), FRACTALS))
    return found


def voronoi(node: bpy.types.Node) -> dict:
    return {"dimensions": number_of(node.voronoi_dimensions, DIMENSIONS), "is_normalized": getattr(node, "normalize", False),
            "is_5": VORONOI_AS_5,
            "feature": number_of(node.feature, ("F1", "F2", "SMOOTH_F1", "DISTANCE_TO_EDGE", "N_SPHERE_RADIUS")),
            "metric": number_of(node.distance, ("EUCLIDEAN", "MANHATTAN", "CHEBYCHEV", "MINKOWSKI"))}


def wave(node: bpy.types.Node) -> dict:
    is_bands = node.wave_type == "BANDS"
    axis = node.bands_direction if is_bands else node.rings_direction
    last = "DIAGONAL" if is_bands else "SPHERICAL"
    return {"kind": 0 if is_bands else 1, "direction": number_of(axis, ("X", "Y", "Z", last)),
            "profile": number_of(node.wave_profile, ("SIN", "SAW", "TRI"))}


# --- colours and numbers ----------------------------------------------------------------------------------

def ramp(node: bpy.types.Node) -> dict:
    colours = node.color_ramp
    table = [float(x) for k in range(TABLE_SIZE) for x in colours.evaluate(k / (TABLE_SIZE - 1))]
    return {"is_constant": colours.interpolation == "CONSTANT", "table": table}


def _curve_range(mapping: bpy.types.CurveMapping) -> tuple[float, float]:
    points = [curve.points for curve in mapping.curves]
    return min(p[0].location[0] for p in points), max(p[-1].location[0] for p in points)


def curves(node: bpy.types.Node) -> dict:
    mapping = node.mapping
    mapping.initialize()
    low, high = _curve_range(mapping)
    separate, combined = mapping.curves[:3], mapping.curves[3] if len(mapping.curves) > 3 else None
    table = []
    for k in range(TABLE_SIZE):
        x = low + (high - low) * k / (TABLE_SIZE - 1)
        if combined is not None:
            x = mapping.evaluate(combined, x)
        table += [mapping.evaluate(curve, x) for curve in separate]
    return {"low": low, "high": high, "extrapolates": mapping.extend == "EXTRAPOLATED", "table": table}


def float_curve(node: bpy.types.Node) -> dict:
    mapping = node.mapping
    mapping.initialize()
    low, high = _curve_range(mapping)
    table = [mapping.evaluate(mapping.curves[0], low + (high - low) * k / (TABLE_SIZE - 1)) for k in range(TABLE_SIZE)]
    return {"low": low, "high": high, "extrapolates": mapping.extend == "EXTRAPOLATED", "table": table}


def direction(node: bpy.types.Node) -> dict:
    return {"direction": list(node.outputs["Normal"].default_value)}


def mix_options(node: bpy.types.Node) -> dict:
    if node.data_type == "RGBA":
        return {"blend": node.blend_type, "clamp_factor": node.clamp_factor, "clamp_result": node.clamp_result}
    return {"clamp_factor": node.clamp_factor}


def finish_mix(builder, node: bpy.types.Node, name: str) -> None:
    given = builder.parameters(name)
    if node.data_type == "VECTOR" and isinstance(given.get("fac"), float):
        given["fac"] = [given["fac"]] * 3


def mix_rgb_options(node: bpy.types.Node) -> dict:
    return {"blend": node.blend_type, "clamp_result": node.use_clamp}
