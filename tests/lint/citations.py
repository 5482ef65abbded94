#!/usr/bin/env python3
"""Citations such as [Walter2007 eq. 33]: every key has an entry in docs/reference/references.bib, every entry
is cited somewhere, and no key has two."""

import re
import sys

import source_tree

BIBLIOGRAPHY = "docs/reference/references.bib"
ENTRY = re.compile(r"^@\w+\{\s*([^,\s]+)\s*,", re.MULTILINE)
# Opens with a key; may hold more of them: [Igehy1999 sec. 3; Walter2007].
CITATION = re.compile(r"\[(?=[A-Z][A-Za-z]+\d{4})[^\]\[]{0,200}\]")
KEY = re.compile(r"\b[A-Z][A-Za-z]+\d{4,5}[a-z]?\b")


def check(files):
    messages = []
    bibliography = files.get(BIBLIOGRAPHY, "")
    keys = ENTRY.findall(bibliography)
    for key in sorted({key for key in keys if keys.count(key) > 1}):
        messages.append(f"{BIBLIOGRAPHY}: two entries for {key}")
    cited = set()
    for path, text in files.items():
        if path == BIBLIOGRAPHY:
            continue
        for citation in CITATION.finditer(text):
            for key in KEY.findall(citation.group()):
                if key not in keys:
                    line = source_tree.line_of(text, citation.start())
                    messages.append(f"{path}:{line}: no entry for {key} in {BIBLIOGRAPHY}")
                cited.add(key)
    for key in sorted(set(keys) - cited):
        messages.append(f"{BIBLIOGRAPHY}: nothing cites {key}")
    return messages


def load():
    files = source_tree.read_tree((".c", ".h", ".cpp", ".inc", ".inl", ".ssl", ".md", ".bib", ".py"))
    # This folder's examples are no citations.
    return {path: text for path, text in files.items() if not path.startswith("tests/lint/")}


CLEAN = {
    BIBLIOGRAPHY: "@article{Walter2007,\n  title = {x}\n}\n@misc{IEC61966,}\n@book{Veach1997,\n}\n",
    "sort/a.c": "/* GGX [Walter2007 eq. 33] */ x[3] = y[i2000];\n",
    "base/b.h": "/* the curve [IEC61966], and more [Walter2007 sec. 5;\n * Veach1997]. */\n",
}

BROKEN = [
    ({"sort/c.c": "\n/* [Nobody1999 eq. 1] */\n"}, "sort/c.c:2: no entry for Nobody1999"),
    ({"sort/c.c": "/* [Walter2007; Nobody1999] */\n"}, "no entry for Nobody1999"),
    ({"base/b.h": "/* [IEC61966] */\n"}, "nothing cites Veach1997"),
    ({BIBLIOGRAPHY: CLEAN[BIBLIOGRAPHY] + "@misc{IEC61966,}\n"}, "two entries for IEC61966"),
]

if __name__ == "__main__":
    sys.exit(source_tree.main(check, load, CLEAN, BROKEN))
