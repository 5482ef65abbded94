"""Runs a script by steps between the events of Blender, which has to draw and to listen meanwhile."""

import os
import sys
import time
import traceback

import bpy

import blender_scene as kit


def run(steps, interval_s, between=None, has_window=True):
    """Installs the add-on and runs the generator that `steps` makes, which yields where Blender is to go on, for interval_s seconds
    each time. between: is called then. At the end the process ends, with code 1 after an exception. Without a window there
    are no events, and it does not return before that."""
    running = None

    def tick():
        nonlocal running
        code = 0
        try:
            if running is None:
                kit.install()
                running = steps()
            next(running)
            if between:
                between()
            return interval_s
        except StopIteration:
            print("OK")
        except BaseException:
            traceback.print_exc()
            code = 1
        sys.stdout.flush()
        os._exit(code)

    if has_window:
        bpy.context.preferences.view.show_splash = False  # it would take the first key
        bpy.app.timers.register(tick, first_interval=0.5)
    while not has_window:
        time.sleep(tick())
