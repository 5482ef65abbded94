"""The declarations of an SSL source, as `sslc doc` prints them: shaders with parameters, textures, attributes, outputs."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import bpy

from .locate import find_renderer
from .messages import SortError

WAIT_S = 20
_known: dict[str, "Described"] = {}  # by source
KNOWN_MAX = 256


@dataclass(frozen=True)
class Described:
    shaders: tuple[dict, ...] = ()
    errors: tuple[str, ...] = ()  # "line 3: there is no function 'colr'"


def compiler() -> Path:
    add_on = bpy.context.preferences.addons.get(__package__)
    program = find_renderer(add_on.preferences.renderer if add_on else "").with_name("sslc")
    if not program.is_file():
        raise SortError(f"{program} is not there: SSL Script nodes need it")
    return program


def describe(source: str) -> Described:
    if source not in _known:
        if len(_known) >= KNOWN_MAX:
            _known.clear()
        _known[source] = _ask(source)
    return _known[source]


def _ask(source: str) -> Described:
    try:
        with tempfile.TemporaryDirectory(prefix="sort-ssl-") as folder:
            file = Path(folder) / "script.ssl"
            file.write_text(source, encoding="utf-8")
            answer = subprocess.run([str(compiler()), "doc", "--json", str(file)], capture_output=True,
                                    timeout=WAIT_S, encoding="utf-8", errors="replace")
    except (OSError, subprocess.SubprocessError, SortError) as error:
        return Described(errors=(str(error),))
    if answer.returncode != 0:
        found = re.findall(r"^\S*script\.ssl:(\d+):\d+: error(?:\[\w+\])?: (.*)$", answer.stderr, re.M)
        return Described(errors=tuple(f"line {line}: {text}" for line, text in found) or (answer.stderr.strip(),))
    shaders = tuple(record for record in json.loads(answer.stdout) if "shader" in record)  # others are its closures
    return Described(shaders) if shaders else Described(errors=("there is no shader in it",))
