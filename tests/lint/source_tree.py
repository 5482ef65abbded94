"""The kit of the lints: reading the repository's files, and running a check or its self-test."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDERS = ("base", "ssl", "fit", "textures", "plugins", "sort", "tools", "tests", "cmake", "scripts",
           "blender-addon", "docs")


def read_tree(suffixes, folders=FOLDERS):
    """{path from the root: text} of all files with one of these suffixes."""
    files = {}
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in suffixes and path.is_file() and "__pycache__" not in path.parts:
                files[path.relative_to(ROOT).as_posix()] = path.read_text(encoding="utf-8")
    return files


# A comment of C; or a string or character constant, in which no comment begins.
WORD = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def split_comments(text):
    """C source with its comments blanked, in which lines keep their numbers, and [(offset, comment)]."""
    comments = []

    def blank(match):
        word = match.group(0)
        if not word.startswith("/"):
            return word
        comments.append((match.start(), word))
        return "\n" * word.count("\n") or " "
    return WORD.sub(blank, text), comments


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def self_test(check, clean, broken):
    """`check` must accept the files of `clean`, and for each (files, words) of `broken` give exactly
    one message, which has these words in it. `broken` files are added to the clean ones."""
    failures = [f"refuses a clean tree: {message}" for message in check(clean)]
    for files, words in broken:
        messages = check({**clean, **files})
        if len(messages) != 1 or words not in messages[0]:
            failures.append(f"expected '{words}' for {sorted(files)}, got {messages}")
    return failures


def main(check, load, clean, broken):
    """Exit code of a lint: `load()` gives the files of this repository."""
    messages = self_test(check, clean, broken) if "--self-test" in sys.argv else check(load())
    for message in messages:
        print(message)
    print(f"{len(messages)} problem(s)")
    return 1 if messages else 0
