"""The name by which Blender knows the engine. It stands alone so that settings and panels can read it without the engine."""

from __future__ import annotations

ENGINE = "SORT"
