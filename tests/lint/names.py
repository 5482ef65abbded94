#!/usr/bin/env python3
"""File names: unique in the repository, lower case, none that says nothing; C++ only where decided."""

import posixpath
import re
import sys

import source_tree

SUFFIXES = (".c", ".h", ".cpp", ".inc", ".inl", ".py", ".cmake")
# One in every folder that needs it, by the tools' own rules.
REPEATED = ("__init__.py", "conftest.py")
EMPTY_NAMES = re.compile(r"(utils?|commons?|misc|helpers?|shared|types|core|stuff|tools|global)")
CPP_PLACES = ("plugins/oiio/", "ssl/jit/stack_sizes.cpp", "ssl/jit/long_code.cpp")


def check(files):
    messages, seen = [], {}
    for path in files:
        name = posixpath.basename(path)
        if name in REPEATED:
            continue
        stem, suffix = posixpath.splitext(name)
        if name in seen:
            messages.append(f"{path}: {seen[name]} has the same name")
        seen[name] = path
        if EMPTY_NAMES.fullmatch(stem):
            messages.append(f"{path}: the name '{stem}' does not say what is in it")
        if not re.fullmatch(r"[a-z][a-z0-9_]*", stem):
            messages.append(f"{path}: names are lower case words joined by underscores")
        if suffix == ".cpp" and not path.startswith(CPP_PLACES):
            messages.append(f"{path}: C++ is for {', '.join(CPP_PLACES)} only")
    return messages


CLEAN = {path: "" for path in ("base/str.c", "base/str.h", "sort/film/film.c", "tests/a/test_str.c",
                               "plugins/oiio/oiio_shim.cpp", "x/__init__.py", "y/__init__.py",
                               "ssl/type_table.c")}

BROKEN = [
    ({"ssl/str.h": ""}, "base/str.h has the same name"),
    ({"ssl/util.c": ""}, "does not say"),
    ({"ssl/helpers.h": ""}, "does not say"),
    ({"ssl/types.h": ""}, "does not say"),
    ({"ssl/Lexer.c": ""}, "lower case"),
    ({"ssl/a-b.c": ""}, "lower case"),
    ({"sort/film/film.cpp": ""}, "C++ is for"),
]

if __name__ == "__main__":
    sys.exit(source_tree.main(check, lambda: source_tree.read_tree(SUFFIXES), CLEAN, BROKEN))
