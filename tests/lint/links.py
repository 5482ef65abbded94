#!/usr/bin/env python3
"""Links between pages lead to files and headings that are there; the index has every page, and every picture has a page."""

import posixpath
import re
import sys

import source_tree

INDEX = "docs/README.md"
PICTURES = "docs/images/"
FOLDERS = source_tree.FOLDERS + ("python", "scenes", "editors")
FENCE = re.compile(r"^```.*?^```", re.M | re.S)
CODE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#+ +(.*?) *$", re.M)
ELSEWHERE = re.compile(r"[a-z]+:")


def blank(found):
    """Spaces in place of a match, so that offsets keep their lines."""
    return re.sub(r"[^\n]", " ", found[0])


def anchors_of(text):
    """The names that GitHub gives to the headings of a page."""
    anchors, counts = set(), {}
    for heading in HEADING.findall(FENCE.sub(blank, text)):
        heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        counts[name] = counts.get(name, -1) + 1
        anchors.add(f"{name}-{counts[name]}" if counts[name] else name)
    return anchors


def links_of(path, text):
    """(line, address, file from the root, anchor) of each link of a page into this repository."""
    plain = CODE.sub(blank, FENCE.sub(blank, text))
    for found in LINK.finditer(plain):
        if ELSEWHERE.match(found[1]):
            continue
        target, _, anchor = found[1].partition("#")
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), target)) if target else path
        yield source_tree.line_of(text, found.start()), found[1], target, anchor


def check(files):
    """`files` has the texts of pages, and an empty text for every other file."""
    folders = {posixpath.dirname(path) for path in files}
    messages, reached, indexed = [], set(), set()
    for path, text in files.items():
        if not path.endswith(".md"):
            continue
        for line, address, target, anchor in links_of(path, text):
            reached.add(target)
            if path.startswith(posixpath.dirname(INDEX)) and posixpath.basename(path) == "README.md":
                indexed.add(target)
            if target not in files and target not in folders:
                messages.append(f"{path}:{line}: {address} leads nowhere")
            elif anchor and anchor not in anchors_of(files.get(target, "")):
                messages.append(f"{path}:{line}: {target} has no heading for #{anchor}")
    for path in files:
        if path.startswith(PICTURES) and path not in reached:
            messages.append(f"{path}: no page shows it")
        if path.startswith("docs/") and path.endswith(".md") and path != INDEX and path not in indexed:
            messages.append(f"{path}: {INDEX} and the index of its folder do not have it")
    return messages


def load():
    files = source_tree.read_tree({".md"}, FOLDERS)
    for path in source_tree.ROOT.iterdir():
        if path.is_file():
            files[path.name] = path.read_text(encoding="utf-8") if path.suffix == ".md" else ""
    for folder in FOLDERS:
        for path in (source_tree.ROOT / folder).rglob("*"):
            if path.is_file():
                files.setdefault(path.relative_to(source_tree.ROOT).as_posix(), "")
    return files


CLEAN = {
    INDEX: "# Index\n[one](manual/one.md) [two](decisions/README.md) [sources](../base/)\n",
    "docs/manual/one.md": "# One\n## What it is: `a_b`\n[here](#what-it-is-a_b) ![p](../images/p.jpg)\n[web](https://x.org/#y)\n"
                          "`[no](link.md)`\n```\n# no heading\n[no](link.md)\n```\n",
    "docs/decisions/README.md": "# Decisions\n[0001](0001-a.md) [one](../manual/one.md#one)\n",
    "docs/decisions/0001-a.md": "# 0001: A\n", "docs/images/p.jpg": "", "base/a.c": "",
}
BROKEN = [
    ({"README.md": "[a](docs/gone.md)\n"}, "README.md:1: docs/gone.md leads nowhere"),
    ({"README.md": "\n[a](docs/manual/one.md#two)\n"}, "README.md:2: docs/manual/one.md has no heading for #two"),
    ({"README.md": "[a](docs/manual/one.md#no-heading)\n"}, "no heading for #no-heading"),
    ({"docs/manual/two.md": "# Two\n"}, "docs/manual/two.md: docs/README.md and the index"),
    ({"docs/images/q.jpg": ""}, "docs/images/q.jpg: no page shows it"),
]

if __name__ == "__main__":
    sys.exit(source_tree.main(check, load, CLEAN, BROKEN))
