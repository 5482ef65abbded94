#!/usr/bin/env python3
"""Gradients of pictures of marched surfaces (docs/examples/march.ssl): check_march.py BUILD_FOLDER. They are held against central
differences of the picture's means over its pixels, and the area of a ball against its closed form. Exit code 77: no Python has NumPy."""

import math
import os
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(sys.argv[1]).resolve()
SYSTEM_PYTHON = "/usr/bin/python3"  # the one for which packages of the distribution are
sys.path[:0] = [str(ROOT / "python")]
os.environ["SORT_SSL_LIBRARY"] = str(BUILD / "lib/libsort-ssl.so")
try:
    import numpy as np
except ImportError:
    if sys.executable == SYSTEM_PYTHON or not os.path.exists(SYSTEM_PYTHON):
        print("no Python has numpy (python3-numpy)")
        sys.exit(77)
    os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, "-B", *sys.argv])

import sort_ssl  # noqa: E402

SIZE, FINE = 64, 14  # pixels of a picture's side, points of a pixel's
MARCH = (ROOT / "docs/examples/march.ssl").read_text(encoding="utf-8")

WORLD = """
struct World : IScene
{
    %(fields)s
    [Differentiable] float distance(point p) { return %(distance)s; }
    [Differentiable] color surface(point p, vector d, no_diff float facing) { return color(%(surface)s); }
    [Differentiable] color sky(vector d) { return color(0.1); }
};
shader s(%(params)s, out float o)
{
    const float2 p = global_value<uv> / 32.0 - 1.0;
    const World w = {%(values)s};
    o = march(w, point(0), normalize(vector(p, 2)), 8, 1.0 / 64).r;
}"""

BALL = {"fields": "point c; float r;", "distance": "length(p - c) - r", "surface": "1", "params": "float r, float x, float z",
        "values": "point(x, 0.05, z), r"}
# A ball before another one, and what two balls have in common: its outline has two creases.
TWO = {"fields": "float r, x, z; [Differentiable] float front(point p) { return length(p - point(x, 0.1, z)) - r; } "
                 "[Differentiable] float back(point p) { return length(p - point(-0.1, 0, 4)) - 0.8; }",
       "distance": "min(front(p), back(p))", "surface": "front(p) < back(p) ? 0.9 : 0.4", "params": BALL["params"], "values": "r, x, z"}
LENS = {"fields": "float r, x, z;", "distance": "max(length(p - point(-0.2, 0.1, 3)) - 0.7, length(p - point(x, 0.1, z)) - r)", "surface": "1",
       "params": BALL["params"], "values": "r, x, z"}
# A ball without what is in a cone whose apex is the eye: rays go along the cone.
CONE = {"fields": "float r, x, z; [Differentiable] float cone(point p) { return p.z * (length(float2(p.x, p.y) / max(p.z, 0.01) - float2(x, 0.03)) - r); }",
       "distance": "max(length(p - point(0.1, 0, z)) - 0.8, -cone(p))", "surface": "p.z - 2", "params": BALL["params"], "values": "r, x, z"}
BOX = {"fields": "float size, turn, x; [Differentiable] vector sides(point p) { const vector q = p - point(x, 0.2, 3); return "
                 "abs(vector(q.x * cos(turn) + q.z * sin(turn), q.y, q.z * cos(turn) - q.x * sin(turn))) - vector(size, 0.4, 0.45); }",
       "distance": "max(sides(p).x, max(sides(p).y, sides(p).z))",
       "surface": "(sides(p).x - sides(p).z) * facing > 0 ? 0.9 : 0.4", "params": "float size, float turn, float x",
       "values": "size, turn, x"}


def points(per_pixel):
    at = (np.arange(SIZE * per_pixel, dtype=np.float32) + np.float32(0.5)) / per_pixel
    return np.stack(np.meshgrid(at, at), -1)


class Scene:
    def __init__(self, parts):
        self.shader = sort_ssl.compile(MARCH + WORLD % parts, globals={"uv": "float2"})

    def picture(self, params):
        """Its means over pixels."""
        out = self.shader.evaluate({"uv": points(FINE), "ddx(uv)": (1 / FINE, 0), "ddy(uv)": (0, 1 / FINE), **params})["o"]
        return out.astype(np.float64).reshape(SIZE, FINE, SIZE, FINE).mean((1, 3))

    def gradient(self, params, weights):
        inputs = {"uv": points(1), "ddx(uv)": (1, 0), "ddy(uv)": (0, 1), **params}
        return self.shader.vjp(inputs, {"o": weights.astype(np.float32)}, by=list(params), edges=True)


class Marching(unittest.TestCase):
    def test_ball(self):
        """Its picture is a disc whose radius is tan(asin(r / z)), times 64 pixels."""
        scene, worst = Scene(BALL), 0
        for i in range(4):
            r, z = 0.4 + 0.06 * i, 2.6 + 0.1 * i
            area = 0.9 * math.pi * 64 ** 2 / (z * z - r * r) ** 2
            distance = math.hypot(z, 0.05)  # the ball is beside the axis by a little, so that no pixel's center is
            gradient = scene.gradient({"r": r, "x": 0.01, "z": z}, np.ones((SIZE, SIZE)))
            worst = max(worst, abs(gradient["r"] / (area * 2 * r * distance ** 2) - 1), abs(gradient["z"] / (area * -2 * z * r * r) - 1))
        print(f"ball: off by {100 * worst:.2f} % at most")
        self.assertLess(worst, 0.01)

    def compare(self, name, parts, at, steps, limit):
        """Errors are relative to the sum of what all pixels change."""
        scene, errors, u = Scene(parts), [], points(1)
        weights = 1 + 0.5 * np.sin(0.13 * u[..., 0]) * np.cos(0.09 * u[..., 1])
        gradient = scene.gradient(at, weights)
        for param, step in steps.items():
            change = (scene.picture({**at, param: at[param] + step}) - scene.picture({**at, param: at[param] - step})) / (2 * step)
            errors.append((gradient[param] - np.sum(weights * change)) / np.sum(np.abs(weights * change)))
        print(f"{name}: off by {100 * np.max(np.abs(errors)):.2f} % at most")
        self.assertLess(np.max(np.abs(errors)), limit)

    def test_two_balls(self):
        self.compare("two balls", TWO, {"r": 0.35, "x": 0.2, "z": 2.5}, {"r": 0.02, "x": 0.02, "z": 0.04}, 0.01)

    def test_lens(self):
        self.compare("lens", LENS, {"r": 0.6, "x": 0.3, "z": 2.9}, {"r": 0.02, "x": 0.02, "z": 0.04}, 0.03)

    def test_cone(self):
        self.compare("ball without a cone", CONE, {"r": 0.13, "x": 0.02, "z": 3}, {"r": 0.01, "x": 0.01, "z": 0.04}, 0.08)

    def test_box(self):
        self.compare("box with two colours", BOX, {"size": 0.5, "turn": 0.6, "x": 0.1}, {"size": 0.03, "turn": 0.06, "x": 0.04}, 0.06)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
