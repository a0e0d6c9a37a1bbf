"""The bars of learning, judged by the lower end of a 95 % interval over seeds. The same on every
machine. LEARNING_SEEDS=N takes N seeds everywhere, and trains configs to their end.

usage: [LEARNING_SEEDS=N] learning_test.py PROGRAM CONFIGS [Learning.test_pendulum ...]
"""

import concurrent.futures
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import unittest

PROGRAM, CONFIGS = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1))
NAMED = os.environ.get("LEARNING_SEEDS")
SEEDS = range(1, int(NAMED or 5) + 1)
# Enough where seeds differ little, or where every seed has to fail.
FEW = SEEDS if NAMED else range(1, 4)


def call(*arguments):
    result = subprocess.run(
        [PROGRAM, *map(str, arguments), "--quiet", "--json"], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def over_seeds(job, seeds):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(job, seeds))


def lower_bound(values):
    # Student's t, 97.5 %, for 2 and 4 degrees of freedom. With six seeds or more the interval is
    # wider than need be; with two it is too narrow.
    t = 4.303 if len(values) < 4 else 2.776
    return statistics.mean(values) - t * statistics.stdev(values) / len(values) ** 0.5


class Learning(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="broadloom_learning_"))

    def tearDown(self):
        shutil.rmtree(self.root)

    def report(self, name, values):
        print(
            f"{name}: mean {statistics.mean(values):.3f}, lower 95 % bound {lower_bound(values):.3f}, "
            f"worst {min(values):.3f}, seeds",
            " ".join(f"{v:.2f}" for v in values),
            flush=True,
        )

    def training_returns(self, *arguments, seeds=SEEDS):
        """Mean return of the last 100 training episodes, by seed."""

        def job(seed):
            folder = pathlib.Path(tempfile.mkdtemp(dir=self.root)) / "run"
            run = call("train", *arguments, "--seed", seed, "--threads", 1, "--out", folder)
            return run["mean_return"]

        return over_seeds(job, seeds)

    def evaluation_returns(self, config, episodes, *more, seeds=SEEDS):
        def job(seed):
            folder = pathlib.Path(tempfile.mkdtemp(dir=self.root)) / "run"
            one = ["--seed", seed, "--threads", 1, "--out", folder]
            call("train", CONFIGS / config, *more, *one)
            return call("eval", folder, "--episodes", episodes, "--threads", 1)["mean_return"]

        return over_seeds(job, seeds)

    def test_cart_pole_with_cleanrl_defaults(self):
        returns = self.training_returns("--env_id", "CartPole-v1", seeds=FEW)
        self.report("CartPole-v1", returns)
        self.assertGreaterEqual(lower_bound(returns), 475)

    def test_acrobot_with_cleanrl_defaults(self):
        returns = self.training_returns("--env_id", "Acrobot-v1", seeds=FEW)
        self.report("Acrobot-v1", returns)
        self.assertGreaterEqual(lower_bound(returns), -90)

    # The config trains for a million steps. Nothing in it depends on the number of steps.
    def test_pendulum(self):
        shorter = () if NAMED else ("--total_timesteps", 400000)
        returns = self.evaluation_returns("pendulum.toml", 200, *shorter, seeds=FEW)
        self.report("Pendulum-v1", returns)
        self.assertGreaterEqual(lower_bound(returns), -200)
        self.assertGreaterEqual(min(returns), -200, "a seed got stuck")

    # Gradients of values would leave none of the policy's within max_grad_norm. (Means: -1147 off,
    # -206 running, -214 popart.)
    def test_large_rewards_need_normalised_values(self):
        large = "--env_id Pendulum-v1 --norm_reward false --reward_scale 100 --num_envs 16 "
        large += "--num_steps 128 --num_minibatches 8 --update_epochs 10 --learning_rate 0.001 "
        large += "--gamma 0.9 --stagger_starts true --stagger_by actions "
        large += "--total_timesteps 150000 --norm_value"
        returns = {}
        for norm in ("off", "running", "popart"):
            seeds = FEW if norm == "off" else SEEDS
            returns[norm] = self.training_returns(*large.split(), norm, seeds=seeds)
            self.report(f"Pendulum-v1, rewards x 100, norm_value = {norm}", returns[norm])
        self.assertLessEqual(max(returns["off"]), -1000)
        self.assertGreaterEqual(lower_bound(returns["running"]), -250)
        self.assertGreaterEqual(lower_bound(returns["popart"]), -250)

    # A choice and two numbers; the optimum is 32, a random policy has 3.1.
    def test_golf(self):
        returns = self.evaluation_returns("golf.toml", 100, seeds=FEW)
        self.report("Golf-v0", returns)
        self.assertGreaterEqual(lower_bound(returns), 30)

    def test_a_maze_needs_memory(self):
        remembering = self.training_returns(CONFIGS / "t_maze.toml", seeds=FEW)
        self.report("TMaze-v0", remembering)
        none = ("--recurrent", "none")
        forgetting = self.training_returns(CONFIGS / "t_maze.toml", *none, seeds=FEW)
        self.report("TMaze-v0 without memory", forgetting)
        self.assertGreaterEqual(lower_bound(remembering), 3.9)
        self.assertLessEqual(max(forgetting), 2.5)  # the best policy has a mean of 1.95

    # PQN still acts at random in 5 % of its training's steps, so its policies are evaluated.
    def test_a_maze_needs_memory_with_pqn(self):
        for cell in ("mingru", "gru", "none"):
            keys = ["--algorithm", "pqn", "--recurrent", cell]
            returns = self.evaluation_returns("t_maze.toml", 100, *keys, seeds=FEW)
            self.report(f"TMaze-v0 with PQN, {cell}", returns)
            if cell == "none":
                self.assertLessEqual(max(returns), 2.5)
            else:
                self.assertGreaterEqual(lower_bound(returns), 3.9)

    def test_hidden_velocities_need_memory(self):
        short = ["--total_timesteps", 30000]
        returns = {}
        for cell in ("gru", "lstm", "none"):
            returns[cell] = self.training_returns(
                *(CONFIGS / "cartpole_hidden.toml", *short, "--recurrent", cell),
                seeds=FEW if cell == "none" else SEEDS,
            )
            self.report(f"CartPole-v1 without velocities, {cell}", returns[cell])
        self.assertGreaterEqual(lower_bound(returns["gru"]), 100)
        self.assertGreaterEqual(lower_bound(returns["lstm"]), 90)
        self.assertLessEqual(max(returns["none"]), 65)

    # (Means: 360 with four, 49 with one.)
    def test_hidden_velocities_show_in_the_last_four_observations(self):
        longer = ["--total_timesteps", 100000, "--learning_rate", 0.003, "--norm_obs", "true"]
        returns = {}
        for k in (4, 1):
            returns[k] = self.training_returns(
                CONFIGS / "cartpole_hidden.toml",
                *(*longer, "--recurrent", "none", "--env.frame_stack", k),
                seeds=FEW if k == 1 else SEEDS,
            )
            self.report(f"CartPole-v1 without velocities, the last {k}", returns[k])
        self.assertGreaterEqual(lower_bound(returns[4]), 200)
        self.assertLessEqual(max(returns[1]), 65)

    # Each group alone leaves the right choice to chance: 8. (Means: 31.9, 7.6, 7.7.)
    def test_a_turntable_needs_the_image_and_the_vector(self):
        both = self.training_returns(CONFIGS / "turntable.toml", seeds=FEW)
        self.report("Turntable-v0", both)
        self.assertGreaterEqual(lower_bound(both), 31)
        for group in ("image", "turn"):
            keys = ["--policy_groups", group, "--total_timesteps", 30000]
            one = self.training_returns(CONFIGS / "turntable.toml", *keys, seeds=FEW)
            self.report(f"Turntable-v0, {group} alone", one)
            self.assertLessEqual(max(one), 10)

    def test_frozen_lake(self):
        returns = self.evaluation_returns("frozen_lake.toml", 2000, seeds=FEW)
        self.report("FrozenLake-v1", returns)
        self.assertGreaterEqual(lower_bound(returns), 0.70)

    # The optimum, 0.95983, is exact (TicTacToe-v0.md).
    def test_tic_tac_toe(self):
        returns = self.evaluation_returns("tic_tac_toe.toml", 2000)
        self.report("TicTacToe-v0", returns)
        self.assertGreaterEqual(lower_bound(returns), 0.9)


if __name__ == "__main__":
    unittest.main(verbosity=1)
