"""Training on environments of robotics libraries: spaces, groups, time-outs, last observations."""

import importlib.util
import json
import os
import pathlib
import tempfile
import unittest
import warnings

import gymnasium
import numpy as np

import broadloom
from broadloom import _adapter, _memory, _robots, sources, spaces
from robot_fakes import (
    IsaacLab,
    LIMIT,
    ManiSkill,
    Mjlab,
    NextStep,
    NoReset,
    PlainRslRl,
    RslRl,
    SOURCES,
)
from simulator_cases import out, parameters, SMALL

EVERY = {
    "mjlab": lambda num_envs: Mjlab(num_envs),
    "mjlab_without_autoreset": lambda num_envs: Mjlab(num_envs, auto_reset=False),
    "mjlab_rsl_rl": lambda num_envs: RslRl(Mjlab(num_envs)),
    "isaaclab": lambda num_envs: IsaacLab(num_envs),
    "maniskill": lambda num_envs: ManiSkill(num_envs),
    "next_step": lambda num_envs: NextStep(num_envs),
    "no_reset": lambda num_envs: NoReset(num_envs),
}


def simulator(make, num_envs=6, seed=3):
    """A Simulator as a run gets it."""
    kind = sources.function_kind(
        "Fake-v0", make, vectorization="sync", keys=("policy", "critic"), max_episode_steps=0
    )
    kind.close_probe()
    request = _adapter.Request(num_envs)
    return kind, _adapter.Simulator(kind, request, (seed, lambda *_: [seed] * num_envs))


def contract(run):
    return json.loads((pathlib.Path(run) / "ledger_line.json").read_text())["contract"]


class RobotsTest(unittest.TestCase):
    def test_transitions_are_the_same_through_every_interface(self):
        """The same walkers with the same seed and actions: only the way of resets differs."""
        played = {}
        for name, make in EVERY.items():
            _, envs = simulator(make)
            random, steps = np.random.default_rng(1), []
            for _ in range(3 * LIMIT):
                envs.actions[...] = random.normal(size=envs.actions.shape)
                rows, rewards, terminated, truncated, last, *critic = envs.step()
                ended, truncated = terminated | truncated, truncated & ~terminated
                steps.append((rows[:, 0].copy(), rewards, terminated, truncated))
                if ended.any():
                    # The walkers' rewards are their places, also in an episode's last step.
                    self.assertEqual(last[ended, 0].tolist(), rewards[ended].astype("f4").tolist())
                    if critic[0] is not None:
                        self.assertTrue((critic[1][truncated, 1] == 1).all())
                        self.assertEqual(critic[1][ended, 0].tolist(), last[ended, 0].tolist())
            self.assertTrue(any(one[2].any() for one in steps), name)
            self.assertTrue(any(one[3].any() for one in steps), name)
            played[name] = np.concatenate([np.ravel(part) for one in steps for part in one])
            envs.close()
        first = played.pop("mjlab")
        for name, numbers in played.items():
            if name != "mjlab_rsl_rl":  # its constructor has drawn a reset more
                self.assertTrue(np.array_equal(numbers, first), name)

    def test_every_interface_trains_and_repeats(self):
        for name, make in EVERY.items():
            with self.subTest(name):
                runs = [
                    broadloom.train(make, name="Robot-v0", out=out(f"{name}{i}"), **settings)
                    for i, settings in enumerate(
                        ({**SMALL, "threads": 1}, {**SMALL, "threads": 2, "eval_interval": 4})
                    )
                ]
                self.assertEqual(*(parameters(run) for run in runs))
                found = contract(runs[0])["simulator"]
                self.assertTrue(found["has_final_observations"] and found["deterministic"], found)
                self.assertFalse(found.get("filler_rows"))

    def test_limits_that_no_run_reaches_are_none(self):
        class Endless(Mjlab):
            max_episode_length = 50_000_000_000

        for make, given in ((Endless, 0), (Mjlab, 50_000_000_000)):
            kind = sources.function_kind(
                "Fake-v0",
                make,
                vectorization="sync",
                keys=("policy", "critic"),
                max_episode_steps=given,
            )
            kind.close_probe()
            self.assertEqual(kind.spec["max_episode_steps"], 0)

    def test_infinite_bounds_leave_actions_as_they_are(self):
        run = broadloom.train(EVERY["isaaclab"], name="Free-v0", out=out("free"), **SMALL)
        policy = broadloom.Policy(run)
        self.assertTrue(np.isinf(policy.action_space.high).all())
        mean = policy.outputs(np.full((1, 2), 50, np.float32))[0]
        self.assertEqual(policy.act(np.full((1, 2), 50, np.float32)).tolist(), mean.tolist())
        self.assertTrue(broadloom.evaluate(run, episodes=3)["episodes"] == 3)
        broadloom.export(run, out("free.npz"))
        self.assertTrue(np.isinf(np.load(out("free.npz"))["action_high"]).all())

    def test_clip_actions_of_rsl_rl_bound_the_space(self):
        kind, envs = simulator(lambda num_envs: RslRl(Mjlab(num_envs), clip_actions=2.0))
        self.assertEqual((kind.spec["action"]["low"], kind.spec["action"]["high"]), ([-2.0], [2.0]))
        envs.close()

    def test_the_switches_of_a_config_are_set_back(self):
        env = Mjlab(2)
        adapted = _robots.adapted(env, 2)
        self.assertFalse(env.cfg.auto_reset)
        adapted.close()
        self.assertTrue(env.cfg.auto_reset)
        env = IsaacLab(2)
        adapted = _robots.adapted(env, 2)
        self.assertTrue(env.cfg.compute_final_obs)
        adapted.close()
        self.assertFalse(env.cfg.compute_final_obs)

    def test_without_last_observations_the_truncation_mode_must_say_so(self):
        def make(num_envs):
            return PlainRslRl(num_envs)

        with self.assertRaisesRegex(broadloom.Error, "truncation_mode.*state_value"):
            broadloom.train(make, name="Plain-v0", out=out("plain"), **SMALL)
        run = broadloom.train(
            make, name="Plain-v0", out=out("plain"), truncation_mode="state_value", **SMALL
        )
        self.assertFalse(contract(run)["simulator"]["has_final_observations"])

    def test_groups_are_read_one_after_the_other(self):
        keys = (("policy", "critic"), ("critic", "policy"))
        run = broadloom.train(
            EVERY["isaaclab"], name="Groups-v0", out=out("groups"), observation_keys=keys, **SMALL
        )
        self.assertEqual(broadloom.Policy(run).observation_space.shape, (5,))
        kind, envs = simulator(EVERY["isaaclab"])
        kind.keys, rows = keys, IsaacLab(6).reset(seed=3)[0]
        kind.spaces_of_keys(kind.observation_space)
        joined = _adapter.joined(rows, kind.groups[1])
        self.assertTrue(np.array_equal(joined, np.hstack([rows["critic"], rows["policy"]])))
        envs.close()

    def test_wrong_groups_are_refused(self):
        for keys, wrong in (("proprio", "critic"), "proprio"), (("policy", "critics"), "critics"):
            words = f"got a Dict with the keys 'critic', 'policy' .*'{wrong}'"
            with self.assertRaisesRegex(TypeError, words):
                broadloom.train(EVERY["isaaclab"], out=out("wrong"), observation_keys=keys, **SMALL)
        boxes = [gymnasium.spaces.Box(0, 1, shape) for shape in ((2,), (2, 2))]
        with self.assertRaisesRegex(TypeError, "several groups, expected a Box of one dimension"):
            spaces.joined(boxes, "observation")

    def test_environments_of_an_earlier_call_are_refused(self):
        env = Mjlab(2)
        with self.assertRaisesRegex(ValueError, "make new environments in each call"):
            broadloom.train(lambda num_envs: env, name="Old-v0", out=out("old"), **SMALL)

    def test_old_observations_of_rsl_rl_are_refused(self):
        class Old(PlainRslRl):
            def get_observations(self):
                return np.zeros((self.num_envs, 2)), {}

        with self.assertRaisesRegex(TypeError, "got a tuple, expected a dict or TensorDict"):
            broadloom.train(lambda num_envs: Old(num_envs), name="Older-v0", **SMALL)

    def test_a_simulator_that_dies_leaves_the_error_and_the_checkpoint(self):
        class Dies(Mjlab):
            def step(self, actions):
                self.steps = getattr(self, "steps", 0) + 1
                if self.steps > 150:  # more than the probe plays
                    raise RuntimeError("the GPU has fallen off the bus")
                return super().step(actions)

        with self.assertRaisesRegex(RuntimeError, "fallen off the bus"):
            broadloom.train(lambda num_envs: Dies(num_envs), name="Dies-v0", out=out("d"), **SMALL)
        self.assertTrue(list((out("d") / "checkpoints").glob("*.safetensors")))

    def test_random_states_of_environments_are_their_own(self):
        class Drawing(PlainRslRl):
            def step(self, actions):
                self.world.x += np.random.normal(0, 0.01, self.num_envs)
                return super().step(actions)

        settings = {**SMALL, "truncation_mode": "state_value", "name": "Drawing-v0"}
        np.random.seed(1)
        a = broadloom.train(lambda num_envs: Drawing(num_envs), out=out("drawing1"), **settings)
        before = np.random.get_state()[1].tolist()
        b = broadloom.train(
            lambda num_envs: Drawing(num_envs), out=out("drawing2"), eval_interval=3, **settings
        )
        self.assertEqual(parameters(a), parameters(b))
        self.assertEqual(np.random.get_state()[1].tolist(), before)


def installed(package, file):
    """The folder above the package, unpacked or installed; None if it is neither."""
    unpacked = os.environ.get("BROADLOOM_ROBOT_SOURCES")
    found = [] if unpacked is None else sorted(pathlib.Path(unpacked).glob(f"*/{file}"))
    if found:
        return pathlib.Path(str(found[0]).removesuffix(f"/{file}"))
    spec = importlib.util.find_spec(package)
    return None if spec is None else pathlib.Path(spec.origin).parents[1]


class MemoryTest(unittest.TestCase):
    def test_free_memory_is_that_of_the_tightest_limit(self):
        machine = {"proc/meminfo": "MemTotal:  9000 kB\nMemAvailable:    4000 kB\n"}
        two = {"proc/self/cgroup": "0::/jobs/mine\n"}
        inner = "sys/fs/cgroup/jobs/mine/memory"
        one = {"proc/self/cgroup": "5:cpu,memory:/far\n2:cpu:/\n0::/\n"}
        mount = "sys/fs/cgroup/cpu,memory/memory"
        above = {"sys/fs/cgroup/jobs/memory.max": "900", "sys/fs/cgroup/jobs/memory.current": "300"}
        for files, free in (
            ({}, 0),
            (machine, 4096000),
            (machine | two | {f"{inner}.max": "max", f"{inner}.current": "7"}, 4096000),
            (machine | two | {f"{inner}.max": "5000000", f"{inner}.current": "7"}, 4096000),
            (
                machine
                | two
                | {
                    f"{inner}.max": "1000",
                    f"{inner}.current": "700",
                    f"{inner}.stat": "active_file 9\ninactive_file 50\n",
                },
                350,
            ),
            (two | {f"{inner}.max": "1000", f"{inner}.current": "200"} | above, 600),
            (two | {f"{inner}.max": "1000", f"{inner}.current": "1200"}, 1),
            (
                one
                | {
                    f"{mount}.limit_in_bytes": "1000",
                    f"{mount}.usage_in_bytes": "400",
                    f"{mount}.stat": "inactive_file 7\ntotal_inactive_file 100\n",
                },
                700,
            ),
        ):
            with self.subTest(files), tempfile.TemporaryDirectory() as root:
                for name, text in files.items():
                    path = pathlib.Path(root, name)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(text)
                self.assertEqual(_memory.free_memory(root), free)


class SourcesTest(unittest.TestCase):
    def test_fakes_follow_the_sources(self):
        looked = []
        for package, (version, files) in SOURCES.items():
            folder = installed(package, next(iter(files)))
            if folder is None:
                continue
            looked.append(f"{package} {version}")
            for file, lines in files.items():
                text = (folder / file).read_text()
                for line in lines:
                    with self.subTest(package=package, file=file, line=line):
                        self.assertIn(line, text)
        if not looked:
            self.skipTest(f"none of {', '.join(SOURCES)} is installed")
        print("fakes compared with", ", ".join(looked))


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        unittest.main()
