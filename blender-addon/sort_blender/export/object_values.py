"""Values of whole objects that materials read: what Object Info, Particle Info and Attribute nodes know of an
instance, under names that begin with OBJECT."""

from __future__ import annotations

import bpy
import numpy as np

from .instance_attributes import InstanceAttributes

OBJECT = "object:"  # before names of values that an instance has, not its mesh
LOCATION, COLOR, INDEX, RANDOM = (OBJECT + name for name in ("location", "color", "index", "random"))
ROWS = tuple(OBJECT + f"row {axis}" for axis in "xyz")
PARTICLE = tuple(OBJECT + f"particle {name}" for name in ("numbers", "random", "place", "speed", "turning"))
INSTANCER_BOX, INSTANCER_UV = OBJECT + "instancer's box", OBJECT + "instancer's uv"
PROPERTY, INSTANCER, VIEW_LAYER = (OBJECT + f"{kind} property " for kind in ("own", "instancer's", "layer's"))


def values_of(instance: bpy.types.DepsgraphObjectInstance, wanted: frozenset[str], depsgraph: bpy.types.Depsgraph,
              attributes: InstanceAttributes) -> dict[str, list[float] | float]:
    """Those of `wanted` that the instance has."""
    found = {}
    layer, scene = depsgraph.view_layer_eval, depsgraph.scene_eval
    for name in sorted(wanted):
        if name.startswith(OBJECT):
            value = _value(instance, name, layer, scene, attributes)
            if value is not None:
                found[name] = value
    return found


def _value(instance: bpy.types.DepsgraphObjectInstance, name: str, layer: bpy.types.ViewLayer | None, scene: bpy.types.Scene,
           attributes: InstanceAttributes) -> list[float] | float | None:
    obj, matrix = instance.object, instance.matrix_world
    if name == LOCATION:
        return list(matrix.translation)
    if name == COLOR:
        return list(obj.color)
    if name == INDEX:
        return float(obj.pass_index)
    if name == RANDOM:
        return _random(instance)
    if name == INSTANCER_BOX:  # as Cycles, which halves it
        return [0.5 * x - 0.5 for x in instance.orco] if instance.is_instance else [0.0] * 3
    if name == INSTANCER_UV:
        return list(instance.uv) if instance.is_instance else [0.0] * 2
    if name in ROWS:
        return list(matrix[ROWS.index(name)])
    if name in PARTICLE:
        return _particle(instance, scene, PARTICLE.index(name))
    if name.startswith(PROPERTY):
        return _lookup((obj, obj.data), name[len(PROPERTY):])
    if name.startswith(INSTANCER):
        return _of_instancer(instance, name[len(INSTANCER):], attributes)
    if name.startswith(VIEW_LAYER):
        return _lookup((layer, scene, scene.world), name[len(VIEW_LAYER):])
    return None


def _of_instancer(instance: bpy.types.DepsgraphObjectInstance, name: str, attributes: InstanceAttributes) -> list[float] | None:
    """In the order in which Cycles asks: the particle system, geometry nodes, the object that carries the instance."""
    if not instance.is_instance:
        return None
    system, parent = instance.particle_system, instance.parent
    found = _lookup((system.settings,), name) if system else None
    if found is None:
        given = attributes.find(instance, name)
        found = None if given is None else _four(given)
    return _lookup((parent, parent and parent.data), name) if found is None else found


def _random(instance: bpy.types.DepsgraphObjectInstance) -> float:
    """Cycles': of what Blender gives to instances, or of the name."""
    if instance.is_instance:
        return (instance.random_id & 0xFFFFFFFF) / 0xFFFFFFFF
    number = 0
    for byte in instance.object.name.encode():
        number = number * 37 + (byte if byte < 128 else byte - 256) & 0xFFFFFFFF  # a signed char
    return hash_to_float(number, 0)


def _lookup(owners: tuple, name: str) -> list[float] | None:
    """The first owner's custom or own property, as four numbers."""
    for owner in owners:
        if owner is None:
            continue
        try:
            value = owner[name] if name in owner.keys() else owner.path_resolve(name)
        except (TypeError, ValueError, AttributeError):
            continue
        four = _four(value)
        if four is not None:
            return four
    return None


def _four(value: object) -> list[float] | None:
    """As Cycles reads it: a number as grey, a vector with alpha 1."""
    if isinstance(value, (bool, int, float)):
        return [float(value)] * 3 + [1.0]
    try:
        numbers = [float(x) for x in value]
    except (TypeError, ValueError):
        return None
    return (numbers + [0.0] * 3)[:3] + [numbers[3] if len(numbers) > 3 else 1.0] if numbers else None


def _particle(instance: bpy.types.DepsgraphObjectInstance, scene: bpy.types.Scene,
              which: int) -> list[float] | float | None:
    system = instance.particle_system if instance.is_instance else None
    number = instance.persistent_id[0]
    if system is None or not 0 <= number < len(system.particles):
        return None
    particle = system.particles[number]
    return ([float(number), scene.frame_current - particle.birth_time, particle.lifetime],
            hash_to_float(number, 0), list(particle.location) + [particle.size], list(particle.velocity),
            list(particle.angular_velocity))[which]


def hash_to_float(x: int, y: int) -> float:
    """[0, 1], of two whole numbers, by the final mixing of Jenkins' lookup3 [Jenkins2006], as Cycles does."""
    return _mixed(x, y, 8) / 0xFFFFFFFF


def hashes_to_floats(x: np.ndarray) -> np.ndarray:
    """Hashes each number by itself to a float from 0 to 1."""
    return _mixed(x.astype(np.uint64), None, 4).astype(np.float64) / 0xFFFFFFFF


def _mixed(x: int | np.ndarray, y: int | None, byte_count: int) -> int | np.ndarray:
    mask = 0xFFFFFFFF

    def turned(v, k):
        return (v << k | v >> 32 - k) & mask

    if isinstance(x, np.ndarray):
        mask = np.uint64(mask)

        def turned(v, k):  # noqa: F811
            return (v << np.uint64(k) | v >> np.uint64(32 - k)) & mask

    start = 0xDEADBEEF + byte_count + 13
    a = b = c = start + 0 * x
    a = a + x & mask
    if y is not None:
        b = b + y & mask
    c = (c ^ b) + (1 << 32) - turned(b, 14) & mask
    a = (a ^ c) + (1 << 32) - turned(c, 11) & mask
    b = (b ^ a) + (1 << 32) - turned(a, 25) & mask
    c = (c ^ b) + (1 << 32) - turned(b, 16) & mask
    a = (a ^ c) + (1 << 32) - turned(c, 4) & mask
    b = (b ^ a) + (1 << 32) - turned(a, 14) & mask
    return (c ^ b) + (1 << 32) - turned(b, 24) & mask
