"""What an export and a render have to say to the artist.

A Report gathers warnings, each once, with the object, material or node it is about. The last report stays
for the panel in the render properties.
"""

from __future__ import annotations

from pathlib import Path


class SortError(Exception):
    """Ends the render; the text is for the artist."""


class Report:
    def __init__(self) -> None:
        self.warnings: list[str] = []
        self.error = ""
        self.stats: Path | None = None  # of the render, as sort-render wrote them
        self._seen: set[str] = set()

    def warn(self, where: str, what: str) -> None:
        """`where` names the thing ("Material 'Wood', node 'Noise Texture'"), `what` what happens to it."""
        text = f"{where}: {what}" if where else what
        if text not in self._seen:
            self._seen.add(text)
            self.warnings.append(text)


_last = Report()


def publish(report: Report) -> None:
    global _last
    _last = report


def last() -> Report:
    return _last
