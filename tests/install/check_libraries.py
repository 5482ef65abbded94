#!/usr/bin/env python3
"""Installs the libraries for other programs and uses them as users do. check_libraries.py BUILD_FOLDER

The component `dev` is installed into a prefix, which is then moved. From there the examples are built by CMake's find_package
and by pkg-config, run, and held against closed forms; the headers are compiled alone, as C99 to C23 and as C++; the shared
objects export what the headers declare and nothing else; both libraries and OpenSSL's header are used in one program that has functions of the names which the libraries use inside.
"""

import math
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "docs/examples"
LIBRARIES = {"sort-ssl": ("sort_ssl", "SortSsl"), "sort-texcache": ("sort_texcache", "SortTexcache")}
WARNINGS = ("-Wall", "-Wextra", "-pedantic", "-Werror")


def run(*command, code=0, **how):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120, **how)
    if done.returncode != code:
        raise AssertionError(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout if code == 0 else done.stderr


def install(build, folder):
    """The prefix, moved from where it was installed to a folder whose name has a blank."""
    run("cmake", "--install", build, "--component", "dev", "--prefix", folder / "first")
    prefix = folder / "an other place"
    (folder / "first").rename(prefix)
    for path in prefix.rglob("*"):
        if path.suffix in (".pc", ".cmake", ".h"):
            assert str(folder) not in path.read_text() and str(ROOT) not in path.read_text(), f"{path} is not relocatable"
    return prefix


def check_exports(prefix):
    for library, (name, _) in LIBRARIES.items():
        names = run("nm", "-D", "--defined-only", prefix / f"lib/lib{library}.so").split()[2::3]
        header = (prefix / f"include/{name}.h").read_text()
        declared = set(re.findall(rf"\b({name}_\w+)\(", header))
        assert set(names) == declared, f"{library}: exports and header differ: {set(names) ^ declared}"
        soname = re.search(r"soname: \[(.*)\]", run("readelf", "-d", prefix / f"lib/lib{library}.so"))[1]
        assert re.fullmatch(rf"lib{library}\.so\.\d+(\.\d+)?", soname), soname
        assert (prefix / "lib" / soname).exists()


def check_headers(prefix, folder):
    """Each alone, in every dialect."""
    for name, _ in LIBRARIES.values():
        source = folder / "alone.c"
        source.write_text(f"#include <{name}.h>\n#include <{name}.h>\nconst char *(*version)(void) = {name}_version;\n")
        includes = re.findall(r"#include <(.*)>", (prefix / f"include/{name}.h").read_text())
        assert set(includes) == {"stdbool.h", "stddef.h", "stdint.h"}, includes
        for standard in ("c99", "c11", "c17", "c2x"):
            run("cc", f"-std={standard}", *WARNINGS, "-fsyntax-only", f"-I{prefix}/include", source)
        for standard in ("c++11", "c++20"):
            run("c++", f"-std={standard}", *WARNINGS, "-fsyntax-only", "-x", "c++", f"-I{prefix}/include", source)


def png(path, width, height, texel):
    rows = b"".join(b"\0" + b"".join(bytes(texel(x, y)) for x in range(width)) for y in range(height))
    chunks = (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks))


def near(a, b, tolerance):
    assert abs(a - b) <= tolerance, f"{a} is not {b}"


def check_run_shader(program, folder):
    text = run(program, EXAMPLES / "wave.ssl", "frequency", "3")
    rows = {(name, int(number), int(point)): (float(value), float(ddx)) for name, number, point, value, ddx in
            re.findall(r"(\w+)\[(\d)\] point +(\d+): (\S+)  d/dx (\S+)", text)}
    assert len(rows) == 4 * 16, text
    for i in range(16):
        u, k = i / 16, 2 * math.pi * 3
        near(rows["height", 0, i][0], math.sin(k * u), 2e-6)
        near(rows["height", 0, i][1], k * math.cos(k * u) / 16, 2e-6)
        assert rows["tint", 0, i] == (u * u, 2 * u / 16) and rows["tint", 1, i] == (0.5, 0.0)
    broken = folder / "broken.ssl"
    broken.write_text("shader s(out float a)\n{\n    a = nothing;\n}\n")
    message = run(program, broken, code=1)
    assert f"{broken}:3:9: error[" in message and "^~~" in message, message
    assert "no parameter 'none'" in run(program, EXAMPLES / "wave.ssl", "none", "3", code=1)
    assert "of 1 numbers, not of 2" in run(program, EXAMPLES / "wave.ssl", "frequency", "3", "4", code=1)


def check_fit_frequency(program):
    """Goes down from 2.7 to 3; the slopes are those of the mean of (sin(k a) - sin(k b))^2."""
    rows = [tuple(map(float, row)) for row in
            re.findall(r"^frequency (\S+)  loss (\S+)  slope (\S+)$", run(program, EXAMPLES / "wave.ssl", 2.7, 3), re.M)]
    assert len(rows) == 40 and rows[0][0] == 2.7, rows
    points = [2 * math.pi * i / 256 for i in range(256)]
    slope = sum(2 * (math.sin(2.7 * x) - math.sin(3 * x)) * x * math.cos(2.7 * x) for x in points) / 256
    near(rows[0][2], slope, 0.01)
    near(rows[-1][0], 3, 1e-5)
    broken = run(program, EXAMPLES / "look_up_texture.c", 1, 2, code=1)
    assert "error: " in broken and "S0101" in broken, broken


def check_fit_texels(program):
    text = run(program)
    assert float(re.search(r"^texels are found to (\S+)$", text, re.M)[1]) < 1e-5, text
    losses = [float(loss) for loss in re.findall(r"^step \d+  loss (\S+)$", text, re.M)]
    assert len(losses) == 10 and losses == sorted(losses, reverse=True), text


def check_look_up_texture(program, texture, folder):
    """Red is column / 255 and green row from the top / 255, in linear light."""
    text = run(program, texture, (100 + 0.5) / 256, 1 - (30 + 0.5) / 256)
    assert "256 x 256, 3 channels, 9 levels" in text and "missing 0" in text, text
    rows = {name: [float(x) for x in numbers.split()] for name, numbers in re.findall(r"^(rgba|d/d[st]) (.*)$", text, re.M)}
    near(rows["rgba"][0], 100 / 255, 1e-6)
    near(rows["rgba"][1], 30 / 255, 1e-6)
    assert rows["rgba"][3] == 1
    near(rows["d/ds"][0], 256 / 255, 1e-4)
    near(rows["d/dt"][1], -256 / 255, 1e-4)
    # As wide as the picture: its mean, 127.5 / 255.
    text = run(program, texture, 0.5, 0.5, 4)
    near(float(re.search(r"rgba (\S+)", text)[1]), 0.5, 0.003)
    message = run(program, folder / "none.stex", 0, 0, code=1)
    assert "none.stex" in message, message
    (folder / "cut.stex").write_bytes(texture.read_bytes()[:5000])
    assert "cut.stex" in run(program, folder / "cut.stex", 0, 0, code=1)


def check_python(prefix):
    """The package finds the library beside which it was installed. The distribution's Python has NumPy."""
    code = ("import sort_ssl; s = sort_ssl.compile_file('wave.ssl', globals={'u': 'float', 'v': 'float'}); "
            "print(s.evaluate({'u': [0.5]})['tint'][0][0], sort_ssl.bindings.lib._name)")
    environment = dict(os.environ, PYTHONPATH=str(prefix / "lib/python3/dist-packages"), PYTHONDONTWRITEBYTECODE="1")
    printed = run("/usr/bin/python3", "-c", code, env=environment, cwd=EXAMPLES)
    assert printed.startswith("0.25 ") and str(prefix) in printed, printed


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="sort-libraries-") as name:
        folder = pathlib.Path(name)
        prefix = install(build, folder)
        check_exports(prefix)
        check_headers(prefix, folder)
        check_python(prefix)
        png(folder / "ramp.png", 256, 256, lambda x, y: (x, y, 0))
        texture = folder / "ramp.stex"
        run(build / "bin/texcache", "make", "--quiet", "--color-space", "linear", folder / "ramp.png", "-o", texture)

        run("cmake", "-S", EXAMPLES, "-B", folder / "cmake", f"-DCMAKE_PREFIX_PATH={prefix}")
        run("cmake", "--build", folder / "cmake")
        check_run_shader(folder / "cmake/run_shader", folder)
        check_fit_frequency(folder / "cmake/fit_frequency")
        check_fit_texels(folder / "cmake/fit_texels")
        check_look_up_texture(folder / "cmake/look_up_texture", texture, folder)

        # A pkg-config that knows these files alone.
        environment = dict(os.environ, PKG_CONFIG_LIBDIR=str(prefix / "lib/pkgconfig"), LD_LIBRARY_PATH=str(prefix / "lib"))

        def compile_by_pkg_config(source, *libraries):
            program = folder / f"{source.stem}_by_pkg_config"
            words = "pkg-config --cflags --libs " + " ".join(libraries)
            flags = run("sh", "-c", f'eval "set -- $({words})"; printf "%s\\n" "$@"', env=environment).splitlines()
            run("cc", "-std=c11", *WARNINGS, source, *flags, "-rdynamic", "-lm", "-o", program)
            return lambda *words, **how: run(program, *words, env=environment, **how)

        check_run_shader_by(compile_by_pkg_config(EXAMPLES / "run_shader.c", "sort-ssl"))
        look_up = compile_by_pkg_config(EXAMPLES / "look_up_texture.c", "sort-texcache")
        assert "missing 0" in look_up(texture, 0.5, 0.5)
        both = compile_by_pkg_config(ROOT / "tests/install/use_both_libraries.c", "sort-ssl", "sort-texcache")
        assert both(texture) == "the shader has read the texture\n"
        for library in LIBRARIES:
            version = run("pkg-config", "--modversion", library, env=environment).strip()
            assert f"project(sort VERSION {version} " in (ROOT / "CMakeLists.txt").read_text()


def check_run_shader_by(program):
    assert "height[0] point  0: 0  d/dx 0.39269" in program(EXAMPLES / "wave.ssl")


if __name__ == "__main__":
    main()
    print("the libraries work as installed")
