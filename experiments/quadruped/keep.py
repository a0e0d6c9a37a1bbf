#!/usr/bin/env python3
"""keep.py BROADLOOM WORK RESULTS: keeps the ledger's lines of run.sh's runs, their curves thinned, and
the rows of both panels, played with both policies."""

import json
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
from rows import write  # noqa: E402

broadloom, work, results = (
    Path(sys.argv[1]).resolve(),
    Path(sys.argv[2]),
    Path(sys.argv[3]).resolve(),
)
ROOT = Path(__file__).resolve().parent.parent.parent
PANELS = {
    "plane": ROOT / "configs/panels/quadruped.toml",
    "ground": ROOT / "experiments/quadruped/ground.toml",
}
CURVES = [
    "global_step",
    "episodic_return",
    "success_rate",
    "termination_rate",
    "measure/speed_error",
    "measure/turn_error",
    "mean_level",
    "approx_kl",
    "explained_variance",
    "steps_per_second",
]
POINTS = 120
SCORES = [
    "stratum",
    "perturbation",
    "episodes",
    "success_rate",
    "success_low",
    "success_high",
    "failure_rate",
    "failure_low",
    "failure_high",
    "mean_return",
    "ci_low",
    "ci_high",
    "mean_length",
]
MEASURES = ["speed_error", "turn_error"]


def curves(run):
    """Means of each of POINTS stretches of the run."""
    lines = [json.loads(line) for line in (work / run / "metrics.jsonl").read_text().splitlines()]
    stretch = max(1, len(lines) // POINTS)
    rows = []
    for first in range(0, len(lines), stretch):
        part = lines[first : first + stretch]
        means = []
        for key in CURVES[1:]:
            numbers = [line[key] for line in part if line.get(key) is not None]
            means.append(sum(numbers) / len(numbers) if numbers else "")
        rows.append([part[-1]["global_step"], *means])
    write(results / f"{run}_curves.csv", CURVES, rows)


def panel_rows(panel):
    for row in panel["rows"].values():
        measures = [
            row["measures"][name][end] for name in MEASURES for end in ("value", "low", "high")
        ]
        yield [*(row[key] for key in SCORES), *measures]


HEADER = SCORES + [name + end for name in MEASURES for end in ("", "_low", "_high")]
results.mkdir(exist_ok=True)
with (results / "ledger.jsonl").open("w") as ledger:
    for run in ("flat", "ground"):
        ledger.write((work / run / "ledger_line.json").read_text().rstrip("\n") + "\n")
        curves(run)
        for name, panel in PANELS.items():
            played = subprocess.run(
                [broadloom, "eval", run, "--panel", panel, "--json", "--quiet"],
                cwd=work,
                check=True,
                capture_output=True,
                text=True,
            )
            write(
                results / f"{run}_on_{name}.csv",
                HEADER,
                panel_rows(json.loads(played.stdout)["panel"]),
            )
