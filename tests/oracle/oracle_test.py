"""Broadloom's environments against real Gymnasium: the state is set on both sides, one step is
taken, and next state, reward, end and observation are compared; tabular environments by their whole
tables.

usage: oracle_test.py ENV_ORACLE
"""

import subprocess
import sys
import unittest

import gymnasium
import numpy as np

ORACLE = sys.argv.pop(1)
TRANSITIONS = 2500


def ask(lines):
    result = subprocess.run(
        [ORACLE], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True
    )
    return result.stdout.splitlines()


class Stepwise(unittest.TestCase):
    """tolerance: absolute, of states, rewards and float32 observations."""

    def compare(self, env_id, draw_state, draw_action, tolerance, state_type=np.float64):
        rng = np.random.default_rng(11)
        env = gymnasium.make(env_id).unwrapped
        env.reset(seed=0)
        cases, lines = [], []
        for _ in range(TRANSITIONS):
            state, action = draw_state(rng), draw_action(rng)
            env.state = np.array(state, dtype=state_type)
            if hasattr(env, "steps_beyond_terminated"):
                env.steps_beyond_terminated = None
            observation, reward, terminated, truncated, _ = env.step(action)
            self.assertFalse(truncated)
            cases.append(
                (np.asarray(env.state, dtype=float), float(reward), bool(terminated), observation)
            )
            number = float(np.asarray(action).reshape(-1)[0])
            lines.append(
                f"step {env_id} {number:.9g} "
                + " ".join(f"{x:.17g}" for x in np.asarray(state, dtype=state_type))
            )
        worst, ends = 0.0, 0
        for case, answer in zip(cases, ask(lines), strict=True):
            numbers, seen = answer.split("|")
            reward, terminated, *state = map(float, numbers.split())
            self.assertEqual(bool(terminated), case[2], answer)
            ends += case[2]
            worst = max(worst, np.abs(np.array(state) - case[0]).max(), abs(reward - case[1]))
            np.testing.assert_allclose(
                list(map(float, seen.split())), case[3], rtol=0, atol=max(tolerance, 2e-6)
            )
        print(f"{env_id}: {TRANSITIONS} transitions, {ends} ends, largest difference {worst:.3g}")
        self.assertLessEqual(worst, tolerance)

    def test_cart_pole(self):
        self.compare(
            "CartPole-v1",
            lambda r: r.uniform([-2.5, -3, -0.22, -3], [2.5, 3, 0.22, 3]),
            lambda r: int(r.integers(2)),
            1e-12,
        )

    def test_acrobot(self):
        self.compare(
            "Acrobot-v1",
            lambda r: r.uniform([-3.14, -3.14, -12, -28], [3.14, 3.14, 12, 28]),
            lambda r: int(r.integers(3)),
            1e-9,
        )

    def test_mountain_car(self):
        self.compare(
            "MountainCar-v0",
            lambda r: r.uniform([-1.2, -0.07], [0.6, 0.07]),
            lambda r: int(r.integers(3)),
            1e-14,
        )

    # Upstream computes in float32 with today's numpy; the last bit of a float32 near 1 is 1.2e-7.
    def test_mountain_car_continuous(self):
        self.compare(
            "MountainCarContinuous-v0",
            lambda r: r.uniform([-1.2, -0.07], [0.45, 0.07]),
            lambda r: r.uniform(-2, 2, 1).astype(np.float32),
            3e-7,
            np.float32,
        )

    def test_pendulum(self):
        self.compare(
            "Pendulum-v1",
            lambda r: r.uniform([-20, -8], [20, 8]),
            lambda r: r.uniform(-3, 3, 1).astype(np.float32),
            1e-6,
        )


class Tables(unittest.TestCase):
    def compare(self, our_id, options, upstream):
        table, start = {}, {}
        for line in ask([f"table {our_id} " + " ".join(f"{k}={v}" for k, v in options.items())])[
            :-1
        ]:
            words = line.split()
            if words[0] == "start":
                start[int(words[1])] = float(words[2])
                continue
            s, a, p, nxt, reward, terminated = map(float, words)
            key = (int(s), int(a), int(nxt), reward, bool(terminated))
            table[key] = table.get(key, 0.0) + p
        expected = {}
        env = upstream.unwrapped
        for s, actions in env.P.items():
            for a, outcomes in actions.items():
                for p, nxt, reward, terminated in outcomes:
                    key = (s, a, int(nxt), float(reward), bool(terminated))
                    expected[key] = expected.get(key, 0.0) + p
        expected = {k: p for k, p in expected.items() if p > 0}
        self.assertEqual(set(table), set(expected))
        worst = max(abs(table[k] - expected[k]) for k in expected)
        self.assertLessEqual(worst, 1e-12)
        for s, p in enumerate(env.initial_state_distrib):
            self.assertAlmostEqual(start[s], float(p), 12)
        print(f"{our_id} {options}: {len(expected)} outcomes, largest difference {worst:.3g}")

    def test_frozen_lake(self):
        for name in ("4x4", "8x8"):
            for slippery in (True, False):
                self.compare(
                    "FrozenLake-v1",
                    {"map_name": name, "is_slippery": str(slippery).lower()},
                    gymnasium.make("FrozenLake-v1", map_name=name, is_slippery=slippery),
                )
        rows = ["SFFHF", "FHFFF", "SFFFG"]
        self.compare(
            "FrozenLake-v1", {"desc": "/".join(rows)}, gymnasium.make("FrozenLake-v1", desc=rows)
        )

    def test_cliff_walking(self):
        for slippery in (False, True):
            self.compare(
                "CliffWalking-v1",
                {"is_slippery": str(slippery).lower()},
                gymnasium.make("CliffWalking-v1", is_slippery=slippery),
            )

    def test_taxi(self):
        name = "Taxi-v3" if "Taxi-v3" in gymnasium.registry else "Taxi-v4"
        self.compare("Taxi-v3", {}, gymnasium.make(name))


class Limits(unittest.TestCase):
    def test_time_limits_and_thresholds_are_upstreams(self):
        for env_id, limit, threshold in (
            ("CartPole-v1", 500, 475),
            ("Acrobot-v1", 500, -100),
            ("MountainCar-v0", 200, -110),
            ("MountainCarContinuous-v0", 999, 90),
            ("Pendulum-v1", 200, None),
            ("FrozenLake-v1", 100, 0.70),
            ("FrozenLake8x8-v1", 200, 0.85),
            ("CliffWalking-v1", None, None),
        ):
            spec = gymnasium.spec(env_id)
            self.assertEqual(
                (spec.max_episode_steps, spec.reward_threshold), (limit, threshold), env_id
            )


if __name__ == "__main__":
    unittest.main(verbosity=1)
