#!/usr/bin/env python3
"""Blender's command line for the Python module bpy, which is Blender without a program: as much of it as the tests use.
Words count in their order, as in Blender. bpy itself is without a window, and begins with factory settings."""

import os
import pathlib
import runpy
import signal
import sys
import traceback

import bpy

interrupted = []  # by whom
SWITCHES = {"-b", "--background", "-noaudio", "--factory-startup"}


class CommandLine:
    def __init__(self, words):
        self._words = words
        self._exit_code = 0  # where Python fails
        self._is_factory = "--factory-startup" in words

    def run(self):
        if not self._is_factory:
            bpy.ops.wm.read_userpref()
        while self._words:
            word = self._words.pop(0)
            if word == "--":
                return
            if word not in SWITCHES:
                self._obey(word)

    def _obey(self, word):
        render = bpy.context.scene.render
        if word == "--python-exit-code":
            self._exit_code = int(self._words.pop(0))
        elif word == "--python-expr":
            self._python(lambda text: exec(text, {"__name__": "__main__"}))
        elif word == "--python":
            self._python(lambda file: runpy.run_path(file, run_name="__main__"))
        elif word == "-E":
            render.engine = self._words.pop(0)
        elif word == "-o":
            render.filepath = self._words.pop(0)
        elif word == "-f":
            bpy.context.scene.frame_set(int(self._words.pop(0)))
            self._render(write_still=True)
        elif word == "-a":
            self._render(animation=True)
        elif word.startswith("-"):
            sys.exit(f"{word} is not an option that is known here")
        else:
            bpy.ops.wm.open_mainfile(filepath=word)

    def _python(self, run):
        try:
            run(self._words.pop(0))
        except Exception:
            traceback.print_exc()
            if self._exit_code:
                sys.stdout.flush()
                os._exit(self._exit_code)

    def _render(self, **how):
        scene, has_failed = bpy.context.scene, False
        if how.get("write_still"):
            path = scene.render.filepath
            scene.render.filepath = scene.render.frame_path(frame=scene.frame_current)
        try:
            bpy.ops.render.render(**how)
        except RuntimeError as error:
            print(error)
            has_failed = True
        if has_failed or interrupted:
            sys.stdout.flush()
            os._exit(1)
        if how.get("write_still"):
            scene.render.filepath = path


def interrupt(number, frame):
    """Ctrl-C ends a render of Blender, and Blender with it. In the module it is an exception in the middle of the engine, which goes no farther."""
    interrupted.append(number)
    raise KeyboardInterrupt


def main():
    signal.signal(signal.SIGINT, interrupt)
    program = os.environ.get("SORT_TEST_BLENDER")  # which runs this file
    if program:
        bpy.app.binary_path = str(pathlib.Path(program))
    CommandLine(sys.argv[1:]).run()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # bpy does not always survive the end of Python


if __name__ == "__main__":
    main()
