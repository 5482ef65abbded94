"""The settings of a scene as what sort-render is run with."""

from __future__ import annotations

from pathlib import Path

import bpy

from . import cycles_settings, locate, process
from .messages import Report

# From end to end, of a filter of width 1. Cycles' Blackman-Harris filter is twice as wide as its setting says. Its
# Gaussian has a standard deviation of a quarter of it, which is a sixth of the renderer's width.
FILTER_WIDTHS_PX = {"blackman-harris": 2.0, "gaussian": 1.5, "box": 1.0}


def _denoising(scene: bpy.types.Scene, samples: int, report: Report) -> list[str]:
    """The options of denoising, as far as it can be had; the report says where it cannot."""
    denoiser = locate.find_denoiser(scene.sort.denoiser)
    if not denoiser:
        report.warn("Denoise", "neither this Blender nor the system has Open Image Denoise; SORT's own denoiser is used")
        denoiser = "nfor"
    if samples < 2 and denoiser == "nfor":
        report.warn("Denoise", "SORT's own denoiser compares samples, of which there is but one; the picture is not denoised")
        return []
    return ["--denoise", "--denoiser", denoiser]


def integrator_options(settings: bpy.types.PropertyGroup) -> list[str]:
    """The integrator; for paths of light also options that switch off what they refuse of Blender's usual settings."""
    chosen, bounces = ["--integrator", settings.integrator], str(settings.max_depth)
    if settings.integrator != "light":
        return chosen
    return [*chosen, "--clamp-direct", "0", "--clamp-indirect", "0", "--filter-glossy", "0", "--guiding", "off",
            "--max-diffuse", bounces, "--max-glossy", bounces, "--max-transmission", bounces]


def make_job(scene: bpy.types.Scene, program: Path, folder: Path, layers: set[str], is_preview: bool = False,
             layer: bpy.types.ViewLayer | None = None, report: Report | None = None, is_bake: bool = False) -> process.RenderJob:
    """The settings of `scene`; the package lies in `folder`, and what is written goes there. is_preview: of the viewport. layer: the
    one that is rendered, whose samples may be others. report: hears what cannot be had. is_bake: it has neither
    pixel filter nor denoising, and shows light."""
    settings, render = scene.sort, scene.render
    taken = cycles_settings.options_of(scene)
    options = ["--filter", settings.texture_filter, "--mip-mode", settings.mip_mode]
    if not is_bake:
        options += [*integrator_options(settings), "--pixel-filter", taken.pixel_filter]
    if not is_bake and settings.integrator == "path":
        options += ["--guiding", "off" if is_preview else taken.guiding]
    if settings.mip_bias:
        options += ["--mip-bias", f"{settings.mip_bias:g}"]
    denoising: list[str] = []
    if settings.use_adaptive:
        options += ["--adaptive", f"{settings.adaptive_error:g}"]
    if settings.time_limit_s > 0:
        options += ["--time-limit", f"{settings.time_limit_s:g}"]
    if not is_bake and (is_preview and settings.use_preview_denoising or not is_preview and settings.use_denoising):
        samples = settings.preview_samples if is_preview else (layer.samples if layer else 0) or settings.samples
        denoising = _denoising(scene, samples, report or Report())
    if settings.cpu:
        options += ["--cpu", settings.cpu]
    return process.RenderJob(
        program=program, package=folder / "package", picture=folder / "picture.exr", stats=folder / "stats.json",
        filter_width_px=0 if is_bake else FILTER_WIDTHS_PX[taken.pixel_filter] * taken.filter_width,
        texture_memory_mib=settings.texture_memory_mib, texture_folder=process.filesystem_root(),
        threads=render.threads if render.threads_mode == "FIXED" else 0,
        layers=tuple(sorted(layers - {""})), options=tuple(options),
        denoising=tuple(denoising))
