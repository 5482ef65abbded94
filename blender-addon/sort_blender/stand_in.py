"""Materials that the renderer's compiler refuses, such as one of more closures than it takes: the rest of the frame renders, with that
material magenta, as with images that are missing."""

from __future__ import annotations

import json
import re
from pathlib import Path

MAGENTA = {"group": {"nodes": {"magenta": {"shader": "unit:emission", "parameters": {"tint": [1.0, 0.0, 1.0], "strength": 1.0}}},
                     "wires": [], "outputs": {"surface": "magenta.light"}}}
REFUSED = re.compile(r"the shader of material '(.+)' has errors|it has errors \(material '(.+)', (?:group|shader) '")
CODE = re.compile(r"^(?:.*?: )?error\[(S\d+)\]: (.*)", re.MULTILINE)
ADVICE = {"S0604": "mix fewer shaders in it, or bake parts of it", "S0603": "take nodes out of it, or bake parts of it"}


def replace_refused(package: Path, said: str) -> tuple[str, str] | None:
    """Makes the material magenta that an error of sort-render is about. Its name, and what to tell the artist; None: it is about none."""
    found = REFUSED.search(said)
    if not found:
        return None
    name, scene = found[1] or found[2], package / "scene.json"
    described = json.loads(scene.read_text(encoding="utf-8"))
    material = next((m for m in described["materials"] if m["name"] == name), None)
    if material is None or material.get("group") == MAGENTA["group"]:
        return None
    material.clear()
    material.update(MAGENTA, name=name)
    scene.write_text(json.dumps(described), encoding="utf-8")
    code = CODE.search(said)
    why = f"{code[2]} ({code[1]})" if code else said.strip().rpartition("\n")[2]
    advice = ADVICE.get(code[1] if code else "", "simplify it, and report it to the authors if it is sound")
    return name, f"its shader cannot be compiled: {why}; it is magenta. What helps: {advice}"
