"""Environments that step in a device's memory. The device is emulated, so its memory is the
host's, and every run must have the bits of `device = cpu`."""

import gc
import unittest

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.vector import AutoresetMode

import broadloom
from broadloom import _core
from simulator_cases import SMALL, out, parameters

LIMIT = 12
UPDATES = {"update_epochs": 2, "num_minibatches": 4}  # emulated ones are slow
SETTINGS = {**SMALL, **UPDATES, "num_envs": 3, "total_timesteps": 3 * 32 * 3, "norm_obs": True}


class Walkers:
    """N points that walk on a line. One that passes 1.5 ends its episode, and has arrived."""

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP, "success_key": "is_success"}
    dlpack_device = (1, 0)
    max_episode_length = LIMIT
    single_observation_space = Box(-np.inf, np.inf, (2,), np.float32)
    single_action_space = Box(-1.0, 1.0, (1,), np.float32)

    def __init__(self, num_envs):
        self.num_envs, self.calls = num_envs, []
        self.places, self.ages = np.zeros((num_envs, 2), np.float32), np.zeros(num_envs, np.int64)
        self.episodes, self.seeds = (np.zeros(num_envs, np.int64) for _ in range(2))

    def begin(self, mask):
        self.episodes[mask] += 1
        self.ages[mask] = 0
        keys = zip(self.seeds[mask], self.episodes[mask], strict=True)
        starts = [np.random.default_rng(key).uniform(-0.5, 0.5, 2) for key in keys]
        self.places[mask] = np.array(starts).reshape(-1, 2)

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            self.seeds[:], self.episodes[:] = seed, 0
        self.begin(np.ones(self.num_envs, bool))
        return self.seen(), {}

    def seen(self):
        return self.places.copy()

    def move(self, actions):
        """(rewards, terminated, truncated) of a step, before ended episodes begin anew."""
        self.places[:, 1] = 0.5 * self.places[:, 1] + 0.3 * np.float32(actions[:, 0])
        self.places[:, 0] += self.places[:, 1]
        self.ages += 1
        terminated = self.places[:, 0] > 1.5
        return -abs(self.places[:, 0]), terminated, (self.ages >= LIMIT) & ~terminated

    def step(self, actions):
        self.calls.append("step")
        rewards, terminated, truncated = self.move(actions)
        last, ended = self.seen(), terminated | truncated
        self.begin(ended)
        infos = {"final_obs": last, "is_success": terminated} if ended.any() else {}
        return self.seen(), rewards, terminated, truncated, infos

    def take_to_device(self, stream):
        self.calls.append("take")

    def observe_on_device(self, rows, stream):
        np.from_dlpack(rows.observations)[:] = self.seen()

    def step_on_device(self, rows, stream):
        self.calls.append("device")
        rewards, terminated, truncated = self.move(np.from_dlpack(rows.actions))
        np.from_dlpack(rows.rewards)[:] = rewards
        for name, flags in (("terminated", terminated), ("truncated", truncated)):
            np.from_dlpack(getattr(rows, name))[:] = flags
        np.from_dlpack(rows.successes)[:] = terminated
        np.from_dlpack(rows.final_observations)[:] = self.seen()
        self.begin(terminated | truncated)
        self.observe_on_device(rows, stream)

    def bring_from_device(self, stream):
        return self.seen(), {}

    def took_block(self):
        self.calls.append("block")

    def saves_state(self):
        return True

    def state(self):
        return [self.places, self.ages, self.episodes, self.seeds]

    def state_types(self):
        return [(str(array.dtype), list(array.shape)) for array in self.state()]

    def restore(self, arrays):
        for array, held in zip(arrays, self.state(), strict=True):
            held[...] = np.frombuffer(array, held.dtype).reshape(held.shape)

    def close(self):
        pass


class Choosers(Walkers):
    """The same with choices, of which those to the right are valid on the left side alone, and
    with a critic that sees more."""

    single_observation_space = Dict(
        policy=Box(-np.inf, np.inf, (2,), np.float32), critic=Box(-np.inf, np.inf, (3,), np.float32)
    )
    single_action_space = Discrete(3)

    def valid(self):
        flags = np.ones((self.num_envs, 3), np.uint8)
        flags[:, 2] = self.places[:, 0] < 0.5
        return flags

    def critic_seen(self):
        ages = self.ages[:, None] / np.float32(LIMIT)
        return np.concatenate([self.places, ages], axis=1, dtype=np.float32)

    def seen(self):
        return {"policy": self.places.copy(), "critic": self.critic_seen()}

    def reset(self, **given):
        return super().reset(**given)[0], {"action_mask": self.valid()}

    def step(self, actions):
        *others, infos = super().step(np.asarray(actions).reshape(-1, 1) - 1.0)
        return *others, {**infos, "action_mask": self.valid()}

    def observe_on_device(self, rows, stream):
        np.from_dlpack(rows.observations)[:] = self.places
        np.from_dlpack(rows.critic_observations)[:] = self.critic_seen()
        np.from_dlpack(rows.valid_actions)[:] = self.valid()

    def step_on_device(self, rows, stream):
        rewards, terminated, truncated = self.move(np.from_dlpack(rows.actions) - 1.0)
        np.from_dlpack(rows.rewards)[:] = rewards
        for name, flags in (("terminated", terminated), ("truncated", truncated)):
            np.from_dlpack(getattr(rows, name))[:] = flags
        np.from_dlpack(rows.successes)[:] = terminated
        np.from_dlpack(rows.final_observations)[:] = self.places
        np.from_dlpack(rows.final_critic_observations)[:] = self.critic_seen()
        self.begin(terminated | truncated)
        self.observe_on_device(rows, stream)

    def bring_from_device(self, stream):
        return self.seen(), {"action_mask": self.valid()}


def train(name, kind=Walkers, made=None, **settings):
    def walkers(num_envs):
        envs = kind(num_envs)
        if made is not None:
            made.append(envs)
        return envs

    return broadloom.train(walkers, name=f"{name}-v0", out=out(name), **{**SETTINGS, **settings})


def hashes(run):
    return (run.dir / "hashes.bin").read_bytes()


class DeviceStepsTest(unittest.TestCase):
    def test_bits_are_those_of_the_cpu(self):
        for kind in (Walkers, Choosers):
            with self.subTest(kind.__name__):
                made = []
                settings = {"norm_reward": True, "eval_interval": 1, "hashes": True}
                name = kind.__name__
                on_device = train(f"{name}_device", kind, made, device="cuda", **settings)
                on_host = train(f"{name}_host", kind, **settings)
                self.assertEqual(hashes(on_device), hashes(on_host))
                self.assertEqual(on_device.mean_return, on_host.mean_return)
                self.assertTrue(any("block" in envs.calls for envs in made))
                if kind is Walkers:
                    calls = next(envs.calls for envs in made if "device" in envs.calls)
                    self.assertEqual(calls.count("device"), 3 * 32)
                    self.assertEqual(calls.count("block"), 3)
                    self.assertNotIn("step", calls)

    def test_a_run_goes_on_with_either_device(self):
        whole = train("whole")
        for first, then in (("cuda", "cpu"), ("cpu", "cuda"), ("cuda", "cuda")):
            with self.subTest(first=first, then=then):
                part = train(
                    f"{first}_{then}", device=first, on_iteration=lambda p: p["iteration"] < 2
                )
                resumed = broadloom.resume(part, device=then, quiet=True)
                self.assertEqual(parameters(resumed), parameters(whole))

    def test_errors_of_a_step_come_through(self):
        class Falls(Walkers):
            def step_on_device(self, rows, stream):
                if self.calls.count("device") == 40:
                    raise KeyError("no legs")
                super().step_on_device(rows, stream)

        with self.assertRaises(KeyError) as raised:
            train("falls", Falls, device="cuda")
        self.assertIn("step_on_device() of falls-v0", " ".join(raised.exception.__notes__))

        class Complains(Walkers):
            def took_block(self):
                super().took_block()
                if self.calls.count("block") == 2:
                    raise OverflowError("no room")

        with self.assertRaisesRegex(OverflowError, "no room"):
            train("complains", Complains, device="cuda")

    def test_a_rerun_on_the_cpu_finds_a_race(self):
        """A simulator that works on another stream may read the actions of the step before."""

        class Races(Walkers):
            def step_on_device(self, rows, stream):
                actions = np.from_dlpack(rows.actions)
                now = actions.copy()
                if self.calls.count("device") >= 37:  # from the second block's step 5 on
                    actions[2] = self.before[2]
                super().step_on_device(rows, stream)
                self.before = now

        run = train("races", Races, device="cuda", hashes=True)
        found = broadloom.rerun(run, out=out("races_again"), device="cpu")
        self.assertFalse(found["agrees"])
        parting = broadloom.command("diff", run, out("races_again"))["parting"]
        self.assertEqual((parting["iteration"], parting["environments"]), (2, [2]))
        self.assertTrue(broadloom.rerun(run, out=out("races_same"))["agrees"])

    def test_a_wrapper_is_not_bypassed(self):
        class Scaled:
            def __init__(self, envs):
                self.inner = envs

            def __getattr__(self, name):
                return getattr(self.inner, name)

            def step(self, actions):
                rows, rewards, *others = self.inner.step(actions)
                return rows, 0.1 * rewards, *others

        runs = [
            train(f"scaled_{device}", lambda num_envs: Scaled(Walkers(num_envs)), device=device)
            for device in ("cuda", "cpu")
        ]
        self.assertEqual(*(parameters(run) for run in runs))

    def test_arrays_are_gone_with_the_environments(self):
        kept = []

        class Keeps(Walkers):
            def observe_on_device(self, rows, stream):
                kept.append(rows)
                super().observe_on_device(rows, stream)

        train("keeps", Keeps, device="cuda")
        gc.collect()
        self.assertEqual(vars(kept[0]), {})

    def test_a_wrong_answer_of_bring_is_named(self):
        class Mute(Walkers):
            def bring_from_device(self, stream):
                return None

        with self.assertRaisesRegex(ValueError, r"bring_from_device\(\) of mute-v0: got one value"):
            train("mute", Mute, device="cuda")

    def test_missing_and_wrong_numbers_are_named(self):
        class Forgets(Walkers):
            def step_on_device(self, rows, stream):
                rewards = np.from_dlpack(rows.rewards)
                super().step_on_device(rows, stream)
                rewards[1] = np.nan

        class EndsTwice(Walkers):
            def step_on_device(self, rows, stream):
                super().step_on_device(rows, stream)
                np.from_dlpack(rows.terminated)[2] = np.from_dlpack(rows.truncated)[2] = 1

        for kind, words in (
            (Forgets, "reward of environment 1 is not finite at its step 0"),
            (EndsTwice, "environment 2"),
        ):
            with self.subTest(kind.__name__), self.assertRaisesRegex(broadloom.Error, words):
                train(kind.__name__, kind, device="cuda")

    def test_the_host_steps_where_arrays_differ(self):
        class Elsewhere(Walkers):
            dlpack_device = (2, 0)

        class Shifted(Walkers):
            single_action_space = Discrete(3, start=5)

            def step(self, actions):
                return super().step(actions.reshape(-1, 1) - 6.0)

        class Changed(Walkers):  # whose step() no device may leave out
            def step(self, actions):
                rows, rewards, *others = super().step(actions)
                return rows, np.maximum(rewards, -0.5), *others

        class Second(Walkers):
            dlpack_device = (1, 1)

        for kind in (Elsewhere, Shifted, Changed, Second):
            with self.subTest(kind.__name__):
                made = []
                run = train(f"{kind.__name__}_cuda", kind, made, device="cuda")
                self.assertFalse(any("device" in envs.calls for envs in made))
                self.assertEqual(parameters(run), parameters(train(f"{kind.__name__}_cpu", kind)))

    def test_wrong_declarations_are_refused(self):
        class Unready(Walkers):
            observe_on_device = None

        class Misnamed(Walkers):
            dlpack_device = "cuda:0"

        class Huge(Walkers):
            dlpack_device = (2**40, 0)

        for kind, words in (
            (Unready, r"Unready-v0 has dlpack_device, but no function observe_on_device\(\)"),
            (Misnamed, "dlpack_device of Misnamed-v0: got 'cuda:0', expected DLPack's numbers"),
            (Huge, "dlpack_device of Huge-v0: got .*, expected DLPack's numbers"),
        ):
            with self.subTest(kind.__name__), self.assertRaisesRegex(TypeError, words):
                train(kind.__name__, kind)


if __name__ == "__main__":
    if hasattr(_core, "emulate_device"):
        _core.emulate_device()
        unittest.main()
    print("SKIPPED: this build has kernels, and emulates none")
