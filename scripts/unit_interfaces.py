"""What the units of ssl/units declare, read from their text, so that the add-on knows it without a renderer. That it is what
the compiler reads is checked by tests/tools/check_unit_interfaces.py."""

import re

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"')
METADATA = re.compile(r"\[\[.*?\]\]", re.S)
DEFAULT = re.compile(r'=\s*"([^"]*)"')
ENUM = re.compile(r'string\s+enum\s*=\s*"([^"]*)"')
DECLARED = re.compile(r"\s*(?P<out>out\s+)?(?P<type>\w+)\s+(?P<name>\w+)\s*(?:\[\s*\d+\s*\]\s*)*(?:=.*)?$", re.S)


def interface(source):
    """{"inputs": {name: {"type": ...}}, "outputs": {name: type}} of a unit's shader. An input with metadata `enum` has
    "enum": [...] too, and if it is a string "default"."""
    source = COMMENT.sub("", source)
    head = re.search(r"^shader\s+\w+\s*(\[\[.*?\]\])?\s*\(", source, re.S | re.M)
    found = {"inputs": {}, "outputs": {}}
    for text in _parameters(source, head.end()):
        metadata = "".join(METADATA.findall(text))
        declared = DECLARED.match(METADATA.sub("", text).rstrip())
        if declared["out"]:
            found["outputs"][declared["name"]] = declared["type"]
            continue
        entry = found["inputs"][declared["name"]] = {"type": declared["type"]}
        enum = ENUM.search(metadata)
        if enum:
            entry["enum"] = enum[1].split("|")
        if enum and declared["type"] == "string":
            entry["default"] = DEFAULT.search(METADATA.sub("", text))[1]
    return found


def _parameters(source, start):
    """Texts between the commas of the parentheses that open before `start`."""
    depth, begin, at = 0, start, start
    while True:
        string = STRINGS.match(source, at)
        if string:
            at = string.end()
            continue
        if source[at] in "([{":
            depth += 1
        elif source[at] in ")]}":
            depth -= 1
        if depth < 0 or (depth == 0 and source[at] == ","):
            if source[begin:at].strip():
                yield source[begin:at]
            begin = at + 1
        if depth < 0:
            return
        at += 1


def interfaces(folder):
    """By unit, of all files of `folder`."""
    return {path.stem: interface(path.read_text()) for path in sorted(folder.glob("*.ssl"))}
