"""The manifest of a farm: everything that its tasks need to know, in one file that does not change after the plan.

    FARM/manifest.json        this
    FARM/parts/SHOT/          sums of a range of samples (sort-render --partial)
    FARM/sums/SHOT/           sums of several parts
    FARM/checkpoints/SHOT/    unfinished parts
    FARM/pictures/            a record of each finished picture, and a thumbnail
    FARM/records/SHOT/        a file for each attempt at a task
    FARM/running/SHOT/        a file for each task under way
    FARM/cache/               textures, converted once
    FARM/engine/              what was submitted, and the engine's logs
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from . import files
from .errors import USAGE, FarmError

VERSION = 1
NAME = "manifest.json"


@dataclass
class Shot:
    """One picture: a frame seen by a camera."""

    name: str  # unique; a part of file names
    scene: str  # the package, an absolute path
    output: str  # FILE.exr, an absolute path
    png: str | None  # FILE.png
    arguments: list[str]  # of sort-render, for this shot alone: camera, frame
    stamp: str  # stamp.package_stamp of the scene
    ranges: list[list[int]]  # samples [begin, end) of each part, in order
    rounds: list[int]  # of adaptive sampling: the number of parts in each round; empty: one round
    seconds_per_sample: float  # of CPU time, measured or interpolated
    setup_seconds: float  # of CPU time before the first sample
    identity: dict | None  # of the film, as `sort-render verify` says it; None: not measured


@dataclass
class Manifest:
    folder: Path
    shots: list[Shot]
    arguments: list[str]  # of sort-render, for all shots
    samples: int
    adaptive: float | None
    cpu: str  # the class that all parts must have
    threads: int  # of a task
    fan_in: int  # results that one merge adds at most
    retries: int  # attempts that may fail
    checkpoint_seconds: float
    stall_seconds: float  # a renderer that is silent for longer is stopped
    may_be_damaged: bool  # --missing magenta: such parts are taken
    discards_parts: bool  # a sum's parts are removed when it is whole
    local_cache: str | None  # a folder on each node's own disk for textures
    renderer: str  # sort-render's version
    program: str  # sort-render, an absolute path
    film_bytes: int  # of one part
    part_seconds: float  # of CPU time that a part was meant to take
    shot_of: dict[str, Shot] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.shot_of = {shot.name: shot for shot in self.shots}

    def path(self, *names: str) -> Path:
        return self.folder.joinpath(*names)

    @property
    def cache(self) -> Path:
        return self.path("cache")


_NOT_STORED = ("folder", "shot_of")


def sealed(body: dict) -> dict:
    """The body with a digest of all else that is in it."""
    plain = {name: value for name, value in body.items() if name != "digest"}
    return {**plain, "digest": hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()}


def save(manifest: Manifest) -> None:
    body = {name: value for name, value in asdict(manifest).items() if name not in _NOT_STORED}
    files.write_json(manifest.path(NAME), sealed({"sort_farm": VERSION, **body}), is_new=True)


def load(folder: Path) -> Manifest:
    """Reads the manifest of a farm. A folder without one is a usage error."""
    path = folder.absolute() / NAME
    if not path.exists():
        raise FarmError(f"{path}: there is no such file: '{folder}' is no farm; make one with 'sort-farm plan'", USAGE)
    body = files.read_json(path)
    if not isinstance(body, dict) or "sort_farm" not in body:
        raise FarmError(f"{path}: sort_farm: this field is missing: this is no manifest of a farm")
    if body["sort_farm"] != VERSION:
        raise FarmError(f"{path}: sort_farm: the manifest is of version {body['sort_farm']}, and this sort-farm reads version "
                        f"{VERSION}: use the one that planned the farm, or plan a new one")
    if body.get("digest") != sealed(body)["digest"]:
        raise FarmError(f"{path}: digest: the manifest is damaged, or was changed after the plan: bring it back from a copy, or "
                        "plan a new farm")
    try:
        shots = [Shot(**shot) for shot in body["shots"]]
        stored = [f.name for f in fields(Manifest) if f.name not in (*_NOT_STORED, "shots")]
        return Manifest(folder=folder.absolute(), shots=shots, **{name: body[name] for name in stored})
    except KeyError as why:
        raise FarmError(f"{path}: {why.args[0]}: this field is missing") from None
    except TypeError as why:
        raise FarmError(f"{path}: shots: {why}") from None
