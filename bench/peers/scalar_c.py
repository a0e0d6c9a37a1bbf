#!/usr/bin/env python3
"""The scalar C cart-pole, once: builds scalar_cartpole.c where needed, and runs it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from cases import stepping
from compiled import build_if_changed
from result import arguments

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "scalar_cartpole.c"
FLAGS = ["-std=c11", "-O3", "-march=native", "-ffast-math"]


def build(folder: Path) -> Path:
    program = folder / "scalar_cartpole"
    compiler = os.environ.get("CC", "gcc")
    build_if_changed([compiler, *FLAGS, SOURCE, "-o", program, "-lm"], SOURCE, program)
    return program


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--build-folder", type=Path, default=HERE / ".build")
    parser.add_argument("--build-only", action="store_true")
    options = parser.parse_args()
    case = stepping(options.case)
    program = build(options.build_folder)
    if not options.build_only:
        subprocess.run(
            [program, options.case, str(case.num_envs), str(options.seconds)], check=True
        )


if __name__ == "__main__":
    main()
