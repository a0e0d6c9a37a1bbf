"""MuJoCo Warp's worlds as environments, on Warp's CPU device. The first run compiles kernels for
some 40 seconds; Warp keeps them."""

import importlib.util
import json
import subprocess
import sys
import unittest
import unittest.mock

import mujoco
import numpy as np

import broadloom
from broadloom._warp_tasks import task, TASKS
from broadloom.warp import Draws, WarpEnvs
from simulator_cases import out, parameters, SMALL

# A ball on a slide hits the floor, beside a pole with a motor.
MODEL = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 1"/>
    <body name="ball" pos="0 0 0.3">
      <joint type="slide" axis="0 0 1"/>
      <joint type="slide" axis="1 0 0"/>
      <geom type="sphere" size="0.1"/>
    </body>
    <body name="pole" pos="0 1 1">
      <joint name="pole" type="hinge" axis="0 1 0"/>
      <geom type="capsule" size="0.05" fromto="0 0 0 0 0 -0.5" contype="0" conaffinity="0"/>
    </body>
  </worldbody>
  <actuator><motor joint="pole" ctrlrange="-1 1"/></actuator>
</mujoco>
"""
LIMIT = 24
SETTINGS = {**SMALL, "norm_obs": True, "num_envs": 3, "total_timesteps": 4 * 32 * 3}


def observe(worlds):
    return np.concatenate([worlds.qpos, worlds.qvel], axis=1)


def reward(worlds, actions):
    return -abs(worlds.qpos[:, 2]) - 0.01 * abs(actions[:, 0])


def has_slid(worlds):
    return abs(worlds.qpos[:, 1]) > 0.045


def made(num_envs, model=MODEL, **others):
    settings = {
        "observe": observe,
        "reward": reward,
        "done": has_slid,
        "reset_noise": 0.05,
        "frame_skip": 2,
        "max_episode_steps": LIMIT,
        "device": "cpu",
    }
    return WarpEnvs(model, num_envs, **{**settings, **others})


def train(name, make=made, **settings):
    return broadloom.train(make, name=f"{name}-v0", out=out(name), **{**SETTINGS, **settings})


def manifest(run):
    return json.loads((run.dir / "manifest.json").read_text())


def actions_of(random, count):
    return random.uniform(-1, 1, (count, 1)).astype(np.float32)


def played(envs, seeds, steps, rows=slice(None)):
    """The bytes of observations, rewards and ends of some worlds."""
    random = np.random.default_rng(1)
    parts = [envs.reset(seed=seeds)[0][rows].tobytes()]
    for _ in range(steps):
        actions = np.repeat(actions_of(random, 1), envs.num_envs, axis=0)
        parts += [part[rows].tobytes() for part in envs.step(actions)[:4]]
    return parts


class WarpTest(unittest.TestCase):
    def test_steps_are_those_of_mujoco(self):
        """Steps with contacts, each from the same state, differ by less than 1e-4."""
        envs, model = made(2, done=None), mujoco.MjModel.from_xml_string(MODEL)
        data, random, contacts = mujoco.MjData(model), np.random.default_rng(1), 0
        envs.reset(seed=[5, 6])
        for _ in range(LIMIT):
            before = [envs.read(name) for name in ("qpos", "qvel", "qacc_warmstart")]
            actions = actions_of(random, 2)
            rows, _, _, truncated, infos = envs.step(actions)
            rows = infos["final_obs"] if truncated.any() else rows
            for i in range(2):
                data.qpos[:], data.qvel[:], data.qacc_warmstart[:] = (part[i] for part in before)
                data.ctrl[:] = actions[i]
                mujoco.mj_step(model, data, 2)
                contacts += data.ncon
                own = np.concatenate([data.qpos, data.qvel])
                np.testing.assert_allclose(rows[i], own, atol=1e-4)
        self.assertGreater(contacts, 5)

    def test_worlds_do_not_depend_on_one_another(self):
        together = played(made(3), [7, 8, 9], 60, slice(1, 2))
        self.assertEqual(played(made(1), [8], 60), together)

    def test_reading_changes_no_bit(self):
        def reads(worlds):
            assert worlds.xpos.shape == (2, 3, 3)
            worlds.qvel[:] = 9.0  # a copy
            return observe(worlds)

        self.assertEqual(played(made(2, observe=reads), [1, 2], 40), played(made(2), [1, 2], 40))

    def test_numbers_that_follow_belong_to_the_state_shown(self):
        def height(worlds):
            return np.stack([worlds.xpos[:, 1, 2], worlds.qpos[:, 0] + 0.3], axis=1)

        envs = made(2, observe=height, max_episode_steps=3)
        rows = [envs.reset(seed=1)[0]]
        for _ in range(4):
            rows.append(envs.step(np.ones((2, 1)))[0])
        np.testing.assert_allclose(np.array(rows)[..., 0], np.array(rows)[..., 1], atol=1e-6)

    def test_episodes_end_and_begin_within_a_step(self):
        envs = made(2, done=lambda worlds: worlds.model.nq * worlds.qpos[:, 2] > 1e9)
        first = envs.reset(seed=[3, 4])[0]
        for _ in range(LIMIT):
            rows, _, terminated, truncated, infos = envs.step(np.zeros((2, 1), np.float32))
        self.assertFalse(terminated.any())
        self.assertTrue(truncated.all())
        self.assertLess(infos["final_obs"][:, 0].max(), -0.1)  # the balls have fallen
        self.assertLess(abs(rows).max(), 0.05)
        self.assertFalse((rows == first).any())  # other numbers in each episode

    def test_draws_are_spread_and_repeat(self):
        seeds = np.arange(1000, dtype=np.uint64)
        draws = Draws(seeds, np.ones(1000))
        numbers, normal = draws.uniform(-1.0, 3.0, 4), draws.normal(2.0, 4)
        self.assertAlmostEqual(numbers.mean(), 1.0, delta=0.08)
        self.assertAlmostEqual(normal.std(), 2.0, delta=0.1)
        self.assertEqual(len(np.unique(numbers)), 4000)
        again = Draws(seeds[5:6], np.ones(1)).uniform(-1.0, 3.0, 4)
        np.testing.assert_array_equal(again[0], numbers[5])

    def test_a_resumed_run_has_the_bits_of_one_that_went_on(self):
        whole = train("whole")
        self.assertGreater(whole.episodes, 8)
        part = train("part", on_iteration=lambda p: p["iteration"] < 2)
        resumed = broadloom.resume(part, quiet=True)
        self.assertTrue(resumed.finished)
        self.assertEqual(parameters(resumed), parameters(whole))
        self.assertNotEqual(parameters(train("other_seed", seed=2)), parameters(whole))

    def test_a_rerun_proves_the_bits(self):
        run = train("proved", hashes=True)
        engine = manifest(run)["engine"]
        self.assertRegex(
            engine,
            r"^MuJoCo Warp \d.*, MuJoCo \d.*, Warp \d.* on cpu, deterministic, a text [0-9a-f]+$",
        )
        self.assertTrue(manifest(run)["simulator"]["saves_state"])
        self.assertTrue(broadloom.rerun(run, out=out("again"))["agrees"])
        with self.assertRaisesRegex(broadloom.Error, "starts: got stationary.*synchronised"):
            broadloom.gradients(run, out=out("gradients"), shapes="4x16")

    def test_flags_that_are_off_are_told(self):
        envs = made(2, deterministic=False, njmax=40)
        self.assertIn("on cpu, not deterministic, njmax 40, ", envs.metadata["engine"])
        self.assertEqual(int(envs.put.opt.deterministic), 0)
        self.assertEqual(int(made(2).put.opt.deterministic), 7)

        def on_a_gpu(num_envs):
            envs = made(num_envs, deterministic=False)
            envs.metadata["deterministic"] = False
            return envs

        self.assertEqual(manifest(train("varies", on_a_gpu))["bits"], "none")

    def test_records_name_the_model_that_trains(self):
        """The file changes between two trainings with the same function."""
        file = out("robot.xml")

        def robot(num_envs):
            return made(num_envs, file)

        file.write_text(MODEL)
        first = train("edited", robot, on_iteration=lambda p: p["iteration"] < 2)
        file.write_text(MODEL.replace("0.01", "0.005"))
        engine = made(2, file).metadata["engine"]
        began = manifest(first)["engine"]
        self.assertNotEqual(began, engine)
        second = broadloom.train(robot, name="edited-v0", out=out("edited_2"), **SETTINGS)
        self.assertEqual(manifest(second)["engine"], engine)
        resumed = manifest(broadloom.resume(first, quiet=True))
        self.assertEqual(resumed["engine"], began)
        self.assertEqual([change["engine"] for change in resumed["engine_changes"]], [engine])

    def test_functions_with_numbers_of_their_own_are_found(self):
        def noisy(num_envs):
            return made(num_envs, reward=lambda worlds, _: np.random.normal(size=num_envs))

        def counting(num_envs):
            counts = iter(range(10**9))
            return made(num_envs, reward=lambda worlds, _: np.full(num_envs, next(counts)))

        self.assertEqual(manifest(train("noisy", noisy))["bits"], "none")
        simulator = manifest(train("counting", counting))["simulator"]
        self.assertTrue(simulator["deterministic"])
        self.assertFalse(simulator["saves_state"])

    def test_a_reset_without_a_seed_goes_on(self):
        envs = made(2)
        parts = [envs.reset(seed=seed)[0] for seed in (None, 3, None, 3, None)]
        np.testing.assert_array_equal(parts[1], parts[3])
        np.testing.assert_array_equal(parts[2], parts[4])
        self.assertFalse((parts[1] == parts[2]).any())
        self.assertFalse((made(2).reset()[0] == parts[0]).any())

    def test_last_belongs_to_the_episode(self):
        def speeds(worlds):
            return (worlds.qpos - worlds.last.qpos) / worlds.dt

        envs = made(2, observe=speeds, max_episode_steps=3, done=None)
        rows = [envs.reset(seed=1)[0], *(envs.step(np.zeros((2, 1)))[0] for _ in range(6))]
        begins = [not row.any() for row in rows]
        self.assertEqual(begins, [True, False, False, True, False, False, True])

    def test_a_world_whose_numbers_are_none_is_named(self):
        def strong(control):
            def controls(worlds, actions):
                later = worlds.time[:, None] > 0.09  # in step 5, counted from 0
                return np.where(later & [[False], [True], [False]], control, actions)

            model = MODEL.replace('ctrlrange="-1 1"', "")
            return lambda num_envs: made(num_envs, model, control=controls, done=None)

        with self.assertRaisesRegex(broadloom.Error, "environment 1 is not finite at its step 5"):
            train("broken", strong(1e38))
        with self.assertRaisesRegex(ValueError, r"control\(\): row 1 got \[nan\], expected finite"):
            train("no_number", strong(np.nan))

    def test_a_reward_that_is_no_number_is_named(self):
        def fails(worlds, _):
            return np.where(worlds.time[:, None] > [0.09], np.nan, 0.0)[:, 0]

        words = "reward of environment 0 is not finite at its step 4"
        with self.assertRaisesRegex(broadloom.Error, words):
            train("no_reward", lambda num_envs: made(num_envs, reward=fails))

    def test_more_worlds_than_memory_holds_are_refused(self):
        words = (
            r"num_envs: got 1000000, but worlds of \d+ KB .*a smaller nconmax or njmax.* take "
            r"at least \d+ MB, and there are 1000 MB; expected at most \d+"
        )
        with (
            unittest.mock.patch.object(broadloom.warp, "free_memory", lambda: 10**9),
            self.assertRaisesRegex(MemoryError, words),
        ):
            train("many", num_envs=10**6)

    def test_lost_contacts_are_refused(self):
        for argument, words in (
            ("nconmax", r"environment 0: .* no room .* nconmax: got 1, .*nconmax=4"),
            ("njmax", r"environment \d: .* no room .*NEFC.* njmax: got 1, .*njmax=4"),
        ):
            box = MODEL.replace('type="sphere" size="0.1"', 'type="box" size="0.1 0.1 0.1"')
            envs = made(2, box, done=None, **{argument: 1})
            envs.reset(seed=1)
            with self.subTest(argument), self.assertRaisesRegex(RuntimeError, words):
                for _ in range(LIMIT):
                    envs.step(np.zeros((2, 1), np.float32))

    def test_wrong_models_are_refused(self):
        still = "<mujoco><worldbody><geom type='sphere' size='1'/></worldbody></mujoco>"
        sleeps = MODEL.replace("<worldbody>", "<option><flag sleep='enable'/></option><worldbody>")
        pgs = MODEL.replace("<option ", "<option solver='PGS' ")
        for error, model, words in (
            (FileNotFoundError, "none.xml", "got 'none.xml', which is no file; expected MJCF"),
            (
                ValueError,
                "<mujoco><worldbody><geom type='cube'/></worldbody></mujoco>",
                "MuJoCo cannot use a text: XML Error",
            ),
            (ValueError, __file__, "MuJoCo cannot use warp_test.py: XML"),
            (ValueError, still, "a model without actuators"),
            (ValueError, sleeps, "sleep='enable', expected none"),
            (NotImplementedError, pgs, "MuJoCo Warp cannot use a text: .*PGS"),
        ):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                made(2, model)

    def test_wrong_arguments_are_refused(self):
        for words, arguments in (
            (r"device: got 'cuda:7', expected one of Warp's devices.*: cpu", {"device": "cuda:7"}),
            (r"frame_skip: got 0, expected an integer of at least 1", {"frame_skip": 0}),
            (r"frame_skip: got 2.0, expected an integer", {"frame_skip": 2.0}),
            (r"max_episode_steps: got None, expected an integer", {"max_episode_steps": None}),
            (r"max_episode_steps: got 1.5, expected an integer", {"max_episode_steps": 1.5}),
            (r"nconmax: got 0, expected an integer", {"nconmax": 0}),
            (r"reset_noise: got -1, expected a finite number of 0 or more", {"reset_noise": -1}),
            (r"observe\(\): got no numbers, shape \(2, 0\)",
             {"observe": lambda worlds: worlds.qpos[:, :0]}),
            (r"observe\(\): got an array of shape \(2,\), expected \(2, K\)",
             {"observe": lambda worlds: worlds.time}),
            (r"reward\(\): got an array of shape \(2, 3\), expected \(2,\)",
             {"reward": lambda worlds, actions: worlds.qpos}),
            (r"done\(\): got an array of shape \(\), expected \(2,\)",
             {"done": lambda worlds: False}),
            (r"control\(\): got an array of shape \(2, 2\), expected \(2, 1\)",
             {"control": lambda worlds, actions: np.ones((2, 2))}),
            (r"qvel of reset\(\): got an array of shape \(2, 1\), expected \(2, 3\)",
             {"reset": lambda draws, qpos, qvel: (qpos, qvel[:, :1])}),
        ):  # fmt: skip
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                envs = made(2, **arguments)
                envs.reset(seed=1)
                envs.step(np.zeros((2, 1), np.float32))
        with self.assertRaisesRegex(ValueError, "num_envs: got 2.0, expected an integer"):
            made(2.0)
        for words, arguments in (
            ("model: got None, expected a file of MJCF", {"model": None}),
            ("observe: got None, expected a function", {"observe": None}),
            (r"reset\(\): got a NoneType, expected a pair", {"reset": lambda *_: None}),
        ):
            with self.subTest(words), self.assertRaisesRegex(TypeError, words):
                made(2, **arguments).reset(seed=1)
        envs = made(np.int64(3))
        with self.assertRaisesRegex(RuntimeError, r"step\(\): got no reset\(\) before"):
            envs.step(np.zeros((3, 1)))
        for seed in ([5, 6], [1, 2, -3], 1.5):
            with self.assertRaisesRegex(ValueError, "seed: got .*, expected an integer .* or 3 of"):
                envs.reset(seed=seed)
        with self.assertRaisesRegex(AttributeError, r"worlds.nworld: .* mujoco_warp.Data$"):
            made(2, observe=lambda worlds: worlds.nworld)
        with self.assertRaisesRegex(AttributeError, "worlds.xpoz: expected .* did you mean xpos"):
            made(2, observe=lambda worlds: worlds.xpoz)

    def test_a_python_without_mujoco_warp_says_how_to_install_it(self):
        code = (
            "import sys; sys.modules['mujoco_warp'] = None; import broadloom\n"
            "try: broadloom.train('warp/Hopper-v5', quiet=True)\n"
            "except ModuleNotFoundError as error: print(error)\n"
        )
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertIn("pip install mujoco-warp", found.stdout + found.stderr)


class TasksTest(unittest.TestCase):
    def test_steps_and_rewards_are_those_of_gymnasium(self):
        """Each step from the same state, within 1e-3 of the size of a number."""
        if importlib.util.find_spec("imageio") is None:
            self.skipTest("Gymnasium's MuJoCo environments need imageio")
        import gymnasium

        for name in TASKS:
            envs, one = task(name, 2, device="cpu"), gymnasium.make(name).unwrapped
            one.reset(seed=1)
            envs.reset(seed=[1, 2])
            self.assertEqual(envs.single_observation_space.shape, one.observation_space.shape)
            random, space = np.random.default_rng(1), envs.single_action_space
            np.testing.assert_array_equal(space.high, one.action_space.high)
            for _ in range(25):
                before = [envs.read(part) for part in ("qpos", "qvel", "qacc_warmstart")]
                actions = random.uniform(space.low, space.high, (2, *space.shape))
                actions = actions.astype(np.float32)
                rows, rewards, terminated, _, infos = envs.step(actions)
                data = one.data
                data.qpos[:], data.qvel[:], data.qacc_warmstart[:] = (part[1] for part in before)
                row, reward, ended, _, _ = one.step(actions[1])
                with self.subTest(name):
                    shown = infos.get("final_obs", rows)[1]
                    np.testing.assert_allclose(shown, row, rtol=1e-3, atol=1e-3)
                    self.assertAlmostEqual(rewards[1], reward, delta=1e-3)
                    self.assertEqual(terminated[1], ended)

    def test_an_id_trains_with_a_limit_of_its_own(self):
        run = broadloom.train("warp/InvertedPendulum-v5", **{**SETTINGS, "out": out("pole")})
        self.assertIn("inverted_pendulum.xml", manifest(run)["engine"])
        self.assertGreater(run.mean_return, 3)
        words = "warp/Ant-v5: .* expected one of InvertedPendulum"
        with self.assertRaisesRegex(ValueError, words) as refused:
            broadloom.train("warp/Ant-v5", **SMALL)
        self.assertEqual(refused.exception.kind, "not_found")


if __name__ == "__main__":
    unittest.main()
