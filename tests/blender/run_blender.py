#!/usr/bin/env python3
"""Runs one test file in Blender: packs the add-on, makes an empty profile, starts Blender without a window.
The test finds its things in the environment: SORT_TEST_ZIP, SORT_TEST_FOLDER (empty), SORT_TEST_RENDERER,
SORT_TEST_BLENDER. With --window Blender has one, in a display of its own (Xvfb). With --version Blender is the Python module
bpy of that version, which scripts/install-blenders puts under build/. Exit code 77: there is no such module, Blender has no
numpy, or there is no Xvfb or no xdotool, so nothing could be tested."""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
NO_MODULE = NO_NUMPY = NO_DISPLAY = 77
CHECK_NUMPY = ("import importlib.util, os; importlib.util.find_spec('numpy') or "
               f"(print('the Python of this Blender has no numpy', flush=True), os._exit({NO_NUMPY}))")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    program = parser.add_mutually_exclusive_group(required=True)
    program.add_argument("--blender")
    program.add_argument("--version")
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--window", action="store_true")
    parser.add_argument("--size", default="800x600", help="of the window")
    parser.add_argument("test", type=pathlib.Path)
    args = parser.parse_args()
    renderer = args.build.resolve() / "bin" / "sort-render"
    if not renderer.is_file():
        sys.exit(f"{renderer} is not built")
    if args.version and not module_python(args.version).is_file():
        print(f"Blender {args.version} is not there as a Python module: run scripts/install-blenders")
        return NO_MODULE
    with tempfile.TemporaryDirectory(prefix="sort-blender-") as folder:
        return run(args, renderer, pathlib.Path(folder))


def module_python(version):
    """The interpreter that has the module."""
    return ROOT / "build" / "blenders" / version / "bin" / "python"


def module_program(version, folder):
    """A program to call as one calls Blender."""
    program = folder / "blender"
    program.write_text(f"#!/bin/sh\nexec '{module_python(version)}' -B '{HERE / 'blender_module.py'}' \"$@\"\n")
    program.chmod(0o755)
    return str(program)


def run(args, renderer, folder):
    blender = args.blender or module_program(args.version, folder)
    bundle = folder / "sort_blender.zip"
    subprocess.run([sys.executable, "-B", ROOT / "scripts" / "package-addon", bundle], check=True,
                   stdout=subprocess.DEVNULL)
    profile = folder / "profile"
    # A distribution's Blender takes its Python modules from beside the first python3 on PATH.
    environment = dict(os.environ, PATH=os.defpath, TMPDIR=str(folder), SORT_TEST_ZIP=str(bundle),
                       SORT_TEST_FOLDER=str(folder / "work"), SORT_TEST_RENDERER=str(renderer),
                       SORT_TEST_BLENDER=blender,
                       XDG_CACHE_HOME=str(args.build.resolve() / "tests" / "blender-cache"))
    for part in ("config", "scripts", "datafiles", "extensions"):
        (profile / part).mkdir(parents=True)
        environment[f"BLENDER_USER_{part.upper()}"] = str(profile / part)
    (folder / "work").mkdir()
    imports = f"import sys; sys.path.insert(0, {str(HERE)!r}); sys.dont_write_bytecode = True"
    command = [blender, "-b", "--factory-startup", "--python-exit-code", "1", "--python-expr", CHECK_NUMPY, "--python-expr", imports,
               "--python", str(args.test)]
    return run_in_window(command, environment, args.size) if args.window else subprocess.run(command, env=environment).returncode


def run_in_window(command, environment, size):
    server = shutil.which("Xvfb")
    if not server or not shutil.which("xdotool"):
        print("there is no Xvfb or no xdotool")
        return NO_DISPLAY
    readable, writable = os.pipe()
    with subprocess.Popen([server, "-displayfd", str(writable), "-screen", "0", f"{size}x24", "-nolisten", "tcp"],
                          pass_fds=[writable], stderr=subprocess.DEVNULL) as display:
        try:
            os.close(writable)
            number = os.read(readable, 16).decode().strip()
            command = [word for word in command if word != "-b"] + ["--no-window-focus", "-p", "0", "0", *size.split("x")]
            return subprocess.run(command, env=dict(environment, DISPLAY=f":{number}")).returncode
        finally:
            display.terminate()


if __name__ == "__main__":
    sys.exit(main())
