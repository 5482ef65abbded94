"""Values of closures of Mitsuba 3 for tests/sort/bsdf/mitsuba_reference.inc.

    python3 scripts/mitsuba_reference.py tests/sort/bsdf/mitsuba_reference.inc

Needs the wheel mitsuba 3.9. Directions are in the closure's frame: z is the normal of glass, x the direction of a
fibre, whose wo lies in the plane of x and z. Values are f cos.
"""

import math
import sys

import drjit as dr
import mitsuba as mi
import numpy as np

POINTS = 24  # a row, drawn where the lobe is bright


def interaction(wi):
    si = dr.zeros(mi.SurfaceInteraction3f, len(wi))
    si.t = 1
    si.n = mi.Vector3f(0, 0, 1)
    si.sh_frame = mi.Frame3f(mi.Vector3f(1, 0, 0), mi.Vector3f(0, 1, 0), si.n)
    si.wi = mi.Vector3f(*[mi.Float(c) for c in wi.T])
    return si


def values(bsdf, wo, wi):
    """wo, wi: [n, 3]. f cos of each pair; names as in SORT, where wo is towards the viewer."""
    context = mi.BSDFContext(mi.TransportMode.Radiance)
    found = bsdf.eval(context, interaction(wo), mi.Vector3f(*[mi.Float(c) for c in wi.T]), True)
    return np.array(found.x)


def sphere(rng, count):
    z, turn = rng.uniform(-1, 1, count), rng.uniform(0, 2 * math.pi, count)
    r = np.sqrt(1 - z * z)
    return np.stack([r * np.cos(turn), r * np.sin(turn), z], axis=1)


def brightest(rng, directions, found):
    """Indices of POINTS among those that reach a twentieth of the largest value."""
    bright = np.flatnonzero(found > 0.05 * found.max())
    return rng.choice(bright, POINTS, replace=False)


def glass_rows(rng):
    for roughness in (0.3, 0.55, 0.8):
        bsdf = mi.load_dict({"type": "roughdielectric", "distribution": "ggx", "alpha": roughness**2,
                             "int_ior": 1.5, "ext_ior": 1.0})
        for cosine in (0.95, 0.5, 0.2, -0.9):
            wo = np.array([math.sqrt(1 - cosine**2), 0, cosine])
            for side in (1, -1):
                wi = sphere(rng, 60000)
                wi = wi[wi[:, 2] * cosine * side > 0]
                found = values(bsdf, np.tile(wo, (len(wi), 1)), wi)
                keep = brightest(rng, wi, found)
                yield f"GLASS({roughness:g}, {cosine:g})", wi[keep], found[keep]


def hair_rows(rng):
    for along, around, absorption in ((0.05, 0.3, 0.0), (0.3, 0.3, 0.5), (0.6, 0.6, 2.0)):
        bsdf = mi.load_dict({"type": "hair", "longitudinal_roughness": along,
                             "azimuthal_roughness": around, "scale_tilt": 0.0,
                             "sigma_a": {"type": "rgb", "value": [absorption] * 3},
                             "int_ior": 1.55, "ext_ior": 1.0})
        for theta, offset in ((0.2, 0.3), (0.8, -0.7)):
            gamma = math.asin(offset)
            # Mitsuba's fibre runs along y, and z is the normal of the surface, on which `offset` follows from wo.
            wo = np.array([math.cos(theta) * math.sin(gamma), math.sin(theta),
                           math.cos(theta) * math.cos(gamma)])
            to_sort = np.array([[0, 1, 0], [-math.cos(gamma), 0, math.sin(gamma)],
                                [math.sin(gamma), 0, math.cos(gamma)]])
            wi = sphere(rng, 60000)
            found = values(bsdf, np.tile(wo, (len(wi), 1)), wi)
            keep = brightest(rng, wi, found)
            yield (f"HAIR({along:g}, {around:g}, {absorption:g}, {theta:g}, {offset:g})",
                   wi[keep] @ to_sort.T, found[keep])


def main():
    mi.set_variant("scalar_rgb" if "llvm_ad_rgb" not in mi.variants() else "llvm_ad_rgb")
    rng = np.random.default_rng(7)
    with open(sys.argv[1], "w") as out:
        out.write(f"/* Made by scripts/mitsuba_reference.py with Mitsuba {mi.__version__}. */\n")
        out.write("/* clang-format off */\n")
        for rows in (glass_rows(rng), hair_rows(rng)):
            for head, wi, found in rows:
                out.write(head + "\n")
                for direction, value in zip(wi, found):
                    x, y, z = direction
                    out.write(f"VALUE({x:.7g}, {y:.7g}, {z:.7g}, {value:.7g})\n")


if __name__ == "__main__":
    main()
