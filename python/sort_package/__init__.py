"""Writes scene packages for SORT (docs/reference/scene-package.md) with the standard library alone; arrays may also be
numpy's, or anything else with a buffer. The Blender add-on bundles this folder.

    from sort_package import PackageWriter, shapes, place

    w = PackageWriter("out")
    w.add("cameras", "main", {"transform": place.look_at((0, 1, 5), (0, 0, 0)), "fov_y_degrees": 40})
    ball = w.add_mesh("ball", **shapes.sphere(1.0))
    matte = w.add("materials", "matte", {"shader": "unit:gltf_pbr", "parameters": {"base_color": [1, 0, 0]}})
    w.add("instances", "ball", {"mesh": ball, "materials": [matte], "transform": place.identity()})
    w.environment = {"color": [1, 1, 1]}
    w.finish()
"""

from . import place, shapes
from .writer import PackageWriter, file_component, write_curves, write_mesh

__all__ = ["PackageWriter", "file_component", "place", "shapes", "write_curves", "write_mesh"]
