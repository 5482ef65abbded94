"""docs/reference/scene.schema.json against the reader: check_schema.py SORT_RENDER TEST_PACKAGE_WRITE

Every sound scene.json that the tree holds or makes validates; each spoilt one of bad_descriptions.json is refused by
the schema, too, where its row says that the mistake is one of structure (the reader's own refusal is tested by
test_package_bad.c), and passes where only the reader can know."""

import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
PACKAGES = ROOT / "tests" / "sort" / "packages"
SKIPPED = 77

try:
    import jsonschema
except ImportError:
    print("no jsonschema for this Python: install python3-jsonschema")
    sys.exit(SKIPPED)


def made_by_the_tree(folder, sort_render, package_write):
    """Packages by each writer there is: Python's for the gallery, C's by itself and for what is imported."""
    made = subprocess.run([sys.executable, "-B", str(ROOT / "scenes" / "gallery" / "make.py"), folder],
                          capture_output=True, text=True, check=True).stdout.split()
    for model in ("scene.gltf", "layers.gltf", "quad.obj", "tri.ply"):
        package = f"{folder}/{model}.package"
        subprocess.run([sort_render, "--import", str(ROOT / "tests" / "plugins" / "data" / model),
                        "--missing", "magenta", "--export-package", package], check=True, capture_output=True)
        made.append(package)
    subprocess.run([package_write, "--write", f"{folder}/by-hand"], check=True)
    made.append(f"{folder}/by-hand")
    return [pathlib.Path(package) / "scene.json" for package in made]


def spoilt(good, row):
    """The JSON of a row, or None when it is none."""
    assert row["find"] in good, row
    try:
        return json.loads(good.replace(row["find"], row["put"], 1))
    except (ValueError, RecursionError):
        return None


def main():
    schema = json.loads((ROOT / "docs" / "reference" / "scene.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    failures = []
    with tempfile.TemporaryDirectory(prefix="sort-schema-") as folder:
        sound = [ROOT / "scenes" / "chess" / "scene.json", PACKAGES / "scene.json"]
        for path in sound + made_by_the_tree(folder, sys.argv[1], sys.argv[2]):
            for error in validator.iter_errors(json.loads(path.read_text())):
                failures.append(f"{path}: {error.json_path}: {error.message[:200]}")
    good = (PACKAGES / "scene.json").read_text()
    rows = json.loads((PACKAGES / "bad_descriptions.json").read_text())
    for row in rows:
        content = spoilt(good, row)
        if content is None:
            if row["structural"]:
                failures.append(f"{row['put'][:80]}: is no JSON")
        elif validator.is_valid(content) == row["structural"]:
            failures.append(f"{row['message']}: the schema {'takes' if row['structural'] else 'refuses'} it")
    print(f"{len(rows)} bad descriptions, {sum(row['structural'] for row in rows)} of structure")
    if failures:
        sys.exit("\n".join(failures))


main()
