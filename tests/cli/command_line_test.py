"""Words that the program refuses, and its help."""

import json
import os
import unittest

from program_test_case import SMALL, ProgramTest


class CommandLine(ProgramTest):
    def test_unknown_flags_name_the_nearest(self):
        self.fails(2, ["'--lerning_rate'", "'--learning_rate'"], "train", "--lerning_rate", "0.1")
        self.fails(2, ["'--num-env'", "'--num_envs'"], "train", "--num-env=4")
        self.fails(2, ["'--no-clip-vlos'", "clip_vloss'"], "train", "--no-clip-vlos")
        self.fails(2, ["'---'"], "train", "---")
        self.fails(2, ["'--episode'", "'--episodes'"], "eval", "run", "--episode", "3")

    def test_flags_of_keys_are_those_of_the_command(self):
        for command in ("train", "study", "advise", "bench"):
            for words in (["help", command], [command, "--help"], [command, "-h"]):
                with self.subTest(words):
                    done = self.run_program(*words)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertRegex(done.stdout, r"(?m)^ *--learning_rate\b")
                    self.assertRegex(done.stdout, r"(?m)^ *--env\.")
        for words in ([], ["eval"], ["env", "bench"], ["study", "merge"]):
            with self.subTest(words):
                done = self.run_program(*words, "--help")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertNotIn("--learning_rate", done.stdout)
        # Neither a run's name nor a flag's word makes another command of it.
        self.fails(2, ["unknown flag '--learning_rate'"], "eval", "train", "--learning_rate", "1")
        self.fails(2, ["unknown flag '--env.tau'"], "report", "study", "--env.tau", "1")
        self.fails(2, ["learning_rate: got 99", "0 to 10"], "train", "--learning_rate", "99")
        self.fails(2, ["learning_rate: got 99", "0 to 10"], "advise", "--learning_rate", "99")

    def test_words_of_other_programs_are_understood(self):
        for flag, key in (
            ("env", "env_id"),
            ("lr", "learning_rate"),
            ("n-steps", "num_steps"),
            ("clip-range", "clip_coef"),
            ("n_epochs", "update_epochs"),
        ):
            for command in ("train", "study"):
                self.fails(2, [f"'--{flag}'; did you mean '--{key}'?"], command, f"--{flag}", "1")
        self.fails(
            2, ["lr.toml:1:", "'learning_rate'"], "train", self.write("lr.toml", "lr = 0.1\n")
        )
        self.fails(
            2,
            ["base.toml:3:", "'num_envs'"],
            "study",
            self.write("base.toml", "seeds = 1\n[base]\nn_envs = 8\n"),
        )

    def test_flags_of_other_programs_that_have_no_key(self):
        for flag, words in (
            ("track", "Weights & Biases"),
            ("wandb_project_name", "metrics.jsonl"),
            ("wandb-entity", "--tensorboard"),
            ("cuda", "--device cuda"),
            ("no-cuda", "--threads N"),
            ("gpu", "--device cuda"),
            ("torch-deterministic", "every run is deterministic"),
            ("no-torch_deterministic", "deterministic"),
            ("capture_video", "broadloom watch RUN"),
            ("exp_name", "--out DIR"),
            ("save_model", "--checkpoint_interval"),
            ("upload_model", ".safetensors"),
            ("hf_entity", ".safetensors"),
        ):
            for command in ("train", "study"):
                self.fails(2, [f"unknown flag '--{flag}': ", words], command, f"--{flag}", "1")
        self.fails(
            2, ["unknown flag '--track'; did you mean '--task'?"], "report", "store", "--track"
        )
        self.fails(2, ["device: got 'gpu'", "cpu | cuda"], "train", "--device", "gpu")
        self.fails(
            2, ["device: got 'cuda:1'", "CUDA_VISIBLE_DEVICES to 1"], "train", "--device", "cuda:1"
        )
        for command in ("train", "study", "advise"):
            self.fails(
                2,
                ["unknown flag '--config'", "`broadloom train FILE.toml`"],
                command,
                "--config",
                "file.toml",
            )

    def test_files_of_another_kind(self):
        study = self.write("study.toml", "seeds = 2\n[base]\nenv_id = 'CartPole-v1'\n")
        config = self.write("config.toml", "env_id = 'CartPole-v1'\nnum_envs = 4\n")
        panel = self.write("panel.toml", "env_id = 'CartPole-v1'\nepisodes = 4\n")
        for command in (["train"], ["advise"]):
            self.fails(
                2,
                [f"'{study}' is a study, expected", f"`broadloom study {study}`"],
                *command,
                study,
            )
            self.fails(2, ["is a panel", f"`broadloom eval RUN --panel {panel}`"], *command, panel)
        self.fails(
            2,
            [f"'{config}' is a config", "expected a study", f"`broadloom train {config}`"],
            "study",
            config,
        )
        self.fails(2, ["is a study, expected a panel"], "eval", "run", "--panel", study)
        self.fails(2, ["is a config", "expected a panel"], "compare", "run", "b", "--panel", config)
        # A file that may be a panel has its own error.
        either = self.write(
            "either.toml",
            "env_id = 'CartPole-v1'\n[strata.a]\nhalf_length = 0.5\nweight = 3\n",
        )
        self.fails(
            2, ["a panel plays all strata equally often"], "compare", "run", "b", "--panel", either
        )
        self.fails(2, ["is a study, expected the store of a study"], "report", study)
        self.fails(2, ["is a config", "expected a ledger"], "rerun", config)
        self.run_program("train", *SMALL, "--out", "run", "--quiet")
        ledger, checkpoint = (
            "ledger.jsonl",
            "run/checkpoints/"
            + sorted(os.listdir(os.path.join(self.folder.name, "run/checkpoints")))[-1],
        )
        self.fails(2, ["is a ledger", f"`broadloom rerun {ledger}`"], "train", ledger)
        self.fails(2, ["is a checkpoint", f"`broadloom eval {checkpoint}`"], "train", checkpoint)
        # An error in a file of the right kind names its line.
        self.fails(
            2,
            ["slip.toml:3:", "'seed'"],
            "train",
            self.write("slip.toml", "env_id = 'CartPole-v1'\nnum_envs = 4\nseeds = 3\n"),
        )

    def test_words_that_are_no_config_file(self):
        self.fails(3, ["'256'", "--hidden_sizes 256,256"], "train", "--hidden_sizes", "256", "256")
        self.fails(3, ["'256'", "--hidden_sizes 256,256"], "study", "--hidden_sizes", "256", "256")
        os.makedirs(os.path.join(self.folder.name, "runs", "k9"))
        self.fails(4, ["broadloom train --resume runs/k9`"], "train", "runs/k9")

    def test_switches_take_true_or_false(self):
        for flag in ("hashes", "norm_obs", "anneal_lr"):
            for value in ("maybe", "1abc", "-5", "", "2"):
                self.fails(
                    2,
                    [f"--{flag}: got '{value}', expected true or false"],
                    "train",
                    f"--{flag}={value}",
                )
        self.fails(2, ["--json: got 'x', expected true or false"], "env", "list", "--json=x")
        self.fails(2, ["--quiet: got 'yes', expected true or false"], "eval", "run", "--quiet=yes")
        for words, hashes in (
            (["--hashes=True"], True),
            (["--hashes", "true"], True),
            (["--hashes=1"], True),
            (["--hashes=0"], False),
            (["--no-hashes"], False),
            (["--hashes", "false"], False),
        ):
            out = "_".join(["run", *words])
            self.assertEqual(
                self.run_program("train", *SMALL, *words, "--out", out, "--quiet").returncode,
                0,
                words,
            )
            self.assertEqual(
                os.path.exists(os.path.join(self.folder.name, out, "hashes.bin")), hashes, words
            )

    def test_a_word_behind_a_switch_that_is_no_file_is_its_value(self):
        for command in ("train", "study"):
            for value in ("maybe", "-5", "CartPole-v1"):
                self.fails(
                    2,
                    [f"--norm_obs: got '{value}', expected true or false"],
                    command,
                    "--norm_obs",
                    value,
                )
        file = self.write("small", "total_timesteps = 1024\nnum_envs = 2\nnum_steps = 64\n")
        self.assertEqual(
            self.run_program("train", "--norm_obs", file, "--out", "run", "--quiet").returncode, 0
        )
        self.fails(3, ["cannot open the config file 'no.toml'"], "train", "--norm_obs", "no.toml")

    def test_names_that_begin_with_a_dash(self):
        for name in ("-dash", "--two"):
            self.assertEqual(
                self.run_program(
                    "train", *SMALL, "--hashes", f"--out={name}", "--quiet"
                ).returncode,
                0,
            )
            result = self.run_program("eval", "--episodes", "1", "--", name)
            self.assertEqual(result.returncode, 0, result.stderr)
        result = self.run_program("eval", "-dash", "--episodes", "1")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.run_program("train", "--resume", "-dash").returncode, 0)
        self.assertEqual(self.run_program("diff", "-dash", "-dash").returncode, 0)
        self.assertEqual(self.run_program("curve", "-dash", "--out", "-curve.svg").returncode, 0)
        self.fails(3, ["'./-none'"], "eval", "-none")
        self.fails(2, ["unknown flag '-json'; did you mean '--json'?"], "eval", "run", "-json")
        for flag in ("-h", "-v"):
            self.assertEqual(self.run_program(flag).returncode, 0)
        self.assertEqual(self.run_program("eval", "-h").returncode, 0)

    def test_numbers_as_in_toml(self):
        run = self.object_of(
            "train", *SMALL[2:], "--total_timesteps", "1_024", "--out", "run", "--json"
        )
        self.assertEqual(run["total_timesteps"], 1024)
        self.fails(
            2,
            ["total_timesteps: got '10_', expected an integer, at least 1"],
            "train",
            "--total_timesteps",
            "10_",
        )

    def test_values_that_are_empty(self):
        for command, flag in (
            ("study", "--part"),
            ("train", "--resume"),
            ("train", "--out"),
            ("study", "--seeds"),
        ):
            self.fails(2, [flag, "empty value"], command, f"{flag}=")
        self.assertEqual(
            self.run_program(
                "train", *SMALL, "--out", "run", "--quiet", "--instruments="
            ).returncode,
            0,
        )

    def test_studies_that_are_none(self):
        self.fails(2, ["FILE.toml", "--seeds 5"], "study")
        self.fails(
            2,
            ["hidden_sizes = [[64, 64], [256, 256]]"],
            "study",
            "--seeds",
            "1",
            "--grid",
            "hidden_sizes=256,256",
        )

    def test_a_study_names_all_that_differs_from_its_store(self):
        file = self.write(
            "tiny.toml", "[base]\ntotal_timesteps = 1024\nnum_envs = 2\nnum_steps = 64\n"
        )
        self.assertEqual(
            self.run_program("study", file, "--seeds", "2", "--no_report", "--quiet").returncode, 0
        )
        self.fails(
            6, ["'seeds 1,2', this study 'seeds 1'"], "study", file, "--seeds", "1", "--quiet"
        )
        self.fails(
            6,
            [
                "'learning_rate 0.00025', this study 'learning_rate 0.001'; the store has 'seeds "
                "1,2'"
            ],
            "study",
            file,
            "--seeds",
            "1",
            "--learning_rate",
            "1e-3",
            "--quiet",
        )

    def test_hints_name_the_whole_command(self):
        self.fails(2, ["`broadloom env bench --help`"], "env", "bench", "CartPole-v1", "--qqqqqqq")
        self.fails(2, ["`broadloom env show --help`"], "env", "show")
        self.fails(2, ["`broadloom eval --help`"], "eval")
        self.fails(2, ["--no_quiet takes no value"], "train", "--no-quiet=true")

    def test_unknown_instruments_name_those_there_are(self):
        self.fails(
            2,
            ["instruments", "'thermometer'", "expected gradient"],
            "train",
            "--instruments",
            "thermometer",
        )
        self.fails(2, ["instrument_every", "at least 1"], "train", "--instrument_every", "0")

    def test_unknown_commands_name_the_nearest(self):
        self.fails(2, ["'tran'", "'train'"], "tran")
        self.fails(2, ["'shw'", "'show'"], "env", "shw")
        self.fails(2, ["--help"])

    def test_values_out_of_range(self):
        self.fails(2, ["num_envs: got 0, expected 1 to"], "train", "--num_envs", "0")
        self.fails(2, ["gamma: got 1.5, expected 0 to 1"], "train", "--gamma", "1.5")
        self.fails(2, ["learning_rate: got 'nan'"], "train", "--learning_rate", "nan")
        self.fails(2, ["num_steps: got 'many'", "an integer"], "train", "--num_steps", "many")
        self.fails(2, ["activation: got 'tanj'", "'tanh'"], "train", "--activation", "tanj")
        self.fails(2, ["minibatch_size: got 513", "512"], "train", "--minibatch_size", "513")
        self.fails(2, ["total_timesteps: got 10"], "train", "--total_timesteps", "10")
        self.fails(2, ["log_std_init: got -21"], "train", "--log_std_init", "-21")
        self.fails(2, ["--gamma needs a value"], "train", "--gamma")
        self.fails(2, ["--seed needs a value"], "train", "--seed", "--quiet")

    def test_unknown_environments_and_options(self):
        self.fails(3, ["'CartPol-v1'", "'CartPole-v1'"], "train", "--env_id", "CartPol-v1")
        self.fails(3, ["'CartPol-v1'", "'CartPole-v1'"], "env", "show", "CartPol-v1")
        self.fails(
            2,
            ["slipery", "is_slippery"],
            "train",
            "--env_id",
            "FrozenLake-v1",
            "--env.slipery",
            "false",
        )
        self.fails(
            2, ["'g'; did you mean 'gravity'?"], "train", "--env_id", "Pendulum-v1", "--env.g", "9"
        )
        self.fails(
            2,
            ["'q'; expected one of: gravity, mass"],
            "train",
            "--env_id",
            "Pendulum-v1",
            "--env.q",
            "9",
        )

    def test_environments_of_python_get_a_sentence(self):
        python = (
            "environments of gymnasium need the Python package: install it with `pip install .`, "
            "and call `python -m broadloom`"
        )
        self.fails(
            3,
            ["'gymnasium/LunarLander-v3'", python],
            "train",
            "--env_id",
            "gymnasium/LunarLander-v3",
        )
        self.fails(
            3,
            [python, "Broadloom's own is --env_id CartPole-v1"],
            "train",
            "--env_id",
            "gymnasium/CartPole-v1",
        )
        self.fails(
            3,
            ["'LunarLander-v3'", "with the Python package, as gymnasium/LunarLander-v3"],
            "train",
            "--env_id",
            "LunarLander-v3",
        )
        self.fails(3, ["broadloom.register(name, function)"], "train", "--env_id", "python/Mine-v0")
        own = "unknown environment 'Mine/Reach-v0'; `broadloom env list` lists all of them. For an "
        self.fails(3, [own], "train", "--env_id", "Mine/Reach-v0")
        for env_id in ("gymnasium/CartPole-v1", "LunarLander-v3"):
            self.assertNotIn("MountainCar", self.run_program("train", "--env_id", env_id).stderr)
        self.fails(
            2,
            ["is_slippery", "maybe"],
            "train",
            "--env_id",
            "FrozenLake-v1",
            "--env.is_slippery",
            "maybe",
        )

    def test_environments_are_checked(self):
        self.assertEqual(self.run_program("env", "check", "Taxi-v3").returncode, 0)
        wrong = self.run_program(
            "env", "check", "CliffWalking-v1", "--json"
        )  # chance has no part in it
        self.assertEqual(wrong.returncode, 6)
        report = json.loads(wrong.stdout)
        self.assertFalse(report["agrees"])
        self.assertEqual(
            [check["name"] for check in report["checks"] if check["findings"]],
            ["other seeds, streams and families give other steps"],
        )
        self.assertEqual(
            self.run_program("env", "check", "CliffWalking-v1", "--no_chance").returncode, 0
        )
        noisy = self.run_program(
            "env",
            "check",
            "CartPole-v1",
            "--disturb.obs_noise",
            "0.1",
            "--disturb.action_delay",
            "2",
        )
        self.assertEqual(noisy.returncode, 0, noisy.stdout)
        self.fails(2, ["time_limit", "1"], "env", "check", "CartPole-v1", "--time_limit", "1")
        self.write("lake.toml", "env_id = 'FrozenLake-v1'\n[env]\nis_slippery = false\n")
        self.assertEqual(self.run_program("env", "check", "FrozenLake-v1").returncode, 0)
        self.assertEqual(self.run_program("env", "check", "lake.toml").returncode, 6)  # no chance
        sure = self.run_program("env", "check", "lake.toml", "--no_chance")
        self.assertIn("FrozenLake-v1 passes all checks", sure.stdout, sure.stderr)
        shown = self.object_of("env", "show", "lake.toml", "--json")
        self.assertEqual(shown["id"], "FrozenLake-v1")
        lake = ("lake.toml", "--num_steps", "9", "--threads", "1", "--json")
        self.assertEqual(self.object_of("env", "bench", *lake)["env_id"], "FrozenLake-v1")
        self.write("short.toml", "env_id = 'Pendulum-v1'\nmax_episode_steps = 5\n")
        shown = self.object_of("env", "show", "short.toml", "--json")
        self.assertEqual(shown["max_episode_steps"], 5)
        short = ("short.toml", "--num_envs", "2", "--num_steps", "10", "--json")
        self.assertEqual(self.object_of("env", "bench", *short)["episodes"], 4)

    def test_environments_are_refused_as_train_refuses_them(self):
        self.write("idle.toml", "env_id = 'CartPole-v1'\n[disturb]\npush_steps = 3\n")
        self.write("bad.toml", "env_id = 'CartPole-v1'\n[env]\ngravity = -5\n")
        for call in (
            ["CartPole-v1", "--disturb.push_steps", "3"],  # does nothing without push_interval
            ["CartPole-v1", "--env.gravity", "-5"],
            ["CartPole-v1", "--env.gravitas", "5"],
            ["idle.toml"],
            ["bad.toml"],
            ["none.toml"],
        ):
            source = call if call[0].endswith(".toml") else ["--env_id", *call]
            train = self.run_program("train", *source)
            self.assertIn(train.returncode, (2, 3), train.stdout)
            for command in ("show", "check", "bench"):
                refused = self.run_program("env", command, *call)
                self.assertEqual(
                    (refused.returncode, refused.stdout, refused.stderr),
                    (train.returncode, "", train.stderr),
                )
        self.fails(2, ["bad.toml:3:", "gravity: got -5"], "env", "check", "bad.toml")
        self.fails(3, ["'CartPol-v1'", "'CartPole-v1'"], "env", "check", "CartPol-v1")

    def test_config_files(self):
        self.fails(3, ["missing.toml"], "train", "missing.toml")
        self.fails(3, ["--env_id CartPole-v1"], "train", "CartPole-v1")
        self.fails(
            2,
            ["bad.toml:2:", "not valid TOML"],
            "train",
            self.write("bad.toml", "seed = 1\ngamma = \n"),
        )
        self.fails(
            2, ["key.toml:1:", "'num_envs'"], "train", self.write("key.toml", "num_env = 1\n")
        )
        self.fails(
            2, ["range.toml:1:", "got 2,"], "train", self.write("range.toml", "gamma = 2.0\n")
        )
        self.fails(
            2, ["type.toml:1:", "quotation"], "train", self.write("type.toml", 'num_envs = "4"\n')
        )
        self.fails(
            2, ["table.toml:", "[env]"], "train", self.write("table.toml", "[ppo]\ngamma = 0.9\n")
        )
        self.fails(2, ["cut.toml:1:"], "train", self.write("cut.toml", "[="))

    def test_lines_of_what_only_the_environment_can_judge(self):
        lake = 'env_id = "FrozenLake-v1"\nseed = 2\n[env]\nis_slippery = false\n'
        self.fails(
            2,
            ["env.toml:5: unknown option of FrozenLake-v1 'is_slipery'"],
            "train",
            self.write("env.toml", lake + "is_slipery = true\n"),
        )
        self.fails(
            3,
            ["id.toml:2: unknown environment 'Cart'"],
            "train",
            self.write("id.toml", 'seed = 1\nenv_id = "Cart"\n'),
        )
        strata = self.write("strata.toml", "[strata.a]\nforce = [9, 11]\nforc = [1, 2]\n")
        self.fails(2, ["strata.toml:3: strata.a.forc: unknown"], "train", strata)
        # The flag is at fault, and not the line.
        file = self.write("fine.toml", lake)
        self.fails(3, ["broadloom: unknown environment 'Cart'"], "train", file, "--env_id", "Cart")
        self.fails(
            2,
            ["broadloom: unknown option of FrozenLake-v1 'is_slipery'"],
            "train",
            file,
            "--env.is_slipery",
            "true",
        )

    def test_missing_runs(self):
        self.fails(3, ["no_such_run"], "eval", "no_such_run")
        self.fails(3, ["no_such_run"], "train", "--resume", "no_such_run")
        self.fails(2, ["--seed"], "train", "--resume", "no_such_run", "--seed", "2")

    def test_unwritable_folders(self):
        # A file in place of a folder stops every user, also root.
        file = self.write("file", "text")
        self.fails(
            4,
            [file, "is a file", "--out"],
            "train",
            *SMALL,
            "--quiet",
            "--out",
            os.path.join(file, "run"),
        )

    def test_errors_are_one_object_too(self):
        error = self.object_of("eval", "no_such_run", "--json", code=3)
        self.assertEqual(error["exit_code"], 3)
        self.assertIn("no_such_run", error["error"])
        self.assertEqual(self.object_of("train", "--nonsense", "--json", code=2)["exit_code"], 2)

    def test_wrong_strata_families_and_limits(self):
        self.fails(
            2,
            ["seed_families", "divisor of num_envs"],
            "train",
            "--num_envs",
            "8",
            "--seed_families",
            "3",
        )
        self.fails(
            2, ["strata.a.forze", "did you mean 'force'"], "train", "--strata.a.forze", "1..2"
        )
        self.fails(2, ["strata.a.force", "upside down"], "train", "--strata.a.force", "2..1")
        self.fails(
            2,
            ["memory_limit: got 1 MB", "make num_envs"],
            "train",
            "--num_envs",
            "4096",
            "--num_steps",
            "16",
            "--memory_limit",
            "1",
            "--quiet",
        )
        self.fails(
            2,
            ["make hidden_sizes smaller"],
            "train",
            "--hidden_sizes",
            "1024,1024",
            "--memory_limit",
            "1",
            "--quiet",
        )

    def test_help_and_version(self):
        for arguments in (
            ["--help"],
            ["train", "--help"],
            ["eval", "-h"],
            ["env", "bench", "--help"],
        ):
            result = self.run_program(*arguments)
            self.assertEqual(result.returncode, 0)
            self.assertLessEqual(max(len(line) for line in result.stdout.splitlines()), 100)
        self.assertIn("--gae_lambda NUMBER", self.run_program("train", "--help").stdout)
        self.assertRegex(
            self.run_program("--version").stdout, r"^broadloom \d+\.\d+\.\d+ \(.+\)\n$"
        )
        self.assertEqual(self.run_program("-v").stdout, self.run_program("--version").stdout)
        for command in ([], ["eval"], ["env", "bench"]):
            self.assertEqual(
                self.run_program("help", *command).stdout,
                self.run_program(*command, "--help").stdout,
            )
        self.fails(2, ["'tran'", "'train'"], "help", "tran")

    def test_environments(self):
        listed = self.object_of("env", "list", "--json")["environments"]
        ids = [spec["id"] for spec in listed]
        self.assertIn("CartPole-v1", ids)
        table = self.run_program("env", "list").stdout
        for name in ids:
            self.assertIn(name, table)
            self.assertEqual(self.object_of("env", "show", name, "--json")["id"], name)
        lake = self.run_program("env", "show", "FrozenLake-v1").stdout
        self.assertRegex(lake, r"is_slippery +bool")
        self.assertIn(
            " Box(6) 4 x [-1, 1] [-12.5664, 12.5664] ",
            self.run_program("env", "show", "Acrobot-v1").stdout,
        )

    def test_bench(self):
        bench = self.object_of(
            "env", "bench", "CartPole-v1", "--num-envs", "3", "--num_steps", "200", "--json"
        )
        self.assertGreater(bench["steps_per_second"], 0)
        # A random policy keeps the pole up for 22 steps on average.
        self.assertGreater(bench["episodes"], 10)
        self.assertGreater(bench["mean_return"], 15)
        self.assertLess(bench["mean_return"], 30)
        one = self.object_of(
            "env", "bench", "CartPole-v1", "--num-envs", "1", "--num_steps", "10", "--json"
        )
        self.assertEqual(one["threads"], 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
