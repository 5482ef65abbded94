"""What users call: a shader as a function of arrays, with its derivatives."""

import os
import pathlib
import re

import numpy as np

from . import bindings
from .bindings import ATTRIBUTE, DDX, DDY, GLOBAL, PARAM, TEXTURE, VALUE, Handle
from .program import Program, Request, Unit
from .texture import tangent_of
from .values import Value, number_count, reduced, type_index

_KINDS = {PARAM: "parameter", GLOBAL: "global", ATTRIBUTE: "attribute", TEXTURE: "texture"}
_SHADOWS = {"": VALUE, "ddx": DDX, "ddy": DDY}
_DIRECTIONS_MAX = 4


def compile(text, **how):  # pylint: disable=redefined-builtin
    """A Shader of a source text; the keywords are those of Shader."""
    return Shader(text, **how)


def compile_file(path, **how):
    """A Shader of a file, which messages name."""
    return Shader(pathlib.Path(path).read_text(encoding="utf-8"), name=str(path), **how)


def _split(name):
    """"ddx" and NAME of "ddx(NAME)"; None and the name of any other."""
    found = re.fullmatch(r"(ddx|ddy)\((.*)\)", name)
    return found.groups() if found else (None, name)


def _table(struct, rows, what):
    """Rows of the host's table as C has them, and as Values. Floats have derivatives by pixels, which are 0 unless given."""
    values = []
    for name, type_name in dict(rows).items():
        index = type_index(type_name, f"{what} '{name}'")
        values.append(Value(name, index, number_count(index)))
    array = (struct * len(values))(*(struct(v.name.encode(), bindings.TYPES.index(v.type), v.is_float) for v in values))
    return array, values


class _Input:
    """Where a number that the caller names goes to."""

    def __init__(self, kind, index, value):
        self.kind, self.index, self.value = kind, index, value

    @property
    def name(self):
        """As the library calls it when it differentiates."""
        return {PARAM: "{}", GLOBAL: "global_value<{}>", ATTRIBUTE: "attribute<{}>", TEXTURE: "texture2d<{}>"}[self.kind].format(self.value.name)


class Shader:
    """A shader, compiled. It may be used by several threads at once.

    name        of the source, for messages
    shader      which shader of the source; None: the only one
    globals     what the shader reads as global_value<NAME>: {NAME: type}, such as {"u": "float", "p": "float3"}
    attributes  likewise, what it reads as attribute<NAME> without declaring it
    constants   {parameter: value} of parameters that are baked into the code; strings are baked at their defaults
    textures    {NAME: Texture(array)}, whose texels may be differentiated by; or {NAME: function(coordinates [n][7], with_derivatives)}:
                the function gives rgba [n][4], or with derivatives [n][3][4]: rgba, d rgba/ds, d rgba/dt. Coordinates: s, t, ds/dx,
                dt/dx, ds/dy, dt/dy, blur
    threads     that run many points; None: as many as the process may use
    loop_budget turns of loops that one point may take; 0: 2^20
    cpu         a baseline such as "x86-64-v3", for equal bits on unequal machines; None: this machine
    cache_folder    keeps compiled code; None: nowhere

    Wherever a method takes inputs by name, NAME is a parameter, a global, an attribute or a texture (global_value<NAME>, attribute<NAME>
    and texture2d<NAME> where two have the name). Parameters have one value; globals and attributes have one for each point, or one
    for all; textures have an array of texels. What is not given has its default, globals 0."""

    # pylint: disable=redefined-builtin, too-many-arguments
    def __init__(self, text, *, name="source", shader=None, globals=(), attributes=(), constants=None, textures=None, threads=None,
                 loop_budget=0, cpu=None, cache_folder=None):
        rows, self._globals = _table(bindings.SortSslGlobal, globals, "global")
        attribute_rows, _ = _table(bindings.SortSslAttribute, attributes, "attribute")
        desc = bindings.SortSslContextDesc(globals=rows, global_count=len(rows), attributes=attribute_rows,
                                          attribute_count=len(attribute_rows), cpu=cpu.encode() if cpu else None,
                                          cache_folder=os.fsencode(cache_folder) if cache_folder else None)
        context = Handle("context", "context_create", bindings.ctypes.byref(desc))
        data = text.encode("utf-8")
        source = bindings.SortSslSource(name=name.encode(), text=data, text_bytes=len(data), shader=shader.encode() if shader else None)
        handle, self.diagnostics = bindings.compiled("unit", "unit_compile", context, source)
        self._unit = Unit(handle, self._globals)
        self._constants, self._textures = dict(constants or {}), dict(textures or {})
        self._threads, self._loop_budget = threads or len(os.sched_getaffinity(0)), loop_budget
        self._programs = {}
        missing = [texture for texture in self._unit.textures if texture not in self._textures]
        if missing:
            raise ValueError(f"shader '{self._unit.name}' looks up the texture '{missing[0]}': textures has no function for it")

    @property
    def name(self):
        return self._unit.name

    @property
    def parameters(self):
        """The defaults of all parameters by name; None: there is none."""
        return {value.name: self._unit.default_of(i) for i, value in enumerate(self._unit.params)}

    @property
    def types(self):
        """The type of each input and output by name, as in source."""
        kinds = ((PARAM, self._unit.params), (GLOBAL, self._globals), (ATTRIBUTE, self._unit.attributes))
        types = {_Input(kind, 0, value).name: value.type_name for kind, values in kinds for value in values}
        return {**types, **{value.name: value.type_name for value in self._unit.outputs}}

    # --- names -----------------------------------------------------------------------------------------

    def _find(self, name, unit=None):
        explicit = re.fullmatch(r"(global_value|attribute|texture2d)<(.*)>", name)
        wanted = {"global_value": GLOBAL, "attribute": ATTRIBUTE, "texture2d": TEXTURE}[explicit[1]] if explicit else None
        plain = explicit[2] if explicit else name
        unit = unit or self._unit
        found = [_Input(kind, i, value) for kind, values in
                 ((PARAM, unit.params), (GLOBAL, self._globals), (ATTRIBUTE, unit.attributes), (TEXTURE, unit.texels))
                 for i, value in enumerate(values) if value.name == plain and wanted in (None, kind)]
        if len(found) > 1:
            raise KeyError(f"'{name}' is a {' and a '.join(_KINDS[f.kind] for f in found)}: write global_value<>, attribute<> or texture2d<>")
        if not found:
            raise KeyError(f"shader '{self.name}' has no parameter, global, attribute or texture '{name}'")
        return found[0]

    def _output(self, name):
        for value in self._unit.outputs:
            if value.name == name:
                if value.number_count == 0:
                    raise TypeError(f"output '{name}' is a {value.type_name}, which is no array")
                return value
        raise KeyError(f"shader '{self.name}' has no output '{name}'")

    def _differentiable(self, name):
        found = self._find(name)
        if found.kind == TEXTURE:
            self._array_texture(found.value.name)
        if not found.value.is_float:
            raise TypeError(f"{_KINDS[found.kind]} '{name}' is a {found.value.type_name}, by which nothing is differentiated")
        return found

    # --- programs --------------------------------------------------------------------------------------

    def _program(self, key, make_unit, output_derivs=False):
        if key not in self._programs:
            self._programs[key] = Program(make_unit(), self._constants, output_derivs)
        return self._programs[key]

    def _value_program(self, output_derivs):
        return self._program(("value", output_derivs), lambda: self._unit, output_derivs)

    def _derivative(self, is_backward, inputs, outputs, directions=1, edges=False):
        def make_unit():
            rows = (bindings.SortSslInput * len(inputs))(*(bindings.SortSslInput(i.kind, i.value.name.encode()) for i in inputs))
            names = (bindings.c_char_p * len(outputs))(*(name.encode() for name in outputs))
            how = bindings.SortSslDerivativeDesc(is_backward=is_backward, inputs=rows, outputs=names, input_count=len(inputs),
                                                output_count=len(outputs), direction_count=directions, has_edges=edges)
            return Unit(bindings.compiled("unit", "unit_differentiate", self._unit.handle, how)[0], self._globals)

        return self._program((is_backward, tuple(i.name for i in inputs), tuple(outputs), directions, edges), make_unit)

    # --- running ---------------------------------------------------------------------------------------

    @staticmethod
    def _gather(named):
        """Of inputs [(_Input, shadow, array)]: the shape of the points, and what a Request has of them."""
        shape = np.broadcast_shapes(*(found.value.points_of(array) for found, _, array in named if found.kind != PARAM))
        params, points = {}, []
        for found, shadow, array in named:
            if found.kind == PARAM:
                if array.shape != found.value.shape:
                    raise ValueError(f"parameter '{found.value.name}' has one value of shape {found.value.shape}, "
                                     f"not {array.shape}: what differs between points is a global or an attribute")
                params[found.value.name] = array
                continue
            full = np.broadcast_to(array, shape + found.value.shape).reshape((-1,) + found.value.shape)
            points.append(("global" if found.kind == GLOBAL else "attribute", found.index, shadow, full))
        return shape, params, points

    def _named(self, inputs, unit):
        named = []
        for name, array in inputs.items():
            shadow, plain = _split(name)
            found = self._find(plain, unit)
            if shadow and (found.kind == PARAM or not found.value.is_float):
                raise TypeError(f"{_KINDS[found.kind]} '{plain}' has no derivatives by pixels")
            named.append((found, _SHADOWS[shadow or ""], found.value.given(array, f"'{name}'")))
        return named

    def _replaced(self, inputs):
        """The inputs without those that are texels, and the textures with these."""
        rest, textures = {}, dict(self._textures)
        for name, array in inputs.items():
            shadow, plain = _split(name)
            found = None if shadow else self._find(plain)
            if found and found.kind == TEXTURE:
                textures[found.value.name] = self._array_texture(found.value.name).with_texels(array)
            else:
                rest[name] = array
        return rest, textures

    def _array_texture(self, name):
        if not hasattr(self._textures[name], "taps"):
            raise TypeError(f"texture '{name}' is a function, which has no texels: textures={{'{name}': sort_ssl.Texture(array)}}")
        return self._textures[name]

    # pylint: disable=too-many-arguments, too-many-positional-arguments
    def _run(self, program, named, outputs, textures, wants_sums=False, texels=()):
        shape, params, points = self._gather(named)
        count = int(np.prod(shape, dtype=np.int64))
        if count == 0:
            raise ValueError(f"there are no points: their arrays have the shape {shape}")
        request = Request(count, params, points, outputs, wants_sums, textures, list(texels), self._threads, self._loop_budget)
        arrays, sums, gradients = program.run(request)
        shaped = {}
        for (index, shadow), array in arrays.items():
            value = program.unit.outputs[index]
            dtype = value.dtype if shadow == VALUE else np.float32
            shaped[index, shadow] = array.reshape(shape + value.shape).astype(dtype, copy=False)
        return shaped, sums, gradients

    def evaluate(self, inputs, outputs=None, derivatives=False):
        """{output: array} of all outputs that are numbers, or of those named, at all points. Inputs may have "ddx(NAME)" and
        "ddy(NAME)" of globals and attributes, their derivatives per pixel; with derivatives=True so have outputs."""
        for name in outputs or ():
            self._output(name)
        program = self._value_program(bool(derivatives))
        wanted = [i for i, value in enumerate(program.unit.outputs) if value.number_count and (outputs is None or value.name in outputs)]
        shadows = {i: [VALUE, DDX, DDY] if derivatives and program.unit.outputs[i].has_pixel_derivatives else [VALUE] for i in wanted}
        inputs, textures = self._replaced(inputs)
        arrays, _, _ = self._run(program, self._named(inputs, program.unit), [(i, s) for i in wanted for s in shadows[i]], textures)
        names = {VALUE: "{}", DDX: "ddx({})", DDY: "ddy({})"}
        return {names[s].format(program.unit.outputs[i].name): array for (i, s), array in arrays.items()}

    def jvp(self, inputs, tangents, outputs=None):
        """Forward mode: ({output: value}, {output: its derivative in the direction of `tangents`}). `tangents` is {input: array},
        where what is left out has 0, or a list of up to four such directions; the second result is then a list, too."""
        directions = list(tangents) if isinstance(tangents, (list, tuple)) else [tangents]
        if not 1 <= len(directions) <= _DIRECTIONS_MAX or not all(directions):
            raise ValueError(f"1 to {_DIRECTIONS_MAX} directions, each with a tangent of an input, not {len(directions)}")
        wanted = [self._output(name).name for name in outputs] if outputs else [v.name for v in self._unit.outputs if v.is_float]
        by = {found.name: found for direction in directions for found in map(self._differentiable, direction)}
        program = self._derivative(False, [by[name] for name in sorted(by)], wanted, len(directions))
        inputs, textures = self._replaced(inputs)
        named = self._named(inputs, program.unit)
        prefixes = ["tangent" + (str(k + 1) if k else "") for k in range(len(directions))]
        for prefix, direction in zip(prefixes, directions):
            for name, array in direction.items():
                found = self._differentiable(name)
                if found.kind == TEXTURE:
                    textures[f"{prefix}({found.name})"] = tangent_of(textures[found.value.name], array)
                    continue
                to = self._find(f"{prefix}({found.name})", program.unit)
                named.append((to, VALUE, found.value.given(array, f"the tangent of '{name}'")))
        index = {value.name: i for i, value in enumerate(program.unit.outputs)}
        arrays, _, _ = self._run(program, named, [(i, VALUE) for i in index.values()], textures)
        values = {name: arrays[index[name], VALUE] for name in wanted}
        slopes = [{name: arrays[index[f"{prefix}({name})"], VALUE] for name in wanted} for prefix in prefixes]
        return values, slopes if isinstance(tangents, (list, tuple)) else slopes[0]

    def vjp(self, inputs, adjoints, by=None, edges=False):
        """Backward mode: {input: gradient} of the sum over all points of all outputs times their adjoints {output: array}. `by` names
        the inputs; None: all of `inputs` that are floats. A gradient has the shape of its input: that of a parameter, of a texture, or of
        what was given once for all points, is the sum over the points, exact up to one rounding. edges: what comparisons change between
        neighbouring pixels counts, too; inputs then have "ddx(NAME)" and "ddy(NAME)"."""
        if not adjoints:
            raise ValueError("no output has an adjoint")
        wanted = [self._output(name) for name in adjoints]
        given = inputs
        inputs, textures = self._replaced(inputs)
        named = self._named(inputs, self._unit)
        floats = [n for n, (f, s, _) in zip(inputs, named) if s == VALUE and f.value.is_float]
        names = list(by) if by is not None else floats + [n for n in given if n not in inputs]
        found = {name: self._differentiable(name) for name in names}
        if not found:
            raise ValueError("no input is left by which to differentiate")
        program = self._derivative(True, list(found.values()), [value.name for value in wanted], edges=bool(edges))
        named = self._named(inputs, program.unit)
        shapes = {f.name: f.value.points_of(array) for f, shadow, array in named if shadow == VALUE}
        for value in wanted:
            array = value.given(adjoints[value.name], f"the adjoint of '{value.name}'")
            named.append((self._find(f"adjoint({value.name})", program.unit), VALUE, array))
        index = {value.name: i for i, value in enumerate(program.unit.outputs)}
        places = {name: index[f"gradient({f.name})"] for name, f in found.items()}
        per_point = [(places[name], VALUE) for name, f in found.items() if f.kind != PARAM and shapes.get(f.name)]
        texels = {name: f.value.name for name, f in found.items() if f.kind == TEXTURE}
        arrays, sums, of_texels = self._run(program, named, per_point, textures, wants_sums=True, texels=texels.values())
        gradients = {}
        for name, f in found.items():
            if name in texels:
                gradients[name] = of_texels[texels[name]]
            elif (places[name], VALUE) in arrays:
                gradients[name] = reduced(arrays[places[name], VALUE], shapes[f.name] + f.value.shape)
            else:
                gradients[name] = sums[places[name]].reshape(f.value.shape)[()]
        return gradients
