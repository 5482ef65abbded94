"""A depsgraph to a scene package. scene.py walks; each other module turns one kind of object into the
records of docs/reference/scene-package.md; package.py writes. These modules need numpy."""
