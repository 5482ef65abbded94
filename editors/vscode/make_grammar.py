#!/usr/bin/env python3
"""The TextMate grammar of SSL, made from the compiler's tables: make_grammar.py [--check].

Words come from ssl/front/token.inc, functions from ssl/ssl_builtins.inc and ssl/stdlib/*.ssl. With --check nothing
is written: the exit code says whether the grammar in the tree is up to date and colours every token."""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
GRAMMAR = pathlib.Path(__file__).resolve().parent / "syntaxes" / "ssl.tmLanguage.json"

CONTROL = {"if", "else", "while", "do", "for", "break", "continue", "return"}
MODIFIERS = {"const", "in", "out", "inout"}
CONSTANTS = {"true", "false"}
STORAGE = {"shader", "struct"}
DERIVATIVES = {"fwd_diff", "bwd_diff", "detach"}  # words of derivatives: not reserved, but coloured
DERIVATIVE_TYPES = {"diff_pair", "differential"}


def tokens():
    text = (ROOT / "ssl/front/token.inc").read_text()
    rows = re.findall(r'^TOKEN_(TYPE|WORD|PUNCTUATION)\(\w+, "([^"]+)"', text, re.MULTILINE)
    return [(kind, word) for kind, word in rows]


def functions():
    names = set(re.findall(r"^BUILTIN_\w+\((\w+),", (ROOT / "ssl/ssl_builtins.inc").read_text(), re.MULTILINE))
    constants = set()
    for path in sorted((ROOT / "ssl/stdlib").glob("*.ssl")):
        text = path.read_text()
        names |= set(re.findall(r"^(?:componentwise )?[a-z]\w* (\w+)\(", text, re.MULTILINE))
        constants |= set(re.findall(r"^const \w+ (\w+)", text, re.MULTILINE))
    return sorted(names), sorted(constants)


def attributes():
    text = (ROOT / "ssl/front/attribute.inc").read_text()
    return re.findall(r'^SSL_ATTRIBUTE\(\w+, "(\w+)"', text, re.MULTILINE)


def words(pattern_words):
    return r"\b(?:" + "|".join(re.escape(word) for word in sorted(pattern_words)) + r")\b"


def grammar():
    types = [word for kind, word in tokens() if kind == "TYPE"]
    plain = [word for kind, word in tokens() if kind == "WORD"]
    marks = [word for kind, word in tokens() if kind == "PUNCTUATION"]
    host = [word for word in plain if word not in CONTROL | MODIFIERS | CONSTANTS | STORAGE]
    names, constants = functions()
    operators = sorted((mark for mark in marks if not re.fullmatch(r"[;,.(){}\[\]]", mark)), key=len, reverse=True)
    number = (r"\b0[xX][0-9a-fA-F]+\b|(?<![\w.])(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?f?")
    return {
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "name": "SSL",
        "scopeName": "source.ssl",
        "fileTypes": ["ssl"],
        "patterns": [{"include": "#" + part} for part in
                     ("directives", "comments", "strings", "host", "declarations", "words", "numbers", "functions", "marks")],
        "repository": {
            "directives": {"name": "comment.line.double-slash.directive.ssl",
                           "match": r"^\s*//\s*((?:expect(?:-\w+)*|case|global|param|constant|texture|shader|loop-budget)):.*$",
                           "captures": {"1": {"name": "keyword.other.directive.ssl"}}},
            "comments": {"patterns": [
                {"name": "comment.line.double-slash.ssl", "match": r"//.*$"},
                {"name": "comment.block.ssl", "begin": r"/\*", "end": r"\*/"}]},
            "strings": {"name": "string.quoted.double.ssl", "begin": '"', "end": '"|$',
                        "patterns": [{"name": "constant.character.escape.ssl", "match": r'\\[nt\\"]'},
                                     {"name": "invalid.illegal.escape.ssl", "match": r"\\."}]},
            "host": {"match": r"(" + words(host) + r")(?:\s*(<)\s*(\w+)\s*(>))?",
                     "captures": {"1": {"name": "keyword.other.host.ssl"},
                                  "2": {"name": "punctuation.definition.host.ssl"},
                                  "3": {"name": "variable.other.host.ssl"},
                                  "4": {"name": "punctuation.definition.host.ssl"}}},
            "declarations": {"match": r"\b(shader|struct|interface)\s+([A-Za-z_]\w*)",
                             "captures": {"1": {"name": "storage.type.ssl"},
                                          "2": {"name": "entity.name.type.ssl"}}},
            "words": {"patterns": [
                {"name": "keyword.control.ssl", "match": words(CONTROL)},
                {"name": "storage.modifier.ssl", "match": words(MODIFIERS | {"no_diff"})},
                {"name": "storage.modifier.attribute.ssl", "match": r"(?<=\[)" + words(attributes())},
                {"name": "keyword.other.derivative.ssl", "match": words(DERIVATIVES) + r"(?=\s*\()"},
                {"name": "storage.type.ssl", "match": words(DERIVATIVE_TYPES) + r"(?=\s*[<(])"},
                {"name": "storage.type.ssl", "match": words(STORAGE | set(types))},
                {"name": "constant.language.ssl", "match": words(CONSTANTS)},
                {"name": "variable.language.ssl", "match": r"\b(?:this|This)\b"},
                {"name": "support.constant.ssl", "match": words(constants)}]},
            "numbers": {"name": "constant.numeric.ssl", "match": number},
            "functions": {"patterns": [
                {"name": "support.function.ssl", "match": words(names) + r"(?=\s*\()"},
                {"name": "entity.name.function.ssl", "match": r"\b[A-Za-z_]\w*(?=\s*\()"}]},
            "marks": {"patterns": [
                {"name": "keyword.operator.ssl", "match": "|".join(re.escape(mark) for mark in operators)},
                {"name": "punctuation.separator.ssl", "match": r"[;,.]"},
                {"name": "punctuation.bracket.ssl", "match": r"[(){}\[\]]"}]},
        },
    }


def patterns_of(node):
    """Every regular expression in the grammar."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("match", "begin", "end"):
                yield value
            else:
                yield from patterns_of(value)
    elif isinstance(node, list):
        for item in node:
            yield from patterns_of(item)


def uncoloured(made):
    """Tokens, functions and literals that no pattern matches as a whole."""
    compiled = [re.compile(pattern) for pattern in patterns_of(made)]
    names, constants = functions()
    wanted = [word for _, word in tokens()] + constants + ["0x1F", "1.0f", ".5", "1e-3", "12"]
    missing = [word for word in wanted if not any(p.fullmatch(word) for p in compiled)]
    support = next(p for p in made["repository"]["functions"]["patterns"] if p["name"].startswith("support"))
    match = re.compile(support["match"])
    return missing + [name for name in names if not match.match(name + "(")]


def main():
    made = grammar()
    text = json.dumps(made, indent=2) + "\n"
    missing = uncoloured(made)
    if missing:
        sys.exit("the grammar does not colour: " + " ".join(missing))
    if "--check" not in sys.argv[1:]:
        GRAMMAR.write_text(text)
    elif not GRAMMAR.exists() or GRAMMAR.read_text() != text:
        sys.exit(f"{GRAMMAR.relative_to(ROOT)} is out of date: run editors/vscode/make_grammar.py")
    package = json.loads((GRAMMAR.parents[1] / "package.json").read_text())
    contributed = package["contributes"]["grammars"][0]
    if contributed["scopeName"] != made["scopeName"] or not (GRAMMAR.parents[1] / contributed["path"]).exists():
        sys.exit("package.json names another grammar")


if __name__ == "__main__":
    main()
