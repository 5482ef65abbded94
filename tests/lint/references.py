"""Checks that everything that documents and comments name exists: files of the tree, decisions, and in documents the functions, types, tests and
options that stand between backticks."""

import re
import sys

from source_tree import FOLDERS, ROOT, line_of, main, read_tree

SOURCES = {".c", ".h", ".cpp", ".inc", ".inl", ".py", ".ssl", ".cmake", ".txt", ".json", ".md", ".bib", ".supp"}
# A path from the root, or the name alone of a source in C. What stands for many files is no name.
PATH = re.compile(rf"(?<![\w./<>*$-])((?:{'|'.join(map(re.escape, FOLDERS))})/[\w./-]*\.(?:c|h|cpp|inc|inl|py|ssl|cmake|md)"
                  r"|docs/decisions/\d{4}|[a-z]\w\w+\.(?:c|h|cpp|inc|inl))(?![\w*<{$/-]|\.\w)")
PLACEHOLDER = re.compile(r"NAME|NNNN")
DECISION = re.compile(r"\bdecisions? (\d{4})\b|docs/decisions/(\d{4})\b|\((0\d{3})\)")
SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
NAME = re.compile(r"^(?:[a-z]|SORT_|SSL_|TEX_|STATUS_)\w*_\w+$") # constants of others are not ours to know
C_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
PY_COMMENT = re.compile(r'"""[\s\S]*?"""|#[^\n]*')
def comments_of(path, text):
    if path.endswith((".c", ".h", ".cpp", ".inc", ".inl")):
        return C_COMMENT.finditer(text)
    if path.endswith((".py", ".cmake", ".txt")):
        return PY_COMMENT.finditer(text)
    return ()


def load():
    files = read_tree(SOURCES, FOLDERS + ("python", "scenes", "editors"))
    for path in ROOT.iterdir():
        if path.is_file() and path.suffix in SOURCES:
            files[path.name] = path.read_text(encoding="utf-8")
    for folder in FOLDERS + ("python", "scenes", "editors"):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file():
                files.setdefault(path.relative_to(ROOT).as_posix(), "")
    return files


def check(files):
    names = {path.rsplit("/", 1)[-1] for path in files}
    decisions = {path.split("/")[-1][:4] for path in files if path.startswith("docs/decisions/")}
    decision_paths = {f"docs/decisions/{number}" for number in decisions}
    words = set()
    for path, text in files.items():
        if not path.endswith(".md"):
            words.update(re.findall(r"[A-Za-z]\w*", text))
    words.update(path.rsplit("/", 1)[-1].split(".")[0] for path in files)
    tests = " ".join(word for word in words if word.startswith("test_")) + " " # documents leave out test_AREA_
    messages = []

    def look(path, text, offset, whole):
        for found in PATH.finditer(text):
            name = found[1]
            if not (name in names or name in files or f"tests/{name}" in files or name in decision_paths
                    or PLACEHOLDER.search(name)):
                messages.append(f"{path}:{line_of(whole, offset + found.start())}: there is no {name}")
        for found in DECISION.finditer(text):
            number = found[1] or found[2] or found[3]
            if number not in decisions:
                messages.append(f"{path}:{line_of(whole, offset + found.start())}: there is no decision {number}")

    for path, text in files.items():
        if path.startswith("tests/lint/"):
            continue # their examples are names of nothing
        if path.endswith(".md"):
            for span in SPAN.finditer(text):
                look(path, span[1], span.start(1), text)
                if NAME.match(span[1]) and span[1] not in words and f"_{span[1]} " not in tests:
                    messages.append(f"{path}:{line_of(text, span.start())}: nothing is called {span[1]}")
        else:
            for comment in comments_of(path, text):
                look(path, comment[0], comment.start(), text)
    return messages


CLEAN = {"base/a.c": "/* See base/b.h and decision 0001. */\nint a_function(void);\n", "base/b.h": "",
         "docs/decisions/0001-x.md": "# 0001: x\n", "docs/a.md": "`base/a.c` has `a_function`, unlike `base/*.c`.\n"}
BROKEN = [({"base/c.c": "/* As base/gone.h says. */\n"}, "base/gone.h"), ({"base/c.c": "/* As gone.c says. */\n"}, "gone.c"),
          ({"docs/b.md": "`no_function`\n"}, "no_function"), ({"docs/b.md": "`base/gone.c`\n"}, "base/gone.c"),
          ({"base/c.c": "/* decision 0002 */\n"}, "decision 0002")]

if __name__ == "__main__":
    sys.exit(main(check, load, CLEAN, BROKEN))
