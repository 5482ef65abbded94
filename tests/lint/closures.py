#!/usr/bin/env python3
"""Every closure of sort/bsdf/closures.inc has its section in docs/reference/closures.md, and every section its closure."""

import re
import sys

import source_tree

TABLE = "sort/bsdf/closures.inc"
PAGE = "docs/reference/closures.md"


def check(files):
    names = re.findall(r"^CLOSURE\(\w+, (\w+),", files[TABLE], re.MULTILINE)
    sections = re.findall(r"^### (\w+)$", files[PAGE], re.MULTILINE)
    problems = [f"{TABLE}: {name} has no section in {PAGE}" for name in names if name not in sections]
    problems += [f"{PAGE}: there is no closure {name}" for name in sections if name not in names]
    return problems


def load():
    return {name: (source_tree.ROOT / name).read_text(encoding="utf-8") for name in (TABLE, PAGE)}


CLEAN = {TABLE: "CLOSURE(LAMBERT, Lambert, 0,\n", PAGE: "### Lambert\n"}

BROKEN = [
    ({PAGE: ""}, "Lambert has no section"),
    ({TABLE: ""}, "there is no closure Lambert"),
]

if __name__ == "__main__":
    sys.exit(source_tree.main(check, load, CLEAN, BROKEN))
