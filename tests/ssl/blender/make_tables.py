"""Writes the tables of this folder: SSL tests that hold the library against Blender's nodes.

    blender -b --factory-startup --python-exit-code 1 -P tests/ssl/blender/make_tables.py

Each test computes the largest difference over its points, where 1 stands for the tolerance."""

import math
import os
import random
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import oracle  # noqa: E402

COUNT = 24


def single(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def number(x):
    if math.isnan(x) or math.isinf(x):
        sys.exit("a table with a number that is not finite")
    return f"{single(x):.9g}"


def literal(row):
    return f"float{len(row)}({', '.join(map(number, row))})" if isinstance(row, tuple) else number(row)


def table(name, rows, kind=None):
    """A constant array; nested lists make nested arrays."""
    kind = kind or {3: "float3", 4: "float4"}.get(len(rows[0]) if isinstance(rows[0], tuple) else 1, "float")
    lines, line = [], "   "
    for row in rows:
        piece = f" {literal(row)},"
        if len(line) + len(piece) > 100:
            lines.append(line)
            line = "   "
        line += piece
    lines.append(line)
    return f"const {kind} {name}[{len(rows)}] = {{\n" + "\n".join(lines) + "\n};\n"


def uniform(rng, low, high, count=COUNT):
    return [single(rng.uniform(low, high)) for _ in range(count)]


def points(rng, reach=4.0):
    """Anywhere, on the lattice, on the axes, far away."""
    rows = [tuple(uniform(rng, -reach, reach, 4)) for _ in range(COUNT)]
    rows[0] = (0.0, 0.0, 0.0, 0.0)
    rows[1] = (1.0, -2.0, 3.0, 0.0)
    rows[2] = (-0.5, 0.5, 1.5, -2.5)
    rows[3] = (100.25, -57.125, 33.5, 250.75)
    return rows


def write(name, head, outputs, body):
    """outputs: names of the differences, each expected to be at most the tolerance."""
    expectations = "".join(f"// expect: {o} = true\n" for o in outputs)
    declared = ", ".join(f"out bool {o}" for o in outputs)
    with open(os.path.join(HERE, name + ".ssl"), "w", encoding="ascii") as out:
        out.write(f"// Made by make_tables.py with Blender {oracle.bpy.app.version_string}; not to be edited.\n")
        out.write(expectations + "\n" + head)
        out.write(ERROR + f"\nshader main({declared})\n{{\n{body}}}\n")


ERROR = """
const float tolerance = 1e-5;

float error(float found, float expected)
{
    return abs(found - expected) / max(1.0, abs(expected));
}

float error(float3 found, float3 expected)
{
    return max(max(error(found.x, expected.x), error(found.y, expected.y)), error(found.z, expected.z));
}
"""


def domain(rows):
    return {"Vector": [r[:3] for r in rows], "W": [r[3] for r in rows]}


def sweep(dims, call, checks, extra=""):
    """A loop over the points; checks: {output: expression of the error}."""
    text = ""
    for output in checks:
        text += f"    float {output}_worst = 0;\n"
    text += f"    for (int i = 0; i < {COUNT}; i++) {{\n{extra}{call}"
    for output, expression in checks.items():
        text += f"        {output}_worst = max({output}_worst, {expression});\n"
    text += "    }\n"
    for output in checks:
        text += f"    {output} = {output}_worst <= tolerance;\n"
    return text


def noise(rng):
    rows = points(rng)
    scale, detail = uniform(rng, 0.5, 6), uniform(rng, 0, 5)
    roughness, distortion = uniform(rng, 0, 1), uniform(rng, -2, 2)
    detail[:8] = [0.0, 1.0, 2.0, 3.0, -1.0, 20.0, 2.5, 0.25]
    roughness[8:12] = [-0.5, 1.5, 0.0, 1.0]
    distortion[4:14] = [0.0] * 10
    inputs = {**domain(rows), "Scale": scale, "Detail": detail, "Roughness": roughness, "Distortion": distortion}
    for dims in range(1, 5):
        if dims == 1:
            inputs = {k: v for k, v in inputs.items() if k != "Vector"}
        elif dims < 4:
            inputs = {k: v for k, v in inputs.items() if k != "W"} | {"Vector": domain(rows)["Vector"]}
        else:
            inputs = inputs | domain(rows)
        value, tint = oracle.evaluate("ShaderNodeTexNoise", {"noise_dimensions": f"{dims}D"}, inputs, ["Fac", "Color"])
        head = table("points", rows) + table("settings", list(zip(scale, detail, roughness, distortion)))
        head += table("values", value) + table("tints", tint)
        body = sweep(
            dims,
            f"        float value;\n        color tint;\n        const float4 s = settings[i];\n"
            f"        blender_noise_texture(points[i].xyz, points[i].w, {dims}, s.x, s.y, s.z, s.w, value, tint);\n",
            {"value_agrees": "error(value, values[i])", "tint_agrees": "error(tint, tints[i])"})
        write(f"blender_noise_{dims}d", head, ["value_agrees", "tint_agrees"], body)


def white_noise(rng):
    rows = points(rng)
    head, body, outputs = table("points", rows), "", []
    for dims in range(1, 5):
        inputs = domain(rows)
        if dims == 1:
            del inputs["Vector"]
        elif dims < 4:
            del inputs["W"]
        value, tint = oracle.evaluate("ShaderNodeTexWhiteNoise", {"noise_dimensions": f"{dims}D"}, inputs, ["Value", "Color"])
        head += table(f"values{dims}", value) + table(f"tints{dims}", tint)
        outputs += [f"value{dims}_is_equal", f"tint{dims}_is_equal"]
        body += f"    value{dims}_is_equal = true;\n    tint{dims}_is_equal = true;\n"
        body += f"    for (int i = 0; i < {COUNT}; i++) {{\n        float value;\n        color tint;\n"
        body += f"        blender_white_noise(points[i].xyz, points[i].w, {dims}, value, tint);\n"
        body += f"        value{dims}_is_equal = value{dims}_is_equal && value == values{dims}[i];\n"
        body += f"        tint{dims}_is_equal = tint{dims}_is_equal && tint == tints{dims}[i];\n    }}\n"
    write("blender_white_noise", head, outputs, body)


MUSGRAVE = ["MULTIFRACTAL", "FBM", "HYBRID_MULTIFRACTAL", "RIDGED_MULTIFRACTAL", "HETERO_TERRAIN"]


def musgrave(rng):
    rows = points(rng)
    scale, detail = uniform(rng, 0.5, 3), uniform(rng, 0, 5)
    dimension, lacunarity = uniform(rng, 0, 3), uniform(rng, 1, 3)
    offset, boost = uniform(rng, -1, 1), uniform(rng, 0, 3)
    detail[:6] = [0.0, 1.0, 2.0, 4.0, -1.0, 0.25]
    rows[3] = (10.25, -5.125, 3.5, 7.75)
    dimension[6], lacunarity[7] = 0.25, 0.5
    head = table("points", rows) + table("settings", list(zip(scale, detail, dimension, lacunarity)))
    head += table("offsets", offset) + table("boosts", boost)
    for dims in range(1, 5):
        inputs = domain(rows) | {"Scale": scale, "Detail": detail, "Dimension": dimension, "Lacunarity": lacunarity}
        if dims == 1:
            del inputs["Vector"]
        elif dims < 4:
            del inputs["W"]
        own, outputs = head, []
        for kind, name in enumerate(MUSGRAVE):
            settings = dict(inputs)
            if kind >= 2:
                settings["Offset"] = offset
            if kind in (2, 3):
                settings["Gain"] = boost
            (value,) = oracle.evaluate("ShaderNodeTexMusgrave", {"musgrave_dimensions": f"{dims}D", "musgrave_type": name}, settings, ["Fac"])
            own += table(f"values{kind}", value)
            outputs.append(f"{name.lower()}_agrees")
        body = "    float worst[5] = {0, 0, 0, 0, 0};\n"
        body += f"    for (int i = 0; i < {COUNT}; i++)\n        for (int kind = 0; kind < 5; kind++) {{\n"
        body += "            const float4 s = settings[i];\n"
        body += "            const float expected[] = {" + ", ".join(f"values{k}[i]" for k in range(5)) + "};\n"
        body += f"            const float value = blender_musgrave_texture(points[i].xyz, points[i].w, {dims}, kind, s.x, s.y, s.z, s.w,\n"
        body += "                                                         offsets[i], boosts[i]);\n"
        body += "            worst[kind] = max(worst[kind], error(value, expected[kind]));\n        }\n"
        body += "".join(f"    {o} = worst[{k}] <= tolerance;\n" for k, o in enumerate(outputs))
        write(f"blender_musgrave_{dims}d", own, outputs, body)


VORONOI = ["F1", "F2", "SMOOTH_F1", "DISTANCE_TO_EDGE", "N_SPHERE_RADIUS"]
METRIC = ["EUCLIDEAN", "MANHATTAN", "CHEBYCHEV", "MINKOWSKI"]


def voronoi(rng):
    rows = points(rng)
    scale, randomness = uniform(rng, 0.5, 5), uniform(rng, 0, 1)
    smoothness, exponent = uniform(rng, 0.05, 1), uniform(rng, 0.4, 4)
    randomness[4:8] = [0.0, 1.0, 1.5, -1.0]
    smoothness[8] = 2.0
    head = table("points", rows) + table("settings", list(zip(scale, smoothness, exponent, randomness)))
    for dims in range(1, 5):
        for feature, name in enumerate(VORONOI):
            metrics = METRIC if feature <= 2 and dims > 1 else METRIC[:1]
            if feature == 0 and dims == 4:
                metrics = METRIC[:3]  # Blender's geometry nodes ignore the exponent there
            own, outputs = head, []
            body = ""
            for metric, metric_name in enumerate(metrics):
                inputs = domain(rows) | {"Scale": scale, "Randomness": randomness}
                if dims == 1:
                    del inputs["Vector"]
                elif dims < 4:
                    del inputs["W"]
                if feature == 2:
                    inputs["Smoothness"] = smoothness
                if metric == 3:
                    inputs["Exponent"] = exponent
                wanted = ["Distance" if feature < 4 else "Radius"]
                if feature <= 2:
                    wanted += ["Color"] + (["Position"] if dims > 1 else []) + (["W"] if dims in (1, 4) else [])
                properties = {"voronoi_dimensions": f"{dims}D", "feature": name}
                if feature <= 2 and dims > 1:
                    properties["distance"] = metric_name
                found = dict(zip(wanted, oracle.evaluate("ShaderNodeTexVoronoi", properties, inputs, wanted)))
                tag = metric_name.lower()
                checks = {}
                names = {"Distance": "distance", "Radius": "distance", "Color": "tint", "Position": "position", "W": "w"}
                for output, values in found.items():
                    own += table(f"{tag}_{output.lower()}", values)
                    checks[f"{tag}_{output.lower()}_agrees"] = f"error({names[output]}, {tag}_{output.lower()}[i])"
                outputs += list(checks)
                body += sweep(
                    dims,
                    "        float distance, w;\n        color tint;\n        float3 position;\n        const float4 s = settings[i];\n"
                    f"        blender_voronoi_texture(points[i].xyz, points[i].w, {dims}, {feature}, {metric}, s.x, s.y, s.z, s.w,\n"
                    "                                distance, tint, position, w);\n", checks)
            write(f"blender_voronoi_{name.lower()}_{dims}d", own, outputs, body)


def wave(rng):
    rows = [r[:3] for r in points(rng, 1)]  # a hundred turns away a float says no more
    rows[3] = (1.25, -5.125, 3.5)
    scale, distortion = uniform(rng, 0.2, 3), uniform(rng, -3, 3)
    detail, detail_scale = uniform(rng, 0, 4), uniform(rng, 0.2, 3)
    roughness, phase = uniform(rng, 0, 1), uniform(rng, -10, 10)
    distortion[4:12] = [0.0] * 8
    head = table("points", rows) + table("settings", list(zip(scale, distortion, detail, detail_scale)))
    head += table("more", list(zip(roughness, phase, phase)))
    outputs, cases = [], []
    for kind, kind_name in enumerate(["BANDS", "RINGS"]):
        for direction, direction_name in enumerate(["X", "Y", "Z", ["DIAGONAL", "SPHERICAL"][kind]]):
            for profile, profile_name in enumerate(["SIN", "SAW", "TRI"]):
                properties = {"wave_type": kind_name, ["bands_direction", "rings_direction"][kind]: direction_name,
                              "wave_profile": profile_name}
                inputs = {"Vector": rows, "Scale": scale, "Distortion": distortion, "Detail": detail,
                          "Detail Scale": detail_scale, "Detail Roughness": roughness, "Phase Offset": phase}
                (value,) = oracle.evaluate("ShaderNodeTexWave", properties, inputs, ["Fac"])
                cases.append(value)
                outputs.append(f"{kind_name}_{direction_name}_{profile_name}_agrees".lower())
    every = [x for case in cases for x in case]
    head += table("values", every)
    body = f"    bool agrees[{len(cases)}];\n    for (int k = 0; k < {len(cases)}; k++) {{\n        float worst = 0;\n"
    body += f"        for (int i = 0; i < {COUNT}; i++) {{\n            const float4 s = settings[i];\n"
    body += "            const float value = blender_wave_texture(points[i], k / 12, k / 3 % 4, k % 3, s.x, s.y, s.z, s.w, more[i].x, more[i].y);\n"
    body += f"            const float e = error(value, values[k * {COUNT} + i]);\n"
    body += "            worst = max(worst, k % 3 == 1 ? min(e, abs(1 - e)) : e);\n        }\n"
    body += "        agrees[k] = worst <= tolerance;\n    }\n"
    body += "".join(f"    {o} = agrees[{k}];\n" for k, o in enumerate(outputs))
    write("blender_wave", head, outputs, body)


def magic(rng):
    rows = [r[:3] for r in points(rng, 2)]
    scale, distortion = uniform(rng, 0.5, 3), uniform(rng, -2, 2)
    distortion[4:8] = [0.0] * 4
    rows[3] = (1.25, -0.75, 0.5)
    head, body, outputs = table("points", rows) + table("scales", scale) + table("distortions", distortion), "", []
    cases = []
    for depth in range(11):
        value, tint = oracle.evaluate("ShaderNodeTexMagic", {"turbulence_depth": depth},
                                      {"Vector": rows, "Scale": scale, "Distortion": distortion}, ["Fac", "Color"])
        cases += tint
        outputs.append(f"depth{depth}_agrees")
    head += table("tints", cases)
    body = "    bool agrees[11];\n    for (int depth = 0; depth < 11; depth++) {\n        float worst = 0;\n"
    body += f"        for (int i = 0; i < {COUNT}; i++)\n"
    body += "            worst = max(worst, error(blender_magic_texture(points[i], depth, scales[i], distortions[i]),\n"
    body += f"                                     tints[depth * {COUNT} + i]));\n"
    body += "        agrees[depth] = worst <= tolerance;\n    }\n"
    body += "".join(f"    {o} = agrees[{k}];\n" for k, o in enumerate(outputs))
    write("blender_magic", head, outputs, body)


def checker(rng):
    rows = [r[:3] for r in points(rng)]
    scale = uniform(rng, 0.5, 5)
    (value,) = oracle.evaluate("ShaderNodeTexChecker", {}, {"Vector": rows, "Scale": scale}, ["Fac"])
    head = table("points", rows) + table("scales", scale) + table("values", value)
    body = sweep(3, "", {"agrees": "error(blender_checker_texture(points[i], scales[i]), values[i])"})
    write("blender_checker", head, ["agrees"], body)


def gradient(rng):
    rows = [r[:3] for r in points(rng, 1)]
    head, body, outputs = table("points", rows), "", []
    # Geometry nodes do not limit the value, shader nodes do.
    for kind, name in enumerate(["LINEAR", "QUADRATIC", "EASING", "DIAGONAL", "RADIAL", "QUADRATIC_SPHERE", "SPHERICAL"]):
        (value,) = oracle.evaluate("ShaderNodeTexGradient", {"gradient_type": name}, {"Vector": rows}, ["Fac"])
        value = [min(max(v, 0.0), 1.0) for v in value]
        head += table(f"{name.lower()}_values", value)
        outputs.append(f"{name.lower()}_agrees")
        body += sweep(3, "", {f"{name.lower()}_agrees": f"error(blender_gradient_texture(points[i], {kind}), {name.lower()}_values[i])"})
    write("blender_gradient", head, outputs, body)


def brick(rng):
    rows = [r[:3] for r in points(rng)]
    white, black = (1.0, 1.0, 1.0, 1.0), (0.0, 0.0, 0.0, 1.0)
    scale, size, smooth = uniform(rng, 0.5, 5), uniform(rng, 0, 0.15), uniform(rng, 0, 1)
    bias, width, height = uniform(rng, -1, 1), uniform(rng, 0.2, 1.5), uniform(rng, 0.2, 0.8)
    smooth[4:12] = [0.0] * 8
    head = table("points", rows) + table("settings", list(zip(scale, size, smooth, bias)))
    head += table("sizes", list(zip(width, height, height)))
    body, outputs = "", []
    for offset, every, squash, squash_every in [(0.5, 2, 1, 2), (0.3, 3, 0.6, 2), (0.5, 1, 2.5, 3)]:
        properties = {"offset": offset, "offset_frequency": every, "squash": squash, "squash_frequency": squash_every}
        inputs = {"Vector": rows, "Scale": scale, "Mortar Size": size, "Mortar Smooth": smooth, "Bias": bias,
                  "Brick Width": width, "Row Height": height, "Color1": black, "Color2": white, "Mortar": black}
        tint, mortar = oracle.evaluate("ShaderNodeTexBrick", properties, inputs, ["Color", "Fac"])
        tag = f"every{every}"
        head += table(f"{tag}_tints", [t[0] for t in tint]) + table(f"{tag}_mortars", mortar)
        call = "        float tint, mortar;\n        const float4 s = settings[i];\n"
        call += "        blender_brick_texture(points[i], s.x, s.y, s.z, s.w, sizes[i].x, sizes[i].y, "
        call += f"{offset}, {every}, {squash}, {squash_every}, tint, mortar);\n"
        checks = {f"{tag}_tint_agrees": f"error(tint * (1 - mortar), {tag}_tints[i])",
                  f"{tag}_mortar_agrees": f"error(mortar, {tag}_mortars[i])"}
        outputs += list(checks)
        body += sweep(3, call, checks)
    write("blender_brick", head, outputs, body)


RAMPS = ["CONSTANT", "LINEAR", "EASE", "CARDINAL", "B_SPLINE"]


def color_ramp(rng):
    stops = {5: [0.1, 0.25, 0.3, 0.7, 0.95], 2: [0.2, 0.8], 1: [0.4], 3: [0.5, 0.5, 0.75]}
    fac = uniform(rng, 0, 1)
    fac[:10] = [0.0, 1.0, -0.5, 1.5, 0.1, 0.25, 0.95, 0.5, 0.4, 0.05]
    head, body, outputs = table("fac", fac), "", []
    for count, positions in stops.items():
        colors = [tuple(uniform(rng, 0, 1, 4)) for _ in positions]
        head += table(f"positions{count}", positions) + table(f"colors{count}", colors)

        def prepare(node):
            elements = node.color_ramp.elements
            while len(elements) > count:
                elements.remove(elements[-1])
            while len(elements) < count:
                elements.new(1.0)
            for i, position in enumerate(positions):
                elements[i].position = position
            for element, color in zip(elements, colors):
                element.color = color

        for kind, name in enumerate(RAMPS):
            def prepare_kind(node):
                prepare(node)
                node.color_ramp.interpolation = name

            (value,) = oracle.evaluate("ShaderNodeValToRGB", {}, {"Fac": fac}, ["Color"], prepare_kind)
            tag = f"{name.lower()}_of_{count}"
            head += table(f"{tag}_values", value)
            outputs.append(f"{tag}_agrees")
            body += sweep(3, "", {f"{tag}_agrees": f"error(ramp({kind}, fac[i], positions{count}, colors{count}, {count}).rgb, {tag}_values[i])"})
    write("blender_color_ramp", head, outputs, body)


def main():
    for seed, make in enumerate((noise, white_noise, musgrave, voronoi, wave, magic, checker, gradient, brick, color_ramp)):
        make(random.Random(seed))


main()
