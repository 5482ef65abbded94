"""Files of one feature each, made, saved, and rendered by SORT and by the Cycles of the Blender that runs this; for scripts/blender-files,
through run_blender.py. SORT_FILES_JOB names a JSON file: {"run", "names", "out", "size", "scale"}; see that script, "run" is its word for
this version. Appends to OUT/results.jsonl a line for each file."""

import json
import os
import pathlib
import time
import traceback

import bpy
import numpy as np

import blender_scene
import feature_kit as kit
from feature_scenes import SCENES

JOB = json.loads(pathlib.Path(os.environ["SORT_FILES_JOB"]).read_text())
OUT = pathlib.Path(JOB["out"])
SEEDS = (11, 23)
BLOCK = 8  # pixels, along the edge of a block
FARTHEST = 50  # metres; depths of the sky are beyond any


# --- files ----------------------------------------------------------------------------------------------------

def enable():
    bpy.ops.preferences.addon_enable(module="sort_blender")
    blender_scene.set_renderer(str(blender_scene.RENDERER))


def make(name, path):
    """An artist's file, set to Cycles, which has never heard of SORT."""
    path.parent.mkdir(parents=True, exist_ok=True)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    enable()
    scene = bpy.context.scene
    scene.render.engine, bpy.context.view_layer.name = "CYCLES", "ViewLayer"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    SCENES[name].build()
    bpy.ops.wm.save_as_mainfile(filepath=str(path))


def render(name, path, engine, seed):
    """F12 of the file: (layers by name, float [rows from the bottom, columns, channels]; seconds; warnings)."""
    feature = SCENES[name]
    bpy.ops.wm.open_mainfile(filepath=str(path), load_ui=False)
    scene = bpy.context.scene
    scene.render.engine = engine
    scene.render.resolution_x, scene.render.resolution_y, scene.render.resolution_percentage = *JOB["size"], 100
    scene.cycles.use_denoising = scene.cycles.use_adaptive_sampling = False
    scene.cycles.samples = scene.sort.samples = max(1, round(feature.samples * JOB["scale"]))
    scene.cycles.seed = scene.sort.seed = seed
    target = path.with_name(f"{engine}.{seed}.{'png' if feature.is_display else 'exr'}")
    settings = scene.render.image_settings
    if not feature.is_display:
        blender_scene.set_file(settings, is_multilayer=bool(feature.layers))
        if scene.render.use_multiview:
            settings.views_format, settings.stereo_3d_format.display_mode = "STEREO_3D", "SIDEBYSIDE"
    scene.render.filepath = str(target)
    begin = time.monotonic()
    bpy.ops.render.render(write_still=True)
    seconds = time.monotonic() - begin
    return layers_of(feature, target), seconds, blender_scene.messages().warnings if engine == "SORT" else []


def layers_of(feature, path):
    if not feature.layers:
        return {"picture": blender_scene.read_picture(str(path))}
    from sort_blender import exr
    channels = exr.read(path).channels
    found = {}
    for layer in feature.layers:
        written = kit.written(layer)
        letters = {name.rpartition(".")[2]: plane for name, plane in channels.items() if name.rpartition(".")[0] == written}
        planes = [letters[letter] for letter in sorted(letters, key="RGBXYZVUA".find) if letter != "A" or layer.endswith(".Combined")]
        if planes:
            found[layer] = np.clip(np.nan_to_num(np.stack(planes, -1), posinf=FARTHEST), -FARTHEST, FARTHEST)
    return found


# --- comparison -----------------------------------------------------------------------------------------------

def blocks(picture):
    """Means of whole blocks."""
    rows, columns = (n // BLOCK for n in picture.shape[:2])
    return picture[:rows * BLOCK, :columns * BLOCK].reshape(rows, BLOCK, columns, BLOCK, -1).mean((1, 3))


def compare(ours, theirs):
    """ours, theirs: two pictures each, of other seeds. The noise of the two differences is independent, so that the mean of their
    product is the square of what differs beyond noise, without bias. All numbers in units of the mean of Cycles' picture."""
    if any(one.shape != ours[0].shape for one in (*ours, *theirs)):
        return {"shape": [str(one.shape) for one in (*ours, *theirs)]}
    a, b = (one - other for one, other in zip(ours, theirs))
    middle = (np.abs(theirs[0]) + np.abs(theirs[1])) / 2
    unit = max(float(middle.mean()), 1e-4)
    product = (a * b).mean(-1)
    square, spread = float(product.mean()), float(product.std()) / product.size ** .5
    blocks_a, blocks_b, bright = blocks(a), blocks(b), np.maximum(blocks(middle), unit)
    worst = np.where(blocks_a * blocks_b > 0, np.minimum(np.abs(blocks_a), np.abs(blocks_b)), 0) / bright
    return {
        "mean": float((a + b).mean()) / 2 / unit,
        "mean_noise": float(np.sqrt(((a - b) ** 2).mean() / (4 * product.size))) / unit,
        "pixels": max(square, 0) ** .5 / unit,
        "pixels_least": max(square - 3 * spread, 0) ** .5 / unit,
        "block": float(worst.max()),
        "noise": noise(ours) / max(noise(theirs), 1e-12),
        "block_at": [int(k) * BLOCK for k in np.unravel_index(worst.max(-1).argmax(), worst.shape[:2])],
    }


def noise(pair):
    """Relative mean square error of one picture by its difference to the other, without the worst hundredth of the pixels."""
    middle = ((pair[0] + pair[1]) / 2) ** 2
    relative = ((pair[0] - pair[1]) ** 2).mean(-1) / 2 / np.maximum(middle.mean(-1), 1e-2 * middle.mean() + 1e-12)
    return float(np.sort(relative.ravel())[:-max(1, relative.size // 100)].mean())


def show(path, ours, theirs):
    """SORT, Cycles, and the difference around grey, side by side in a PNG."""
    shown = [np.clip(one[..., :3], 0, 1) ** (1 / 2.2) for one in (ours, theirs)]
    rows = np.concatenate([*shown, np.clip(.5 + 2 * (shown[0] - shown[1]), 0, 1)], 1)
    rows = np.concatenate([rows, np.ones_like(rows[..., :1])], -1).astype(np.float32)
    if rows.shape[2] != 4:
        return
    image = bpy.data.images.new("Side by side", rows.shape[1], rows.shape[0])
    image.colorspace_settings.name = "Non-Color"
    image.pixels.foreach_set(np.ascontiguousarray(rows).ravel())
    image.filepath_raw, image.file_format = str(path), "PNG"
    image.save()


def measure(name):
    path = OUT / JOB["run"] / name / f"{name}.blend"
    make(name, path)
    found, seconds, warnings = {}, {}, []
    for engine in ("CYCLES", "SORT"):
        for seed in SEEDS:
            layers, took, said = render(name, path, engine, seed)
            found.setdefault(engine, []).append(layers)
            seconds[engine] = min(took, seconds.get(engine, took))
            warnings = said or warnings
    result = {"seconds": seconds, "warnings": warnings, "layers": {}}
    for layer in found["CYCLES"][0]:
        if all(layer in one for one in found["SORT"]):
            result["layers"][layer] = compare([one[layer] for one in found["SORT"]], [one[layer] for one in found["CYCLES"]])
            show(path.with_name(f"{layer}.png"), found["SORT"][0][layer], found["CYCLES"][0][layer])
    for layer in SCENES[name].layers:
        if (layer in found["CYCLES"][0]) != (layer in found["SORT"][0]):
            result["missing"] = f"only one engine has {layer}"
    return result


def said_of(facts):
    """What feature_scenes.py says of this version."""
    return facts.get(JOB["run"], facts.get("all", ""))


def main():
    blender_scene.install()
    for name in JOB["names"]:
        feature = SCENES[name]
        if bpy.app.version[:2] < feature.least:
            result = {"skipped": "there since Blender {}.{}".format(*feature.least)}
        else:
            try:
                result = measure(name)
            except Exception as error:  # the other files shall be measured
                traceback.print_exc()
                result = {"failed": f"{type(error).__name__}: {error}"}
        result |= {"run": JOB["run"], "name": name, "reason": said_of(feature.reason), "warns": said_of(feature.warns)}
        with open(OUT / "results.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")
    os._exit(0)  # bpy does not always survive the end of Python


main()
