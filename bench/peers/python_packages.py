#!/usr/bin/env python3
"""Broadloom's Python package beside Gymnasium, EnvPool, Stable-Baselines3 and CleanRL:
environments, a step's call, and training on an environment of Python's.

Needs a Python with broadloom, gymnasium, envpool, stable-baselines3 (with torch) and ale-py. Each
measurement is a separate process. All contenders of a case run in turn, then again. --cleanrl FILE:
your copy of CleanRL's ppo.py, run unchanged."""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

CART = {
    "num_envs": 4,
    "num_steps": 128,
    "num_minibatches": 4,
    "update_epochs": 4,
}  # CleanRL's defaults
PONG = {"num_envs": 8, "num_steps": 128, "num_minibatches": 4, "update_epochs": 4}


def stepped(env, actions, seconds):
    """Environment steps a second."""
    env.reset(seed=1)
    for _ in range(20):
        env.step(actions)
    begin, calls = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        for _ in range(20):
            env.step(actions)
        calls += 20
    return calls * env.num_envs / (time.perf_counter() - begin)


def env_broadloom(n, seconds):
    import broadloom, gymnasium, numpy as np

    return stepped(gymnasium.make_vec("broadloom/CartPole-v1", n), np.arange(n) % 2, seconds)


def env_sync(n, seconds):
    import gymnasium, numpy as np

    return stepped(gymnasium.make_vec("CartPole-v1", n, "sync"), np.arange(n) % 2, seconds)


def env_array(n, seconds):
    import gymnasium, numpy as np

    return stepped(
        gymnasium.make_vec("CartPole-v1", n, "vector_entry_point"), np.arange(n) % 2, seconds
    )


def env_envpool(n, seconds):
    import envpool, numpy as np

    cores = len(os.sched_getaffinity(0))
    env = envpool.make("CartPole-v1", env_type="gymnasium", num_envs=n, num_threads=cores)
    env.reset()
    actions = (np.arange(n) % 2).astype(np.int32)
    env.reset = lambda seed=None: None
    return stepped(env, actions, seconds)


def call(n, seconds):
    """Microseconds that a step of all N costs beside the environment itself: the same constants
    from Python, through Broadloom and without."""
    import broadloom, gymnasium, numpy as np

    class Constant(gymnasium.vector.VectorEnv):
        metadata = {"autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP}
        single_observation_space, single_action_space = (
            gymnasium.spaces.Box(-1, 1, (4,), np.float32),
            gymnasium.spaces.Discrete(2),
        )

        def __init__(self, num_envs):
            self.num_envs, self.told = (
                num_envs,
                (
                    np.zeros((num_envs, 4), np.float32),
                    np.zeros(num_envs),
                    np.zeros(num_envs, bool),
                    np.zeros(num_envs, bool),
                    {},
                ),
            )

        def reset(self, *, seed=None, options=None):
            return self.told[0], {}

        def step(self, actions):
            return self.told

    def constant(num_envs):
        return Constant(num_envs)

    broadloom.register("Constant-v0", constant)
    steps = int(seconds * 1e5)  # of each environment
    _, text, _ = broadloom.commands.answer(
        [
            "env",
            "bench",
            "Constant-v0",
            "--num_envs",
            n,
            "--num_steps",
            steps,
            "--threads",
            1,
            "--json",
        ]
    )
    rate = json.loads(text)["steps_per_second"]
    return 1e6 * n / rate - 1e6 * n / stepped(Constant(n), np.zeros(n, np.int64), seconds / 4)


def train_broadloom(seconds):
    import broadloom, gymnasium

    def cart_pole(num_envs):
        return gymnasium.make_vec(
            "CartPole-v1",
            num_envs,
            "sync",
            vector_kwargs={"autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP},
        )

    return rate_of(cart_pole, seconds, 20_000, CART)


def rate_of(env, seconds, steps, keys):
    import broadloom

    marks = []
    with tempfile.TemporaryDirectory() as folder:
        broadloom.train(
            env,
            out=f"{folder}/run",
            quiet=True,
            total_timesteps=int(steps * max(1.0, seconds / 2)),
            tensorboard=False,
            checkpoint_interval=1_000_000,
            ledger=f"{folder}/l",
            on_iteration=lambda p: marks.append((time.perf_counter(), p["global_step"])),
            **keys,
        )
    first = marks[min(1, len(marks) - 2)]  # earlier steps are warm-up
    return (marks[-1][1] - first[1]) / (marks[-1][0] - first[0])


def sb3_rate(model, steps):
    from stable_baselines3.common.callbacks import BaseCallback

    class Marks(BaseCallback):
        def __init__(self):
            super().__init__()
            self.marks = []

        def _on_rollout_start(self):
            self.marks.append((time.perf_counter(), self.num_timesteps))

        def _on_step(self):
            return True

    marks = Marks()
    model.learn(steps, callback=marks)
    end, first = (time.perf_counter(), model.num_timesteps), marks.marks[1]
    return (end[1] - first[1]) / (end[0] - first[0])


def train_sb3(seconds):
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env

    model = PPO(
        "MlpPolicy",
        make_vec_env("CartPole-v1", n_envs=4),
        n_steps=128,
        batch_size=128,
        n_epochs=4,
        device="cpu",
        verbose=0,
    )
    return sb3_rate(model, int(20_000 * max(1.0, seconds / 2)))


def train_cleanrl(seconds, file):
    with tempfile.TemporaryDirectory() as folder:
        answer = subprocess.run(
            [
                sys.executable,
                os.path.abspath(file),
                "--env-id",
                "CartPole-v1",
                "--total-timesteps",
                str(int(20_000 * max(1.0, seconds / 2))),
                "--no-cuda",
            ],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    return float(re.findall(r"SPS: (\d+)", answer)[-1])


def pong_broadloom(seconds):
    return rate_of(
        "gymnasium/ALE/Pong-v5",
        0,
        int(1024 * max(4.0, seconds)),
        {**PONG, "encoder": "nature", "shared_encoder": True, "learning_rate": 2.5e-4},
    )


def pong_sb3(seconds):
    import ale_py, gymnasium

    gymnasium.register_envs(ale_py)
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_atari_env
    from stable_baselines3.common.vec_env import VecFrameStack

    env = VecFrameStack(make_atari_env("PongNoFrameskip-v4", n_envs=8), n_stack=4)
    model = PPO("CnnPolicy", env, n_steps=128, batch_size=256, n_epochs=4, device="cpu", verbose=0)
    return sb3_rate(model, int(1024 * max(4.0, seconds)))


def mean_return(act, env_id="broadloom/CartPole-v1", episodes=20):
    """The mean return of the most likely actions."""
    import broadloom, gymnasium, numpy as np

    env = gymnasium.make_vec(env_id, episodes)
    rows, _ = env.reset(seed=7)
    total, done = np.zeros(episodes), np.zeros(episodes, bool)
    while not done.all():
        rows, rewards, terminated, truncated, _ = env.step(act(rows))
        total += rewards * ~done
        done |= terminated | truncated
    return total.mean()


def learn_sb3(seconds):
    import broadloom
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env

    model = PPO(
        "MlpPolicy",
        make_vec_env("broadloom/CartPole-v1", n_envs=8),
        learning_rate=1e-3,
        n_steps=128,
        seed=1,
        device="cpu",
    ).learn(100_000)
    return mean_return(lambda rows: model.predict(rows, deterministic=True)[0])


def learn_cleanrl(seconds, file):
    """The file as it is; the prefix has Gymnasium import broadloom."""
    import contextlib, runpy, torch

    sys.argv = [
        "ppo.py",
        "--env-id",
        "broadloom:broadloom/CartPole-v1",
        "--total-timesteps",
        "150000",
        "--no-cuda",
    ]
    path = os.path.abspath(file)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with contextlib.redirect_stdout(sys.stderr):
            agent = runpy.run_path(path, run_name="__main__")["agent"]
        os.chdir("/")
    return mean_return(lambda rows: agent.actor(torch.tensor(rows)).argmax(1).numpy())


# case: (description, {contender: (function, arguments)})
CASES = {
    "env64": (
        "steps/s, CartPole, N 64",
        {"Broadloom": (env_broadloom, (64,)), "SyncVectorEnv": (env_sync, (64,))},
    ),
    "env1024": (
        "steps/s, CartPole, N 1,024",
        {
            "Broadloom": (env_broadloom, (1024,)),
            "EnvPool": (env_envpool, (1024,)),
            "Gymnasium's arrays": (env_array, (1024,)),
        },
    ),
    "call64": (
        "microseconds a step of 64 beside the environment's own",
        {"Broadloom": (call, (64,))},
    ),
    "call1024": (
        "microseconds a step of 1,024 beside the environment's own",
        {"Broadloom": (call, (1024,))},
    ),
    "train": (
        "steps/s, PPO on Gymnasium's CartPole, N 4, T 128, M 128, K 4, 64-64",
        {
            "Broadloom": (train_broadloom, ()),
            "Stable-Baselines3": (train_sb3, ()),
            "CleanRL": (train_cleanrl, ()),
        },
    ),
    "pong": (
        "steps/s, PPO on Pong, 84x84x4, Nature's network, N 8, T 128, M 256, K 4",
        {"Broadloom": (pong_broadloom, ()), "Stable-Baselines3": (pong_sb3, ())},
    ),
    "learn": (
        "mean return on broadloom/CartPole-v1 after 100,000 steps (SB3) and 150,000 (CleanRL)",
        {"Stable-Baselines3": (learn_sb3, ()), "CleanRL": (learn_cleanrl, ())},
    ),
}


def measure(case, name, options):
    words = [
        sys.executable,
        "-W",
        "ignore",
        __file__,
        "--one",
        case,
        name,
        "--seconds",
        str(options.seconds),
    ] + (["--cleanrl", options.cleanrl] if options.cleanrl else [])
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{case}, {name}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    return float(done.stdout.strip().splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--case", action="append", choices=CASES, help="only these")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement, roughly")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--cleanrl", help="a copy of CleanRL's ppo.py")
    parser.add_argument("--out", help="results as JSON")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        function, arguments = CASES[options.one[0]][1][options.one[1]]
        extra = (options.cleanrl,) if function in (train_cleanrl, learn_cleanrl) else ()
        print(function(*arguments, options.seconds, *extra))
        return
    results = {}
    for case in options.case or CASES:
        what, contenders = CASES[case]
        names = [name for name in contenders if name != "CleanRL" or options.cleanrl]
        numbers = {name: [] for name in names}
        for _ in range(options.repeats):
            for name in names:
                numbers[name].append(measure(case, name, options))
        print(f"\n{what}\n")
        print("| | median | least | greatest | Broadloom is |\n|---|---|---|---|---|")
        results[case] = {"what": what, "numbers": numbers}
        ours = statistics.median(
            [number for number in numbers.get("Broadloom", []) if number is not None] or [0.0]
        )
        for name in names:
            known = [number for number in numbers[name] if number is not None]
            if not known:
                print(f"| {name} | could not be measured | | | |")
                continue
            median = statistics.median(known)
            ratio = "" if name == "Broadloom" or not ours else f"{ours / median:.2f} times as fast"
            print(
                f"| {name} | {median:,.1f} | {min(known):,.1f} | {max(known):,.1f} | {ratio} |",
                flush=True,
            )
    if options.out:
        with open(options.out, "w") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
