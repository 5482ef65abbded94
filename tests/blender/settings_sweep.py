"""Every setting of Blender and Cycles that an artist can change, one at a time: a scene in which as many of them as can matter, the
list of them from Blender itself, and what the add-on makes of each."""

import hashlib
import math
import pathlib
import shutil

import bpy

import blender_scene as kit

# The properties that every data block has: names, users, libraries.
OF_ALL = set(bpy.types.ID.bl_rna.properties.keys()) | {"rna_type", "name"}
FLOAT_TRIES = (lambda x: x * 0.5, lambda x: x + 0.25, lambda x: x * 2 + 1, lambda x: x - 0.25)
INT_TRIES = (lambda x: x + 1, lambda x: x - 1, lambda x: x * 2, lambda x: x // 2)


def make_scene():
    """Saves it, for reopen(). Lamps of all kinds, a sky, matter that reflects, transmits, lets through and shines, hair, instances, things that move; a lens
    with depth of field."""
    scene = kit.empty_scene(size=24, samples=4)
    for collection in list(bpy.data.collections):
        bpy.data.collections.remove(collection)
    floor = kit.add_plane("Floor", size=8)
    kit.material_of(floor, "ShaderNodeBsdfDiffuse")
    glass = _cube("Glass", (-1.2, 0, 0.8))
    kit.material_of(glass, "ShaderNodeBsdfGlass", Roughness=0.0)
    mirror = _cube("Mirror", (1.2, 0.5, 0.8))
    kit.material_of(mirror, "ShaderNodeBsdfGlossy", Roughness=0.2)
    veil = kit.add_plane("Veil", size=1, location=(0, 0.6, 1.6), rotation=(0.5, 0, 0))
    kit.material_of(veil, "ShaderNodeBsdfTransparent")
    lamp = kit.add_plane("Shine", size=0.6, location=(-2, 2, 1.5), rotation=(1.2, 0, 0))
    kit.material_of(lamp, "ShaderNodeEmission", Strength=4.0)
    _add_parts()
    _add_moving(scene)
    for kind, place in (("POINT", (-2, -1, 3)), ("SPOT", (2, -1, 4)), ("AREA", (0, 2, 4)), ("SUN", (0, 0, 5))):
        data = bpy.data.lights.new(kind.capitalize(), kind)
        data.energy = 2 if kind == "SUN" else 80
        kit.add(kind.capitalize(), data, place, (0.3, 0.2, 0))
    world = bpy.data.worlds.new("World")
    world.use_nodes, world.color = True, (0.3, 0.2, 0.1)
    scene.world = world
    other = bpy.data.worlds.new("Other world")
    other.use_nodes, other.use_fake_user = True, True
    other.node_tree.nodes["Background"].inputs["Color"].default_value = (0, 1, 0, 1)
    camera = kit.add_camera((0, -6, 4), (math.pi / 2 - 0.5, 0, 0))
    camera.data.dof.use_dof, camera.data.dof.aperture_fstop, camera.data.dof.focus_distance = True, 0.2, 6
    camera.data.dof.aperture_blades = 5
    scene.render.use_simplify = True
    scene.cycles.seed = 1
    bpy.ops.wm.save_as_mainfile(filepath=str(kit.FOLDER / "sweep.blend"))


def _cube(name, place, collection=None):
    cube = kit.add_mesh(name, [(x, y, z) for x in (-.5, .5) for y in (-.5, .5) for z in (-.5, .5)],
                        [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (1, 5, 7, 3), (0, 2, 6, 4)], location=place)
    for polygon in cube.data.polygons:
        polygon.use_smooth = True
    if collection:
        bpy.context.scene.collection.objects.unlink(cube)
        collection.objects.link(cube)
    return cube


def _add_parts():
    """A collection of the view layer, and one that an empty instances."""
    parts = bpy.data.collections.new("Parts")
    bpy.context.scene.collection.children.link(parts)
    kit.material_of(_cube("Part", (0, -1.2, 0.5), parts), "ShaderNodeBsdfDiffuse")
    stock = bpy.data.collections.new("Stock")
    kit.material_of(_cube("Copied", (0, 0, 0), stock), "ShaderNodeBsdfDiffuse")
    empty = kit.add("Carrier", None, (2.2, -1, 0.5))
    empty.instance_type, empty.instance_collection = "COLLECTION", stock


def _add_moving(scene):
    """A tuft of hair that slides while the shutter is open."""
    tuft = kit.add_plane("Tuft", size=0.8, location=(-2.2, -1, 0.2))
    kit.material_of(tuft, "ShaderNodeBsdfDiffuse")
    tuft.modifiers.new("Hair", "PARTICLE_SYSTEM")
    hair = tuft.particle_systems[0].settings
    hair.type, hair.count, hair.hair_length = "HAIR", 20, 0.8
    for frame, x in ((1, -2.2), (3, -1.6)):
        tuft.location.x = x
        tuft.keyframe_insert("location", frame=frame)
    scene.render.use_motion_blur = True


def owners():
    """By the name that a setting is listed under: the structure, as a function, since files that are opened replace it."""
    def scene():
        return bpy.context.scene

    def thing(name):
        return bpy.data.objects[name]

    found = {"Object": lambda: thing("Mirror"), "Object of a lamp": lambda: thing("Point"),
             "Object that instances": lambda: thing("Carrier"),
             "Camera": lambda: scene().camera.data, "DepthOfField": lambda: scene().camera.data.dof,
             "World": lambda: scene().world, "Mist": lambda: scene().world.mist_settings,
             "WorldLighting": lambda: scene().world.light_settings,
             "Scene": scene, "Render": lambda: scene().render, "ViewLayer": lambda: bpy.context.view_layer,
             "LayerCollection": lambda: bpy.context.view_layer.layer_collection.children["Parts"],
             "Collection": lambda: bpy.data.collections["Parts"],
             "Units": lambda: scene().unit_settings,
             "Mesh": lambda: thing("Mirror").data,
             "Material that transmits": lambda: thing("Glass").active_material,
             "Material that is transparent": lambda: thing("Veil").active_material,
             "Material that shines": lambda: thing("Shine").active_material,
             "SORT": lambda: scene().sort, "SORT, view layer": lambda: bpy.context.view_layer.sort}
    for kind in ("Point", "Spot", "Area", "Sun"):
        found[f"{kind} light"] = lambda kind=kind: thing(kind).data
    for name in list(found):
        for group in ("cycles", "cycles_visibility", "cycles_curves", "light_linking"):
            if getattr(found[name](), group, None) is not None:
                found[f"{name}, {group}"] = lambda name=name, group=group: getattr(found[name](), group)
    return found


def settings_of(struct):
    """Those that can be changed and that not all data blocks have."""
    return [p for p in struct.bl_rna.properties if not p.is_readonly and p.identifier not in OF_ALL
            and p.type not in ("COLLECTION",)]


def other_values(struct, prop):
    """Values besides the one that it has."""
    value = getattr(struct, prop.identifier)
    if prop.type == "BOOLEAN":
        return [[not x for x in value] if prop.is_array else not value]
    if prop.type in ("INT", "FLOAT"):
        tries = INT_TRIES if prop.type == "INT" else FLOAT_TRIES
        if prop.is_array:
            return [[t(x) for x in value] for t in tries] if prop.array_length < 16 else []
        return [t(value) for t in tries]
    if prop.type == "ENUM":
        if prop.is_enum_flag:
            return []
        return [item.identifier for item in prop.enum_items if item.identifier != value]
    if prop.type == "POINTER":
        return [x.name for x in _data_of(prop.fixed_type.identifier) if x != value]
    return ["other"] if prop.type == "STRING" else []


def _data_of(kind):
    return {"Object": bpy.data.objects, "Material": bpy.data.materials, "World": bpy.data.worlds,
            "Collection": bpy.data.collections}.get(kind, ())


def changes(name, identifier, before=None):
    """In a scene as it was for each: one other value of the setting after the other, of those that Blender takes. `before`: is
    called for each scene."""
    _again(before)
    for value in other_values(owners()[name](), owners()[name]().bl_rna.properties[identifier]):
        struct = owners()[name]()
        prop = struct.bl_rna.properties[identifier]
        old = _plain(struct, prop)
        try:
            setattr(struct, identifier, _data_of(prop.fixed_type.identifier)[value] if prop.type == "POINTER" else value)
        except (TypeError, ValueError, RuntimeError, AttributeError):
            continue
        if _plain(owners()[name](), prop) != old:
            yield value
            _again(before)


def _again(before):
    reopen()
    if before:
        before()


def _plain(struct, prop):
    value = getattr(struct, prop.identifier)
    return list(value) if getattr(prop, "is_array", False) else value


def reopen():
    bpy.ops.wm.open_mainfile(filepath=str(kit.FOLDER / "sweep.blend"), load_ui=False)


def outcome():
    """What the add-on would tell the renderer, and the artist: (digest, warnings)."""
    from sort_blender import job, operators, passes
    from sort_blender.messages import Report, SortError
    scene, layer = bpy.context.scene, bpy.context.view_layer
    folder = kit.FOLDER / "outcome"
    shutil.rmtree(folder, ignore_errors=True)
    try:
        operators.export(bpy.context, folder)
    except SortError as error:
        return str(error), ()
    digest = hashlib.blake2b()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            digest.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    report = Report()
    arguments = job.make_job(scene, pathlib.Path("program"), pathlib.Path("folder"), set(), report=report).arguments()
    wanted = [(item.name, item.layer) for item in passes.wanted(bpy.context.scene, layer)]
    digest.update(repr((arguments, wanted, list(passes.unsupported(layer)))).encode())
    return digest.hexdigest(), (*kit.messages().warnings, *report.warnings)
