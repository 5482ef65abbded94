#!/usr/bin/env python3
"""sort_ssl over NumPy arrays: check_python.py BUILD_FOLDER. Values and derivatives are held against closed forms, every struct and
function of the package against the header by a C compiler. Exit code 77: no Python has NumPy."""

import importlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(sys.argv[1]).resolve()
SYSTEM_PYTHON = "/usr/bin/python3"  # the one for which packages of the distribution are
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "docs/examples"), str(pathlib.Path(__file__).parent)]
os.environ["SORT_SSL_LIBRARY"] = str(BUILD / "lib/libsort-ssl.so")
try:
    import numpy as np
except ImportError:
    if sys.executable == SYSTEM_PYTHON or not os.path.exists(SYSTEM_PYTHON):
        print("no Python has numpy (python3-numpy)")
        sys.exit(77)
    os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, "-B", *sys.argv])

import sort_ssl  # noqa: E402
from sort_ssl import bindings  # noqa: E402

WAVE = """
shader wave(float frequency = 3, color tint = color(1, 0.5, 0.25), bool is_odd = false, out float height, out color paint, out int side)
{
    const float2 uv = global_value<uv>;
    const float s = is_odd ? sin(frequency * uv.x) : cos(frequency * uv.x);
    height = s * uv.y;
    paint = tint * s;
    side = s > 0 ? 1 : -1;
}"""
GLOBALS = {"uv": "float2"}
RANDOM = np.random.default_rng(7)


def points(*shape):
    return RANDOM.uniform(0.1, 1, (*shape, 2)).astype(np.float32)


class Values(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.wave = sort_ssl.compile(WAVE, globals=GLOBALS)

    def test_evaluate(self):
        for shape in ((), (1,), (16,), (17, 5), (3, 9000)):
            uv = points(*shape)
            out = self.wave.evaluate({"uv": uv, "frequency": 5})
            expected = np.cos(5 * uv[..., 0].astype(np.float64))
            self.assertEqual(out["paint"].shape, (*shape, 3))
            self.assertEqual([out[name].dtype for name in ("height", "paint", "side")], [np.float32, np.float32, np.int32])
            np.testing.assert_allclose(out["height"], expected * uv[..., 1], atol=1e-6)
            np.testing.assert_allclose(out["paint"], expected[..., None] * (1, 0.5, 0.25), atol=1e-6)
            np.testing.assert_array_equal(out["side"], np.where(out["paint"][..., 0] > 0, 1, -1))

    def test_interface(self):
        self.assertEqual(self.wave.name, "wave")
        self.assertEqual(self.wave.types, {"frequency": "float", "tint": "color", "is_odd": "bool", "global_value<uv>": "float2",
                                           "height": "float", "paint": "color", "side": "int"})
        defaults = self.wave.parameters
        self.assertEqual((defaults["frequency"], defaults["is_odd"]), (3, False))
        np.testing.assert_array_equal(defaults["tint"], [1, 0.5, 0.25])

    def test_pixel_derivatives(self):
        uv, step = points(40), np.float32(0.01)
        out = self.wave.evaluate({"uv": uv, "ddx(uv)": (step, 0), "ddy(uv)": (0, step)}, outputs=["height"], derivatives=True)
        self.assertEqual(sorted(out), ["ddx(height)", "ddy(height)", "height"])
        u, v = uv.astype(np.float64).T
        np.testing.assert_allclose(out["ddx(height)"], -3 * np.sin(3 * u) * v * step, atol=1e-7)
        np.testing.assert_allclose(out["ddy(height)"], np.cos(3 * u) * step, atol=1e-7)

    def test_other_types(self):
        source = """struct Two { int count; float weight; };
            shader s(float list[3], matrix m, Two two, string mode = "plus", out matrix n, out Two more, out float o)
            { n = m; more.count = two.count + 1; more.weight = two.weight * 2;
              o = list[0] + list[2] + attribute<age> + (mode == "plus" ? 10 : -10) + global_value<n>; }"""
        shader = sort_ssl.compile(source, globals={"n": "int"}, attributes={"age": "float"}, constants={"mode": "minus"})
        m = np.arange(16.0).reshape(4, 4)
        out = shader.evaluate({"list": [1, 2, 3], "m": m, "two": [4, 0.5], "age": [0.25, 0.5], "n": [100, 200]})
        np.testing.assert_array_equal(out["n"], [m, m])
        np.testing.assert_array_equal(out["more"], [[5, 1], [5, 1]])
        np.testing.assert_array_equal(out["o"], [94.25, 194.5])
        slopes = shader.jvp({"list": [1, 2, 3], "m": m, "two": [4, 0.5]}, {"list": [1, 0, 3], "two": [0, 1], "m": np.eye(4)})[1]
        np.testing.assert_array_equal(slopes["n"], np.eye(4))
        np.testing.assert_array_equal(slopes["more"], [0, 2])
        self.assertEqual(slopes["o"], 4)
        gradients = shader.vjp({"list": [1, 2, 3], "m": m, "two": [4, 0.5]}, {"o": 2}, by=["list", "m", "two"])
        np.testing.assert_array_equal(gradients["list"], [2, 0, 2])
        np.testing.assert_array_equal(gradients["m"], np.zeros((4, 4)))
        with self.assertRaisesRegex(sort_ssl.SslError, "'list' has no default"):
            shader.evaluate({"m": m, "two": [4, 0.5]})
        with self.assertRaisesRegex(sort_ssl.SslError, "0.5 is no int"):
            shader.evaluate({"list": [1, 2, 3], "m": m, "two": [4, 0.5], "n": 0.5})
        with self.assertRaisesRegex(TypeError, "string"):
            shader.evaluate({"mode": 1})

    def test_textures(self):
        source = "texture2d wood;\nshader s(out color c) { const float2 p = global_value<uv>; c = texture2d_sample<wood>(p.x, p.y); }"
        with self.assertRaisesRegex(ValueError, "'wood'"):
            sort_ssl.compile(source, globals=GLOBALS)

        def ramp(coordinates, with_derivatives):
            s, t = coordinates[:, 0], coordinates[:, 1]
            rgba = np.stack([s, t, s * t, np.ones_like(s)], axis=1)
            by_s, by_t = np.stack([s * 0 + 1, s * 0, t, s * 0], 1), np.stack([s * 0, s * 0 + 1, s, s * 0], 1)
            return np.stack([rgba, by_s, by_t], 1) if with_derivatives else rgba

        shader = sort_ssl.compile(source, globals=GLOBALS, textures={"wood": ramp})
        uv = points(5000)
        out = shader.evaluate({"uv": uv})
        np.testing.assert_array_equal(out["c"][:, 2], uv[:, 0] * uv[:, 1])
        out = shader.evaluate({"uv": uv, "ddx(uv)": (0.5, 0)}, derivatives=True)
        np.testing.assert_allclose(out["ddx(c)"][:, 2], 0.5 * uv[:, 1], rtol=1e-6)

        def broken(coordinates, with_derivatives):
            raise ZeroDivisionError("in the texture")

        with self.assertRaisesRegex(ZeroDivisionError, "in the texture"):
            sort_ssl.compile(source, globals=GLOBALS, textures={"wood": broken}).evaluate({"uv": uv})
        with self.assertRaisesRegex(ValueError, r"not \(\d+, 4\)"):
            sort_ssl.compile(source, globals=GLOBALS, textures={"wood": lambda c, d: c}).evaluate({"uv": uv})


class Derivatives(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.wave = sort_ssl.compile(WAVE, globals=GLOBALS)

    def test_jvp(self):
        uv = points(20, 30)
        du = RANDOM.normal(size=uv.shape).astype(np.float32)
        u, v = np.moveaxis(uv.astype(np.float64), -1, 0)
        values, slopes = self.wave.jvp({"uv": uv}, {"frequency": 2, "uv": du})
        np.testing.assert_array_equal(values["height"], self.wave.evaluate({"uv": uv})["height"])
        expected = -np.sin(3 * u) * v * (2 * u + 3 * du[..., 0]) + np.cos(3 * u) * du[..., 1]
        np.testing.assert_allclose(slopes["height"], expected, atol=3e-6)
        _, (first, second) = self.wave.jvp({"uv": uv}, [{"tint": (1, 0, 2)}, {"frequency": 1}], outputs=["paint"])
        np.testing.assert_allclose(first["paint"], np.cos(3 * u)[..., None] * (1, 0, 2), atol=1e-6)
        np.testing.assert_allclose(second["paint"], (-np.sin(3 * u) * u)[..., None] * (1, 0.5, 0.25), atol=1e-6)

    def test_vjp(self):
        uv, w = points(9000), RANDOM.normal(size=9000).astype(np.float32)
        u, v = uv.astype(np.float64).T
        gradients = self.wave.vjp({"uv": uv, "frequency": 3}, {"height": w})
        self.assertEqual(sorted(gradients), ["frequency", "uv"])
        np.testing.assert_allclose(gradients["uv"], np.stack([-3 * np.sin(3 * u) * v * w, np.cos(3 * u) * w], 1), atol=3e-6)
        self.assertAlmostEqual(gradients["frequency"], np.sum(-np.sin(3 * u) * u * v * w), delta=1e-4)
        slope = sort_ssl.compile("shader s(float k = 1, out float a) { a = ddx(k * k * global_value<x>); }", globals={"x": "float"})
        self.assertEqual(slope.vjp({"k": 3, "x": 2, "ddx(x)": 0.25}, {"a": 1})["k"], 1.5)
        tint = self.wave.vjp({"uv": uv}, {"paint": np.ones(3)}, by=["tint"])["tint"]
        np.testing.assert_allclose(tint, np.full(3, np.sum(np.cos(3 * u))), rtol=1e-6)

    def test_modes_are_transposes(self):
        uv = points(500)
        tangents = {"frequency": 0.7, "tint": (0.1, -2, 3), "uv": RANDOM.normal(size=uv.shape)}
        adjoints = {"height": RANDOM.normal(size=500), "paint": RANDOM.normal(size=(500, 3))}
        _, slopes = self.wave.jvp({"uv": uv}, tangents)
        gradients = self.wave.vjp({"uv": uv}, adjoints, by=list(tangents))
        forward = sum(np.sum(slopes[name] * adjoints[name]) for name in adjoints)
        backward = sum(np.sum(np.multiply(gradients[name], tangents[name])) for name in tangents)
        self.assertAlmostEqual(forward, backward, delta=1e-4)

    def test_gradients_have_the_shape_of_inputs(self):
        """Given once, for all points: sums. Along an axis: sums over the others."""
        shader = sort_ssl.compile("shader s(out float o) { o = global_value<a> * global_value<b> * global_value<c>; }",
                                  globals={"a": "float", "b": "float", "c": "float"})
        a, b, c = (RANDOM.uniform(1, 2, shape).astype(np.float32) for shape in ((70, 1), (90,), ()))
        gradients = shader.vjp({"a": a, "b": b, "c": c}, {"o": 1.0})
        np.testing.assert_allclose(gradients["a"], a * 0 + b.sum(dtype=np.float64) * c, rtol=1e-6)
        np.testing.assert_allclose(gradients["b"], b * 0 + a.sum(dtype=np.float64) * c, rtol=1e-6)
        self.assertEqual(np.shape(gradients["c"]), ())
        np.testing.assert_allclose(gradients["c"], a.sum(dtype=np.float64) * b.sum(dtype=np.float64), rtol=1e-6)

    def test_edges(self):
        """A level above an edge: the area grows by the length of the edge, in pixels, as the edge goes back."""
        shader = sort_ssl.compile("shader s(float at = 0.4, float level = 3, out float o) { o = global_value<uv>.x > at ? level : 0; }",
                                  globals=GLOBALS)
        n = 64
        u, v = np.meshgrid((np.arange(n) + 0.5) / n, (np.arange(n) + 0.5) / n)
        inputs = {"uv": np.stack([u, v], -1), "ddx(uv)": (1 / n, 0), "ddy(uv)": (0, 1 / n)}
        self.assertEqual(shader.vjp(inputs, {"o": 1}, by=["at"])["at"], 0)
        gradient = shader.vjp(inputs, {"o": 1}, by=["at", "level"], edges=True)
        self.assertAlmostEqual(gradient["at"], -3 * n * n, delta=0.01 * 3 * n * n)
        self.assertEqual(gradient["level"], np.sum(u > 0.4))

    def test_texels(self):
        """By the texels of two textures, with a parameter: against differences, forward against backward, at any number of threads."""
        source = """texture2d wood; texture2d stone;
            shader s(float k = 2, out color c, out float a)
            {
                const float2 p = global_value<uv>;
                c = k * texture2d_sample<wood>(p.x, p.y) * texture2d_sample<stone>(p.y, 0.5).g;
                for (int i = 0; i < 3; ++i)
                    a += texture2d_sample_alpha<stone>(p.x * float(i), p.y) * (p.x > 0.5 ? a : 1);
            }"""
        wood, stone = RANDOM.uniform(0, 1, (5, 7, 3)), RANDOM.uniform(0, 1, (3, 4, 4))
        textures = {"wood": sort_ssl.Texture(wood), "stone": sort_ssl.Texture(stone, wrap="clamp")}
        shader = sort_ssl.compile(source, globals=GLOBALS, textures=textures)
        uv = points(300)
        weights = {"c": RANDOM.normal(size=(300, 3)), "a": RANDOM.normal(size=300)}
        gradients = shader.vjp({"uv": uv}, weights, by=["wood", "stone", "k"])
        self.assertEqual([gradients[name].shape for name in ("wood", "stone", "k")], [(5, 7, 3), (3, 4, 4), ()])

        def loss(**texels):
            out = shader.evaluate({"uv": uv, **texels})
            return sum(np.sum(out[name].astype(np.float64) * weights[name]) for name in weights)

        for name, texels, at in (("wood", wood, (2, 3, 1)), ("stone", stone, (1, 2, 1)), ("stone", stone, (0, 0, 3))):
            step = np.zeros(texels.shape)
            step[at] = 0.05
            slope = (loss(**{name: texels + step}) - loss(**{name: texels - step})) / 0.1
            self.assertAlmostEqual(gradients[name][at], slope, delta=2e-4 * (1 + abs(slope)))
        tangents = {"wood": RANDOM.normal(size=wood.shape), "stone": RANDOM.normal(size=stone.shape), "k": 0.3}
        _, slopes = shader.jvp({"uv": uv}, tangents)
        forward = sum(np.sum(slopes[name] * weights[name]) for name in weights)
        backward = sum(np.sum(gradients[name] * tangents[name]) for name in tangents)
        self.assertAlmostEqual(forward, backward, delta=1e-4 * abs(forward))
        # Given as inputs, textures are among those that gradients are by.
        again = shader.vjp({"wood": 2 * wood, "texture2d<stone>": stone, "k": 1}, {"c": np.ones(3)})
        self.assertEqual(sorted(again), ["k", "texture2d<stone>", "wood"])
        self.assertEqual(again["k"], 2 * shader.vjp({"k": 1}, {"c": np.ones(3)})["k"])
        uv, w = points(20_000), RANDOM.normal(size=(20_000, 3))
        results = [sort_ssl.compile(source, globals=GLOBALS, textures=textures, threads=n).vjp({"uv": uv}, {"c": w}, by=["wood"])["wood"]
                   for n in (1, 3)]
        np.testing.assert_array_equal(*results)

    def test_texels_by_any_name(self):
        """Only "ddx(NAME)" is a derivative by pixels."""
        source = "texture2d ddwood; shader s(out float a) { a = texture2d_sample<ddwood>(global_value<uv>.x, 0).r; }"
        shader = sort_ssl.compile(source, globals=GLOBALS, textures={"ddwood": sort_ssl.Texture(np.zeros((2, 2, 3)))})
        given = {"uv": points(20), "ddwood": np.ones((3, 4, 3))}
        np.testing.assert_array_equal(shader.evaluate(given)["a"], np.ones(20))
        self.assertAlmostEqual(np.sum(shader.vjp(given, {"a": 1})["ddwood"]), 20, delta=1e-5)

    def test_texels_refused(self):
        source = "texture2d wood; shader s(out float a) { a = texture2d_sample<wood>(global_value<uv>.x, 0).r; }"
        shader = sort_ssl.compile(source, globals=GLOBALS, textures={"wood": lambda c, d: np.zeros((len(c), 3, 4) if d else (len(c), 4))})
        arrays = sort_ssl.compile(source, globals=GLOBALS, textures={"wood": sort_ssl.Texture(np.zeros((2, 2, 3)))})
        for error, words, call in (
                (TypeError, "is a function, which has no texels", lambda: shader.vjp({"uv": (0, 0)}, {"a": 1}, by=["wood"])),
                (TypeError, "is a function", lambda: shader.evaluate({"uv": (0, 0), "wood": np.zeros((2, 2, 3))})),
                (ValueError, "height, width, 3 or 4", lambda: sort_ssl.Texture(np.zeros((2, 2)))),
                (ValueError, "periodic or clamp", lambda: sort_ssl.Texture(np.zeros((2, 2, 3)), wrap="black")),
                (ValueError, r"shape \(2, 2, 3\), and its tangent", lambda: arrays.jvp({"uv": (0, 0)}, {"wood": np.zeros((3, 2, 3))})),
                (sort_ssl.SslError, "one direction is possible", lambda: arrays.jvp({"uv": (0, 0)}, [{"wood": np.zeros((2, 2, 3))}] * 2)),
                (KeyError, "attribute or texture 'wod'", lambda: arrays.vjp({"uv": (0, 0)}, {"a": 1}, by=["wod"]))):
            with self.assertRaisesRegex(error, words):
                call()

    def test_threads(self):
        """Sums of gradients have the same bits."""
        uv, w = points(50_000), RANDOM.normal(size=50_000)
        results = [sort_ssl.compile(WAVE, globals=GLOBALS, threads=n).vjp({"uv": uv}, {"height": w}, by=["frequency", "uv"])
                   for n in (1, 2, 7)]
        for other in results[1:]:
            self.assertEqual(results[0]["frequency"], other["frequency"])
            np.testing.assert_array_equal(results[0]["uv"], other["uv"])


class Refusals(unittest.TestCase):
    def test_source(self):
        with self.assertRaises(sort_ssl.SslError) as caught:
            sort_ssl.compile("shader s(out float a)\n{\n    a = nothing;\n}\n", name="broken.ssl")
        error = caught.exception
        self.assertEqual(error.status, "source")
        self.assertRegex(str(error), r"broken\.ssl:3:9: error\[S\d{4}\](?s:.*)\^~~")
        first = error.diagnostics[0]
        self.assertEqual((first.severity, first.file, first.line, first.column, first.end_column), ("error", "broken.ssl", 3, 9, 16))

    def test_warnings(self):
        shader = sort_ssl.compile("shader s(out float a)\n{\n    float b = 1;\n    a = 2;\n}\n")
        self.assertEqual([(d.severity, d.code) for d in shader.diagnostics], [("warning", "S0309")])

    def test_faults(self):
        shader = sort_ssl.compile("shader s(out float a) { float w[2] = {1, 2}; a = w[global_value<n>]; }", globals={"n": "int"})
        n = np.zeros(10_000)
        n[8123] = 2
        with self.assertRaises(sort_ssl.ShaderFault) as caught:
            shader.evaluate({"n": n})
        self.assertEqual((caught.exception.kind, caught.exception.point), ("index", 8123))
        self.assertIn("source:1:", str(caught.exception))

    def test_gradients_that_are_no_numbers(self):
        shader = sort_ssl.compile("shader s(float k = 1, out float a) { a = k * global_value<x>; }", globals={"x": "float"})
        with self.assertRaisesRegex(sort_ssl.SslError, r"gradient\(k\) at point 2 is"):
            shader.vjp({"x": [0, 1, np.inf], "k": 1}, {"a": 1})
        with self.assertRaisesRegex(sort_ssl.SslError, r"adjoint\(a\) at point 1 is nan"):
            shader.vjp({"x": [0, 1, 2], "k": 1}, {"a": [0, np.nan, 1]})

    def test_names_and_shapes(self):
        wave = sort_ssl.compile(WAVE, globals=GLOBALS)
        for error, words, call in (
                (KeyError, "no parameter, global, attribute or texture 'none'", lambda: wave.evaluate({"none": 1})),
                (KeyError, "no output 'none'", lambda: wave.evaluate({}, outputs=["none"])),
                (KeyError, "no output 'none'", lambda: wave.vjp({"uv": (1, 2)}, {"none": 1})),
                (ValueError, r"shape \(2,\), and this has \(3,\)", lambda: wave.evaluate({"uv": (1, 2, 3)})),
                (ValueError, "has one value", lambda: wave.evaluate({"frequency": [1, 2]})),
                (ValueError, "no points", lambda: wave.evaluate({"uv": np.zeros((0, 2))})),
                (ValueError, "no output has", lambda: wave.vjp({"uv": (1, 2)}, {})),
                (ValueError, "no input", lambda: wave.vjp({}, {"height": 1})),
                (ValueError, "1 to 4 directions", lambda: wave.jvp({}, [])),
                (TypeError, "bool", lambda: wave.jvp({}, {"is_odd": 1})),
                (TypeError, "derivatives by pixels", lambda: wave.evaluate({"ddx(frequency)": 1})),
                (TypeError, "could not convert", lambda: wave.evaluate({"frequency": "fast"})),
                (ValueError, "none of bool, int", lambda: sort_ssl.compile(WAVE, globals={"uv": "float5"}))):
            with self.assertRaisesRegex(error, words):
                call()
        both = sort_ssl.compile("shader s(float x = 1, out float a) { a = x * global_value<x>; }", globals={"x": "float"})
        with self.assertRaisesRegex(KeyError, "a parameter and a global"):
            both.evaluate({"x": 1})
        self.assertEqual(both.evaluate({"global_value<x>": 2})["a"], 2)
        with self.assertRaisesRegex(sort_ssl.SslError, "S0815") as caught:
            sort_ssl.compile("[Differentiable] float f(float k) { return ddx(k); }\n"
                             "shader s(float k = 1, out float a) { diff_pair<float> p = diff_pair(k); bwd_diff(f)(p, 1.0); a = p.d; }")
        self.assertEqual(caught.exception.diagnostics[0].code, "S0815")


class Torch(unittest.TestCase):
    """The example, with PyTorch if it is installed, else with a stand-in."""

    def test_gradients_pass_through(self):
        try:
            torch = importlib.import_module("torch")
        except ImportError:
            torch = sys.modules["torch"] = importlib.import_module("torch_stand_in")
        function = importlib.import_module("ssl_torch").shader_function(sort_ssl.compile(WAVE, globals=GLOBALS), "height")
        uv, w = points(100), RANDOM.normal(size=100).astype(np.float32)
        frequency = torch.tensor(3.0, requires_grad=True)
        place = torch.tensor(uv, requires_grad=True)
        height = function(uv=place, frequency=frequency)
        height.backward(torch.as_tensor(w))
        u, v = uv.astype(np.float64).T
        np.testing.assert_allclose(height.detach().numpy(), np.cos(3 * u) * v, atol=1e-6)
        np.testing.assert_allclose(frequency.grad.numpy(), np.sum(-np.sin(3 * u) * u * v * w), rtol=1e-4)
        np.testing.assert_allclose(place.grad.numpy()[:, 1], np.cos(3 * u) * w, atol=1e-6)
        fixed = torch.tensor(3.0)
        function(uv=place, frequency=fixed).backward(torch.as_tensor(w))
        self.assertIsNone(fixed.grad)


class Manual(unittest.TestCase):
    def test_examples(self):
        """The page's code, from the first to the last, as one program."""
        page = (ROOT / "docs/manual/python.md").read_text()
        examples = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
        self.assertEqual(len(examples), 4)
        names = {}
        for example in examples:
            exec(compile(example, "python.md", "exec"), names)  # pylint: disable=exec-used
        self.assertIn("first", names)


class Header(unittest.TestCase):
    """A C compiler tells sizes, places and constants of sort_ssl.h, and that functions take what ctypes hands them."""

    def test_layouts(self):
        lines = ["#include \"ssl/api/sort_ssl.h\""]
        for struct in bindings.STRUCTS:
            name = struct.__name__
            lines.append(f"_Static_assert(sizeof({name}) == {bindings.ctypes.sizeof(struct)}, \"\");")
            for field, _ in struct._fields_:
                place = getattr(struct, field)
                lines.append(f"_Static_assert(offsetof({name}, {field}) == {place.offset} && "
                             f"sizeof((({name} *)0)->{field}) == {place.size}, \"\");")
        tables = {"": bindings.STATUSES, "FAULT_": bindings.FAULTS, "TYPE": bindings.TYPES, "SEVERITY": bindings.SEVERITIES}
        for prefix, words in tables.items():
            prefix = "" if prefix in ("TYPE", "SEVERITY") else prefix
            lines += [f"_Static_assert(SORT_SSL_{prefix}{word.upper()} == {i}, \"\");" for i, word in enumerate(words)]
        lines += [f"_Static_assert(SORT_SSL_{name} == {getattr(bindings, name)}u, \"\");" for name in ("VALUE", "DDX", "DDY", "NONE")]
        lines += [f"_Static_assert(SORT_SSL_INPUT_{name} == {getattr(bindings, name)}, \"\");"
                  for name in ("PARAM", "GLOBAL", "ATTRIBUTE", "TEXTURE")]
        lines += [self.prototype(name, *types) for name, types in bindings.FUNCTIONS.items()]
        self.compile(lines)
        with self.assertRaises(AssertionError):
            self.compile([*lines, "_Static_assert(sizeof(SortSslFault) == 1, \"\");"])

    def test_members(self):
        """Each struct has all members that the header declares, also those that fit into its padding."""
        header = re.sub(r"/\*.*?\*/", "", (ROOT / "ssl/api/sort_ssl.h").read_text(), flags=re.S)
        for struct in bindings.STRUCTS:
            body = re.search(rf"typedef struct {struct.__name__} {{(.*?)}} {struct.__name__};", header, re.S)[1]
            members = re.findall(r"(\w+)(?:\[\w+\])?\s*[;,]", body)
            self.assertEqual(members, [name for name, _ in struct._fields_], struct.__name__)

    @staticmethod
    def prototype(name, result, arguments):
        """A call with values of the types that ctypes hands over; numbers and pointers do not convert to each other."""
        c = {bindings.c_int: "int", bindings.c_uint32: "unsigned", bindings.c_bool: "_Bool", bindings.c_size_t: "size_t",
             bindings.c_void_p: "void *", bindings.c_char_p: "const char *", None: "void", bindings.NEW: "void *",
             bindings.NUMBERS: "double *", bindings.ERROR: "SortSslError *", bindings.c_uint64: "uint64_t",
             bindings.POINTER(bindings.c_uint64): "uint64_t *", bindings.POINTER(bindings.c_float): "float *"}

        def spelt(kind):
            return c.get(kind) or f"{kind._type_.__name__} *"

        names = ", ".join(f"{spelt(kind)} a{i}" for i, kind in enumerate(arguments)) or "void"
        values = ", ".join(f"a{i}" for i in range(len(arguments)))
        returned = "" if result is None else "return "
        return f"{spelt(result)} call_{name}({names}); {spelt(result)} call_{name}({names}) {{ {returned}sort_ssl_{name}({values}); }}"

    @staticmethod
    def compile(lines):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "layout.c")
            path.write_text("\n".join(lines))
            flags = ["-std=c11", "-fsyntax-only", "-Werror", "-Wall", "-Wconversion", "-Wno-sign-conversion"]
            done = subprocess.run(["cc", *flags, f"-I{ROOT}", str(path)], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
