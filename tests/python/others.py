#!/usr/bin/env python3
"""Trains on environments of PyPI, in what a user writes: at most three statements beside
`import broadloom` and the dictionary of keys (OTHERS.md).

    PYTHONPATH=build/release/python python tests/python/others.py [NAME ...] [--markdown]

Cases whose packages are not installed are skipped, and named. Exits with 1 if a case fails."""

import argparse
import ast
import importlib.metadata
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

SECONDS = 900  # of one case

# Before a user's lines, and after them.
BEFORE = """import broadloom
small = dict(total_timesteps={steps}, num_envs=4, num_steps=16, num_minibatches=2, quiet=True,
             ledger="none", out="run")
"""
AFTER = """
import numpy
policy = broadloom.Policy(run)
kinds = [type(space).__name__ for space in (policy.observation_space, policy.action_space)]
assert run.finished and run.global_step == run.total_timesteps, run
masked = ["masked"] if policy.spec["action"].get("masked") else []
print(run.global_step, *kinds, *masked)
"""


@dataclass(frozen=True)
class Case:
    name: str
    packages: str  # on PyPI
    spaces: str  # that make it a case
    lines: str
    steps: int = 512
    is_light: bool = False  # some seconds, for ctest


CASES = (
    Case(
        "MiniGrid",
        "minigrid",
        "`Dict`: image, choice, text",
        """keys = ("image", "direction")
run = broadloom.train("minigrid:MiniGrid-Empty-5x5-v0", observation_keys=(keys,), **small)
""",
        is_light=True,
    ),
    Case(
        "highway-env, two vehicles",
        "highway-env",
        "`Tuple` of Boxes; `Tuple` of choices",
        """agents = {
    "controlled_vehicles": 2,
    "action": {"type": "MultiAgentAction", "action_config": {"type": "DiscreteMetaAction"}},
    "observation": {
        "type": "MultiAgentObservation", "observation_config": {"type": "Kinematics"},
    },
}
run = broadloom.train("highway_env:highway-fast-v0", env_kwargs={"config": agents}, **small)
""",
        128,
    ),
    Case(
        "Fetch",
        "gymnasium-robotics",
        "`Dict` of goals",
        'run = broadloom.train("gymnasium_robotics:FetchReach-v4", **small)\n',
    ),
    Case(
        "PettingZoo by SuperSuit",
        "supersuit pettingzoo",
        "agents are rows",
        """import supersuit as ss, pettingzoo.butterfly.cooperative_pong_v6 as game
agents = lambda num_envs: ss.concat_vec_envs_v1(
    ss.pettingzoo_env_to_vec_env_v1(ss.resize_v1(game.parallel_env(), 48, 48)), num_envs // 2
)
run = broadloom.train(agents, name="Pong-v0", encoder="nature", **small)
""",
        256,
    ),
    Case(
        "dm_control by Shimmy",
        "shimmy dm_control",
        "`Dict` of float64",
        'run = broadloom.train("shimmy:dm_control/cartpole-balance-v0", **small)\n',
    ),
    Case(
        "Meta-World MT10",
        "metaworld",
        "ten environments at once",
        """import gymnasium, metaworld
tasks = lambda num_envs: gymnasium.make_vec("Meta-World/MT10", vector_strategy="sync", seed=1)
run = broadloom.train(tasks, name="MT10-v0", **small | {"num_envs": 10})
""",
        640,
    ),
    Case(
        "Atari, continuous",
        "ale-py",
        "image; `Box` actions",
        'run = broadloom.train("ale_py:ALE/Pong-v5", env_kwargs={"continuous": True}, **small)\n',
        256,
    ),
    Case(
        "ViZDoom, buttons",
        "vizdoom",
        "`Dict`: image, numbers; `MultiBinary`",
        """import vizdoom.gymnasium_wrapper
run = broadloom.train(
    "gymnasium/VizdoomDeadlyCorridor-v1", env_kwargs={"max_buttons_pressed": 0}, **small
)
""",
        256,
    ),
    Case(
        "Jumanji 2048",
        "jumanji",
        "`Dict`: board, mask",
        """import jumanji, jumanji.wrappers
game = lambda: jumanji.wrappers.JumanjiToGymWrapper(jumanji.make("Game2048-v1"))
run = broadloom.train(game, name="Game2048-v1", **small)
""",
    ),
    Case(
        "Blackjack",
        "gymnasium",
        "`Tuple` of choices",
        'run = broadloom.train("gymnasium/Blackjack-v1", **small)\n',
        is_light=True,
    ),
    Case(
        "CarRacing",
        "box2d",
        "image; `Box` actions",
        'run = broadloom.train("gymnasium/CarRacing-v3", **small)\n',
        256,
    ),
    Case(
        "gym-anytrading",
        "gym-anytrading",
        "`Box` without bounds",
        'run = broadloom.train("gym_anytrading:forex-v0", **small)\n',
        is_light=True,
    ),
    Case(
        "Flappy Bird",
        "flappy-bird-gymnasium",
        "`Box` that observations leave",
        'run = broadloom.train("flappy_bird_gymnasium:FlappyBird-v0", **small)\n',
        is_light=True,
    ),
    Case(
        "PyBullet's Hopper",
        "pybullet_envs_gymnasium",
        "prints from C",
        'run = broadloom.train("pybullet_envs_gymnasium:HopperBulletEnv-v0", **small)\n',
    ),
)


def versions(case):
    """ "name version" of each package; None if one is missing."""
    found = []
    for name in case.packages.split():
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            return None
    return ", ".join(found)


def play(case):
    """(whether it trained, what to show)."""
    program = BEFORE.replace("{steps}", str(case.steps)) + case.lines + AFTER
    paths = [os.path.abspath(path) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                [sys.executable, "-c", program],
                cwd=folder,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
                check=False,
                capture_output=True,
                text=True,
                timeout=SECONDS,
            )
        except subprocess.TimeoutExpired:
            return False, f"not ended after {SECONDS} s"
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    return done.returncode == 0, lines[-1] if lines else f"exit code {done.returncode}"


def spaces_of(text):
    """The policy's spaces, from the line of AFTER: "512 Dict Discrete masked"."""
    _, *kinds = text.split()
    return ", ".join(f"`{kind}`" for kind in kinds[:2]) + (" with masks" if kinds[2:] else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="cases whose names contain one of these")
    parser.add_argument("--light", action="store_true", help="the cases of some seconds")
    parser.add_argument("--markdown", action="store_true", help="the table of OTHERS.md")
    options = parser.parse_args()
    rows, failed, trained = [], 0, 0
    for case in CASES:
        if options.light and not case.is_light:
            continue
        if options.names and not any(n.lower() in case.name.lower() for n in options.names):
            continue
        statements = len(ast.parse(case.lines).body)
        assert statements <= 3, case.name
        installed = versions(case)
        if installed is None:
            print(f"SKIPPED: {case.name}: pip install {case.packages}", file=sys.stderr)
            continue
        begin = time.perf_counter()
        is_right, text = play(case)
        seconds = time.perf_counter() - begin
        failed += not is_right
        trained += is_right
        rows.append((case.name, installed, case.spaces, statements, spaces_of(text)))
        word = "trained" if is_right else "FAILED"
        print(f"{word}: {case.name} ({installed}), {seconds:.0f} s: {text}", flush=True)
    if options.markdown:
        print("\n| environment | package | spaces | statements | spaces of the policy |")
        print("|---" * 5 + "|")
        for row in rows:
            print("| " + " | ".join(map(str, row)) + " |")
    print(f"{trained} trained, {failed} failed")
    return 1 if failed else 0 if trained else 77


if __name__ == "__main__":
    sys.exit(main())
