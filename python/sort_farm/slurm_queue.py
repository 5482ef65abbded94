"""How much fits into Slurm's queue. Each task of an array counts there, also for some minutes after its end; sbatch does not fail
when the queue is full, but waits."""

from __future__ import annotations

import re
from dataclasses import dataclass

SHARE = 0.9  # of the queue: others use it too


@dataclass
class Queue:
    jobs_max: int  # MaxJobCount; 10,000 unless a site says otherwise
    jobs: int  # that it holds
    array_max: int  # indices of an array: MaxArraySize - 1

    @staticmethod
    def read(config: str, listed: str) -> Queue:
        """From what `scontrol show config` and `squeue --array --states=all` print."""
        found = {name: re.search(rf"^{name}\s*=\s*(\d+)", config, re.MULTILINE) for name in ("MaxJobCount", "MaxArraySize")}
        limits = {name: int(match[1]) if match else default
                  for (name, match), default in zip(found.items(), (10000, 1001))}
        return Queue(limits["MaxJobCount"], len(listed.split()), max(limits["MaxArraySize"] - 1, 1))

    @property
    def most(self) -> int:
        """What may be in it if nobody else uses it."""
        return int(self.jobs_max * SHARE) - 1  # the job that submits the others needs a place

    def has_room(self, count: int) -> bool:
        return self.jobs + count <= self.most

    def add(self, count: int) -> None:
        self.jobs += count
