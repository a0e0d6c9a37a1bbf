"""`broadloom eval`: runs, checkpoints, and folders that one may not write."""

import json
import os
import shutil
import subprocess
import unittest

from program_test_case import PROGRAM, SMALL, ProgramTest


class Eval(ProgramTest):
    def test_what_few_or_cut_episodes_are_is_said(self):
        cliff = [
            "--env_id",
            "CliffWalking-v1",
            "--num_envs",
            "1",
            "--num_steps",
            "64",
            "--num_minibatches",
            "1",
        ]
        one = self.run_program(
            "train",
            *cliff,
            "--total_timesteps",
            "640",
            "--max_episode_steps",
            "500",
            "--out",
            "one",
        )
        self.assertIn("Mean return of the last episode: -", one.stdout)
        self.assertEqual(
            json.loads(self.run_program("train", "--resume", "one", "--json").stdout)["episodes"], 1
        )
        self.run_program("train", *cliff, "--total_timesteps", "64", "--out", "endless")
        cut = self.run_program("eval", "endless", "--episodes", "2e0", "--seed", "1_0")
        self.assertIn("over 2 episodes (seed 10)", cut.stdout)
        self.assertRegex(cut.stdout, r"[12] of 2 episodes were cut after 10,000 steps.*--max_steps")
        longer = self.run_program(
            "eval", "endless", "--episodes", "2", "--max_steps", "12_345"
        ).stdout
        self.assertRegex(longer, r"[12] of 2 episodes were cut after 12,345 steps")
        short = self.object_of("eval", "endless", "--episodes", "2", "--max_steps", "7", "--json")
        self.assertEqual(
            (short["mean_length"], short["reasons"]["unfinished"], short["max_steps"]), (7, 2, 7)
        )
        self.assertEqual(json.loads(self.ledger("endless/eval_command.jsonl")[-1])["max_steps"], 7)
        self.fails(2, ["--max_steps"], "eval", "endless", "--max_steps", "0")
        self.fails(2, ["--max_steps"], "eval", "endless", "--max_steps", "7", "--panel", "p.toml")

    def test_one_episode_has_no_interval(self):
        self.run_program("train", *SMALL, "--out", "a", "--quiet")
        text = self.run_program("eval", "a", "--episodes", "1").stdout
        self.assertRegex(text, r"\nReturn [\d.]+, length \d+ steps, of one episode \(seed 1\)")
        self.assertNotIn("deviation", text)
        score = self.object_of("eval", "a", "--episodes", "1", "--json")
        self.assertEqual((score["ci_low"], score["ci_high"]), (None, None))
        last = json.loads(self.ledger("a/eval_command.jsonl")[-1])
        self.assertEqual((last["ci_low"], last["ci_high"]), (None, None))
        two = self.object_of("eval", "a", "--episodes", "2", "--json")
        self.assertAlmostEqual(
            two["ci_high"] - two["mean_return"], 12.7062 * two["std_return"] / 2**0.5, 3
        )
        self.write("p.toml", 'env_id = "CartPole-v1"\nepisodes = 1\n')
        panel = self.run_program("eval", "a", "--panel", "p.toml").stdout
        self.assertIn("95 % intervals (the return of one episode has none).", panel)
        self.assertNotRegex(panel, r"nan|(\d\.\d\d) \[\1, \1\]")

    def test_eval_of_a_checkpoint_file(self):
        self.run_program(
            "train", *SMALL, "--out", "a", "--checkpoint_interval", "4", "--keep_checkpoints", "0"
        )
        first, middle, last = self.checkpoints("a")
        scores = [
            self.object_of("eval", source, "--episodes", "7", "--json")
            for source in ("a", last, middle, first)
        ]
        self.assertEqual([score["global_step"] for score in scores], [1024, 1024, 512, 0])
        self.assertEqual(dict(scores[0], run_dir=last), scores[1])
        self.assertEqual(len(self.ledger("a/eval_command.jsonl")), 1)  # a file alone has no log
        self.fails(
            3,
            ["no run folder 'none.safetensors', nor a checkpoint file"],
            "eval",
            "none.safetensors",
        )
        panel = self.write("p.toml", 'env_id = "CartPole-v1"\nepisodes = 3\nseed = 1\n')
        played = self.object_of("eval", middle, "--panel", panel, "--json")
        self.assertEqual((played["file"], played["run"]["global_step"]), (None, 512))

    def test_what_is_no_policy(self):
        self.run_program("train", *SMALL, "--out", "a", "--quiet")
        self.write("README.md", "hi\n")
        self.fails(
            3,
            ["'README.md' is a file, expected the folder of a run, or a checkpoint"],
            "eval",
            "README.md",
        )
        newest = self.checkpoints("a")[-1]
        for command in (["eval"], ["train", *SMALL, "--quiet", "--out", "b", "--init"]):
            self.fails(
                3,
                ["'a/manifest.json' is a file, expected", "name the run", ", 'a'"],
                *command,
                "a/manifest.json",
            )
            self.fails(
                3,
                [
                    "'a/checkpoints' is a folder of checkpoints",
                    f"such as '{newest}', or 'a', the run",
                ],
                *command,
                "a/checkpoints",
            )

    def test_a_damaged_checkpoint_and_the_way_out(self):
        self.run_program(
            "train", *SMALL, "--out", "a", "--checkpoint_interval", "4", "--keep_checkpoints", "0"
        )
        paths = self.checkpoints("a")
        while len(paths) > 1:
            newest = paths.pop()
            os.truncate(os.path.join(self.folder.name, newest), 1000)
            for command in (
                ["eval", "a"],
                ["train", "--resume", "a", "--quiet"],
                ["audit", "a"],
                ["gradients", "a", "--out", "g"],
            ):
                self.fails(
                    5,
                    [f"'{newest}' is damaged", f"remove that file, and '{paths[-1]}' will be used"],
                    *command,
                )
            self.fails(5, [f"'{newest}' is damaged", "use another checkpoint"], "eval", newest)
            os.remove(os.path.join(self.folder.name, newest))
            self.assertEqual(
                self.object_of("eval", "a", "--json")["global_step"], 512 * (len(paths) - 1)
            )
        os.truncate(os.path.join(self.folder.name, paths[0]), 1000)
        self.fails(5, ["no other checkpoint"], "eval", "a")

    def test_eval_plays_most_likely_or_sampled_actions(self):
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
        most_likely = self.object_of("eval", "a", "--json")
        sampled = [
            self.object_of("eval", "a", "--actions", "sampled", "--threads", threads, "--json")
            for threads in "13"
        ]
        self.assertEqual(sampled[0], sampled[1])
        self.assertEqual(
            (most_likely["actions"], sampled[0]["actions"]), ("most_likely", "sampled")
        )
        # A young policy succeeds by exploring, and gets stuck without.
        self.assertLess(most_likely["ci_high"], sampled[0]["ci_low"])
        lines = map(json.loads, self.ledger("a/eval_command.jsonl"))
        self.assertEqual([line["actions"] for line in lines], ["most_likely", "sampled", "sampled"])
        explained = "--actions sampled"
        text = self.run_program("eval", "a").stdout
        self.assertIn("a at step 59,904, most likely actions\n", text)
        self.assertIn(explained, text)
        text = self.run_program("eval", "a", "--actions", "sampled").stdout
        self.assertIn("a at step 59,904, sampled actions, as in training\n", text)
        self.assertNotIn(explained, text)
        # The run's own key decides where the command names none.
        sampling = ["--env_id", "Acrobot-v1", "--eval_actions", "sampled", "--eval_interval", "1"]
        self.run_program("train", *sampling, "--total_timesteps", "512", "--out", "b", "--quiet")
        (line,) = map(json.loads, self.ledger("b/eval.jsonl"))
        self.assertEqual((line["actions"], line["source"]), ("sampled", "train"))
        again = self.object_of("eval", "b", "--episodes", "10", "--json")
        self.assertEqual(again["actions"], "sampled")
        self.assertEqual(again["mean_return"], line["mean_return"])
        other = self.object_of("eval", "b", "--actions", "most_likely", "--json")
        self.assertEqual(other["actions"], "most_likely")
        self.fails(
            2,
            ["actions: got 'greedy', expected most_likely or sampled"],
            "eval",
            "a",
            "--actions",
            "greedy",
        )
        self.fails(
            2, ["--actions", "--panel"], "eval", "a", "--actions", "sampled", "--panel", "p.toml"
        )

    def unprivileged(self, *arguments):
        """Runs the program as one whom file rights stop, in a copy that everybody may execute."""
        copy = os.path.join(self.folder.name, "broadloom")
        if not os.path.exists(copy):
            shutil.copy(PROGRAM, copy)
        os.chmod(self.folder.name, 0o755)
        nobody = 65534
        try:
            return subprocess.run(
                [copy, *arguments],
                capture_output=True,
                text=True,
                cwd=self.folder.name,
                timeout=120,
                preexec_fn=lambda: os.setuid(nobody) if os.getuid() == 0 else None,
            )
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
        self.assertRegex(text.stderr, r"^Note: .*eval_command.jsonl.*: Permission denied; .*\n$")
        self.assertNotIn("--out", text.stderr)
        as_json = self.unprivileged("eval", "a", "--json")
        self.assertEqual(
            json.loads(as_json.stdout), self.object_of("eval", "a", "--json")
        )  # root may write
        scored = self.unprivileged("eval", "a", "--panel", panel)
        self.assertEqual(scored.returncode, 0, scored.stderr)
        self.assertIn("In brackets: 95 % intervals.", scored.stdout)
        self.assertNotIn("Written:", scored.stdout)
        self.assertRegex(scored.stderr, r"^Note: .*Permission denied")
        quiet = self.unprivileged(
            "eval", "a", "--panel", panel, "--quiet"
        )  # it was asked for nothing but the file
        self.assertEqual((quiet.returncode, quiet.stdout), (4, ""), quiet.stderr)

    def test_eval_keeps_its_result_where_the_log_is_no_file(self):
        self.run_program("train", *SMALL, "--out", "a", "--quiet")
        os.mkdir(os.path.join(self.folder.name, "a", "eval_command.jsonl"))  # stops root, too
        score = self.object_of("eval", "a", "--json")
        self.assertEqual(score["episodes"], 100)
        self.assertIn("eval_command.jsonl", self.run_program("eval", "a").stderr)
        self.fails(4, ["eval_command.jsonl", "Is a directory"], "eval", "a", "--quiet")

    def test_progress_of_episodes_that_are_played(self):
        for seed in "12":
            self.run_program("train", *SMALL, "--seed", seed, "--out", f"run{seed}", "--quiet")
        self.write("panel.toml", 'env_id = "CartPole-v1"\nepisodes = 6000\n')
        for command in (
            ["eval", "run1", "--episodes", "6000"],
            ["eval", "run1", "--panel", "panel.toml"],
            ["compare", "run1", "run2", "--panel", "panel.toml"],
        ):
            code, text = self.on_a_terminal(*command, "--threads", "1")
            self.assertEqual(code, 0, text)
            played = r"\r *\d+ %  [\d,]+ of 6,000 episodes played(, [\d:]+ left)?\x1b\[K"
            self.assertRegex(text, played)
            self.assertNotIn("played", self.on_a_terminal(*command, "--threads", "1", "--quiet")[1])
            for line in self.run_program(
                *command
            ).stderr.splitlines():  # no terminal: one every ten seconds
                self.assertRegex(line, r"^ *\d+ %  [\d,]+ of 6,000 episodes played$")

    def test_seeds_below_zero_are_refused(self):
        self.run_program("train", *SMALL, "--out", "run", "--quiet")
        self.fails(2, ["--seed", "'-3'", "at least 0"], "eval", "run", "--seed", "-3")
        self.fails(2, ["--seed", "'-1'", "at least 0"], "gradients", "run", "--seed", "-1")

    def test_a_policy_is_played_with_the_set_that_its_run_asked_for(self):
        train = [
            "train",
            "--env_id",
            "Pendulum-v1",
            "--num_envs",
            "2",
            "--num_steps",
            "64",
            "--total_timesteps",
            "256",
            "--isa",
            "sse4",
            "--eval_interval",
            "1",
            "--eval_episodes",
            "5",
            "--out",
            "own",
            "--quiet",
        ]
        if self.run_program(*train).returncode != 0:
            self.skipTest("NOT TESTED: this processor has no set with bits of its own")
        with open(os.path.join(self.folder.name, "own", "eval.jsonl"), encoding="utf-8") as file:
            last = json.loads(file.read().splitlines()[-1])
        score = self.object_of("eval", "own", "--episodes", "5", "--seed", "1", "--json")
        self.assertEqual(score["mean_return"], last["mean_return"])

    def test_evaluating_takes_no_memory_of_training(self):
        if "Release" not in self.run_program("--version").stdout:
            self.skipTest("the memory is that of a release build")
        self.run_program(
            "train",
            "--num_envs",
            "65536",
            "--num_steps",
            "1",
            "--total_timesteps",
            "65536",
            "--minibatch_size",
            "65536",
            "--update_epochs",
            "1",
            "--out",
            "wide",
            "--quiet",
        )
        process = subprocess.Popen(
            [PROGRAM, "eval", "wide", "--quiet"], cwd=self.folder.name, stdout=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        self.assertLess(usage.ru_maxrss, 30_000)  # KB; the run took more than twice that


if __name__ == "__main__":
    unittest.main(verbosity=2)
