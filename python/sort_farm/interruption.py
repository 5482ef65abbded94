"""Signals that ask for an end. Until a task begins they end the program; then they are passed to the renderer, which writes a
checkpoint."""

from __future__ import annotations

import signal
import subprocess

_ASKING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def _install(handler) -> None:
    for number in _ASKING:
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup has it, and shells for commands in the background
            signal.signal(number, handler)


def _raise(number, frame) -> None:
    raise KeyboardInterrupt


def raise_when_asked() -> None:
    """From now on a request raises KeyboardInterrupt, so that what was begun is tidied up."""
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
