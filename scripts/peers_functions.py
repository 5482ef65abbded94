"""The functions of scripts/bench-peers, which SSL, Slang and Dr.Jit evaluate and differentiate: each as a text that SSL and Slang share but
for spelling, and as a function of Python for Dr.Jit's arrays and NumPy's. The loop and the shapes are those of [Bangaru2023 6.2]."""

from dataclasses import dataclass, field
from typing import Callable

import numpy as np

PI = 3.14159265358979


@dataclass
class Function:
    """f(inputs..., [table], [turns]) -> float or float3. Derivatives are by all inputs, or by the table if `by_table`."""

    name: str
    text: str  # declares f; MIX, TABLE and TABLE_COUNT stand for what SSL and Slang spell differently
    python: Callable  # (m: the mathematics, inputs as lists of arrays, table: index -> array or number, turns, loop) -> list of arrays
    inputs: list  # (name, numbers, least, largest)
    outputs: int = 1
    turns: int = 0  # of a loop; said when it runs, not when it is compiled
    table: np.ndarray = field(default_factory=lambda: np.zeros(0, np.float32))  # numbers that are the same for all points
    by_table: bool = False


def unrolled(count, state, body):
    for i in range(count):
        state = body(i, *state)
    return state


# --- the sine by its series -----------------------------------------------------------------------------

def series_text(turns):
    return """
[Differentiable] float f(float x%s)
{
    float sum = 0, term = x;
    [MaxIters(128)] for (int j = 1; j < %s; ++j) {
        sum += term;
        term *= -x * x * (1.0 / float((2 * j) * (2 * j + 1)));
    }
    return sum;
}
""" % (("", str(turns)) if turns else (", no_diff int n", "n"))


def series(m, inputs, table, turns, loop):
    (x,), = inputs
    state = loop(turns - 1, (m.zero(x), x),
                 lambda i, total, term: (total + term, term * (-x * x * (1 / m.number((2 * i + 2) * (2 * i + 3))))))
    return [state[0]]


# --- functions of the C library in a loop ---------------------------------------------------------------

WAVES = """
[Differentiable] float f(float x, float y, no_diff int n)
{
    float s = 0;
    [MaxIters(16)] for (int i = 0; i < n; ++i)
        s += sin(y + s) * exp(-x) + 0.3 * atan2(s, y) + 0.1 * sqrt(x * x + s * s);
    return s;
}
"""


def waves(m, inputs, table, turns, loop):
    (x,), (y,) = inputs
    return list(loop(turns, (m.zero(x),), lambda i, s: (s + m.sin(y + s) * m.exp(-x) + 0.3 * m.atan2(s, y) + 0.1 * m.sqrt(x * x + s * s),)))


# --- a material -------------------------------------------------------------------------------------------

MATERIAL = """
[Differentiable] float3 f(float3 base, float rough, float metal, float3 n, float3 v)
{
    const float3 l = float3(0.303, 0.505, 0.808), h = normalize(l + v);
    const float nl = max(dot(n, l), 0.01), nv = max(dot(n, v), 0.01), nh = max(dot(n, h), 0.0), vh = max(dot(v, h), 0.0);
    const float a = rough * rough, a2 = a * a, d = nh * nh * (a2 - 1) + 1, ndf = a2 / (3.14159265 * d * d);
    const float gl = nl / (nl + sqrt(a2 + (1 - a2) * nl * nl)), gv = nv / (nv + sqrt(a2 + (1 - a2) * nv * nv));
    const float q = 1 - vh, q2 = q * q;
    const float3 f0 = MIX(float3(0.04), base, metal), fr = f0 + (float3(1.0) - f0) * (q2 * q2 * q);
    return (base * ((1 - metal) / 3.14159265) + fr * (ndf * gl * gv / (4 * nl * nv))) * nl;
}
"""


def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def material(m, inputs, table, turns, loop):
    base, (rough,), (metal,), n, v = inputs
    light = (0.303, 0.505, 0.808)
    h = [light[i] + v[i] for i in range(3)]
    length = m.sqrt(dot(h, h))
    h = [x / length for x in h]
    nl, nv, nh, vh = m.max(dot(n, light), 0.01), m.max(dot(n, v), 0.01), m.max(dot(n, h), 0), m.max(dot(v, h), 0)
    a = rough * rough
    a2 = a * a
    d = nh * nh * (a2 - 1) + 1
    ndf = a2 / (PI * d * d)
    gl, gv = nl / (nl + m.sqrt(a2 + (1 - a2) * nl * nl)), nv / (nv + m.sqrt(a2 + (1 - a2) * nv * nv))
    q = 1 - vh
    fifth = q * q * (q * q) * q
    result = []
    for b in base:
        f0 = 0.04 + (b - 0.04) * metal
        result.append((b * ((1 - metal) / PI) + (f0 + (1 - f0) * fifth) * (ndf * gl * gv / (4 * nl * nv))) * nl)
    return result


# --- noise ------------------------------------------------------------------------------------------------

NOISE = """
int scrambled(int x)
{
    int h = x * 747796405 + 289133645;
    h = (h ^ (h >> 15 & 131071)) * 277803737;
    return h ^ (h >> 13 & 524287);
}

[Differentiable] float corner(no_diff int x, no_diff int y, no_diff int z, float3 d)
{
    const int h = scrambled(x + scrambled(y + scrambled(z)));
    const float3 g = float3(float(h & 255), float(h >> 8 & 255), float(h >> 16 & 255)) * (1.0 / 127.5) - float3(1.0);
    return dot(g, d);
}

[Differentiable] float noise(float3 p)
{
    const float3 cell = no_diff floor(p);
    const int x = int(cell.x), y = int(cell.y), z = int(cell.z);
    const float3 d = p - cell, e = d - float3(1.0), w = d * d * d * (d * (d * 6 - float3(15.0)) + float3(10.0));
    const float a = MIX(corner(x, y, z, d), corner(x + 1, y, z, float3(e.x, d.y, d.z)), w.x);
    const float b = MIX(corner(x, y + 1, z, float3(d.x, e.y, d.z)), corner(x + 1, y + 1, z, float3(e.x, e.y, d.z)), w.x);
    const float a1 = MIX(corner(x, y, z + 1, float3(d.x, d.y, e.z)), corner(x + 1, y, z + 1, float3(e.x, d.y, e.z)), w.x);
    const float b1 = MIX(corner(x, y + 1, z + 1, float3(d.x, e.y, e.z)), corner(x + 1, y + 1, z + 1, e), w.x);
    return MIX(MIX(a, b, w.y), MIX(a1, b1, w.y), w.z);
}

[Differentiable] float f(float3 q)
{
    float s = 0, weight = 1;
    float3 p = q;
    [MaxIters(4)] for (int i = 0; i < 4; ++i) {
        s += weight * noise(p);
        p = p * 2.0;
        weight *= 0.5;
    }
    return s;
}
"""


def scrambled(m, x):
    h = m.whole(x * 747796405 + 289133645)
    h = m.whole((h ^ (h >> 15 & 131071)) * 277803737)
    return m.whole(h ^ (h >> 13 & 524287))


def one_noise(m, p):
    cell = [m.floor(x) for x in p]
    x, y, z = (m.to_whole(c) for c in cell)
    d = [a - b for a, b in zip(p, cell)]
    e = [a - 1 for a in d]
    w = [a * a * a * (a * (a * 6 - 15) + 10) for a in d]

    def corner(i, j, k):
        h = scrambled(m, x + i + scrambled(m, y + j + scrambled(m, z + k)))
        g = [m.number(h >> shift & 255) * (1 / 127.5) - 1 for shift in (0, 8, 16)]
        return dot(g, [(e if far else d)[axis] for axis, far in enumerate((i, j, k))])

    def mix(a, b, t):
        return a + (b - a) * t

    rows = [[mix(corner(0, j, k), corner(1, j, k), w[0]) for j in range(2)] for k in range(2)]
    return mix(mix(*rows[0], w[1]), mix(*rows[1], w[1]), w[2])


def noise(m, inputs, table, turns, loop):
    p, = inputs

    def octave(i, total, weight, *q):
        return total + weight * one_noise(m, q), weight * 0.5, *(x * 2 for x in q)

    return [loop(4, (m.zero(p[0]), m.zero(p[0]) + 1, *p), octave)[0]]


# --- a small network ----------------------------------------------------------------------------------------

WIDTH = 16
NETWORK = """
[Differentiable] float3 f(float2 p, no_diff TABLE w)
{
    float h[16];
    [ForceUnroll] for (int i = 0; i < 16; ++i)
        h[i] = sin(w[3 * i] * p.x + w[3 * i + 1] * p.y + w[3 * i + 2]);
    float k[16];
    [ForceUnroll] for (int i = 0; i < 16; ++i) {
        float s = w[48 + 17 * i + 16];
        [ForceUnroll] for (int j = 0; j < 16; ++j)
            s += w[48 + 17 * i + j] * h[j];
        k[i] = max(s, 0.0);
    }
    float o[3];
    [ForceUnroll] for (int i = 0; i < 3; ++i) {
        float s = w[320 + 17 * i + 16];
        [ForceUnroll] for (int j = 0; j < 16; ++j)
            s += w[320 + 17 * i + j] * k[j];
        o[i] = s;
    }
    return float3(o[0], o[1], o[2]);
}
"""


def network(m, inputs, table, turns, loop):
    (x, y), = inputs
    h = [m.sin(table(3 * i) * x + table(3 * i + 1) * y + table(3 * i + 2)) for i in range(WIDTH)]
    first = 3 * WIDTH

    def layer(values, count, act):
        result = []
        for i in range(count):
            row = first + (WIDTH + 1) * i
            s = table(row + WIDTH)
            for j, value in enumerate(values):
                s = s + table(row + j) * value
            result.append(act(s))
        return result

    k = layer(h, WIDTH, lambda s: m.max(s, 0))
    first += (WIDTH + 1) * WIDTH
    return layer(k, 3, lambda s: s)


def network_table():
    drawn = np.random.default_rng(1).uniform(-1, 1, 3 * WIDTH + (WIDTH + 1) * (WIDTH + 3))
    drawn[:3 * WIDTH] *= 3
    drawn[3 * WIDTH:] *= 0.5
    return drawn.astype(np.float32)


# --- shapes ----------------------------------------------------------------------------------------------------

SHAPES = 24  # discs, and as many boxes
SHAPES_TEXT = """
[Differentiable] float soft(float distance)
{
    return 1 / (1 + exp(distance * 20.0));
}

[Differentiable] float3 f(no_diff float2 p, TABLE t)
{
    float3 c = float3(0.0);
    [ForceUnroll] for (int i = 0; i < 24; ++i) {
        const float2 d = p - float2(t[6 * i], t[6 * i + 1]);
        c += float3(t[6 * i + 3], t[6 * i + 4], t[6 * i + 5]) * soft(sqrt(dot(d, d) + 1e-6) - t[6 * i + 2]);
    }
    [ForceUnroll] for (int i = 0; i < 24; ++i) {
        const float x = abs(p.x - t[144 + 7 * i]) - t[146 + 7 * i], y = abs(p.y - t[145 + 7 * i]) - t[147 + 7 * i];
        const float a = max(x, 0.0), b = max(y, 0.0);
        c += float3(t[148 + 7 * i], t[149 + 7 * i], t[150 + 7 * i]) * soft(sqrt(a * a + b * b + 1e-6) + min(max(x, y), 0.0));
    }
    return c;
}
"""


def shapes(m, inputs, table, turns, loop):
    (px, py), = inputs
    colour = [m.zero(px)] * 3

    def add(distance, paint):
        weight = 1 / (1 + m.exp(distance * 20))
        for i in range(3):
            colour[i] = colour[i] + paint[i] * weight

    for i in range(SHAPES):
        x, y, radius, *paint = (table(6 * i + k) for k in range(6))
        dx, dy = px - x, py - y
        add(m.sqrt(dx * dx + dy * dy + 1e-6) - radius, paint)
    for i in range(SHAPES):
        x, y, width, height, *paint = (table(6 * SHAPES + 7 * i + k) for k in range(7))
        dx, dy = m.abs(px - x) - width, m.abs(py - y) - height
        a, b = m.max(dx, 0), m.max(dy, 0)
        add(m.sqrt(a * a + b * b + 1e-6) + m.min(m.max(dx, dy), 0), paint)
    return colour


def shapes_table():
    rng = np.random.default_rng(2)
    discs = np.concatenate([rng.uniform(0, 1, (SHAPES, 2)), rng.uniform(0.05, 0.2, (SHAPES, 1)), rng.uniform(0, 0.3, (SHAPES, 3))], 1)
    boxes = np.concatenate([rng.uniform(0, 1, (SHAPES, 2)), rng.uniform(0.05, 0.2, (SHAPES, 2)), rng.uniform(0, 0.3, (SHAPES, 3))], 1)
    return np.concatenate([discs.ravel(), boxes.ravel()]).astype(np.float32)


UNIT = ("x", 1, 0.1, 3.0)
FUNCTIONS = {each.name: each for each in (
    Function("series 64", series_text(64), lambda m, i, t, n, loop: series(m, i, t, 64, loop), [UNIT]),
    Function("series 128, turns given", series_text(0), series, [UNIT], turns=128),
    Function("waves", WAVES, waves, [("x", 1, 0.5, 2.0), ("y", 1, 0.2, 2.0)], turns=8),
    Function("material", MATERIAL, material, [("base", 3, 0.05, 0.95), ("rough", 1, 0.2, 0.9), ("metal", 1, 0.0, 1.0), ("n", 3, 0.3, 0.8),
                                              ("v", 3, 0.3, 0.8)], outputs=3),
    Function("noise, 4 octaves", NOISE, noise, [("q", 3, -4.0, 4.0)]),
    Function("network 2-16-16-3", NETWORK, network, [("p", 2, -1.0, 1.0)], outputs=3, table=network_table()),
    Function("48 shapes", SHAPES_TEXT, shapes, [("p", 2, 0.0, 1.0)], outputs=3, table=shapes_table(), by_table=True),
)}
