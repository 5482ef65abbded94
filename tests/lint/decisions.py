"""docs/decisions/README.md has a row for every decision, with its title, and names every number that was never used."""

import re
import sys

from source_tree import main, read_tree

INDEX = "docs/decisions/README.md"
ROW = re.compile(r"^\| \[(\d{4})\]\(([^)]+)\) \| ([^|]*) \| (\d{4}-\d\d-\d\d) \| (holds|replaced by \d{4}[^|]*|changed by \d{4}[^|]*) \|$", re.M)


def load():
    return {path: text for path, text in read_tree({".md"}, ("docs",)).items() if path.startswith("docs/decisions/")}


def check(files):
    rows = {name: (number, title) for number, name, title, _, _ in ROW.findall(files[INDEX])}
    unused = set(re.findall(r"\d{4}", files[INDEX].split("Never used:")[-1]))
    messages, numbers = [], set()
    for path, text in files.items():
        name = path.rsplit("/", 1)[-1]
        if path == INDEX:
            continue
        title = re.match(r"# (\d{4}): (.*)", text)
        numbers.add(int(name[:4]))
        if not title or title[1] != name[:4]:
            messages.append(f"{path}: does not begin with its number and its title")
        elif rows.get(name) != (title[1], title[2]):
            messages.append(f"{path}: {INDEX} has no row with its title; run scripts/decisions-index")
    messages += [f"{INDEX}: there is no {name}" for name in rows if f"docs/decisions/{name}" not in files]
    for number in range(1, max(numbers)):
        if (number in numbers) == (f"{number:04}" in unused):
            messages.append(f"{INDEX}: {number:04} is {'used' if number in numbers else 'neither used nor named as unused'}")
    return messages


CLEAN = {INDEX: "| [0002](0002-b.md) | B | 2026-01-01 | holds |\n\nNever used: 0001.\n", "docs/decisions/0002-b.md": "# 0002: B\n"}
BROKEN = [({"docs/decisions/0002-b.md": "# 0002: C\n"}, "no row"), ({"docs/decisions/0002-b.md": "B\n"}, "does not begin"),
          ({INDEX: CLEAN[INDEX].replace("0001", "")}, "0001 is neither"),
          ({INDEX: "| [0003](0003-c.md) | C | 2026-01-01 | holds |\n" + CLEAN[INDEX]}, "0003-c.md")]

if __name__ == "__main__":
    sys.exit(main(check, load, CLEAN, BROKEN))
