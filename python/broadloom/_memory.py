"""Refuses environments before their memory is missing: a system ends a process that takes more."""

import re


def free_memory():
    """Bytes that this machine can give; 0: not known."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            return int(re.search(r"^MemAvailable: +(\d+) kB", file.read(), re.M)[1]) * 1024
    except (OSError, TypeError):  # another system, or another form
        return 0


def refuse_over(memory, needed, num_envs, what):
    """Raises MemoryError if `what`, in an error, needs more bytes than `memory`; 0: any."""
    if 0 < memory < needed:
        raise MemoryError(
            f"num_envs: got {num_envs}, but {what} take at least {needed / 1e6:.0f} MB, and there "
            f"are {memory / 1e6:.0f} MB; expected at most {memory * num_envs // needed}"
        )
