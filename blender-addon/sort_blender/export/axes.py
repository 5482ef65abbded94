"""From Blender's space (right-handed, z up) to that of packages (right-handed, y up).

Only placements are converted, here. What is inside an object, its vertices, normals and light axes, stays
in the object's own space; cameras and lights look along -z with y up in both worlds.
"""

from __future__ import annotations

import math

import numpy as np
from mathutils import Matrix, Vector

Z_UP_TO_Y_UP = Matrix(((1, 0, 0, 0), (0, 0, 1, 0), (0, -1, 0, 0), (0, 0, 0, 1)))


THINNEST = 1e-6  # of the largest scale
FLAT = 1e-18  # a determinant below which scales are looked at


def is_somewhere(matrix: Matrix) -> bool:
    """No number of it is infinite or none."""
    return math.isfinite(sum(map(sum, matrix)))


def with_thickness(matrix: Matrix) -> Matrix | None:
    """An object scaled to nothing along an axis gets some thickness: the renderer turns matrices around. None: all of it is
    a point, or it is nowhere."""
    if not is_somewhere(matrix):
        return None
    if abs(matrix.to_3x3().determinant()) > FLAT:
        return matrix
    left, scales, right = np.linalg.svd(np.array(matrix.to_3x3(), np.float64))
    if scales[0] < 1e-9:
        return None
    mended = left @ np.diag(np.maximum(scales, THINNEST * scales[0])) @ right
    return Matrix.Translation(matrix.translation) @ Matrix(mended.tolist()).to_4x4()


def place(object_to_world: Matrix) -> list[float]:
    """The `transform` of a record: 16 numbers, row by row."""
    return [x for row in Z_UP_TO_Y_UP @ object_to_world for x in row]


def without_scale(matrix: Matrix, may_mirror: bool = False) -> Matrix | None:
    """Rotation and translation alone, and mirroring if asked for; z and the translation stay, x as near as can be. None: there is
    no such matrix, since an axis has no length or it is nowhere."""
    if not is_somewhere(matrix):
        return None
    x, _, z = (matrix.col[k].xyz for k in range(3))
    if z.length < 1e-12:
        return None
    z = z.normalized()
    y = z.cross(x)
    if y.length < 1e-12:
        return None
    y = y.normalized()
    x = y.cross(z)
    if may_mirror and matrix.determinant() < 0:
        y = -y
    return Matrix.Translation(matrix.translation) @ columns(x, y, z).to_4x4()


def is_sheared(matrix: Matrix) -> bool:
    """Whether its axes are not at right angles, to more than an arc minute."""
    x, y, z = (matrix.col[k].xyz.normalized() for k in range(3))
    return max(abs(x.dot(y)), abs(y.dot(z)), abs(z.dot(x))) > 3e-4


def columns(x: Vector, y: Vector, z: Vector) -> Matrix:
    return Matrix((x, y, z)).transposed()
