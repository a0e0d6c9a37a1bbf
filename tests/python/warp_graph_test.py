"""Worlds whose step is one graph of Warp, on Warp's CPU device. The trainer's device is emulated,
so its memory is the host's, and every run must have the bits of `device = cpu`."""

import threading
import unittest
import unittest.mock

import numpy as np
import warp as wp

import broadloom
from broadloom import _core
from broadloom.warp import STATE, WarpEnvs
from broadloom.warp_graph import GraphEnvs
from simulator_cases import out, parameters
from warp_test import LIMIT, MODEL, actions_of, played
from warp_test import SETTINGS as USUAL
from warp_test import made as made_of_arrays

SETTINGS = {**USUAL, "update_epochs": 2, "num_minibatches": 4}  # emulated updates are slow


@wp.kernel
def show(
    qpos: wp.array2d(dtype=float), qvel: wp.array2d(dtype=float), rows: wp.array2d(dtype=float)
):
    i = wp.tid()
    for j in range(3):
        rows[i, j] = qpos[i, j]
        rows[i, 3 + j] = qvel[i, j]


@wp.kernel
def pay(
    qpos: wp.array2d(dtype=float),
    actions: wp.array2d(dtype=float),
    rewards: wp.array(dtype=float),
):
    i = wp.tid()
    rewards[i] = -wp.abs(qpos[i, 2]) - 0.01 * wp.abs(actions[i, 0])


@wp.kernel
def end(qpos: wp.array2d(dtype=float), flags: wp.array(dtype=wp.uint8)):
    i = wp.tid()
    if wp.abs(qpos[i, 1]) > 0.045:
        flags[i] = wp.uint8(1)


@wp.kernel
def show_heights(
    xpos: wp.array2d(dtype=wp.vec3), qpos: wp.array2d(dtype=float), rows: wp.array2d(dtype=float)
):
    i = wp.tid()
    rows[i, 0] = xpos[i, 1][2]
    rows[i, 1] = qpos[i, 0] + 0.3


@wp.kernel
def show_speed(
    last: wp.array2d(dtype=float), qpos: wp.array2d(dtype=float), rewards: wp.array(dtype=float)
):
    i = wp.tid()
    rewards[i] = qpos[i, 0] - last[i, 0]


@wp.kernel
def draw(
    seeds: wp.array(dtype=wp.uint64),
    bits: wp.array(dtype=wp.uint32),
    numbers: wp.array2d(dtype=float),
):
    i = wp.tid()
    bits[i] = broadloom.warp_kernels.random_bits(seeds[i], wp.int64(0), 0)
    for j in range(4):
        numbers[i, j] = broadloom.warp_kernels.uniform(seeds[i], wp.int64(1), j, -1.0, 3.0)
        numbers[i, 4 + j] = broadloom.warp_kernels.normal(seeds[i], wp.int64(1), j, 2.0)


def made(num_envs, model=MODEL, **others):
    settings = {
        "observation_size": 6,
        "observe": lambda data, rows: wp.launch(show, num_envs, [data.qpos, data.qvel], [rows]),
        "reward": lambda data, last, actions, rewards: wp.launch(
            pay, num_envs, [data.qpos, actions], [rewards]
        ),
        "done": lambda data, flags: wp.launch(end, num_envs, [data.qpos], [flags]),
        "reset_noise": 0.05,
        "frame_skip": 2,
        "max_episode_steps": LIMIT,
        "device": "cpu",
    }
    return GraphEnvs(model, num_envs, **{**settings, **others})


def train(name, make=made, **settings):
    return broadloom.train(make, name=f"{name}-v0", out=out(name), **{**SETTINGS, **settings})


def counted_steps():
    """Within the block, a mock that counts the steps on a device."""
    return unittest.mock.patch.object(
        GraphEnvs, "step_on_device", autospec=True, side_effect=GraphEnvs.step_on_device
    )


def state_of(envs):
    return {
        name: np.array(getattr(envs.data, name).numpy())
        for name in STATE
        if getattr(envs.data, name, None) is not None and getattr(envs.data, name).size
    }


class GraphTest(unittest.TestCase):
    def test_steps_are_those_of_functions_of_arrays(self):
        """From the same state, with contacts, until an episode ends."""
        graph, plain = made(2, reset_noise=0.02), made_of_arrays(2)
        self.assertIsInstance(plain, WarpEnvs)
        graph.reset(seed=[5, 6])
        plain.reset(seed=[1, 2])
        for name, array in state_of(graph).items():
            getattr(plain.data, name).assign(array)
        random, steps = np.random.default_rng(1), 0
        for steps in range(LIMIT):  # noqa: B007
            actions = actions_of(random, 2)
            ours, theirs = graph.step(actions), plain.step(actions)
            ended = ours[2] | ours[3]
            np.testing.assert_array_equal(ended, theirs[2] | theirs[3])
            shown = [step[4]["final_obs"] if ended.any() else step[0] for step in (ours, theirs)]
            np.testing.assert_array_equal(*shown)
            np.testing.assert_allclose(ours[1], theirs[1], atol=1e-6)
            if ended.any():
                break
        self.assertGreater(steps, 5)
        self.assertGreater(abs(ours[0] - shown[0]).max(), 0.0)  # the next episode has begun

    def test_worlds_do_not_depend_on_one_another(self):
        together = played(made(3), [7, 8, 9], 60, slice(1, 2))
        self.assertEqual(played(made(1), [8], 60), together)
        self.assertNotEqual(played(made(1), [9], 60), together)

    def test_a_device_has_the_bits_of_the_cpu(self):
        whole = train("whole", hashes=True)
        self.assertGreater(whole.episodes, 8)
        with counted_steps() as steps:
            on_device = train("device", device="cuda", hashes=True)
        self.assertEqual(steps.call_count, whole.global_step // 3)
        files = [(run.dir / "hashes.bin").read_bytes() for run in (whole, on_device)]
        self.assertEqual(*files)
        for first, then in (("cuda", "cpu"), ("cpu", "cuda")):
            part = train(first, device=first, on_iteration=lambda p: p["iteration"] < 2)
            resumed = broadloom.resume(part, device=then, quiet=True)
            self.assertEqual(parameters(resumed), parameters(whole))
        self.assertTrue(broadloom.rerun(on_device, out=out("again"))["agrees"])

    def test_an_id_steps_on_a_device(self):
        settings = {**SETTINGS, "total_timesteps": 2 * 32 * 3, "eval_interval": 1}
        with counted_steps() as steps:
            runs = [
                broadloom.train(
                    "warp/InvertedPendulum-v5", device=device, out=out(f"pole_{device}"), **settings
                )
                for device in ("cpu", "cuda")
            ]
        self.assertEqual(*(parameters(run) for run in runs))
        self.assertEqual(steps.call_count, 2 * 32)

    def test_numbers_that_follow_belong_to_the_state_shown(self):
        envs = made(
            2,
            observation_size=2,
            observe=lambda data, rows: wp.launch(show_heights, 2, [data.xpos, data.qpos], [rows]),
            max_episode_steps=3,
        )
        rows = [envs.reset(seed=1)[0]]
        for _ in range(4):
            rows.append(envs.step(np.ones((2, 1)))[0])
        np.testing.assert_allclose(np.array(rows)[..., 0], np.array(rows)[..., 1], atol=1e-6)

    def test_resumes_know_numbers_that_follow(self):
        def heights(num_envs):
            def observe(data, rows):
                wp.launch(show_heights, num_envs, [data.xpos, data.qpos], [rows])

            return made(num_envs, observation_size=2, observe=observe)

        whole = train("heights", heights)
        for then in ("cpu", "cuda"):
            name = f"heights_{then}"
            part = train(name, heights, device="cuda", on_iteration=lambda p: p["iteration"] < 2)
            resumed = broadloom.resume(part, device=then, quiet=True)
            self.assertEqual(parameters(resumed), parameters(whole))

    def test_two_threads_have_the_bits_of_one(self):
        alone = [played(made(2), [seed, seed + 1], 30) for seed in (1, 3)]
        found = [None, None]

        def play(i):
            found[i] = played(made(2), [2 * i + 1, 2 * i + 2], 30)

        threads = [threading.Thread(target=play, args=(i,)) for i in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, alone)

    def test_functions_that_work_on_the_host_are_refused(self):
        def observe(data, rows):
            qpos, qvel = data.qpos.numpy(), data.qvel.numpy()
            rows.assign(np.concatenate([qpos, qvel], axis=1))

        words = "observations of the recorded step differ .* must launch kernels"
        with self.assertRaisesRegex(ValueError, words):
            made(2, observe=observe).reset(seed=1)

    def test_functions_that_write_too_little_or_too_much_are_refused(self):
        for width, words in (
            (4, r"observe\(\): wrote beyond rows of observation_size = 4"),
            (9, r"observe\(\): left out number 6 of world 0, .* observation_size = 9"),
        ):
            with self.subTest(width), self.assertRaisesRegex(ValueError, words):
                made(2, observation_size=width).reset(seed=1)

    def test_an_exception_names_its_function(self):
        def reward(*_):
            raise LookupError("no money")

        with self.assertRaises(LookupError) as raised:
            made(2, reward=reward).reset(seed=1)
        self.assertIn("In reward(), a function of GraphEnvs.", raised.exception.__notes__)

    def test_last_belongs_to_the_episode(self):
        """The sum of its rewards is an episode's whole way."""
        envs = made(
            2,
            reward=lambda data, last, actions, rewards: wp.launch(
                show_speed, 2, [last.qpos, data.qpos], [rewards]
            ),
            done=None,
            max_episode_steps=5,
        )
        begun, total = envs.reset(seed=1)[0], 0.0
        for _ in range(10):
            rows, rewards, _, truncated, infos = envs.step(np.zeros((2, 1)))
            total = total + rewards
            if truncated.all():
                np.testing.assert_allclose(total, (infos["final_obs"] - begun)[:, 0], atol=1e-5)
                begun, total = rows, 0.0

    def test_a_reset_without_a_seed_goes_on(self):
        envs = made(2)
        parts = [envs.reset(seed=seed)[0] for seed in (None, 3, None, 3, None)]
        np.testing.assert_array_equal(parts[1], parts[3])
        np.testing.assert_array_equal(parts[2], parts[4])
        self.assertFalse((parts[1] == parts[2]).any())

    def test_draws_are_spread_and_repeat(self):
        """The first bits are the known ones of Philox4x32-10 for counter and key 0."""
        seeds = wp.array(np.arange(1000, dtype=np.uint64), device="cpu")
        bits = wp.zeros(1000, dtype=wp.uint32, device="cpu")
        numbers = wp.zeros((1000, 8), dtype=float, device="cpu")
        wp.launch(draw, 1000, [seeds], [bits, numbers], device="cpu")
        self.assertEqual(bits.numpy()[0], 0x6627E8D5)
        drawn = numbers.numpy()
        self.assertAlmostEqual(drawn[:, :4].mean(), 1.0, delta=0.08)
        self.assertGreaterEqual(drawn[:, :4].min(), -1.0)
        self.assertLess(drawn[:, :4].max(), 3.0)
        self.assertAlmostEqual(drawn[:, 4:].std(), 2.0, delta=0.1)
        self.assertEqual(len(np.unique(drawn)), 8000)

    def test_lost_contacts_are_refused(self):
        box = MODEL.replace('type="sphere" size="0.1"', 'type="box" size="0.1 0.1 0.1"')
        envs = made(2, box, done=None, nconmax=1)
        envs.reset(seed=1)
        words = r"environment 0: .* no room .* nconmax: got 1, .*nconmax=4"
        with self.assertRaisesRegex(RuntimeError, words):
            for _ in range(LIMIT):
                envs.step(np.zeros((2, 1), np.float32))
        with self.assertRaisesRegex(RuntimeError, words):
            train("lost", lambda num_envs: made(num_envs, box, done=None, nconmax=1),
                  device="cuda")  # fmt: skip

    def test_wrong_arguments_are_refused(self):
        for error, words, arguments in (
            (ValueError, "observation_size: got 0, expected an integer", {"observation_size": 0}),
            (TypeError, "reset: got 1, expected a function", {"reset": 1}),
            (TypeError, "observe: got None, expected a function", {"observe": None}),
            (ValueError, "reset_noise: got -1, expected", {"reset_noise": -1}),
        ):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                made(2, **arguments)
        with self.assertRaisesRegex(RuntimeError, r"step\(\): got no reset\(\) before"):
            made(3).step(np.zeros((3, 1)))
        envs = made(2)
        envs.reset(seed=1)
        for actions, words in ((np.zeros(2), "shape"), (np.full((2, 1), np.nan), "finite")):
            with self.assertRaisesRegex(ValueError, f"actions: .*{words}"):
                envs.step(actions)

    def test_a_reward_that_is_not_written_is_named(self):
        def silent(num_envs):
            return made(num_envs, reward=lambda *_: None)

        for device in ("cpu", "cuda"):
            with self.assertRaisesRegex(broadloom.Error, "reward of environment 0 is not finite"):
                train(f"silent_{device}", silent, device=device)


if __name__ == "__main__":
    broadloom.warp.load()
    if hasattr(_core, "emulate_device"):
        _core.emulate_device()
        unittest.main()
    print("SKIPPED: this build has kernels, and emulates none")
