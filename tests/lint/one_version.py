"""Every part says the version that CMakeLists.txt gives, and CHANGELOG.md begins with it."""

import re
import sys

from source_tree import ROOT, main

PLACES = {
    "blender-addon/sort_blender/__init__.py": r'"version": \((\d+, \d+, \d+)\)',
    "editors/vscode/package.json": r'"version": "([^"]+)"',
    "python/sort_farm/__init__.py": r'^__version__ = "([^"]+)"',
    "python/sort_ssl/bindings.py": r'^VERSION = "([^"]+)"',
    "CHANGELOG.md": r"^## (\S+?),? ",
}


def load():
    return {path: (ROOT / path).read_text(encoding="utf-8") for path in ("CMakeLists.txt", *PLACES)}


def check(files):
    version = re.search(r"project\(sort VERSION (\S+)", files["CMakeLists.txt"])[1]
    messages = []
    for path, pattern in PLACES.items():
        found = re.search(pattern, files[path], re.M)
        said = found[1].replace(", ", ".") if found else "none"
        if said != version:
            messages.append(f"{path}: the version is {said}, that of CMakeLists.txt is {version}")
    return messages


CLEAN = {"CMakeLists.txt": "project(sort VERSION 1.2.3 LANGUAGES C)",
         "blender-addon/sort_blender/__init__.py": '    "version": (1, 2, 3),', "editors/vscode/package.json": '"version": "1.2.3"',
         "python/sort_farm/__init__.py": '__version__ = "1.2.3"\n',
         "python/sort_ssl/bindings.py": 'VERSION = "1.2.3"\n',
         "CHANGELOG.md": "# Changes\n\n## 1.2.3, not yet released\n"}
BROKEN = [({"CHANGELOG.md": "## 1.2.2 of May\n"}, "CHANGELOG.md"),
          ({"editors/vscode/package.json": "{}"}, "none"),
          ({"blender-addon/sort_blender/__init__.py": '"version": (1, 2, 4)'}, "1.2.4")]

if __name__ == "__main__":
    sys.exit(main(check, load, CLEAN, BROKEN))
