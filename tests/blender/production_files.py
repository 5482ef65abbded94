"""One of production_scenes.py, made and saved, or opened and rendered; for scripts/blender-production, through run_blender.py.
SORT_FILES_JOB names a JSON file: {"scene", "blend", "make"} or {"blend", "engine", "samples", "seed", "size", "threads", "picture", "said"}.
Writes to `said` {"cpu": the seconds of CPU from the call of F12 to the picture, of Blender and all that it starts; "warnings"}, and the
picture as an array of numpy."""

import json
import os
import pathlib
import resource

import bpy
import numpy as np

import blender_scene
import feature_kit  # noqa: F401  that scenes find it
from production_scenes import SCENES

JOB = json.loads(pathlib.Path(os.environ["SORT_FILES_JOB"]).read_text())


def cpu_seconds():
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(use.ru_utime + use.ru_stime for use in uses)


def make():
    pathlib.Path(JOB["blend"]).parent.mkdir(parents=True, exist_ok=True)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    bpy.context.scene.render.engine = "CYCLES"
    bpy.ops.wm.save_as_mainfile(filepath=JOB["blend"])
    SCENES[JOB["scene"]]()
    bpy.ops.wm.save_as_mainfile(filepath=JOB["blend"])


def render():
    bpy.ops.wm.open_mainfile(filepath=JOB["blend"], load_ui=False)
    scene = bpy.context.scene
    scene.render.engine = JOB["engine"]
    scene.render.resolution_x, scene.render.resolution_y, scene.render.resolution_percentage = *JOB["size"], 100
    scene.render.threads_mode, scene.render.threads = "FIXED", JOB["threads"]
    scene.cycles.use_denoising = scene.cycles.use_adaptive_sampling = False
    scene.cycles.samples, scene.cycles.seed = JOB["samples"], JOB["seed"]
    scene.sort.samples, scene.sort.seed = JOB["samples"], JOB["seed"]
    settings = scene.render.image_settings
    if hasattr(settings, "media_type"):  # since 5.0
        settings.media_type = "IMAGE"
    settings.file_format, settings.color_depth = "OPEN_EXR", "32"
    scene.render.filepath = JOB["picture"] + ".exr"
    before = cpu_seconds()
    bpy.ops.render.render(write_still=True)
    seconds = cpu_seconds() - before
    np.save(JOB["picture"], blender_scene.read_picture(scene.render.filepath)[..., :3])
    warnings = blender_scene.messages().warnings if JOB["engine"] == "SORT" else []
    pathlib.Path(JOB["said"]).write_text(json.dumps({"cpu": seconds, "warnings": warnings}))


blender_scene.install()
make() if "make" in JOB else render()
os._exit(0)  # bpy does not always survive the end of Python
