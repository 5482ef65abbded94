"""scripts/embree-comparison writes one scene for both renderers, as far as can be told without the tutorial.

    check_embree_comparison.py BIN"""

import importlib.machinery
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "scripts" / "embree-comparison"


def expect(condition, message):
    if not condition:
        sys.exit(f"check_embree_comparison.py: {message}")


def main():
    sys.path.insert(0, str(ROOT / "scripts"))
    loader = importlib.machinery.SourceFileLoader("embree_comparison", str(SCRIPT))
    script = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(script)
    with tempfile.TemporaryDirectory(prefix="sort-embree-comparison-") as place:
        folder = pathlib.Path(place)
        script.write_sort(folder / "scene", (16, 16))
        options = [str(x) for x in script.write_tutorial(folder / "model")]
        done = subprocess.run([pathlib.Path(sys.argv[1]) / "sort-render", "--check", folder / "scene"], capture_output=True, text=True)
        expect(done.returncode == 0, f"the package is refused: {done.stderr}")
        model = (folder / "model" / "box.obj").read_text().split("\n")
        scene = json.loads((folder / "scene" / "scene.json").read_text())
        quads = [line for line in model if line.startswith("f ")]
        corners = [[float(x) for x in line.split()[1:]] for line in model if line.startswith("v ")]
        expect(len(quads) == len(scene["instances"]) == 15, f"{len(quads)} faces and {len(scene['instances'])} instances")
        expect(all(quad.split()[1:] == [str(4 * k + i) for i in range(1, 5)] for k, quad in enumerate(quads)), f"faces {quads}")
        expect(corners == [list(map(float, p)) for _, _, face in script.faces() for p in face], "the corners differ")
        lamp = scene["lights"][0]
        expect(options[3:9] == [str(x) for x in (*lamp["transform"][3:12:4], *lamp["intensity"])], f"lamps: {lamp}, {options}")


main()
