"""Photometric files, IES LM-63: what a lamp sends in each direction, as a table over two angles [IES2002].

numpy alone, no Blender.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

WATTS_PER_CANDELA = 4 * np.pi / 177.83  # of light like the day's, all around; as Cycles counts
COLUMNS, ROWS = 256, 512  # of the table
COUNT_MAX = 100_000
TYPE_C, TYPE_B = 1, 2


class BadFile(Exception):
    """The file is not valid; the message says why."""


@dataclass(frozen=True)
class Lamp:
    """`intensity` [horizontal, vertical], for angles in degrees that grow; the horizontal ones go from 0 to 360."""
    vertical: np.ndarray
    horizontal: np.ndarray
    intensity: np.ndarray

    def table(self) -> np.ndarray:
        """[ROWS from straight down to straight up, COLUMNS around, 1] float32: between the angles cubic, nothing outside."""
        around = (np.arange(COLUMNS) + 0.5) * (360 / COLUMNS)
        down = (np.arange(ROWS) + 0.5) * (180 / ROWS)
        values = self.intensity
        first, last = values[:, 1:2], values[:, -1:]
        values = _cubic(np.concatenate([first, values, last], axis=1), self.vertical, down)
        values = _cubic(np.concatenate([values[-2:-1], values, values[1:2]]).T, self.horizontal, around)
        is_there = (down >= self.vertical[0]) & (down < self.vertical[-1])
        return (np.maximum(values, 0.0) * is_there[:, None]).astype(np.float32)[..., None]


def _cubic(values: np.ndarray, at: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Catmull-Rom along the second axis of `values`, which has one more before the first of `at` and one after the last."""
    k = np.clip(np.searchsorted(at, wanted, side="right") - 1, 0, len(at) - 2)
    x = np.clip((wanted - at[k]) / np.maximum(at[k + 1] - at[k], 1e-9), 0.0, 1.0)
    a, b, c, d = (values[:, k + offset] for offset in range(4))
    return b + 0.5 * x * (c - a + x * (2 * a - 5 * b + 4 * c - d + x * (3 * (b - c) + d - a)))


def parse(text: str) -> Lamp:
    head = re.search(r"^[ \t]*TILT[ \t]*=[ \t]*(\S*).*$", text, re.M | re.I)
    if not head:
        raise BadFile("it has no TILT line, so it is no IES file")
    numbers = _Numbers(text[head.end():])
    tilt = head[1].upper()
    if tilt == "INCLUDE":
        numbers.skip(1)
        numbers.skip(2 * numbers.count("angles of tilt"))
    elif tilt not in ("", "NONE"):
        raise BadFile(f"its tilt lies in another file, {head[1]}")
    numbers.skip(2)  # lamps, lumens
    factor = numbers.one()
    vertical, horizontal = numbers.count("vertical angles"), numbers.count("horizontal angles")
    kind = numbers.one()
    if kind not in (TYPE_C, TYPE_B):
        raise BadFile(f"its photometry is of type {'A' if kind == 3 else f'{kind:g}'}; types B and C alone are supported")
    numbers.skip(4)  # units and sizes
    factor *= numbers.one() * numbers.one()
    numbers.skip(1)
    down, around = numbers.array(vertical), numbers.array(horizontal)
    values = numbers.array(vertical * horizontal).reshape(horizontal, vertical)
    if vertical < 2 or (np.diff(down) <= 0).any() or (np.diff(around) <= 0).any():
        raise BadFile("its angles do not grow")
    values = values * (factor * WATTS_PER_CANDELA)
    if kind == TYPE_B:
        down, around, values = _of_type_b(down, around, values)
    return Lamp(down, *_all_around(around, values))


def _of_type_b(vertical: np.ndarray, horizontal: np.ndarray,
               values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As Cycles: the axis of the horizontal angles is that of straight up and down, those at which a file of type C has
    angles from straight down; both go from 0 to 180, what is given of one side is mirrored."""
    angles, out = [], values.T
    for given, axis in ((horizontal, 1), (vertical, 0)):
        if given[0] == 0:
            given = np.concatenate([-given[:0:-1], given])
            out = np.concatenate([np.flip(np.delete(out, 0, axis), axis), out], axis=axis)
        if given[0] < -90 or given[-1] > 90:
            raise BadFile("its angles go beyond those of type B, -90 to 90")
        angles.append(given + 90)
    return angles[0], angles[1], out


def _all_around(angles: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mirrored where the lamp is symmetric."""
    if len(angles) == 1:
        return np.array([0.0, 360.0]), np.repeat(values, 2, axis=0)
    angles = angles - angles[0]
    for half in (90.0, 180.0):
        if angles[-1] == half:
            angles = np.concatenate([angles, 2 * half - angles[-2::-1]])
            values = np.concatenate([values, values[-2::-1]])
    if angles[-1] < 360.0:
        angles, values = np.append(angles, 360.0), np.concatenate([values, values[:1]])
    if angles[-1] != 360.0:
        raise BadFile("its horizontal angles go beyond a circle")
    return angles, values


class _Numbers:
    """What follows the line of the tilt, one after the other."""

    def __init__(self, text: str) -> None:
        self._words = re.split(r"[\s,]+", text.strip())
        self._at = 0

    def array(self, count: int) -> np.ndarray:
        words = self._words[self._at:self._at + count]
        if len(words) < count:
            raise BadFile(f"it ends after {len(self._words)} numbers, {self._at + count} are announced")
        self._at += count
        try:
            values = np.array([float(word) for word in words])
        except ValueError as error:
            raise BadFile(f"it has a word where a number should be: {error}") from error
        if not np.isfinite(values).all():
            raise BadFile("it has a number that is not finite")
        return values

    def one(self) -> float:
        return float(self.array(1)[0])

    def skip(self, count: int) -> None:
        self.array(count)

    def count(self, what: str) -> int:
        value = self.one()
        if not 1 <= value <= COUNT_MAX or value != int(value):
            raise BadFile(f"it has {value:g} {what}")
        return int(value)
