"""Programs with hard edges, made after the descriptions in [Yang2022 8.2, 8.3.2]: shaders, bounds of their parameters, and what draws their
targets. scripts/bench-fit fits them, scripts/bench-gradients measures how good their gradients are."""

import math
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Program:
    """A shader with its parameters' bounds, and the values that draw its target."""

    def __init__(self, size, iterations, hops, paper):
        self.size, self.iterations, self.hops, self.paper = size, iterations, hops, paper
        self.before, self.bounds, self.colors, self.body, self.target = "", {}, [], [], {}
        self.has_noise = True  # parameters may differ from pixel to pixel

    def number(self, name, low, high):
        self.bounds[name] = (low, high)

    def source(self, width):
        """The shader, for pictures of this width in pixels."""
        params = [f"float {name} = {(low + high) / 2} [[ float min = {low}, float max = {high} ]]" for name, (low, high) in self.bounds.items()]
        params += [f"color {name} = color(0.5) [[ float min = 0, float max = 1 ]]" for name in self.colors]
        return self._shader(width, params, self.body)

    def source_along(self, width):
        """The shader along a line: a parameter X is X_at + X_by times the global `along`."""
        numbers = [("float", name) for name in self.bounds] + [("color", name) for name in self.colors]
        params = [f"{type_name} {name}_at, {type_name} {name}_by" for type_name, name in numbers]
        return self._shader(width, params, [f"const {type_name} {name} = {name}_at + {name}_by * global_value<along>;" for type_name, name in numbers] + self.body)

    def _shader(self, width, params, body):
        text = self.before + "shader main(" + ",\n    ".join(params) + ",\n    out color o)\n{\n    " + "\n    ".join(body) + "\n}\n"
        return text.replace("WIDTH", str(width))

    def draw(self, rng, spread=1.0):
        """Random values; or those of the target, moved by so much of the way to them."""
        values = {name: rng.uniform(low, high) for name, (low, high) in self.bounds.items()}
        values.update({name: tuple(rng.random() for _ in range(3)) for name in self.colors})
        if spread == 1:
            return values
        moved = {name: self.target[name] + spread * (values[name] - self.target[name]) for name in self.bounds}
        moved.update({name: tuple(a + spread * (b - a) for a, b in zip(self.target[name], values[name])) for name in self.colors})
        return moved

    def count(self):
        return len(self.bounds) + 3 * len(self.colors)


def rings(count=10):
    """Overlapping rings, each tilted, so that two of them are linked; more than the picture has, as in the paper."""
    p = Program((120, 60), 5000, 120, "5.0, without noise 19.1")
    p.body = ["const float2 p = global_value<uvw>.xy * float2(2, 1);", "float top = -10, d, z;", "o = color(1);"]
    olympic = [("blue", 0.44, 0.38, 1), ("black", 1.0, 0.38, -1), ("red", 1.56, 0.38, 1), ("yellow", 0.72, 0.62, -1), ("green", 1.28, 0.62, 1)]
    paints = {"blue": (0, 0.3, 0.8), "black": (0, 0, 0), "red": (0.9, 0.05, 0.1), "yellow": (1, 0.7, 0), "green": (0, 0.6, 0.2)}
    for i in range(count):
        p.number(f"x{i}", 0.0, 2.0)
        p.number(f"y{i}", 0.0, 1.0)
        p.number(f"r{i}", 0.08, 0.45)
        p.number(f"inner{i}", 0.5, 0.95)
        p.number(f"tilt{i}", -1.0, 1.0)
        p.colors.append(f"paint{i}")
        p.body += [f"d = length(p - float2(x{i}, y{i}));", f"z = tilt{i} * (p.x - x{i});",
                   f"if (d < r{i} && d > r{i} * inner{i} && z > top) {{ top = z; o = paint{i}; }}"]
        name, x, y, tilt = olympic[i] if i < len(olympic) else ("white", 1.9, 0.1, 0)
        p.target.update({f"x{i}": x, f"y{i}": y, f"r{i}": 0.242, f"inner{i}": 0.82, f"tilt{i}": tilt, f"paint{i}": paints.get(name, (1, 1, 1))})
        if name == "white":
            p.target[f"r{i}"] = 0.08
    return p


def knot(count=10):
    """Bands that are white between two black lines, all of one width: no colour says which ring is which."""
    p = Program((80, 80), 5000, 200, "17.3, without noise never")
    p.number("band", 0.14, 0.3)
    p.number("line", 0.03, 0.06)
    p.target.update({"band": 0.2, "line": 0.05})
    p.body = ["const float2 p = global_value<uvw>.xy * 2;", "float top = -10, d, z;", "o = color(1);"]
    placed = [(0.7, 0.75, 1.0), (1.3, 0.75, -1.0), (1.0, 1.27, 0.1)]
    for i in range(count):
        p.number(f"x{i}", 0.0, 2.0)
        p.number(f"y{i}", 0.0, 2.0)
        p.number(f"r{i}", 0.2, 0.7)
        p.number(f"tilt{i}", -1.0, 1.0)
        p.body += [f"d = abs(length(p - float2(x{i}, y{i})) - r{i});", f"z = tilt{i} * (p.x - x{i});",
                   f"if (d < 0.5 * band && z > top) {{ top = z; o = color(d > 0.5 * band - line ? 0.0 : 1.0); }}"]
        x, y, tilt = placed[i] if i < len(placed) else placed[0]  # rings in one place are one ring
        p.target.update({f"x{i}": x, f"y{i}": y, f"r{i}": 0.45, f"tilt{i}": tilt})
    return p


_BOXES = [(-0.9, -0.4, 0.6, 0.9, 0.4, 1.0), (-0.2, -0.4, -0.8, 0.2, 0.4, 0.6), (0.2, -0.4, -0.8, 0.9, 0.4, -0.4), (0.2, -0.4, -0.1, 0.6, 0.4, 0.2)]


def _four_boxes(p):
    """The parameters of four boxes with a colour for each direction, and a ray at them: from the point e in the direction d."""
    p.body = ["const float2 p = global_value<uvw>.xy * 2 - 1;", "const point e = point(2.5, 4.33, 3);",
              "const vector d = normalize(vector(turn * p.y - p.x * 0.866 - 0.5, p.x * 0.5 - 0.866, p.y - 0.6));"]
    p.number("turn", -0.3, 0.3)
    p.target["turn"] = 0.0
    for i, box in enumerate(_BOXES):
        for k, axis in enumerate("xyz"):
            p.number(f"{axis}{i}", -1.0, 0.7)
            p.number(f"{axis}size{i}", 0.1, 2.0)
            p.target[f"{axis}{i}"] = box[k]
            p.target[f"{axis}size{i}"] = box[3 + k] - box[k]
    for name, paint in (("sidex", (0.9, 0.5, 0.1)), ("sidey", (1.0, 0.7, 0.2)), ("sidez", (0.8, 0.35, 0.05))):
        p.colors.append(name)
        p.target[name] = paint


def boxes():
    """Four boxes by casting a ray at each, with a shade of its own on each side."""
    p = Program((80, 80), 2000, 40, "13.9, without noise 9.0")
    _four_boxes(p)
    p.body += ["float near, far, nearest = 100;", "float3 lo, hi, t0, t1;", "o = color(1);"]
    for i in range(4):
        p.body += [f"lo = (float3(x{i}, y{i}, z{i}) - e) / d;", f"hi = (float3(x{i} + xsize{i}, y{i} + ysize{i}, z{i} + zsize{i}) - e) / d;",
                   "t0 = min(lo, hi); t1 = max(lo, hi);", "near = max(max(t0.x, t0.y), t0.z); far = min(min(t1.x, t1.y), t1.z);",
                   "if (near < far && near < nearest) { nearest = near; o = t0.x > max(t0.y, t0.z) ? sidex : t0.y > t0.z ? sidey : sidez; }"]
    return p


def _marching():
    """The functions of docs/examples/march.ssl, with as many steps as in the paper."""
    text = (ROOT / "docs/examples/march.ssl").read_text(encoding="utf-8")
    assert "MARCH_STEPS = 256" in text
    return text.replace("MARCH_STEPS = 256", "MARCH_STEPS = 64")


_BOX_WORLD = """
struct Box
{
    point low;
    vector size;
    [Differentiable] vector sides(point p) { return abs(p - low - 0.5 * size) - 0.5 * size; }
    [Differentiable] float distance(point p) { const vector s = sides(p); return max(max(s.x, s.y), s.z); }
};
struct World : IScene
{
    Box a, b, c, d;
    color paintx, painty, paintz;
    [Differentiable] float distance(point p) { return min(min(a.distance(p), b.distance(p)), min(c.distance(p), d.distance(p))); }
    [Differentiable] color paint(Box box, point p, no_diff float facing)
    {
        const vector s = box.sides(p);
        return (s.x - max(s.y, s.z)) * facing > 0 ? paintx : (s.y - s.z) * facing > 0 ? painty : paintz;
    }
    [Differentiable] color surface(point p, vector along, no_diff float facing)
    {
        const color ab = (a.distance(p) - b.distance(p)) * facing < 0 ? paint(a, p, facing) : paint(b, p, facing);
        const color cd = (c.distance(p) - d.distance(p)) * facing < 0 ? paint(c, p, facing) : paint(d, p, facing);
        return (min(a.distance(p), b.distance(p)) - min(c.distance(p), d.distance(p))) * facing < 0 ? ab : cd;
    }
    [Differentiable] color sky(vector along) { return color(1); }
};
"""


def marched():
    """The four boxes by marching a ray to what is nearest."""
    p = Program((80, 80), 2000, 40, "40.3, has no noise")
    _four_boxes(p)
    p.has_noise = False
    p.before = _marching() + _BOX_WORLD
    each = ", ".join(f"Box(point(x{i}, y{i}, z{i}), vector(xsize{i}, ysize{i}, zsize{i}))" for i in range(4))
    p.body += [f"const World world = World({each}, sidex, sidey, sidez);", "const float spread = 1.7 / WIDTH;",
               "o = march(world, e, d, 12, spread);"]
    return p


_CSG_WORLD = """
struct Half
{
    point center;
    float radius;
    vector cut; // points out of the half-space
    float height;
    float2 hole, size; // of the cone, where it goes through the plane at distance 1
    float turn;
    color ambient;
    [Differentiable] float ball(point p) { return length(p - center) - radius; }
    [Differentiable] float plane(point p) { return dot(p - center, cut) - height; }
    [Differentiable] float cone(point p)
    {
        const float z = max(p.z, 0.01);
        const float2 q = float2(p.x, p.y) / z - hole;
        const float2 e = float2(cos(turn) * q.x + sin(turn) * q.y, cos(turn) * q.y - sin(turn) * q.x) / size;
        return 0.9 * z * min(size.x, size.y) * (length(e) - 1);
    }
    [Differentiable] float distance(point p) { return max(max(ball(p), plane(p)), -cone(p)); }
    [Differentiable] vector outward(point p, no_diff float facing) { return (ball(p) - plane(p)) * facing > 0 ? (p - center) / radius : cut; }
};
struct World : IScene
{
    Half a, b;
    vector sun; // the way that its light comes from
    color sunlight;
    point lamp;
    color lamplight;
    [Differentiable] float distance(point p) { return min(a.distance(p), b.distance(p)); }
    [Differentiable] color lit(Half half, point p, no_diff float facing)
    {
        const vector n = half.outward(p, facing);
        return half.ambient + sunlight * max(dot(n, sun), 0) + lamplight * max(dot(n, normalize(lamp - p)), 0);
    }
    [Differentiable] color surface(point p, vector along, no_diff float facing)
    {
        return (a.distance(p) - b.distance(p)) * facing < 0 ? lit(a, p, facing) : lit(b, p, facing);
    }
    [Differentiable] color sky(vector along) { return color(1); }
};
"""


def csg():
    """Two balls, each cut by a half-space, without what is in an elliptic cone whose apex is the eye; under a distant light and a lamp."""
    p = Program((40, 40), 2000, 60, "6.1, without noise 6.2")
    p.has_noise = False
    p.before = _marching() + _CSG_WORLD
    bounds = {"x": (-1.2, 1.2), "y": (-1.2, 1.2), "z": (3.0, 5.0), "r": (0.4, 1.4), "cutx": (-1.0, 1.0), "cuty": (-1.0, 1.0), "cutz": (-1.0, 1.0),
              "height": (-0.6, 0.6), "holex": (-0.4, 0.4), "holey": (-0.4, 0.4), "sizex": (0.05, 0.4), "sizey": (0.05, 0.4), "turn": (-1.6, 1.6)}
    placed = [(-0.35, 0.2, 4.0, 1.1, -0.75, 0.35, -0.55, 0.05, -0.17, -0.02, 0.22, 0.15, 0.5),
              (0.4, -0.25, 4.3, 1.1, 0.8, -0.3, -0.5, 0.1, 0.2, -0.1, 0.2, 0.14, 0.6)]
    halves = []
    for i, ambient in enumerate([(0.1, 0.2, 0.5), (0.5, 0.08, 0.1)]):
        for (name, (low, high)), value in zip(bounds.items(), placed[i]):
            p.number(f"{name}{i}", low, high)
            p.target[f"{name}{i}"] = value
        p.colors.append(f"ambient{i}")
        p.target[f"ambient{i}"] = ambient
        halves.append(f"Half(point(x{i}, y{i}, z{i}), r{i}, normalize(vector(cutx{i}, cuty{i}, cutz{i})), height{i}, float2(holex{i}, holey{i}), "
                      f"float2(sizex{i}, sizey{i}), turn{i}, ambient{i})")
    for name, low, high, value in (("sunx", -2.0, 2.0, 0.6), ("suny", -2.0, 2.0, 0.9), ("lampx", -3.0, 3.0, -1.5), ("lampy", -3.0, 3.0, 0.5),
                                   ("lampz", 0.0, 4.0, 2.0)):
        p.number(name, low, high)
        p.target[name] = value
    for name, value in (("sunlight", (0.35, 0.35, 0.3)), ("lamplight", (0.2, 0.3, 0.3))):
        p.colors.append(name)
        p.target[name] = value
    p.body = ["const float2 p = global_value<uvw>.xy * 2 - 1;",
              f"const World world = World({', '.join(halves)}, normalize(vector(sunx, suny, -1)), sunlight, point(lampx, lampy, lampz), lamplight);",
              "const float spread = 1.0 / WIDTH;", "o = march(world, point(0), normalize(vector(p.x, p.y, 2)), 7, spread);"]
    return p


class Path(Program):
    """A way from START to GOAL past discs, by pieces of constant acceleration. Its picture is a row of points of time, as many for each piece, of which
    the mean square is what is to be least: the time in discs, the square of the distance from GOAL at the end, and the fuel."""

    START, GOAL, PIECES, DISCS = (0.05, 0.5), (0.95, 0.5), 10, 5

    def __init__(self):
        super().__init__((100, 1), 1000, 0, "")
        self.has_noise = False
        for i in range(self.PIECES):
            self.number(f"ax{i}", -12.0, 12.0)
            self.number(f"ay{i}", -12.0, 12.0)
            self.number(f"time{i}", 0.02, 0.3)
        self.body = ["const float s = global_value<uvw>.x * %d;" % self.PIECES, "float2 p = float2(%g, %g), v = float2(0), end = p, w = v;" % self.START,
                     "float part, lasts = time0, fuel = 0, inside = 0;"]
        for i in range(self.PIECES):
            self.body += [f"part = time{i} * clamp(s - {i}, 0, 1);", f"p += v * part + 0.5 * part * part * float2(ax{i}, ay{i});",
                          f"v += part * float2(ax{i}, ay{i});", f"end += w * time{i} + 0.5 * time{i} * time{i} * float2(ax{i}, ay{i});",
                          f"w += time{i} * float2(ax{i}, ay{i});", f"fuel += time{i} * sqrt(ax{i} * ax{i} + ay{i} * ay{i} + 0.0001);",
                          f"if (s >= {i}) lasts = time{i};"]
        self.body += [f"if (length(p - float2(discx{k}, discy{k})) < discr{k}) inside = 1;" for k in range(self.DISCS)]
        self.body.append("o = color(inside * sqrt(10 * lasts), 3 * length(end - float2(%g, %g)), sqrt(0.002 * fuel));" % self.GOAL)

    def source(self, width):
        discs = [f"float disc{axis}{k} = 0" for k in range(self.DISCS) for axis in "xyr"]
        params = [f"float {name} = 0 [[ float min = {low}, float max = {high} ]]" for name, (low, high) in self.bounds.items()]
        return self._shader(width, discs + params, self.body)

    def straight(self):
        values = {}
        for i in range(self.PIECES):
            values.update({f"ax{i}": 2 * (self.GOAL[0] - self.START[0]), f"ay{i}": 2 * (self.GOAL[1] - self.START[1]), f"time{i}": 1 / self.PIECES})
        return values

    def obstacles(self, rng):
        """Discs with gaps between them, of which one is in the straight line's way."""
        discs = []
        while len(discs) < self.DISCS:
            x, r = rng.uniform(0.2, 0.8), rng.uniform(0.06, 0.12)
            y = 0.5 + (rng.uniform(-0.5, 0.5) * r if not discs else rng.uniform(-0.3, 0.3))
            if all(math.hypot(x - a, y - b) > r + c + 0.08 for a, b, c in discs + [(*self.START, 0), (*self.GOAL, 0)]):
                discs.append((x, y, r))
        return {f"disc{axis}{k}": value for k, disc in enumerate(discs) for axis, value in zip("xyr", disc)}

    def points(self, values, per_piece):
        """Places along the way, and the last one."""
        x, y, vx, vy, places = *self.START, 0.0, 0.0, []
        for i in range(self.PIECES):
            ax, ay, lasts = (values[f"{name}{i}"] for name in ("ax", "ay", "time"))
            for k in range(per_piece + 1):
                t = lasts * k / per_piece
                places.append((x + vx * t + 0.5 * ax * t * t, y + vy * t + 0.5 * ay * t * t))
            (x, y), vx, vy = places[-1], vx + ax * lasts, vy + ay * lasts
        return places

    def arrives(self, values):
        """Whether no disc is met, but for grazing one, and the end is at the goal: (depth in discs, distance at the end)."""
        places = self.points(values, 200)
        depth = max(values[f"discr{k}"] - math.hypot(x - values[f"discx{k}"], y - values[f"discy{k}"]) for k in range(self.DISCS) for x, y in places)
        return max(depth, 0.0), math.hypot(places[-1][0] - self.GOAL[0], places[-1][1] - self.GOAL[1])


PROGRAMS = {"rings": rings, "knot": knot, "boxes": boxes, "marched": marched, "csg": csg, "path": Path}
