"""`broadloom train`: files, flags, stops and resumed runs."""

import json
import os
import shutil
import signal
import subprocess
import unittest

from program_test_case import PROGRAM, SMALL, ProgramTest


class Train(ProgramTest):
    def test_train_and_eval(self):
        out = os.path.join(self.folder.name, "run")
        run = self.object_of(
            "train", *SMALL, "--out", out, "--threads", "2", "--json", "--clip-vloss", "False"
        )
        self.assertEqual((run["run_dir"], run["global_step"], run["finished"]), (out, 1024, True))
        self.assertGreater(run["mean_return"], 5)
        with open(os.path.join(out, "manifest.json"), encoding="utf-8") as file:
            self.assertRegex(file.read(), r'"clip_vloss": *"?false')
        score = self.object_of("eval", out, "--episodes", "7", "--json")
        self.assertEqual(score["episodes"], 7)
        self.assertLessEqual(score["ci_low"], score["mean_return"])
        self.assertLessEqual(score["mean_return"], score["ci_high"])
        self.assertGreater(score["mean_length"], 5)
        self.assertEqual(
            list(score["reasons"]), ["cart_left_track", "pole_fell", "time_limit", "unfinished"]
        )
        self.assertEqual(sum(score["reasons"].values()), 7)
        self.assertEqual(round(7 * score["success_rate"]), score["reasons"]["time_limit"])
        self.assertLessEqual(score["success_low"], score["success_rate"])
        again = self.object_of("eval", out, "--episodes", "7", "--json", "--threads", "1")
        self.assertEqual(again["mean_return"], score["mean_return"])
        text = self.run_program("eval", out, "--episodes", "7")
        self.assertIn("95 % interval", text.stdout)
        quiet = self.run_program("eval", out, "--episodes", "7", "--quiet")
        self.assertEqual((quiet.stdout, quiet.stderr, quiet.returncode), ("", "", 0))
        again = self.run_program("train", *SMALL, "--out", out, "--quiet")  # never over another run
        self.assertNotEqual(again.returncode, 0)
        self.assertIn(out, again.stderr)
        self.assertIn(
            "Nothing left to train: 1,024 of 1,024",
            self.run_program("train", "--resume", out).stdout,
        )

    def test_defaults_then_file_then_flags(self):
        file = self.write(
            "run.toml",
            "total_timesteps = 1024\nnum_envs = 2\nnum_steps = 64\nseed = 5\n"
            'env_id = "FrozenLake-v1"\n[env]\nis_slippery = false\n',
        )
        result = self.run_program("train", file, "--seed", "6", "--quiet")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        runs = os.listdir(os.path.join(self.folder.name, "runs"))
        runs.remove("ledger.jsonl")
        self.assertEqual(len(runs), 1)
        self.assertRegex(runs[0], r"^FrozenLake-v1__ppo__6__\d+$")

    def test_files_named_after_an_id_with_a_namespace_are_no_folders_of_it(self):
        game = [
            "--env_id",
            "MinAtar/Breakout-v1",
            *SMALL,
            "--max_episode_steps",
            "20",
            "--hidden_sizes",
            "8",
            "--quiet",
        ]
        run = self.run_program("train", *game)
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "", ""))
        study = self.run_program(
            "study", *game, "--grid", "learning_rate=1e-3,3e-4", "--seeds", "1"
        )
        self.assertEqual((study.returncode, study.stdout, study.stderr), (0, "", ""))
        advice = self.run_program(
            "advise", *game, "--steps", "20000", "--seeds", "1", "--threads", "1"
        )
        self.assertIn(advice.returncode, (0, 22), advice.stderr)
        runs = sorted(os.listdir(os.path.join(self.folder.name, "runs")))
        self.assertRegex(runs[0], r"^MinAtar_Breakout-v1__ppo__1__\d+$")
        stores = os.listdir(os.path.join(self.folder.name, "studies"))
        self.assertTrue(all(name.startswith("MinAtar_Breakout-v1__") for name in stores), stores)
        self.assertEqual(
            os.listdir(os.path.join(self.folder.name, "advice")), ["MinAtar_Breakout-v1"]
        )
        again = self.run_program("rerun", os.path.join("runs", runs[0]), "--quiet")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertTrue(
            any(
                name.startswith("rerun__MinAtar_Breakout-v1__1__")
                for name in os.listdir(os.path.join(self.folder.name, "runs"))
            )
        )

    def test_errors_come_before_the_contract(self):
        os.makedirs(os.path.join(self.folder.name, "taken", "by"))
        self.fails(4, ["'taken' exists", "--resume taken"], "train", *SMALL, "--out", "taken")
        self.fails(3, ["'nowhere'"], "train", "--resume", "nowhere")
        self.run_program("train", *SMALL, "--out", "run", "--quiet")
        self.fails(4, ["'run/x'", "inside the run '", "--out"], "train", *SMALL, "--out", "run/x")
        self.assertFalse(os.path.exists(os.path.join(self.folder.name, "run", "ledger.jsonl")))
        self.fails(
            4,
            ["'file' is a file", "--out"],
            "train",
            *SMALL,
            "--out",
            self.write("file", "") and "file",
        )

    def test_steps_left_out_are_said_before_training(self):
        wide = ["--num_envs", "64", "--num_steps", "512", "--total_timesteps", "50000"]
        warning = (
            "Warning: 50,000 steps give only 1 update, and at least 10 are advised; 32,768 of the "
            "steps are trained, 34 % are left out: choose total_timesteps = 327680, or num_envs = "
            "8\n"
        )
        self.assertIn(warning, self.run_program("train", *wide, "--out", "a").stdout)
        self.object_of("train", *wide, "--out", "b", "--json")
        quiet = self.run_program("train", *wide, "--out", "c", "--quiet")
        self.assertEqual((quiet.stdout, quiet.stderr), ("", ""))
        self.assertNotIn(
            "Warning", self.run_program("train", *SMALL, "--num_steps", "32", "--out", "d").stdout
        )
        plan = self.run_program(
            "study",
            "--seeds",
            "1",
            "--total_timesteps",
            "50000",
            "--grid",
            "num_envs=4,128",
            "--plan",
        )
        self.assertRegex(
            plan.stdout,
            r"\nNote: num_envs=128: 50,000 steps give only 3 updates, .*; 49,152 of the steps",
        )
        self.assertNotIn("num_envs=4: ", plan.stdout)

    def test_folders_that_nobody_named_do_not_meet(self):
        runs = {self.object_of("train", *SMALL, "--json")["run_dir"] for _ in range(3)}
        self.assertEqual(len(runs), 3)

    def test_strata_families_and_the_contract(self):
        file = self.write(
            "run.toml",
            "total_timesteps = 2048\nnum_envs = 8\nnum_steps = 64\nseed_families = 2\n"
            "[strata.wide]\nhalf_length = [0.1, 2]\nweight = 3\n",
        )
        trained = self.run_program(
            "train", file, "--strata.narrow.half-length", "0.4..0.6", "--out", "run"
        )
        self.assertEqual(trained.returncode, 0, trained.stderr)
        contract = [
            "Block (T, N, D) = (64, 8, 4): 512 samples per update, 4 updates\n",
            "Seed families: 2, with 4 environments in each",
            "narrow 25 %, half_length 0.4..0.6; wide 75 %",
        ]
        resumed = self.run_program(
            "train", "--resume", "run"
        )  # strata in another order than in the file
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        for line in contract:
            self.assertIn(line, trained.stdout)
            self.assertIn(line, resumed.stdout)
        self.assertIn("Episodes ended by: ", self.run_program("eval", "run").stdout)

    def test_a_curriculum_and_success(self):
        file = self.write(
            "run.toml",
            'curriculum = ["easy", "hard"]\ntotal_timesteps = 8192\nnum_envs = 8\n'
            "max_episode_steps = 20\n[strata.easy]\nhalf_length = [0.4, 0.6]\n"
            "[strata.hard]\nhalf_length = [0.05, 0.1]\n",
        )
        trained = self.run_program("train", file, "--out", "run")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        self.assertIn("\nCurriculum: easy, hard; up or down by each episode; ", trained.stdout)
        self.assertRegex(trained.stdout, r"  success +\d+ %  ")
        self.assertRegex(
            trained.stdout,
            r"Mean return of the last 100 episodes: [\d.]+; \d+ % of them succeeded\n",
        )
        with open(
            os.path.join(self.folder.name, "run", "metrics.jsonl"), encoding="utf-8"
        ) as lines:
            last = json.loads(lines.readlines()[-1])
        printed = json.loads(self.run_program("train", "--resume", "run", "--json").stdout)
        self.assertEqual(printed["success_rate"], last["success_rate"])
        self.assertAlmostEqual(last["level_share/easy"] + last["level_share/hard"], 1.0)
        self.assertGreater(last["mean_level"], 0.0)
        self.fails(
            2,
            ["unknown stratum 'hart'", "did you mean 'hard'"],
            "train",
            file,
            "--curriculum",
            "easy,hart",
        )
        self.fails(
            2,
            ["curriculum_down and curriculum_up: got 0.4 and 0.3"],
            "train",
            file,
            "--curriculum_up",
            "0.3",
        )
        self.fails(2, ["there are no strata"], "train", "--curriculum", "easy,hard")

    def test_a_dialect_is_recorded_and_own_keys_win(self):
        config = self.write("own.toml", 'dialect = "sb3"\ngamma = 0.9\n')
        self.run_program("train", config, *SMALL, "--update_epochs", "2", "--out", "run", "--quiet")
        with open(os.path.join(self.folder.name, "run", "manifest.json"), encoding="utf-8") as file:
            manifest = json.load(file)["config"]
        line = json.loads(self.ledger()[-1])["config"]
        for record in (manifest, line):
            self.assertEqual(
                [str(record[key]) for key in ("dialect", "gamma", "update_epochs", "vf_coef")],
                ["sb3", "0.9", "2", "1"],
            )
        again = self.run_program("rerun", "run", "--out", "again")
        self.assertEqual(again.returncode, 0, again.stdout + again.stderr)
        self.fails(2, ["dialect: got 'sb4'", "did you mean 'sb3'?"], "train", "--dialect", "sb4")

    def test_a_study_compares_dialects(self):
        base = "total_timesteps = 512\nnum_envs = 2\nnum_steps = 64\n"
        grid = '[grid]\ndialect = ["none", "sb3", "brax"]\n'
        file = self.write("study.toml", f'seeds = 1\nmatch = "none"\n[base]\n{base}{grid}')
        result = self.run_program("study", file, "--jobs", "1")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("dialect=brax", result.stdout)

    def test_a_device_that_the_program_lacks_is_refused_first(self):
        # Short, because a build with CUDA trains it.
        result = self.run_program("train", *SMALL, "--device", "cuda")
        if "built without CUDA" not in result.stderr:
            self.skipTest("this build has CUDA")
        self.fails(2, ["device: got cuda", "set device = cpu"], "train", "--device", "cuda")
        self.assertFalse(os.path.exists(os.path.join(self.folder.name, "runs")))

    def test_plain_progress_where_no_terminal_is(self):
        result = self.run_program("train", *SMALL, "--out", "run")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("\r", result.stdout)
        self.assertRegex(result.stdout, r"1,024 / 1,024 steps +100 %")
        self.assertIn("Next: broadloom eval run\n", result.stdout)

    def test_event_files_that_were_deleted_or_cut_short(self):
        run = os.path.join(self.folder.name, "run")

        def events():
            return sorted(name for name in os.listdir(run) if "tfevents" in name)

        process = subprocess.Popen(
            [
                PROGRAM,
                "train",
                "--total_timesteps",
                "2000000000",
                "--num_envs",
                "2",
                "--num_steps",
                "64",
                "--out",
                run,
                "--lr_schedule",
                "constant",
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        while "steps/s" not in process.stdout.readline():
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        (first,) = events()
        for damage, left in ((os.remove, 1), (lambda path: os.truncate(path, 10), 2)):
            damage(os.path.join(run, events()[-1]))
            process = subprocess.Popen(
                [PROGRAM, "train", "--resume", run],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            while "steps/s" not in process.stdout.readline():
                self.assertIsNone(process.poll())
            process.send_signal(signal.SIGINT)
            errors = process.communicate(timeout=60)[1]
            self.assertEqual(process.returncode, 130, errors)
            self.assertIn("a new event file begins here", errors)
            self.assertEqual(len(events()), left)
            self.assertGreater(os.path.getsize(os.path.join(run, events()[-1])), 100)
        self.assertNotIn(first, events())

    def test_a_run_that_begins_with_anothers_policy(self):
        self.run_program(
            "train",
            "--env_id",
            "Acrobot-v1",
            "--total_timesteps",
            "60000",
            "--seed",
            "3",
            "--out",
            "a",
            "--quiet",
        )
        young = ["train", "--env_id", "Acrobot-v1", "--init", "a"]
        # The learning rate is 0, so training and sampled episodes have the same policy.
        still = self.object_of(
            *young,
            "--learning_rate",
            "0",
            "--num_envs",
            "32",
            "--total_timesteps",
            "65536",
            "--out",
            "b",
            "--json",
        )
        sampled = self.object_of("eval", "b", "--actions", "sampled", "--json")
        self.assertEqual(
            sampled,
            dict(
                self.object_of("eval", "a", "--actions", "sampled", "--json"),
                run_dir="b",
                global_step=65536,
            ),
        )
        self.assertLess(
            abs(still["mean_return"] - sampled["mean_return"]),
            sampled["ci_high"] - sampled["ci_low"],
        )
        first, second = map(json.loads, self.ledger())
        self.assertEqual(second["init"]["parameters_hash"], first["result"]["parameters_hash"])
        self.assertEqual(second["result"]["parameters_hash"], first["result"]["parameters_hash"])
        text = self.run_program(*young, "--total_timesteps", "2048", "--out", "c").stdout
        self.assertRegex(text, r"Initial policy: a/checkpoints/.* \(step 59,904\)\n")
        self.assertTrue(
            self.object_of("rerun", "ledger.jsonl:3", "--out", "again", "--json", "--quiet")[
                "agrees"
            ]
        )
        shutil.move(os.path.join(self.folder.name, "a"), os.path.join(self.folder.name, "d"))
        self.fails(3, [first["result"]["parameters_hash"], "--init"], "rerun", "c", "--quiet")
        found = self.object_of("rerun", "c", "--init", "d", "--out", "again2", "--json", "--quiet")
        self.assertTrue(found["agrees"])
        self.fails(
            6,
            ["observations: got Box(6), expected Box(4)"],
            "train",
            *SMALL,
            "--init",
            "d",
            "--out",
            "e",
            "--quiet",
        )
        self.fails(3, ["no run folder 'none'"], "train", *SMALL, "--init", "none", "--quiet")
        self.fails(2, ["--init"], "train", "--resume", "c", "--init", "d")

    def test_a_run_that_is_made_longer(self):
        steady = ["train", *SMALL, "--lr_schedule", "constant", "--hashes", "--eval_interval", "3"]
        self.run_program(
            *steady, "--total_timesteps", "2048", "--out", "whole", "--quiet", "--ledger", "none"
        )
        self.run_program(*steady, "--out", "a", "--quiet")
        longer = ["train", "--resume", "a", "--json", "--total_timesteps"]
        self.assertEqual(self.object_of(*longer, "1536")["record"], "ledger.jsonl:2")
        self.assertEqual(
            self.object_of(*longer, "2048", "--threads", "2")["record"], "ledger.jsonl:3"
        )
        same = self.object_of("diff", "a", "whole", "--json")
        self.assertEqual((same["equal"], same["compared"], same["settings"]), (True, 16, {}))
        lines = list(map(json.loads, self.ledger()))
        self.assertEqual(
            [line["config"]["total_timesteps"] for line in lines], ["1024", "1536", "2048"]
        )
        self.assertEqual(
            [line["run"].get("extended_from") for line in lines], [None, [1024], [1024, 1536]]
        )
        for line in "123":  # each record has the run's total at that time
            again = self.object_of(
                "rerun", f"ledger.jsonl:{line}", "--out", f"again{line}", "--json", "--quiet"
            )
            self.assertTrue(again["agrees"], line)
        with open(os.path.join(self.folder.name, "a", "eval.jsonl"), encoding="utf-8") as file:
            steps = [json.loads(line)["global_step"] // 128 for line in file]
        self.assertEqual(steps, [3, 6, 8, 9, 12, 15, 16])  # those of its old ends stay
        self.fails(
            2,
            ["got 2100", "at least 2176"],
            "train",
            "--resume",
            "a",
            "--total_timesteps",
            "2100",
            "--quiet",
        )
        self.assertEqual(len(self.ledger()), 3)
        self.fails(
            2,
            ["got 1024", "only be made longer"],
            "train",
            "--resume",
            "a",
            "--total_timesteps",
            "1024",
            "--quiet",
        )
        self.fails(
            2,
            ["--gamma", "--init"],
            "train",
            "--resume",
            "a",
            "--total_timesteps",
            "4096",
            "--gamma",
            "0.9",
            "--quiet",
        )
        self.fails(
            2,
            ["total_timesteps: got 'more'"],
            "train",
            "--resume",
            "a",
            "--total_timesteps",
            "more",
            "--quiet",
        )
        self.run_program("train", *SMALL, "--out", "linear", "--quiet")
        self.fails(
            2,
            ["lr_schedule = linear", "--init linear"],
            "train",
            "--resume",
            "linear",
            "--total_timesteps",
            "4096",
        )

    def test_a_rate_that_is_0_before_the_end_is_noted(self):
        shorter = ["train", *SMALL, "--schedule_timesteps", "512"]
        text = self.run_program(*shorter, "--out", "a").stderr
        self.assertIn(
            "the learning rate is 0 from step 512 of 1,024 on, so the policy learns nothing there; "
            "set learning_rate_end above 0, or schedule_timesteps = 0",
            " ".join(text.split()),
        )
        text = self.run_program(*shorter, "--learning_rate_end", "1e-5", "--out", "b").stderr
        self.assertNotIn("learns nothing", text)

    def test_a_run_that_is_made_longer_by_so_many_steps(self):
        falling = ["train", *SMALL, "--learning_rate_end", "1e-5", "--quiet"]
        self.run_program(*falling, "--out", "a")
        longer = self.run_program("train", "--resume", "a", "--more_timesteps", "512")
        self.assertIn(
            "Note: the learning rate stays at 1e-05, its value after the run's first 1,024 steps",
            longer.stderr,
        )
        self.assertIn("Trained 1,536 of 1,536 steps", longer.stdout)
        whole = self.run_program(
            *falling,
            "--out",
            "whole",
            "--total_timesteps",
            "1536",
            "--schedule_timesteps",
            "1024",
            "--ledger",
            "none",
        )
        self.assertEqual((whole.returncode, whole.stderr), (0, ""))
        hashes = [json.loads(line)["result"]["parameters_hash"] for line in self.ledger()]
        with open(
            os.path.join(self.folder.name, "whole", "ledger_line.json"), encoding="utf-8"
        ) as file:
            self.assertEqual(json.load(file)["result"]["parameters_hash"], hashes[-1])
        self.assertTrue(
            self.object_of("rerun", "ledger.jsonl:2", "--out", "again", "--json", "--quiet")[
                "agrees"
            ]
        )
        self.fails(
            2,
            ["--more_timesteps 5", "--total_timesteps 4096", "one of them"],
            "train",
            "--resume",
            "a",
            "--more_timesteps",
            "5",
            "--total_timesteps",
            "4096",
        )
        for wrong in ("0", "-5", "x"):
            self.fails(2, ["more_timesteps"], "train", "--resume", "a", f"--more_timesteps={wrong}")
        self.fails(2, ["--resume"], "train", *SMALL, "--more_timesteps", "5")
        self.fails(
            2,
            ["learning_rate_end: got 0.01", "lr_schedule = adaptive"],
            "train",
            *SMALL,
            "--lr_schedule",
            "adaptive",
            "--learning_rate_end",
            "0.01",
        )
        self.fails(
            2,
            ["learning_rate_end: got 11", "0 to 10"],
            "train",
            *SMALL,
            "--learning_rate_end",
            "11",
        )
        self.fails(
            2,
            ["schedule_timesteps: got 64", "less than one rollout block"],
            "train",
            *SMALL,
            "--schedule_timesteps",
            "64",
        )

    def test_a_run_that_stops_at_a_return_and_its_best_checkpoint(self):
        short = [*SMALL, "--max_episode_steps", "5", "--eval_interval", "3", "--eval_episodes", "4"]
        run = self.object_of("train", *short, "--stop_at_return", "5", "--out", "a", "--json")
        self.assertEqual(
            (run["finished"], run["global_step"], run["stopped_by"], run["stopped_return"]),
            (True, 384, "stop_at_return", 5),
        )
        self.assertEqual(
            (run["best_step"], run["best_return"], run["record"]), (384, 5, "ledger.jsonl:1")
        )
        best = self.object_of("eval", "a", "--best", "--seed", "9", "--episodes", "4", "--json")
        self.assertEqual(
            (best["mean_return"], best["global_step"], best["run_dir"]),
            (5, 384, "a/best.safetensors"),
        )
        self.assertTrue(
            self.object_of("rerun", "ledger.jsonl:1", "--out", "again", "--json", "--quiet")[
                "agrees"
            ]
        )
        over = self.run_program("train", "--resume", "a")
        self.assertIn("Nothing left to train: 384 of 1,024 steps", over.stdout)
        self.assertIn("Stopped by stop_at_return", over.stdout)
        self.assertIn("Best evaluation: 5.00 at step 384", over.stdout)
        for command in (["watch"], ["export", "--format", "npz", "--out", "policy.npz"]):
            outcome = self.run_program(*command, "a", "--best", "--quiet")
            self.assertEqual((outcome.returncode, outcome.stderr), (0, ""))
        more = self.object_of("train", "--resume", "a", "--stop_at_return", "none", "--json")
        self.assertEqual(
            (more["global_step"], more["stopped_by"], more["best_step"]), (1024, "", 384)
        )
        never = self.object_of(
            "train", *SMALL, "--stop_at_return=-1e6", "--out", "b", "--json"
        )  # before 100 episodes nothing is known
        self.assertTrue(never["stopped_by"] == "" or never["episodes"] >= 100)
        self.fails(2, ["stop_at_return: got 'much'"], "train", *SMALL, "--stop_at_return", "much")
        self.fails(
            2,
            ["stop_at_return: got 3", "a higher one, or none"],
            "train",
            "--resume",
            "again",
            "--stop_at_return",
            "3",
        )
        self.fails(3, ["'b' has no best.safetensors", "eval_interval"], "eval", "b", "--best")
        self.fails(
            2, ["--best: got the file 'a/best.safetensors'"], "eval", "a/best.safetensors", "--best"
        )
        self.fails(
            2,
            ["stop_at_return is not a key of a study"],
            "study",
            *SMALL,
            "--seeds",
            "2",
            "--grid",
            "learning_rate=1e-3,1e-4",
            "--stop_at_return",
            "5",
        )
        self.fails(2, ["stop_at_return was given"], "advise", *SMALL, "--stop_at_return", "5")

    def test_a_student_names_its_teacher(self):
        self.run_program("train", *SMALL, "--out", "a", "--quiet")
        student = ["train", "--algorithm", "distill", "--total_timesteps", "1920"]
        self.fails(2, ["teacher: got none", "such as --teacher runs/NAME"], *student)
        student += ["--teacher", "a"]
        blind = ["--env.hide_obs", "1,3", "--env.hide_from", "policy"]
        for keys, side in ([], "policy"), (blind, "critic"):
            outcome = self.run_program(*student, *keys, "--out", side)
            self.assertIn(
                "Teacher: a/checkpoints/iteration_0000000008.safetensors (step 1,024), "
                f"observation of the {side}\n",
                outcome.stdout,
            )

    def test_a_policy_that_goes_on_with_its_optimiser(self):
        self.run_program("train", *SMALL, "--out", "a", "--quiet")
        wide = ["train", *SMALL, "--num_envs", "8", "--num_steps", "16", "--init", "a"]
        self.assertEqual(self.run_program(*wide, "--quiet", "--out", "alone").returncode, 0)
        outcome = self.run_program(*wide, "--init_optimizer", "--out", "wide")
        self.assertIn(
            "Initial policy and optimiser: a/checkpoints/iteration_0000000008.safetensors (step "
            "1,024)",
            outcome.stdout,
        )
        self.assertIn(
            "Note: taken with the policy: Adam's moments and count of steps; new: environments",
            outcome.stderr,
        )
        alone, taken = (json.loads(line) for line in self.ledger()[1:])
        self.assertNotEqual(alone["result"]["parameters_hash"], taken["result"]["parameters_hash"])
        self.assertEqual(
            (len(taken["init"]["optimizer_hash"]), "optimizer_hash" in alone["init"]), (32, False)
        )
        self.assertTrue(
            self.object_of("rerun", "ledger.jsonl:3", "--out", "again", "--json", "--quiet")[
                "agrees"
            ]
        )
        self.fails(2, ["--init"], "train", *SMALL, "--init_optimizer")
        self.fails(
            6, ["hidden_sizes"], *wide, "--init_optimizer", "--hidden_sizes", "9", "--out", "b"
        )


if __name__ == "__main__":
    unittest.main(verbosity=2)
