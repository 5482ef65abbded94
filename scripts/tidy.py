#!/usr/bin/env python3
"""scripts/tidy.py FILE...: clang-tidy over sources, as build/asan compiles them. A source that has passed is not read again, in any
clone, until what the preprocessor makes of it (comments too), its command, the rules or clang-tidy change; the folder of what
has passed is ~/.cache/sort-tidy. Exit code 1: findings, which were printed."""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "asan"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "sort-tidy"
TIDY = "clang-tidy-19"
API = [f"-I{ROOT}/ssl/api", f"-I{ROOT}/textures/api"]
KEPT_DAYS = 60


def commands():
    """{source: the compiler with its options, without its output and the launcher}"""
    found = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        words = words[next(i for i, word in enumerate(words) if pathlib.Path(word).name.startswith("clang")):]
        at = words.index("-o")
        found[pathlib.Path(entry["file"])] = words[:at] + words[at + 2:]
    return found


def rules_of(source):
    """The text of each .clang-tidy that may hold for a source."""
    return [path.read_bytes() for folder in source.parents if folder.is_relative_to(ROOT)
            for path in [folder / ".clang-tidy"] if path.exists()]


def key_of(source, command, version):
    """The name of all that a result depends on; None: the source is compiled by no target, or not at all."""
    if command is None:
        return None
    made = subprocess.run([*command, *API, "-E", "-CC", "-dD"], cwd=BUILD, capture_output=True)
    if made.returncode != 0:
        return None
    parts = [version, *rules_of(source), " ".join(command).encode(), made.stdout]
    whole = hashlib.sha256()
    for part in parts:
        part = part.replace(str(ROOT).encode(), b".")  # the same in all clones
        whole.update(b"%d " % len(part) + part)
    return whole.hexdigest()


def check(source, command, version):
    """Whether it passes."""
    key = key_of(source, command, version)
    if key and (CACHE / key).exists():
        (CACHE / key).touch()
        return True
    done = subprocess.run([TIDY, "-p", str(BUILD), "--quiet", *[f"--extra-arg={word}" for word in API], str(source)], cwd=ROOT,
                          capture_output=True, text=True)
    said = "".join(line for line in done.stderr.splitlines(True) if "warnings generated" not in line)
    sys.stdout.write(done.stdout + said)
    sys.stdout.flush()
    if key and done.returncode == 0 and not done.stdout.strip():
        (CACHE / key).touch()
    return done.returncode == 0


def main():
    sources = [(ROOT / name).resolve() for name in sys.argv[1:]]
    CACHE.mkdir(parents=True, exist_ok=True)
    for path in CACHE.iterdir():
        if time.time() - path.stat().st_mtime > KEPT_DAYS * 86400:
            path.unlink(missing_ok=True)
    version = subprocess.run([TIDY, "--version"], capture_output=True, check=True).stdout
    known = commands()
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        passed = list(pool.map(lambda source: check(source, known.get(source), version), sources))
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
