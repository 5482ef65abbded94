"""Random node trees and scenes, out of the API's own lists of types: whatever node, setting, modifier, light or pass this
Blender has may turn up. One seed gives one scene (of a version)."""

import math

import bpy

import blender_scene as kit

EXTREMES = (0.0, 1.0, -1.0, 0.5, 1e-7, 1e6, -1e6)
NOT_FINITE = (math.inf, -math.inf, math.nan)
SKIPPED = {"location", "location_absolute", "width", "height", "width_hidden", "parent", "name", "label", "select",
           "use_custom_color", "color", "hide", "mute", "show_options", "show_preview", "show_texture", "warning_propagation", "preview_pause",
           "angle_x", "angle_y"}  # the API takes angles that no lens has
SCRIPTS = ("shader s(float a = 1, out color c) { c = color(a); }", "shader broken(", "")
# Objects that are not made of vertices: where their data is kept, in the versions that have it.
RARE = ("volumes", "hair_curves", "pointclouds", "lightprobes", "speakers", "armatures", "lattices")
LIGHTS = ("POINT", "SUN", "SPOT", "AREA")
# They read or write files, take long on their own, or are of objects that are not made here.
MODIFIERS_SKIPPED = {"FLUID", "MESH_CACHE", "MESH_SEQUENCE_CACHE", "OCEAN", "CLOTH", "SOFT_BODY", "DYNAMIC_PAINT", "COLLISION",
                     "PARTICLE_SYSTEM", "EXPLODE", "SUBSURF", "MULTIRES", "REMESH", "NODES"}


def node_types(tree):
    """Returns the node types of this Blender that the tree accepts."""
    found = []
    for name in sorted(dir(bpy.types)):
        kind = getattr(bpy.types, name)
        if isinstance(kind, type) and issubclass(kind, bpy.types.Node) and not name.startswith(("Compositor", "Geometry", "Texture")):
            try:
                tree.nodes.remove(tree.nodes.new(name))
            except RuntimeError:
                continue
            found.append(name)
    return found


def enums_of(node):
    """Settings with a list of values: name, values."""
    for setting in node.bl_rna.properties:
        name = setting.identifier
        if setting.type == "ENUM" and not setting.is_readonly and name not in SKIPPED and not name.startswith("bl_"):
            yield name, [item.identifier for item in setting.enum_items]


def assign(owner, name, value):
    """True: the owner took it."""
    try:
        setattr(owner, name, value)
    except (TypeError, ValueError, AttributeError, RuntimeError, OverflowError):
        return False
    return True


class Maker:
    def __init__(self, rng):
        self.rng = rng
        self.types = {}

    def chance(self, share):
        return self.rng.random() < share

    def number(self, low, high):
        if self.chance(0.15):
            return self.rng.choice(EXTREMES)
        return self.rng.uniform(max(low, -10.0), min(high, 10.0))

    def set_all(self, owner, share, skipped=frozenset()):
        """A share of the settings of whatever has some."""
        for setting in owner.bl_rna.properties:
            name = setting.identifier
            if setting.is_readonly or name in SKIPPED or name in skipped or name.startswith("bl_") or not self.chance(share):
                continue
            value = self.value_for(setting)
            if value is not None:
                assign(owner, name, value)

    def value_for(self, setting):
        rng = self.rng
        if setting.type == "ENUM":
            items = [item.identifier for item in setting.enum_items]
            return (set(rng.sample(items, rng.randint(0, len(items)))) if setting.is_enum_flag else rng.choice(items)) if items else None
        if setting.type == "BOOLEAN":
            return [self.chance(0.5) for _ in range(setting.array_length)] if setting.is_array else self.chance(0.5)
        if setting.type == "INT":
            low, high = max(setting.soft_min, setting.hard_min), min(setting.soft_max, setting.hard_max, setting.soft_min + 64)
            return [rng.randint(low, high) for _ in range(setting.array_length)] if setting.is_array else rng.randint(low, max(low, high))
        if setting.type == "FLOAT":
            numbers = [self.number(setting.hard_min, setting.hard_max) for _ in range(setting.array_length or 1)]
            return numbers if setting.is_array else numbers[0]
        if setting.type == "STRING":
            return rng.choice(("", "UVMap", "Col", "nothing", "weird \"name\" 一", "x" * 70))
        if setting.type == "POINTER":
            kind = setting.fixed_type.identifier
            owners = {"Image": bpy.data.images, "Object": bpy.data.objects, "Text": bpy.data.texts,
                      "Collection": bpy.data.collections}.get(kind)
            return rng.choice(list(owners)) if owners else None
        return None

    # --- trees -----------------------------------------------------------------------------------------------

    def types_of(self, tree):
        if tree.bl_idname not in self.types:
            self.types[tree.bl_idname] = node_types(tree)
        return self.types[tree.bl_idname]

    def node(self, tree, kind):
        node = tree.nodes.new(kind)
        self.set_all(node, 0.5)
        for socket in node.inputs:
            if hasattr(socket, "default_value") and self.chance(0.5):
                value = self.value_for(socket.bl_rna.properties["default_value"])
                if isinstance(value, float) and self.chance(0.02):
                    value = self.rng.choice(NOT_FINITE)
                if value is not None:
                    assign(socket, "default_value", value)
        if hasattr(node, "color_ramp"):
            for _ in range(self.rng.randint(0, 3)):
                node.color_ramp.elements.new(self.rng.random())
            self.set_all(node.color_ramp, 0.7)
        if hasattr(node, "mapping") and hasattr(node.mapping, "curves"):
            for curve in node.mapping.curves:
                curve.points.new(self.rng.random(), self.rng.uniform(-1, 2))
            node.mapping.update()
        node.mute = self.chance(0.05)
        if node.bl_idname == "ShaderNodeGroup" and bpy.data.node_groups:
            groups = [group for group in bpy.data.node_groups if group.bl_idname == "ShaderNodeTree" and group != tree]
            assign(node, "node_tree", self.rng.choice(groups or [None]))
        return node

    def fill(self, tree, count):
        """Links run from older nodes to younger ones and to outputs: Blender hangs on some circles."""
        types = self.types_of(tree)
        old = [node for node in tree.nodes if node.outputs]
        made = old + [self.node(tree, self.rng.choice(types)) for _ in range(count)]
        for k, node in enumerate(made[1:], 1):
            for socket in node.inputs:
                if self.chance(0.3):
                    self.link(tree, made[:k], socket)
        for node in tree.nodes:
            if not node.outputs and node.bl_idname != "NodeFrame":
                for socket in node.inputs:
                    if self.chance(0.9):
                        self.link(tree, [other for other in made if other != node], socket)

    def link(self, tree, nodes, socket):
        """Mostly from an output of the same type, if there is one."""
        outputs = [output for node in nodes for output in node.outputs]
        same = [output for output in outputs if output.type == socket.type]
        if same and self.chance(0.7):
            outputs = same
        if outputs:
            made = tree.links.new(self.rng.choice(outputs), socket)
            if made and self.chance(0.03):
                made.is_muted = True

    def group(self, name):
        tree = bpy.data.node_groups.new(name, "ShaderNodeTree")
        for side in ("INPUT", "OUTPUT"):
            for kind in ("NodeSocketColor", "NodeSocketFloat", "NodeSocketVector", "NodeSocketShader"):
                kit.new_group_socket(tree, side, kind, kind[10:])
        tree.nodes.new("NodeGroupInput")
        tree.nodes.new("NodeGroupOutput")
        self.fill(tree, 6)
        return tree

    def material(self, name, count):
        material = bpy.data.materials.new(name)
        material.use_nodes = True
        if self.chance(0.3):
            material.node_tree.nodes.clear()
            material.node_tree.nodes.new("ShaderNodeOutputMaterial")
        self.fill(material.node_tree, count)
        return material

    # --- scenes ----------------------------------------------------------------------------------------------

    def scene(self, size=12):
        """The whole scene anew."""
        rng, scene = self.rng, kit.empty_scene(size, 1)
        kept = [getattr(bpy.data, name) for name in RARE if hasattr(bpy.data, name)]
        for collection in (bpy.data.node_groups, bpy.data.texts, bpy.data.curves, bpy.data.metaballs, bpy.data.collections,
                           bpy.data.particles, *kept):
            for item in list(collection):
                collection.remove(item)
        for k in range(2):
            image = bpy.data.images.new(f"Image {k}", 4, 4, float_buffer=k == 1)
            image.generated_type = rng.choice(("BLANK", "UV_GRID", "COLOR_GRID"))
        bpy.data.texts.new("Script").from_string(rng.choice(SCRIPTS))
        groups = [self.group(f"Group {k}") for k in range(2)]
        materials = [self.material(f"Material {k}", rng.choice((1, 3, 8))) for k in range(4)]
        for k in range(5):
            self.object(k, materials, groups)
        for k in range(rng.randint(0, 3)):
            self.light(k)
        if self.chance(0.3):
            self.rare(materials)
        if self.chance(0.3):
            self.copies()
        camera = kit.add_camera(location=(0, 0, 8))
        self.set_all(camera.data, 0.15, {"type"})
        if self.chance(0.3):
            camera.data.type = rng.choice([item.identifier for item in camera.data.bl_rna.properties["type"].enum_items])
        if self.chance(0.7):
            scene.world = bpy.data.worlds.new("World")
            scene.world.use_nodes = True
            if self.chance(0.7):
                self.fill(scene.world.node_tree, 3)
            self.set_all(scene.world.cycles, 0.2)
        self.settings(scene)
        return scene

    def object(self, k, materials, groups):
        rng, name = self.rng, f"Object {k}"
        kind = rng.choice(("mesh", "mesh", "mesh", "FONT", "CURVE", "META", "EMPTY"))
        if kind == "mesh":
            obj = kit.add_plane(name, size=rng.choice((0.0, 1.0, 3.0))) if self.chance(0.5) else self.mesh(name)
        elif kind == "META":
            data = bpy.data.metaballs.new(name)
            data.elements.new()
            obj = kit.add(name, data)
        elif kind == "EMPTY":
            obj = kit.add(name, None)
        else:
            data = bpy.data.curves.new(name, kind)
            if kind == "CURVE":
                data.splines.new(rng.choice(("POLY", "BEZIER", "NURBS")))
                data.bevel_depth, data.dimensions = rng.choice((0.0, 0.1)), "3D"
            obj = kit.add(name, data)
        obj.location = [rng.uniform(-2, 2) for _ in range(3)]
        obj.scale = [rng.choice((1.0, 1.0, -1.0, 0.0, 2.0)) for _ in range(3)]
        for material in rng.sample(materials, rng.randint(0, 2)) if hasattr(obj.data, "materials") else ():
            obj.data.materials.append(material)
        for name in ("visible_camera", "visible_shadow", "visible_glossy", "is_shadow_catcher", "is_holdout"):
            if self.chance(0.1):
                setattr(obj, name, not getattr(obj, name))
        if obj.type == "MESH":
            self.modifiers(obj)

    def rare(self, materials):
        name = self.rng.choice(RARE)
        owner = getattr(bpy.data, name, None)
        if owner is None or not hasattr(owner, "new"):
            return
        try:
            data = owner.new("Rare", "SPHERE") if name == "lightprobes" else owner.new("Rare")
        except TypeError:
            return
        kit.add("Rare", data)
        if hasattr(data, "materials"):
            data.materials.append(self.rng.choice(materials))
        if name == "hair_curves" and hasattr(data, "add_curves"):
            data.add_curves([self.rng.randint(1, 4) for _ in range(3)])
        if name == "pointclouds" and hasattr(data, "resize"):
            data.resize(self.rng.randint(0, 4))

    def copies(self):
        """Instances of a collection, and strands or particles of a mesh."""
        stock = bpy.data.collections.new("Stock")
        for obj in self.rng.sample(list(bpy.data.objects), 2):
            stock.objects.link(obj)
        carrier = kit.add("Carrier", None)
        carrier.instance_type, carrier.instance_collection = "COLLECTION", stock
        carrier.scale = [self.rng.choice((1.0, 0.0, -2.0))] * 3
        meshes = [obj for obj in bpy.data.objects if obj.type == "MESH" and len(obj.data.polygons)]
        if meshes:
            obj = self.rng.choice(meshes)
            obj.modifiers.new("Particles", "PARTICLE_SYSTEM")
            settings = obj.particle_systems[0].settings
            settings.count, settings.type = 4, self.rng.choice(("HAIR", "EMITTER"))
            assign(settings, "render_type", self.rng.choice(("PATH", "OBJECT", "HALO", "NONE")))
            if settings.render_type == "OBJECT":
                settings.instance_object = self.rng.choice([other for other in bpy.data.objects if other != obj])

    def mesh(self, name):
        rng = self.rng
        count = rng.randint(3, 12)
        points = [[rng.uniform(-1, 1) for _ in range(3)] for _ in range(count)]
        faces = [rng.sample(range(count), min(rng.randint(3, 5), count)) for _ in range(rng.randint(0, 5))]
        obj = kit.add_mesh(name, points, faces)
        for polygon in obj.data.polygons:
            polygon.use_smooth = self.chance(0.5)
            polygon.material_index = rng.randint(0, 3)
        domains = ("POINT", "FACE", "CORNER", "EDGE")
        for kind in rng.sample(("FLOAT", "INT", "FLOAT_VECTOR", "FLOAT_COLOR", "BYTE_COLOR", "BOOLEAN", "FLOAT2"), 2):
            try:
                obj.data.attributes.new("Col", kind, rng.choice(domains))
            except RuntimeError:
                pass
        return obj

    def modifiers(self, obj):
        kinds = [item.identifier for item in bpy.types.Modifier.bl_rna.properties["type"].enum_items
                 if item.identifier not in MODIFIERS_SKIPPED]
        for _ in range(self.rng.choice((0, 0, 1, 2))):
            try:
                obj.modifiers.new("Modifier", self.rng.choice(kinds))
            except (RuntimeError, TypeError):
                pass

    def light(self, k):
        light = bpy.data.lights.new(f"Light {k}", self.rng.choice(LIGHTS))
        self.set_all(light, 0.3, {"type", "use_nodes"})
        self.set_all(light.cycles, 0.3)
        obj = kit.add(f"Light {k}", light, location=[self.rng.uniform(-3, 3) for _ in range(3)])
        obj.scale = [self.rng.choice((1.0, 0.0, 2.0))] * 3
        if self.chance(0.4):
            light.use_nodes = True
            self.fill(light.node_tree, 2)

    def settings(self, scene):
        self.set_all(scene.sort, 0.2, {"cpu", "samples", "time_limit_s", "texture_memory_mib"})
        self.set_all(scene.cycles, 0.1, {"device"})
        scene.sort.samples = scene.view_layers[0].samples = 1
        layer = scene.view_layers[0]
        for setting in layer.bl_rna.properties:
            if setting.identifier.startswith("use_pass") and not setting.is_readonly:
                setattr(layer, setting.identifier, self.chance(0.2))
        for setting in layer.cycles.bl_rna.properties:
            if setting.identifier.startswith("use_pass"):
                setattr(layer.cycles, setting.identifier, self.chance(0.2))
        for name in ("use_motion_blur", "film_transparent", "use_border", "use_crop_to_border"):
            setattr(scene.render, name, self.chance(0.3))
        scene.render.border_max_x = self.rng.choice((1.0, 0.5))
