#!/usr/bin/env python3
"""Trains, evaluates, audits and studies environments of many kinds for a moment.

    pip install . "gymnasium[box2d,mujoco]" ale-py envpool
    python examples/python/zoo.py                 # all that are installed
    python examples/python/zoo.py lander          # one of them

A command that an environment does not support prints its error. Each example takes some ten lines.
The runs are too short to learn much.
"""

import argparse
import pathlib
import tempfile
import time
import warnings

import gymnasium
import numpy as np

import broadloom


class Track(gymnasium.Env):
    """Your own class. The task: follow a moving point."""

    observation_space = gymnasium.spaces.Box(-2.0, 2.0, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.position, self.goal, self.steps = 0.0, self.np_random.uniform(-1, 1), 0
        return self.look(), {}

    def look(self):
        return np.array([self.position, self.goal], np.float32)

    def step(self, action):
        self.steps += 1
        self.position = float(np.clip(self.position + 0.2 * action[0], -2, 2))
        self.goal = float(np.clip(self.goal + self.np_random.normal(0, 0.05), -1, 1))
        return self.look(), -abs(self.position - self.goal), False, self.steps >= 50, {}


def arrays(num_envs):
    """Gymnasium's vectorised CartPole, whose resets take a step."""
    return gymnasium.make_vec("CartPole-v1", num_envs, "vector_entry_point")


SHORT = {"lr_schedule": "constant"}  # a resumed run can then be longer
BOX = {**SHORT, "num_envs": 8, "num_steps": 64, "norm_obs": True, "norm_reward": True}
ZOO = {
    "lander": (
        "gymnasium/LunarLander-v3",
        {**SHORT, "total_timesteps": 16_384, "num_envs": 16, "num_steps": 64, "gamma": 0.999},
    ),
    "mujoco": ("gymnasium/Hopper-v5", {"total_timesteps": 8_192, **BOX}),
    "pong": (
        "gymnasium/ALE/Pong-v5",
        {
            **SHORT,
            "total_timesteps": 1_024,
            "num_envs": 8,
            "num_steps": 32,
            "encoder": "nature",
            "shared_encoder": True,
        },
    ),
    "envpool": ("envpool/Ant-v5", {"total_timesteps": 8_192, **BOX}),
    "own": (Track, {"total_timesteps": 16_384, **BOX, "name": "Track-v0"}),
    "next_step": (
        arrays,
        {**SHORT, "total_timesteps": 16_384, "num_envs": 16, "num_steps": 64, "name": "Arrays-v0"},
    ),
}
PANEL_STEPS = {"pong": 400}  # its own limit is 27,000


def show(name, out):
    env, keys = ZOO[name]
    keys = dict(keys)
    env_id = keys.get("name", env)
    names = {key: keys.pop(key) for key in ("name",) if key in keys}
    begin = time.perf_counter()
    run = broadloom.train(env, out=out / name, quiet=True, **names, **keys)
    print(
        f"\n{name}: {env_id}\n"
        f"  trained    {run.global_step:,} steps in {time.perf_counter() - begin:.1f} s, "
        f"mean return of the last episodes {run.mean_return}"
    )
    episodes = 2 if name == "pong" else 10

    def evaluate():
        found = broadloom.evaluate(run, episodes=episodes)
        interval = f"[{found['ci_low']:.1f}, {found['ci_high']:.1f}]"
        return f"{found['mean_return']:.1f} {interval} over {found['episodes']} episodes"

    def audit():
        found = broadloom.audit(run, iterations=2)
        return f"{found['severity']}: " + "; ".join(
            check["sentence"]
            for check in found["checks"]
            if check["severity"] not in ("none", "ok")
        )

    def study():
        base = {
            "env_id": env_id,
            **keys,
            "total_timesteps": keys["num_envs"] * keys["num_steps"] * 2,
        }
        found = broadloom.Study(
            {"seeds": 2, "base": base, "grid": {"learning_rate": [1e-3, 2.5e-4]}},
            name=name,
            out=out / f"{name}.sqlite",
        ).run(quiet=True, jobs=1, eval_episodes=2)
        return f"{len(found['cells'])} cells, complete: {found['complete']}"

    def panel():
        file = out / f"{name}.toml"
        file.write_text(
            f'env_id = "{env_id}"\nepisodes = 2\nseed = 7\n'
            f"max_episode_steps = {PANEL_STEPS.get(name, 0)}\n"
        )
        rows = broadloom.evaluate(run, panel=file)["panel"]["rows"]
        return f"{rows['all/nominal']['mean_return']:.1f}"

    def stationary():
        return broadloom.gradients(
            run,
            out=out / f"{name}-stationary",
            study="variance",
            batch=256,
            shapes="4x64,16x16",
            blocks=10,
        )["summary"]

    def gradients():
        return broadloom.gradients(
            run,
            out=out / f"{name}-gradients",
            starts="synchronised",
            study="variance",
            batch=64,
            shapes="4x16",
            blocks=10,
        )["summary"]

    def act():
        return str(broadloom.Policy(run).act(broadloom.Policy(run).observation_space.sample()))

    def resume():
        longer = broadloom.resume(
            run,
            total_timesteps=keys["total_timesteps"] + keys["num_envs"] * keys["num_steps"],
            quiet=True,
        )
        return f"{longer.global_step:,} steps"

    for command in (evaluate, audit, study, panel, stationary, gradients, act, resume):
        begin = time.perf_counter()
        try:
            result = command()
        except Exception as error:  # the environment does not support it
            result = f"no: {error}"
        print(
            f"  {command.__name__:<10} {result}  ({time.perf_counter() - begin:.1f} s)", flush=True
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", choices=[[], *ZOO], help="environments (default: all)")
    chosen = parser.parse_args().names or list(ZOO)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in chosen:
            try:
                show(name, pathlib.Path(folder))
            except (ModuleNotFoundError, gymnasium.error.DependencyNotInstalled) as error:
                print(f"\n{name}: SKIPPED, {error}")


if __name__ == "__main__":
    main()
