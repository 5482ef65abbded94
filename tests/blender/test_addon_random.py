"""Random scenes (random_scenes.py): each ends with a picture and warnings alone. A few in the suite; more by

    SORT_RANDOM_SCENES=500 SORT_RANDOM_SEED=1000 tests/blender/run_blender.py --version 4.5 --build build/dev \
        tests/blender/test_addon_random.py

A scene that fails is kept as SORT_RANDOM_KEEP/SEED.blend, where that folder is named."""

import os
import random
import time
import unittest

import bpy
import blender_scene as kit
import random_scenes

COUNT = int(os.environ.get("SORT_RANDOM_SCENES", "12"))
SEED = int(os.environ.get("SORT_RANDOM_SEED", "1"))
KEEP = os.environ.get("SORT_RANDOM_KEEP")
SAID = ("could not be read",)  # what a warning may not say
CHOSEN = "integrator 'light': "  # whoever chooses light tracing is told why it cannot render a scene


def failure():
    """Renders the scene and returns the error; "" if there is none."""
    try:
        bpy.ops.render.render()
    except RuntimeError as error:
        return "" if CHOSEN in str(error) else str(error)
    report = kit.messages()
    return report.error or next((text for text in report.warnings if any(words in text for words in SAID)), "")


class RandomTest(unittest.TestCase):
    maxDiff = None

    def test_random_scenes(self):
        start, warnings = time.monotonic(), 0
        for seed in range(SEED, SEED + COUNT):
            with self.subTest(seed=seed):
                random_scenes.Maker(random.Random(seed)).scene()
                found = failure()
                if found and KEEP:
                    bpy.ops.wm.save_as_mainfile(filepath=f"{KEEP}/{bpy.app.version_string[:3]}-{seed}.blend", copy=True)
                warnings += len(kit.messages().warnings)
                self.assertEqual(found, "")
        print(f"{COUNT} scenes in {time.monotonic() - start:.1f} s, {warnings} warnings")
        self.assertGreater(warnings, COUNT // 4, "the scenes hold little")


kit.main()
