#!/usr/bin/env python3
"""Runs one test file in Blender: packs the add-on, makes an empty profile, starts Blender without a window.
The test finds its things in the environment: SORT_TEST_ZIP, SORT_TEST_FOLDER (empty), SORT_TEST_RENDERER,
SORT_TEST_BLENDER. With --window Blender has one, in a display of its own (Xvfb). Exit code 77: Blender has no numpy, or
there is no Xvfb or no xdotool, so nothing could be tested."""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
NO_NUMPY = NO_DISPLAY = 77
CHECK_NUMPY = f"import importlib.util, os; os._exit(0 if importlib.util.find_spec('numpy') else {NO_NUMPY})"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blender", required=True)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--window", action="store_true")
    parser.add_argument("test", type=pathlib.Path)
    args = parser.parse_args()
    renderer = args.build.resolve() / "bin" / "sort-render"
    if not renderer.is_file():
        sys.exit(f"{renderer} is not built")
    with tempfile.TemporaryDirectory(prefix="sort-blender-") as folder:
        return run(args, renderer, pathlib.Path(folder))


def run(args, renderer, folder):
    bundle = folder / "sort_blender.zip"
    subprocess.run([sys.executable, "-B", ROOT / "scripts" / "package-addon", bundle], check=True,
                   stdout=subprocess.DEVNULL)
    profile = folder / "profile"
    # A distribution's Blender takes its Python modules from beside the first python3 on PATH.
    environment = dict(os.environ, PATH=os.defpath, TMPDIR=str(folder), SORT_TEST_ZIP=str(bundle),
                       SORT_TEST_FOLDER=str(folder / "work"), SORT_TEST_RENDERER=str(renderer),
                       SORT_TEST_BLENDER=args.blender,
                       XDG_CACHE_HOME=str(args.build.resolve() / "tests" / "blender-cache"))
    for part in ("config", "scripts", "datafiles"):
        (profile / part).mkdir(parents=True)
        environment[f"BLENDER_USER_{part.upper()}"] = str(profile / part)
    (folder / "work").mkdir()
    command = [args.blender, "-b", "--factory-startup", "--python-exit-code", "1"]
    if subprocess.run(command + ["--python-expr", CHECK_NUMPY], env=environment,
                      stdout=subprocess.DEVNULL).returncode == NO_NUMPY:
        print("the Python of this Blender has no numpy")
        return NO_NUMPY
    imports = f"import sys; sys.path.insert(0, {str(HERE)!r}); sys.dont_write_bytecode = True"
    command += ["--python-expr", imports, "--python", str(args.test)]
    return run_in_window(command, environment) if args.window else subprocess.run(command, env=environment).returncode


def run_in_window(command, environment):
    server = shutil.which("Xvfb")
    if not server or not shutil.which("xdotool"):
        print("there is no Xvfb or no xdotool")
        return NO_DISPLAY
    readable, writable = os.pipe()
    with subprocess.Popen([server, "-displayfd", str(writable), "-screen", "0", "800x600x24", "-nolisten", "tcp"],
                          pass_fds=[writable], stderr=subprocess.DEVNULL) as display:
        try:
            os.close(writable)
            number = os.read(readable, 16).decode().strip()
            command = [word for word in command if word != "-b"] + ["--no-window-focus", "-p", "0", "0", "800", "600"]
            return subprocess.run(command, env=dict(environment, DISPLAY=f":{number}")).returncode
        finally:
            display.terminate()


if __name__ == "__main__":
    sys.exit(main())
