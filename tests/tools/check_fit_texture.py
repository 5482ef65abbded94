"""sslc fit of textures as its users meet it: check_fit_texture.py FOLDER_OF_PROGRAMS

A texture that is known is recovered; gradients agree with differences; nothing depends on threads, on memory or on interruptions; what is
wrong is said."""

import json
import os
import re

from tool_kit import expect, png, run, run_checks

def fit(folder, *arguments, code=0, **how):
    done = run("sslc", "fit", "painted.ssl", "--target", "target.exr", *arguments, folder=folder, **how)
    expect(done.returncode == code, f"fit {arguments}: exit code {done.returncode}: {done.stdout}{done.stderr}")
    return done


# What a plain texture is seen through: a tint that is fitted with it, and a lookup in a loop and a branch.
PAINTED = """texture2d paint;
texture2d other;
shader painted(float bright = 1 [[ float min = 0.5, float max = 2 ]], out color c)
{
    const float2 p = global_value<uvw>.xy;
    c = bright * texture2d_sample<paint>(p.x, p.y);
    if (p.x > 0.5)
        for (int i = 0; i < 2; ++i)
            c = c + 0.25 * texture2d_sample<paint>(p.y + 0.5 * float(i), 2 * p.x);
}
"""


def read_rows(folder, texture, size="64x64"):
    """A texture's colors as text, at a few points."""
    (folder / "look.ssl").write_text("texture2d t; shader look(out color c) { const float2 p = global_value<uvw>.xy; "
                                     "c = texture2d_sample<t>(p.x, p.y); }")
    rows = []
    for x, y in ((3, 5), (17, 40), (32, 32), (60, 9), (63, 63), (0, 0)):
        done = run("sslc", "run", "look.ssl", "--size", size, "-t", f"t={texture}", "--at", f"{x},{y}", folder=folder)
        expect(done.returncode == 0, done.stderr)
        rows += [float(word) for word in re.search(r"^c = \((.*)\)", done.stdout, re.MULTILINE)[1].split()]
    return rows


def paint(folder, size="64x64"):
    """A texture with detail at every size, and what a shader makes of it."""
    (folder / "make.ssl").write_text("shader make(out color c) { const float2 p = global_value<uvw>.xy; c = color(0.5 + 0.3 * sin(40 * p.x * p.y),"
                                     " p.x, 0.5 + 0.4 * sin(90 * p.x) * cos(70 * p.y)); }")
    (folder / "painted.ssl").write_text(PAINTED)
    for command in (["make.ssl", "-o", "paint.exr"], ["painted.ssl", "-t", "paint=picture:paint.exr", "-o", "target.exr"]):
        done = run("sslc", "run", *command, "--size", size, folder=folder)
        expect(done.returncode == 0, done.stderr)


def check_texture_recovered(folder):
    """A texture of 64 x 64 texels comes out of a picture, to 1/500 everywhere, by Adam and by L-BFGS."""
    paint(folder)
    wanted = read_rows(folder, "picture:paint.exr")
    for method in ("adam", "lbfgs"):
        done = fit(folder, "-f", "textures.paint", "-m", method, "-n", 400, "--write-texture", "paint=found.exr", "--report", "page.html",
                   "--quiet")
        found = read_rows(folder, "picture:found.exr")
        worst = max(abs(a - b) for a, b in zip(wanted, found))
        expect(worst < 2e-3 and done.stdout == "", f"{method}: texels are off by {worst}")
    page = (folder / "page.html").read_text()
    expect(page.count("data:image/png;base64,iVBOR") == 6 and "Texture paint" in page and "64 x 64 texels" in page, "no texture in the page")
    # With a parameter, from the texture itself, a bit too dark: the texels make up for it.
    fit(folder, "-f", "textures.paint", "-f", "bright", "-p", "bright=0.95", "-t", "paint=picture:paint.exr", "-n", 300, "-o", "values.json",
        "--write-texture", "paint=found.png")
    expect(list(json.loads((folder / "values.json").read_text())) == ["bright"], "the parameter is missing")
    expect((folder / "found.png").read_bytes().startswith(b"\x89PNG"), "no PNG")


def check_texture_moves(folder):
    """Where a texture is, and how large, comes out of a picture, too: lookups have derivatives by their coordinates."""
    paint(folder)
    (folder / "moved.ssl").write_text("texture2d paint; shader moved(float left = 0 [[ float min = -0.2, float max = 0.2 ]], "
                                      "float size = 1 [[ float min = 0.8, float max = 1.25 ]], out color c) { const float2 p = global_value<uvw>.xy;"
                                      " c = texture2d_sample<paint>(size * p.x + left, p.y); }")
    made = run("sslc", "run", "moved.ssl", "--size", "64x64", "-t", "paint=picture:paint.exr", "-p", "left=0.04", "-p", "size=1.06", "-o", "moved.exr",
               folder=folder)
    expect(made.returncode == 0, made.stderr)
    common = ["sslc", "fit", "moved.ssl", "--target", "moved.exr", "-t", "paint=picture:paint.exr"]
    done = run(*common, "-n", 300, "--quiet", folder=folder)
    found = dict(re.findall(r"^(\w+)=(.*)$", done.stdout, re.MULTILINE))
    expect(abs(float(found["left"]) - 0.04) < 1e-3 and abs(float(found["size"]) - 1.06) < 1e-3, f"{done.stdout}{done.stderr}")
    done = run(*common, "--check-gradients", "-p", "left=0.037", "-f", "left", "-f", "size", folder=folder)
    expect(done.returncode == 0 and "differs" not in done.stdout, done.stdout)


def check_texture_bits(folder):
    """Nothing depends on threads, on the memory for gradients, or on an interruption."""
    paint(folder)
    common = ["-f", "textures.paint", "-n", 25, "--quiet", "--write-texture", "paint=found.exr"]
    said = set()
    for more in (["--threads", 1], ["--threads", 2], ["--threads", 5], ["--threads", 2, "--texel-memory", "120K"],
                 ["--threads", 1, "--texel-memory", "60K"]):
        fit(folder, *common, *more)
        said.add((folder / "found.exr").read_bytes())
    fit(folder, *common, "--checkpoint", "state", "--checkpoint-interval", 0, "--time-limit", 0.02)
    fit(folder, *common, "--checkpoint", "state", "--resume")
    said.add((folder / "found.exr").read_bytes())
    expect(len(said) == 1, f"{len(said)} different textures")
    fit(folder, *common, env={**os.environ, "TMPDIR": "/none"}) # nothing exceeds the memory
    done = fit(folder, *common, "--texel-memory", "120K", "--threads", 2, env={**os.environ, "TMPDIR": "/none"}, code=1)
    expect("/none: cannot create a temporary folder" in done.stderr, done.stderr)
    fit(folder, *common, "-t", "paint=constant:0.3,0.3,0.3", "--checkpoint", "state", "--resume", code=2)


def check_texture_gradients(folder):
    paint(folder)
    for more in ([], ["-f", "bright", "--loss", "l1"], ["--texels", "100x7"], ["--texels", "400x300", "--window", "0,0,3,2"],
                 ["-t", "paint=picture:paint.exr", "-p", "bright=1.2"]):
        done = fit(folder, "-f", "textures.paint", "--check-gradients", *more)
        lines = done.stdout.splitlines()
        expect(len(lines) == 6 + ("bright" in more) and "differs" not in done.stdout, done.stdout)
        expect(re.search(r"^textures\.paint\[\d+,\d+\]\.[rgb] ", done.stdout, re.MULTILINE), done.stdout)


def check_texture_edges(folder):
    """The outline where a texture passes a threshold: all texels at once, and single ones, each of which moves it by a few pixels."""
    paint(folder)
    (folder / "soft.ssl").write_text("shader soft(out color c) { const float2 p = global_value<uvw>.xy; "
                                     "c = color(0.5 + 0.3 * sin(14 * p.x + 0.3) * cos(11 * p.y + 0.2)); }")
    (folder / "disc.ssl").write_text("shader disc(out color c) { const float2 p = global_value<uvw>.xy; c = color(length(p - float2(0.5)) < 0.3 ? 1 : 0); }")
    (folder / "painted.ssl").write_text("texture2d paint; shader painted(out float c) { const float2 p = global_value<uvw>.xy; "
                                        "c = texture2d_sample<paint>(p.x, p.y).r > 0.5 ? 1 : 0; }")
    for name, out, size in (("soft.ssl", "soft.exr", "16x16"), ("disc.ssl", "target.exr", "64x64")):
        expect(run("sslc", "run", name, "--size", size, "-o", out, folder=folder).returncode == 0, name)
    done = fit(folder, "-f", "textures.paint", "--edges", "--check-gradients", "-t", "paint=picture:soft.exr", "--levels", 1)
    expect(len(done.stdout.splitlines()) == 6 and "differs" not in done.stdout, done.stdout)
    worst = max(float(doubt) / abs(float(difference)) for difference, doubt in re.findall(r"^textures\S+ +\S+ +(\S+) +(\S+)", done.stdout, re.MULTILINE))
    expect(worst < 0.15, f"differences of the loss are known to {worst} of their size: {done.stdout}")


def check_texture_messages(folder):
    paint(folder)
    (folder / "only.ssl").write_text("texture2d paint; shader only(float k = 1, out float y) { y = texture2d_sample<paint>(0, 0).r > 0.5 ? k : 0; }")
    png(folder / "wide.png", size=20000, height=1)
    to = ["--write-texture", "paint=x.exr"]
    rows = [
        (["painted.ssl", "-f", "paint", *to], "'paint' is a texture: write --fit textures.paint"),
        (["painted.ssl", "-f", "textures.pant", *to], "no texture 'pant'; did you mean 'paint'?"),
        (["painted.ssl", "-f", "textures.paint"], "--write-texture paint=FILE.exr"),
        (["painted.ssl", "-f", "textures.paint", "--write-texture", "paint=x.jpg"], "ends in .exr or .png"),
        (["painted.ssl", "-f", "textures.paint", "--write-texture", "paint=target.exr"], "target.exr"),
        (["painted.ssl", "-f", "bright", *to], "is not fitted: add --fit textures.paint"),
        (["painted.ssl", "-f", "textures.paint", "-f", "textures.paint", *to], "fitted twice"),
        (["painted.ssl", "-f", "textures.paint=2", *to], "no bounds like"),
        (["painted.ssl", "-f", "textures.paint=2..1", *to], "the bounds of 'textures.paint' are 2 and 1"),
        (["painted.ssl", "-f", "textures.paint=0..0.4", "-t", "paint=constant:0.5,0.5,0.5", *to], "starts at 0.5 in number 0, outside"),
        (["painted.ssl", "-f", "textures.paint", "-m", "cma", *to], "only adam and lbfgs"),
        (["painted.ssl", "-f", "textures.other", "--write-texture", "other=x.exr"], "texture 'other' has no derivative: it is not looked up"),
        (["only.ssl", "-f", "textures.paint", *to], "only comparisons and what is detached read it; leave it out, or use --edges"),
        (["painted.ssl", "-f", "textures.paint", "--explain", *to], "tell of parameters, and only textures are fitted"),
        (["painted.ssl", "-f", "textures.paint=0..4", "--write-texture", "paint=x.png"], "a .png holds 0 to 1: write an .exr"),
        (["painted.ssl", "-f", "bright", "-t", "paint=picture:wide.png"], "texture 'paint': a texture of 20000 x 1 texels"),
        (["painted.ssl", "-f", "textures.paint", "--texel-memory", "1K", "--threads", 1, *to], "1 fitted textures in 1 threads need"),
        (["painted.ssl", "-f", "textures.paint", "--texels", "16384x16384", *to], "at most 67108864 can be fitted"),
        (["painted.ssl", "-f", "textures.paint", *to, "--write-texture", "paint=y.exr"], "--write-texture: texture 'paint' is given twice"),
        (["painted.ssl", "-f", "bright", "-t", "paint=picture:paint.exr", "-t", "paint=ramp"], "texture 'paint' is given twice"),
        (["painted.ssl", "-f", "bright", "-t", "paint=ramp", "-t", "paint=picture:paint.exr"], "texture 'paint' is given twice"),
        (["painted.ssl", "-f", "textures.paint", "--texels", "0x3", *to], "not a size"),
        (["painted.ssl", "-f", "textures.paint", "-t", "paint=picture:none.exr", *to], "none.exr"),
    ]
    for arguments, words in rows:
        done = run("sslc", "fit", *arguments, "--target", "target.exr", folder=folder)
        expect(done.returncode in (1, 2) and words in done.stderr, f"{arguments}: {done.returncode}: {done.stderr}")
    # What no point looks up has a line, too.
    (folder / "painted.ssl").write_text(PAINTED.replace("    if (p.x > 0.5)", "    if (p.x > 5)\n        c = texture2d_sample<other>(0, 0);\n    if (p.x > 0.5)"))
    done = fit(folder, "-f", "textures.other", "--check-gradients")
    expect(re.search(r"^textures\.other +0 +0 ", done.stdout, re.MULTILINE), done.stdout)
    # A node of a group may be called textures, and its parameters textures.NAME.
    (folder / "node.ssl").write_text("shader node(float gain = 1, out color c) { c = color(gain, 0.5, global_value<uvw>.x); }")
    (folder / "group.json").write_text('{"nodes": {"textures": {"shader": "node.ssl"}}, "outputs": {"c": "textures.c"}}')
    done = run("sslc", "fit", "group.json", "--target", "target.exr", "-m", "cma", "-f", "textures.gain=0..1", "-n", 3, "--quiet", folder=folder)
    expect(done.returncode == 0 and "textures.gain=" in done.stdout, done.stderr)


def check_group(folder):
    """A texture and a parameter of nodes of a group have the gradients that differences say, and come out of a picture."""
    paint(folder)
    (folder / "stain.ssl").write_text("shader stain(color under = color(0), color tint = color(0.9, 0.5, 0.4), out color c) { c = tint * under; }")
    (folder / "group.json").write_text(json.dumps({
        "nodes": {"wall": {"shader": "painted.ssl"}, "coat": {"shader": "stain.ssl"}},
        "wires": [["wall.c", "coat.under"]], "outputs": {"c": "coat.c"}}))
    done = run("sslc", "run", "group.json", "--size", "64x64", "-t", "wall.paint=picture:paint.exr", "-o", "target.exr", folder=folder)
    expect(done.returncode == 0, done.stderr)
    common = ["sslc", "fit", "group.json", "--target", "target.exr", "-f", "textures.wall.paint"]
    done = run(*common, "-f", "coat.tint=0..1", "-f", "wall.bright", "--check-gradients", folder=folder)
    expect(done.returncode == 0 and re.search(r"^coat\.tint\[2\] ", done.stdout, re.MULTILINE), done.stdout + done.stderr)
    done = run(*common, "-m", "lbfgs", "-n", 400, "--write-texture", "wall.paint=found.exr", "--quiet", folder=folder)
    expect(done.returncode == 0, done.stderr)
    worst = max(abs(a - b) for a, b in zip(read_rows(folder, "picture:paint.exr"), read_rows(folder, "picture:found.exr")))
    expect(worst < 4e-3, f"texels are off by {worst}")
    done = run(*common[:5], "-t", "wall.paint=picture:paint.exr", "-f", "coat.tint=0..1", "-p", "coat.tint=(0.5 0.5 0.5)", "-m", "lbfgs", "--quiet", folder=folder)
    found = re.search(r"^coat\.tint=\((.*)\)", done.stdout, re.MULTILINE)
    expect(found and all(abs(float(x) - y) < 1e-3 for x, y in zip(found[1].split(), (0.9, 0.5, 0.4))), done.stdout + done.stderr)


run_checks(check_texture_recovered, check_texture_moves, check_texture_bits, check_texture_gradients, check_texture_edges, check_texture_messages, check_group)
