#!/usr/bin/env python3
"""keep.py BROADLOOM WORK RESULTS: scores run.sh's runs and their checkpoints by panel.toml, keeps
curves and times, and judges the plan's predictions."""

import json
import sys
from pathlib import Path

EXPERIMENTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(EXPERIMENTS), str(EXPERIMENTS / "first-walk")]
from rows import write, write_verdicts  # noqa: E402
from walk import SPEED, TURN, falls_of, score, walks  # noqa: E402

CURVES = ["global_step", "episodic_length", "success_rate"]
CURVES += ["measure/speed_error", "measure/turn_error"]
POINTS = 24
FIRST = 400  # block of the first checkpoint that is scored; nobody walks before
TRAINED, FINE, PUSHED = "nominal", "fine", "pushes"


def scored(broadloom, run):
    for row in score(broadloom, run, EXPERIMENTS / "biped/panel.toml").values():
        if row["stratum"] == "all":
            continue
        errors = [row["measures"][name]["value"] for name in ("speed_error", "turn_error")]
        falls = falls_of(row)
        yield {
            "physics": row["perturbation"],
            "episodes": row["episodes"],
            "falls": falls,
            "speed_error": errors[0],
            "turn_error": errors[1],
            "walks": walks(falls, *errors),
        }


def lines_of(run):
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def checkpoints(broadloom, run):
    last = lines_of(run)[-1]
    block = last["global_step"] // last["iteration"]
    for file in sorted((run / "checkpoints").glob("*.safetensors")):
        iteration = int(file.stem.split("_")[1])
        if iteration < FIRST:
            continue
        row = next(row for row in scored(broadloom, file) if row["physics"] == TRAINED)
        del row["physics"]
        yield {"steps": iteration * block, **row}


def curve(run):
    lines = lines_of(run)
    stretch = max(1, len(lines) // POINTS)
    for first in range(0, len(lines), stretch):
        part = lines[first : first + stretch]
        means = [sum(line[key] for line in part) / len(part) for key in CURVES[1:]]
        yield [part[-1]["global_step"], *means]


def verdicts(rows, times):
    def played(physics):
        return [row for row in rows if row["physics"] == physics]

    walked = sum(row["walks"] for row in played(TRAINED))
    yield 1, "seeds that walk at their end, of three", walked, walked < 3
    near = sum(row["speed_error"] < SPEED and row["turn_error"] < TURN for row in played(FINE))
    yield 2, "seeds below both limits in finer physics, of three", near, near < 3
    least = min(row["falls"] for row in played(PUSHED))
    yield 3, "fewest falls of a seed under pushes, of twenty", least, least < 10
    most = max(float(time[2]) for time in times)
    yield 4, "most processor seconds of a training", most, most >= 1000


def main():
    broadloom, work, results = (Path(word).resolve() for word in sys.argv[1:4])
    rows, kept, curves, times, ledger = [], [], [], [], []
    for run in sorted(work.glob("biped_*")):
        seed = run.name.split("_")[1]
        rows += [{"seed": seed, **row} for row in scored(broadloom, run)]
        kept += [{"seed": seed, **row} for row in checkpoints(broadloom, run)]
        curves += [[seed, *point] for point in curve(run)]
        wall, user, system = map(float, (run / "took.txt").read_text().split())
        times.append([seed, wall, user + system])
        ledger.append((run / "ledger_line.json").read_text().rstrip("\n") + "\n")
    write(results / "panel.csv", list(rows[0]), [list(row.values()) for row in rows])
    write(results / "checkpoints.csv", list(kept[0]), [list(row.values()) for row in kept])
    write(results / "curves.csv", ["seed", *CURVES], curves)
    write(results / "times.csv", ["seed", "wall_s", "processor_s"], times)
    (results / "ledger.jsonl").write_text("".join(ledger))
    write_verdicts(results / "verdicts.csv", verdicts(rows, times))


if __name__ == "__main__":
    main()
