"""Refuses environments before their memory is missing: a system ends a process that takes more."""

import pathlib
import re

# Files of a control group, version 2 and 1: its limit, its use, and of that what it can drop.
GROUP_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def free_memory(root="/"):
    """Bytes that this process can get: those of the machine, or of its control groups if these are
    fewer, as in a container. 0: not known."""
    root = pathlib.Path(root)
    machine = number_in(root / "proc/meminfo", "MemAvailable: +", 1024)
    return min([found for found in (machine, *left_in_groups(root)) if found is not None] or [0])


def left_in_groups(root):
    """Bytes left in the process's groups and those above them, or None where there is no limit."""
    for line in text_of(root / "proc/self/cgroup").splitlines():
        number, controllers, group = line.split(":", 2)
        if number != "0" and "memory" not in controllers.split(","):
            continue
        names = GROUP_FILES[number != "0"]
        mount = root / "sys/fs/cgroup" / controllers
        for folder in (pathlib.Path(group), *pathlib.Path(group).parents):
            # In a container, a path may be that outside; the mount is then the container's group.
            yield left_in(mount / str(folder).lstrip("/"), *names)


def left_in(folder, limit, use, spare):
    most, used = (number_in(folder / name) for name in (limit, use))
    if most is None or used is None:
        return None
    return max(1, most - used + (number_in(folder / "memory.stat", f"{spare} ") or 0))


def number_in(path, before="", unit=1):
    found = re.search(rf"^{before}(\d+)", text_of(path), re.M)
    return int(found[1]) * unit if found else None


def text_of(path):
    try:
        return path.read_text(encoding="ascii")
    except (OSError, ValueError):  # another system, or no such limit
        return ""


def refuse_over(memory, needed, num_envs, what):
    """Raises MemoryError if `what`, in an error, needs more bytes than `memory`; 0: any."""
    if 0 < memory < needed:
        raise MemoryError(
            f"num_envs: got {num_envs}, but {what} take at least {needed / 1e6:.0f} MB, and there "
            f"are {memory / 1e6:.0f} MB; expected at most {memory * num_envs // needed}"
        )
