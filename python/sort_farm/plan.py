"""Makes a farm: frames x cameras x ranges of samples, into a manifest."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from . import cost, files, manifest, renderer
from .errors import USAGE, FarmError
from .stamp import package_stamp

# Options of sort-render that the farm decides itself.
OWN = ("--samples", "--partial", "--checkpoint", "--resume", "--keep-checkpoint", "--checkpoint-interval", "--output", "-o",
       "--png", "--frame", "--frames", "--camera", "--spp", "--adaptive", "--after", "--threads", "-t", "--cache",
       "--time-limit", "--progress", "--quiet", "-q", "--verbose", "-v", "--check", "--list", "--stats", "--trace",
       "--update-interval", "--probe", "--watch", "--cpu", "--missing")


@dataclass
class Wish:
    """The arguments of `sort-farm plan`."""

    folder: Path
    scene: str
    output: str
    samples: int
    png: str | None = None
    frames: list[int] | None = None
    cameras: list[str] | None = None
    parts: int | None = None  # of each shot
    part_seconds: float = 600.0
    adaptive: float | None = None
    cpu: str | None = None
    threads: int = 1
    fan_in: int = 32
    retries: int = 3
    checkpoint_seconds: float = 120.0
    stall_seconds: float = 3600.0
    missing: str = "error"
    discards_parts: bool = False
    local_cache: str | None = None
    measured_shots: int = 8
    arguments: list[str] | None = None  # for sort-render, as they are


def parse_frames(text: str) -> list[int]:
    """A..B[:STEP] as sort-render has it, or A alone."""
    match = re.fullmatch(r"(-?\d+)(?:(?:\.\.|:)(-?\d+)(?::(\d+))?)?", text)
    first = int(match[1]) if match else 0
    last, step = (int(match[2] or first), int(match[3] or 1)) if match else (0, 0)
    if not match or step < 1 or last < first:
        raise FarmError(f"--frames {text}: frames are A..B or A..B:STEP, with A not above B and STEP at least 1", USAGE)
    return list(range(first, last + 1, step))


def with_frame(text: str, frame: int) -> str:
    """Each run of # becomes the frame number with as many digits."""
    return re.sub("#+", lambda run: f"{frame:0{len(run[0])}}", text)


def _word(camera: str) -> str:
    """A part of names of files and tasks: of folders it is neither . nor .., and of arguments no option."""
    return re.sub(r"[^\w.-]|^[.-]", "_", camera)


def _with_camera(path: str, camera: str) -> str:
    """name.exr becomes name.CAMERA.exr unless it says {camera}."""
    word = _word(camera)
    if "{camera}" in path:
        return path.replace("{camera}", word)
    stem, dot, suffix = path.rpartition(".")
    return f"{stem}.{word}{dot}{suffix}"


def _shots(wish: Wish) -> list[manifest.Shot]:
    made = []
    for frame in wish.frames if wish.frames is not None else [None]:
        for camera in wish.cameras or [None]:
            def name_of(text, is_output):
                text = with_frame(text, frame) if frame is not None else text
                text = _with_camera(text, camera) if is_output and camera and len(wish.cameras) > 1 else text
                return str(Path(text).absolute())

            words = [f"{frame:04}"] if frame is not None else []
            words += [_word(camera)] if camera else []
            arguments = ["--camera", camera] if camera else []
            made.append(manifest.Shot(
                name="-".join(words) or "shot", scene=name_of(wish.scene, False), output=name_of(wish.output, True),
                png=name_of(wish.png, True) if wish.png else None, arguments=arguments, stamp="", ranges=[], rounds=[],
                seconds_per_sample=0.0, setup_seconds=0.0, identity=None))
    return made


def _check(wish: Wish, shots: list[manifest.Shot]) -> None:
    if wish.folder.joinpath(manifest.NAME).exists():
        raise FarmError(f"{wish.folder / manifest.NAME}: there is a farm already; a plan does not change: use another folder, "
                        "or remove this one", USAGE)
    for text in (str(wish.folder), wish.scene, wish.output, wish.png or "", *(wish.cameras or []), *(wish.arguments or [])):
        if not text.isprintable():
            raise FarmError(f"{text!a}: a manifest holds names in UTF-8, without line ends and other control characters", USAGE)
    for word in wish.arguments or []:
        if word.split("=")[0] in OWN:
            raise FarmError(f"{word}: the farm decides this option of sort-render; 'sort-farm plan --help' lists its own", USAGE)
    if wish.frames is not None and len(wish.frames) > 1 and "#" not in wish.output:
        raise FarmError(f"-o {wish.output}: several frames need # in the name, for their number", USAGE)
    if not wish.output.endswith(".exr"):
        raise FarmError(f"-o {wish.output}: the picture is an EXR", USAGE)
    for field in ("name", "output", "png"):
        seen: dict[str, str] = {}
        for shot in shots:
            value = getattr(shot, field)
            if value and seen.setdefault(value, shot.name) != shot.name or (field == "name" and [
                    s.name for s in shots].count(value) > 1):
                raise FarmError(f"{value}: two shots have this {field}", USAGE)
    for shot in shots:
        if not Path(shot.scene).exists():
            hint = ": with --frames, # is the frame number" if "#" in shot.scene and wish.frames is None else ""
            raise FarmError(f"{shot.scene}: there is no such file or folder{hint}", USAGE)


def _make_output_folders(shots: list[manifest.Shot]) -> None:
    """Pictures are written last of all: a folder that cannot be had is told before anything is rendered."""
    for folder in sorted({Path(path).parent for shot in shots for path in (shot.output, shot.png) if path}):
        files.make_folder(folder)
        if not os.access(folder, os.W_OK):
            raise FarmError(f"{folder}: nothing can be written there", USAGE)


def _measure(wish: Wish, program: str, shots: list[manifest.Shot], common: list[str], tell) -> dict[int, cost.Measured]:
    known = {}
    for i in cost.chosen(len(shots), wish.measured_shots):
        tell(f"measuring {shots[i].name}")
        known[i] = cost.measure(program, shots[i].scene, [*common, *shots[i].arguments],
                                min(wish.samples, cost.ROUND_SAMPLES) if wish.adaptive else wish.samples,
                                wish.folder.absolute() / "cache")
        found = known[i].found
        shots[i].identity = {name: found[name] for name in ("scene", "cpu", "filter", "nominal_samples", "seed", "width",
                                                            "height", "crop")}
    return known


def _cut(wish: Wish, shot: manifest.Shot) -> None:
    """Cuts by measured cost, unless the number of parts is given."""
    if wish.adaptive:
        here = min(wish.samples, cost.ROUND_SAMPLES)
        count = wish.parts or cost.parts_for(here, shot.seconds_per_sample, shot.setup_seconds, wish.part_seconds)
        shot.ranges, shot.rounds = cost.adaptive_ranges(wish.samples, count)
    else:
        count = wish.parts or cost.parts_for(wish.samples, shot.seconds_per_sample, shot.setup_seconds, wish.part_seconds)
        shot.ranges = cost.cut(0, wish.samples, count)


def make(wish: Wish, tell=lambda text: None) -> manifest.Manifest:
    """Measures, cuts and writes the manifest."""
    program = renderer.find()
    shots = _shots(wish)
    _check(wish, shots)
    _make_output_folders(shots)
    files.make_folder(wish.folder)
    common = ["--spp", str(wish.samples), "--missing", wish.missing, *(wish.arguments or [])]
    common += ["--adaptive", repr(wish.adaptive)] if wish.adaptive else []
    common += ["--cpu", wish.cpu] if wish.cpu else []
    known = _measure(wish, program, shots, common, tell)
    for i, shot in enumerate(shots):
        shot.stamp = package_stamp(Path(shot.scene))
        shot.setup_seconds, shot.seconds_per_sample = cost.between(i, known)
        _cut(wish, shot)
    first = known[0].found
    made = manifest.Manifest(
        folder=wish.folder.absolute(), shots=shots, arguments=common, samples=wish.samples, adaptive=wish.adaptive,
        cpu=first["cpu"], threads=wish.threads, fan_in=wish.fan_in, retries=wish.retries,
        checkpoint_seconds=wish.checkpoint_seconds, stall_seconds=wish.stall_seconds,
        may_be_damaged=wish.missing == "magenta", discards_parts=wish.discards_parts, local_cache=wish.local_cache,
        renderer=renderer.version(program), program=str(Path(program).absolute()), film_bytes=max(one.size_bytes for one in known.values()),
        part_seconds=wish.part_seconds)
    manifest.save(made)
    return made
