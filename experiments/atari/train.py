#!/usr/bin/env python3
"""Makes the runs of PREREGISTRATION.md, and keeps a row for each: train.py SEED...

Needs the Python package and ale-py. Stop it at any moment: the same command goes on with the runs
that results/runs.csv lacks. BLOCKS="8x128 128x8" names some of the blocks, THREADS=1 the threads.
"""

import csv
import json
import os
import pathlib
import statistics
import sys
import tempfile

import broadloom

RESULTS = pathlib.Path(__file__).resolve().parent / "results/runs.csv"
GAMES = ["Breakout", "Pong", "Boxing"]
BLOCKS = ["8x128", "128x8", "16x128", "8x256"]
STEPS, MINIBATCH = 307_200, 256
PARTS, LAST_POLICIES, EPISODES = 5, 3, 10
LAYERS = range(1, 5)
MEASURES = [
    "encoder_approximate_rank",
    "encoder_effective_rank",
    "dormant",
    *(f"encoder_layer{layer}_dormant" for layer in LAYERS),
    "weight_norm",
    "grad_kurtosis",
]
HEADER = ["game", "block", "seed", "gradient steps", "return", "last", *MEASURES, "parameters"]
# CleanRL's ppo_atari.py
SETTINGS = {
    "encoder": "nature",
    "shared_encoder": True,
    "learning_rate": 2.5e-4,
    "update_epochs": 4,
    "clip_coef": 0.1,
    "ent_coef": 0.01,
    "norm_obs": False,
    "total_timesteps": STEPS,
    "instruments": "plasticity",
}


def lines_of(path):
    return [json.loads(line) for line in path.open()]


def mean_return(policy):
    """Sampled actions: a most likely action that fires no ball makes Breakout endless."""
    return broadloom.evaluate(policy, episodes=EPISODES, actions="sampled")["mean_return"]


def train(game, block, seed, threads):
    envs, steps = map(int, block.split("x"))
    batch = envs * steps
    part = STEPS // batch // PARTS
    with tempfile.TemporaryDirectory() as folder:
        run = broadloom.train(
            f"gymnasium/ALE/{game}-v5",
            env_kwargs={"img_height": 42, "img_width": 42},
            num_envs=envs,
            num_steps=steps,
            num_minibatches=batch // MINIBATCH,
            instrument_every=part,
            checkpoint_interval=part,
            keep_checkpoints=0,
            seed=seed,
            threads=threads,
            tensorboard=False,
            quiet=True,
            ledger="none",
            out=f"{folder}/run",
            **SETTINGS,
        )
        lines = lines_of(run.dir / "metrics.jsonl")
        policies = sorted((run.dir / "checkpoints").iterdir())
        returns = [mean_return(policy) for policy in policies[-LAST_POLICIES:]]
        (record,) = lines_of(run.dir / "ledger_line.json")
    measured = [line for line in lines if "plasticity/weight_norm" in line][-1]
    return [
        game,
        block,
        seed,
        record["result"]["gradient_steps"],
        statistics.fmean(returns),
        returns[-1],
        *(measured[f"plasticity/{name}"] for name in MEASURES),
        record["result"]["parameters_hash"],
    ]


def main():
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("a+", newline="") as file:
        file.seek(0)
        kept = {(row["game"], row["block"], int(row["seed"])) for row in csv.DictReader(file)}
        out = csv.writer(file, lineterminator="\n")
        if not kept:
            out.writerow(HEADER)
        for block in os.environ.get("BLOCKS", " ".join(BLOCKS)).split():
            for seed in map(int, sys.argv[1:]):
                for game in GAMES:
                    if (game, block, seed) not in kept:
                        row = train(game, block, seed, int(os.environ.get("THREADS", "2")))
                        out.writerow([f"{x:.5g}" if isinstance(x, float) else x for x in row])
                        file.flush()
                        print(*row[:6], flush=True)


if __name__ == "__main__":
    main()
