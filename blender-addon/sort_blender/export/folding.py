"""Node trees that say the same everywhere: a light whose colour they make is still a light, no surface that has to be shaded. The
renderer works them out, once."""

from __future__ import annotations

import bpy

from .graph import Feed, feed_of

# Their outputs follow from their inputs alone.
OF_INPUTS_ALONE = {"ShaderNode" + name for name in (
    "Emission", "MixShader", "AddShader", "Blackbody", "Wavelength", "Math", "VectorMath", "Mix", "MixRGB", "MapRange", "Clamp",
    "ValToRGB", "RGBCurve", "FloatCurve", "VectorCurve", "HueSaturation", "Gamma", "BrightContrast", "Invert", "RGBToBW",
    "CombineColor", "SeparateColor", "CombineRGB", "SeparateRGB", "CombineHSV", "SeparateHSV", "CombineXYZ", "SeparateXYZ",
    "VectorRotate", "Squeeze")}
NODES_MAX = 10000


def is_even(socket: bpy.types.NodeSocket) -> bool:
    """Tells whether the input of `socket` has one value for all points and rays."""
    left, done = [(socket, ())], set()
    while left:
        socket, path = left.pop()
        feed = feed_of(socket, path)
        if not isinstance(feed, Feed):
            continue
        key = (feed.node.as_pointer(), tuple(node.as_pointer() for node in feed.path))
        if key in done:
            continue
        done.add(key)
        if feed.node.bl_idname not in OF_INPUTS_ALONE or len(done) > NODES_MAX:
            return False
        left += [(s, feed.path) for s in feed.node.inputs if s.enabled]
    return True
