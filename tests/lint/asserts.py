#!/usr/bin/env python3
"""Each folder states its invariants: at least FLOOR assertions in a thousand lines of code."""

import collections
import re
import sys

import source_tree

FLOOR = 8
# SAME is the _Static_assert of the public libraries that two enumerators are equal.
ASSERT = re.compile(r"\b(?:ASSERT|CHECK|CHECK_RARE|UNREACHABLE|_Static_assert|static_assert|SAME)\(")
# Folders that have no floor, with the reason.
EXEMPT = {
    "docs": "examples are programs of others",
}


def folder_of(path):
    """The room of a file: two levels where a folder has rooms, else one."""
    parts = path.split("/")
    if parts[0] in ("sort", "ssl", "tests", "plugins", "textures", "tools") and len(parts) > 2:
        return "/".join(parts[:2])
    return parts[0]


def check(files):
    lines, asserts = collections.Counter(), collections.Counter()
    for path, text in files.items():
        folder = folder_of(path)
        if path.startswith("tests/") or folder in EXEMPT:
            continue
        code = source_tree.split_comments(text)[0]
        lines[folder] += sum(1 for line in code.splitlines() if line.strip())
        asserts[folder] += len(ASSERT.findall(code))
    return [f"{folder}: {asserts[folder]} assertions in {lines[folder]} lines; at least"
            f" {lines[folder] * FLOOR // 1000} are wanted"
            for folder in sorted(lines) if asserts[folder] < lines[folder] * FLOOR // 1000]


CODE = "x;\n" * 249
CLEAN = {
    "base/a.c": CODE + "ASSERT(a);\nASSERT(b);\n",
    "base/a.h": "x;\n" * 100,
    "sort/film/film.c": "x;\n" * 124,
    "tests/base/a.c": CODE,
}

BROKEN = [
    ({"ssl/ir/ir.c": CODE + "/* ASSERT(a); ASSERT(b); */\nASSERT(c);\n"}, "ssl/ir: 1 assertions in 250 lines"),
    ({"sort/film/b.c": "x;\n"}, "sort/film: 0 assertions in 125 lines; at least 1"),
]

if __name__ == "__main__":
    sys.exit(source_tree.main(check, lambda: source_tree.read_tree((".c", ".h", ".cpp", ".inl")), CLEAN, BROKEN))
