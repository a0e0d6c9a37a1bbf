"""Builds a program again whenever its source or its command has changed."""

from __future__ import annotations

import subprocess
from pathlib import Path


def build_if_changed(command: list[str], source: Path, program: Path) -> None:
    program.parent.mkdir(parents=True, exist_ok=True)
    stamp = program.with_name(program.name + ".command")
    wanted = "\n".join(str(word) for word in command)
    fresh = program.exists() and program.stat().st_mtime >= source.stat().st_mtime
    if fresh and stamp.exists() and stamp.read_text() == wanted:
        return
    subprocess.run(command, check=True)
    stamp.write_text(wanted)
