"""docs/manual/fitting-tutorial.md as its reader follows it: check_fit_tutorial.py FOLDER_OF_PROGRAMS

The shader is saved and every command is run; the wall has the bricks that the page says."""

import json
import pathlib
import re
import shlex
import shutil
import subprocess

from tool_kit import BIN, expect, run, run_checks

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/manual/fitting-tutorial.md").read_text(encoding="utf-8")


def check_page(folder):
    for name, text in zip(("brick.ssl", "sign.ssl", "lit.ssl"), re.findall(r"```ssl\n(.*?)```", PAGE, re.S), strict=True):
        (folder / name).write_text(text)
    shutil.copyfile(ROOT / "docs/images/brick-wall.png", folder / "wall.png")
    commands = re.findall(r"^sslc .*", PAGE, re.M)
    expect(len(commands) == 9, f"{len(commands)} commands")
    said = []
    for command in commands:
        done = subprocess.run([BIN / "sslc", *shlex.split(command)[1:]], cwd=folder, capture_output=True, text=True, timeout=200, check=False)
        expect(done.returncode == 0, f"{command}: {done.returncode}: {done.stdout}{done.stderr}")
        said.append(done.stdout)
    gradients, explained, first_fit, _, _, _, sign_fit, _, _ = said
    expect("differs" not in gradients, f"gradients: {gradients}")
    expect(all(name in explained for name in ("columns", "clay", "mortar")), f"explained: {explained}")
    first = float(re.search(r"^columns=(.*)", first_fit, re.M)[1])
    expect(abs(first - 7) > 1, f"the first try finds {first} columns, which the page does not say")
    found = json.loads((folder / "wall.json").read_text())
    printed = dict(re.findall(r"^(\w+)=([-0-9.]+)$", PAGE, re.M))
    expect(len(printed) == len(found) == 9, "the page prints other parameters")
    for name, value in printed.items():
        expect(abs(found[name] - float(value)) < 0.02, f"{name} is {found[name]}, the page says {value}")
    target = dict(re.findall(r"-p (\w+)=([-0-9.]+)", commands[5]))
    signs = dict(re.findall(r"^(\w+)=([-0-9.]+)$", sign_fit, re.M))
    expect(set(target) == set(signs), f"the sign has {sign_fit}")
    for name, value in target.items():
        expect(abs(float(signs[name]) - float(value)) < (0.5 if name == "bar" else 0.1) / 128, f"{name} is {signs[name]} and not {value}")
    (folder / "show.ssl").write_text("texture2d w; shader s(out color c) { const float2 p = global_value<uvw>.xy;"
                                     " c = texture2d_sample<w>(p.x, p.y, filter = \"closest\"); }")
    run("sslc", "run", "show.ssl", "--size", "128x128", "-t", "w=picture:wall.png", "-o", "wall.exr", folder=folder)
    compared = run("sort-render", "compare", "again.exr", "wall.exr", folder=folder)
    expect(float(re.search(r"RMSE\D*([-0-9.e]+)", compared.stdout)[1]) < 2e-3, f"the lit poster: {compared.stdout}{compared.stderr}")
    for name in ("first.html", "wall.html", "poster.html", "fitted.png", "large.png"):
        expect((folder / name).stat().st_size > 3000, f"{name} is empty")


run_checks(check_page)
