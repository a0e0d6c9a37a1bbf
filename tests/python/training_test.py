"""Training from Python is the program's, and the program runs from Python."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import broadloom

HERE = tempfile.TemporaryDirectory()
KEYS = {
    "total_timesteps": 2048,
    "num_envs": 8,
    "num_steps": 32,
    "hidden_sizes": [16, 16],
    "seed": 3,
}
FLAGS = [
    word
    for key, value in KEYS.items()
    for word in (f"--{key}", ",".join(map(str, value)) if isinstance(value, list) else str(value))
]


def newest(run):
    """The tensors of the newest checkpoint. Its other entries have lengths of files, which depend
    on times."""
    data = sorted((pathlib.Path(run) / "checkpoints").glob("*.safetensors"))[-1].read_bytes()
    return data[8 + int.from_bytes(data[:8], "little") :]


def python(*arguments, **keys):
    where = (
        {"PYTHONPATH": os.path.abspath(os.environ["PYTHONPATH"])}
        if os.environ.get("PYTHONPATH")
        else {}
    )
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=240,
        env=os.environ | where,
        **keys,
    )


class TrainTest(unittest.TestCase):
    def test_it_has_the_bits_of_the_program(self):
        out = pathlib.Path(HERE.name)
        heard = []
        run = broadloom.train(
            "CartPole-v1", out=out / "a", quiet=True, on_iteration=heard.append, **KEYS
        )
        code = broadloom.main(
            [
                "train",
                "--env_id",
                "CartPole-v1",
                *FLAGS,
                "--out",
                out / "b",
                "--quiet",
                "--threads",
                1,
            ]
        )
        self.assertEqual(code, 0)
        self.assertEqual(newest(run), newest(out / "b"))
        self.assertEqual(
            [progress["global_step"] for progress in heard], list(range(256, 2049, 256))
        )
        folders = [
            json.loads(line)["run"]["folder"]
            for line in (out / "ledger.jsonl").read_text().splitlines()
        ]
        self.assertTrue({str(out / "a"), str(out / "b")} <= set(folders), folders)
        self.assertIn("2,048 of 2,048 steps", repr(run))
        with self.assertRaisesRegex(broadloom.Error, "memory_limit: got 1 MB|CUDA"):
            broadloom.resume(run, total_timesteps=2048, device="cuda", quiet=True)
        longer = broadloom.resume(run, total_timesteps=2048, memory_limit=900, quiet=True)
        self.assertTrue(longer.finished)

    def test_a_callback_hears_numbers_evaluations_and_the_live_policy(self):
        out, rows = pathlib.Path(HERE.name), np.zeros((5, 4), np.float32)
        heard, kept = [], []

        def listen(progress):
            heard.append(dict(progress))
            self.assertTrue((pathlib.Path(progress["run_dir"]) / "manifest.json").is_file())
            kept.append((progress, progress.policy))

        keys = {**KEYS, "eval_interval": 2, "eval_episodes": 3, "norm_obs": True}
        run = broadloom.train(
            "CartPole-v1",
            out=out / "heard",
            quiet=True,
            log_interval=3,
            on_iteration=listen,
            **keys,
        )
        logged = [json.loads(line) for line in (run.dir / "metrics.jsonl").read_text().splitlines()]
        self.assertEqual([line["iteration"] for line in logged], [3, 6, 8])
        for line in logged:
            got = heard[line["iteration"] - 1]
            for key in line.keys() - {"wall_time", "steps_per_second"}:
                self.assertEqual(got[key], line[key], key)
        self.assertTrue({"policy_loss", "value_loss", "entropy", "approx_kl"} <= heard[0].keys())
        evaluations = [progress["evaluation"] for progress in heard]
        self.assertEqual([e is None for e in evaluations], [True, False] * 4)
        lines = [json.loads(line) for line in (run.dir / "eval.jsonl").read_text().splitlines()]
        self.assertEqual([e for e in evaluations if e], lines)
        outputs = [policy.outputs(rows)[0] for _, policy in kept]
        last, untrained = broadloom.Policy(run).outputs(rows)[0], outputs[0]
        np.testing.assert_array_equal(outputs[-1], last)
        self.assertGreater(np.abs(untrained - last).max(), 0)
        self.assertEqual(kept[2][1].origin["global_step"], 768)
        with self.assertRaisesRegex(broadloom.Error, "expected it within on_iteration"):
            _ = kept[0][0].policy
        plain = broadloom.train(
            "CartPole-v1", out=out / "unheard", quiet=True, log_interval=3, **keys
        )
        self.assertEqual(newest(run), newest(plain))

    def test_a_callback_that_answers_false_ends_the_run_saved(self):
        heard = []

        def goes_on(progress):
            heard.append(progress["iteration"])
            return len(heard) < 3

        run = broadloom.train(
            "CartPole-v1",
            out=pathlib.Path(HERE.name) / "ended",
            quiet=True,
            on_iteration=goes_on,
            **KEYS,
        )
        self.assertEqual(
            (run.finished, run.global_step, run.stopped_by, heard), (False, 768, "", [1, 2, 3])
        )
        run = broadloom.resume(run, quiet=True, on_iteration=lambda progress: 0)  # no answer
        self.assertEqual((run.finished, run.global_step), (True, 2048))
        with self.assertRaisesRegex(
            broadloom.Error, "learning rate of .* is 0 after .*--init_optimizer"
        ):
            broadloom.resume(run, more_timesteps=512, quiet=True)
        with self.assertRaisesRegex(broadloom.Error, "got more_timesteps=1 and total_timesteps=2"):
            broadloom.resume(run, more_timesteps=1, total_timesteps=2, quiet=True)

    def test_a_run_without_evaluations_has_no_best_policy(self):
        run = broadloom.train("CartPole-v1", out=f"{HERE.name}/blind", quiet=True, **KEYS)
        with self.assertRaisesRegex(FileNotFoundError, "^best: got .*eval_interval=10") as refused:
            broadloom.evaluate(run.best)
        self.assertEqual(refused.exception.kind, "not_found")

    def test_a_run_ends_at_a_return_and_keeps_its_best_policy(self):
        out = pathlib.Path(HERE.name)
        run = broadloom.train(
            "CartPole-v1",
            out=out / "five",
            quiet=True,
            max_episode_steps=5,
            eval_interval=2,
            stop_at_return=5,
            **KEYS,
        )
        self.assertEqual(
            (run.finished, run.global_step, run.stopped_by, run.stopped_return),
            (True, 512, "stop_at_return", 5.0),
        )
        self.assertEqual((run.best_step, run.best_return), (512, 5.0))
        self.assertEqual(broadloom.Policy(run.best).origin["global_step"], 512)
        self.assertEqual(broadloom.evaluate(run, best=True, seed=9, episodes=4)["mean_return"], 5.0)
        more = broadloom.resume(run, stop_at_return="none", quiet=True)
        self.assertEqual((more.global_step, more.stopped_by), (2048, ""))
        wide = broadloom.train(
            "CartPole-v1",
            out=out / "wide",
            quiet=True,
            init=run,
            init_optimizer=True,
            **KEYS | {"num_envs": 16},
        )
        self.assertEqual(
            len(json.loads((wide.dir / "manifest.json").read_text())["init"]["optimizer_hash"]), 32
        )
        with self.assertRaisesRegex(broadloom.Error, "init_optimizer: got True without init"):
            broadloom.train(
                "CartPole-v1", out=out / "nothing", quiet=True, init_optimizer=True, **KEYS
            )

    def test_keys_are_the_programs(self):
        run = broadloom.train(
            "Pendulum-v1",
            out=pathlib.Path(HERE.name) / "keys",
            quiet=True,
            norm_obs=True,
            **{"env.dt": 0.04, **KEYS, "learning_rate": 1e-3},
        )
        config = json.loads((run.dir / "manifest.json").read_text())["config"]
        self.assertEqual(
            (config["norm_obs"], config["learning_rate"], config["hidden_sizes"]),
            ("true", "0.001", "16,16"),
        )

    def test_progress_shows_without_a_terminal(self):
        words = "import broadloom; broadloom.train('CartPole-v1', out='{}', quiet={}, **{})"
        for name, quiet, seen in (
            ("loud", False, r" 256 of 2,048 (.|\n)* 2,048 of 2,048 "),
            (
                "silent",
                True,
                r"\A\Z",
            ),
        ):
            ended = python("-c", words.format(pathlib.Path(HERE.name) / name, quiet, KEYS))
            self.assertEqual(ended.returncode, 0, ended.stderr)
            self.assertRegex(ended.stderr, seen)

    def test_the_version_is_the_programs(self):
        printed = python("-m", "broadloom", "--version").stdout
        self.assertEqual(printed.split()[1], broadloom.__version__)
        with self.assertRaisesRegex(AttributeError, r"call broadloom.command\('curve', ...\)"):
            broadloom.curve  # noqa: B018

    def test_threads_are_a_number_that_can_be(self):
        for call in (
            lambda: broadloom.train("CartPole-v1", threads=-3, quiet=True),
            lambda: broadloom.resume("nowhere", threads=-3),
        ):
            with self.assertRaisesRegex(broadloom.Error, "got -3, expected a whole number"):
                call()

    def test_a_run_that_cannot_be_is_an_error_of_its_kind(self):
        for kind, keys in (
            ("not_found", {"env": "CartPole-v9"}),
            ("invalid_config", {"env": "CartPole-v1", "num_envs": 0}),
        ):
            with self.assertRaises(broadloom.Error) as caught:
                broadloom.train(**{"out": pathlib.Path(HERE.name) / "none", "quiet": True, **keys})
            self.assertEqual(caught.exception.kind, kind)

    def test_every_command_on_an_environment_of_gymnasiums(self):
        out = pathlib.Path(HERE.name)
        train = python(
            "-m",
            "broadloom",
            "train",
            "--env_id",
            "gymnasium/CartPole-v1",
            *FLAGS,
            "--out",
            str(out / "g"),
        )
        self.assertEqual(train.returncode, 0, train.stderr)
        self.assertIn("gymnasium/CartPole-v1", train.stdout)
        refused = python("-m", "broadloom", "eval", str(out / "g"))
        self.assertEqual(refused.returncode, 2)
        self.assertIn("add --allow_plugin gymnasium", refused.stderr)
        self.assertIn(f"eval {out / 'g'} --allow_plugin gymnasium", train.stdout)
        allow = ["--allow_plugin", "gymnasium"]
        for words in (
            ["eval", str(out / "g"), "--episodes", "5", *allow],
            ["audit", str(out / "g"), *allow],
            ["env", "show", "gymnasium/CartPole-v1"],
        ):
            done = python("-m", "broadloom", *words)
            self.assertIn(done.returncode, (0, 20), f"{words}: {done.stdout}{done.stderr}")
        film = python("-m", "broadloom", "watch", str(out / "g"), *allow)
        self.assertEqual(film.returncode, 2, film.stderr)
        self.assertIn('in Python, `broadloom.watch(run, "film.gif")` films the', film.stderr)
        (out / "study.toml").write_text(
            'seeds = 2\n[base]\nenv_id = "gymnasium/CartPole-v1"\ntotal_timesteps = 512\n'
            "num_envs = 4\nnum_steps = 16\n[grid]\nlearning_rate = [0.001, 0.0001]\n"
        )
        done = python(
            "-m",
            "broadloom",
            "study",
            str(out / "study.toml"),
            "--out",
            str(out / "s.sqlite"),
            "--no_report",
            cwd=HERE.name,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_ids_that_cannot_be_opened_end_the_program_with_advice(self):
        (pathlib.Path(HERE.name) / "dict_package.py").write_text(
            "import gymnasium, numpy as np\n"
            "from gymnasium.spaces import Box, Dict, Discrete, Text\n"
            "class Pair(gymnasium.Env):\n"
            "    observation_space = Dict(image=Box(-1, 1, (2,)), words=Text(3))\n"
            "    action_space = Discrete(2)\n"
            "    def reset(self, *, seed=None, options=None):\n"
            "        return self.observation_space.sample(), {}\n"
            "gymnasium.register('Pair-v0', entry_point=Pair)\n"
        )
        for code, env_id, words in (
            (3, "gymnasium/CartPol-v1", ["no environment 'CartPol-v1'", "mean CartPole-v1"]),
            (3, "gymnasium/Xyz-v0", ["no environment 'Xyz-v0'", "gymnasium/package:Id-v0"]),
            (3, "gymnasium/no_such_package:Id-v0", ["No module named 'no_such_package'"]),
            (2, "gymnasium/dict_package:Pair-v0", ["'words'", "observation_keys"]),
        ):
            with self.subTest(env_id):
                done = python("-m", "broadloom", "train", "--env_id", env_id, *FLAGS, cwd=HERE.name)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertNotIn("Traceback", done.stderr)
                for word in words:
                    self.assertIn(word, done.stderr)

    def test_importing_is_quick_and_needs_no_torch(self):
        words = (
            "import sys, time; t = time.process_time(); import broadloom; "
            "print(time.process_time() - t); "
            "assert 'torch' not in sys.modules and 'pandas' not in sys.modules"
        )
        best = min(
            float(python("-c", f"import numpy, gymnasium; {words}").stdout) for _ in range(3)
        )
        self.assertLess(best, 0.5)  # some 0.03 on a quiet machine

    def test_after_a_fork(self):
        words = (
            "import os, broadloom; e = broadloom.VectorEnv(600, env_id='CartPole-v1', threads=2); "
            "import numpy as np; e.reset(seed=1)\n"
            "pid = os.fork()\n"
            "if pid == 0:\n f = broadloom.VectorEnv(600, env_id='CartPole-v1', threads=2); "
            "f.reset(seed=1); f.step(np.zeros(600, np.int64)); os._exit(7)\n"
            "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"
        )
        done = python("-c", words)
        self.assertEqual(done.stdout.strip(), "7", done.stderr)


if __name__ == "__main__":
    unittest.main()
