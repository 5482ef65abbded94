#!/usr/bin/env python3
"""check_unit_interfaces.py SSLC: what scripts/unit_interfaces.py reads of each unit is what the compiler reads."""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import unit_interfaces  # noqa: E402


def of_compiler(shader):
    def entry(parameter):
        enum = parameter.get("metadata", {}).get("enum")
        is_text = enum and parameter["type"] == "string"
        return {"type": parameter["type"].partition("[")[0], **({"enum": enum.split("|")} if enum else {}),
                **({"default": parameter["default"]} if is_text else {})}
    return {"inputs": {p["name"]: entry(p) for p in shader["parameters"]},
            "outputs": {output["name"]: output["type"] for output in shader["outputs"]}}


def main():
    folder = ROOT / "ssl" / "units"
    files = sorted(folder.glob("*.ssl"))
    answer = subprocess.run([sys.argv[1], "doc", "--json", *files], check=True, capture_output=True, text=True).stdout
    theirs = {pathlib.Path(shader["file"]).stem: of_compiler(shader) for shader in json.loads(answer)}
    ours = unit_interfaces.interfaces(folder)
    wrong = [unit for unit in {**theirs, **ours} if theirs.get(unit) != ours.get(unit)]
    for unit in wrong:
        print(f"{unit}:\n  compiler {theirs.get(unit)}\n  script   {ours.get(unit)}")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main())
