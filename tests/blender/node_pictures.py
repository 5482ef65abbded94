"""Cases of worlds and lights: a picture each."""

import math

import bpy
import numpy as np

import blender_scene as kit
from node_tiles import CELLS, Case, Tile, add_ball, bounce_often, enum, gradient_image, is_there

PICTURES = []


def picture(node, tolerance):
    """Its limits of bounces are its own, not those of the scene before: references may be made one by one."""
    def add(build):
        def build_within_limits():
            bounce_often()
            build()
        if is_there(node):
            PICTURES.append(Case(build.__name__.replace("_", " "), node, tolerance, build_within_limits))
        return build
    return add


class World:
    """All around, in an equirectangular picture; nodes are made as on a tile."""

    def __init__(self):
        scene = kit.empty_scene(samples=16)
        scene.render.resolution_x, scene.render.resolution_y = 48, 24
        scene.world = bpy.data.worlds.new("World")
        scene.world.use_nodes = True
        self.root = scene.world.node_tree.nodes["Background"]
        camera = kit.add_camera((3, 2, 1), (math.pi / 2, 0, 0))
        camera.data.type = "PANO"
        kit.panorama_of(camera.data).panorama_type = "EQUIRECTANGULAR"
        kit.add_mesh("Far", [(0, 0, -500), (1, 0, -500), (0, 1, -500)], [(0, 1, 2)])

    new, output, part, join = Tile.new, Tile.output, Tile.part, Tile.join

    def show(self, socket):
        kit.link(socket, self.root.inputs["Color"])


@picture("ShaderNodeBackground", 0.01)
def world_gradient():
    world = World()
    up = world.part(world.output("ShaderNodeTexCoord", "Generated"), 2)
    ramp = world.new("ShaderNodeValToRGB", None, Fac=up)
    ramp.color_ramp.elements[0].color = (0.2, 0.4, 0.9, 1)
    world.show(ramp.outputs[0])


@picture("ShaderNodeTexEnvironment", 0.02)
def world_image_scaled_and_tinted():
    world = World()
    where = world.output("ShaderNodeMapping", 0, None, Vector=world.output("ShaderNodeTexCoord", "Generated"),
                         Rotation=(0.3, 0.2, 1), Scale=(1, 2, 0.5))
    image = world.output("ShaderNodeTexEnvironment", 0, {"image": gradient_image("All around", 128, 64)}, Vector=where)
    world.show(world.output("ShaderNodeHueSaturation", 0, None, Color=image, Saturation=0.5, Hue=0.6))


@picture("ShaderNodeTexCoord", 0.02)
def world_coordinates():
    world = World()
    parts = [world.output("ShaderNodeTexCoord", name) for name in ("Normal", "Object", "Reflection")]
    sum_of = world.output("ShaderNodeVectorMath", 0, {"operation": "MULTIPLY_ADD"}, Vector=parts[0],
                          Vector_001=(-0.6, 0.5, 0.1), Vector_002=parts[1])
    world.show(world.output("ShaderNodeTexVoronoi", "Color", None, Vector=sum_of, Scale=1.5))


@picture("ShaderNodeTexSky", 0.02)
def world_of_a_preetham_sky():
    world = World()
    world.show(world.output("ShaderNodeTexSky", 0, {"sky_type": "PREETHAM", "turbidity": 3.0,
                                                    "sun_direction": (0.6, 0.3, 0.74)}))


def hosek(world, **settings):
    return world.output("ShaderNodeTexSky", 0, {"sky_type": "HOSEK_WILKIE", **settings})


@picture("ShaderNodeTexSky", 0.01)
def world_of_a_hosek_sky():
    world = World()
    world.show(hosek(world, turbidity=3.0, sun_direction=(0.6, -0.3, 0.74), ground_albedo=0.4))


@picture("ShaderNodeTexSky", 0.01)
def world_of_a_hazy_hosek_sky_with_a_low_sun():
    world = World()
    world.show(hosek(world, turbidity=7.0, sun_direction=(-0.7, 0.7, 0.1), ground_albedo=0))


def nishita(world, **settings):
    """By the names of Blender 3 and 4."""
    if "NISHITA" in enum("ShaderNodeTexSky", "sky_type"):
        return world.output("ShaderNodeTexSky", 0, {"sky_type": "NISHITA", **settings})
    in_5 = {{"dust_density": "aerosol_density"}.get(name, name): given for name, given in settings.items()}
    return world.output("ShaderNodeTexSky", 0, {"sky_type": "SINGLE_SCATTERING", **in_5})


@picture("ShaderNodeTexSky", 0.02)
def world_of_a_clear_sky_at_noon():
    world = World()
    world.show(nishita(world, sun_disc=False, sun_elevation=1.1, sun_rotation=1.2))


@picture("ShaderNodeTexSky", 0.03)
def world_of_a_dusty_sunset_seen_from_a_mountain():
    world = World()
    world.show(nishita(world, sun_disc=False, sun_elevation=0.03, altitude=3000, dust_density=4))


@picture("ShaderNodeTexSky", 0.03)
def world_of_twilight_below_ozone():
    world = World()
    world.show(world.output("ShaderNodeVectorMath", 0, {"operation": "SCALE"}, Scale=50.0, Vector=nishita(
        world, sun_disc=False, sun_elevation=-0.07, ozone_density=2)))


def multiple(name, **settings):
    """Above the horizon, of Blender 5."""
    def build():
        world = World()
        bpy.context.scene.camera.data.latitude_min = 0
        world.show(world.output("ShaderNodeTexSky", 0, {"sky_type": "MULTIPLE_SCATTERING", **settings}))
    if "MULTIPLE_SCATTERING" in enum("ShaderNodeTexSky", "sky_type"):
        build.__name__ = name
        picture("ShaderNodeTexSky", 0.02)(build)


multiple("light scattered often at noon", sun_disc=False, sun_elevation=1.1, sun_rotation=1.2)
multiple("light scattered often at dusk", sun_disc=False, sun_elevation=0.05, aerosol_density=3)
multiple("a large sun whose light is scattered often", sun_size=0.3, sun_elevation=0.5, sun_rotation=1.2, sun_intensity=0.1)


@picture("ShaderNodeTexSky", 0.02)
def world_of_thick_air_seen_from_an_aircraft():
    world = World()
    world.show(nishita(world, sun_disc=False, sun_elevation=0.6, altitude=20000, air_density=3, ozone_density=0))


@picture("ShaderNodeTexSky", 0.03)
def world_with_a_large_sun():
    world = World()
    world.show(nishita(world, sun_size=0.3, sun_elevation=0.25, sun_rotation=1.2, sun_intensity=0.1))


@picture("ShaderNodeTexSky", 0.01)
def floor_and_roof_under_a_sun_of_the_usual_size():
    lit_by_a_sky(0.5)


@picture("ShaderNodeTexSky", 0.01)
def floor_and_roof_under_a_sun_that_is_half_set():
    lit_by_a_sky(0.001)


def lit_by_a_sky(elevation):
    world = World()
    world.show(nishita(world, sun_elevation=elevation))
    world.root.inputs["Strength"].default_value = 0.1
    bpy.data.objects.remove(bpy.context.scene.camera)
    scene = bpy.context.scene
    scene.render.resolution_x = scene.render.resolution_y = 24
    scene.sort.samples = 64
    kit.material_of(kit.add_plane(size=4), "ShaderNodeBsdfDiffuse")
    kit.add_camera((0, 0, 12)).data.angle = 0.33
    kit.add_plane("Roof", 1, location=(1, 0, 1)).visible_camera = False


@picture("ShaderNodeLightPath", 0.02)
def world_for_the_camera_alone():
    world = World()
    seen = world.output("ShaderNodeLightPath", "Is Camera Ray")
    world.show(world.output("ShaderNodeMixRGB", 0, None, Fac=seen, Color1=(1, 0, 0, 1), Color2=(0.1, 0.5, 0.3, 1)))


def counts(maker, *names):
    """Colours of 0.2 and a tenth of each count of Light Path."""
    path = maker.new("ShaderNodeLightPath")
    parts = [maker.output("ShaderNodeMath", 0, {"operation": "MULTIPLY_ADD"}, Value=path.outputs[name], Value_001=0.1, Value_002=0.2)
             for name in names]
    return maker.join(*parts)


@picture("ShaderNodeLightPath", 0.01)
def world_that_counts_bounces():
    """As the camera sees it, and in a mirror; in Cycles it is one bounce further away than other things."""
    world = World()
    world.show(counts(world, "Ray Depth", "Glossy Depth", "Transparent Depth"))
    mirror = Tile(kit.add_plane("Mirror", 6, location=(3, 2, -1)))
    mirror.surface(mirror.output("ShaderNodeBsdfGlossy", 0, None, Roughness=0.0))


@picture("ShaderNodeLightPath", 0.02)
def shadows_that_count_scatters():
    """Below two sheets of glass, on a floor that is half glass before another one."""
    kit.empty_scene(samples=256)
    for z, size in ((5, 20), (6, 12)):
        sheet = Tile(kit.add_plane(f"Sheet {z}", size, location=(2, 0, z)))
        sheet.surface(sheet.output("ShaderNodeBsdfTransparent", 0, None, Color=counts(sheet, "Diffuse Depth", "Transparent Depth", "Ray Depth")))
    floor = Tile(kit.add_plane("Floor", 4, location=(1.5, 0, 0)))
    parts = [floor.output("ShaderNodeBsdfDiffuse"), floor.output("ShaderNodeBsdfTransparent")]
    mix = floor.new("ShaderNodeMixShader", None, Fac=0.5)
    for part, socket in zip(parts, mix.inputs[1:]):
        kit.link(part, socket)
    floor.surface(mix.outputs[0])
    kit.material_of(kit.add_plane("Ground", 8, location=(0, 0, -1)), "ShaderNodeBsdfDiffuse")
    kit.add("Sun", bpy.data.lights.new("Sun", "SUN"), (0, 0, 5), (0.2, 0.1, 0)).data.energy = 50
    kit.add_camera((0, 0, 4.5))


def white_floor(kind, place, **settings):
    """A Lambert plane from above, and a light with nodes: its Emission node."""
    scene = kit.empty_scene(samples=256)
    scene.render.resolution_x = scene.render.resolution_y = 24
    kit.material_of(kit.add_plane(size=4), "ShaderNodeBsdfDiffuse", Color=(0.8, 0.8, 0.8, 1))
    kit.add_camera((0, 0, 12)).data.angle = 0.33
    light = kit.add("Light", bpy.data.lights.new("Light", kind), place, (0.2, 0.1, 0))
    light.data.energy, light.data.use_nodes = 50, True
    for name, given in settings.items():
        setattr(light.data, name, given)
    return light.data.node_tree.nodes["Emission"]


def node_of(beside, node_type, **inputs):
    node = kit.new_node(beside, node_type)
    for name, given in inputs.items():
        node.inputs[name.replace("_", " ")].default_value = given
    return node


@picture("ShaderNodeTexCoord", 0.02)
def area_light_with_a_pattern():
    """By where on it: over UV, which it has since Blender 4, and over Object."""
    emission = white_floor("AREA", (0.2, -0.1, 0.6), shape="RECTANGLE", size=2.0, size_y=1.0)
    places, total, size = (node_of(emission, f"ShaderNode{name}") for name in ("TexCoord", "VectorMath", "VectorMath"))
    total.operation, size.operation = "ADD", "ABSOLUTE"
    for name, socket in zip(("UV", "Object"), total.inputs):
        kit.link(places.outputs[name], socket)
    kit.link(total.outputs[0], size.inputs[0])
    kit.link(size.outputs[0], emission.inputs["Color"])


@picture("ShaderNodeNewGeometry", 0.02)
def round_area_light_by_its_parameters():
    emission = white_floor("AREA", (0.2, -0.1, 0.6), shape="ELLIPSE", size=2.0, size_y=1.0)
    kit.link(node_of(emission, "ShaderNodeNewGeometry").outputs["Parametric"], emission.inputs["Color"])


@picture("ShaderNodeBlackbody", 0.01)
def area_light_of_a_black_body():
    emission = white_floor("AREA", (0.3, 0.2, 2), size=1.0)
    kit.link(node_of(emission, "ShaderNodeBlackbody", Temperature=3000).outputs[0], emission.inputs["Color"])


@picture("ShaderNodeLightFalloff", 0.03)
def point_light_of_constant_falloff():
    emission = white_floor("POINT", (0.3, 0.2, 2), shadow_soft_size=0.1)
    kit.link(node_of(emission, "ShaderNodeLightFalloff", Strength=0.5).outputs["Constant"], emission.inputs["Strength"])


@picture("ShaderNodeEmission", 0.02)
def spot_light_with_a_pattern():
    emission = white_floor("SPOT", (0.3, 0.2, 3), shadow_soft_size=0.0, spot_size=1.0, spot_blend=0.3)
    checker, place = node_of(emission, "ShaderNodeTexChecker", Scale=5.0), kit.new_node(emission, "ShaderNodeNewGeometry")
    kit.link(place.outputs["Incoming"], checker.inputs["Vector"])
    kit.link(checker.outputs["Color"], emission.inputs["Color"])


def carried(node_type, settings):
    """Small planes on the faces of a grid, which show what an output knows of the grid."""
    scene = kit.empty_scene(samples=64)
    scene.render.resolution_x = scene.render.resolution_y = 24
    bpy.ops.mesh.primitive_grid_add(x_subdivisions=3, y_subdivisions=3, size=4)
    grid = bpy.context.object
    grid.instance_type = "FACES"
    grid.show_instancer_for_render = False
    plane = kit.add_plane(size=1.2)
    plane.parent = grid
    emission = kit.material_of(plane, "ShaderNodeEmission")
    node = kit.new_node(emission, node_type)
    for name, given in settings.items():
        setattr(node, name, given)
    kit.add_camera((0, 0, 12)).data.angle = 0.33
    scale = node_of(emission, "ShaderNodeVectorMath")
    scale.operation = "ABSOLUTE"
    kit.link(scale.outputs[0], emission.inputs["Color"])
    return node, scale.inputs[0]


@picture("ShaderNodeTexCoord", 0.02)
def coordinates_of_an_instancer():
    node, to = carried("ShaderNodeTexCoord", {"from_instancer": True})
    kit.link(node.outputs["Generated"], to)


@picture("ShaderNodeTexCoord", 0.02)
def uv_coordinates_of_an_instancer():
    node, to = carried("ShaderNodeTexCoord", {"from_instancer": True})
    kit.link(node.outputs["UV"], to)


@picture("ShaderNodeUVMap", 0.02)
def uv_map_of_an_instancer():
    node, to = carried("ShaderNodeUVMap", {"from_instancer": True})
    kit.link(node.outputs["UV"], to)


@picture("ShaderNodeObjectInfo", 0.02)
def random_numbers_of_instances():
    node, to = carried("ShaderNodeObjectInfo", {})
    kit.link(node.outputs["Random"], to)


@picture("ShaderNodeBsdfAnisotropic", 0.05)
def anisotropic_ball_without_uv():
    """Its tangents go around its own z."""
    scene = kit.empty_scene(samples=256)
    scene.render.resolution_x = scene.render.resolution_y = 24
    bpy.ops.mesh.primitive_ico_sphere_add(radius=0.9, subdivisions=3, calc_uvs=False, rotation=(0.5, 0.4, 0))
    bpy.ops.object.shade_smooth()
    kit.material_of(bpy.context.object, "ShaderNodeBsdfAnisotropic", Roughness=0.4, Anisotropy=0.5)
    sun = kit.add("Sun", bpy.data.lights.new("Sun", "SUN"), (0, 0, 5), (0.5, 0.4, 0))
    sun.data.energy, sun.data.angle = 2, 0.3
    kit.add_camera((0, 0, 3.2))


def corner(build, is_smooth=False):
    """A box with a fin, beside a wall of another object and half below glass, from above; `build` gives each a material."""
    scene = kit.empty_scene(samples=64)
    scene.render.resolution_x = scene.render.resolution_y = 24
    box = kit.add_mesh("Box", [(x, y, z) for z in (0, 1) for y in (-1, 1) for x in (-1, 1)] + [(0.2, y, z) for z in (1, 1.6) for y in (-0.8, 0.3)],
                       [(4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5), (8, 9, 11, 10)])
    box.data.polygons.foreach_set("use_smooth", [is_smooth] * 6)
    wall = kit.add_mesh("Wall", [(-2, -0.4, 0), (2, 0.3, 0), (2, 0.3, 2), (-2, -0.4, 2)], [(0, 1, 2, 3)])
    glass = kit.add_mesh("Glass", [(-2, -2, 1.6), (0.3, -2, 1.6), (0.3, 2, 1.6), (-2, 2, 1.6)], [(0, 1, 2, 3)])
    kit.material_of(glass, "ShaderNodeBsdfTransparent")
    for obj in (box, wall, kit.add_plane(size=6)):
        build(Tile(obj))
    kit.add_camera((0.5, -3, 9), (0.3, 0, 0)).data.angle = 0.45


def of_corner(node, name, show, **settings):
    def build():
        corner(show, **settings)
    build.__name__ = name
    picture(node, 0.01)(build)


def occlusion(name, settings, **inputs):
    of_corner("ShaderNodeAmbientOcclusion", name, lambda tile: tile.show(tile.output("ShaderNodeAmbientOcclusion", 0, settings, **inputs)))


occlusion("surfaces darkened by what is near", {"samples": 4}, Color=(0.9, 0.5, 0.2, 1), Distance=0.8)
occlusion("surfaces darkened by their own object", {"samples": 4, "only_local": True}, Distance=1.5)
occlusion("surfaces darkened below", {"samples": 4, "inside": True}, Distance=1.2)
occlusion("surfaces darkened within the distance of no world", {"samples": 1}, Distance=0.0)


def darkened_within_the_distance_of_the_world(tile):
    kit.set_world((0, 0, 0)).light_settings.distance = 0.7
    tile.show(tile.output("ShaderNodeAmbientOcclusion", "AO", None, Distance=0.0))


of_corner("ShaderNodeAmbientOcclusion", "surfaces darkened within the distance of the world", darkened_within_the_distance_of_the_world)


def bevel(tile, **inputs):
    return tile.output("ShaderNodeBevel", 0, {"samples": 8}, **inputs)


def bevel_of_a_given_normal(tile):
    turned = tile.new("ShaderNodeVectorMath", {"operation": "ADD"}, Vector_001=(0.3, 0.2, 0))
    kit.link(tile.output("ShaderNodeNewGeometry", "Normal"), turned.inputs[0])
    tile.show(bevel(tile, Radius=0.3, Normal=turned.outputs[0]))


def bevelled_diffuse(tile):
    tile.surface(tile.output("ShaderNodeBsdfDiffuse", 0, None, Normal=bevel(tile, Radius=0.25)))
    if "Sun" not in bpy.data.objects:
        kit.add("Sun", bpy.data.lights.new("Sun", "SUN"), (0, 0, 5), (0.5, 0.4, 0)).data.energy = 3


of_corner("ShaderNodeBevel", "round edges of flat faces", lambda tile: tile.show(bevel(tile, Radius=0.4)))
of_corner("ShaderNodeBevel", "round edges of smooth faces", lambda tile: tile.show(bevel(tile, Radius=0.4)), is_smooth=True)
of_corner("ShaderNodeBevel", "round edges of a normal that is given", bevel_of_a_given_normal)
of_corner("ShaderNodeBevel", "round edges in the sun", bevelled_diffuse)


def photometric_file(horizontal, rows):
    """A text of a lamp of type C, 0 to 90 degrees from its axis."""
    text = bpy.data.texts.new("lamp.ies")
    lines = ["IESNA:LM-63-1995", "TILT=NONE", f"1 -1 0.5 5 {len(horizontal)} 1 2 0 0 0", "0.8 1.0 50", "0, 15 30 60 90"]
    lines += [" ".join(map(str, numbers)) for numbers in [horizontal, *rows]]
    text.from_string("\n".join(lines) + "\n")
    return text


def lamp_of_a_file(emission, horizontal, rows):
    node = kit.new_node(emission, "ShaderNodeTexIES")
    node.mode, node.ies = "INTERNAL", photometric_file(horizontal, rows)
    kit.link(node.outputs[0], emission.inputs["Strength"])
    return node


@picture("ShaderNodeTexIES", 0.02)
def point_light_of_a_photometric_file():
    emission = white_floor("POINT", (0.2, 0.1, 1), shadow_soft_size=0.0)
    lamp_of_a_file(emission, [0, 45, 90], [[1000, 800, 500, 100, 0], [1000, 300, 200, 50, 10], [1000, 100, 50, 20, 0]])


@picture("ShaderNodeTexIES", 0.03)
def spot_light_of_a_photometric_file_that_is_turned():
    emission = white_floor("SPOT", (0.2, 0.1, 1), shadow_soft_size=0.0, spot_size=2.0)
    node = lamp_of_a_file(emission, [0, 90, 180, 270], [[1000, 800, 500, 100, 0], [1000, 300, 200, 50, 10],
                                                        [1000, 100, 50, 20, 0], [1000, 600, 600, 600, 0]])
    kit.link(kit.new_node(emission, "ShaderNodeNewGeometry").outputs["Incoming"], node.inputs["Vector"])


def moved(tile, geometry, by):
    node = tile.new("ShaderNodeVectorMath", {"operation": "ADD"}, Vector_001=by)
    kit.link(tile.output("ShaderNodeNewGeometry", geometry), node.inputs[0])
    return node.outputs[0]


@picture("ShaderNodeBsdfRayPortal", 0.005)
def what_lies_elsewhere_through_a_portal():
    kit.empty_scene(samples=64)
    kit.set_world((0.3, 0.4, 0.5))
    seen = Tile(kit.add_plane("Seen", 6, location=(10, 0.5, -2), rotation=(0.2, 0.1, 0.3)))
    seen.show(seen.uv)
    kit.add_camera()
    near = Tile(kit.add_plane("Portal", 5, rotation=(0.4, 0.2, 0)))
    near.surface(near.output("ShaderNodeBsdfRayPortal", 0, None, Color=(0.9, 0.7, 0.5, 1), Position=moved(near, "Position", (10, 0, 0))))


@picture("ShaderNodeBsdfRayPortal", 0.005)
def portal_that_turns_rays():
    kit.empty_scene(samples=64)
    kit.set_world((0.3, 0.4, 0.5))
    seen = Tile(kit.add_plane("Seen", 8, location=(0, 0, 12)))
    seen.show(seen.uv)
    kit.add_camera()
    ball = Tile(add_ball("Portal", (0, 0, 0)))
    ball.surface(ball.output("ShaderNodeBsdfRayPortal", 0, None, Direction=moved(ball, "Normal", (0.2, 0.1, 0.4))))


@picture("ShaderNodeBsdfRayPortal", 0.02)
def floor_below_a_portal():
    kit.empty_scene(samples=256)
    kit.set_world((0.3, 0.4, 0.5))
    floor = Tile(kit.add_plane("Floor", 8))
    floor.surface(floor.output("ShaderNodeBsdfDiffuse", 0))
    lamp = Tile(kit.add_plane("Lamp", 3, location=(1, 0, 2.5)))
    lamp.surface(lamp.output("ShaderNodeEmission", 0, None, Color=(1, 0.8, 0.6, 1), Strength=2.0))
    sun = kit.add("Sun", bpy.data.lights.new("Sun", "SUN"), (0, 0, 5), (0.5, 0.4, 0)).data
    sun.energy, sun.angle = 3, 0.8  # a small one is found through a portal by chance alone
    kit.add_camera((0, -7, 0.8), (math.pi / 2, 0, 0))
    roof = Tile(kit.add_plane("Portal", 4, location=(0.5, 0, 1.5), rotation=(0, 0.1, 0)))
    roof.surface(roof.output("ShaderNodeBsdfRayPortal", 0, None, Color=(0.5, 0.7, 0.9, 1)))


if bpy.app.version >= (5, 0, 0):  # since when there is Portal Depth
    @picture("ShaderNodeLightPath", 0.01)
    def portals_that_are_counted():
        """Two of them, one behind the other, above a floor that shines by their count."""
        kit.empty_scene(samples=16)
        kit.add_camera()
        floor = Tile(kit.add_plane("Seen", 12, location=(0, 0, -3)))
        floor.show(counts(floor, "Portal Depth", "Transparent Depth", "Ray Depth"))
        for k in range(2):
            near = Tile(kit.add_plane(f"Portal {k}", 3, location=(1 - 1.2 * k, 0, -k)))
            near.surface(near.output("ShaderNodeBsdfRayPortal", 0, None, Position=moved(near, "Position", (0, 0.4, -0.1))))


def measure_all(picture):
    """Returns the mean colours of the cells of a whole picture."""
    high, wide = (size // CELLS * CELLS for size in picture.shape[:2])
    part = picture[:high, :wide, :3]
    return part.reshape(CELLS, high // CELLS, CELLS, wide // CELLS, 3).mean(axis=(1, 3))
