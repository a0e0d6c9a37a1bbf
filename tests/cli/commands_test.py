"""The program as its users meet it: what it says, where it says it, and its exit codes."""
import json
import os
import pty
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
# Small enough to take a blink, large enough for a few episodes to end.
SMALL = ["--total_timesteps", "1024", "--num_envs", "2", "--num_steps", "64"]


class Commands(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def run_program(self, *arguments):
        return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, cwd=self.folder.name,
                              timeout=120)

    def write(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def fails(self, code, words, *arguments):
        result = self.run_program(*arguments)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, "one line says it: " + result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    def object_of(self, *arguments, code=0):
        """The one JSON object on standard output; NaN and Infinity are not JSON."""
        result = self.run_program(*arguments)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stdout.count("\n"), 1)

        def refuse(word):
            raise AssertionError(f"{word} is not JSON")

        return json.loads(result.stdout, parse_constant=refuse)

    # Wrong input.

    def test_unknown_flags_name_the_nearest(self):
        self.fails(2, ["'--lerning_rate'", "'--learning_rate'"], "train", "--lerning_rate", "0.1")
        self.fails(2, ["'--num-env'", "'--num_envs'"], "train", "--num-env=4")
        self.fails(2, ["'--no-clip-vlos'", "clip_vloss'"], "train", "--no-clip-vlos")
        self.fails(2, ["'---'"], "train", "---")
        self.fails(2, ["'--episode'", "'--episodes'"], "eval", "run", "--episode", "3")

    def test_what_few_or_cut_episodes_are_is_said(self):
        cliff = ["--env_id", "CliffWalking-v1", "--num_envs", "1", "--num_steps", "64", "--num_minibatches", "1"]
        one = self.run_program("train", *cliff, "--total_timesteps", "640", "--max_episode_steps", "500", "--out", "one")
        self.assertIn("Mean return of the last episode: -", one.stdout)
        self.assertEqual(json.loads(self.run_program("train", "--resume", "one", "--json").stdout)["episodes"], 1)
        self.run_program("train", *cliff, "--total_timesteps", "64", "--out", "endless")
        cut = self.run_program("eval", "endless", "--episodes", "2e0", "--seed", "1_0")
        self.assertIn("over 2 episodes (seed 10)", cut.stdout)
        self.assertRegex(cut.stdout, r"[12] of 2 episodes were cut after 10,000 steps: their returns are of that part\.\n")

    def test_words_of_other_programs_are_understood(self):
        for flag, key in (("env", "env_id"), ("lr", "learning_rate"), ("n-steps", "num_steps"), ("clip-range", "clip_coef"),
                          ("n_epochs", "update_epochs")):
            for command in ("train", "study"):
                self.fails(2, [f"'--{flag}'; did you mean '--{key}'?"], command, f"--{flag}", "1")
        self.fails(2, ["lr.toml:1:", "'learning_rate'"], "train", self.write("lr.toml", "lr = 0.1\n"))
        self.fails(2, ["base.toml:3:", "'num_envs'"], "study", self.write("base.toml", "seeds = 1\n[base]\nn_envs = 8\n"))

    def test_flags_of_other_programs_that_have_no_key(self):
        for flag, words in (("track", "Weights & Biases"), ("wandb_project_name", "metrics.jsonl"), ("wandb-entity", "--tensorboard"),
                            ("cuda", "--threads N"), ("no-cuda", "--threads N"), ("device", "processor"),
                            ("torch-deterministic", "every run is deterministic"), ("no-torch_deterministic", "deterministic"),
                            ("capture_video", "broadloom eval RUN"), ("exp_name", "--out DIR"),
                            ("save_model", "--checkpoint_interval"), ("upload_model", "nothing is uploaded"), ("hf_entity", "uploaded")):
            for command in ("train", "study"):
                self.fails(2, [f"unknown flag '--{flag}': ", words], command, f"--{flag}", "1")
        self.fails(2, ["unknown flag '--track'; did you mean '--task'?"], "report", "store", "--track")

    def test_words_that_are_no_config_file(self):
        self.fails(3, ["'256'", "--hidden_sizes 256,256"], "train", "--hidden_sizes", "256", "256")
        self.fails(3, ["'256'", "--hidden_sizes 256,256"], "study", "--hidden_sizes", "256", "256")
        os.makedirs(os.path.join(self.folder.name, "runs", "k9"))
        self.fails(4, ["broadloom train --resume runs/k9`"], "train", "runs/k9")

    def test_numbers_as_in_toml(self):
        run = self.object_of("train", *SMALL[2:], "--total_timesteps", "1_024", "--out", "run", "--json")
        self.assertEqual(run["total_timesteps"], 1024)
        self.fails(2, ["total_timesteps: got '10_', expected an integer, at least 1"], "train", "--total_timesteps", "10_")

    def test_values_that_are_empty(self):
        for command, flag in (("study", "--part"), ("train", "--resume"), ("train", "--out"), ("study", "--seeds")):
            self.fails(2, [flag, "empty value"], command, f"{flag}=")
        self.assertEqual(self.run_program("train", *SMALL, "--out", "run", "--quiet", "--instruments=").returncode, 0)

    def test_studies_that_are_none(self):
        self.fails(2, ["FILE.toml", "--seeds 5"], "study")
        self.fails(2, ["hidden_sizes = [[64, 64], [256, 256]]"], "study", "--seeds", "1", "--grid", "hidden_sizes=256,256")

    def test_a_study_names_all_that_differs_from_its_store(self):
        file = self.write("tiny.toml", "[base]\ntotal_timesteps = 1024\nnum_envs = 2\nnum_steps = 64\n")
        self.assertEqual(self.run_program("study", file, "--seeds", "2", "--no_report", "--quiet").returncode, 0)
        self.fails(6, ["'seeds 1,2', this study 'seeds 1'"], "study", file, "--seeds", "1", "--quiet")
        self.fails(6, ["'learning_rate 0.00025', this study 'learning_rate 0.001'; the store has 'seeds 1,2'"], "study", file,
                   "--seeds", "1", "--learning_rate", "1e-3", "--quiet")

    def test_errors_come_before_the_contract(self):
        os.makedirs(os.path.join(self.folder.name, "taken", "by"))
        self.fails(4, ["'taken' exists", "--resume taken"], "train", *SMALL, "--out", "taken")
        self.fails(3, ["'nowhere'"], "train", "--resume", "nowhere")
        self.run_program("train", *SMALL, "--out", "run", "--quiet")
        self.fails(4, ["'run/x'", "inside the run '", "--out"], "train", *SMALL, "--out", "run/x")
        self.assertFalse(os.path.exists(os.path.join(self.folder.name, "run", "ledger.jsonl")))
        self.fails(4, ["'file' is a file", "--out"], "train", *SMALL, "--out", self.write("file", "") and "file")

    def test_steps_left_out_are_said_before_training(self):
        wide = ["--num_envs", "64", "--num_steps", "512", "--total_timesteps", "50000"]
        warning = ("Warning: 50,000 steps asked for, 32,768 will be trained (only 1 update), 34 % left out: choose "
                   "total_timesteps = 327680, or num_envs = 8\n")
        self.assertIn(warning, self.run_program("train", *wide, "--out", "a").stdout)
        self.object_of("train", *wide, "--out", "b", "--json")
        quiet = self.run_program("train", *wide, "--out", "c", "--quiet")
        self.assertEqual((quiet.stdout, quiet.stderr), ("", ""))
        self.assertNotIn("Warning", self.run_program("train", *SMALL, "--num_steps", "32", "--out", "d").stdout)
        plan = self.run_program("study", "--seeds", "1", "--total_timesteps", "50000", "--grid", "num_envs=4,128", "--plan")
        self.assertRegex(plan.stdout, r"\nNote: num_envs=128: 50,000 steps asked for, 49,152 will be trained \(only 3 updates\)")
        self.assertNotIn("num_envs=4: ", plan.stdout)

    def test_curves_of_what_has_no_mean(self):
        for name, *flags in (("a", "--seed", "1"), ("b", "--seed", "2"), ("c", "--learning_rate", "0.01"),
                             ("d", "--total_timesteps", "2048"), ("e", "--disturb.obs_noise", "0.1"),
                             ("f", "--env_id", "Acrobot-v1", "--max_episode_steps", "20")):
            self.assertEqual(self.run_program("train", *SMALL, "--out", name, "--quiet", *flags).returncode, 0)
        self.fails(2, ["'a' and 'f'", "env_id CartPole-v1 and Acrobot-v1"], "curve", "a", "f")
        self.fails(2, ["'b' and 'e'", "disturb.obs_noise"], "curve", "b", "e")
        self.fails(2, ["'z.png'", ".svg"], "curve", "a", "--out", "z.png")
        self.fails(2, ["'a' and 'a' are one run", "--seed"], "curve", "b", "a", "a")
        self.assertFalse([name for name in os.listdir(self.folder.name) if name.endswith((".svg", ".png"))])
        same = self.run_program("curve", "a", "b", "--title", "")
        self.assertEqual((same.returncode, same.stderr), (0, ""))
        other = self.run_program("curve", "a", "b", "c", "d")
        self.assertEqual(other.returncode, 0)
        self.assertIn("Note: the mean is over runs that differ in learning_rate, total_timesteps\n", other.stderr)
        self.assertIn("Note: runs end at 1,024 to 2,048 steps", other.stderr)
        self.assertEqual(self.run_program("curve", "a", "c", "--quiet").stderr, "")

    def test_event_files_that_were_deleted_or_cut_short(self):
        run = os.path.join(self.folder.name, "run")

        def events():
            return sorted(name for name in os.listdir(run) if "tfevents" in name)

        process = subprocess.Popen([PROGRAM, "train", "--total_timesteps", "2000000000", "--num_envs", "2", "--num_steps",
                                    "64", "--out", run, "--lr_schedule", "constant"], stdout=subprocess.PIPE, text=True)
        while "steps/s" not in process.stdout.readline():
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        (first,) = events()
        for damage, left in ((os.remove, 1), (lambda path: os.truncate(path, 10), 2)):
            damage(os.path.join(run, events()[-1]))
            process = subprocess.Popen([PROGRAM, "train", "--resume", run], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       text=True)
            while "steps/s" not in process.stdout.readline():
                self.assertIsNone(process.poll())
            process.send_signal(signal.SIGINT)
            errors = process.communicate(timeout=60)[1]
            self.assertEqual(process.returncode, 130, errors)
            self.assertIn("a new event file begins here", errors)
            self.assertEqual(len(events()), left)
            self.assertGreater(os.path.getsize(os.path.join(run, events()[-1])), 100)
        self.assertNotIn(first, events())

    def on_a_terminal(self, *arguments):
        """Exit code and all that the program writes to a terminal."""
        code, text = None, b""
        process, terminal = pty.fork()
        if process == 0:
            os.chdir(self.folder.name)
            os.execv(PROGRAM, [PROGRAM, *arguments])
        while code is None:
            try:
                text += os.read(terminal, 4096)
            except OSError:  # its end
                code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        os.close(terminal)
        return code, text.decode()

    def test_progress_of_episodes_that_are_played(self):
        self.run_program("train", *SMALL, "--out", "run", "--quiet")
        self.write("panel.toml", 'env_id = "CartPole-v1"\nepisodes = 6000\n')
        for command in (["eval", "run", "--episodes", "6000"], ["eval", "run", "--panel", "panel.toml"],
                        ["compare", "run", "run", "--panel", "panel.toml"]):
            code, text = self.on_a_terminal(*command, "--threads", "1")
            self.assertEqual(code, 0, text)
            self.assertRegex(text, r"\r *\d+ %  [\d,]+ of 6,000 episodes played\x1b\[K")
            self.assertNotIn("played", self.on_a_terminal(*command, "--threads", "1", "--quiet")[1])
            for line in self.run_program(*command).stderr.splitlines():  # no terminal: one every ten seconds
                self.assertRegex(line, r"^ *\d+ %  [\d,]+ of 6,000 episodes played$")

    def test_ctrl_c_ends_a_panel_and_resume_plays_it_again(self):
        self.write("panel.toml", 'env_id = "CartPole-v1"\nepisodes = 1000000\n')
        process = subprocess.Popen([PROGRAM, "train", *SMALL, "--out", "run", "--panel", "panel.toml", "--threads", "1"],
                                   stdout=subprocess.PIPE, text=True, cwd=self.folder.name)
        while "100 %" not in process.stdout.readline():
            self.assertIsNone(process.poll())
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=5), -signal.SIGINT)
        process.communicate()
        self.assertFalse(os.path.exists(os.path.join(self.folder.name, "ledger.jsonl")))

    def test_hints_name_the_whole_command(self):
        self.fails(2, ["`broadloom env bench --help`"], "env", "bench", "CartPole-v1", "--qqqqqqq")
        self.fails(2, ["`broadloom env show --help`"], "env", "show")
        self.fails(2, ["`broadloom eval --help`"], "eval")
        self.fails(2, ["--no_quiet takes no value"], "train", "--no-quiet=true")

    def test_unknown_instruments_name_those_there_are(self):
        self.fails(2, ["instruments", "'thermometer'", "expected gradient"], "train", "--instruments", "thermometer")
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
        self.fails(2, ["slipery", "is_slippery"], "train", "--env_id", "FrozenLake-v1", "--env.slipery", "false")
        self.fails(2, ["is_slippery", "maybe"], "train", "--env_id", "FrozenLake-v1", "--env.is_slippery", "maybe")

    def test_config_files(self):
        self.fails(3, ["missing.toml"], "train", "missing.toml")
        self.fails(3, ["--env_id CartPole-v1"], "train", "CartPole-v1")
        self.fails(2, ["bad.toml:2:", "not valid TOML"], "train", self.write("bad.toml", "seed = 1\ngamma = \n"))
        self.fails(2, ["key.toml:1:", "'num_envs'"], "train", self.write("key.toml", "num_env = 1\n"))
        self.fails(2, ["range.toml:1:", "got 2,"], "train", self.write("range.toml", "gamma = 2.0\n"))
        self.fails(2, ["type.toml:1:", "quotation"], "train", self.write("type.toml", 'num_envs = "4"\n'))
        self.fails(2, ["table.toml:", "[env]"], "train", self.write("table.toml", "[ppo]\ngamma = 0.9\n"))
        self.fails(2, ["cut.toml:1:"], "train", self.write("cut.toml", "[="))

    def test_lines_of_what_only_the_environment_can_judge(self):
        lake = 'env_id = "FrozenLake-v1"\nseed = 2\n[env]\nis_slippery = false\n'
        self.fails(2, ["env.toml:5: unknown key 'is_slipery'"], "train", self.write("env.toml", lake + "is_slipery = true\n"))
        self.fails(3, ["id.toml:2: unknown environment 'Cart'"], "train", self.write("id.toml", 'seed = 1\nenv_id = "Cart"\n'))
        strata = self.write("strata.toml", "[strata.a]\nforce = [9, 11]\nforc = [1, 2]\n")
        self.fails(2, ["strata.toml:3: strata.a.forc: unknown"], "train", strata)
        # The flag is at fault, and not the line.
        file = self.write("fine.toml", lake)
        self.fails(3, ["broadloom: unknown environment 'Cart'"], "train", file, "--env_id", "Cart")
        self.fails(2, ["broadloom: unknown key 'is_slipery'"], "train", file, "--env.is_slipery", "true")

    def test_missing_runs(self):
        self.fails(3, ["no_such_run"], "eval", "no_such_run")
        self.fails(3, ["no_such_run"], "train", "--resume", "no_such_run")
        self.fails(2, ["--seed"], "train", "--resume", "no_such_run", "--seed", "2")

    def test_unwritable_folders(self):
        # A file where a folder should be stops every user, root too.
        file = self.write("file", "text")
        self.fails(4, [file, "is a file", "--out"], "train", *SMALL, "--quiet", "--out", os.path.join(file, "run"))

    def test_errors_are_one_object_too(self):
        error = self.object_of("eval", "no_such_run", "--json", code=3)
        self.assertEqual(error["exit_code"], 3)
        self.assertIn("no_such_run", error["error"])
        self.assertEqual(self.object_of("train", "--nonsense", "--json", code=2)["exit_code"], 2)

    # What it prints of itself.

    def test_help_and_version(self):
        for arguments in (["--help"], ["train", "--help"], ["eval", "-h"], ["env", "bench", "--help"]):
            result = self.run_program(*arguments)
            self.assertEqual(result.returncode, 0)
            self.assertLessEqual(max(len(line) for line in result.stdout.splitlines()), 100)
        self.assertIn("--gae_lambda NUMBER", self.run_program("train", "--help").stdout)
        self.assertRegex(self.run_program("--version").stdout, r"^broadloom \d+\.\d+\.\d+ \(.+\)\n$")
        self.assertEqual(self.run_program("-v").stdout, self.run_program("--version").stdout)
        for command in ([], ["eval"], ["env", "bench"]):
            self.assertEqual(self.run_program("help", *command).stdout, self.run_program(*command, "--help").stdout)
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
        self.assertIn(" Box(6) 4 x [-1, 1] [-12.5664, 12.5664] ", self.run_program("env", "show", "Acrobot-v1").stdout)

    def test_bench(self):
        bench = self.object_of("env", "bench", "CartPole-v1", "--num-envs", "3", "--num_steps", "200", "--json")
        self.assertGreater(bench["steps_per_second"], 0)
        # A random policy keeps the pole up for 22 steps on average.
        self.assertGreater(bench["episodes"], 10)
        self.assertGreater(bench["mean_return"], 15)
        self.assertLess(bench["mean_return"], 30)
        one = self.object_of("env", "bench", "CartPole-v1", "--num-envs", "1", "--num_steps", "10", "--json")
        self.assertEqual(one["threads"], 1)

    # A whole small life.

    def test_train_and_eval(self):
        out = os.path.join(self.folder.name, "run")
        run = self.object_of("train", *SMALL, "--out", out, "--threads", "2", "--json", "--no-clip-vloss")
        self.assertEqual((run["run_dir"], run["global_step"], run["finished"]), (out, 1024, True))
        self.assertGreater(run["mean_return"], 5)
        with open(os.path.join(out, "manifest.json"), encoding="utf-8") as file:
            self.assertRegex(file.read(), r'"clip_vloss": *"?false')
        score = self.object_of("eval", out, "--episodes", "7", "--json")
        self.assertEqual(score["episodes"], 7)
        self.assertLessEqual(score["ci_low"], score["mean_return"])
        self.assertLessEqual(score["mean_return"], score["ci_high"])
        self.assertGreater(score["mean_length"], 5)
        self.assertEqual(list(score["reasons"]), ["cart_left_track", "pole_fell", "time_limit", "unfinished"])
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
        self.assertIn("Nothing left to train: 1,024 of 1,024", self.run_program("train", "--resume", out).stdout)

    # Evaluations.

    def checkpoints(self, run):
        folder = os.path.join(run, "checkpoints")
        return [os.path.join(folder, name) for name in sorted(os.listdir(os.path.join(self.folder.name, folder)))]

    def test_eval_of_a_checkpoint_file(self):
        self.run_program("train", *SMALL, "--out", "a", "--checkpoint_interval", "4", "--keep_checkpoints", "0")
        first, middle, last = self.checkpoints("a")
        scores = [self.object_of("eval", source, "--episodes", "7", "--json") for source in ("a", last, middle, first)]
        self.assertEqual([score["global_step"] for score in scores], [1024, 1024, 512, 0])
        self.assertEqual(dict(scores[0], run_dir=last), scores[1])
        self.assertEqual(len(self.ledger("a/eval_command.jsonl")), 1)  # a file alone has no log
        self.fails(3, ["no run folder 'none.safetensors', nor a checkpoint file"], "eval", "none.safetensors")
        panel = self.write("p.toml", 'env_id = "CartPole-v1"\nepisodes = 3\nseed = 1\n')
        played = self.object_of("eval", middle, "--panel", panel, "--json")
        self.assertEqual((played["file"], played["run"]["global_step"]), (None, 512))

    def test_a_damaged_checkpoint_and_the_way_out(self):
        self.run_program("train", *SMALL, "--out", "a", "--checkpoint_interval", "4", "--keep_checkpoints", "0")
        paths = self.checkpoints("a")
        while len(paths) > 1:
            newest = paths.pop()
            os.truncate(os.path.join(self.folder.name, newest), 1000)
            for command in (["eval", "a"], ["train", "--resume", "a", "--quiet"], ["audit", "a"], ["gradients", "a", "--out", "g"]):
                self.fails(5, [f"'{newest}' is damaged", f"remove that file, and '{paths[-1]}' will be used"], *command)
            self.fails(5, [f"'{newest}' is damaged", "use another checkpoint"], "eval", newest)
            os.remove(os.path.join(self.folder.name, newest))
            self.assertEqual(self.object_of("eval", "a", "--json")["global_step"], 512 * (len(paths) - 1))
        os.truncate(os.path.join(self.folder.name, paths[0]), 1000)
        self.fails(5, ["no other checkpoint: train it anew"], "eval", "a")

    def test_eval_plays_most_likely_or_sampled_actions(self):
        self.run_program("train", "--env_id", "Acrobot-v1", "--total_timesteps", "60000", "--seed", "3", "--out", "a", "--quiet")
        most_likely = self.object_of("eval", "a", "--json")
        sampled = [self.object_of("eval", "a", "--actions", "sampled", "--threads", threads, "--json") for threads in "13"]
        self.assertEqual(sampled[0], sampled[1])
        self.assertEqual((most_likely["actions"], sampled[0]["actions"]), ("most_likely", "sampled"))
        # Young: what succeeds by exploring gets stuck without.
        self.assertLess(most_likely["ci_high"], sampled[0]["ci_low"])
        lines = map(json.loads, self.ledger("a/eval_command.jsonl"))
        self.assertEqual([line["actions"] for line in lines], ["most_likely", "sampled", "sampled"])
        explained = "Training explores (mean return "
        text = self.run_program("eval", "a").stdout
        self.assertIn("a at step 59,904, most likely actions\n", text)
        self.assertIn(explained, text)
        text = self.run_program("eval", "a", "--actions", "sampled").stdout
        self.assertIn("a at step 59,904, sampled actions, as in training\n", text)
        self.assertNotIn(explained, text)
        self.fails(2, ["actions: got 'greedy', expected most_likely or sampled"], "eval", "a", "--actions", "greedy")
        self.fails(2, ["--actions", "--panel"], "eval", "a", "--actions", "sampled", "--panel", "p.toml")

    def unprivileged(self, *arguments):
        """Runs the program as one whom file rights stop, in a copy that everybody may execute."""
        copy = os.path.join(self.folder.name, "broadloom")
        if not os.path.exists(copy):
            shutil.copy(PROGRAM, copy)
        os.chmod(self.folder.name, 0o755)
        nobody = 65534
        try:
            return subprocess.run([copy, *arguments], capture_output=True, text=True, cwd=self.folder.name, timeout=120,
                                  preexec_fn=lambda: os.setuid(nobody) if os.getuid() == 0 else None)
        except subprocess.SubprocessError as error:
            self.skipTest(f"cannot be another user here: {error}")

    def test_eval_of_a_run_in_a_folder_that_one_may_not_write(self):
        self.run_program("train", *SMALL, "--out", "a", "--quiet")
        panel = self.write("p.toml", 'env_id = "CartPole-v1"\nepisodes = 3\nseed = 1\n')
        os.chmod(os.path.join(self.folder.name, "a"), 0o555)
        self.addCleanup(os.chmod, os.path.join(self.folder.name, "a"), 0o755)
        text = self.unprivileged("eval", "a")
        self.assertEqual(text.returncode, 0, text.stderr)
        self.assertIn("Mean return ", text.stdout)
        self.assertRegex(text.stderr, r"^Note: eval_command.jsonl was not extended: .*: Permission denied; .*\n$")
        self.assertNotIn("--out", text.stderr)
        as_json = self.unprivileged("eval", "a", "--json")
        self.assertEqual(json.loads(as_json.stdout), self.object_of("eval", "a", "--json"))  # root may write
        scored = self.unprivileged("eval", "a", "--panel", panel)
        self.assertEqual(scored.returncode, 0, scored.stderr)
        self.assertIn("In brackets: 95 % intervals.", scored.stdout)
        self.assertNotIn("Written:", scored.stdout)
        self.assertRegex(scored.stderr, r"^Note: the result is not kept: .*Permission denied")
        quiet = self.unprivileged("eval", "a", "--panel", panel, "--quiet")  # it was asked for nothing but the file
        self.assertEqual((quiet.returncode, quiet.stdout), (4, ""), quiet.stderr)

    def test_eval_keeps_its_result_where_the_log_is_no_file(self):
        self.run_program("train", *SMALL, "--out", "a", "--quiet")
        os.mkdir(os.path.join(self.folder.name, "a", "eval_command.jsonl"))  # stops root, too
        score = self.object_of("eval", "a", "--json")
        self.assertEqual(score["episodes"], 100)
        self.assertIn("eval_command.jsonl was not extended", self.run_program("eval", "a").stderr)
        self.fails(4, ["eval_command.jsonl", "Is a directory"], "eval", "a", "--quiet")

    def test_a_run_that_begins_with_anothers_policy(self):
        self.run_program("train", "--env_id", "Acrobot-v1", "--total_timesteps", "60000", "--seed", "3", "--out", "a", "--quiet")
        young = ["train", "--env_id", "Acrobot-v1", "--init", "a"]
        # It stands still, so that training's episodes and sampled ones are of one policy.
        still = self.object_of(*young, "--learning_rate", "0", "--num_envs", "32", "--total_timesteps", "65536", "--out", "b", "--json")
        sampled = self.object_of("eval", "b", "--actions", "sampled", "--json")
        self.assertEqual(sampled, dict(self.object_of("eval", "a", "--actions", "sampled", "--json"), run_dir="b",
                                       global_step=65536))
        self.assertLess(abs(still["mean_return"] - sampled["mean_return"]), sampled["ci_high"] - sampled["ci_low"])
        first, second = map(json.loads, self.ledger())
        self.assertEqual(second["init"]["parameters_hash"], first["result"]["parameters_hash"])
        self.assertEqual(second["result"]["parameters_hash"], first["result"]["parameters_hash"])
        text = self.run_program(*young, "--total_timesteps", "2048", "--out", "c").stdout
        self.assertRegex(text, r"Begins with the policy of a/checkpoints/.* \(step 59,904\)\n")
        self.assertTrue(self.object_of("rerun", "ledger.jsonl:3", "--out", "again", "--json", "--quiet")["agrees"])
        shutil.move(os.path.join(self.folder.name, "a"), os.path.join(self.folder.name, "d"))
        self.fails(3, ["began with another one's policy", first["result"]["parameters_hash"], "--init"], "rerun", "c", "--quiet")
        found = self.object_of("rerun", "c", "--init", "d", "--out", "again2", "--json", "--quiet")
        self.assertTrue(found["agrees"])
        self.fails(6, ["observations: got Box(6), expected Box(4)"], "train", *SMALL, "--init", "d", "--out", "e", "--quiet")
        self.fails(3, ["no run folder 'none'"], "train", *SMALL, "--init", "none", "--quiet")
        self.fails(2, ["--init"], "train", "--resume", "c", "--init", "d")

    def test_a_run_that_is_made_longer(self):
        steady = ["train", *SMALL, "--lr_schedule", "constant", "--hashes", "--eval_interval", "3"]
        self.run_program(*steady, "--total_timesteps", "2048", "--out", "whole", "--quiet", "--ledger", "none")
        self.run_program(*steady, "--out", "a", "--quiet")
        longer = ["train", "--resume", "a", "--json", "--total_timesteps"]
        self.assertEqual(self.object_of(*longer, "1536")["record"], "ledger.jsonl:2")
        self.assertEqual(self.object_of(*longer, "2048", "--threads", "2")["record"], "ledger.jsonl:3")
        same = self.object_of("diff", "a", "whole", "--json")
        self.assertEqual((same["equal"], same["compared"], same["settings"]), (True, 16, {}))
        lines = list(map(json.loads, self.ledger()))
        self.assertEqual([line["config"]["total_timesteps"] for line in lines], ["1024", "1536", "2048"])
        self.assertEqual([line["run"].get("extended_from") for line in lines], [None, [1024], [1024, 1536]])
        for line in "123":  # each says what the run then was
            again = self.object_of("rerun", f"ledger.jsonl:{line}", "--out", f"again{line}", "--json", "--quiet")
            self.assertTrue(again["agrees"], line)
        with open(os.path.join(self.folder.name, "a", "eval.jsonl"), encoding="utf-8") as file:
            steps = [json.loads(line)["global_step"] // 128 for line in file]
        self.assertEqual(steps, [3, 6, 8, 9, 12, 15, 16])  # those of its old ends stay
        self.fails(2, ["got 2100", "at least 2176"], "train", "--resume", "a", "--total_timesteps", "2100", "--quiet")
        self.assertEqual(len(self.ledger()), 3)
        self.fails(2, ["got 1024", "only be made longer"], "train", "--resume", "a", "--total_timesteps", "1024", "--quiet")
        self.fails(2, ["--gamma", "--init"], "train", "--resume", "a", "--total_timesteps", "4096", "--gamma", "0.9", "--quiet")
        self.fails(2, ["total_timesteps: got 'more'"], "train", "--resume", "a", "--total_timesteps", "more", "--quiet")
        self.run_program("train", *SMALL, "--out", "linear", "--quiet")
        self.fails(2, ["lr_schedule = linear", "--init linear"], "train", "--resume", "linear", "--total_timesteps", "4096")

    def test_diff(self):
        for name, extra in (("a", []), ("b", ["--eval_interval", "1"]), ("c", ["--seed", "2"]), ("d", [])):
            hashes = [] if name == "d" else ["--hashes"]
            self.run_program("train", *SMALL, "--out", name, "--quiet", *hashes, *extra)
        same = self.object_of("diff", "a", "b", "--json")
        self.assertEqual((same["equal"], same["compared"], same["parting"]), (True, 8, None))
        self.assertEqual(same["settings"], {"eval_interval": ["0", "1"]})
        self.assertIn("Equal in all 8 iterations", self.run_program("diff", "a", "b").stdout)
        other = self.object_of("diff", "a", "c", "--json", code=6)
        self.assertEqual(other["parting"], {"iteration": 1, "field": "observations", "step": 0,
                                            "environments": [0, 1], "global_step": 2})
        text = self.run_program("diff", "a", "c")
        self.assertEqual((text.returncode, text.stderr), (6, ""))
        self.assertRegex(text.stdout, r"seed +1 \| 2\n")
        self.assertIn("observations of one or more of the 2 environments that differ in this block (0, 1) at step 0 "
                      "of iteration 1 (global step 2)", text.stdout)
        self.fails(3, ["'d' has no hashes.bin", "--hashes"], "diff", "a", "d")
        os.truncate(os.path.join(self.folder.name, "b", "hashes.bin"), 64)
        self.fails(3, ["nothing to compare", "cut short"], "diff", "a", "b")
        self.fails(3, ["no run folder 'none'"], "diff", "none", "a")

    def ledger(self, path="ledger.jsonl"):
        with open(os.path.join(self.folder.name, path), encoding="utf-8") as file:
            return file.read().splitlines()

    def test_a_run_is_recorded_and_run_again(self):
        run = self.object_of("train", *SMALL, "--out", "a", "--eval_interval", "4", "--json")
        self.assertEqual(run["record"], "ledger.jsonl:1")
        text = self.run_program("train", *SMALL, "--out", "b/", "--env_id", "Pendulum-v1", "--num_minibatches", "4")
        self.assertIn("Recorded as: ledger.jsonl:2\n", text.stdout)
        first, second = map(json.loads, self.ledger())
        self.assertEqual((first["contract"]["num_envs"], first["result"]["global_step"]), (2, 1024))
        self.assertEqual(first["config"]["eval_interval"], "4")
        self.assertEqual(first["evaluation"]["episodes"], 10)
        self.assertEqual((second["contract"]["env_id"], second["evaluation"]), ("Pendulum-v1", None))
        self.assertGreater(second["speed"]["steps_per_second"], 0)
        again = self.object_of("rerun", "ledger.jsonl:1", "--out", "again", "--json", "--quiet", "--threads", "2")
        self.assertEqual((again["finished"], again["agrees"]), (True, True))
        fields = {field["name"]: field for field in again["fields"]}
        for name in ("result.parameters_hash", "result.mean_return", "evaluation.mean_return", "config.gamma"):
            self.assertEqual((fields[name]["rule"], fields[name]["agrees"]), ("exact", True), name)
        self.assertGreater(fields["speed.steps_per_second"]["ratio"], 0)
        self.assertEqual(len(self.ledger()), 2)  # a rerun is a check, not a run of its own
        folder = self.run_program("rerun", "b", "--out", "again_b")
        self.assertIn("fields that must agree do.", folder.stdout)

    def test_folders_that_nobody_named_do_not_meet(self):
        runs = {self.object_of("train", *SMALL, "--json")["run_dir"] for _ in range(3)}
        self.assertEqual(len(runs), 3)

    def test_recording_twice_elsewhere_or_not_at_all(self):
        self.run_program("train", *SMALL, "--out", "a", "--quiet")
        line = self.ledger()
        again = self.object_of("train", "--resume", "a", "--json")  # finished: recorded already
        self.assertEqual((again["record"], self.ledger()), ("ledger.jsonl:1", line))
        other = self.object_of("train", "--resume", "a", "--ledger", "all/of/them.jsonl", "--json")
        self.assertEqual((other["record"], self.ledger("all/of/them.jsonl")), ("all/of/them.jsonl:1", line))
        none = self.object_of("train", *SMALL, "--out", "b", "--ledger", "none", "--json")
        self.assertEqual((none["record"], self.ledger()), ("", line))

    def test_runs_that_end_together_are_all_recorded(self):
        runs = [subprocess.Popen([PROGRAM, "train", *SMALL, "--seed", str(i), "--out", f"run{i}", "--quiet"],
                                 cwd=self.folder.name) for i in range(8)]
        self.assertEqual([run.wait(timeout=120) for run in runs], [0] * 8)
        self.assertEqual(sorted(json.loads(line)["config"]["seed"] for line in self.ledger()), list("01234567"))

    def test_a_ledger_that_cannot_be_written_costs_no_run(self):
        large = self.write("large.jsonl", '{"format":1}\n' * 40000)

        def limit():  # to less than the ledger has already, and more than any file of the run
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(large) - 1000, resource.RLIM_INFINITY))

        result = subprocess.run([PROGRAM, "train", *SMALL, "--out", "a", "--ledger", large, "--quiet"], capture_output=True,
                                text=True, cwd=self.folder.name, timeout=120, preexec_fn=limit)
        self.assertEqual(result.returncode, 4, result.stderr)
        for words in ("trained and saved in 'a'", "not recorded", f"--resume a --ledger {large}"):
            self.assertIn(words, result.stderr)
        self.assertEqual(os.path.getsize(large), 40000 * 13)
        self.assertEqual(self.object_of("train", "--resume", "a", "--json")["record"], "ledger.jsonl:1")

    def test_ledgers_that_are_none(self):
        self.write("notes.txt", "not a ledger\n")
        self.fails(6, ["'notes.txt' is there and is not a ledger", "--ledger"], "train", *SMALL, "--out", "a", "--ledger",
                   "notes.txt", "--quiet")
        os.mkfifo(os.path.join(self.folder.name, "pipe"))
        self.fails(4, ["notes.txt/x", "Not a directory"], "train", *SMALL, "--out", "a", "--ledger", "notes.txt/x")
        for path in (self.folder.name, "newdir/", "pipe", "/dev/null", "/dev/full"):
            self.fails(6, [f"'{path}' is no file that lines can be added to", "runs/ledger.jsonl"], "train", *SMALL, "--out", "a",
                       "--ledger", path, "--quiet")
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["notes.txt", "pipe"])  # said before training
        self.fails(3, ["missing.jsonl"], "rerun", "missing.jsonl:1")
        self.fails(5, ["not as it was written"], "rerun", "notes.txt")

    def test_lines_that_were_altered(self):
        self.run_program("train", *SMALL, "--out", "a", "--quiet")
        line = self.ledger()[0]
        self.fails(3, ["has 1 lines", "no line 2"], "rerun", "ledger.jsonl:2")
        self.fails(2, ["'0'", "from 1"], "rerun", "ledger.jsonl:0")
        self.fails(2, ["'x'", "from 1"], "rerun", "ledger.jsonl:x")
        for old, new in (('"gamma":"0.99"', '"gamma":"0.98"'), ('"mean_return":', '"mean_return": '), ('"}', '')):
            self.assertIn(old, line)
            self.write("altered.jsonl", line.replace(old, new) + "\n")
            self.fails(5, ["not as it was written"], "rerun", "altered.jsonl")
        self.write("empty.jsonl", "")
        self.fails(3, ["has 0 lines"], "rerun", "empty.jsonl")

    def test_strata_families_and_the_contract(self):
        file = self.write("run.toml", "total_timesteps = 2048\nnum_envs = 8\nnum_steps = 64\nseed_families = 2\n"
                                      "[strata.wide]\nhalf_length = [0.1, 2]\nweight = 3\n")
        trained = self.run_program("train", file, "--strata.narrow.half-length", "0.4..0.6", "--out", "run")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        contract = ["Block (T, N, D) = (64, 8, 4): 512 samples per update, 4 updates\n",
                    "Seed families: 2, with 4 environments in each", "narrow 25 %, half_length 0.4..0.6; wide 75 %"]
        resumed = self.run_program("train", "--resume", "run")  # strata in another order than in the file
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        for line in contract:
            self.assertIn(line, trained.stdout)
            self.assertIn(line, resumed.stdout)
        self.assertIn("Episodes ended by: ", self.run_program("eval", "run").stdout)

    def test_a_curriculum_and_success(self):
        file = self.write("run.toml", 'curriculum = ["easy", "hard"]\ntotal_timesteps = 8192\nnum_envs = 8\n'
                                      "max_episode_steps = 20\n[strata.easy]\nhalf_length = [0.4, 0.6]\n"
                                      "[strata.hard]\nhalf_length = [0.05, 0.1]\n")
        trained = self.run_program("train", file, "--out", "run")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        self.assertIn("\nCurriculum: easy, hard; up or down by each episode; ", trained.stdout)
        self.assertRegex(trained.stdout, r"  success +\d+ %  ")
        self.assertRegex(trained.stdout, r"Mean return of the last 100 episodes: [\d.]+; \d+ % of them succeeded\n")
        with open(os.path.join(self.folder.name, "run", "metrics.jsonl"), encoding="utf-8") as lines:
            last = json.loads(lines.readlines()[-1])
        said = json.loads(self.run_program("train", "--resume", "run", "--json").stdout)
        self.assertEqual(said["success_rate"], last["success_rate"])
        self.assertAlmostEqual(last["level_share/easy"] + last["level_share/hard"], 1.0)
        self.assertGreater(last["mean_level"], 0.0)
        self.fails(2, ["unknown stratum 'hart'", "did you mean 'hard'"], "train", file, "--curriculum", "easy,hart")
        self.fails(2, ["curriculum_down and curriculum_up: got 0.4 and 0.3"], "train", file, "--curriculum_up", "0.3")
        self.fails(2, ["there are no strata"], "train", "--curriculum", "easy,hard")

    def test_wrong_strata_families_and_limits(self):
        self.fails(2, ["seed_families", "divisor of num_envs"], "train", "--num_envs", "8", "--seed_families", "3")
        self.fails(2, ["strata.a.forze", "did you mean 'force'"], "train", "--strata.a.forze", "1..2")
        self.fails(2, ["strata.a.force", "upside down"], "train", "--strata.a.force", "2..1")
        self.fails(2, ["memory_limit: got 1 MB", "make num_envs"], "train", "--num_envs", "4096", "--num_steps", "16",
                   "--memory_limit", "1", "--quiet")
        self.fails(2, ["make hidden_sizes smaller"], "train", "--hidden_sizes", "1024,1024", "--memory_limit", "1", "--quiet")

    def test_defaults_then_file_then_flags(self):
        file = self.write("run.toml", "total_timesteps = 1024\nnum_envs = 2\nnum_steps = 64\nseed = 5\n"
                                      'env_id = "FrozenLake-v1"\n[env]\nis_slippery = false\n')
        result = self.run_program("train", file, "--seed", "6", "--quiet")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        runs = os.listdir(os.path.join(self.folder.name, "runs"))
        runs.remove("ledger.jsonl")
        self.assertEqual(len(runs), 1)
        self.assertRegex(runs[0], r"^FrozenLake-v1__ppo__6__\d+$")

    def test_plain_progress_where_no_terminal_is(self):
        result = self.run_program("train", *SMALL, "--out", "run")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("\r", result.stdout)
        self.assertRegex(result.stdout, r"1,024 / 1,024 steps +100 %")
        self.assertIn("Next: broadloom eval run\n", result.stdout)

    LONG = ["train", "--total_timesteps", "2000000000", "--num_envs", "2", "--num_steps", "64", "--lr_schedule", "constant",
            "--checkpoint_interval", "1000000000"]

    def train_long(self, out, **options):
        """A training that is under way: it has written its first line of progress."""
        process = subprocess.Popen([PROGRAM, *self.LONG, "--out", out], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   **options)
        self.addCleanup(process.kill)
        while "steps/s" not in (line := process.stdout.readline()):
            self.assertTrue(line, process.stderr)
        return process

    def test_signals_save_and_say_how_to_go_on(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            out = os.path.join(self.folder.name, number.name)
            process = self.train_long(out)
            process.send_signal(number)
            rest, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130, rest + errors)
            self.assertIn(f"broadloom train --resume {out}", errors)
            stopped = int(re.search(r"Stopped at ([\d,]+) of", rest).group(1).replace(",", ""))
            self.assertGreater(stopped, 0)
            self.assertEqual(self.object_of("eval", out, "--episodes", "2", "--json")["global_step"], stopped)
            self.assertEqual(errors.count("\n"), 1)

    def test_a_hangup_is_ignored_where_it_was(self):
        """As under nohup."""
        process = self.train_long("nohup", cwd=self.folder.name, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)

    def test_a_terminal_that_closes_saves_the_run(self):
        process, terminal = pty.fork()
        if process == 0:
            os.chdir(self.folder.name)
            os.execv(PROGRAM, [PROGRAM, *self.LONG, "--out", "run"])
        text = b""
        while b"steps/s" not in text:
            text += os.read(terminal, 4096)
        os.close(terminal)  # the system's SIGHUP; what is written from now on fails
        os.waitpid(process, 0)
        self.assertGreater(self.object_of("eval", "run", "--episodes", "2", "--json")["global_step"], 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
