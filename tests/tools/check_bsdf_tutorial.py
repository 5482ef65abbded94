"""docs/manual/bsdf-tutorial.md as its reader follows it: check_bsdf_tutorial.py FOLDER_OF_PROGRAMS

The files are saved and the commands run; a mistake that the page tells of is found, and the picture is not black."""

import os
import pathlib
import re
import subprocess

from tool_kit import BIN, expect, run_checks

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/manual/bsdf-tutorial.md").read_text(encoding="utf-8")


def block(language):
    return re.search(rf"```{language}\n(.*?)```", PAGE, re.S)[1]


def said(folder, *command):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100, check=False,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "XDG_CACHE_HOME": str(folder / "cache")})
    return done.returncode, done.stdout + done.stderr


def check_closure(folder):
    ward = block("ssl")
    expect(ward.count("\n") <= 40, "the closure has more than forty lines")
    (folder / "ward.ssl").write_text(ward)
    code, text = said(folder, BIN / "sslc", "check", "--report", "--picture", "ward.png", "ward.ssl")
    expect(code == 0, f"sslc check: {text}")
    for line in re.findall(r"^ward\.ssl: bsdf 'Ward': (?:finite|reciprocal).*", PAGE, re.M):
        expect(line in text, f"the page says '{line}', sslc says {text}")
    expect((folder / "ward.png").stat().st_size > 1000, "no picture of the lobe")
    code, text = said(folder, BIN / "sslc", "doc", "ward.ssl")
    expect(code == 0 and "bsdf Ward" in text, f"sslc doc: {text}")
    wrong = ward.replace(" * cos_h * cos_h * cos_h", "")
    expect(wrong != ward, "the page does not have what it says may be forgotten")
    (folder / "wrong.ssl").write_text(wrong)
    code, text = said(folder, BIN / "sslc", "check", "wrong.ssl")
    expect(code == 1 and "'Ward' is not proved: density: " in text, f"a wrong density is not found: {text}")


def check_picture(folder):
    (folder / "ward.ssl").write_text(block("ssl"))
    (folder / "ball.py").write_text(block("python"))
    code, text = said(folder, "python3", "ball.py")
    expect(code == 0, f"ball.py: {text}")
    code, text = said(folder, BIN / "sort-render", "ball", "-o", "ball.exr", "--png", "ball.png", "--spp", "4", "--size", "96x64",
                      "--quiet", "--cache", folder / "cache")
    expect(code == 0, f"sort-render: {text}")
    expect((folder / "ball.png").stat().st_size > 2000, "the picture is empty")


run_checks(check_closure, check_picture)
