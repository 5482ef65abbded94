#!/usr/bin/env python3
"""Prints ssl/rt/rt_poly.inc: the polynomials behind rt_core.h.

Each one interpolates its function at Chebyshev nodes of its interval, which is within a small factor of
the best polynomial of that degree [Trefethen2019 theorem 16.1]. All is done in 60 decimal digits.
The comment behind each gives the largest error relative to the function that uses it.
"""
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


def fit(function, low, high, degree):
    """Coefficients, lowest first, rounded to double."""
    nodes = [(low + high) / 2 + (high - low) / 2 * cos(PI * (2 * i + 1) / (2 * degree + 2))
             for i in range(degree + 1)]
    rows = [[x ** j for j in range(degree + 1)] + [function(x)] for x in nodes]
    for i in range(degree + 1):
        pivot = max(range(i, degree + 1), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [v / rows[i][i] for v in rows[i]]
        for k in range(degree + 1):
            if k != i:
                rows[k] = [a - rows[k][i] * b for a, b in zip(rows[k], rows[i])]
    return [D(float(row[-1])) for row in rows]


def horner(coefficients, x):
    total = D(0)
    for c in reversed(coefficients):
        total = total * x + c
    return total


def row(name, what, function, low, high, degree, relative_error):
    """relative_error(approximation, x): of what the polynomial is a part of."""
    c = fit(function, low, high, degree)
    points = [low + (high - low) * (i + D("0.5")) / 400 for i in range(400)]
    worst = max(abs(relative_error(horner(c, x), x)) for x in points)
    bits = float(-(worst.ln() / D(2).ln()))
    print(f"/* {what}: 2^-{bits:.1f} */")
    print(f"#define {name} " + ", ".join(float(v).hex() for v in c))


def sqrt_of(x):
    return x.sqrt()


print("/* Made by rt_fit.py; coefficients, lowest first. Errors are relative. */")
row("POLY_EXPM1", "(e^r - 1) / r, |r| <= log(2)/2", lambda r: (r.exp() - 1) / r,
    -D(2).ln() / 2, D(2).ln() / 2, 7, lambda p, r: p * r / (r.exp() - 1) - 1)
row("POLY_LOG", "(atanh(s) / s - 1) / z, z = s s, |s| <= 3 - 2 sqrt 2",
    lambda z: (power_sum(sqrt_of(z), 1) / sqrt_of(z) - 1) / z,
    D(10) ** -12, (3 - 2 * D(2).sqrt()) ** 2, 5,
    lambda p, z: sqrt_of(z) * (1 + z * p) / power_sum(sqrt_of(z), 1) - 1)
row("POLY_SIN", "(sin(r) / r - 1) / z, z = r r, |r| <= pi/4",
    lambda z: (sin(sqrt_of(z)) / sqrt_of(z) - 1) / z, D(10) ** -12, PI * PI / 16, 3,
    lambda p, z: sqrt_of(z) * (1 + z * p) / sin(sqrt_of(z)) - 1)
row("POLY_COS", "(cos(r) - 1 + z/2) / (z z), z = r r, |r| <= pi/4",
    lambda z: (cos(sqrt_of(z)) - 1 + z / 2) / (z * z), D(10) ** -12, PI * PI / 16, 3,
    lambda p, z: (1 - z / 2 + z * z * p) / cos(sqrt_of(z)) - 1)
row("POLY_ASIN", "(asin(x) / x - 1) / z, z = x x, |x| <= 1/2",
    lambda z: (asin(sqrt_of(z)) / sqrt_of(z) - 1) / z, D(10) ** -12, D(1) / 4, 7,
    lambda p, z: sqrt_of(z) * (1 + z * p) / asin(sqrt_of(z)) - 1)
row("POLY_ATAN", "(atan(t) / t - 1) / z, z = t t, |t| <= sqrt 2 - 1",
    lambda z: (power_sum(sqrt_of(z), -1) / sqrt_of(z) - 1) / z, D(10) ** -12,
    (D(2).sqrt() - 1) ** 2, 6,
    lambda p, z: sqrt_of(z) * (1 + z * p) / power_sum(sqrt_of(z), -1) - 1)
