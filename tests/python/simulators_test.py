"""Training on environments that Python steps: every autoreset mode, errors, Ctrl-C, and what cannot be had is said."""

import contextlib
import io
import json
import os
import pathlib
import signal
import tempfile
import threading
import traceback
import unittest
import warnings

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import broadloom

HERE = tempfile.TemporaryDirectory()
SMALL = {"total_timesteps": 1024, "num_envs": 4, "num_steps": 32, "hidden_sizes": [8, 8], "quiet": True}


def out(name):
    return pathlib.Path(HERE.name) / name


def parameters(run):
    """The bytes of the newest checkpoint's parameters: safetensors by its own page."""
    path = sorted((pathlib.Path(run) / "checkpoints").glob("*.safetensors"))[-1]
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    begin, end = json.loads(data[8:8 + size])["learner.params"]["data_offsets"]
    return data[8 + size + begin:8 + size + end]


def cart_pole(num_envs, mode):
    return SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * num_envs, autoreset_mode=mode)


def cart_pole_same_step(num_envs):
    return cart_pole(num_envs, AutoresetMode.SAME_STEP)


def cart_pole_next_step(num_envs):
    return cart_pole(num_envs, AutoresetMode.NEXT_STEP)


def cart_pole_disabled(num_envs):
    return cart_pole(num_envs, AutoresetMode.DISABLED)


class Corridor(gymnasium.Env):
    """Walk right; the observation is a dictionary, of which the critic reads more."""
    observation_space = gymnasium.spaces.Dict({"policy": gymnasium.spaces.Box(-1, 1, (2,), np.float64), "critic": gymnasium.spaces.Box(-9, 9, (3,), np.float32)})
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float64)
    lives = None  # steps, after which it fails
    lived = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.steps = self.np_random.uniform(-0.2, 0.2), 0
        return self.look(), {}

    def look(self):
        return {"policy": np.array([self.x, 0.5]), "critic": np.array([self.x, self.steps / 10, 1], np.float32)}

    def step(self, action):
        assert action.dtype == np.float64 and action.shape == (1,)
        self.steps, self.lived = self.steps + 1, self.lived + 1
        self.x = float(np.clip(self.x + 0.2 * action[0], -1, 1))
        if self.lives == self.lived:
            raise ValueError("the floor gave way")
        return self.look(), self.x, abs(self.x) >= 1, self.steps >= 20, {}


class FailingCorridor(Corridor):
    lives = 150  # more than those that are looked at before training take


class Floats(Corridor):
    """What the critic reads are whole numbers to 200."""
    dtype = np.float32
    observation_space = gymnasium.spaces.Dict({"policy": Corridor.observation_space["policy"], "critic": gymnasium.spaces.Box(0, 255, (3,), np.float32)})

    def look(self):
        return {**super().look(), "critic": np.array([100 + 90 * self.x, self.steps, 1]).astype(np.uint8).astype(self.dtype)}


class Bytes(Floats):
    dtype = np.uint8
    observation_space = gymnasium.spaces.Dict({"policy": Corridor.observation_space["policy"], "critic": gymnasium.spaces.Box(0, 255, (3,), np.uint8)})


class Dice(gymnasium.Env):
    """Chance that no seed decides."""
    observation_space, action_space = gymnasium.spaces.Box(0, 1, (1,), np.float32), gymnasium.spaces.Discrete(2, start=1)

    def reset(self, *, seed=None, options=None):
        return np.frombuffer(os.urandom(1), np.uint8).astype(np.float32) / 255, {}

    def step(self, action):
        assert action in (1, 2)
        return self.reset()[0], 1.0, os.urandom(1)[0] < 20, False, {}


class Forgetful(gymnasium.vector.VectorEnv):
    """Next-step autoreset that takes no mask, as some of Gymnasium's own: what it gives for an action that only resets is not looked at."""
    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(self, num_envs):
        self.inner = cart_pole(num_envs, AutoresetMode.NEXT_STEP)
        self.num_envs, self.single_observation_space, self.single_action_space = num_envs, self.inner.single_observation_space, self.inner.single_action_space

    def reset(self, *, seed=None, options=None):
        return self.inner.reset(seed=seed)

    def step(self, actions):
        return self.inner.step(actions)


class Changeable(Forgetful):
    """Takes a mask until an episode has ended."""

    def reset(self, *, seed=None, options=None):
        ended = options is not None and self.ended.any()
        self.ended = np.zeros(self.num_envs, bool)
        return self.inner.reset(seed=seed, options=None if ended else options)

    def step(self, actions):
        told = self.inner.step(actions)
        self.ended = told[2] | told[3]
        return told


class Tensor:
    """An array that is none of NumPy's, as PyTorch's and JAX's are."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keys):
        return self.array.__dlpack__(**keys)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class OnDevice(Tensor):
    """One that must be fetched first."""

    def __dlpack__(self, **keys):
        raise BufferError("this is on a device")

    def detach(self):
        return self

    def cpu(self):
        return Tensor(self.array)


def of_tensors(kind):
    def tensors(num_envs):
        envs = cart_pole(num_envs, AutoresetMode.DISABLED)
        step, reset = envs.step, envs.reset
        envs.step = lambda actions: tuple(kind(np.ascontiguousarray(part)) for part in step(actions)[:4]) + ({},)
        envs.reset = lambda **keys: (kind(reset(**keys)[0]), {})
        return envs
    return tensors


def gymnasiums_arrays(num_envs):
    """Gymnasium's own CartPole of arrays, which ignores the mask."""
    return gymnasium.make_vec("CartPole-v1", num_envs, "vector_entry_point")


class StableBaselines:
    """A VecEnv as Stable-Baselines3 lays it down, of environments of Gymnasium's."""

    def __init__(self, num_envs):
        self.num_envs, self.envs = num_envs, [gymnasium.make("CartPole-v1") for _ in range(num_envs)]
        self.observation_space, self.action_space = self.envs[0].observation_space, self.envs[0].action_space
        self.seeds = [None] * num_envs

    def seed(self, seed=None):
        self.seeds = [seed + i for i in range(self.num_envs)]

    def reset(self):
        return np.stack([env.reset(seed=seed)[0] for env, seed in zip(self.envs, self.seeds)])

    def step_wait(self):
        raise NotImplementedError

    def env_is_wrapped(self, *_):
        return [False] * self.num_envs

    def step(self, actions):
        rows, rewards, dones, infos = [], [], [], []
        for env, action in zip(self.envs, actions):
            row, reward, terminated, truncated, info = env.step(action)
            info["TimeLimit.truncated"] = truncated and not terminated
            if terminated or truncated:
                info["terminal_observation"] = row
                row = env.reset()[0]
            rows.append(row), rewards.append(reward), dones.append(terminated or truncated), infos.append(info)
        return np.stack(rows), np.array(rewards, np.float32), np.array(dones), infos

    def close(self):
        pass


def stable_baselines(num_envs):
    return StableBaselines(num_envs)


def as_stable_baselines_is_seeded(num_envs):
    """The same environments as Gymnasium's, seeded as the other ones are."""
    envs = cart_pole(num_envs, AutoresetMode.SAME_STEP)
    reset = envs.reset
    envs.reset = lambda *, seed=None, options=None: reset(seed=None if seed is None else seed[0], options=options)
    return envs


class EnvPoolMixin:
    """As EnvPool's: takes its seed when it is made, and its resets of some give rows of those alone."""
    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(self, num_envs, seed):
        self.inner, self.seed = cart_pole(num_envs, AutoresetMode.NEXT_STEP), seed
        self.num_envs, self.single_observation_space, self.single_action_space = num_envs, self.inner.single_observation_space, self.inner.single_action_space

    def reset(self, *, seed=None, options=None):
        assert seed is None
        mask = (options or {}).get("reset_mask")
        if mask is None:
            return self.inner.reset(seed=self.seed)
        return self.inner.reset(options={"reset_mask": mask.copy()})[0][mask], {}

    def step(self, actions):
        return self.inner.step(actions)

    def close(self):
        self.inner.close()


def pool(num_envs, seed):
    return EnvPoolMixin(num_envs, seed)


class Pictures(gymnasium.Env):
    """Images with the channels first: the brighter half says which action is right."""
    observation_space, action_space = gymnasium.spaces.Box(0, 255, (3, 36, 40), np.uint8), gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.look(), {}

    def look(self):
        self.side = int(self.np_random.integers(2))
        image = np.zeros((3, 36, 40), np.uint8)
        image[1, :, 20 * self.side:20 * self.side + 20] = 200
        return image

    def step(self, action):
        reward, self.steps = float(action == self.side), self.steps + 1
        return self.look(), reward, False, self.steps >= 10, {}


class TrainingTest(unittest.TestCase):
    def test_every_autoreset_mode_gives_the_same_bits_for_any_threads(self):
        runs = [broadloom.train(make, out=out(make.__name__ + str(threads)), threads=threads, **SMALL)
                for make, threads in ((cart_pole_same_step, 1), (cart_pole_next_step, 2), (cart_pole_disabled, 5))]
        self.assertEqual(len({parameters(run) for run in runs}), 1)
        self.assertTrue(runs[0].finished)
        self.assertGreater(runs[0].episodes, 20)

    def test_gymnasiums_ids_and_single_environments_are_put_together(self):
        by_id = broadloom.train("gymnasium/CartPole-v1", out=out("by_id"), **SMALL)
        by_function = broadloom.train(lambda: gymnasium.make("CartPole-v1"), out=out("by_function"), name="Mine-v0", **SMALL)
        self.assertEqual(parameters(by_id), parameters(by_function))
        self.assertNotEqual(parameters(by_id), parameters(broadloom.train("gymnasium/CartPole-v1", out=out("seed"), seed=2, **SMALL)))
        manifest = json.loads((out("by_id") / "manifest.json").read_text())
        self.assertIn("gymnasium/CartPole-v1", json.dumps(manifest))
        self.assertEqual(broadloom.main(["eval", str(out("by_id")), "--episodes", "3", "--quiet"]), 0)

    def test_workers_of_their_own_processes(self):
        a = broadloom.train(Corridor, out=out("workers"), vectorization="async", name="Async-v0", **SMALL)
        b = broadloom.train(Corridor, out=out("no_workers"), name="Sync-v0", **SMALL)
        self.assertEqual(parameters(a), parameters(b))

    def test_vector_environments_of_stable_baselines(self):
        a = broadloom.train(stable_baselines, out=out("sb3"), max_grad_norm=0.4, **SMALL)
        b = broadloom.train(as_stable_baselines_is_seeded, out=out("sb3_same"), max_grad_norm=0.4, **SMALL)
        self.assertEqual(parameters(a), parameters(b))

    def test_tensors_are_taken_from_where_they_are(self):
        arrays = parameters(broadloom.train(cart_pole_disabled, out=out("arrays"), **SMALL))
        for kind in (Tensor, OnDevice):
            self.assertEqual(parameters(broadloom.train(of_tensors(kind), out=out(kind.__name__), name=f"{kind.__name__}-v0", **SMALL)), arrays)

    def test_pools_that_are_seeded_when_they_are_made(self):
        a = broadloom.train(pool, out=out("pool"), **SMALL)
        self.assertEqual(parameters(a), parameters(broadloom.train(as_stable_baselines_is_seeded, out=out("pool_same"), **SMALL)))
        with self.assertRaisesRegex(TypeError, "takes its seed when it is made"):
            broadloom.train(lambda num_envs: pool(num_envs, 1), name="Seedless-v0", out=out("seedless"), **SMALL)

    def test_images_with_the_channels_first(self):
        run = broadloom.train(Pictures, out=out("pictures"), name="Pictures-v0", encoder="minatar", shared_encoder=True, **{**SMALL, "num_steps": 16})
        policy = broadloom.Policy(run)
        self.assertEqual(policy.observation_space.shape, (36, 40, 3))
        self.assertIn(int(policy.act(np.zeros((36, 40, 3), np.uint8))), (0, 1))

    def test_dictionaries_of_a_policy_and_a_critic(self):
        run = broadloom.train(Corridor, out=out("corridor"), name="Corridor-v0", norm_obs=True, **SMALL)
        policy = broadloom.Policy(run)
        self.assertEqual(policy.observation_space.shape, (2,))
        self.assertEqual(policy.act(np.zeros((5, 2), np.float32)).shape, (5, 1))
        with self.assertRaisesRegex(broadloom.Error, "critic"):
            policy.value(np.zeros(2, np.float32))

    def test_a_critic_that_reads_bytes_learns_from_their_numbers(self):
        for make in (Bytes, Floats):
            broadloom.train(make, out=out(make.__name__), name=f"{make.__name__}-v0", **SMALL)
        self.assertEqual(*(json.loads((out(name) / "ledger_line.json").read_text())["result"]["state_hash"] for name in ("Bytes", "Floats")))

    def test_what_cannot_be_repeated_is_found_out(self):
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            broadloom.train(Dice, out=out("dice"), name="Dice-v0", **{**SMALL, "quiet": False})
        self.assertRegex(said.getvalue(), "(?i)determin")
        self.assertFalse(json.loads((out("dice") / "ledger_line.json").read_text())["contract"]["simulator"]["deterministic"])

    def test_what_step_raises_comes_out_with_its_traceback_and_the_last_checkpoint_stays(self):
        try:  # assertRaises would take the traceback away
            broadloom.train(FailingCorridor, out=out("failing"), name="Failing-v0", checkpoint_interval=1, **SMALL)
            self.fail("nothing was raised")
        except ValueError as error:
            told = "".join(traceback.format_exception(error))
        self.assertIn("the floor gave way", told)
        self.assertIn("in step\n", told)
        self.assertIn("iteration_0000000004.safetensors", os.listdir(out("failing") / "checkpoints"))
        FailingCorridor.lives = None
        self.assertTrue(broadloom.resume(out("failing"), quiet=True).finished)

    def test_resets_that_take_a_step_are_no_transitions(self):
        for make in (Forgetful, gymnasiums_arrays):
            with self.subTest(make.__name__):
                said, name = io.StringIO(), make.__name__
                with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                    run = broadloom.train(make, out=out(name), name=f"{name}-v0", eval_interval=8, **{**SMALL, "quiet": False})
                self.assertIn("takes a step to begin an episode", said.getvalue())
                simulator = json.loads((run.dir / "ledger_line.json").read_text())["contract"]["simulator"]
                self.assertTrue(simulator["filler_rows"])
                lines = [json.loads(line) for line in (run.dir / "metrics.jsonl").read_text().splitlines()]
                fillers = sum(line["filler_rows"] for line in lines)
                self.assertTrue(0 <= run.episodes - fillers <= 4, (run.episodes, fillers))  # each episode but those that ended last
                self.assertGreater(fillers, 20)
                self.assertEqual(lines[-1]["episodic_length"], lines[-1]["episodic_return"])  # as CartPole has it: none is longer by its reset
                evaluation = json.loads((run.dir / "eval.jsonl").read_text().splitlines()[-1])
                self.assertEqual(evaluation["mean_length"], evaluation["mean_return"])
                self.assertEqual(parameters(run), parameters(broadloom.train(make, out=out(name + "_again"), name=f"{name}-v0", threads=5, **SMALL)))
                with self.assertRaisesRegex(broadloom.Error, "instruments read every row of a block"):
                    broadloom.train(make, out=out(name + "_audit"), name=f"{name}-v0", instruments=["audit"], **SMALL)
                with self.assertRaisesRegex(broadloom.Error, "takes a step to begin an episode|begins? an episode"):
                    broadloom.gradients(run, out=out(name + "_gradients"), study="variance", starts="synchronised", batch=64, shapes="4x16", blocks=20)

    def test_a_mask_that_is_ignored_later_is_noticed(self):
        with self.assertRaisesRegex(RuntimeError, "ignores the reset_mask"):
            broadloom.train(Changeable, out=out("changeable"), name="Changeable-v0", **SMALL)

    def test_ctrl_c_saves_and_a_resume_goes_on(self):
        def interrupt(progress):
            if progress["iteration"] == 3:
                signal.raise_signal(signal.SIGINT)
        with self.assertRaises(KeyboardInterrupt):
            broadloom.train("gymnasium/CartPole-v1", out=out("stopped"), on_iteration=interrupt, **SMALL)
        run = broadloom.resume(out("stopped"), quiet=True)
        self.assertTrue(run.finished)
        self.assertEqual(run.global_step, 1024)

    def test_callbacks_that_raise_end_the_run(self):
        def fail(progress):
            raise LookupError("enough")
        with self.assertRaisesRegex(LookupError, "enough"):
            broadloom.train("CartPole-v1", out=out("callback"), on_iteration=fail, **SMALL)

    def test_what_is_raised_is_raised_where_it_was_whatever_others_train_meanwhile(self):
        failed, closing, others_done = threading.Event(), threading.Event(), threading.Event()
        raised = []

        class Waits(gymnasium.wrappers.TimeLimit):
            def __init__(self):
                super().__init__(gymnasium.make("CartPole-v1"), 500)

            def close(self):
                if failed.is_set():
                    closing.set()
                    others_done.wait(60)

        def fail(progress):
            failed.set()
            raise LookupError("enough")

        def train():
            try:
                broadloom.train(Waits, name="Waits-v0", out=out("waits"), on_iteration=fail, **SMALL)
            except BaseException as error:
                raised.append(error)

        thread = threading.Thread(target=train)
        thread.start()
        self.assertTrue(closing.wait(60))
        self.assertTrue(broadloom.train("CartPole-v1", out=out("meanwhile"), **SMALL).finished)
        others_done.set()
        thread.join()
        self.assertEqual([str(error) for error in raised], ["enough"])

    def test_what_is_raised_stays_though_a_command_was_run_after_it(self):
        class Evaluates(gymnasium.wrappers.TimeLimit):
            def __init__(self):
                super().__init__(gymnasium.make("CartPole-v1"), 500)

            def close(self):
                if failed:
                    broadloom.evaluate(other, episodes=1)

        def fail(progress):
            failed.append(True)
            raise LookupError("enough")

        failed = []
        other = broadloom.train("CartPole-v1", out=out("other"), **SMALL)
        with self.assertRaisesRegex(LookupError, "enough"):
            broadloom.train(Evaluates, name="Evaluates-v0", out=out("evaluates"), on_iteration=fail, **SMALL)

    def test_a_call_within_another_leaves_its_instruction_set(self):
        try:
            other = broadloom.train("CartPole-v1", out=out("sse4"), isa="sse4", **SMALL)
        except broadloom.Error as error:
            self.skipTest(str(error))
        alone = broadloom.train("CartPole-v1", out=out("alone"), **SMALL)
        self.assertNotEqual(parameters(other), parameters(alone))
        names = iter(range(100))
        for call in (lambda: broadloom.evaluate(other, episodes=1), lambda: broadloom.train("CartPole-v1", out=out(f"within{next(names)}"), isa="sse4", **SMALL)):
            run = broadloom.train("CartPole-v1", out=out(f"around{next(names)}"), on_iteration=lambda progress, call=call: call(), **SMALL)
            self.assertEqual(parameters(run), parameters(alone))

    def test_trainings_side_by_side_keep_the_instruction_set_that_both_want(self):
        try:
            alone = broadloom.train("CartPole-v1", out=out("sse4_alone"), isa="sse4", **SMALL)
        except broadloom.Error as error:
            self.skipTest(str(error))
        broadloom.train("CartPole-v1", out=out("auto_before"), **SMALL)  # which the process then has
        begun, ended, runs = threading.Event(), threading.Event(), {}

        def train(name, waits_for, tells):
            def wait(progress):
                tells.set()
                waits_for.wait(60)

            runs[name] = broadloom.train("CartPole-v1", out=out(name), isa="sse4", on_iteration=wait, **SMALL)

        long = threading.Thread(target=train, args=("long", ended, begun))
        long.start()
        self.assertTrue(begun.wait(60))
        train("short", begun, begun)
        ended.set()
        long.join()
        self.assertEqual([parameters(runs[name]) == parameters(alone) for name in ("short", "long")], [True, True])

    def test_an_index_beyond_its_space_at_a_resumes_reset_is_an_error(self):
        class Doors(gymnasium.Env):
            observation_space, action_space = gymnasium.spaces.Discrete(4), gymnasium.spaces.Discrete(2)
            begun = 0

            def reset(self, *, seed=None, options=None):
                super().reset(seed=seed)
                self.begun += 1
                return 9 if strange and self.begun > 1 else 0, {}

            def step(self, action):
                return 1, 1.0, False, False, {}

        def stop(progress):
            raise LookupError("enough")

        strange = []
        with self.assertRaises(LookupError):
            broadloom.train(Doors, name="Doors-v0", out=out("doors"), on_iteration=stop, **SMALL)
        strange.append(True)
        with self.assertRaisesRegex(broadloom.Error, r"reset\(\) of Doors-v0: observation of environment 0: got 9, expected 0 to 3"):
            broadloom.resume(out("doors"), quiet=True)

    def test_environments_are_closed_when_they_have_served(self):
        class Counted(StableBaselines):
            made, closed, trains = 0, 0, False

            def __init__(self, num_envs):
                super().__init__(num_envs)
                Counted.made += 1

            def close(self):
                Counted.closed += 1
                if Counted.trains:
                    raise OSError("nobody hears this")

        run = broadloom.train(lambda num_envs: Counted(num_envs), name="Counted-v0", out=out("counted"), eval_interval=1,
                              on_iteration=lambda progress: setattr(Counted, "trains", True), **SMALL)
        self.assertEqual(len((run.dir / "eval.jsonl").read_text().splitlines()), 8)
        self.assertGreater(Counted.made, 9)
        self.assertEqual(Counted.closed, Counted.made)

    def test_seed_families_want_a_seed_for_each_environment(self):
        for make in (pool, stable_baselines, gymnasiums_arrays):
            with self.subTest(make.__name__), self.assertRaisesRegex(ValueError, "seed_families: .* each must take a seed"):
                broadloom.train(make, out=out(f"families_{make.__name__}"), seed_families=2, **SMALL)

        class Seeded(Corridor):
            def reset(self, *, seed=None, options=None):
                seeds.append(seed)
                return super().reset(seed=seed)

        seeds = []
        self.assertTrue(broadloom.train(Seeded, name="Seeded-v0", out=out("families"), seed_families=2, **SMALL).finished)
        given = [seed for seed in seeds if seed is not None][-4:]
        self.assertEqual(given, given[:2] * 2)
        self.assertEqual(len(set(given)), 2)

    def test_the_laboratory_says_where_it_can_begin(self):
        run = broadloom.train("gymnasium/CartPole-v1", out=out("laboratory"), **SMALL)
        keys = {"study": "variance", "batch": 64, "shapes": "4x16", "blocks": 20}
        with self.assertRaisesRegex(broadloom.Error, "does not save them.*expected synchronised"):
            broadloom.gradients(run, out=out("stationary"), **keys)
        self.assertTrue(broadloom.gradients(run, out=out("synchronised"), starts="synchronised", **keys)["variance"])

    def test_from_another_thread(self):
        got = []
        thread = threading.Thread(target=lambda: got.append(broadloom.train(cart_pole_same_step, out=out("thread"), **SMALL)))
        thread.start()
        thread.join()
        self.assertEqual(parameters(got[0]), parameters(broadloom.train(cart_pole_same_step, out=out("no_thread"), **SMALL)))

    def test_bad_input_is_refused(self):
        cases = ((TypeError, "depends on num_envs", lambda: broadloom.train(gymnasium.make("CartPole-v1"), **SMALL)),
                 (broadloom.Error, "did you mean 'num_envs'", lambda: broadloom.train("CartPole-v1", out=out("x"), num_env=3)),
                 (gymnasium.error.NameNotFound, "nothing_like_it", lambda: broadloom.train("gymnasium/nothing_like_it-v0", out=out("x"), **SMALL)),
                 (Exception, "nvironment", lambda: broadloom.train("nowhere/CartPole-v1", out=out("x"), **SMALL)))
        for kind, words, call in cases:
            with self.subTest(words), self.assertRaisesRegex(kind, words):
                call()

    def test_a_space_that_no_network_reads(self):
        class Texts(Corridor):
            observation_space = gymnasium.spaces.Text(5)
        with self.assertRaisesRegex(TypeError, "Text"):
            broadloom.train(Texts, out=out("texts"), name="Texts-v0", **SMALL)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        unittest.main()
