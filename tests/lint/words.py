#!/usr/bin/env python3
"""Comments begin as sentences do: none opens with "Of", "The same" or "As which". Nor does a help text of a program."""

import re
import sys

import source_tree

SUFFIXES = (".c", ".h", ".cpp", ".inc", ".inl", ".py", ".ssl")
# What a comment opens with, after its mark. A reader who meets these first has nothing yet that they refer to.
OPENING = re.compile(r"^(?:/\*+|//+|#+|\*)?[\s*]*(Of|The same|As which)\b")
# One line of a Python comment; the lines below it that begin with # continue it.
HASH = re.compile(r"(?<!\\)(?:^|(?<=\s))#[ ].*(?:\n[ \t]*#.*)*", re.MULTILINE)


# Help texts: of an option or a program in C, and of the rows of tables that users see.
HELP = re.compile(r'\.(?:help|summary) =\s*"((?:\\.|[^"\\\n])*)')
TABLES = ("sort/scene/settings.inc", "sort/film/aovs.inc", "sort/bsdf/closure_sums.inc", "sort/integrator/views.inc")
BSDF_DOC = re.compile(r'string doc = "((?:\\.|[^"\\\n])*)')
STRING = r'"(?:\\.|[^"\\\n])*"'
ROW_TEXT = re.compile(rf'"((?:\\.|[^"\\\n])*)"(?:\s*{STRING})*')
HELP_OPENING = re.compile(r"(of|the same|as which|likewise)\b", re.IGNORECASE)


def help_texts_of(path, text):
    """[(offset, text)], of which those that are cut into several strings begin with the first."""
    pattern = (ROW_TEXT if path in TABLES else HELP if path.startswith("tools/") else
               BSDF_DOC if path.startswith("sort/bsdf/closures/") else None)
    found = pattern.finditer(text) if pattern else ()
    return [(match.start(1), match.group(1)) for match in found]


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
        for offset, words in help_texts_of(path, text):
            opening = HELP_OPENING.match(words)
            if opening:
                messages.append(f"{path}:{source_tree.line_of(text, offset)}: a help text opens with"
                                f" '{opening.group(1)}'; it is read alone")
    return messages


CLEAN = {
    "base/a.c": "/* Offers a value. */\nint a; // the same as b\nchar *t = \"/* Of it */\";\n",
    "base/a.h": "/**\n * Returns the half of x. */\n",
    "tools/a.c": '/* . */ {.help = "size of the picture"}, {.name = "of"}\n',
    "sort/film/aovs.inc": 'AOV(A, a, "its size")\n',
    "ssl/units/a.ssl": "// Doubles x.\n",
    "tests/a.py": "# Often.\nx = 1  # of x\n",
}

BROKEN = [
    ({"base/b.c": "int b;\n/* Of b, the half. */\n"}, "base/b.c:2: a comment opens with 'Of'"),
    ({"base/b.c": "/*\n * The same, doubled. */\n"}, "'The same'"),
    ({"sort/b.h": "int b; /* As which it is seen. */\n"}, "'As which'"),
    ({"ssl/b.inc": "// Of b.\n"}, "'Of'"),
    ({"ssl/units/b.ssl": "shader s(float x = 0) // Of the edge.\n"}, "ssl/units/b.ssl:1: a comment opens"),
    ({"tools/b.c": '{.name = "b",\n .help = "of these, the first"}\n'}, "tools/b.c:2: a help text opens with 'of'"),
    ({"tools/b.c": '{.summary =\n "The same for all."}\n'}, "'The same'"),
    ({"sort/film/aovs.inc": 'AOV(B, b,\n "likewise, for b")\n'}, "aovs.inc:2: a help text"),
    ({"sort/bsdf/closures/b.ssl": 'bsdf B()\n[[ string doc = "Likewise." ]]\n'}, "b.ssl:2: a help text"),
    ({"tests/b.py": "x = 1  # " "Of x\n"}, "tests/b.py:1:"),
]

if __name__ == "__main__":
    sys.exit(source_tree.main(check, lambda: source_tree.read_tree(SUFFIXES, source_tree.FOLDERS + ("scenes",)),
                              CLEAN, BROKEN))
