"""Render passes: which a view layer wants, which layer of the renderer's picture each is, and how Blender holds it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import bpy
import numpy as np

from . import exr
from .export.layers import layers_of
from .export.neighbours import is_asked_for
from .export.scene import Exported
from .versions import pass_name

FAR = 1e10  # Blender's depth where nothing is
CRYPTO = {"OBJECT": ("crypto_object", "CryptoObject"), "MATERIAL": ("crypto_material", "CryptoMaterial")}
LIGHT_KINDS = {"diffuse": "Diff", "glossy": "Gloss", "transmission": "Trans"}  # of names of passes
LIGHT_PARTS = {"direct": "Dir", "indirect": "Ind", "color": "Col"}


@dataclass(frozen=True)
class Pass:
    """`layer`: of sort-render's --aov; "": it is always there. values(picture, exported): float32 [pixels, channels]."""
    name: str
    channels: str
    kind: str  # VALUE, VECTOR, COLOR
    layer: str
    values: Callable[[exr.Picture, Exported], np.ndarray]


def _depth(picture: exr.Picture, exported: Exported) -> np.ndarray:
    depth = picture.stack(["depth.Z"])
    return np.where(depth < FAR, depth, FAR)


def z_up(picture: exr.Picture, layer: str) -> np.ndarray:
    """A layer of places or directions, in Blender's axes."""
    x, y, z = picture.stack([f"{layer}.{c}" for c in "XYZ"]).T
    return np.stack([x, -z, y], axis=1)


def _in_space(layer: str) -> Callable[[exr.Picture, Exported], np.ndarray]:
    return lambda picture, e: z_up(picture, layer)


def _uv(picture: exr.Picture, exported: Exported) -> np.ndarray:
    uv = picture.stack(["uv.U", "uv.V"])
    return np.concatenate([uv, picture.stack(["A"])], axis=1)


def _named(start: str, names: dict[str, str], name: str, channels: str) -> Callable[[exr.Picture, Exported], np.ndarray]:
    """Returns a function that reads a pass from a layer that the package names. The pass is black if nothing in the scene
    contributes to the layer; alpha is 1."""
    def values(picture: exr.Picture, exported: Exported) -> np.ndarray:
        def channel(letter: str) -> np.ndarray:
            found = picture.channels.get(f"{start}{names[name]}.{letter}") if name in names else None
            return np.zeros(picture.width * picture.height, np.float32) if found is None else found.ravel()
        one = np.ones(picture.width * picture.height, np.float32)
        return np.stack([one if c == "A" else channel("R" if c == "X" else c) for c in channels], axis=1)
    return values


def _colour(layer: str) -> Callable[[exr.Picture, Exported], np.ndarray]:
    return lambda picture, e: picture.stack([f"{layer}.{c}" for c in "RGB"])


def _indices(layer: str, indices_of: Callable[[Exported], dict[str, int]]) -> Callable:
    """The pass index of what covers most of a pixel."""
    def values(picture: exr.Picture, exported: Exported) -> np.ndarray:
        ids = np.ascontiguousarray(picture.channels[f"{layer}00.R"]).view(np.uint32).ravel()
        out = np.zeros((len(ids), 1), np.float32)
        for name, index in indices_of(exported).items():
            out[ids == crypto_id(name), 0] = index
        return out
    return values


def crypto_id(name: str) -> int:
    """Returns the id of a name by Cryptomatte's specification: as a float it is neither denormal, infinite nor NaN."""
    h = murmur3(name)
    return h ^ 1 << 23 if h >> 23 & 255 in (0, 255) else h


def murmur3(name: str) -> int:
    """MurmurHash3_x86_32 of Austin Appleby, with seed 0."""
    data = name.encode("utf-8", "replace")
    mask, h = 0xFFFFFFFF, 0

    def rotate(x: int, by: int) -> int:
        return (x << by | x >> (32 - by)) & mask

    def scramble(k: int) -> int:
        return rotate(k * 0xCC9E2D51 & mask, 15) * 0x1B873593 & mask
    whole = len(data) // 4 * 4
    for i in range(0, whole, 4):
        h = (rotate(h ^ scramble(int.from_bytes(data[i:i + 4], "little")), 13) * 5 + 0xE6546B64) & mask
    h ^= scramble(int.from_bytes(data[whole:], "little")) ^ len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B & mask
    h = (h ^ h >> 13) * 0xC2B2AE35 & mask
    return h ^ h >> 16


def _denoising_depth(picture: exr.Picture, exported: Exported) -> np.ndarray:
    return np.minimum(picture.stack(["denoising_depth.Z"]), FAR)


def combined(picture: exr.Picture) -> np.ndarray:
    """Without its noise, if that was asked for."""
    start = "denoised." if "denoised.R" in picture.channels else ""
    return picture.stack([start + c for c in "RGBA"])


def noisy(picture: exr.Picture) -> np.ndarray:
    return picture.stack(list("RGBA"))


def _vector_pass(scene: bpy.types.Scene, view_layer: bpy.types.ViewLayer) -> Pass:
    if is_asked_for(scene, view_layer):
        return Pass("Vector", "XYZW", "VECTOR", "vector", lambda picture, e: picture.stack([f"vector.{c}" for c in "XYZW"]))
    return Pass("Vector", "XYZW", "VECTOR", "", lambda picture, e: np.zeros((picture.width * picture.height, 4), np.float32))


def wanted(scene: bpy.types.Scene, view_layer: bpy.types.ViewLayer) -> list[Pass]:
    """Besides Combined."""
    own = view_layer.sort
    found = []
    if view_layer.use_pass_z:
        found.append(Pass("Depth", "Z", "VALUE", "depth", _depth))
    if view_layer.use_pass_mist:
        found.append(Pass("Mist", "Z", "VALUE", "mist", lambda picture, e: picture.stack(["mist.Z"])))
    for kind, start in LIGHT_KINDS.items():
        for part, end in LIGHT_PARTS.items():
            if getattr(view_layer, f"use_pass_{kind}_{part}"):
                found.append(Pass(pass_name(start + end), "RGB", "COLOR", f"{kind}_{part}",
                                  _colour(f"{kind}_{part}")))
    if view_layer.use_pass_emit:
        found.append(Pass(pass_name("Emit"), "RGB", "COLOR", "emission", _colour("emission")))
    if view_layer.use_pass_environment:
        found.append(Pass(pass_name("Env"), "RGB", "COLOR", "environment", _colour("environment")))
    if view_layer.use_pass_ambient_occlusion:
        found.append(Pass(pass_name("AO"), "RGB", "COLOR", "ambient_occlusion", _colour("ambient_occlusion")))
    if view_layer.use_pass_shadow:
        found.append(Pass("Shadow", "RGB", "COLOR", "shadow", _colour("shadow")))
    if view_layer.use_pass_normal:
        found.append(Pass("Normal", "XYZ", "VECTOR", "normal", _in_space("normal")))
    if view_layer.use_pass_position:
        found.append(Pass("Position", "XYZ", "VECTOR", "position", _in_space("position")))
    if view_layer.use_pass_vector:
        found.append(_vector_pass(scene, view_layer))
    if view_layer.use_pass_uv:
        found.append(Pass("UV", "UVA", "VECTOR", "uv", _uv))
    if view_layer.use_pass_object_index:
        found.append(Pass(pass_name("IndexOB"), "X", "VALUE", "crypto_object",
                          _indices("CryptoObject", lambda e: e.object_indices)))
    if view_layer.use_pass_material_index:
        found.append(Pass(pass_name("IndexMA"), "X", "VALUE", "crypto_material",
                          _indices("CryptoMaterial", lambda e: e.material_indices)))
    if own.use_pass_albedo:
        found.append(Pass("Albedo", "RGB", "COLOR", "albedo", _colour("albedo")))
    if own.use_pass_samples:
        found.append(Pass("Sample Count", "X", "VALUE", "samples", lambda picture, e: picture.stack(["samples.S"])))
    if getattr(getattr(view_layer, "cycles", None), "use_pass_shadow_catcher", False):
        found.append(Pass("Shadow Catcher", "RGB", "COLOR", "shadow_catcher", _colour("shadow_catcher")))
    if scene.sort.use_denoising:
        found.append(Pass("Noisy Image", "RGBA", "COLOR", "", lambda picture, e: noisy(picture)))
    if getattr(getattr(view_layer, "cycles", None), "denoising_store_passes", False):
        found.append(Pass("Denoising Normal", "XYZ", "VECTOR", "denoising_normal", _in_space("denoising_normal")))
        found.append(Pass("Denoising Albedo", "RGB", "COLOR", "denoising_albedo", _colour("denoising_albedo")))
        found.append(Pass("Denoising Depth", "Z", "VALUE", "denoising_depth", _denoising_depth))
    layers = layers_of(view_layer)
    for group in getattr(view_layer, "lightgroups", ()):
        found.append(Pass(f"Combined_{group.name}", "RGB", "COLOR", "light_groups",
                          _named("Combined_", layers.groups, group.name, "RGB")))
    for aov in view_layer.aovs:
        if aov.is_valid:
            channels, kind = ("X", "VALUE") if aov.type == "VALUE" else ("RGBA", "COLOR")
            found.append(Pass(aov.name, channels, kind, "shader_aovs", _named("AOV_", layers.aovs, aov.name, channels)))
    for kind in crypto_kinds(view_layer):
        layer, name = CRYPTO[kind]
        for k in range(min((view_layer.pass_cryptomatte_depth + 1) // 2, 3)):
            found.append(Pass(f"{name}{k:02}", "RGBA", "COLOR", layer, _ranks(f"{name}{k:02}")))
    return found


def _ranks(layer: str) -> Callable:
    return lambda picture, e: picture.stack([f"{layer}.{c}" for c in "RGBA"])


def crypto_kinds(view_layer: bpy.types.ViewLayer) -> list[str]:
    return ([k for k, on in (("OBJECT", view_layer.use_pass_cryptomatte_object),
                             ("MATERIAL", view_layer.use_pass_cryptomatte_material)) if on])


def unsupported(view_layer: bpy.types.ViewLayer) -> list[str]:
    """Names of Blender's passes that are ticked and that SORT does not have."""
    have = {"use_pass_combined", "use_pass_z", "use_pass_mist", "use_pass_emit", "use_pass_environment", "use_pass_ambient_occlusion", "use_pass_shadow", "use_pass_normal", "use_pass_position", "use_pass_vector", "use_pass_uv",
            "use_pass_object_index", "use_pass_material_index", "use_pass_cryptomatte_object",
            "use_pass_cryptomatte_material", "use_pass_cryptomatte_accurate"}
    have |= {f"use_pass_{kind}_{part}" for kind in LIGHT_KINDS for part in LIGHT_PARTS}
    properties = view_layer.bl_rna.properties
    return [p.name for p in properties
            if p.identifier.startswith("use_pass_") and p.identifier not in have and getattr(view_layer, p.identifier)]


def note_cryptomatte(result: bpy.types.RenderResult, picture: exr.Picture, view_layer: bpy.types.ViewLayer) -> None:
    """The manifests, for the Cryptomatte node of the compositor and for files."""
    for kind in crypto_kinds(view_layer):
        name = CRYPTO[kind][1]
        full = f"{view_layer.name}.{name}"
        source = next((text[:-len("name")] for text, value in picture.texts.items()
                       if text.startswith("cryptomatte/") and text.endswith("/name") and value == name), None)
        if source is None:
            continue
        prefix = f"cryptomatte/{f'{murmur3(full):08x}'[:7]}/"
        result.stamp_data_add_field(prefix + "name", full)
        for field in ("hash", "conversion", "manifest"):
            result.stamp_data_add_field(prefix + field, picture.texts.get(source + field, ""))
