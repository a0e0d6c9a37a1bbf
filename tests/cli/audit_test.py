"""`broadloom audit`: silent on healthy runs, loud on faulty ones, clear on wrong input."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
WARNINGS, ERRORS = 20, 21
CART, PENDULUM, STAGGER = "CartPole-v1", "Pendulum-v1", "--stagger_starts"
# Environment, N, T, steps, more flags; the seed is the place in the list. Episodes of one length
# are staggered.
HEALTHY = [
    (CART, 4, 128, 25600),
    (CART, 4, 128, 25600, "--norm_obs"),
    (CART, 8, 64, 20480),
    (CART, 32, 16, 30720),
    (CART, 128, 8, 51200),
    (CART, 512, 8, 102400),
    (CART, 1, 512, 20480),
    (
        CART,
        64,
        16,
        40960,
        "--strata.wide.half_length",
        "0.3..0.8",
        "--strata_sampling",
        "stratified",
    ),
    (PENDULUM, 1, 2048, 20480),
    (PENDULUM, 16, 64, 30720, STAGGER, "--num_minibatches", "8"),
    (PENDULUM, 64, 16, 51200, STAGGER, "--num_minibatches", "4"),
    (PENDULUM, 256, 8, 51200, STAGGER, "--num_minibatches", "8"),
    ("MountainCar-v0", 16, 32, 25600, STAGGER),
    ("MountainCarContinuous-v0", 16, 64, 30720, STAGGER, "--num_minibatches", "8"),
    ("Acrobot-v1", 16, 64, 40960, STAGGER),
    ("Acrobot-v1", 64, 32, 40960, STAGGER),
    ("FrozenLake-v1", 16, 32, 40960),
    ("FrozenLake-v1", 64, 16, 40960),
    ("Taxi-v3", 32, 32, 20480, STAGGER),
    ("CliffWalking-v1", 16, 32, 30720, STAGGER, "--max_episode_steps", "100"),
]
# Trained to the end: solved tasks have critics at rest, advantages of almost nothing, and states
# that many paths lead to. Seed, then as above.
TRAINED = [
    (3, CART, 4, 128, 500000),
    (8, CART, 4, 128, 500000),
    (12, CART, 4, 128, 500000),
    (
        1,
        "CliffWalking-v1",
        16,
        32,
        500000,
        STAGGER,
        "--max_episode_steps",
        "100",
        "--learning_rate",
        "1e-3",
    ),
    (1, "MountainCar-v0", 512, 8, 1000000, STAGGER, "--norm_obs", "--norm_reward"),
]


def train(folder, env, num_envs, num_steps, steps, *flags, seed=1):
    result = subprocess.run(
        [
            PROGRAM,
            "train",
            "--env_id",
            env,
            "--num_envs",
            str(num_envs),
            "--num_steps",
            str(num_steps),
            "--total_timesteps",
            str(steps),
            "--seed",
            str(seed),
            "--no_tensorboard",
            "--threads",
            "1",  # more take more of the processor's time for the same bits
            "--out",
            folder,
            *flags,
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def contents(folder):
    found = {}
    for path, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(path, name), "rb") as file:
                found[os.path.join(path, name)] = file.read()
    return found


def newest(run):
    folder = os.path.join(run, "checkpoints")
    return os.path.join(folder, sorted(os.listdir(folder))[-1])


def parts(path):
    with open(path, "rb") as file:
        data = bytearray(file.read())
    start = 8 + int.from_bytes(data[:8], "little")
    return data, start, json.loads(data[8:start])


def read_tensors(path):
    data, start, header = parts(path)
    return {
        name: bytes(data[start + entry["data_offsets"][0] : start + entry["data_offsets"][1]])
        for name, entry in header.items()
        if name != "__metadata__"
    }


def replace_tensors(path, tensors):
    data, start, header = parts(path)
    for name, value in tensors.items():
        begin, end = header[name]["data_offsets"]
        data[start + begin : start + end] = value
    with open(path, "wb") as file:
        file.write(data)
    # The checksum that belongs to it is in what is said of the damage.
    printed = subprocess.run(
        [PROGRAM, "audit", path], capture_output=True, text=True, timeout=120
    ).stderr
    was, now = (
        digits.encode()
        for digits in re.search(
            r"checksum (\w{16}), but its content has (\w{16})", printed
        ).groups()
    )
    with open(path, "wb") as file:
        file.write(bytes(data).replace(was, now, 1))


class Audit(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.cart = cls.path("cart")
        train(cls.cart, CART, 4, 128, 10240, "--keep_checkpoints", "0", "--quiet")

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    def copy(self, name):
        path = self.path(name)
        shutil.copytree(self.cart, path)
        return path

    def run_audit(self, *arguments):
        return subprocess.run(
            [PROGRAM, "audit", *arguments], capture_output=True, text=True, timeout=120
        )

    def report(self, *arguments):
        result = self.run_audit(*arguments, "--json")
        self.assertEqual((result.stderr, result.stdout.count("\n")), ("", 1))
        report = json.loads(result.stdout)
        self.assertEqual(report["exit_code"], result.returncode)
        return report

    def check(self, report, name):
        (check,) = [check for check in report["checks"] if check["name"] == name]
        return check

    def finds(self, severity, name, run, *words):
        report = self.report(run)
        check = self.check(report, name)
        self.assertEqual(check["severity"], severity, check)
        for word in words:
            self.assertIn(word, check["sentence"] + " " + check["advice"])
        self.assertEqual(report["exit_code"], ERRORS if report["severity"] == "error" else WARNINGS)

    def fails(self, code, words, *arguments):
        result = self.run_audit(*arguments)
        self.assertEqual((result.returncode, result.stdout), (code, ""), result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, "one line says it: " + result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    # Healthy.

    def test_silent_on_healthy_runs(self):
        self.assertEqual(len(HEALTHY), 20)
        measured = set()
        for seed, (env, *rest) in enumerate(HEALTHY, 1):
            run = self.path(f"healthy{seed}")
            printed = train(
                run, env, *rest, "--instruments", "audit", "--instrument_every", "5", seed=seed
            )
            with self.subTest(env=env, rest=rest):
                self.assertIn("Audit: no warnings", printed)
                report = self.report(run)
                loud = [c for c in report["checks"] if c["severity"] in ("warning", "error")]
                self.assertEqual((report["exit_code"], loud), (0, []))
                self.assertGreater(report["iterations"], 0)
                self.assertGreater(report["logged"], 0)
                measured |= {c["name"] for c in report["checks"] if c["severity"] != "none"}
        # Other checks have tests of their own: shared families, other modes and schedules.
        self.assertEqual(
            {c["name"] for c in report["checks"]} - measured,
            {
                "family_environments",
                "truncation_bias",
                "adaptive_rate",
                "same_tasks",
                "panel_starts",
                "panel_worlds",
            },
        )

    def test_no_warning_of_trained_runs(self):
        for i, (seed, *run) in enumerate(TRAINED):
            folder = self.path(f"trained{i}")
            train(folder, *run, "--quiet", seed=seed)
            report = self.report(folder)
            loud = [c for c in report["checks"] if c["severity"] in ("warning", "error")]
            self.assertEqual((report["exit_code"], loud), (0, []), run)

    def test_one_update_that_ends_a_policy(self):
        folder = self.path("ended")
        train(
            folder,
            CART,
            4,
            128,
            50000,
            "--activation",
            "relu",
            "--learning_rate",
            "0.3",
            "--lr_schedule",
            "constant",
            "--quiet",
        )
        self.finds("warning", "logged_kl_peak", folder, "approx_kl was", "target_kl")

    def test_the_same_for_any_threads_and_writes_nothing(self):
        before = contents(self.cart)
        reports = [
            self.report(self.cart, "--iterations", "3", "--threads", threads)
            for threads in ("1", "3")
        ]
        self.assertEqual(reports[0], reports[1])
        self.assertEqual(reports[0]["iterations"], 3)
        self.assertEqual(contents(self.cart), before)

    def test_a_last_line_that_was_cut_is_left_out(self):
        run = self.copy("cut_short")
        before = self.report(run)
        for name in ("metrics.jsonl", "eval.jsonl"):
            with open(os.path.join(run, name), "a", encoding="utf-8") as file:
                file.write('{"iteration": 99, "learn')
        self.assertEqual(self.report(run), before)

    def test_what_it_prints(self):
        text = self.run_audit(self.cart).stdout
        for words in (
            "CartPole-v1, 4 x 128 blocks, at step 10,240",
            "ok: first_step_ends",
            "0 errors, 0 warnings",
        ):
            self.assertIn(words, text)
        self.assertNotIn("of the 4 environments", text)
        self.assertIn("of the 4 environments", self.run_audit(self.cart, "--verbose").stdout)
        self.assertEqual(self.run_audit(self.cart, "--quiet").stdout, "")
        self.assertIn(
            "20 with warnings, 21 with errors", " ".join(self.run_audit("--help").stdout.split())
        )

    def test_a_run_before_its_first_iteration_and_a_file_alone(self):
        fresh = self.copy("fresh")
        folder = os.path.join(fresh, "checkpoints")
        for name in sorted(os.listdir(folder))[1:]:
            os.remove(os.path.join(folder, name))
        for log in ("metrics.jsonl", "eval.jsonl"):
            if os.path.exists(os.path.join(fresh, log)):
                os.remove(os.path.join(fresh, log))
        report = self.report(fresh)
        self.assertEqual((report["exit_code"], report["global_step"], report["logged"]), (0, 0, 0))
        self.assertEqual(self.check(report, "learning_rate")["severity"], "none")
        self.assertEqual(self.check(report, "update_kl")["severity"], "ok")
        alone = self.report(os.path.join(folder, os.listdir(folder)[0]))
        self.assertIn("no logs", alone["notes"][0])

    def test_a_run_of_several_policies(self):
        run = self.path("sapg")
        train(run, CART, 8, 32, 2048, "--sapg_policies", "4", "--norm_obs")
        report = self.report(run)
        self.assertEqual((report["exit_code"], report["iterations"]), (0, 0))
        (note,) = (note for note in report["notes"] if "4 policies collected" in note)
        self.assertIn("checks settings, seeds, starts, logs", note)
        measured = {c["name"] for c in report["checks"] if c["severity"] != "none"}
        self.assertGreater(
            measured, {"learning_rate", "logged_kl", "normaliser_origin", "same_starts"}
        )
        for name in ("synchronised_resets", "update_kl", "value_targets", "going_on"):
            self.assertNotIn(name, measured)

    def test_one_gradient_step_a_block_shows_no_change_by_ratios(self):
        run = self.path("one_step")
        flags = ("--num_minibatches", "1", "--update_epochs", "1", "--lr_schedule", "constant")
        train(run, CART, 8, 64, 20480, *flags)
        report = self.report(run)
        for name in ("update_kl", "update_clipping", "update_ess", "logged_kl", "logged_kl_peak"):
            self.assertEqual(self.check(report, name)["severity"], "none", name)
        # The policies before and after the whole update are compared by themselves.
        for name in ("first_ratio", "kl_estimates"):
            self.assertEqual(self.check(report, name)["severity"], "ok", name)

    # Faulty.

    def test_synchronised_resets(self):
        run = self.path("synchronised")
        printed = train(
            run,
            PENDULUM,
            64,
            16,
            25600,
            "--num_minibatches",
            "4",
            "--instruments",
            "audit",
            "--instrument_every",
            "5",
        )
        self.assertIn("stagger_starts = true", " ".join(printed.split()))
        self.finds("warning", "synchronised_resets", run, "probability 1.00", "stagger_starts")

    def test_settings_that_make_a_batch_lie(self):
        for number, (name, words, *flags) in enumerate(
            [
                ("seed_families", "100 %", "--seed_families", "1"),
                (
                    "truncation_bias",
                    "as_termination",
                    "--truncation_mode",
                    "as_termination",
                    "--max_episode_steps",
                    "10",
                ),
                ("logged_kl", "learning_rate", "--learning_rate", "0.1"),
                ("steps_lost", "multiple", "--total_timesteps", "15000", "--num_steps", "1250"),
                ("adaptive_rate", "desired_kl", "--lr_schedule", "adaptive", "--desired_kl", "5"),
                ("reward_clipping", "clip_reward", "--norm_reward", "--clip_reward", "0.001"),
                ("normaliser_clipping", "clip_obs", "--norm_obs", "--clip_obs", "0.5"),
            ]
        ):
            run = self.path(f"setting{number}")
            train(run, CART, 8, 64, 20480, *flags)
            with self.subTest(name=name):
                self.finds("warning", name, run, words)

    def test_evaluations_that_training_has_seen(self):
        run = self.copy("seen")
        record = {"seed": 1, "lanes": 4, "streams": {"reset": 3, "step": 4}}
        for streams, code in (({"reset": 7, "step": 8}, 0), ({"reset": 3, "step": 8}, ERRORS)):
            with open(os.path.join(run, "ledger_line.json"), "w", encoding="utf-8") as file:
                json.dump(
                    {"seeds": {"training": record, "evaluation": {**record, "streams": streams}}},
                    file,
                )
            self.assertEqual(self.report(run)["exit_code"], code)
        self.finds("error", "evaluation_seeds", run, "training reset and evaluation reset, seed 1")
        with open(os.path.join(run, "ledger_line.json"), "w", encoding="utf-8") as file:
            json.dump({"seeds": {"training": {**record, "streams": {"reset": 3, "step": 3}}}}, file)
        self.finds("error", "stream_collisions", run, "training reset and training step")

    def test_panels(self):
        panel = self.path("panel.toml")
        with open(panel, "w", encoding="utf-8") as file:
            file.write(
                'env_id = "CartPole-v1"\nepisodes = 20\nseeds = [1, 2]\n'
                "[perturbations.heavy]\nenv.cart_mass = 2.0\n"
            )
        run = self.path("held_out")
        train(run, CART, 8, 64, 20480, "--panel", panel)
        report = self.report(run)
        self.assertEqual(
            (report["exit_code"], self.check(report, "panel_starts")["severity"]), (0, "ok")
        )
        # The record of a program that draws the panel from training's streams, under the run's
        # seed.
        path = os.path.join(run, "ledger_line.json")
        with open(path, encoding="utf-8") as file:
            line = json.load(file)
        line["seeds"]["panel"]["streams"]["reset"] = line["seeds"]["training"]["streams"]["reset"]
        line["seeds"]["panel"]["keys"]["all/heavy"][1] = line["seeds"]["training"]["seed"]
        with open(path, "w", encoding="utf-8") as file:
            json.dump(line, file)
        self.finds("error", "evaluation_seeds", run, "training reset and evaluation reset, seed 1")

    # Statistics that count other samples than the run has seen: those of a shorter run.
    def test_a_normaliser_of_another_run(self):
        run, other = self.path("normalised"), self.path("normalised_other")
        train(run, CART, 8, 64, 20480, "--norm_obs")
        train(other, CART, 8, 64, 10240, "--norm_obs", seed=2)
        self.assertEqual(self.report(run)["exit_code"], 0)
        begun = self.path("normalised_begun")
        train(begun, CART, 8, 64, 10240, "--norm_obs", "--init", run, seed=3)
        self.assertEqual(self.check(self.report(begun), "normaliser_origin")["severity"], "ok")
        theirs = read_tensors(newest(other))
        replace_tensors(
            newest(run), {k: v for k, v in theirs.items() if k.startswith("obs_normalizer.")}
        )
        self.finds("warning", "normaliser_origin", run, "50 %", "--init")

    def test_a_schedule_that_was_left(self):
        run = self.copy("left")
        path = os.path.join(run, "metrics.jsonl")
        with open(path, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        lines[-1]["learning_rate"] = 1e-4
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        self.finds("warning", "learning_rate", run, "lr_schedule = linear")

    def test_a_run_that_was_stopped_and_one_whose_logs_were(self):
        run = self.copy("half")
        whole = self.report(run)
        path = os.path.join(run, "metrics.jsonl")
        with open(path, encoding="utf-8") as file:
            lines = file.readlines()
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(lines[:10])
        gone = sum(map(len, lines[10:]))
        self.finds("warning", "logs_lost", run, f"{gone} bytes", "--init")
        check = self.check(self.report(run), "schedule_end")  # the run itself finished
        self.assertEqual((check["severity"], check["value"]), ("ok", 0))
        self.assertEqual(self.check(whole, "logs_lost")["severity"], "ok")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(lines)
        checkpoints = os.path.join(run, "checkpoints")
        os.remove(os.path.join(checkpoints, sorted(os.listdir(checkpoints))[-1]))
        report = self.report(run)
        self.assertEqual(
            (report["global_step"], self.check(report, "logs_lost")["severity"]), (5120, "ok")
        )
        check = self.check(report, "schedule_end")
        self.assertEqual((check["severity"], check["value"]), ("note", 0.5))

    # Wrong input.

    def test_wrong_input(self):
        self.fails(3, ["nowhere"], "nowhere")
        for count in ("-1", "0"):
            self.fails(2, [f"'{count}'", "1 to 1000000"], self.cart, "--iterations", count)
        self.fails(2, ["unknown flag '--iteration'", "--iterations"], self.cart, "--iteration", "3")
        self.fails(2, ["RUN"])
        empty = self.copy("empty")
        shutil.rmtree(os.path.join(empty, "checkpoints"))
        os.mkdir(os.path.join(empty, "checkpoints"))
        self.fails(3, ["checkpoint"], empty)
        error = json.loads(self.run_audit("nowhere", "--json").stdout)
        self.assertEqual(error["exit_code"], 3)

    def test_damaged_files(self):
        run = self.copy("damaged")
        folder = os.path.join(run, "checkpoints")
        newest = os.path.join(folder, sorted(os.listdir(folder))[-1])
        with open(newest, "rb") as file:
            whole = file.read()
        with open(newest, "wb") as file:
            file.write(whole[:-100])
        self.fails(5, [os.path.basename(newest)], run)
        with open(newest, "wb") as file:
            file.write(whole)
        for name, word in (
            ("metrics.jsonl", "line of metrics"),
            ("eval.jsonl", "line of eval"),
            ("eval_command.jsonl", "line of eval"),
            ("ledger_line.json", "JSON object"),
        ):
            path = os.path.join(run, name)
            with open(path, "ab+") as file:
                size = file.tell()
                file.write(b"{half a li\n")
            self.fails(5, [name, word], run)
            os.truncate(path, size)


if __name__ == "__main__":
    unittest.main()
