#!/usr/bin/env python3
"""Reads what was built: programs, plugins and libraries are hardened. check_hardening.py BUILD_FOLDER

Every file that is loaded has read-only relocations that are bound at once (full RELRO), no segment that is writable and
executable, a stack that is not executable, stack protectors, and checked functions of the C library; programs have no fixed
address. Stack clash protection leaves no mark, and that of control-flow enforcement goes when the system's own start files
have none (Debian 12): for these all commands are looked at.
"""

import json
import pathlib
import platform
import re
import subprocess
import sys

PROGRAMS = ("sort-render", "sslc", "ssl-test", "texcache")


def readelf(path):
    done = subprocess.run(["readelf", "--wide", "--file-header", "--segments", "--dynamic", "--notes", "--dyn-syms", path],
                          capture_output=True, text=True, check=True)
    return done.stdout


def problems_of(text, is_program):
    segments = [line.split() for line in text.splitlines() if re.match(r"\s+(LOAD|GNU_STACK|GNU_RELRO)\s", line)]
    flags = {name: [" ".join(s[6:-1]) for s in segments if s[0] == name] for name in ("LOAD", "GNU_STACK", "GNU_RELRO")}
    checks = {
        "has a fixed address": not is_program or re.search(r"Type:\s+DYN", text) and "PIE" in text,
        "has no RELRO segment": flags["GNU_RELRO"],
        "binds symbols late": re.search(r"\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*NOW", text),
        "has an executable stack": flags["GNU_STACK"] and "E" not in flags["GNU_STACK"][0],
        "has a segment that is writable and executable": not any("W" in f and "E" in f for f in flags["LOAD"]),
        "has relocations in its text": "TEXTREL" not in text,
        "has no stack protectors": "__stack_chk_fail" in text,
        "has no checked functions of the C library": re.search(r"\b__\w+_chk(@|$)", text.replace("__stack_chk_fail", ""),
                                                               re.M),
    }
    return [what for what, is_fine in checks.items() if not is_fine]


def main(build):
    build = pathlib.Path(build)
    files = [(build / "bin" / name, True) for name in PROGRAMS]
    plugins = sorted(build.glob("lib/sort-renderer/*.so"))
    libraries = sorted(build.glob("lib/libsort-*.so"))
    files += [(path, False) for path in plugins + libraries]
    problems = [] if plugins and libraries else ["there are no plugins or no libraries"]
    for path, is_program in files:
        problems += [f"{path.name} {what}" for what in problems_of(readelf(path), is_program)]
    for command in json.loads((build / "compile_commands.json").read_text()):
        wanted = ["-fstack-clash-protection"] + (["-fcf-protection=full"] if platform.machine() == "x86_64" else [])
        problems += [f"{command['file']} is compiled without {flag}" for flag in wanted if flag not in command["command"]]
    # A file that is not hardened must be seen: an object before it is linked has none of all this.
    if len(problems_of(readelf(next(build.glob("base/**/*.o"))), True)) < 4:
        problems.append("this check finds nothing wrong with a plain object")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
