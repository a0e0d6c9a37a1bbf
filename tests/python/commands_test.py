"""The program's commands as functions, and results of runs and studies as data frames."""

import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings

import gymnasium
import numpy as np

import broadloom

HERE = tempfile.TemporaryDirectory()
OUT = pathlib.Path(HERE.name)
FRAMES = importlib.util.find_spec("pandas") or importlib.util.find_spec("polars")


def setUpModule():
    global RUN, STUDY
    RUN = broadloom.train(
        "CartPole-v1",
        out=OUT / "run",
        total_timesteps=2048,
        num_envs=8,
        num_steps=32,
        eval_interval=2,
        quiet=True,
    )
    STUDY = broadloom.Study(
        {
            "seeds": 2,
            "base": {"env_id": "CartPole-v1", "total_timesteps": 512, "hidden_sizes": [8, 8]},
            "grid": {"learning_rate": [1e-3, 1e-4]},
        },
        name="tiny",
        out=OUT / "tiny.sqlite",
    )


class CommandsTest(unittest.TestCase):
    def test_evaluate_is_the_programs(self):
        found = broadloom.evaluate(RUN, episodes=7, seed=3)
        self.assertEqual(found["episodes"], 7)
        self.assertEqual(
            found["mean_return"],
            broadloom.evaluate(RUN.dir, episodes=7, seed=3, threads=1)["mean_return"],
        )
        self.assertNotEqual(
            found["mean_return"], broadloom.evaluate(RUN, episodes=7, seed=4)["mean_return"]
        )

    def test_evaluate_warns_of_episodes_that_were_cut(self):
        with self.assertWarnsRegex(UserWarning, "^3 of 3 episodes were cut after 5 steps"):
            broadloom.evaluate(RUN, episodes=3, max_steps=5)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            broadloom.evaluate(RUN, episodes=3)

    def test_a_class_in_place_of_an_id_is_told_to_be_registered(self):
        class MyEnv(gymnasium.Env):
            pass

        by_id = r'got MyEnv itself, .*register\("MyEnv-v0", MyEnv\) before, and give that id'
        for call, words in (
            (lambda: broadloom.advise(MyEnv), "^env_id: " + by_id),
            (lambda: broadloom.command("env", "check", MyEnv), "^argument of env: " + by_id),
            (
                lambda: broadloom.evaluate(MyEnv),
                "^argument of eval: got MyEnv itself, expected a run: what train.. returns, or its",
            ),
            (
                lambda: broadloom.command("audit", MyEnv),
                "^argument of audit: got MyEnv itself, expected a run: what train.. returns, or i",
            ),
            (
                lambda: broadloom.command("bench", MyEnv),
                "^argument of bench: got MyEnv itself, expected a config: a file in TOML$",
            ),
            (
                lambda: broadloom.evaluate(RUN, episodes=MyEnv),
                "^episodes: got MyEnv itself, expected a number, a text, or a list of them$",
            ),
            (
                lambda: broadloom.evaluate(RUN, env=MyEnv),
                r"^env: got MyEnv itself, .*leave it out, and call broadloom.register\(ID, MyEnv\)",
            ),
        ):
            with self.subTest(words), self.assertRaisesRegex(TypeError, words):
                call()

    def test_audit_and_gradients(self):
        self.assertIn(
            broadloom.audit(RUN, iterations=1)["severity"], ("ok", "note", "warning", "error")
        )
        found = broadloom.gradients(
            RUN,
            out=OUT / "gradients",
            starts="synchronised",
            study="variance",
            batch=64,
            shapes="4x16,16x4",
            blocks=20,
        )
        self.assertEqual(json.loads((OUT / "gradients" / "gradients.json").read_text()), found)

    def test_a_study_goes_on_and_reports(self):
        self.assertEqual([cell["finished"] for cell in STUDY.run(quiet=True)["cells"]], [2, 2])
        self.assertTrue(STUDY.run(quiet=True)["complete"])
        self.assertEqual(STUDY.report(out=OUT / "report")["title"], "tiny")
        self.assertTrue((OUT / "report" / "study.json").is_file())

    def test_runs_have_a_page_in_place_of_json(self):
        page = OUT / "pages" / "runs.html"
        for runs in ((RUN,), (RUN, str(RUN))):
            found = broadloom.command("report", *runs, out=page.parent, quiet=True)
            self.assertEqual(found, {})
            self.assertTrue("<h2>CartPole-v1</h2>" in page.read_text())
            page.unlink()
        self.assertEqual(broadloom.report(RUN, out=page.parent), {})
        self.assertTrue(page.is_file())
        followed = {"out": OUT / "followed", "follow": True, "quiet": True}
        self.assertEqual(broadloom.command("report", STUDY.store, **followed), {})
        self.assertTrue((OUT / "followed" / "study.json").is_file())
        with self.assertRaisesRegex(broadloom.Error, "got the folder .* expected stores of stud"):
            broadloom.command("report", OUT)
        with self.assertRaisesRegex(broadloom.Error, "^--task: got runs, expected stores"):
            broadloom.command("report", RUN, task="CartPole-v1")

    def test_parts_of_a_study_have_a_store_each(self):
        study = broadloom.Study(
            {"seeds": 2, "base": {"env_id": "CartPole-v1", "total_timesteps": 512}}, name="halves"
        )
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(OUT)
        parts = [study.run(part=f"{i}/2", quiet=True) for i in (1, 2)]
        self.assertEqual(
            [part["store"] for part in parts],
            [f"studies/halves.part-{i}-of-2.sqlite" for i in (1, 2)],
        )
        self.assertEqual([part["complete"] for part in parts], [False, False])
        self.assertEqual([part["part_complete"] for part in parts], [True, True])
        broadloom.command("study", "merge", parts[0]["store"], out=study.store)
        self.assertEqual(study.run(runs="1", quiet=True)["cells"][0]["pending"], 1)
        broadloom.command("study", "merge", *(part["store"] for part in parts), out=study.store)
        self.assertTrue(study.run(plan=False, quiet=True)["complete"])
        mine = broadloom.Study(study.definition, name="mine", out=OUT / "mine.sqlite")
        mine.run(part="1/2", quiet=True)
        with self.assertRaisesRegex(broadloom.Error, "part 1/2, but the whole study was asked for"):
            mine.run(quiet=True)

    def test_a_study_takes_arrays_and_ranges(self):
        class Column:  # as of pandas
            def __init__(self, values):
                self.values = values

            def tolist(self):
                return self.values

        def plan(**grid):
            study = broadloom.Study({"seeds": range(3, 5), "grid": grid}, out=OUT / "none.sqlite")
            return study.run(plan=True, quiet=True)

        found = plan(
            learning_rate=np.logspace(-4, -3, 2),
            update_epochs=range(2, 4),
            gamma=Column([0.5, 0.75]),
            norm_obs=np.array([True, False]),
            hidden_sizes=np.array([[8, 8], [16, 16]]),
        )
        self.assertEqual((found["seeds"], found["runs"]), ([3, 4], 64))
        cells = [cell["cell"] for cell in found["cells"]]
        for part in ("learning_rate=0.001", "update_epochs=3", "gamma=0.75", "norm_obs=false",
                     "hidden_sizes=16"):  # fmt: skip
            self.assertEqual(sum(part in cell for cell in cells), 16, cells)
        self.assertEqual(plan(num_steps=np.array([8, 16]))["runs"], 4)
        for wrong in ({0.1, 0.2}, (rate for rate in (0.1, 0.2)), b"0.1", object()):
            with self.assertRaisesRegex(
                TypeError, "^learning_rate: got .* of type .*, expected a number"
            ):
                plan(learning_rate=wrong)
            with self.assertRaisesRegex(broadloom.Error, "^learning_rate: got .* of type "):
                broadloom.train("CartPole-v1", learning_rate=wrong)

    def test_errors_have_the_programs_words_and_kind(self):
        for kind, words, call in (
            ("not_found", "nowhere", lambda: broadloom.evaluate("nowhere")),
            ("invalid_config", "episodes", lambda: broadloom.evaluate(RUN, episodes=-1)),
            (
                "invalid_config",
                "^definition: unknown",
                lambda: broadloom.Study({"base": {"learning_rat": 1}}, out=OUT / "bad.sqlite").run(
                    quiet=True
                ),
            ),
            ("not_found", "no run folder 'nowhere'", lambda: broadloom.gradients("nowhere")),
        ):
            with self.subTest(words), self.assertRaisesRegex(broadloom.Error, words) as caught:
                call()
            self.assertEqual(caught.exception.kind, kind)
        words = (
            "import broadloom\ntry:\n broadloom.gradients('nowhere')\nexcept broadloom.Error: pass"
        )
        self.assertEqual(
            subprocess.run([sys.executable, "-c", words], capture_output=True, check=True).stderr,
            b"",
        )  # printed once, by the code that catches it

    def test_that_two_things_differ_is_an_answer(self):
        runs = [
            broadloom.train(
                "CartPole-v1",
                out=OUT / f"hashes{seed}",
                total_timesteps=512,
                num_envs=8,
                num_steps=32,
                hashes=True,
                seed=seed,
                quiet=True,
            )
            for seed in (1, 2)
        ]
        found = broadloom.command("diff", *runs)
        self.assertEqual((found["equal"], found["parting"]["iteration"]), (False, 1))
        self.assertTrue(broadloom.command("diff", runs[0], runs[0].dir)["equal"])

        pay = 1.0
        run = broadloom.train(
            lambda: gymnasium.wrappers.TransformReward(
                gymnasium.make("CartPole-v1"), lambda reward: pay * reward
            ),
            name="Paid-v0",
            out=OUT / "paid",
            total_timesteps=256,
            num_envs=4,
            num_steps=16,
            quiet=True,
        )
        self.assertTrue(broadloom.rerun(run, out=OUT / "paid_again")["agrees"])
        pay = 2.0
        found = broadloom.rerun(run, out=OUT / "paid_more")
        self.assertFalse(found["agrees"])
        self.assertIn(False, [field["agrees"] for field in found["fields"]])

    def test_runs_that_fail_are_in_a_studys_summary(self):
        study = broadloom.Study(
            {
                "seeds": 1,
                "base": {"env_id": "Pendulum-v1", "total_timesteps": 2048, "norm_adv": False},
                "grid": {"learning_rate": [1e-3, 10]},
            },
            out=OUT / "astray.sqlite",
        )
        self.assertEqual(
            [(cell["finished"], cell["failed"]) for cell in study.run(quiet=True)["cells"]],
            [(1, 0), (0, 1)],
        )

    def test_whatever_takes_a_runs_folder_takes_a_run(self):
        keys = {"total_timesteps": 512, "num_envs": 8, "num_steps": 32, "quiet": True}
        run = broadloom.train("CartPole-v1", out=OUT / "begun", init=RUN, **keys)
        self.assertTrue(broadloom.rerun(run, init=RUN, out=OUT / "begun_again")["agrees"])
        self.assertEqual(
            broadloom.commands._toml({"base": {"init": RUN}}),
            f'"base" = {{"init" = "{RUN.dir}"}}\n',
        )

    def test_commands_without_json_give_their_text(self):
        self.assertIn("learning_rate", broadloom.command("config-reference")["text"])
        with self.assertRaisesRegex(broadloom.Error, "no_such_run") as caught:
            broadloom.command("curve", OUT / "no_such_run")
        self.assertEqual(caught.exception.kind, "not_found")

    def test_what_python_prints_meanwhile_is_not_taken_for_the_answer(self):
        done = threading.Event()
        printing = threading.Thread(
            target=lambda: [
                os.write(1, b"") or print(end="", flush=True)
                for _ in range(200)
                if not done.is_set()
            ]
        )
        printing.start()
        self.assertEqual(broadloom.evaluate(RUN, episodes=5)["episodes"], 5)
        done.set()
        printing.join()

    def test_from_several_threads_each_gets_its_own_answer(self):
        other = broadloom.train(
            "CartPole-v1",
            out=OUT / "other",
            total_timesteps=512,
            num_envs=8,
            num_steps=32,
            seed=5,
            quiet=True,
        )
        expected = [broadloom.evaluate(run, episodes=3)["mean_return"] for run in (RUN, other)]
        found = {}

        def ask(k):
            found[k] = [
                broadloom.evaluate((RUN, other)[k], episodes=3)["mean_return"] for _ in range(20)
            ]

        threads = [threading.Thread(target=ask, args=(k,)) for k in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, {k: [expected[k]] * 20 for k in range(2)})
        self.assertNotEqual(*expected)

    def test_ctrl_c_stops_a_study_which_goes_on_later(self):
        study = broadloom.Study(
            {
                "seeds": 40,
                "base": {
                    "env_id": "Acrobot-v1",
                    "total_timesteps": 20_000,
                    "num_envs": 8,
                    "eval_episodes": 5,
                },
            },
            out=OUT / "long.sqlite",
        )
        before = signal.getsignal(signal.SIGINT)
        timer = threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            study.run(quiet=True)
            time.sleep(2)
        self.assertEqual(signal.getsignal(signal.SIGINT), before)
        self.assertEqual(
            broadloom.evaluate(RUN, episodes=2)["episodes"], 2
        )  # the interrupt was that of the study alone


@unittest.skipUnless(FRAMES, "neither pandas nor Polars is there")
class FramesTest(unittest.TestCase):
    def test_of_a_run(self):
        metrics = RUN.metrics()
        self.assertEqual(list(metrics["global_step"]), list(range(256, 2049, 256)))
        self.assertEqual(len(RUN.evaluations()["mean_return"]), 4)
        ledger = broadloom.read_ledger(OUT / "ledger.jsonl")
        self.assertIn(8, list(ledger["contract.num_envs"]))

    def test_damaged_lines_are_named(self):
        line = pathlib.Path(RUN.dir, "ledger_line.json").read_bytes().strip()
        path = OUT / "damaged.jsonl"
        path.write_bytes(b"\n".join([line, line[:-9], line.replace(b"2048", b"2049"), line, b""]))
        with self.assertWarnsRegex(UserWarning, "damaged.jsonl': left out its damaged lines 2, 3;"):
            self.assertEqual(len(broadloom.read_ledger(path)["format"]), 2)
        path.write_bytes(line[:-9])
        with self.assertRaisesRegex(broadloom.Error, "damaged.jsonl' has no record") as no:
            broadloom.read_ledger(path)
        self.assertEqual(no.exception.kind, "mismatch")
        (OUT / "cut").mkdir()
        (OUT / "cut" / "metrics.jsonl").write_text('{"iteration": 1}\n{"iterat')
        with self.assertRaisesRegex(broadloom.Error, "metrics.jsonl' is damaged: line 2") as no:
            broadloom.read_metrics(OUT / "cut")
        self.assertEqual(no.exception.kind, "corrupt")

    def test_of_a_study(self):
        STUDY.run(quiet=True)
        scores = STUDY.frame()
        self.assertEqual(sorted(scores["learning_rate"]), [1e-4, 1e-4, 1e-3, 1e-3])
        self.assertEqual(len(STUDY.frame("runs")["seed"]), 4)
        self.assertGreater(len(STUDY.frame("learning_curves")["value"]), 4)

    def test_bad_input(self):
        (OUT / "no.sqlite").write_text("no")
        for kind, call in (
            (ValueError, lambda: STUDY.frame("secrets")),
            (FileNotFoundError, lambda: broadloom.read_store(OUT / "nothing.sqlite")),
            (broadloom.Error, lambda: broadloom.read_store(OUT / "no.sqlite")),
            (FileNotFoundError, lambda: broadloom.read_metrics(OUT)),
            (FileNotFoundError, lambda: broadloom.read_ledger(OUT / "nothing.jsonl")),
            (FileNotFoundError, lambda: broadloom.log_to(OUT / "nothing", "csv")),
            (ModuleNotFoundError, lambda: RUN.metrics(library="no_such_library")),
        ):
            with self.assertRaises(kind) as refused:
                call()
            if kind is FileNotFoundError:
                self.assertIsInstance(refused.exception, broadloom.Error)
                self.assertEqual(refused.exception.kind, "not_found")
                self.assertIn(str(OUT), str(refused.exception))


if __name__ == "__main__":
    unittest.main()
