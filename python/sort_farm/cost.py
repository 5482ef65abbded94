"""What samples cost, measured on some shots, and ranges that take as long as parts should."""

from __future__ import annotations

import math
import resource
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import renderer
from .interruption import Interruption
from .errors import DAMAGED, DONE, USAGE, FarmError

ROUND_SAMPLES = 16  # adaptive sampling judges after so many (RENDER_ADAPTIVE_STEP)
MEASURED_SAMPLES = 128  # at most
MEASURED_S = 1.0  # CPU time that samples should take at least, beside the set-up,
MEASURED_SHARE = 0.1  # and the share of the set-up's, whose own time varies
GROWTH = 4
PARTS_MAX = 1 << 20


@dataclass
class Measured:
    setup_seconds: float  # CPU time before the first sample
    seconds_per_sample: float
    found: dict  # as `sort-render verify` says it
    size_bytes: int  # of the part of those samples


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure(program: str, scene: str, arguments: list[str], samples_max: int, cache: Path) -> Measured:
    """Renders some first samples of a shot, more each time until what they take can be told from the set-up, which may be the most: a
    scene to load, or guiding that learns."""
    samples = min(samples_max, MEASURED_SAMPLES)
    with tempfile.TemporaryDirectory(prefix="sort-farm-") as folder:
        part = Path(folder, "part")
        base = [program, scene, *arguments, "--partial", str(part), "--cache", str(cache), "--quiet"]
        times: list[tuple[int, float]] = []
        count = 1
        while True:
            before = _cpu_s()
            ended = renderer.render([*base, "--samples", f"0:{count}"], Interruption(), 3600.0, lambda done: None)
            if ended.code == USAGE:
                raise FarmError(ended.message.removeprefix("sort-render: "), USAGE)
            if ended.code not in (DONE, DAMAGED):
                raise FarmError(f"{scene}: the first {count} samples: sort-render ended with {ended.code}: {ended.message}")
            times.append((count, _cpu_s() - before))
            if count == samples or len(times) > 2 and times[-1][1] - times[1][1] >= max(MEASURED_S, MEASURED_SHARE * times[1][1]):
                break
            count = min(GROWTH * count if len(times) > 1 else 2, samples)
        found = renderer.verify(program, [part])[0]
        size_bytes = part.stat().st_size if part.exists() else 0
    if "error" in found:
        raise FarmError(found["error"])
    (first, first_s), (last, last_s) = times[min(1, len(times) - 1)], times[-1]  # the first run also filled the cache
    each = (last_s - first_s) / (last - first) if last > first else last_s / last
    each = max(each, 1e-6)
    return Measured(max(last_s - last * each, 0.0), each, found, size_bytes)


def chosen(count: int, wanted: int) -> list[int]:
    """Indices of `wanted` of `count` shots, evenly, with the first and the last."""
    if count <= wanted:
        return list(range(count))
    return sorted({round(i * (count - 1) / (wanted - 1)) for i in range(wanted)}) if wanted > 1 else [0]


def between(position: int, known: dict[int, Measured]) -> tuple[float, float]:
    """Set-up and seconds a sample of a shot, from those measured beside it: the straight line between them."""
    below = max((i for i in known if i <= position), default=min(known))
    above = min((i for i in known if i >= position), default=max(known))
    a, b = known[below], known[above]
    t = (position - below) / (above - below) if above > below else 0.0
    return (a.setup_seconds + t * (b.setup_seconds - a.setup_seconds),
            a.seconds_per_sample + t * (b.seconds_per_sample - a.seconds_per_sample))


def cut(begin: int, end: int, count: int) -> list[list[int]]:
    """Cuts samples into `count` ranges of sizes that differ by one at most."""
    count = max(1, min(count, end - begin))
    edges = [begin + (end - begin) * i // count for i in range(count + 1)]
    return [[edges[i], edges[i + 1]] for i in range(count)]


def parts_for(samples: int, seconds_per_sample: float, setup_seconds: float, part_seconds: float) -> int:
    """The number of parts that take about part_seconds each. Set-up is paid by each part: at least fifty times of it is
    rendered in one, so that it is at most 2 % of the work."""
    render_s = max(part_seconds - setup_seconds, 50.0 * setup_seconds, seconds_per_sample)
    return max(1, min(math.ceil(samples * seconds_per_sample / render_s), samples, PARTS_MAX))


def adaptive_ranges(samples: int, parts_a_round: int) -> tuple[list[list[int]], list[int]]:
    """Ranges, and how many belong to each round."""
    ranges, rounds = [], []
    for begin in range(0, samples, ROUND_SAMPLES):
        of_round = cut(begin, min(begin + ROUND_SAMPLES, samples), parts_a_round)
        ranges += of_round
        rounds.append(len(of_round))
    return ranges, rounds
