#!/usr/bin/env python3
"""keep.py BROADLOOM WORK RESULTS: scores run.sh's runs and their checkpoints, and keeps times,
curves, rows of the panel, ledger lines and the peer's answers."""

import csv
import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
from rows import write  # noqa: E402
from walk import falls_of, score, walks  # noqa: E402

broadloom, work, results = (
    Path(sys.argv[1]).resolve(),
    Path(sys.argv[2]),
    Path(sys.argv[3]).resolve(),
)
CURVES = [
    "global_step",
    "episodic_return",
    "success_rate",
    "termination_rate",
    "measure/speed_error",
    "measure/turn_error",
    "approx_kl",
    "steps_per_second",
]
POINTS = 17


def numbers(row):
    measures = [
        row["measures"][name][end]
        for name in ("speed_error", "turn_error")
        for end in ("value", "low", "high")
    ]
    falls = falls_of(row)
    walked = walks(falls, measures[0], measures[3])
    return [row["episodes"], falls, row["success_rate"], *measures, walked]


NUMBERS = ["episodes", "falls", "success_rate"]
NUMBERS += ["speed_error", "speed_error_low", "speed_error_high"]
NUMBERS += ["turn_error", "turn_error_low", "turn_error_high", "walks"]

results.mkdir(exist_ok=True)
with (work / "times.csv").open() as file:
    times = list(csv.DictReader(file))
scores, steps, curves, speeds = [], [], [], []
for row in times:
    seed = row["seed"]
    run = f"walk_{seed}"
    for played in score(broadloom, run, "panel.toml", work).values():
        if played["stratum"] != "all":
            scores.append([seed, played["perturbation"], *numbers(played)])
    lines = [json.loads(line) for line in (work / run / "metrics.jsonl").read_text().splitlines()]
    block = lines[-1]["global_step"] // lines[-1]["iteration"]
    for file in sorted((work / run / "checkpoints").glob("*.safetensors")):
        iteration = int(file.stem.split("_")[1])
        if iteration < 160:
            continue  # nobody walks yet
        played = next(iter(score(broadloom, file.resolve(), "timing.toml").values()))
        steps.append([seed, iteration * block, *numbers(played)])
    stretch = max(1, len(lines) // POINTS)
    for first in range(0, len(lines), stretch):
        part = lines[first : first + stretch]
        means = [sum(line[key] for line in part) / len(part) for key in CURVES[1:]]
        curves.append([seed, part[-1]["global_step"], *means])
    for name in ("own", "walk"):
        bench = json.loads((work / f"bench_{name}_{seed}.json").read_text())
        speeds.append([seed, f"Quadruped-v0, {name}", bench["steps_per_second"]])
write(results / "times.csv", list(times[0]), [list(row.values()) for row in times])
write(results / "panel.csv", ["seed", "physics", *NUMBERS], scores)
write(results / "checkpoints.csv", ["seed", "steps", *NUMBERS], steps)
write(results / "curves.csv", ["seed", *CURVES], curves)
with (results / "ledger.jsonl").open("w") as ledger:
    for row in times:
        line = (work / f"walk_{row['seed']}" / "ledger_line.json").read_text()
        ledger.write(line.rstrip("\n") + "\n")
peer = work / "peer.jsonl"
answers = [json.loads(line) for line in peer.read_text().splitlines()] if peer.exists() else []
for answer in answers:
    if answer["what"] == "physics":
        speeds.append(["", "mjbatch", answer["steps"] / answer["wall_s"]])
write(results / "speeds.csv", ["seed", "physics", "steps_per_second"], speeds)
KEPT = ["iterations", "steps", "wall_s", "processor_s", "rollout_s", "track", "turn"]
KEPT += ["episodes", "fell", "speed_error", "turn_error"]
write(
    results / "peer.csv",
    ["what", *KEPT],
    [[a["what"], *(a.get(key, "") for key in KEPT)] for a in answers if a["what"] != "physics"],
)
