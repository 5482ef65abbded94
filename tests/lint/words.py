#!/usr/bin/env python3
"""Comments begin as sentences do: none opens with "Of", "The same" or "As which"."""

import re
import sys

import source_tree

# What a comment opens with, after its mark. A reader who meets these first has nothing yet that they refer to.
OPENING = re.compile(r"^(?:/\*+|//+|#+|\*)?[\s*]*(Of|The same|As which)\b")
# One line of a Python comment; the lines below it that begin with # continue it.
HASH = re.compile(r"(?<!\\)(?:^|(?<=\s))#[ ].*(?:\n[ \t]*#.*)*", re.MULTILINE)


def comments_of(path, text):
    if path.endswith(".py"):
        return [(match.start(), match.group(0)) for match in HASH.finditer(text)]
    return source_tree.split_comments(text)[1]


def check(files):
    messages = []
    for path, text in files.items():
        for offset, comment in comments_of(path, text):
            opening = OPENING.match(comment)
            if opening:
                messages.append(f"{path}:{source_tree.line_of(text, offset)}: a comment opens with"
                                f" '{opening.group(1)}'; begin with its subject")
    return messages


CLEAN = {
    "base/a.c": "/* Offers a value. */\nint a; // the same as b\nchar *t = \"/* Of it */\";\n",
    "base/a.h": "/**\n * Returns the half of x. */\n",
    "tests/a.py": "# Often.\nx = 1  # of x\n",
}

BROKEN = [
    ({"base/b.c": "int b;\n/* Of b, the half. */\n"}, "base/b.c:2: a comment opens with 'Of'"),
    ({"base/b.c": "/*\n * The same, doubled. */\n"}, "'The same'"),
    ({"sort/b.h": "int b; /* As which it is seen. */\n"}, "'As which'"),
    ({"ssl/b.inc": "// Of b.\n"}, "'Of'"),
    ({"tests/b.py": "x = 1  # " "Of x\n"}, "tests/b.py:1:"),
]

if __name__ == "__main__":
    sys.exit(source_tree.main(check, lambda: source_tree.read_tree((".c", ".h", ".cpp", ".inc", ".inl", ".py")),
                              CLEAN, BROKEN))
