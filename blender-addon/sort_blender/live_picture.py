"""The pictures of a viewport: a thread that talks to a renderer that stays (served.py) and always works on the newest wish.

    wish -> [load the package, if it is another] -> coarse picture -> [middle] -> full picture, refined as it grows

A coarse picture is not stopped by a newer wish, since it is small enough to be seen before: a view that turns shows
one after the other. Its size follows the time that the last one took. What takes longer is stopped at once.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from . import process, served, stand_in
from .messages import Report, SortError, explain

COARSE_S = 0.07  # that a coarse picture shall take
UPDATE_INTERVAL_S = 0.25  # of the full one
MIDDLE, MIDDLE_SAMPLES = 4, 4  # a part of width and height
FIRST_PIXELS_A_SECOND = 200_000  # until a picture has been timed
DIVISIONS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)


@dataclass(frozen=True, eq=False)
class Wish:
    """A picture to be shown. Wishes with one package share a scene."""
    job: process.RenderJob
    camera: dict  # an entry of `cameras`
    width: int
    height: int
    samples: int
    report: Report = field(default_factory=Report)  # gets what the renderer says


@dataclass(frozen=True)
class Step:
    width: int
    height: int
    samples: int
    options: tuple[str, ...] = ()
    is_coarse: bool = False


class LivePicture:
    """folder: is created by the caller, and removed by the thread when it ends. redraw: is called by the thread when there
    is something new. Other methods belong to the main thread."""

    def __init__(self, folder: Path, redraw: Callable[[], None]) -> None:
        self._folder, self._redraw = folder, redraw
        self._changed = threading.Condition()
        self._wish: Wish | None = None
        self._is_closed = self._may_stop = False
        self._renderer: served.Renderer | None = None
        self._loaded: Path | None = None  # the package
        self._rate = FIRST_PIXELS_A_SECOND
        self._restarts = 0
        self._picture: np.ndarray | None = None  # rows from the bottom, RGBA
        self._is_new = False
        self._text = ""
        self.picture_count = 0
        threading.Thread(target=self._work, daemon=True).start()

    # --- the main thread -------------------------------------------------------------------------

    def show(self, wish: Wish) -> None:
        """Takes the place of earlier wishes."""
        with self._changed:
            self._wish = wish
            self._stop()
            self._changed.notify()

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            if self._renderer:
                self._renderer.close()
            self._changed.notify()

    def say(self, text: str) -> None:
        with self._changed:
            self._text = text

    def status(self) -> str:
        with self._changed:
            return self._text

    def picture(self) -> np.ndarray | None:
        with self._changed:
            return self._picture

    def new_picture(self) -> np.ndarray | None:
        """The picture, if it was not returned before."""
        with self._changed:
            is_new, self._is_new = self._is_new, False
            return self._picture if is_new else None

    def forget_failures(self) -> None:
        """The scene has changed: a renderer that died may live now."""
        with self._changed:
            self._restarts = 0

    def process_id(self) -> int | None:
        with self._changed:
            return self._renderer.process_id() if self._renderer else None

    def _stop(self) -> None:
        if self._may_stop and self._renderer:
            self._may_stop = False
            self._renderer.send("stop")

    # --- the thread ------------------------------------------------------------------------------

    def _work(self) -> None:
        done: Wish | None = None
        while True:
            with self._changed:
                while self._wish is done and not self._is_closed:
                    self._changed.wait()
                if self._is_closed:
                    break
                wish = done = self._wish
            try:
                self._show(wish)
            except served.RendererEnded as error:
                done = self._recover(wish, error)
            except SortError as error:
                self._tell(f"Error: {error}", wish)
            except OSError as error:
                self._tell(f"Error: {explain(error, self._folder)}", wish)
        with self._changed:
            if self._renderer:
                self._renderer.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _recover(self, wish: Wish, error: SortError) -> Wish | None:
        """The wish that is settled: None if it shall be tried again."""
        with self._changed:
            if self._is_closed:
                return wish
            self._renderer, self._loaded, self._may_stop = None, None, False
            self._restarts += 1
            is_last = self._restarts > 1
        wish.report.warn("", f"the renderer ended and was started again: {error}")
        if is_last:
            self._tell(f"Error: {error}", wish)
        return wish if is_last else None

    def _tell(self, text: str, wish: Wish) -> None:
        with self._changed:
            if self._wish is wish:
                self._text = text
        self._redraw()

    def _show(self, wish: Wish) -> None:
        self._have_renderer(wish)
        if self._loaded != wish.job.package:
            self._load(wish)
        shown: np.ndarray | None = None
        for step in self._steps(wish):
            shown = self._render(wish, step, shown)
            if shown is None:
                return
        warnings = wish.report.warnings
        self._tell(f"Done, {len(warnings)} warnings: {warnings[0]}" if warnings else "Done", wish)

    def _have_renderer(self, wish: Wish) -> None:
        with self._changed:
            if self._renderer and self._renderer.program == wish.job.program:
                return
            if self._renderer:
                self._renderer.close()
            self._renderer, self._loaded = None, None
        renderer = served.Renderer(wish.job.program)
        with self._changed:
            self._renderer = renderer
            if self._is_closed:
                renderer.close()

    def _load(self, wish: Wish) -> None:
        """Materials that the renderer refuses become magenta."""
        while True:
            said: list[str] = []
            number = self._renderer.send("load", scene=str(wish.job.package), options=wish.job.scene_options(), is_edited=True)
            end = self._renderer.follow(number, lambda event: self._note(event, wish, said))
            if end["event"] == "done":
                break
            said.append(str(end.get("text", "")))
            refused = stand_in.replace_refused(wish.job.package, "\n".join(said))
            if refused is None:
                self._loaded = None
                raise SortError(said[-1])
            wish.report.warn(f"Material '{refused[0]}'", refused[1])
        self._loaded = wish.job.package
        for old in self._folder.iterdir():
            if old.is_dir() and old.name < self._loaded.parent.name:
                shutil.rmtree(old, ignore_errors=True)

    def _note(self, event: dict, wish: Wish, said: list[str]) -> None:
        if event.get("event") == "warning":
            said.append(str(event.get("text", "")))
            wish.report.warn("", str(event.get("text", "")))
        elif event.get("event") == "stage" and self._picture is None:
            self._tell(str(event.get("stage", "")), wish)
        elif event.get("event") == "progress":
            self._tell(f"{100 * float(event.get('done', 0)):.0f} %", wish)

    def _steps(self, wish: Wish) -> list[Step]:
        full = Step(wish.width, wish.height, wish.samples,
                    ("--update-interval", str(UPDATE_INTERVAL_S), *wish.job.denoising))
        wanted = wish.width * wish.height / max(self._rate * COARSE_S, 1)
        division = next((d for d in DIVISIONS if d * d >= wanted), DIVISIONS[-1])
        steps = [self._part(wish, division, 1, is_coarse=True)]
        if division > MIDDLE:
            steps.append(self._part(wish, MIDDLE, MIDDLE_SAMPLES))
        return [*steps, full]

    def _part(self, wish: Wish, division: int, samples: int, is_coarse: bool = False) -> Step:
        return Step(max(wish.width // division, 1), max(wish.height // division, 1), samples, is_coarse=is_coarse)

    def _render(self, wish: Wish, step: Step, before: np.ndarray | None) -> np.ndarray | None:
        """The picture; None: there is a newer wish."""
        pixels = self._folder / "pixels"
        with self._changed:
            if self._wish is not wish and not step.is_coarse:
                return None
            number = self._renderer.send("render", camera=wish.camera, pixels=str(pixels), options=[
                "--size", f"{step.width}x{step.height}", "--spp", str(step.samples), *step.options])
            self._may_stop = not step.is_coarse

        def on_event(event: dict) -> None:
            if event.get("event") == "picture":
                self._take(pixels, event, before)
            else:
                self._note(event, wish, [])
        begin = time.monotonic()
        end = self._renderer.follow(number, on_event)
        with self._changed:
            self._may_stop = False
        if end["event"] == "stopped":
            return None
        if end["event"] == "error":
            raise SortError(str(end.get("text", "")))
        if step.is_coarse:
            self._rate = 0.5 * self._rate + 0.5 * step.width * step.height / max(time.monotonic() - begin, 1e-3)
        return self._take(pixels, end, before)

    def _take(self, path: Path, event: dict, before: np.ndarray | None) -> np.ndarray:
        """`before` shows where there are no samples yet."""
        pixels = np.fromfile(path, np.float32).reshape(event["height"], event["width"], 4)
        if before is not None:
            rows, columns = (np.arange(n) * m // n for n, m in zip(pixels.shape, before.shape[:2]))
            pixels = np.where(pixels[..., 3:] == 0, before[rows[:, None], columns], pixels)
        with self._changed:
            if not self._is_closed:
                self._picture, self._is_new = pixels, True
                self.picture_count += 1
        self._redraw()
        return pixels
