"""Times a million training steps on MuJoCo's tasks with CleanRL's settings, in turn: Broadloom,
Stable-Baselines3, CleanRL.

usage: learners.py BROADLOOM PACKAGES [--sb3 PYTHON] [--cleanrl PYTHON SCRIPT]
                   [--tasks Hopper HalfCheetah Ant] [--rounds 3]
PACKAGES: the folder with the packages mujoco and gymnasium.
--sb3: a Python with stable_baselines3, gymnasium and MuJoCo.
--cleanrl: a Python with CleanRL's requirements (gymnasium 0.29, whose tasks are v4), and its
ppo_continuous_action.py.

All use one thread; Broadloom is also timed with two. The time of a million steps is the difference
between a longer and a shorter run, so start-up does not count. Blocks are 1 x 2048, with 10 epochs
of 32 minibatches and normalised observations and rewards. Physics: the same steps with random
actions and no learning. Medians are over the rounds; ratios are taken within a round.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "peers"))
from calm import Neighbours  # noqa: E402

BLOCK = 2048
SB3 = """
import sys, torch, gymnasium
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize
torch.set_num_threads(1)
env_id, steps = sys.argv[1], int(sys.argv[2])
envs = VecNormalize(DummyVecEnv([lambda: gymnasium.make(env_id)]), gamma=0.99)
PPO("MlpPolicy", envs, learning_rate=lambda left: 3e-4 * left, n_steps=2048, batch_size=64,
    n_epochs=10, seed=1, device="cpu").learn(steps)
"""


def seconds(words, **more):
    start = time.perf_counter()
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=False, **more
    )
    if done.returncode != 0:
        sys.exit(
            f"learners.py: this failed with {done.returncode}: {' '.join(map(str, words[:3]))} "
            f"...\n{done.stderr[-2000:]}"
        )
    return time.perf_counter() - start


class Learner:
    """command(env_id, steps) trains so many steps; blocks: of a short run and of a long one."""

    def __init__(self, name, command, blocks, cwd=None):
        self.name, self.command, self.blocks, self.cwd = name, command, blocks, cwd

    def seconds_per_million(self, task):
        environment = dict(os.environ, OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
        short, long = (
            seconds(self.command(task, blocks * BLOCK), env=environment, cwd=self.cwd)
            for blocks in self.blocks
        )
        return (long - short) / ((self.blocks[1] - self.blocks[0]) * BLOCK) * 1e6


def learners(asked, folder):
    broadloom = pathlib.Path(asked.broadloom).resolve()

    def train(threads):
        runs = iter(range(10**6))
        return lambda task, steps: [
            broadloom,
            "train",
            "--env_id",
            f"{task}-v5",
            "--num_envs",
            1,
            "--num_steps",
            BLOCK,
            "--num_minibatches",
            32,
            "--update_epochs",
            10,
            "--learning_rate",
            3e-4,
            "--lr_schedule",
            "linear",
            "--norm_obs",
            "--norm_reward",
            "--total_timesteps",
            steps,
            "--threads",
            threads,
            "--no-tensorboard",
            "--quiet",
            "--out",
            f"{folder}/{threads}-{next(runs)}",
        ]

    yield Learner(
        "physics",
        lambda task, steps: [
            broadloom,
            "env",
            "bench",
            f"{task}-v5",
            "--num_envs",
            8,
            "--threads",
            1,
            "--num_steps",
            steps // 8,
        ],
        (4, 44),
    )
    yield Learner("broadloom", train(1), (4, 44))
    yield Learner("broadloom, 2 threads", train(2), (4, 44))
    if asked.sb3:
        yield Learner(
            "sb3", lambda task, steps: [asked.sb3, "-c", SB3, f"{task}-v5", steps], (1, 7)
        )
    if asked.cleanrl:
        python, script = asked.cleanrl
        script = pathlib.Path(script).resolve()
        yield Learner(
            "cleanrl",
            lambda task, steps: [
                python,
                script,
                "--env-id",
                f"{task}-v4",
                "--total-timesteps",
                steps,
                "--no-cuda",
            ],
            (1, 7),
            folder,
        )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("broadloom")
    parser.add_argument("packages")
    parser.add_argument("--sb3")
    parser.add_argument("--cleanrl", nargs=2)
    parser.add_argument("--tasks", nargs="+", default=["Hopper", "HalfCheetah", "Ant"])
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    os.environ["BROADLOOM_MUJOCO"] = str(pathlib.Path(asked.packages).resolve())
    neighbours = Neighbours()
    with tempfile.TemporaryDirectory() as folder:
        contenders = list(learners(asked, folder))
        for task in asked.tasks:
            rounds = {}
            for _ in range(asked.rounds):
                for learner in contenders:
                    rounds.setdefault(learner.name, []).append(learner.seconds_per_million(task))
            own = rounds["broadloom"]
            print(
                json.dumps(
                    {
                        "task": task,
                        "rounds": asked.rounds,
                        "others_cores": round(neighbours.cores(), 2),
                        "seconds_per_million": {
                            name: round(statistics.median(found), 1)
                            for name, found in rounds.items()
                        },
                        "times_broadloom": {
                            name: round(statistics.median(a / b for a, b in zip(found, own)), 2)
                            for name, found in rounds.items()
                        },
                    }
                ),
                flush=True,
            )


if __name__ == "__main__":
    main()
