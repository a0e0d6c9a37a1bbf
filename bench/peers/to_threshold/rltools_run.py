"""RLtools' PPO with its zoo's settings, evaluated by RLtools: builds rltools_run.cc and runs it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from compiled import build_if_changed
from rltools_ppo import package_folder
from to_threshold.course import Course, arguments, report_probe
from to_threshold.settings import RLTOOLS, RLTOOLS_TASKS
from to_threshold.tasks import EPISODES, interval

SOURCE = Path(__file__).resolve().parent / "rltools_run.cc"


def compile_command(zoo: dict[str, Any], program: Path) -> list[str]:
    blas = package_folder("scipy_openblas32")
    return [
        os.environ.get("CXX", "g++"),
        *("-std=c++17", "-Ofast", "-march=native", "-w"),
        f"-I{package_folder('rltools') / 'external/rl_tools/include'}",
        f"-I{blas / 'include'}",
        "-Dcblas_sgemm=scipy_cblas_sgemm",
        f"-DEPISODES={EPISODES}",
        f"-DNUM_ENVS={zoo['num_envs']}",
        f"-DNUM_STEPS={zoo['num_steps']}",
        f"-DMINIBATCH={zoo['minibatch']}",
        f"-DENTROPY={zoo['entropy']}",
        *(str(SOURCE), "-o", str(program)),
        *(f"-L{blas / 'lib'}", "-lscipy_openblas", f"-Wl,-rpath,{blas / 'lib'}"),
    ]


def build(name: str, folder: Path) -> Path:
    program = folder / f"rltools_to_threshold_{name}"
    build_if_changed(compile_command(RLTOOLS[name], program), SOURCE, program)
    return program


def train(command: list[str], options: Any, course: Course) -> None:
    environment = os.environ | {"OPENBLAS_NUM_THREADS": str(options.threads)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        for line in process.stdout:
            steps, seconds, *evaluated = line.split()
            if options.probe:
                report_probe(int(steps), float(seconds))
                continue
            course.add(int(steps), float(seconds), float(evaluated[0]))
            course.evaluation_seconds += float(evaluated[1])
            if course.over:
                process.terminate()
                break
    if process.returncode != 0 and not course.over:
        raise SystemExit(f"{command[0]} ended with {process.returncode}")


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--zoo", choices=list(RLTOOLS), default="2026", help="of which year")
    parser.add_argument("--build-folder", type=Path, default=SOURCE.parents[1] / ".build")
    parser.add_argument("--build-only", action="store_true")
    options = parser.parse_args()
    program = build(options.zoo, options.build_folder)
    if options.build_only:
        return
    if options.task not in RLTOOLS_TASKS:
        raise SystemExit(f"RLtools' zoo has no PPO on {options.task}")
    zoo = RLTOOLS[options.zoo]
    every = 0 if options.probe else interval(zoo["num_envs"] * zoo["num_steps"])
    budget = options.probe or options.budget or zoo["budget"]
    course = Course(options.task)
    train([str(program), str(options.seed), str(budget), str(every)], options, course)
    if not options.probe:
        course.report(zoo)


if __name__ == "__main__":
    main()
