#!/usr/bin/env python3
"""docs/reference/security.md states limits, files and tests as the sources have them; --write puts the limits of the language in."""

import re
import sys

import source_tree

PAGE = "docs/reference/security.md"
LIMITS = "ssl/ssl_limits.inc"
BEGIN, END = "<!-- limits of the language: python3 tests/lint/security_page.py --write -->\n", "<!-- end -->\n"
LIMIT = re.compile(r'SSL_LIMIT\((SSL_\w+),\s*([^,]+),\s*"([^"]*)"\)')
ROW = re.compile(r"\| `(\w+)` \| (\d+) \| `([\w./]+)` \|")
PATH = re.compile(r"`((?:base|ssl|textures|plugins|sort|tools|cmake|tests)/[\w./]+\.\w+)`")


def number(text):
    """The value of a constant expression of C, or None."""
    if not re.fullmatch(r"[\d\s()*+<>-]+", text):
        return None
    return int(eval(text, {"__builtins__": {}}))  # digits and operators only


def language_table(limits):
    rows = "".join(f"| `{name}` | {number(value)} | {text} |\n" for name, value, text in LIMIT.findall(limits))
    return "| limit | value | of what |\n|---|--:|---|\n" + rows


def check(files):
    if PAGE not in files:
        return [f"{PAGE}: is missing"]
    page, messages = files[PAGE], []
    found = re.search(re.escape(BEGIN) + "(.*?)" + re.escape(END), page, re.S)
    if not found or found.group(1).strip() != language_table(files.get(LIMITS, "")).strip():
        messages.append(f"{PAGE}: its limits are not those of {LIMITS}; run tests/lint/security_page.py --write")
    for name, value, path in ROW.findall(page):
        is_there = re.search(rf"\b{name}\b\s*(?:=|\s)\s*([\d(][^,;/}}\n]*)", files.get(path, ""))
        if not is_there or number(is_there.group(1).strip()) != int(value):
            messages.append(f"{PAGE}: {name} is not {value} in {path}")
    for path in set(PATH.findall(page)):
        if path not in files and "tests/" + path not in files:
            messages.append(f"{PAGE}: there is no {path}")
    return messages


def write():
    files = source_tree.read_tree((".md", ".inc"))
    page = files[PAGE]
    begin, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    with open(source_tree.ROOT / PAGE, "w", encoding="utf-8") as out:
        out.write(page[:begin] + language_table(files[LIMITS]) + page[end:])


CLEAN = {
    LIMITS: 'SSL_LIMIT(SSL_MAX_A, 4 << 2, "of a")\n',
    "base/a.h": "enum { A_MAX = 2 * 8 };\n",
    "tests/base/test_a.c": "",
    PAGE: "| `A_MAX` | 16 | `base/a.h` | a | `base/test_a.c` |\n" + BEGIN
          + "| limit | value | of what |\n|---|--:|---|\n| `SSL_MAX_A` | 16 | of a |\n" + END,
}

BROKEN = [
    ({PAGE: "none"}, "limits are not those"),
    ({PAGE: CLEAN[PAGE].replace("| of a |", "| of b |")}, "limits are not those"),
    ({"base/a.h": "enum { A_MAX = 17 };\n"}, "A_MAX is not 16"),
    ({PAGE: CLEAN[PAGE].replace("test_a.c", "test_b.c")}, "there is no base/test_b.c"),
]

if __name__ == "__main__":
    if "--write" in sys.argv:
        write()
    else:
        sys.exit(source_tree.main(check, lambda: source_tree.read_tree((".md", ".inc", ".c", ".h", ".py", ".cmake")),
                                  CLEAN, BROKEN))
