"""What is raised. Names and shapes that do not fit are Python's own KeyError, TypeError and ValueError."""

from typing import NamedTuple


class Diagnostic(NamedTuple):
    """One message of the compiler. Lines and columns count from 1; 0: there is no place."""

    severity: str  # "error", "warning" or "note", which belongs to the message before it
    code: str  # "S0207"; "" for notes
    file: str
    line: int
    column: int
    end_line: int
    end_column: int  # behind the last character
    message: str
    label: str  # what to write beside the place


class SslError(Exception):
    """The library refused something. `str` of it is the text for people, with source lines and carets if the source was rejected."""

    def __init__(self, status, text, diagnostics=()):
        super().__init__(text)
        self.status = status  # "source", "invalid", "not_found", "limit" ... (SortSslStatus)
        self.diagnostics = list(diagnostics)


class ShaderFault(SslError):
    """A shader did something at a point that has no meaning: an index out of range, a loop without end."""

    def __init__(self, kind, point, place, text):
        super().__init__("fault", f"at point {point}: {place}: {text}" if place else f"at point {point}: {text}")
        self.kind = kind  # "index", "loop", "recursion", "closures" or "tape"
        self.point = point  # its index in the arrays
