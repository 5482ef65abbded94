"""Renders a scene of scripts/mitsuba-comparison or scripts/race with Mitsuba 3's path tracer, run by that script in the environment that has the wheel.

    python mitsuba_render.py SCENE.xml OUT.exr SAMPLES SEED WIDTH HEIGHT THREADS [NAME=VALUE ...]

NAME=VALUE replaces a <default> of the scene: watertight=true takes the test of triangles that lets no ray through the seam of two.
A picture of many samples is the mean of passes with other seeds, as one pass holds all its paths in memory."""

import sys

import drjit as dr
import mitsuba as mi

PATHS_MAX = 1 << 25  # of a pass


def main():
    scene_file, out = sys.argv[1:3]
    samples, seed, width, height, threads = map(int, sys.argv[3:8])
    values = dict(word.split("=") for word in sys.argv[8:])
    mi.set_variant("llvm_ad_rgb")
    scene = mi.load_file(scene_file, width=width, height=height, **values)
    dr.set_thread_count(threads)  # after the file is read, which Mitsuba 3.9 does not end with a single thread
    passes = 1
    while samples % (2 * passes) == 0 and width * height * samples // passes > PATHS_MAX:
        passes *= 2
    picture = 0
    for k in range(passes):
        picture = picture + mi.render(scene, spp=samples // passes, seed=passes * seed + k)
        dr.eval(picture)
        dr.sync_thread()
    mi.Bitmap(picture / passes).write(out)


main()
