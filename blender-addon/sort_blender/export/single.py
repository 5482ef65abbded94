"""What fits into numbers of single precision, which is all that packages hold."""

from __future__ import annotations

import numpy as np

LARGEST = float(np.finfo(np.float32).max)


def fits(value: object) -> bool:
    """Whether no number of it, a plain one or one in a list or a matrix, is infinite, none, or too large."""
    if isinstance(value, (bool, int, str)) or value is None:
        return True
    if isinstance(value, dict):
        return all(fits(part) for part in value.values())
    return bool((np.abs(np.array(value, np.float64)) <= LARGEST).all())
