"""Reads every result, adds what is there to pictures, and tells what is missing. Renders nothing."""

from __future__ import annotations

from typing import Callable

from . import files, renderer
from .errors import DAMAGED, DONE, FAILED, UNFINISHED, FarmError
from .manifest import Manifest
from .interruption import Interruption
from .tasks import Graph, graph_of
from .work import Worker, difference

LEFTOVER_S = 3600.0


def set_damaged_aside(manifest: Manifest, graph: Graph, tell: Callable[[str], None]) -> int:
    """Reads every part and sum that is there, many in one process. Returns how many were damaged."""
    there = [task for stage in graph.stages[:-1] for task in stage.tasks if graph.result(task).exists()]
    paths = [graph.result(task) for task in there]
    damaged = 0
    for task, found in zip(there, renderer.verify(renderer.find(manifest.program), paths)):
        wrong = difference(manifest, graph, task, found)
        if wrong:
            damaged += 1
            tell(f"{wrong}; it is set aside as {files.set_aside(graph.result(task)).name}")
    return damaged


def _remove_leftovers(manifest: Manifest, shot: str) -> None:
    """Files of tasks that were killed, once nobody can be writing them any more."""
    for kind in ("parts", "sums", "checkpoints"):
        folder = manifest.path(kind, shot)
        if not folder.exists():
            continue
        now = files.now_there(folder)
        for path in folder.iterdir():
            is_unread = path.name.startswith(".") or (kind == "checkpoints" and path.suffix == ".part")
            if path.suffix == ".checkpoint" or (is_unread and now - path.lstat().st_mtime > LEFTOVER_S):
                files.remove(path)
    for path in (manifest.path("running", shot).iterdir() if manifest.path("running", shot).exists() else ()):
        files.remove(path)


def collect(manifest: Manifest, interruption: Interruption, tell: Callable[[str], None]) -> int:
    """Returns the exit code of the command."""
    from .status import missing_parts
    code = DONE
    for shot in manifest.shots:
        graph = graph_of(manifest, shot.name)
        worker = Worker(manifest, interruption, may_render=False)
        if worker.is_there(graph, graph.picture):
            _remove_leftovers(manifest, shot.name)
            code = code or (DAMAGED if files.read_json(graph.result(graph.picture))["is_damaged"] else DONE)
            continue
        set_damaged_aside(manifest, graph, tell)
        missing = missing_parts(graph, None)
        if missing:
            some = ", ".join(task.id for task in missing[:5]) + (" ..." if len(missing) > 5 else "")
            tell(f"{shot.name}: {len(missing)} of {len(shot.ranges)} parts are missing ({some}); 'sort-farm resume' has them "
                 "rendered")
            code = UNFINISHED if code in (DONE, DAMAGED) else code
            continue
        try:
            made = worker.make(graph, graph.picture)
            tell(f"{shot.name}: {shot.output}")
            _remove_leftovers(manifest, shot.name)
            code = code or made
        except FarmError as why:
            if interruption.asked:
                raise
            tell(str(why))
            code = FAILED
    return code
