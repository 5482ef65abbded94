"""Types of the language as NumPy arrays. A value has the shape of its type; values of points have that shape behind theirs."""

import numpy as np

from . import bindings
from .bindings import TYPES

_VECTORS = {"float2": 2, "float3": 3, "float4": 4, "color": 3, "point": 3, "vector": 3, "normal": 3}


class Value:
    """A parameter, a global, an attribute or an output: what it is called and which arrays it takes."""

    def __init__(self, name, type_index, number_count, type_name=None):
        self.name = name
        self.type = TYPES[type_index]
        self.type_name = type_name or self.type
        self.number_count = number_count  # 0: it is not numbers
        self.shape = () if self.type in ("bool", "int", "float") else (4, 4) if self.type == "matrix" else (number_count,)
        self.is_float = self.type not in ("bool", "int") and number_count > 0
        self.has_pixel_derivatives = self.is_float and self.type not in ("struct", "array")

    def __repr__(self):
        return f"{self.type_name} {self.name}"

    @property
    def dtype(self):
        """Structs and arrays may mix kinds of numbers; a double holds each."""
        return {"bool": np.bool_, "int": np.int32, "struct": np.float64, "array": np.float64}.get(self.type, np.float32)

    def given(self, array, what):
        """The array of the caller as doubles, with this value's shape at its end."""
        if self.number_count == 0:
            raise TypeError(f"{what} is a {self.type_name}, which is not set by numbers")
        try:
            array = np.asarray(array, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{what}: {error}") from None
        if array.shape[array.ndim - len(self.shape):] != self.shape or array.ndim < len(self.shape):
            raise ValueError(f"{what} is a {self.type_name}: its arrays end in the shape {self.shape}, and this has {array.shape}")
        return array

    def points_of(self, array):
        return array.shape[:array.ndim - len(self.shape)]


def type_index(name, what):
    if name in ("bool", "int", "float") or name in _VECTORS:
        return TYPES.index(name)
    raise ValueError(f"{what} has the type '{name}', which is none of bool, int, float, {', '.join(_VECTORS)}")


def number_count(index):
    return _VECTORS.get(TYPES[index], 1)


def pointer(array):
    """A C array of doubles, borrowed from a contiguous array."""
    return array.ctypes.data_as(bindings.NUMBERS)


def reduced(array, shape):
    """The sum of an array over the axes along which an array of `shape` was broadcast to it."""
    extra = array.ndim - len(shape)
    axes = tuple(range(extra)) + tuple(i + extra for i, n in enumerate(shape) if n == 1 and array.shape[i + extra] != 1)
    return array.sum(axis=axes, dtype=np.float64).reshape(shape) if axes else array
