"""Training on environments that Python steps: autoreset modes, seeds, spaces and refusals."""

import contextlib
import io
import json
import unittest
import warnings

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import broadloom
from simulator_cases import (
    seeded_like_stable_baselines,
    Bytes,
    always_ten,
    cart_pole_disabled,
    cart_pole_next_step,
    cart_pole_same_step,
    Changeable,
    Corridor,
    Dice,
    Fixed,
    Floats,
    Forgetful,
    gymnasiums_arrays,
    with_tensors,
    OnDevice,
    only_six,
    out,
    parameters,
    Pictures,
    pool,
    SMALL,
    stable_baselines,
    SuperSuits,
    Tensor,
    WrappedSuperSuits,
)


class SimulatorTest(unittest.TestCase):
    def test_every_autoreset_mode_gives_the_same_bits_with_any_threads(self):
        runs = [
            broadloom.train(make, out=out(make.__name__ + str(threads)), threads=threads, **SMALL)
            for make, threads in (
                (cart_pole_same_step, 1),
                (cart_pole_next_step, 2),
                (cart_pole_disabled, 5),
            )
        ]
        self.assertEqual(len({parameters(run) for run in runs}), 1)
        self.assertTrue(runs[0].finished)
        self.assertGreater(runs[0].episodes, 20)

    def test_gymnasium_ids_and_single_environments_train(self):
        by_id = broadloom.train("gymnasium/CartPole-v1", out=out("by_id"), **SMALL)
        by_function = broadloom.train(
            lambda: gymnasium.make("CartPole-v1"), out=out("by_function"), name="Mine-v0", **SMALL
        )
        self.assertEqual(parameters(by_id), parameters(by_function))
        self.assertNotEqual(
            parameters(by_id),
            parameters(broadloom.train("gymnasium/CartPole-v1", out=out("seed"), seed=2, **SMALL)),
        )
        manifest = json.loads((out("by_id") / "manifest.json").read_text())
        self.assertIn("gymnasium/CartPole-v1", json.dumps(manifest))
        self.assertEqual(
            broadloom.main(["eval", str(out("by_id")), "--episodes", "3", "--quiet"]), 0
        )

    def test_stacks_learn_as_those_of_gymnasium(self):
        def stacked(num_envs, mode):
            def one():
                frames = gymnasium.wrappers.FrameStackObservation(
                    gymnasium.make("CartPole-v1"), 3, padding_type="zero"
                )
                return gymnasium.wrappers.FlattenObservation(frames)

            return gymnasium.vector.SyncVectorEnv([one] * num_envs, autoreset_mode=mode)

        keys = {"env.frame_stack": 3, "env.frame_padding": "zero"}
        for make in (cart_pole_same_step, cart_pole_next_step):
            mode = make(1).metadata["autoreset_mode"]
            with self.subTest(mode):
                name = make.__name__
                ours = broadloom.train(make, out=out(f"stack_{name}"), **SMALL, **keys)
                theirs = broadloom.train(
                    lambda num_envs: stacked(num_envs, mode), out=out(f"theirs_{name}"), **SMALL
                )
                self.assertEqual(parameters(ours), parameters(theirs))

    def test_environments_in_processes_give_the_same_bits(self):
        a = broadloom.train(
            Corridor, out=out("workers"), vectorization="async", name="Async-v0", **SMALL
        )
        b = broadloom.train(Corridor, out=out("no_workers"), name="Sync-v0", **SMALL)
        self.assertEqual(parameters(a), parameters(b))

    def test_vector_environments_of_stable_baselines(self):
        a = broadloom.train(stable_baselines, out=out("sb3"), max_grad_norm=0.4, **SMALL)
        b = broadloom.train(
            seeded_like_stable_baselines, out=out("sb3_same"), max_grad_norm=0.4, **SMALL
        )
        self.assertEqual(parameters(a), parameters(b))

    def test_vector_environments_of_supersuit(self):
        parts = [
            parameters(broadloom.train(make, name="Suits-v0", out=out(f"suits{i}"), **SMALL))
            for i, make in enumerate(
                (
                    lambda num_envs: stable_baselines(num_envs),
                    lambda num_envs: SuperSuits(num_envs),
                    lambda num_envs: WrappedSuperSuits(num_envs),
                )
            )
        ]
        self.assertEqual(len(set(parts)), 1)

    def test_environments_of_one_number_are_evaluated_in_any_number(self):
        for make, count in (only_six, 6), (always_ten, 10):
            run = broadloom.train(
                make,
                name=f"{make.__name__}-v0",
                out=out(make.__name__),
                **{**SMALL, "num_envs": count},
            )
            many = broadloom.train(
                lambda num_envs: Fixed(num_envs),
                name=f"{make.__name__}-v0",
                out=out(make.__name__ + "_any"),
                **{**SMALL, "num_envs": count},
            )
            self.assertEqual(parameters(run), parameters(many))
            for episodes in (3, 17):
                expected = broadloom.evaluate(many, episodes=episodes)
                broadloom.register(f"{make.__name__}-v0", make, num_envs=count)
                found = broadloom.evaluate(run, episodes=episodes)
                self.assertEqual(found["episodes"], episodes)
                self.assertEqual(found["mean_return"], expected["mean_return"])
                broadloom.register(f"{make.__name__}-v0", lambda num_envs: Fixed(num_envs))
            broadloom.register(f"{make.__name__}-v0", make, num_envs=count)

    def test_environments_of_one_number_are_audited(self):
        run = broadloom.train(
            only_six, name="Six-v0", out=out("audited"), **{**SMALL, "num_envs": 6}
        )
        self.assertGreater(len(broadloom.audit(run)), 0)

    def test_environments_of_one_number_play_panels(self):
        panel = out("panel.toml")
        panel.write_text('env_id = "Six-v0"\nepisodes = 4\nseeds = [1, 2]\n')
        scores = []
        for i, make in enumerate((lambda num_envs: Fixed(num_envs), only_six)):
            run = broadloom.train(
                make, name="Six-v0", out=out(f"panel{i}"), **{**SMALL, "num_envs": 6}
            )
            scores.append(broadloom.evaluate(run, panel=str(panel))["panel"])
        self.assertEqual(scores[0], scores[1])

    def test_values_that_the_dtype_of_the_space_cannot_hold_are_refused(self):
        def make(space, value):
            class Still(Fixed):
                single_observation_space = space

                def look(self):
                    return np.full((self.num_envs, *space.shape), value)

            return lambda num_envs: Still(num_envs)

        pixels = gymnasium.spaces.Box(0, 255, (6, 6, 1), np.uint8)
        five = gymnasium.spaces.Discrete(5)
        for space, value, got in (
            (pixels, 0.5, "0.5 in an array of float64, expected numbers that uint8"),
            (pixels, np.float32("nan"), "nan in an array of float32, expected numbers that uint8"),
            (pixels, -3, "-3 in an array of int64, expected numbers that uint8"),
            (pixels, 300, "300 in an array of int64, expected numbers that uint8"),
            (five, 1.7, "1.7 in an array of float64, expected numbers that int64"),
            (five, np.nan, "nan in an array of float64, expected numbers that int64"),
        ):
            with self.subTest(got), self.assertRaisesRegex(ValueError, f"observations: got {got}"):
                broadloom.train(make(space, value), name="Still-v0", out=out("still"), **SMALL)
        words = gymnasium.spaces.Box(0, 1, (2,), np.float32)
        with self.assertRaisesRegex(TypeError, "got an array of <U1, expected numbers of float32"):
            broadloom.train(make(words, "1"), name="Still-v0", out=out("still"), **SMALL)
        kept = (pixels, 7.0), (pixels, 9), (five, 2.0), (words, 1 / 3)
        for i, (space, value) in enumerate(kept):
            broadloom.train(make(space, value), name="Still-v0", out=out(f"still{i}"), **SMALL)

    def test_one_key_of_dict_observations_is_for_policy_and_critic(self):
        runs = [
            broadloom.train(
                Corridor, name="Key-v0", out=out(f"key{i}"), observation_keys=keys, **SMALL
            )
            for i, keys in enumerate(
                (
                    "policy",
                    ("policy",),
                    ("policy", None),
                    ("policy", ()),
                    ("policy", "policy"),
                )
            )
        ]
        self.assertEqual(len({parameters(run) for run in runs}), 1)

    def test_tensors_give_the_same_bits_as_arrays(self):
        arrays = parameters(broadloom.train(cart_pole_disabled, out=out("arrays"), **SMALL))
        for kind in (Tensor, OnDevice):
            self.assertEqual(
                parameters(
                    broadloom.train(
                        with_tensors(kind),
                        out=out(kind.__name__),
                        name=f"{kind.__name__}-v0",
                        **SMALL,
                    )
                ),
                arrays,
            )

    def test_pools_take_their_seed_when_made(self):
        a = broadloom.train(pool, out=out("pool"), **SMALL)
        self.assertEqual(
            parameters(a),
            parameters(
                broadloom.train(seeded_like_stable_baselines, out=out("pool_same"), **SMALL)
            ),
        )
        with self.assertRaisesRegex(TypeError, "takes its seed when it is made"):
            broadloom.train(
                lambda num_envs: pool(num_envs, 1), name="Seedless-v0", out=out("seedless"), **SMALL
            )

    def test_images_with_channels_first_are_turned(self):
        run = broadloom.train(
            Pictures,
            out=out("pictures"),
            name="Pictures-v0",
            encoder="minatar",
            shared_encoder=True,
            **{**SMALL, "num_steps": 16},
        )
        policy = broadloom.Policy(run)
        self.assertEqual(policy.observation_space.shape, (36, 40, 3))
        self.assertIn(int(policy.act(np.zeros((36, 40, 3), np.uint8))), (0, 1))

    def test_dict_observations_for_policy_and_critic(self):
        run = broadloom.train(
            Corridor, out=out("corridor"), name="Corridor-v0", norm_obs=True, **SMALL
        )
        policy = broadloom.Policy(run)
        self.assertEqual(policy.observation_space.shape, (2,))
        self.assertEqual(policy.act(np.zeros((5, 2), np.float32)).shape, (5, 1))
        with self.assertRaisesRegex(broadloom.Error, "critic"):
            policy.value(np.zeros(2, np.float32))

    def test_a_critic_that_reads_bytes_learns_from_their_numbers(self):
        for make in (Bytes, Floats):
            broadloom.train(make, out=out(make.__name__), name=f"{make.__name__}-v0", **SMALL)
        self.assertEqual(
            *(
                json.loads((out(name) / "ledger_line.json").read_text())["result"]["state_hash"]
                for name in ("Bytes", "Floats")
            )
        )

    def test_environments_that_do_not_repeat_are_found(self):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            broadloom.train(Dice, out=out("dice"), name="Dice-v0", **{**SMALL, "quiet": False})
        self.assertRegex(printed.getvalue(), "(?i)determin")
        self.assertFalse(
            json.loads((out("dice") / "ledger_line.json").read_text())["contract"]["simulator"][
                "deterministic"
            ]
        )

    def test_rows_of_resets_are_no_transitions(self):
        for make in (Forgetful, gymnasiums_arrays):
            with self.subTest(make.__name__):
                printed, name = io.StringIO(), make.__name__
                with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                    run = broadloom.train(
                        make,
                        out=out(name),
                        name=f"{name}-v0",
                        eval_interval=8,
                        **{**SMALL, "quiet": False},
                    )
                self.assertIn("takes a step to begin an episode", printed.getvalue())
                simulator = json.loads((run.dir / "ledger_line.json").read_text())["contract"][
                    "simulator"
                ]
                self.assertTrue(simulator["filler_rows"])
                lines = [
                    json.loads(line)
                    for line in (run.dir / "metrics.jsonl").read_text().splitlines()
                ]
                fillers = sum(line["filler_rows"] for line in lines)
                self.assertTrue(
                    0 <= run.episodes - fillers <= 4, (run.episodes, fillers)
                )  # all but the last episodes
                self.assertGreater(fillers, 20)
                self.assertEqual(
                    lines[-1]["episodic_length"], lines[-1]["episodic_return"]
                )  # no episode is longer by its reset
                evaluation = json.loads((run.dir / "eval.jsonl").read_text().splitlines()[-1])
                self.assertEqual(evaluation["mean_length"], evaluation["mean_return"])
                self.assertEqual(
                    parameters(run),
                    parameters(
                        broadloom.train(
                            make, out=out(name + "_again"), name=f"{name}-v0", threads=5, **SMALL
                        )
                    ),
                )
                with self.assertRaisesRegex(
                    broadloom.Error, "instruments read every row of a block"
                ):
                    broadloom.train(
                        make,
                        out=out(name + "_audit"),
                        name=f"{name}-v0",
                        instruments=["audit"],
                        **SMALL,
                    )
                with self.assertRaisesRegex(
                    broadloom.Error, "takes a step to begin an episode|begins? an episode"
                ):
                    broadloom.gradients(
                        run,
                        out=out(name + "_gradients"),
                        study="variance",
                        starts="synchronised",
                        batch=64,
                        shapes="4x16",
                        blocks=20,
                    )

    def test_a_mask_that_is_ignored_later_is_noticed(self):
        with self.assertRaisesRegex(RuntimeError, "ignores the reset_mask"):
            broadloom.train(Changeable, out=out("changeable"), name="Changeable-v0", **SMALL)

    def test_a_wrapper_that_refuses_partial_resets_trains(self):
        def normalised(num_envs):
            return gymnasium.wrappers.vector.NormalizeObservation(cart_pole_next_step(num_envs))

        with self.assertWarnsRegex(UserWarning, "NormalizeObservation keeps running statistics"):
            run = broadloom.train(normalised, out=out("normalised"), name="Normal-v0", **SMALL)
        self.assertTrue(run.finished)
        self.assertGreater(run.episodes, 20)

    def test_an_index_outside_its_space_at_a_resume_is_an_error(self):
        class Doors(gymnasium.Env):
            observation_space, action_space = (
                gymnasium.spaces.Discrete(4),
                gymnasium.spaces.Discrete(2),
            )
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
        with self.assertRaisesRegex(
            broadloom.Error,
            r"reset\(\) of Doors-v0: observation of environment 0: got 9, expected 0 to 3",
        ):
            broadloom.resume(out("doors"), quiet=True)

    def test_seed_families_need_a_seed_for_each_environment(self):
        for make in (pool, stable_baselines, gymnasiums_arrays):
            with (
                self.subTest(make.__name__),
                self.assertRaisesRegex(ValueError, "seed_families: .* own seed"),
            ):
                broadloom.train(
                    make, out=out(f"families_{make.__name__}"), seed_families=2, **SMALL
                )

        class Seeded(Corridor):
            def reset(self, *, seed=None, options=None):
                seeds.append(seed)
                return super().reset(seed=seed)

        seeds = []
        self.assertTrue(
            broadloom.train(
                Seeded, name="Seeded-v0", out=out("families"), seed_families=2, **SMALL
            ).finished
        )
        given = [seed for seed in seeds if seed is not None][-4:]
        self.assertEqual(given, given[:2] * 2)
        self.assertEqual(len(set(given)), 2)

    def test_gradients_refuse_starts_without_saved_states(self):
        run = broadloom.train("gymnasium/CartPole-v1", out=out("laboratory"), **SMALL)
        keys = {"study": "variance", "batch": 64, "shapes": "4x16", "blocks": 20}
        with self.assertRaisesRegex(broadloom.Error, "does not save them.*expected synchronised"):
            broadloom.gradients(run, out=out("stationary"), **keys)
        self.assertTrue(
            broadloom.gradients(run, out=out("synchronised"), starts="synchronised", **keys)[
                "variance"
            ]
        )

    def test_a_record_names_the_engine_of_the_environments_that_train(self):
        def pool(num_envs):
            envs = SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * num_envs)
            envs.metadata = {**envs.metadata, "engine": engine}
            return envs

        for engine in ("Steam 1", "Steam 2"):
            run = broadloom.train(pool, name="Steam-v0", out=out(engine), **SMALL)
            manifest = json.loads((run.dir / "manifest.json").read_text())
            self.assertEqual(manifest["engine"], engine)

    def test_states_that_do_not_hold_all_are_not_saved(self):
        class Kept(gymnasium.vector.VectorEnv):
            """A walk that counts its steps in a state, as it says."""

            metadata = {"autoreset_mode": AutoresetMode.SAME_STEP, "final_obs": False}
            single_observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (1,), np.float32)
            single_action_space = gymnasium.spaces.Discrete(2)

            def __init__(self, num_envs, hidden):
                self.num_envs, self.hidden, self.count = num_envs, hidden, 0

            def reset(self, *, seed=None, options=None):
                self.places, self.count = np.zeros((self.num_envs, 1), np.float32), 0
                return self.places, {}

            def step(self, actions):
                self.places = self.places + 1.0
                self.count += self.hidden
                ends = np.zeros(self.num_envs, bool)
                return self.places, np.full(self.num_envs, self.count), ends, ends, {}

            def saves_state(self):
                return True

            def state_types(self):
                return [("float32", [self.num_envs, 1])]

            def state(self):
                return [self.places]

            def restore(self, arrays):
                self.places = np.frombuffer(arrays[0], np.float32).reshape(-1, 1)

        for hidden in (0, 1):
            run = broadloom.train(
                lambda num_envs, hidden=hidden: Kept(num_envs, hidden),
                name=f"Kept-v{hidden}",
                out=out(f"kept{hidden}"),
                truncation_mode="as_termination",
                **SMALL,
            )
            simulator = json.loads((run.dir / "manifest.json").read_text())["simulator"]
            self.assertTrue(simulator["deterministic"])
            self.assertEqual(simulator["saves_state"], not hidden)

    def test_bad_input_is_refused(self):
        cases = (
            (
                TypeError,
                "num_envs",
                lambda: broadloom.train(gymnasium.make("CartPole-v1"), **SMALL),
            ),
            (
                broadloom.Error,
                "did you mean 'num_envs'",
                lambda: broadloom.train("CartPole-v1", out=out("x"), num_env=3),
            ),
            (
                gymnasium.error.NameNotFound,
                "nothing_like_it",
                lambda: broadloom.train("gymnasium/nothing_like_it-v0", out=out("x"), **SMALL),
            ),
            (
                Exception,
                "nvironment",
                lambda: broadloom.train("nowhere/CartPole-v1", out=out("x"), **SMALL),
            ),
        )
        for kind, words, call in cases:
            with self.subTest(words), self.assertRaisesRegex(kind, words):
                call()

    def test_unsupported_spaces_are_refused(self):
        class Texts(Corridor):
            observation_space = gymnasium.spaces.Text(5)

        with self.assertRaisesRegex(TypeError, "Text"):
            broadloom.train(Texts, out=out("texts"), name="Texts-v0", **SMALL)

        for low, high in (0.1, 0.1 + 1e-12), (-1e-50, 1e-50), (0.1, 0.1):
            box = gymnasium.spaces.Box(low, high, (2,), np.float64)
            for space in (box, gymnasium.spaces.Tuple([box])):
                narrow = type("Narrow", (Corridor,), {"action_space": space})
                with self.assertRaisesRegex(TypeError, "as number 0.*float32"):
                    broadloom.train(narrow, out=out("narrow"), name="Narrow-v0", **SMALL)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        unittest.main()
