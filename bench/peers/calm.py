"""How much of the machine others used while a measurement ran."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path


def machine_seconds() -> float | None:
    """Seconds since boot that all cores together were busy or stolen; None if unknown."""
    try:
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    except OSError:
        return None
    user, nice, system, _idle, _wait, irq, soft, steal = (int(field) for field in fields[:8])
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


def children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Neighbours:
    """`cores()` is the mean number of cores that others kept busy since this was made."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.machine = machine_seconds()
        self.ours = children_seconds()

    def cores(self) -> float:
        machine = machine_seconds()
        if machine is None or self.machine is None:
            return 0.0
        theirs = machine - self.machine - (children_seconds() - self.ours)
        return max(0.0, theirs / (time.perf_counter() - self.start))
