"""A unit compiled to machine code, run on any number of points: parts of these by parallel threads, each with a batch of its own."""

import concurrent.futures
import ctypes
from ctypes import byref
from typing import NamedTuple

import numpy as np

from . import bindings
from .bindings import Handle, call, lib, text_of
from .texture import look_up, spread
from .values import Value, number_count, pointer

_CHUNK = 4096  # points of a batch; results do not depend on it


class Unit:
    """A checked shader and its interface."""

    def __init__(self, handle, global_rows):
        self.handle = handle
        info = bindings.SortSslUnitInfo()
        call("unit_info", handle.value, byref(info))
        self.name = text_of(info.name)
        self.globals = global_rows  # Values in the order of the context's table
        self.params = self._read("param", bindings.SortSslParam, info.param_count)
        self.outputs = self._read("output", bindings.SortSslOutput, info.output_count)
        self.attributes = []
        for i in range(info.attribute_count):
            row = bindings.SortSslAttributeInfo()
            call("unit_attribute", handle.value, i, byref(row))
            self.attributes.append(Value(text_of(row.name), row.type, number_count(row.type)))
        self.textures = [text_of(lib.sort_ssl_unit_texture(handle.value, i)) for i in range(info.texture_count)]
        self.texels = [Value(name, bindings.TYPES.index("float4"), 4) for name in self.textures]

    def _read(self, what, struct, count):
        values = []
        for i in range(count):
            row = struct()
            call(f"unit_{what}", self.handle.value, i, byref(row))
            values.append(Value(text_of(row.name), row.type, row.number_count, text_of(row.type_name)))
        return values

    def default_of(self, index):
        """The default of a parameter; None: it has none, or is not numbers."""
        row, value = bindings.SortSslParam(), self.params[index]
        call("unit_param", self.handle.value, index, byref(row))
        if not row.has_default or value.number_count == 0:
            return None if not row.default_text else text_of(row.default_text)
        numbers = np.zeros(value.number_count)
        call("unit_param_default", self.handle.value, index, pointer(numbers), numbers.size)
        return numbers.reshape(value.shape).astype(value.dtype)[()]


class _TextureCalls:
    """Hands lookups to the caller's functions. An exception cannot pass through machine code: it is kept, and raised after."""

    def __init__(self, names, textures, sums):
        self.names, self.textures, self.sums, self.failed = names, textures, sums, None
        self.entry, self.adjoint_entry = bindings.TextureLookup(self._look_up), bindings.TextureLookup(self._add_adjoints)

    @staticmethod
    def _live(call_):
        """The lanes that are wanted, and their coordinates."""
        live = [i for i in range(call_.lane_count) if call_.lane_mask >> i & 1]
        return live, np.ctypeslib.as_array(call_.coord, (7, call_.lane_count))[:, live].T.copy()

    def _colors(self, name, coordinates, with_derivatives):
        texture, shape = self.textures[name], (len(coordinates), 3, 4) if with_derivatives else (len(coordinates), 4)
        if hasattr(texture, "taps"):
            return look_up(texture, coordinates, with_derivatives)
        colors = np.asarray(texture(coordinates, with_derivatives), dtype=np.float32)
        if colors.shape != shape:
            raise ValueError(f"the function of texture '{name}' gave an array {colors.shape}, not {shape}")
        return colors

    def _look_up(self, _user, given):
        call_ = given.contents
        lanes = call_.lane_count
        result = np.ctypeslib.as_array(call_.result, (12 if call_.with_derivs else 4, lanes))
        result[:] = 0
        if self.failed:
            return
        try:
            live, coordinates = self._live(call_)
            colors = self._colors(self.names[call_.texture], coordinates, bool(call_.with_derivs))
            result[:, live] = colors.reshape(len(live), -1).T
        except BaseException as error:  # pylint: disable=broad-exception-caught
            self.failed = error

    def _add_adjoints(self, _user, given):
        call_ = given.contents
        if self.failed:
            return
        try:
            live, coordinates = self._live(call_)
            rows = 12 if call_.with_derivs else 4
            adjoints = np.ctypeslib.as_array(call_.result, (rows, call_.lane_count))[:, live].T.reshape(len(live), rows // 4, 4)
            texels, numbers = spread(self.textures[self.names[call_.texture]], coordinates, adjoints)
            places = np.ascontiguousarray(texels * numbers.shape[1], dtype=np.uint64)
            numbers = np.ascontiguousarray(numbers)
            call("texel_sum_add", self.sums[self.names[call_.texture]].value,
                 places.ctypes.data_as(ctypes.POINTER(ctypes.c_uint64)), places.size,
                 numbers.ctypes.data_as(ctypes.POINTER(ctypes.c_float)), numbers.shape[1])
        except BaseException as error:  # pylint: disable=broad-exception-caught
            self.failed = error


class Request(NamedTuple):
    """One run of a program."""

    count: int  # points
    params: dict  # numbers by name
    points: list  # (kind, index, shadow, array [count][...]) of globals and attributes
    outputs: list  # (index, shadow) of what is wanted
    wants_sums: bool  # exact sums of all outputs, too
    textures: dict
    texels: list  # names of textures whose texels' gradients are wanted
    threads: int
    loop_budget: int


class Program:
    """Compiled once; may be run by several threads at once."""

    def __init__(self, unit, constants, output_derivs):
        self.unit = unit
        rows = (bindings.SortSslConstant * len(constants))(
            *(bindings.SortSslConstant(name.encode(), 0.0 if isinstance(value, str) else float(value),
                                      value.encode() if isinstance(value, str) else None) for name, value in constants.items()))
        how = bindings.SortSslBuildDesc(constants=rows, constant_count=len(constants), output_derivs=output_derivs)
        self.handle, self.messages = bindings.compiled("program", "program_build", unit.handle, how)

    def _params(self, numbers):
        params = Handle("params", "params_create", self.handle.value)
        for name, array in numbers.items():
            flat = np.ascontiguousarray(array, dtype=np.float64).reshape(-1)
            call("params_set", params.value, name.encode(), pointer(flat), flat.size)
        return params

    def run(self, request):
        """Returns the outputs, as (index, shadow) -> array [count][numbers]; the sums, as an array for each output or None; and the
        gradients of texels, as texture -> array."""
        params = self._params(request.params)
        outputs = {key: np.empty((request.count, self.unit.outputs[key[0]].number_count)) for key in request.outputs}
        starts = range(0, request.count, _CHUNK)
        threads = max(1, min(request.threads, len(starts)))
        shares = [starts[len(starts) * i // threads:len(starts) * (i + 1) // threads] for i in range(threads)]
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            sums = list(pool.map(lambda share: self._run_share(share, params, request, outputs), shares))
        texels = {name: self._read_texels([own[name] for _, own in sums], request.textures[name]) for name in request.texels}
        return outputs, self._read_sums([total for total, _ in sums]) if request.wants_sums else None, texels

    def _run_share(self, share, params, request, outputs):
        """Runs the batches that begin at the points of `share`, one after the other."""
        total = Handle("sum", "sum_create", self.handle.value) if request.wants_sums else None
        texels = {name: Handle("texel_sum", "texel_sum_create", ctypes.byref(
            bindings.SortSslTexelSumDesc(place_count=request.textures[name].texels.size, budget_bytes=1 << 40))) for name in request.texels}
        calls = _TextureCalls(self.unit.textures, request.textures, texels)
        how = bindings.SortSslRunDesc(params=params.value, loop_budget=request.loop_budget)
        if self.unit.textures:
            how.texture_lookup = calls.entry
        if texels:
            how.texture_adjoint = calls.adjoint_entry
        batch, size = None, 0
        for first in share:
            if size != min(_CHUNK, request.count - first):
                size = min(_CHUNK, request.count - first)
                batch = Handle("batch", "batch_create", self.handle.value, size)
            part = slice(first, first + size)
            for kind, index, shadow, array in request.points:
                numbers = np.ascontiguousarray(array[part])
                call(f"batch_write_{kind}", batch.value, index, shadow, pointer(numbers), numbers.size)
            call("batch_run", batch.value, byref(how))
            if calls.failed:
                raise calls.failed
            point = lib.sort_ssl_batch_next_fault(batch.value, 0)
            if point != bindings.NONE:
                raise bindings.fault_of(batch, point, first)
            for (index, shadow), array in outputs.items():
                call("batch_read_output", batch.value, index, shadow, pointer(array[part]), array[part].size)
            if total:
                call("sum_add", total.value, batch.value)
        return total, texels

    @staticmethod
    def _read_texels(sums, texture):
        for other in sums[1:]:
            call("texel_sum_merge", sums[0].value, other.value)
        found = np.zeros(texture.texels.shape)
        call("texel_sum_read", sums[0].value, 0, found.size, pointer(found))
        return found

    def _read_sums(self, sums):
        for other in sums[1:]:
            call("sum_merge", sums[0].value, other.value)
        totals = []
        for i, output in enumerate(self.unit.outputs):
            total = np.zeros(output.number_count)
            for n in range(output.number_count):
                number = ctypes.c_double()
                call("sum_value", sums[0].value, i, n, byref(number))
                total[n] = number.value
            totals.append(total)
        return totals
