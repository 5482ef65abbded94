"""Simple meshes, as the arguments of PackageWriter.add_mesh. Sides of quads and boxes in metres; fronts outside."""

from __future__ import annotations

import math


def quad(a, b, c, d) -> dict:
    """Corners counter-clockwise as seen from the front; uv (0, 0), (1, 0), (1, 1), (0, 1)."""
    return {"positions": [x for p in (a, b, c, d) for x in p], "indices": [0, 1, 2, 0, 2, 3],
            "uv": [[0, 0, 1, 0, 1, 1, 0, 1]]}


def join(parts: list[dict]) -> dict:
    """Meshes with the same arrays, as one; part i gets material index i when there are several."""
    out: dict = {"positions": [], "indices": [], "uv": [[]]}
    if len(parts) > 1:
        out["material_indices"] = []
    if all("normals" in part for part in parts):
        out["normals"] = []
    for i, part in enumerate(parts):
        first = len(out["positions"]) // 3
        out["positions"] += part["positions"]
        out["indices"] += [first + k for k in part["indices"]]
        out["uv"][0] += part["uv"][0]
        if "normals" in out:
            out["normals"] += part["normals"]
        if len(parts) > 1:
            out["material_indices"] += [i] * (len(part["indices"]) // 3)
    return out


def box(size=(1.0, 1.0, 1.0)) -> dict:
    """Around the origin, flat faces, each with uv of its own."""
    x, y, z = (s / 2 for s in size)
    faces = [((-x, -y, z), (x, -y, z), (x, y, z), (-x, y, z)), ((x, -y, -z), (-x, -y, -z), (-x, y, -z), (x, y, -z)),
             ((x, -y, z), (x, -y, -z), (x, y, -z), (x, y, z)), ((-x, -y, -z), (-x, -y, z), (-x, y, z), (-x, y, -z)),
             ((-x, y, z), (x, y, z), (x, y, -z), (-x, y, -z)), ((-x, -y, -z), (x, -y, -z), (x, -y, z), (-x, -y, z))]
    mesh = join([quad(*face) for face in faces])
    del mesh["material_indices"]
    return mesh


def surface_of_revolution(point, normal, across: int, along: int) -> dict:
    """point(t) and normal(t) give (radius, height) for t in [0, 1], from bottom to top; smooth normals; u around,
    v along t."""
    mesh: dict = {"positions": [], "normals": [], "uv": [[]], "indices": []}
    for j in range(along + 1):
        (r, y), (nr, ny) = point(j / along), normal(j / along)
        for i in range(across + 1):
            angle = 2 * math.pi * i / across
            c, s = math.cos(angle), -math.sin(angle)
            mesh["positions"] += [r * c, y, r * s]
            mesh["normals"] += [nr * c, ny, nr * s]
            mesh["uv"][0] += [i / across, j / along]
    for j in range(along):
        for i in range(across):
            a = j * (across + 1) + i
            b, c, d = a + 1, a + across + 2, a + across + 1
            if point(j / along)[0] > 0:
                mesh["indices"] += [a, b, c]
            if point((j + 1) / along)[0] > 0:
                mesh["indices"] += [a, c, d]
    return mesh


def sphere(radius: float, across: int = 64, along: int = 32) -> dict:
    def direction(t):
        if t in (0.0, 1.0):
            return 0.0, 2 * t - 1
        return math.sin(math.pi * t), -math.cos(math.pi * t)

    return surface_of_revolution(lambda t: tuple(radius * x for x in direction(t)), direction, across, along)


def torus(radius: float, tube: float, across: int = 96, along: int = 48) -> dict:
    """Around y."""
    def direction(t):
        return math.cos(2 * math.pi * t), math.sin(2 * math.pi * t)

    return surface_of_revolution(lambda t: (radius + tube * direction(t)[0], tube * direction(t)[1]), direction,
                                 across, along)


def grid(size: float, cells: int, height=lambda x, z: 0.0) -> dict:
    """A square of side `size` in the xz plane around the origin, cells x cells quads, lifted by height(x, z);
    normals from the neighbours."""
    n = cells + 1
    at = [size * (i / cells - 0.5) for i in range(n)]
    y = [[height(x, z) for x in at] for z in at]
    step = size / cells
    mesh: dict = {"positions": [], "normals": [], "uv": [[]], "indices": []}
    for j, z in enumerate(at):
        for i, x in enumerate(at):
            dx = (y[j][min(i + 1, cells)] - y[j][max(i - 1, 0)]) / (step * (min(i + 1, cells) - max(i - 1, 0)))
            dz = (y[min(j + 1, cells)][i] - y[max(j - 1, 0)][i]) / (step * (min(j + 1, cells) - max(j - 1, 0)))
            length = math.sqrt(1 + dx * dx + dz * dz)
            mesh["positions"] += [x, y[j][i], z]
            mesh["normals"] += [-dx / length, 1 / length, -dz / length]
            mesh["uv"][0] += [i / cells, 1 - j / cells]
    for j in range(cells):
        for i in range(cells):
            a = j * n + i
            mesh["indices"] += [a, a + n, a + n + 1, a, a + n + 1, a + 1]
    return mesh
