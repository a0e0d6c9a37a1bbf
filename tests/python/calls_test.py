"""Calls of train() that end early, run in several threads, or run within each other."""

import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import threading
import traceback
import unittest
import warnings

import gymnasium
import numpy as np

import broadloom
from simulator_cases import (
    cart_pole_same_step,
    out,
    parameters,
    SMALL,
    StableBaselines,
    tensors,
)


SIZES = ("total_timesteps", "num_envs", "num_steps")


class Fails(gymnasium.wrappers.TimeLimit):
    """CartPole, one step of which fails."""

    failing_step, lived = None, 0  # the step of each environment that fails; None: none

    def __init__(self):
        super().__init__(gymnasium.make("CartPole-v1"), 20)

    def step(self, action):
        self.lived += 1
        observation, reward, *rest = super().step(action)
        return observation, Fails.fail() if self.lived == self.failing_step else reward, *rest


def interrupt():
    signal.raise_signal(signal.SIGINT)


class CallsTest(unittest.TestCase):
    def test_failures_of_step_save_the_last_finished_iteration(self):
        stopped = broadloom.train(
            Fails,
            out=out("before"),
            name="Fails-v0",
            on_iteration=lambda progress: progress["iteration"] < 4,
            **SMALL,
        )

        def floor():
            raise ValueError("the floor gave way")

        for number, (fails, wanted, words) in enumerate(
            (
                (floor, ValueError, "the floor gave way"),
                (interrupt, KeyboardInterrupt, "KeyboardInterrupt"),
                (
                    lambda: math.nan,
                    broadloom.Error,
                    "Fails-v0: reward of environment 0 is not finite",
                ),
            )
        ):
            folder = out(f"fails{number}")
            Fails.fail, Fails.failing_step = fails, 150  # in the fifth iteration
            try:  # assertRaises would clear the traceback
                broadloom.train(Fails, out=folder, name="Fails-v0", **SMALL)
                self.fail("nothing was raised")
            except wanted as error:
                text = "".join(traceback.format_exception(error))
            self.assertIn(words, text)
            if wanted is broadloom.Error:
                self.assertIn(f"of '{folder}' stays saved", text)
                self.assertIn("a resume continues from its step 512", text)
            else:
                self.assertIn("in step\n", text)
            if wanted is not broadloom.Error and hasattr(BaseException, "add_note"):
                self.assertIn(
                    "The run is saved up to step 512; go on with "
                    f"broadloom.resume({os.fspath(folder)!r})",
                    text,
                )
            self.assertEqual(tensors(folder), tensors(stopped))
            Fails.failing_step = None
            run = broadloom.resume(folder, quiet=True)
            self.assertEqual((run.finished, run.global_step), (True, 1024))

    def test_ctrl_c_in_an_evaluation_saves_the_iteration(self):
        def made_later(progress):
            Fails.fail, Fails.failing_step = interrupt, 1

        class Late(Fails):
            def __init__(self):
                super().__init__()
                self.failing_step = Fails.failing_step

        self.addCleanup(setattr, Fails, "failing_step", None)
        with self.assertRaises(KeyboardInterrupt):
            broadloom.train(
                Late,
                out=out("evaluated"),
                name="Late-v0",
                eval_interval=2,
                on_iteration=made_later,
                **SMALL,
            )
        Fails.failing_step = None
        files = os.listdir(out("evaluated") / "checkpoints")
        self.assertIn("iteration_0000000002.safetensors", files)
        self.assertTrue(broadloom.resume(out("evaluated"), quiet=True).finished)

    def test_ctrl_c_saves_the_run_and_a_resume_continues(self):
        def interrupt(progress):
            if progress["iteration"] == 3:
                signal.raise_signal(signal.SIGINT)

        with self.assertRaises(KeyboardInterrupt) as stop:
            broadloom.train(
                "gymnasium/CartPole-v1", out=out("stopped"), on_iteration=interrupt, **SMALL
            )
        if hasattr(stop.exception, "add_note"):  # Python 3.11 and later
            words = (
                "The run is saved up to step 384; go on with "
                f"broadloom.resume({os.fspath(out('stopped'))!r})"
            )
            self.assertEqual(stop.exception.__notes__, [words])
        run = broadloom.resume(out("stopped"), quiet=True)
        self.assertTrue(run.finished)
        self.assertEqual(run.global_step, 1024)

    def test_unknown_keywords_are_answered_without_a_list(self):
        for key, words in (
            ("run_dir", "unknown keyword 'run_dir'; did you mean 'out'?"),
            ("callback", "unknown keyword 'callback'; did you mean 'on_iteration'?"),
            ("thread", "unknown keyword 'thread'; did you mean 'threads'?"),
            ("lerning_rate", "unknown key 'lerning_rate'; did you mean 'learning_rate'?"),
            ("monitor", "unknown key 'monitor'; `python -m broadloom train --help` describes the"),
        ):
            with self.subTest(key), self.assertRaises(broadloom.Error) as refused:
                broadloom.train("CartPole-v1", out=out("refused"), **{key: 1}, **SMALL)
            self.assertTrue(str(refused.exception).startswith(words), refused.exception)
            self.assertEqual(refused.exception.kind, "invalid_config")
            self.assertLess(len(str(refused.exception)), 200)

    def test_arguments_of_a_wrong_type_are_named(self):
        for key, value, words in (
            ("env_id", "Acrobot-v1", "env_id: got 'Acrobot-v1', expected the environment as"),
            ("threads", "all", "threads: got 'all', expected a whole number"),
            ("threads", -1, "threads: got -1, expected a whole number"),
            ("on_iteration", 3, "on_iteration: got 3, expected a function of a Progress"),
            ("name", 5, "name: got 5, expected a text"),
            ("env_kwargs", 5, "env_kwargs: got 5, expected a dict"),
            ("wrappers", 5, "wrappers: got 5, expected a list of functions"),
            ("wrappers", ["flat"], "wrappers: got ['flat'], expected a list of functions"),
            ("observation_keys", 5, "observation_keys: got 5, expected a key, or"),
            ("vectorization", np.array(["sync", "async"]), "vectorization: got array(['sync'"),
            ("threads", np.array([1, 2]), "threads: got array([1, 2]), expected a whole number"),
            ("init_optimizer", "no", "init_optimizer: got 'no', expected True or False"),
            ("group_encoders", ["a", None], "group_encoders: got None in the list ['a', None], ex"),
            ("policy", "MlpPolicy", "unknown keyword 'policy'; did you mean 'hidden_sizes'?"),
        ):
            with self.subTest(key), self.assertRaises(broadloom.Error) as refused:
                broadloom.train("CartPole-v1", out=out("refused"), **{key: value}, **SMALL)
            self.assertTrue(str(refused.exception).startswith(words), refused.exception)
            self.assertEqual(refused.exception.kind, "invalid_config")
        self.assertFalse(out("refused").exists())

    def test_none_means_left_out(self):
        left_out = {"ledger": None, "threads": None, "target_kl": None, "panel": None}
        given = {"env_kwargs": {"gravity": None, "pole_mass": 0.2}}
        run = broadloom.train(
            "CartPole-v1", out=out("none"), **left_out, **given, lr_schedule="constant", **SMALL
        )
        config = json.loads((run.dir / "manifest.json").read_text())["config"]
        self.assertEqual((config["target_kl"], config["env.pole_mass"]), ("0", "0.2"))
        self.assertTrue(run.record.startswith(os.fspath(out("ledger.jsonl"))), run.record)
        run = broadloom.resume(run, more_timesteps=128, total_timesteps=None, device=None,
                               threads=None, ledger=None, quiet=True)  # fmt: skip
        self.assertEqual(run.global_step, 1152)
        self.assertFalse(os.path.exists("None"))
        env = broadloom.VectorEnv(2, env_id="CartPole-v1", gravity=None)
        self.assertEqual(env.num_envs, 2)
        self.assertEqual(
            broadloom.command("eval", run, None, episodes=3, panel=None)["episodes"], 3
        )
        base = {"env_id": "CartPole-v1", "target_kl": None, **{k: SMALL[k] for k in SIZES}}
        study = broadloom.Study({"seeds": 1, "base": base, "grid": None}, out=out("none.sqlite"))
        self.assertEqual(study.run(quiet=True)["cells"][0]["finished"], 1)

    def test_every_keyword_may_be_none(self):
        def plain(mode=None):
            return gymnasium.make("CartPole-v1", render_mode=mode)

        class Stop(Exception):
            pass

        def stop(progress):
            raise Stop

        for key in broadloom.train.__kwdefaults__:
            with self.subTest(train=key):
                given = {"name": "None-v0", "out": out(f"none_{key}"), "on_iteration": stop}
                given |= {"env_kwargs": {"mode": None}, **SMALL, key: None}
                if key in ("out", "on_iteration"):
                    given["total_timesteps"] = SMALL["num_envs"] * SMALL["num_steps"]
                if key == "out":
                    here = out("none_folder")
                    here.mkdir()
                    self.addCleanup(os.chdir, os.getcwd())
                    os.chdir(here)
                with open(os.devnull, "w") as silence, contextlib.redirect_stdout(silence):
                    if key == "on_iteration":
                        self.assertTrue(broadloom.train(plain, **given).finished)
                    else:
                        self.assertRaises(Stop, broadloom.train, plain, **given)
        for key in broadloom.register.__kwdefaults__:
            with self.subTest(register=key):
                name = f"None-{key}-v0"
                given = {"env_kwargs": {"mode": None}, key: None}
                self.assertEqual(broadloom.register(name, plain, **given), name)

    def test_arrays_and_ranges_are_lists(self):
        for name, sizes in (("array", np.array([8, 4])), ("range", range(4, 12, 4))):
            run = broadloom.train(
                "CartPole-v1",
                out=out(name),
                norm_obs=np.True_,
                **{**SMALL, "hidden_sizes": sizes},
            )
            config = json.loads((run.dir / "manifest.json").read_text())["config"]
            self.assertEqual(config["hidden_sizes"], ",".join(map(str, sizes)))
            self.assertEqual(config["norm_obs"], "true")

    def test_none_in_a_list_is_refused(self):
        base = {"env_id": "CartPole-v1", **{k: SMALL[k] for k in SIZES}}
        for definition in (
            {"grid": {"learning_rate": [1e-3, None]}},
            {"grid": {"hidden_sizes": [[8, 8], [8, None]]}},
        ):
            study = broadloom.Study({"seeds": 1, "base": base, **definition}, out=out("no.sqlite"))
            key = next(iter(definition["grid"]))
            with self.assertRaisesRegex(broadloom.Error, f"^{key}: got None in the list") as no:
                study.run(quiet=True)
            self.assertEqual(no.exception.kind, "invalid_config")

    def test_every_refusal_is_an_error_with_a_kind(self):
        def many(num_envs):
            return cart_pole_same_step(num_envs)

        class Texts(gymnasium.Env):
            observation_space = gymnasium.spaces.Text(5)
            action_space = gymnasium.spaces.Discrete(2)

        run = broadloom.train("CartPole-v1", out=out("kinds"), **SMALL)
        damaged = out("damaged.db")
        damaged.write_text("no store")
        wrap = [gymnasium.wrappers.FlattenObservation]
        for kind, types, call in (
            ("invalid_config", TypeError, lambda: broadloom.train(Texts, **SMALL)),
            ("invalid_config", TypeError, lambda: broadloom.train(5, **SMALL)),
            ("invalid_config", TypeError, lambda: broadloom.register("Int-v0", lambda: 5)),
            (
                "invalid_config",
                ValueError,
                lambda: broadloom.register("Stack-v0", "gymnasium/ALE/Pong-v5", wrappers=wrap),
            ),
            ("invalid_config", (), lambda: broadloom.register("Own-v0", "CartPole-v1")),
            ("invalid_config", (), lambda: broadloom.train(many, env_kwargs={"a": 1}, **SMALL)),
            ("invalid_config", (), lambda: broadloom.train("CartPole-v1", wrappers=wrap, **SMALL)),
            ("invalid_config", (), lambda: broadloom.train("CartPole-v1", sinks="no", **SMALL)),
            ("invalid_config", (), lambda: broadloom.VectorEnv(0, env_id="CartPole-v1")),
            ("invalid_config", (), lambda: broadloom.evaluate(run, actions="x")),
            ("not_found", (), lambda: broadloom.Policy(out("nowhere"))),
            ("corrupt", (), lambda: broadloom.frames.read_store(damaged)),
        ):
            with self.assertRaises(broadloom.Error) as refused:
                call()
            self.assertEqual(refused.exception.kind, kind, refused.exception)
            if types:
                self.assertIsInstance(refused.exception, types)

        def fail():
            raise ValueError("the user's own")

        def wants(what):
            return gymnasium.make(what)

        for kind, call in (
            (ValueError, lambda: broadloom.register("Users-v0", fail)),
            (TypeError, lambda: broadloom.train(wants, env_kwargs={"size": 5}, **SMALL)),
            (
                TypeError,
                lambda: broadloom.train(
                    "CartPole-v1", out=out("callless"), on_iteration=lambda: None, **SMALL
                ),
            ),
        ):
            with self.assertRaises(kind) as raised:
                call()
            self.assertNotIsInstance(raised.exception, broadloom.Error)

    def test_refusals_within_a_run_are_errors_with_a_kind(self):
        def limited():
            return gymnasium.make("CartPole-v1")

        with self.assertRaisesRegex(ValueError, "which a TimeLimit ends after 500") as refused:
            broadloom.train(limited, name="T3-v0", max_episode_steps=600, **SMALL)
        self.assertIsInstance(refused.exception, broadloom.Error)
        self.assertEqual(refused.exception.kind, "invalid_config")
        run = broadloom.train(
            limited, name="T3-v0", out=out("shrunk"), lr_schedule="constant", **SMALL
        )
        broadloom.register("T3-v0", lambda num_envs: cart_pole_same_step(2), max_episode_steps=500)
        with self.assertRaisesRegex(ValueError, "T3-v0: got 2 environments") as refused:
            broadloom.resume(run, more_timesteps=128, quiet=True)
        self.assertIsInstance(refused.exception, broadloom.Error)

    def test_callbacks_that_raise_end_the_run(self):
        def fail(progress):
            raise LookupError("enough")

        with self.assertRaisesRegex(LookupError, "enough"):
            broadloom.train("CartPole-v1", out=out("callback"), on_iteration=fail, **SMALL)

    def test_runs_begun_at_once_get_folders_of_their_own(self):
        here = out("begun_at_once")
        here.mkdir()
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(here)
        with self.assertRaises(broadloom.Error):
            broadloom.train("CartPole-v1", init="nowhere", **SMALL)
        self.assertEqual(os.listdir(), [])
        words = f"import broadloom; print(broadloom.train('CartPole-v1', **{SMALL}).dir)"
        runs = [
            subprocess.Popen([sys.executable, "-c", words], stdout=subprocess.PIPE, text=True)
            for _ in range(4)
        ]
        folders = [run.communicate()[0].strip() for run in runs]
        self.assertEqual([run.returncode for run in runs], [0] * 4)
        self.assertEqual(len({*folders}), 4)
        for folder in folders:
            self.assertTrue((here / folder / "ledger_line.json").exists(), folder)

    def test_exceptions_come_out_of_the_call_that_raised_them(self):
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
                broadloom.train(
                    Waits, name="Waits-v0", out=out("waits"), on_iteration=fail, **SMALL
                )
            except BaseException as error:
                raised.append(error)

        thread = threading.Thread(target=train)
        thread.start()
        self.assertTrue(closing.wait(60))
        self.assertTrue(broadloom.train("CartPole-v1", out=out("meanwhile"), **SMALL).finished)
        others_done.set()
        thread.join()
        self.assertEqual([str(error) for error in raised], ["enough"])

    def test_exceptions_survive_a_later_command(self):
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
            broadloom.train(
                Evaluates, name="Evaluates-v0", out=out("evaluates"), on_iteration=fail, **SMALL
            )

    def test_a_nested_call_restores_the_instruction_set(self):
        try:
            other = broadloom.train("CartPole-v1", out=out("sse4"), isa="sse4", **SMALL)
        except broadloom.Error as error:
            self.skipTest(str(error))
        alone = broadloom.train("CartPole-v1", out=out("alone"), **SMALL)
        self.assertNotEqual(parameters(other), parameters(alone))
        names = iter(range(100))
        for call in (
            lambda: broadloom.evaluate(other, episodes=1),
            lambda: broadloom.train(
                "CartPole-v1", out=out(f"within{next(names)}"), isa="sse4", **SMALL
            ),
        ):
            run = broadloom.train(
                "CartPole-v1",
                out=out(f"around{next(names)}"),
                on_iteration=lambda progress, call=call: call(),
                **SMALL,
            )
            self.assertEqual(parameters(run), parameters(alone))

    def test_parallel_runs_keep_their_common_instruction_set(self):
        try:
            alone = broadloom.train("CartPole-v1", out=out("sse4_alone"), isa="sse4", **SMALL)
        except broadloom.Error as error:
            self.skipTest(str(error))
        broadloom.train("CartPole-v1", out=out("auto_before"), **SMALL)  # now the process has auto
        begun, ended, runs = threading.Event(), threading.Event(), {}

        def train(name, waits_for, tells):
            def wait(progress):
                tells.set()
                waits_for.wait(60)

            runs[name] = broadloom.train(
                "CartPole-v1", out=out(name), isa="sse4", on_iteration=wait, **SMALL
            )

        long = threading.Thread(target=train, args=("long", ended, begun))
        long.start()
        self.assertTrue(begun.wait(60))
        train("short", begun, begun)
        ended.set()
        long.join()
        self.assertEqual(
            [parameters(runs[name]) == parameters(alone) for name in ("short", "long")],
            [True, True],
        )

    def test_environments_are_closed_after_use(self):
        class Counted(StableBaselines):
            made, closed, trains = 0, 0, False

            def __init__(self, num_envs):
                super().__init__(num_envs)
                Counted.made += 1

            def close(self):
                Counted.closed += 1
                if Counted.trains:
                    raise OSError("nobody hears this")

        run = broadloom.train(
            lambda num_envs: Counted(num_envs),
            name="Counted-v0",
            out=out("counted"),
            eval_interval=1,
            on_iteration=lambda progress: setattr(Counted, "trains", True),
            **SMALL,
        )
        self.assertEqual(len((run.dir / "eval.jsonl").read_text().splitlines()), 8)
        self.assertGreater(Counted.made, 9)
        self.assertEqual(Counted.closed, Counted.made)

    def test_training_in_another_thread_gives_the_same_bits(self):
        got = []
        thread = threading.Thread(
            target=lambda: got.append(
                broadloom.train(cart_pole_same_step, out=out("thread"), **SMALL)
            )
        )
        thread.start()
        thread.join()
        self.assertEqual(
            parameters(got[0]),
            parameters(broadloom.train(cart_pole_same_step, out=out("no_thread"), **SMALL)),
        )


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        unittest.main()
