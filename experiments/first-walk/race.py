#!/usr/bin/env python3
"""Seconds to a walk, ours and mjbatch's example in turn: race.py BROADLOOM WORK RESULTS [SEED ...]

PEER_PYTHON and PEER_EXAMPLE are those of run.sh. A training of ours is whole; the peer's ends when
it has walked twice in a row, or after LONG seconds. Scores don't count as time. Keeps race.csv, a
line for each policy that was scored; race_judge.py reads it. The same call goes on with a stopped
race: what race.csv or WORK has whole isn't made again. `walks` judges the example's 20 episodes,
and the same of ours: 10 s and one command each. `walks_long` judges ours over 20 s with commands
that change."""

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

EXPERIMENTS = Path(__file__).resolve().parent.parent
sys.path.append(str(EXPERIMENTS))
from rows import read, write  # noqa: E402
from walk import falls_of, score, walks  # noqa: E402

FOLDER = EXPERIMENTS / "first-walk"
ROOT = EXPERIMENTS.parent
CONFIG = ROOT / "configs/quadruped_walk.toml"
ROBOT = ROOT / "bridges/mujoco/quadruped/quadruped.xml"
SLICE = 20  # seconds of the peer's training between two of its scores
SEEDS = ["221", "222", "223", "224", "225"]
LONG = 160  # seconds of the peer
COLUMNS = ["seed", "who", "steps", "wall_s", "processor_s", "learner_share"]
COLUMNS += ["episodes", "falls", "speed_error", "turn_error", "walks"]
COLUMNS += ["falls_long", "speed_error_long", "turn_error_long", "walks_long"]


def children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def learner_share(broadloom, run):
    """Share of some blocks' time that does not collect them, by `bench`."""
    file = run / "bench.json"
    words = ["bench", CONFIG, "--threads", "2", "--seconds", "2", "--repeats", "2", "--json", file]
    subprocess.run([broadloom, *words], check=True, stdout=subprocess.DEVNULL)
    return 1 - json.loads(file.read_text())["cases"][0]["stage_shares"]["collect"]


def train(broadloom, run, seed):
    """Keeps when it began, and its wall and processor seconds."""
    if (run / "took.json").exists():
        return
    shutil.rmtree(run, ignore_errors=True)  # what a stopped race left
    begin, used = time.time(), children()
    subprocess.run(
        [broadloom, "train", CONFIG, "--seed", str(seed), "--threads", "2"]
        + ["--checkpoint_interval", "10"]
        + ["--keep_checkpoints", "0", "--log_interval", "8"]
        + ["--no-tensorboard", "--quiet", "--out", run],
        check=True,
    )
    took = {"begin": begin, "wall": time.time() - begin, "processor": children() - used}
    took["learner_share"] = learner_share(broadloom, run)
    (run / "took.json").write_text(json.dumps(took))


def scored(broadloom, run, seed):
    """A checkpoint's seconds: from the start of the program to the file's last change."""
    took = json.loads((run / "took.json").read_text())
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    block = lines[-1]["global_step"] // lines[-1]["iteration"]
    for file in sorted((run / "checkpoints").glob("*.safetensors")):
        wall = file.stat().st_mtime - took["begin"]
        judged = judge(broadloom, file, "alike.toml")
        judged += judge(broadloom, file, "timing.toml")
        steps = int(file.stem.split("_")[1]) * block
        processor = took["processor"] * wall / took["wall"]
        yield [seed, "ours", steps, wall, processor, took["learner_share"], 20, *judged]


def judge(broadloom, file, panel):
    row = next(iter(score(broadloom, file, panel).values()))
    errors = [row["measures"][name]["value"] for name in ("speed_error", "turn_error")]
    return [falls_of(row), *errors, walks(falls_of(row), *errors)]


def kept_peer(file, seed):
    if not file.exists():
        rows = list(peer(seed, LONG))
        file.write_text(json.dumps(rows))
    return json.loads(file.read_text())


def peer(seed, seconds):
    words = [os.environ["PEER_PYTHON"], FOLDER / "peer.py", os.environ["PEER_EXAMPLE"], ROBOT]
    with subprocess.Popen(
        [*words, str(seed)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        ask = iter(process.stdout)
        next(ask)
        in_a_row = took = 0
        while in_a_row < 2 and took < seconds:
            answers = []
            for command in (f"train {SLICE}", "score 20"):
                process.stdin.write(command + "\n")
                process.stdin.flush()
                answers.append(json.loads(next(ask)))
            trained, scored = answers
            took = trained["wall_s"]
            errors = scored["speed_error"], scored["turn_error"]
            walked = walks(scored["fell"], *errors)
            in_a_row = in_a_row + 1 if walked else 0
            share = 1 - trained["rollout_s"] / took
            yield [seed, "mjbatch", trained["steps"], took, trained["processor_s"], share,
                   scored["episodes"], scored["fell"], *errors, walked, *[""] * 4]  # fmt: skip


def main():
    broadloom, work, results = (Path(word).resolve() for word in sys.argv[1:4])
    work.mkdir(parents=True, exist_ok=True)
    rows = [list(row.values()) for row in read(results / "race.csv")]
    known = {row[0] for row in rows}
    seeds = [seed for seed in sys.argv[4:] or SEEDS if seed not in known]
    peers = {}
    for turn, seed in enumerate(seeds):
        if turn % 2 == 0:
            train(broadloom, work / f"race_{seed}", seed)
        peers[seed] = kept_peer(work / f"peer_{seed}.json", seed)
        if turn % 2 == 1:
            train(broadloom, work / f"race_{seed}", seed)
    for seed in seeds:
        rows += [*scored(broadloom, work / f"race_{seed}", seed), *peers[seed]]
        write(results / "race.csv", COLUMNS, rows)


if __name__ == "__main__":
    main()
