"""Makes the virtual environment and installs each peer into it, at the versions measured with.

A peer that cannot be installed does not stop the others.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

NUMPY = "numpy==2.4.6"
GYMNASIUM = "gymnasium==1.4.0"
TORCH = "torch==2.15.0"
# Only here is a torch without the libraries for GPUs: a tenth of the size.
TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"

# The packages that make a peer's scripts run, by the name that run.py calls the peer.
PACKAGES = {
    "rltools": [NUMPY, "rltools==2.2.1", "scipy-openblas32==0.3.34.481.3"],
    "gymnasium": [NUMPY, GYMNASIUM],
    "rejax": [
        NUMPY,
        GYMNASIUM,
        "rejax==0.1.3",
        "gymnax==0.0.9",
        "distrax==0.1.9",
        "flax==0.12.8",
        "optax==0.2.8",
        "jax[cpu]==0.10.2",
    ],
    "torch": [NUMPY, GYMNASIUM, TORCH, "MinAtar==1.0.15"],
    "sb3": [NUMPY, GYMNASIUM, TORCH, "stable-baselines3==2.9.2"],
    "mjlab": [
        NUMPY,
        GYMNASIUM,
        TORCH,
        "mjlab==1.6.0",
        "rsl-rl-lib==5.4.2",
        "mujoco==3.11.0",
        "mujoco-warp==3.11.0",
        "warp-lang==1.19.0",
    ],
    "sb3_contrib": [NUMPY, GYMNASIUM, TORCH, "stable-baselines3==2.9.2", "sb3-contrib==2.9.2"],
}


def pip_install(python: Path, arguments: list[str], log: Path) -> bool:
    command = [str(python), "-m", "pip", "install", "--disable-pip-version-check", *arguments]
    with log.open("a") as out:
        out.write(f"$ {' '.join(command)}\n")
        out.flush()
        return subprocess.run(command, stdout=out, stderr=out, check=False).returncode == 0


def install(folder: Path, peers: set[str]) -> dict[str, str]:
    """Returns the missing ones of `peers`, each with the reason."""
    python = folder / "bin" / "python"
    if not python.exists():
        try:
            venv.create(folder, with_pip=True)
        except (OSError, subprocess.CalledProcessError) as error:
            return {peer: f"no virtual environment: {error}" for peer in peers}
    log = folder / "install.log"
    missing = {}
    for peer, packages in PACKAGES.items():
        if peer not in peers:
            continue
        stamp = folder / f"installed-{peer}"
        wanted = "\n".join(packages)
        if stamp.exists() and stamp.read_text() == wanted:
            continue
        print(f"installing {peer} ({', '.join(packages)})", file=sys.stderr, flush=True)
        if TORCH in packages:
            cpu = ["--retries", "0", "--timeout", "15", "--index-url", TORCH_CPU_INDEX, TORCH]
            pip_install(python, cpu, log)  # If this fails, the next line takes PyPI's larger one.
        if pip_install(python, packages, log):
            stamp.write_text(wanted)
        else:
            missing[peer] = f"not installed, see {log.name}"
    return missing


def versions(folder: Path) -> dict[str, str]:
    names = sorted({package.split("==")[0] for group in PACKAGES.values() for package in group})
    names = [name.split("[")[0] for name in names]
    program = (
        "import sys, importlib.metadata as m\n"
        "for n in sys.argv[1:]:\n"
        "    try: print(n, m.version(n))\n"
        "    except m.PackageNotFoundError: pass\n"
    )
    python = folder / "bin" / "python"
    if not python.exists():
        return {}
    done = subprocess.run(
        [python, "-c", program, *names], check=False, capture_output=True, text=True
    )
    return dict(line.split() for line in done.stdout.splitlines())
