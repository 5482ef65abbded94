"""The state of a farm as one HTML file, with thumbnails: of finished pictures, and of what unfinished ones hold so far."""

from __future__ import annotations

import html
import os
import time
from pathlib import Path
from urllib.parse import quote

from . import files, renderer
from .errors import FarmError
from .manifest import Manifest
from .status import ShotStatus, duration
from .tasks import graph_of

STYLE = """body{font:14px/1.45 system-ui,sans-serif;margin:2em;color:#222;background:#fafafa}
table{border-collapse:collapse}td,th{padding:.35em .8em;text-align:left;border-bottom:1px solid #ddd;vertical-align:top}
td.n{text-align:right;font-variant-numeric:tabular-nums}img{width:160px;image-rendering:auto;background:#ddd}
.bar{width:12em;background:#ddd}.bar i{display:block;height:.7em;background:#3a7}.bad{color:#b00}pre{white-space:pre-wrap;margin:0}"""


def preview(manifest: Manifest, shot_name: str, inputs_max: int = 32) -> Path | None:
    """Adds some of what an unfinished shot has into a PNG."""
    graph = graph_of(manifest, shot_name)
    paths = [graph.result(task) for stage in reversed(graph.stages[:-1]) for task in stage.tasks
             if graph.result(task).exists()]
    if graph.shot.rounds:
        paths = paths[:1]  # a round's sum holds the earlier ones
    elif paths:
        paths = [path for path in paths if path.parent == paths[0].parent and path.name.split(".")[0] ==
                 paths[0].name.split(".")[0] or path.suffix == ".part" == paths[0].suffix]
    picture = manifest.path("pictures", f"{shot_name}.preview.png")
    try:
        files.make_folder(picture.parent)
    except FarmError:
        return None  # the page is of use without it
    done = renderer.merge(renderer.find(manifest.program), paths[:inputs_max], ["--png", str(picture)]) if paths else None
    return picture if done and picture.exists() else None


def _thumbnail(manifest: Manifest, shot: ShotStatus, page: Path) -> str:
    own = manifest.path("pictures", f"{shot.name}.png")
    planned = manifest.shot_of[shot.name].png
    for path in (own, Path(planned) if planned else None, manifest.path("pictures", f"{shot.name}.preview.png")):
        if path and path.exists():
            return f'<img src="{quote(os.path.relpath(path, page.parent))}" alt="{html.escape(shot.name)}">'
    return ""


def _row(manifest: Manifest, shot: ShotStatus, page: Path) -> str:
    share = 100 * shot.samples_there / max(shot.samples, 1)
    state = "finished" if shot.is_finished else f"{duration(shot.expected_seconds)} of CPU time left"
    state += " (damaged textures)" if shot.is_damaged else ""
    hosts = "".join(f"<div>{html.escape(r['task'].split('/', 1)[1])} on {html.escape(r['host'])}, {100 * r['fraction']:.0f}%</div>"
                    for r in shot.running[:12])
    hosts += f"<div>and {len(shot.running) - 12} more</div>" if len(shot.running) > 12 else ""
    hosts += "".join(f"<div class=bad>{html.escape(r['task'])}: no sign of life from {html.escape(r['host'])}</div>"
                     for r in ([] if shot.is_finished else shot.lost))
    return (f"<tr><td>{_thumbnail(manifest, shot, page)}</td><td>{html.escape(shot.name)}<br>{state}"
            f"<div class=bar><i style='width:{share:.1f}%'></i></div></td>"
            f"<td class=n>{shot.parts_there} / {shot.parts}</td><td class=n>{duration(shot.cpu_seconds)}</td>"
            f"<td class=n>{shot.interruptions}</td><td class=n>{len(shot.failures)}</td><td>{hosts}</td></tr>")


def _errors(shots: list[ShotStatus]) -> str:
    rows = [f"<tr><td>{time.strftime('%d %b %H:%M', time.localtime(r['begun']))}</td><td>{html.escape(r['task'])}</td>"
            f"<td>{html.escape(r['host'])}</td><td><pre>{html.escape(r['message'])}</pre></td></tr>"
            for shot in shots for r in shot.failures[-50:]]
    return ("<h2>Errors</h2><table><tr><th>begun<th>task<th>host<th>message</tr>" + "".join(rows) + "</table>") if rows else ""


def write(manifest: Manifest, shots: list[ShotStatus], page: Path, with_previews: bool = True) -> None:
    """Writes the page; pictures are referred to by relative names, so that the folder may be moved."""
    for shot in shots:
        if with_previews and not shot.is_finished and shot.parts_there:
            preview(manifest, shot.name)
    done = sum(1 for shot in shots if shot.is_finished)
    rows = "".join(_row(manifest, shot, page) for shot in shots)
    name = html.escape(manifest.folder.name)
    files.write_whole(page, f"""<!doctype html><html lang=en><meta charset=utf-8><title>{name}</title><style>{STYLE}</style>
<h1>{name}</h1><p>{done} of {len(shots)} pictures finished; {sum(len(s.running) for s in shots)} tasks running;
{time.strftime('%d %B %Y, %H:%M:%S')}. {html.escape(manifest.renderer)}, class {html.escape(manifest.cpu)}.</p>
<table><tr><th><th>shot<th>parts<th>CPU time<th>interrupted<th>failed<th>running</tr>{rows}</table>{_errors(shots)}</html>
""".encode())
