"""The SORT Shading Language from Python: shaders over NumPy arrays, and their derivatives in both modes.

    import numpy as np
    import sort_ssl

    wave = sort_ssl.compile('''
        shader wave(float frequency = 1, out float height)
        {
            height = sin(frequency * global_value<u>);
        }''', globals={"u": "float"})
    inputs = {"frequency": 3, "u": np.linspace(0, 1, 256)}
    height = wave.evaluate(inputs)["height"]
    values, slopes = wave.jvp(inputs, {"frequency": 1})        # slopes["height"]: d height / d frequency
    gradient = wave.vjp(inputs, {"height": height - target})   # gradient["frequency"]: the sum over all points

libsort-ssl does the work, by ctypes (docs/manual/python.md).

    bindings  the functions and structs of sort_ssl.h     errors    what is raised
    values    types of the language as arrays             shader    compile, evaluate, jvp, vjp
    program   machine code that runs on points         texture   textures as arrays
"""

from .bindings import VERSION as __version__
from .errors import Diagnostic, ShaderFault, SslError
from .shader import Shader, compile, compile_file  # pylint: disable=redefined-builtin
from .texture import Texture

__all__ = ["Diagnostic", "Shader", "ShaderFault", "SslError", "Texture", "compile", "compile_file"]
