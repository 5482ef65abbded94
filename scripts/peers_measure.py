"""Measures and checks the functions of peers_functions.py, run by scripts/bench-peers in the environment that has Dr.Jit and Slang.

    python peers_measure.py OPTIONS.json

OPTIONS.json: {"names", "points", "rounds", "llvm", "clang", "folder", "json"}, of which `json` may be null, and no names are all. SSL is the
libsort-ssl that SORT_SSL_LIBRARY names."""

import ctypes
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import numpy as np
from peers_functions import FUNCTIONS, unrolled

KINDS = ("value", "forward", "backward")
ERROR_MAX = 1e-3


def numbers_of(function):
    """(name, component or None) of each number of the inputs."""
    return [(name, i if count > 1 else None) for name, count, *_ in function.inputs for i in range(count)]


def type_name(count):
    return "float" if count == 1 else f"float{count}"


def given_points(function, count):
    rng = np.random.default_rng(7)
    return [rng.uniform(low, high, count).astype(np.float32) for _, n, low, high in function.inputs for _ in range(n)]


def grouped(function, arrays):
    """The arrays of all numbers as a list for each input."""
    arrays = iter(arrays)
    return [[next(arrays) for _ in range(count)] for _, count, *_ in function.inputs]


# --- the truth, in double ----------------------------------------------------------------------------------


class NumpyMathematics:
    sin, exp, sqrt, abs, floor = np.sin, np.exp, np.sqrt, np.abs, np.floor
    max, min, atan2 = np.maximum, np.minimum, np.arctan2
    number = staticmethod(np.float64)
    zero = staticmethod(np.zeros_like)

    @staticmethod
    def to_whole(x):
        return x.astype(np.int64)

    @staticmethod
    def whole(x):
        """The low 32 bits, with sign."""
        return (x + 2**31) % 2**32 - 2**31


class Truth:
    """Values, and derivatives by central differences; both in double."""

    STEP = 1e-6

    def __init__(self, function, points):
        self.function, self.points = function, [x.astype(np.float64) for x in points]
        self.table = function.table.astype(np.float64)

    def at(self, points, table):
        f = self.function
        return np.stack(f.python(NumpyMathematics, grouped(f, points), lambda i: table[i], f.turns, unrolled))

    def between(self, change):
        """The derivative along change(step) -> (points, table)."""
        return (self.at(*change(self.STEP)) - self.at(*change(-self.STEP))) / (2 * self.STEP)

    def value(self):
        return self.at(self.points, self.table)

    def forward(self):
        if self.function.by_table:
            return self.between(lambda step: (self.points, self.table * (1 + step)))
        return self.between(lambda step: ([x + step for x in self.points], self.table))

    def backward(self):
        """Of the sum of all outputs: for each number of the inputs at each point, or for the table, summed over the points."""
        def moved(array, i, step):
            array = list(array)
            array[i] = array[i] + step
            return array

        if self.function.by_table:
            return np.array([self.between(lambda step, i=i: (self.points, np.array(moved(self.table, i, step)))).sum() for i in range(len(self.table))])
        return np.stack([self.between(lambda step, i=i: (moved(self.points, i, step), self.table)).sum(axis=0) for i in range(len(self.points))])


def error_of(found, truth):
    """The difference that one of a thousand numbers has at least, in parts of its row's largest number."""
    found, truth = np.atleast_2d(found), np.atleast_2d(truth)
    scale = np.abs(truth).max(axis=1, keepdims=True) + 1e-30
    return float(np.quantile(np.abs(found - truth) / scale, 0.999))


# --- SSL -----------------------------------------------------------------------------------------------------


class Ssl:
    CHUNK = 16384  # points of a batch
    SUMMED = 512  # of one whose results are only summed up

    def __init__(self, function, points, is_fused):
        self.name, self.mark = ("SSL, fused", "[Fused] ") if is_fused else ("SSL", "")
        self.function, self.points, self.count = function, points, len(points[0])
        self.programs = {kind: self._build(kind) for kind in KINDS}

    def _source(self, kind):
        f = self.function
        text = f.text.replace("[ForceUnroll] ", "").replace("MIX(", "mix(")
        text = re.sub(r"TABLE (\w)", rf"float \1[{len(f.table)}]", text)
        result, named = type_name(f.outputs), [f"global_value<{name}>" for name, *_ in f.inputs]
        types = [type_name(count) for _, count, *_ in f.inputs]
        params = (["int turns"] if f.turns else []) + ([f"float table[{len(f.table)}]"] if len(f.table) else [])
        rest = (["turns"] if f.turns else []) + (["table"] if len(f.table) else [])
        by_table = f.by_table
        if kind == "value":
            outs, body = [f"out {result} o"], f"o = f({', '.join(named + rest)});"
        elif kind == "forward":
            pairs = named if by_table else [f"diff_pair({n}, {t}(1.0))" for n, t in zip(named, types)]
            pairs += ["diff_pair(table, table)"] if by_table else rest
            outs = [f"out {result} o", f"out {result} d"]
            body = f"const diff_pair<{result}> y = fwd_diff(f)({', '.join(pairs)}); o = y.p; d = y.d;"
        elif by_table:
            outs = [f"out float d[{len(f.table)}]"]
            body = (f"diff_pair<float[{len(f.table)}]> pair = diff_pair(table); "
                    f"bwd_diff(f)({', '.join(named)}, pair, {result}(1.0)); d = pair.d;")
        else:
            outs = [f"out {t} d{i}" for i, t in enumerate(types)]
            body = "".join(f"diff_pair<{t}> p{i} = diff_pair({n}); " for i, (n, t) in enumerate(zip(named, types)))
            body += f"bwd_diff(f)({', '.join([f'p{i}' for i in range(len(types))] + rest)}, {result}(1.0));"
            body += "".join(f" d{i} = p{i}.d;" for i in range(len(types)))
        return f"{text}\n{self.mark}shader main({', '.join(params + outs)})\n{{\n    {body}\n}}\n"

    def _build(self, kind):
        import sort_ssl
        from sort_ssl import bindings
        from sort_ssl.program import Program
        self.b = bindings
        f = self.function
        shader = sort_ssl.compile(self._source(kind), name=f.name, globals={name: type_name(count) for name, count, *_ in f.inputs})
        start = time.process_time()
        program = Program(shader._unit, {}, False)  # pylint: disable=protected-access
        program.compile_seconds = time.process_time() - start
        numbers = {**({"turns": np.array(f.turns)} if f.turns else {}), **({"table": f.table} if len(f.table) else {})}
        program.given = program._params(numbers)  # pylint: disable=protected-access
        program.how = bindings.SortSslRunDesc(params=program.given.value)
        program.batches = []
        groups = [np.stack(group, axis=1).astype(np.float64) for group in grouped(f, self.points)]
        sums = kind == "backward" and f.by_table
        size = self.SUMMED if sums else self.CHUNK
        for first in range(0, self.count, size):
            part = slice(first, min(first + size, self.count))
            last = program.batches[-1][1] if program.batches else None
            batch = last if sums and last else bindings.Handle("batch", "batch_create", program.handle.value, part.stop - part.start)
            rows = [np.ascontiguousarray(array[part]) for array in groups]
            program.batches.append((part, batch, rows))
            self._write(batch, rows)
        return program

    def _write(self, batch, rows):
        for row, numbers in enumerate(rows):
            self.b.call("batch_write_global", batch.value, row, self.b.VALUE, numbers.ctypes.data_as(self.b.NUMBERS), numbers.size)

    def measure(self, kind):
        """Seconds of a run over all points; where it sums up, with the writing of one batch again and again, as hosts do."""
        program, run = self.programs[kind], self.b.lib.sort_ssl_batch_run
        error, how = self.b.SortSslError(), ctypes.byref(program.how)
        sums = kind == "backward" and self.function.by_table
        start = time.perf_counter()
        total = self.b.Handle("sum", "sum_create", program.handle.value) if sums else None
        for _, batch, rows in program.batches:
            if sums:
                self._write(batch, rows)
            if run(batch.value, how, ctypes.byref(error)):
                sys.exit(self.b.text_of(error.text))
            if sums:
                self.b.lib.sort_ssl_sum_add(total.value, batch.value, ctypes.byref(error))
        seconds = time.perf_counter() - start
        self.total = total
        return seconds

    def results(self, kind):
        self.measure(kind)
        program = self.programs[kind]
        if kind == "backward" and self.function.by_table:
            number, found = ctypes.c_double(), []
            for i in range(len(self.function.table)):
                self.b.call("sum_value", self.total.value, 0, i, ctypes.byref(number))
                found.append(number.value)
            return np.array(found)
        wanted = [1] if kind == "forward" else range(len(program.unit.outputs))
        rows = []
        for index in wanted:
            array = np.empty((len(self.points[0]), program.unit.outputs[index].number_count))
            for part, batch, _ in program.batches:
                self.b.call("batch_read_output", batch.value, index, self.b.VALUE, array[part].ctypes.data_as(self.b.NUMBERS), array[part].size)
            rows += list(array.T)
        return np.stack(rows)


# --- Dr.Jit -------------------------------------------------------------------------------------------------


class DrJit:
    """Loops as Dr.Jit records them, or unrolled while it traces. Time is that of its kernels, without what Python does."""

    def __init__(self, function, points, is_unrolled):
        import drjit
        from drjit.llvm.ad import Float, Int32, UInt32
        self.dr, self.Float, self.Int32, self.UInt32 = drjit, Float, Int32, UInt32
        self.name = "Dr.Jit, unrolled" if is_unrolled else "Dr.Jit"
        self.function, self.is_unrolled, self.count = function, is_unrolled, len(points[0])
        self.points = [Float(x) for x in points]
        drjit.eval(self.points)
        self.table = Float(function.table) if len(function.table) else Float(0)
        self.m = self._mathematics()

    def _mathematics(self):
        dr, Float, Int32 = self.dr, self.Float, self.Int32

        class Mathematics:
            sin, exp, sqrt, abs, floor, atan2 = dr.sin, dr.exp, dr.sqrt, dr.abs, dr.floor, dr.atan2
            max, min = dr.maximum, dr.minimum
            number = staticmethod(lambda x: Float(x) if isinstance(x, Int32) else float(x))
            zero = staticmethod(lambda x: Float(0))
            to_whole = staticmethod(Int32)
            whole = staticmethod(lambda x: x)
        return Mathematics

    def _loop(self, count, state, body):
        if self.is_unrolled:
            return unrolled(count, state, body)
        Int32 = self.Int32
        turns = self.dr.opaque(Int32, count) if self.function.turns else Int32(count)
        result = self.dr.while_loop((Int32(0), *state), lambda i, *s: i < turns, lambda i, *s: (i + 1, *body(i, *s)), mode="symbolic",
                                    max_iterations=count)
        return result[1:]

    def _f(self, points, table):
        f = self.function
        return f.python(self.m, grouped(f, points), lambda i: self.dr.gather(self.Float, table, self.UInt32(i)), f.turns, self._loop)

    def _run(self, kind):
        dr, f = self.dr, self.function
        points, table = [self.Float(x) for x in self.points], self.Float(self.table)
        if kind == "value":
            out = self._f(points, table)
            dr.eval(out)
            return out
        by = [table] if f.by_table else points
        for x in by:
            dr.enable_grad(x)
        out = self._f(points, table)
        if kind == "forward":
            for x in by:
                dr.set_grad(x, self.table if f.by_table else 1)
            values = [dr.detach(x) for x in out]
            found = list(dr.forward_to(*out)) if len(out) > 1 else [dr.forward_to(out[0])]
            dr.eval(values, found)
            return found
        dr.backward(sum(out[1:], out[0]))
        found = [dr.grad(x) for x in by]
        dr.eval(found)
        return found

    def measure(self, kind):
        dr = self.dr
        dr.sync_thread()
        dr.kernel_history()
        self.found = self._run(kind)
        dr.sync_thread()
        return sum(row["execution_time"] for row in dr.kernel_history()) * 1e-3

    def results(self, kind):
        self.measure(kind)
        rows = [np.array(x) for x in self.found]
        return rows[0] if kind == "backward" and self.function.by_table else np.stack(np.broadcast_arrays(*rows, np.array(self.points[0])))[:len(rows)]


# --- Slang --------------------------------------------------------------------------------------------------


class SlangCompiler:
    """What slangc does, of the library that the module slangpy brings, whose wheel has no slangc."""

    def __init__(self):
        import importlib.util
        folder = pathlib.Path(importlib.util.find_spec("slangpy").origin).parent
        path, = folder.glob("libslang-compiler.so*")
        self.lib = lib = ctypes.CDLL(os.fspath(path))
        for name, result in {"CreateSession": ctypes.c_void_p, "CreateCompileRequest": ctypes.c_void_p, "GetDiagnosticOutput": ctypes.c_char_p,
                             "GetCompileRequestCode": ctypes.c_void_p}.items():
            getattr(lib, "sp" + name).restype = result
        self.session = ctypes.c_void_p(lib.spCreateSession(None))

    def cpp(self, path):
        lib = self.lib
        request = ctypes.c_void_p(lib.spCreateCompileRequest(self.session))
        arguments = [os.fsencode(path), b"-target", b"cpp", b"-line-directive-mode", b"none", b"-o", b"nowhere.cpp"]  # which is not written
        refused = lib.spProcessCommandLineArguments(request, (ctypes.c_char_p * len(arguments))(*arguments), len(arguments))
        if refused or lib.spCompile(request):
            sys.exit((lib.spGetDiagnosticOutput(request) or b"").decode())
        size = ctypes.c_size_t()
        code = lib.spGetCompileRequestCode(request, ctypes.byref(size))
        return ctypes.string_at(code, size.value)


class Buffer(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("count", ctypes.c_size_t)]


class GroupRange(ctypes.Structure):
    _fields_ = [("start", ctypes.c_uint32 * 3), ("end", ctypes.c_uint32 * 3)]


class Slang:
    """Slang's CPU target, C++, compiled by clang with the flags given."""

    GROUP = 64
    compiler = None

    def __init__(self, function, points, options, name, flags):
        Slang.compiler = Slang.compiler or SlangCompiler()
        self.name, self.function, self.count = name, function, len(points[0])
        self.inputs = points + [function.table]
        count = len(points[0])
        self.outputs = [np.zeros(count, np.float32) for _ in range(max(2 * function.outputs, len(points)))]
        self.gradient = np.zeros(len(function.table), np.float32)
        stem = pathlib.Path(options["folder"]) / re.sub(r"\W+", "_", function.name)
        source = stem.with_suffix(".slang")
        source.write_text(self._source(), encoding="utf-8")
        cpp, built = stem.with_suffix(".cpp"), stem.with_name(f"{stem.name}_{len(flags)}.so")
        cpp.write_bytes(self.compiler.cpp(source))
        subprocess.run([options["clang"], "-w", "-std=c++17", "-shared", "-fPIC", "-o", built, *flags, cpp], check=True)
        self.lib = ctypes.CDLL(os.fspath(built))
        self.globals = self._globals()
        self.range = GroupRange((0, 0, 0), (count // self.GROUP, 1, 1))

    def _globals(self):
        buffers = [Buffer(a.ctypes.data, a.size) for a in (*self.inputs, *self.outputs, self.gradient)]

        class Globals(ctypes.Structure):
            _fields_ = [("buffers", Buffer * len(buffers)), ("turns", ctypes.c_int32)]
        return Globals((Buffer * len(buffers))(*buffers), self.function.turns)

    def _source(self):
        f, count = self.function, len(numbers_of(self.function))
        text = f.text.replace("MIX(", "lerp(")
        text = re.sub(r", (no_diff )?TABLE \w", "", text)
        text = re.sub(r"\b[tw]\[([^]]*)\]", r"load(\1)", text)
        lines = [f"StructuredBuffer<float> i{k};" for k in range(count)] + ["StructuredBuffer<float> table;"]
        lines += [f"RWStructuredBuffer<float> o{k};" for k in range(len(self.outputs))] + ["RWStructuredBuffer<float> gradient;", "uniform int turns;"]
        if f.by_table:
            lines += ["[BackwardDerivative(load_back)] [ForwardDerivative(load_forward)] float load(int i) { return table[i]; }",
                      "void load_back(int i, float d) { gradient[i] += d; }",
                      "DifferentialPair<float> load_forward(int i) { return diffPair(table[i], table[i]); }"]
        else:
            lines += ["float load(int i) { return table[i]; }"]
        arrays, named, at = [], [], 0
        for _, n, *_ in f.inputs:
            named.append(f"{type_name(n)}({', '.join(f'i{at + k}[t.x]' for k in range(n))})" if n > 1 else f"i{at}[t.x]")
            arrays.append((at, n))
            at += n
        rest, result = (["turns"] if f.turns else []), type_name(f.outputs)

        def store(what, first, n):
            return " ".join(f"o{first + k}[t.x] = {what}{'.' + 'xyz'[k] if n > 1 else ''};" for k in range(n))

        bodies = {"value": f"let y = f({', '.join(named + rest)}); " + store("y", 0, f.outputs)}
        pairs = named if f.by_table else [f"diffPair({value}, {type_name(n)}(1.0))" for value, (_, n) in zip(named, arrays)]
        bodies["forward"] = (f"let y = fwd_diff(f)({', '.join(pairs + rest)}); " + store("y.p", 0, f.outputs) + " " + store("y.d", f.outputs, f.outputs))
        if f.by_table:
            bodies["backward"] = f"bwd_diff(f)({', '.join(named + rest)}, {result}(1.0));"
        else:
            bodies["backward"] = " ".join(f"var p{k} = diffPair({value}, {type_name(n)}(0.0));" for k, (value, (_, n)) in enumerate(zip(named, arrays)))
            bodies["backward"] += f" bwd_diff(f)({', '.join([f'p{k}' for k in range(len(named))] + rest)}, {result}(1.0)); "
            bodies["backward"] += " ".join(store(f"p{k}.d", first, n) for k, (first, n) in enumerate(arrays))
        entries = [f'[shader("compute")] [numthreads({self.GROUP}, 1, 1)] void {kind}(uint3 t : SV_DispatchThreadID)\n{{\n    {body}\n}}'
                   for kind, body in bodies.items()]
        return "\n".join(lines) + "\n" + text + "\n" + "\n".join(entries) + "\n"

    def measure(self, kind):
        self.gradient[:] = 0
        entry = getattr(self.lib, kind)
        arguments = ctypes.byref(self.range), None, ctypes.byref(self.globals)
        start = time.perf_counter()
        entry(*arguments)
        return time.perf_counter() - start

    def results(self, kind):
        self.measure(kind)
        f = self.function
        if kind == "backward":
            return self.gradient if f.by_table else np.stack(self.outputs[:len(numbers_of(f))])
        first = f.outputs if kind == "forward" else 0
        return np.stack(self.outputs[first:first + f.outputs])


# --- all of them ---------------------------------------------------------------------------------------------


def make_systems(function, points, options):
    systems = [Ssl(function, points, False), Ssl(function, points, True), DrJit(function, points, False), DrJit(function, points, True)]
    if function.turns:
        systems.pop()  # what is said when it runs cannot be unrolled
    elif not function.name.startswith(("series", "noise")):
        systems.pop(2)  # these have no loop that is recorded
    flags = ["-O3", "-march=native"]
    return systems + [Slang(function, points, options, "Slang", flags), Slang(function, points, options, "Slang, fast", flags + ["-ffast-math"])]


def check(function, systems, points):
    count = 1024
    truth = Truth(function, [x[:count] for x in points])
    errors = {}
    for kind in KINDS:
        is_sum = kind == "backward" and function.by_table
        wanted = None if is_sum else getattr(truth, kind)()
        for system in systems:
            found = system.results(kind)
            if is_sum:
                wanted = Truth(function, points).backward() if wanted is None else wanted
                errors[system.name, kind] = error_of(found, wanted)
            else:
                errors[system.name, kind] = error_of(found[:, :count], wanted)
    return errors


def measure(function, systems, rounds):
    """Nanoseconds a point, by (system, kind): the least of the rounds. In each a system runs three times, as the others have taken its data
    out of the caches."""
    best = {}
    for _ in range(rounds):
        for kind in KINDS:
            for system in systems:
                ns = min(system.measure(kind) for _ in range(3)) * 1e9 / system.count
                best[system.name, kind] = min(ns, best.get((system.name, kind), ns))
    return best


def main():
    options = json.loads(pathlib.Path(sys.argv[1]).read_text())
    os.environ.setdefault("DRJIT_LIBLLVM_PATH", options["llvm"])
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    import drjit as dr
    dr.set_thread_count(1)
    dr.set_flag(dr.JitFlag.KernelHistory, True)
    unknown = [name for name in options["names"] if name not in FUNCTIONS]
    if unknown:
        sys.exit(f"bench-peers: there is no function '{unknown[0]}'; there are {', '.join(FUNCTIONS)}")
    print(f"{options['points']} points, {options['rounds']} rounds, load {os.getloadavg()[0]:.1f}")
    print(f"{'ns a point':19}" + "".join(f"{kind:>9}" for kind in KINDS) + "".join(f"{kind:>10}" for kind in ("error of it", "", "")))
    rows = []
    for name in options["names"] or FUNCTIONS:
        function = FUNCTIONS[name]
        points = given_points(function, options["points"])
        systems = make_systems(function, points, options)
        errors = check(function, systems, points)
        best = measure(function, systems, options["rounds"])
        print(f"{name}", flush=True)
        for system in systems:
            print(f"  {system.name:17}" + "".join(f"{best[system.name, kind]:9.2f}" for kind in KINDS) +
                  "".join(f"{errors[system.name, kind]:10.1e}" for kind in KINDS), flush=True)
            rows.append({"function": name, "system": system.name, "ns": {kind: best[system.name, kind] for kind in KINDS},
                         "errors": {kind: errors[system.name, kind] for kind in KINDS}})
    print(f"load {os.getloadavg()[0]:.1f}")
    if options["json"]:
        pathlib.Path(options["json"]).write_text(json.dumps(rows, indent=1), encoding="utf-8")
    worst = max(rows, key=lambda row: max(row["errors"].values()))
    if max(worst["errors"].values()) > ERROR_MAX:
        sys.exit(f"bench-peers: {worst['system']} differs from NumPy on {worst['function']}")


if __name__ == "__main__":
    main()
