"""The settings of a scene as what sort-render is run with."""

from __future__ import annotations

from pathlib import Path

import bpy

from . import cycles_settings, process

# From end to end, of a filter of width 1. Cycles' Blackman-Harris filter is twice as wide as its setting says. Its
# Gaussian has a standard deviation of a quarter of it, which is a sixth of the renderer's width.
FILTER_WIDTHS_PX = {"blackman-harris": 2.0, "gaussian": 1.5, "box": 1.0}


def make_job(scene: bpy.types.Scene, program: Path, folder: Path, layers: set[str]) -> process.RenderJob:
    """The settings of `scene`; the package lies in `folder`, and what is written goes there."""
    settings, render = scene.sort, scene.render
    film = cycles_settings.film_of(scene)
    options = ["--filter", settings.texture_filter, "--mip-mode", settings.mip_mode, "--integrator", settings.integrator,
               "--pixel-filter", film.pixel_filter]
    if settings.mip_bias:
        options += ["--mip-bias", f"{settings.mip_bias:g}"]
    if settings.use_adaptive:
        options += ["--adaptive", f"{settings.adaptive_error:g}"]
    if settings.time_limit_s > 0:
        options += ["--time-limit", f"{settings.time_limit_s:g}"]
    if settings.cpu:
        options += ["--cpu", settings.cpu]
    return process.RenderJob(
        program=program, package=folder / "package", picture=folder / "picture.exr", stats=folder / "stats.json",
        filter_width_px=FILTER_WIDTHS_PX[film.pixel_filter] * film.filter_width,
        texture_memory_mib=settings.texture_memory_mib, texture_folder=process.filesystem_root(),
        threads=render.threads if render.threads_mode == "FIXED" else 0,
        layers=tuple(sorted(layers)), options=tuple(options))
