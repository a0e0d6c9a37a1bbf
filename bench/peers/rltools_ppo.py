#!/usr/bin/env python3
"""RLtools' PPO, once: builds rltools_ppo.cc for the case where needed, and runs it.

The headers come inside the rltools package. OpenBLAS comes inside the scipy-openblas32 package,
which puts a prefix before its names.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
from pathlib import Path

from cases import Training, training
from compiled import build_if_changed
from result import arguments

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "rltools_ppo.cc"
ACTIVATIONS = {"tanh": "TANH", "fast_tanh": "FAST_TANH"}


def package_folder(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"the package {name} is not installed")
    return Path(next(iter(spec.submodule_search_locations)))


# For each --isa: the options of g++, and OpenBLAS's kernels (None: its own choice).
ISAS = {"native": ("native", None), "avx2": ("x86-64-v3", "Haswell")}


def compile_command(case: Training, activation: str, isa: str, program: Path) -> list[str]:
    blas = package_folder("scipy_openblas32")
    return [
        os.environ.get("CXX", "g++"),
        "-std=c++17",
        "-Ofast",
        f"-march={ISAS[isa][0]}",
        "-w",
        f"-I{package_folder('rltools') / 'external/rl_tools/include'}",
        f"-I{blas / 'include'}",
        "-Dcblas_sgemm=scipy_cblas_sgemm",
        f"-DHIDDEN={case.hidden}",
        f"-DNUM_ENVS={case.num_envs}",
        f"-DNUM_STEPS={case.num_steps}",
        f"-DMINIBATCH={case.minibatch}",
        f"-DEPOCHS={case.epochs}",
        f"-DHIDDEN_ACTIVATION={ACTIVATIONS[activation]}",
        str(SOURCE),
        "-o",
        str(program),
        f"-L{blas / 'lib'}",
        "-lscipy_openblas",
        f"-Wl,-rpath,{blas / 'lib'}",
    ]


def build(name: str, activation: str, isa: str, folder: Path) -> Path:
    program = folder / f"rltools_{name}_{activation}_{isa}"
    build_if_changed(compile_command(training(name), activation, isa, program), SOURCE, program)
    return program


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--activation", choices=ACTIVATIONS, default="tanh")
    parser.add_argument("--threads", type=int, default=1, help="OpenBLAS's (default 1)")
    parser.add_argument("--isa", choices=ISAS, default="native")
    parser.add_argument("--build-folder", type=Path, default=HERE / ".build")
    parser.add_argument("--build-only", action="store_true")
    options = parser.parse_args()
    program = build(options.case, options.activation, options.isa, options.build_folder)
    if options.build_only:
        return
    environment = os.environ | {"OPENBLAS_NUM_THREADS": str(options.threads)}
    kernels = ISAS[options.isa][1]
    if kernels:
        environment |= {"OPENBLAS_CORETYPE": kernels}
    subprocess.run([program, options.case, str(options.seconds)], check=True, env=environment)


if __name__ == "__main__":
    main()
