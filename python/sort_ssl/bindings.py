"""libsort-ssl by ctypes: the structs and functions of sort_ssl.h that this package calls, and the errors of calls.

The test of this package holds each struct and each constant against the header with a C compiler."""

import ctypes
import os
import pathlib
from ctypes import POINTER, c_bool, c_char_p, c_double, c_float, c_int, c_size_t, c_uint32, c_uint64, c_void_p

from .errors import Diagnostic, ShaderFault, SslError

VERSION = "0.1.0"
SOVERSION = ".".join(VERSION.split(".")[:2])  # while it is 0, each minor version may change the interface
ENVIRONMENT = "SORT_SSL_LIBRARY"
VALUE, DDX, DDY = range(3)  # SortSslShadow
PARAM, GLOBAL, ATTRIBUTE, TEXTURE = range(4)  # SortSslInputKind
NONE = 0xFFFFFFFF
STATUSES = ("ok", "invalid", "not_found", "io", "format", "unsupported", "limit", "no_memory", "source", "cancelled", "internal")
SEVERITIES = ("error", "warning", "note")
FAULTS = ("index", "loop", "recursion", "closures", "tape")
TYPES = ("void", "bool", "int", "float", "float2", "float3", "float4", "color", "point", "vector", "normal", "matrix", "string",
         "closure", "texture2d", "struct", "array")


class Struct(ctypes.Structure):
    """One that begins with size_bytes, which is filled in."""

    def __init__(self, **fields):
        super().__init__(size_bytes=ctypes.sizeof(type(self)), **fields)


class SortSslError(ctypes.Structure):
    _fields_ = [("status", c_int), ("text", ctypes.c_char * 1536)]


class SortSslGlobal(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("type", c_int), ("has_derivs", c_bool)]


class SortSslAttribute(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("type", c_int), ("has_derivs", c_bool)]


class SortSslContextDesc(Struct):
    _fields_ = [("size_bytes", c_size_t), ("globals", POINTER(SortSslGlobal)), ("closures", c_void_p),
                ("attributes", POINTER(SortSslAttribute)), ("global_count", c_uint32), ("closure_count", c_uint32),
                ("attribute_count", c_uint32), ("cache_folder", c_char_p), ("cpu", c_char_p)]


class SortSslDiag(Struct):
    _fields_ = [("size_bytes", c_size_t), ("severity", c_int), ("code", c_char_p), ("file", c_char_p), ("line", c_uint32),
                ("column", c_uint32), ("end_line", c_uint32), ("end_column", c_uint32), ("message", c_char_p), ("label", c_char_p)]


class SortSslSource(Struct):
    _fields_ = [("size_bytes", c_size_t), ("name", c_char_p), ("text", c_char_p), ("text_bytes", c_size_t), ("shader", c_char_p)]


class SortSslUnitInfo(Struct):
    _fields_ = [("size_bytes", c_size_t), ("name", c_char_p), ("param_count", c_uint32), ("output_count", c_uint32),
                ("texture_count", c_uint32), ("attribute_count", c_uint32)]


class SortSslParam(Struct):
    _fields_ = [("size_bytes", c_size_t), ("name", c_char_p), ("type_name", c_char_p), ("type", c_int), ("number_count", c_uint32),
                ("has_default", c_bool), ("default_text", c_char_p)]


class SortSslOutput(Struct):
    _fields_ = [("size_bytes", c_size_t), ("name", c_char_p), ("type_name", c_char_p), ("type", c_int), ("number_count", c_uint32)]


class SortSslAttributeInfo(Struct):
    _fields_ = [("size_bytes", c_size_t), ("name", c_char_p), ("type", c_int), ("has_derivs", c_bool), ("is_declared", c_bool)]


class SortSslInput(ctypes.Structure):
    _fields_ = [("kind", c_int), ("name", c_char_p)]


class SortSslDerivativeDesc(Struct):
    _fields_ = [("size_bytes", c_size_t), ("is_backward", c_bool), ("inputs", POINTER(SortSslInput)), ("outputs", POINTER(c_char_p)),
                ("input_count", c_uint32), ("output_count", c_uint32), ("direction_count", c_uint32), ("has_edges", c_bool)]


class SortSslConstant(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("number", c_double), ("text", c_char_p)]


class SortSslBuildDesc(Struct):
    _fields_ = [("size_bytes", c_size_t), ("kind", c_int), ("constants", POINTER(SortSslConstant)), ("constant_count", c_uint32),
                ("llvm_level", c_uint32), ("lanes", c_uint32), ("bake_switches", c_bool), ("output_derivs", c_bool)]


class SortSslTextureCall(Struct):
    _fields_ = [("size_bytes", c_size_t), ("texture", c_uint32), ("site", c_uint32), ("first_point", c_uint32),
                ("lane_count", c_uint32), ("lane_mask", c_uint32), ("with_derivs", c_bool), ("coord", POINTER(c_float)),
                ("result", POINTER(c_float))]


TextureLookup = ctypes.CFUNCTYPE(None, c_void_p, POINTER(SortSslTextureCall))


class SortSslRunDesc(Struct):
    _fields_ = [("size_bytes", c_size_t), ("params", c_void_p), ("texture_lookup", TextureLookup), ("user", c_void_p),
                ("loop_budget", c_uint32), ("stack_bytes", c_uint32), ("texture_adjoint", TextureLookup)]


class SortSslTexelSumDesc(Struct):
    _fields_ = [("size_bytes", c_size_t), ("place_count", c_uint64), ("budget_bytes", c_uint64), ("folder", c_char_p)]


class SortSslFault(Struct):
    _fields_ = [("size_bytes", c_size_t), ("kind", c_int), ("file", c_char_p), ("line", c_uint32), ("column", c_uint32),
                ("text", c_char_p)]


STRUCTS = [SortSslError, SortSslGlobal, SortSslAttribute, SortSslContextDesc, SortSslDiag, SortSslSource, SortSslUnitInfo,
           SortSslParam, SortSslOutput, SortSslAttributeInfo, SortSslInput, SortSslDerivativeDesc, SortSslConstant,
           SortSslBuildDesc, SortSslTextureCall, SortSslRunDesc, SortSslTexelSumDesc, SortSslFault]

HANDLE, NEW, ERROR = c_void_p, POINTER(c_void_p), POINTER(SortSslError)
NUMBERS = POINTER(c_double)
# name without "sort_ssl_" -> result, arguments
FUNCTIONS = {
    "version": (c_char_p, []),
    "context_create": (c_int, [POINTER(SortSslContextDesc), NEW, ERROR]),
    "context_destroy": (None, [HANDLE]),
    "diags_create": (c_int, [NEW, ERROR]),
    "diags_destroy": (None, [HANDLE]),
    "diags_count": (c_uint32, [HANDLE]),
    "diags_get": (c_int, [HANDLE, c_uint32, POINTER(SortSslDiag), ERROR]),
    "diags_text": (c_char_p, [HANDLE]),
    "unit_compile": (c_int, [HANDLE, POINTER(SortSslSource), HANDLE, NEW, ERROR]),
    "unit_destroy": (None, [HANDLE]),
    "unit_info": (c_int, [HANDLE, POINTER(SortSslUnitInfo), ERROR]),
    "unit_param": (c_int, [HANDLE, c_uint32, POINTER(SortSslParam), ERROR]),
    "unit_output": (c_int, [HANDLE, c_uint32, POINTER(SortSslOutput), ERROR]),
    "unit_attribute": (c_int, [HANDLE, c_uint32, POINTER(SortSslAttributeInfo), ERROR]),
    "unit_param_default": (c_int, [HANDLE, c_uint32, NUMBERS, c_uint32, ERROR]),
    "unit_texture": (c_char_p, [HANDLE, c_uint32]),
    "unit_differentiate": (c_int, [HANDLE, POINTER(SortSslDerivativeDesc), HANDLE, NEW, ERROR]),
    "program_build": (c_int, [HANDLE, POINTER(SortSslBuildDesc), HANDLE, NEW, ERROR]),
    "program_destroy": (None, [HANDLE]),
    "params_create": (c_int, [HANDLE, NEW, ERROR]),
    "params_destroy": (None, [HANDLE]),
    "params_set": (c_int, [HANDLE, c_char_p, NUMBERS, c_uint32, ERROR]),
    "batch_create": (c_int, [HANDLE, c_uint32, NEW, ERROR]),
    "batch_destroy": (None, [HANDLE]),
    "batch_write_global": (c_int, [HANDLE, c_uint32, c_int, NUMBERS, c_size_t, ERROR]),
    "batch_write_attribute": (c_int, [HANDLE, c_uint32, c_int, NUMBERS, c_size_t, ERROR]),
    "batch_run": (c_int, [HANDLE, POINTER(SortSslRunDesc), ERROR]),
    "batch_read_output": (c_int, [HANDLE, c_uint32, c_int, NUMBERS, c_size_t, ERROR]),
    "batch_next_fault": (c_uint32, [HANDLE, c_uint32]),
    "batch_fault": (c_bool, [HANDLE, c_uint32, POINTER(SortSslFault)]),
    "texel_sum_create": (c_int, [POINTER(SortSslTexelSumDesc), NEW, ERROR]),
    "texel_sum_destroy": (None, [HANDLE]),
    "texel_sum_add": (c_int, [HANDLE, POINTER(c_uint64), c_uint32, POINTER(c_float), c_uint32, ERROR]),
    "texel_sum_merge": (c_int, [HANDLE, HANDLE, ERROR]),
    "texel_sum_read": (c_int, [HANDLE, c_uint64, c_uint64, NUMBERS, ERROR]),
    "sum_create": (c_int, [HANDLE, NEW, ERROR]),
    "sum_destroy": (None, [HANDLE]),
    "sum_add": (c_int, [HANDLE, HANDLE, ERROR]),
    "sum_merge": (c_int, [HANDLE, HANDLE, ERROR]),
    "sum_value": (c_int, [HANDLE, c_uint32, c_uint32, POINTER(c_double), ERROR]),
}


def find():
    """SORT_SSL_LIBRARY if set; else the library beside which this package was installed; else the one that the system finds."""
    if os.environ.get(ENVIRONMENT):
        return os.environ[ENVIRONMENT]
    name = f"libsort-ssl.so.{SOVERSION}"
    installed = pathlib.Path(__file__).resolve().parents[3] / name  # lib/python3/dist-packages/sort_ssl
    return str(installed) if installed.exists() else name


def load():
    path = find()
    try:
        loaded = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"sort_ssl needs libsort-ssl {SOVERSION}: {error}; {ENVIRONMENT} may name it") from error
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(loaded, "sort_ssl_" + name, None)
        if function is None:
            raise ImportError(f"{path} has no sort_ssl_{name}: it is not the library of version {SOVERSION}")
        function.restype, function.argtypes = result, arguments
    version = loaded.sort_ssl_version().decode()
    if not version.startswith(SOVERSION + "."):
        raise ImportError(f"{path} is version {version}; this sort_ssl is of version {SOVERSION}")
    return loaded


lib = load()


def text_of(value):
    return value.decode("utf-8", "replace") if value else ""


def call(name, *arguments):
    """Calls a function that returns a SortSslStatus."""
    error = SortSslError()
    if getattr(lib, "sort_ssl_" + name)(*arguments, ctypes.byref(error)):
        raise SslError(STATUSES[error.status], text_of(error.text))


class Handle:
    """Owns what a function of the library made, and gives it back with the function `kind`_destroy."""

    def __init__(self, kind, create, *arguments):
        self._destroy = getattr(lib, f"sort_ssl_{kind}_destroy")
        self.value = c_void_p()
        call(create, *arguments, ctypes.byref(self.value))

    def __del__(self):
        if getattr(self, "value", None):
            self._destroy(self.value)
            self.value = None


def diagnostics_of(diags):
    found = []
    for i in range(lib.sort_ssl_diags_count(diags.value)):
        d = SortSslDiag()
        call("diags_get", diags.value, i, ctypes.byref(d))
        found.append(Diagnostic(SEVERITIES[d.severity], text_of(d.code), text_of(d.file), d.line, d.column, d.end_line,
                                d.end_column, text_of(d.message), text_of(d.label)))
    return found


def compiled(kind, create, first, how):
    """What a compile made, and the compiler's messages; SslError has them when it failed."""
    diags = Handle("diags", "diags_create")
    try:
        return Handle(kind, create, first.value, ctypes.byref(how), diags.value), diagnostics_of(diags)
    except SslError as error:
        messages = diagnostics_of(diags)
        text = text_of(lib.sort_ssl_diags_text(diags.value)).rstrip() if messages else ""
        raise SslError(error.status, text or str(error), messages) from None


def fault_of(batch, point, first_point):
    fault = SortSslFault()
    lib.sort_ssl_batch_fault(batch.value, point, ctypes.byref(fault))
    place = f"{text_of(fault.file)}:{fault.line}:{fault.column}" if fault.line else ""
    return ShaderFault(FAULTS[fault.kind], first_point + point, place, text_of(fault.text))


