"""Renders files of Blender with Cycles, in the Blender that runs it, for scripts/race.

    blender -b --factory-startup --python scripts/race_cycles.py -- JOB.json

JOB.json: {"threads", "times", "renders": [{"blend", "guiding", "pictures": [[SAMPLES, SEED, EXR], ...]}, ...]}. Writes to `times` a
list of lists: the CPU seconds, user and system, of each picture of each render."""

import json
import pathlib
import resource
import sys

import bpy


def render(samples, seed, path):
    """CPU seconds from the call to the file."""
    scene = bpy.context.scene
    scene.cycles.samples, scene.cycles.seed, scene.render.filepath = samples, seed, path
    before = resource.getrusage(resource.RUSAGE_SELF)
    bpy.ops.render.render(write_still=True)
    after = resource.getrusage(resource.RUSAGE_SELF)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def can_guide():
    import _cycles
    return bool(getattr(_cycles, "with_path_guiding", False))


def prepare(blend, guiding, threads):
    bpy.ops.wm.open_mainfile(filepath=blend)
    scene = bpy.context.scene
    scene.render.engine, scene.render.threads_mode, scene.render.threads = "CYCLES", "FIXED", threads
    # What a new file of this version has, where an old file keeps what its own version had.
    for name, value in (("use_light_tree", True), ("sampling_pattern", "AUTOMATIC")):
        if hasattr(scene.cycles, name) and bpy.app.version >= (4, 0, 0):
            setattr(scene.cycles, name, value)
    if guiding and not can_guide():
        raise SystemExit(f"Blender {bpy.app.version_string} has no path guiding")
    if hasattr(scene.cycles, "use_guiding"):
        scene.cycles.use_guiding = guiding


def main():
    job = json.loads(pathlib.Path(sys.argv[sys.argv.index("--") + 1]).read_text())
    times = []
    for one in job["renders"]:
        prepare(one["blend"], one["guiding"], job["threads"])
        times.append([render(*picture) for picture in one["pictures"]])
    pathlib.Path(job["times"]).write_text(json.dumps(times))


main()
