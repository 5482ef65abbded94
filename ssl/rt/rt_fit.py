#!/usr/bin/env python3
"""Prints ssl/rt/rt_poly.inc: the polynomials behind rt_core.h.

Each one has the least largest error of its degree, before its coefficients are rounded. All is done in 60
decimal digits. The comment behind each gives the largest error relative to the function that uses it.
"""
import struct
from decimal import Decimal, getcontext

getcontext().prec = 60
D = Decimal


def series(x, first, next_term):
    """Sum of first * ratio * ratio ... until nothing changes."""
    total = term = first
    n = 0
    while True:
        term = next_term(term, n)
        if abs(term) < D(10) ** -70:
            return total
        total += term
        n += 1


def sin(r):
    return series(r, r, lambda t, n: -t * r * r / ((2 * n + 2) * (2 * n + 3)))


def cos(r):
    return series(r, D(1), lambda t, n: -t * r * r / ((2 * n + 1) * (2 * n + 2)))


def power_sum(x, sign):
    """x + sign x^3/3 + x^5/5 + ...: atan for sign -1, atanh for 1."""
    total, power, n = D(0), x, 1
    while abs(power) > D(10) ** -70:
        total += power / n
        power *= sign * x * x
        n += 2
    return total


def asin(x):
    total, term, n = D(0), x, 0
    while abs(term) > D(10) ** -70:
        total += term / (2 * n + 1)
        term *= x * x * D(2 * n + 1) / D(2 * n + 2)
        n += 1
    return total


PI = 16 * power_sum(D(1) / 5, -1) - 4 * power_sum(D(1) / 239, -1)


def solve(rows):
    """The numbers that solve the linear equations, each a row of factors and the right side."""
    count = len(rows)
    for i in range(count):
        pivot = max(range(i, count), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [v / rows[i][i] for v in rows[i]]
        for k in range(count):
            if k != i:
                rows[k] = [a - rows[k][i] * b for a, b in zip(rows[k], rows[i])]
    return [row[-1] for row in rows]


def fit(points, values, weights, degree):
    """The coefficients, lowest first, whose largest error at the points is least: Remez's exchange [Trefethen2019 chapter 10]."""
    count, last = degree + 2, len(points) - 1
    chosen = [round(last * i / (count - 1)) for i in range(count)]
    while True:
        coefficients = solve([[points[i] ** j for j in range(degree + 1)] + [D((-1) ** n) / weights[i], values[i]]
                              for n, i in enumerate(chosen)])[:-1]
        errors = [w * (horner(coefficients, x) - v) for x, v, w in zip(points, values, weights)]
        extremes = []
        for i, error in enumerate(errors):
            if extremes and (error > 0) == (errors[extremes[-1]] > 0):
                if abs(error) > abs(errors[extremes[-1]]):
                    extremes[-1] = i
            else:
                extremes.append(i)
        while len(extremes) > count:
            extremes.pop(0 if abs(errors[extremes[0]]) < abs(errors[extremes[-1]]) else -1)
        assert len(extremes) == count
        if extremes == chosen:
            return coefficients
        chosen = extremes


def horner(coefficients, x):
    total = D(0)
    for c in reversed(coefficients):
        total = total * x + c
    return total


def single(x):
    """x rounded to float."""
    return struct.unpack("f", struct.pack("f", float(x)))[0]


def row(name, what, function, low, high, degree, weight, rounded=float):
    """Prints a polynomial. weight(x): how an error of the polynomial at x counts, relative to the function that uses it."""
    points = [(low + high) / 2 - (high - low) / 2 * cos(PI * (i + D("0.5")) / 400) for i in range(400)]
    values, weights = [function(x) for x in points], [weight(x) for x in points]
    c = [rounded(v) for v in fit(points, values, weights, degree)]
    if low > 0:  # the coefficients after a rounded one are fitted anew, to what it leaves over
        rest, rest_weights = values, weights
        for i in range(degree + 1):
            c[i] = rounded(fit(points, rest, rest_weights, degree - i)[0])
            rest = [(v - D(c[i])) / x for v, x in zip(rest, points)]
            rest_weights = [w * x for w, x in zip(rest_weights, points)]
    worst = max(abs(w * (horner([D(v) for v in c], x) - v)) for x, v, w in zip(points, values, weights))
    bits = float(-(worst.ln() / D(2).ln()))
    print(f"/* {what}: 2^-{bits:.1f} */")
    write = [v.hex() if rounded is float else v.hex().replace("0000000p", "p") + "f" for v in c]
    print(f"#define {name} " + ", ".join(write))


def pieces(names, x, least):
    """Prints x as a sum of floats: each but the last has the bits of the rest down to that of 2^-least."""
    for name, bits in zip(names, least + [None]):
        piece = x if bits is None else D(int(x * 2 ** bits)) / 2 ** bits
        x -= piece
        print(f"#define {name} {single(piece).hex().replace('0000000p', 'p')}f")


def root(x):
    return x.sqrt()


def atan(x):
    return power_sum(x, -1) if x < D("0.4") else 2 * atan(x / (1 + root(1 + x * x)))


LN_2, NEAR_0 = D(2).ln(), D(10) ** -12
QUARTER = (PI / 4 * D("1.0005")) ** 2  # a quadrant that was rounded in float may be the neighbour
EIGHTH = (3 - 2 * root(D(2))) ** 2

print("/* Made by rt_fit.py; coefficients, lowest first. Errors are relative. */")
row("POLY_EXPM1", "(e^r - 1) / r, |r| <= log(2)/2", lambda r: (r.exp() - 1) / r, -LN_2 / 2, LN_2 / 2, 7,
    lambda r: r / (r.exp() - 1))
for name, degree in ("POLY_LOG", 5), ("POLY_POW_LOG", 3):
    row(name, "(atanh(s) / s - 1) / z, z = s s, |s| <= 3 - 2 sqrt 2", lambda z: (power_sum(root(z), 1) / root(z) - 1) / z,
        NEAR_0, EIGHTH, degree, lambda z: z * root(z) / power_sum(root(z), 1))
row("POLY_SIN", "(sin(r) / r - 1) / z, z = r r, |r| <= pi/4", lambda z: (sin(root(z)) / root(z) - 1) / z,
    NEAR_0, PI * PI / 16, 3, lambda z: z * root(z) / sin(root(z)))
row("POLY_COS", "(cos(r) - 1 + z/2) / (z z), z = r r, |r| <= pi/4", lambda z: (cos(root(z)) - 1 + z / 2) / (z * z),
    NEAR_0, PI * PI / 16, 3, lambda z: z * z / cos(root(z)))

row("SINGLE_EXP", "(e^r - 1 - r) / (r r), |r| <= log(2)/2", lambda r: (r.exp() - 1 - r) / (r * r),
    -LN_2 / 2 * D("1.0005"), LN_2 / 2 * D("1.0005"), 4, lambda r: r * r / r.exp(), single)
row("SINGLE_LOG", "(log(1 + f) - f + f f / 2) / f^3, 1 + f in [sqrt 1/2, sqrt 2]",
    lambda f: ((1 + f).ln() - f + f * f / 2) / f ** 3, root(D(1) / 2) - 1, root(D(2)) - 1, 7,
    lambda f: f ** 3 / (1 + f).ln(), single)
row("SINGLE_SIN", "(1 - sin(r) / r) / z, z = r r, |r| <= pi/4", lambda z: (1 - sin(root(z)) / root(z)) / z,
    NEAR_0, QUARTER, 2, lambda z: z * root(z) / sin(root(z)), single)
row("SINGLE_COS", "(cos(r) - 1 + z/2) / (z z), z = r r, |r| <= pi/4", lambda z: (cos(root(z)) - 1 + z / 2) / (z * z),
    NEAR_0, QUARTER, 2, lambda z: z * z / cos(root(z)), single)
row("SINGLE_ASIN", "(asin(x) / x - 1) / z, z = x x, |x| <= 1/2", lambda z: (asin(root(z)) / root(z) - 1) / z,
    NEAR_0, D(1) / 4, 4, lambda z: z * root(z) / asin(root(z)), single)
row("SINGLE_ATAN", "(1 - atan(t) / t) / z, z = t t, |t| <= 1/2", lambda z: (1 - atan(root(z)) / root(z)) / z,
    NEAR_0, D(1) / 4, 4, lambda z: z * root(z) / atan(root(z)), single)
print("/* log 2 and pi/2 as sums: multiples of all but the last are exact. */")
pieces(["SINGLE_LN_2_UPPER", "SINGLE_LN_2_LOWER"], LN_2, [15])
pieces([f"SINGLE_HALF_PI_{i}" for i in range(1, 5)], PI / 2, [12, 24, 40])
print("/* Sums for fused multiply-adds: multiples of the first part, taken from what is close to them, leave a float. */")
pieces(["FUSED_LN_2_UPPER", "FUSED_LN_2_LOWER"], LN_2, [24])
pieces([f"FUSED_HALF_PI_{i}" for i in range(1, 4)], PI / 2, [23, 47])
print("/* pi/4, of which three and four quarters are exact, and what it lacks, relative to it. */")
quarter = D(round(PI / 4 * 2 ** 22)) / 2 ** 22
print(f"#define SINGLE_QUARTER_PI {single(quarter).hex().replace('0000000p', 'p')}f")
print(f"#define SINGLE_PI_LACKS {single((PI / 4 - quarter) / quarter).hex().replace('0000000p', 'p')}f")
