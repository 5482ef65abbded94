"""Signals that ask for an end. Until a task begins they end the program; then they are passed to the renderer, which writes a
checkpoint."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from .errors import GO_ON, tell

_ASKING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def _install(handler) -> None:
    for number in _ASKING:
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup has it, and shells for commands in the background
            signal.signal(number, handler)


def _nothing(number, frame) -> None:
    """A second request does not disturb whoever tidies up after the first."""


def _raise(number, frame) -> None:
    _install(_nothing)
    raise KeyboardInterrupt


def _not_raised(lost) -> None:
    """Python drops what is raised while it calls a finalizer. A request is not dropped: it ends the program without tidying up."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        tell("interrupted")
        os._exit(GO_ON)
    sys.__unraisablehook__(lost)


def raise_when_asked() -> None:
    """From now on the first request raises KeyboardInterrupt, so that what was begun is tidied up."""
    sys.unraisablehook = _not_raised
    _install(_raise)


class Interruption:
    """Once installed, requests are passed to the renderer under way; `asked` tells that one came."""

    def __init__(self) -> None:
        self.asked = False
        self._child: subprocess.Popen | None = None

    def install(self) -> None:
        _install(self._ask)

    def watch(self, child: subprocess.Popen | None) -> None:
        """The renderer that is told, at once if a request came before; None: there is none any more."""
        self._child = child
        if self.asked:
            self._tell()

    def _ask(self, number, frame) -> None:
        self.asked = True
        self._tell()

    def _tell(self) -> None:
        """Once: a second signal would end the renderer without a checkpoint."""
        child, self._child = self._child, None
        if child:
            child.terminate()
