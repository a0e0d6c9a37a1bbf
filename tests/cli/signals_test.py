"""Signals that stop the program: Ctrl-C, a kill, a closing terminal."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import time
import unittest

from program_test_case import PROGRAM, SMALL, ProgramTest


class Signals(ProgramTest):
    LONG = [
        "train",
        "--total_timesteps",
        "2000000000",
        "--num_envs",
        "2",
        "--num_steps",
        "64",
        "--lr_schedule",
        "constant",
        "--checkpoint_interval",
        "1000000000",
    ]

    def train_long(self, out, **options):
        """A training that is under way: it has written its first line of progress."""
        process = subprocess.Popen(
            [PROGRAM, *self.LONG, "--out", out],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )
        self.addCleanup(process.kill)
        while "steps/s" not in (line := process.stdout.readline()):
            self.assertTrue(line, process.stderr)
        return process

    def test_signals_save_and_say_how_to_go_on(self):
        for number in (
            signal.SIGINT,
            signal.SIGTERM,
            signal.SIGHUP,
            signal.SIGUSR1,
            signal.SIGXCPU,
        ):
            out = os.path.join(self.folder.name, number.name)
            process = self.train_long(out)
            process.send_signal(number)
            rest, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130, rest + errors)
            self.assertIn(f"broadloom train --resume {out}", errors)
            stopped = int(re.search(r"Stopped at ([\d,]+) of", rest).group(1).replace(",", ""))
            self.assertGreater(stopped, 0)
            self.assertEqual(
                self.object_of("eval", out, "--episodes", "2", "--json")["global_step"], stopped
            )
            self.assertEqual(errors.count("\n"), 1)

    def test_a_second_warning_of_a_scheduler_does_not_end_the_saving(self):
        """A limit on processor time repeats its signal each second."""
        for number in (signal.SIGUSR1, signal.SIGXCPU):
            out = os.path.join(self.folder.name, number.name)
            process = self.train_long(out)
            for _ in range(20):
                process.send_signal(number)
            process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130)

    def test_a_hangup_is_ignored_where_it_was(self):
        """As under nohup."""
        process = self.train_long(
            "nohup",
            cwd=self.folder.name,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
        )
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
        os.close(terminal)  # the system's SIGHUP; writes fail from now on
        os.waitpid(process, 0)
        self.assertGreater(
            self.object_of("eval", "run", "--episodes", "2", "--json")["global_step"], 0
        )

    def catches(self, process, number):
        with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
            mask = next(line.split()[1] for line in file if line.startswith("SigCgt:"))
        return int(mask, 16) >> (number - 1) & 1

    def stop_where(self, shown, *arguments):
        """(exit code, text) of a call on a terminal, interrupted where its text matches."""
        process, terminal = pty.fork()
        if process == 0:
            os.chdir(self.folder.name)
            os.execv(PROGRAM, [PROGRAM, *arguments])
        text, code, is_stopped = "", None, False
        limit = time.monotonic() + 240
        while code is None:
            if not select.select([terminal], [], [], max(0.0, limit - time.monotonic()))[0]:
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)
                self.fail(f"no end within 240 s:\n{text}")
            try:
                text += os.read(terminal, 4096).decode()
            except OSError:  # its end
                code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
            if not is_stopped and re.search(shown, text):
                is_stopped = True
                os.kill(process, signal.SIGINT)
        os.close(terminal)
        return code, text

    def test_a_stopped_rerun_is_completed_by_a_resume(self):
        steps = ["--env_id", "CartPole-v1", "--total_timesteps", "600000"]
        self.assertEqual(self.run_program("train", *steps, "--out", "a", "--quiet").returncode, 0)
        process = subprocess.Popen(
            [PROGRAM, "rerun", "a", "--out", "again"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder.name,
        )
        self.addCleanup(process.kill)
        while "steps/s" not in (line := process.stdout.readline()):
            self.assertTrue(line, process.stderr)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        command = re.search("`broadloom (.*?)`", errors)[1]
        self.assertEqual(command, "train --resume again")
        completed = self.run_program(*command.split(), "--quiet")
        self.assertEqual(completed.returncode, 0, completed.stderr)
        results = []
        for run in ("a", "again"):
            with open(os.path.join(self.folder.name, run, "ledger_line.json")) as file:
                results.append(json.load(file)["result"])
        self.assertEqual(*results)
        self.assertEqual(len(self.ledger()), 1)

    def test_a_stopped_evaluation_keeps_the_episodes_that_had_ended(self):
        self.run_program("train", *SMALL, "--out", "a", "--quiet")
        code, text = self.stop_where(
            r"[1-9][\d,]* of 1,000,000 episodes",
            *["eval", "a", "--episodes", "1000000", "--threads", "1"],
        )
        self.assertEqual(code, 130, text)
        self.assertRegex(text, r"Mean return [\d.]+, 95 % interval .* over \d+ episodes")
        self.assertRegex(text, r"Stopped: [\d,]+ of 1,000,000 episodes had .*eval_command.jsonl")
        line = json.loads(self.ledger("a/eval_command.jsonl")[-1])
        self.assertEqual(line["asked"], 1000000)
        self.assertLess(line["episodes"], 1000000)

    def test_a_stopped_evaluation_without_an_end_keeps_nothing(self):
        cliff = ["--env_id", "CliffWalking-v1", "--num_minibatches", "1"]
        self.run_program("train", *SMALL, *cliff, "--out", "a", "--quiet")
        process = subprocess.Popen(
            [PROGRAM, "eval", "a", "--episodes", "1", "--max_steps", "100000000"],
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder.name,
        )
        self.addCleanup(process.kill)
        while not self.catches(process, signal.SIGINT):
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        self.assertEqual(errors, "Stopped before an episode had ended; nothing is kept\n")
        self.assertFalse(os.path.exists(os.path.join(self.folder.name, "a", "eval_command.jsonl")))

    def test_a_stopped_panel_keeps_the_episodes_that_had_ended(self):
        self.write("panel.toml", 'env_id = "CartPole-v1"\nepisodes = 1000000\n')
        for out in ("a", "b"):
            seed = str(1 + (out == "b"))
            self.run_program("train", *SMALL, "--seed", seed, "--out", out, "--quiet")
        shown = r"[1-9][\d,]* of 1,000,000 episodes"
        call = ["eval", "a", "--panel", "panel.toml", "--threads", "1"]
        code, text = self.stop_where(shown, *call)
        self.assertEqual(code, 130, text)
        name = re.search(r"Kept in (a/panel-[0-9a-f]{8}\.partial\.json)", text)[1]
        with open(os.path.join(self.folder.name, name)) as file:
            found = json.load(file)
        self.assertEqual(found["format"], "broadloom-panel-partial-1")
        panel, row = found["panel"], found["episodes"]["all/nominal"]
        ended = panel["ended"]
        self.assertEqual(panel["asked"], 1000000)
        self.assertTrue(0 < ended < 1000000, ended)
        self.assertEqual(panel["rows"]["all/nominal"]["episodes"], ended)
        self.assertEqual({len(row[c]) for c in ("numbers", "returns", "lengths")}, {ended})
        self.assertEqual(row["numbers"], sorted(set(row["numbers"])))
        self.assertAlmostEqual(
            panel["rows"]["all/nominal"]["mean_return"], sum(row["returns"]) / ended
        )
        self.assertIn("Longer ones are missing", text)
        # Its episodes are those of a whole play, which has fewer here; the numbers say which.
        code, text = self.stop_where(
            r"50 %  |[1-9][\d,]* of 1,000,000 ep",
            "compare",
            "a",
            "b",
            "--panel",
            "panel.toml",
            "--threads",
            "1",
        )
        self.assertEqual(code, 130, text)
        self.assertRegex(text, r"Stopped: 0 of 2 runs were played\. Kept: a/panel-\S+partial.json")
        self.assertNotIn(
            "-0",
            [
                n
                for n in os.listdir(os.path.join(self.folder.name, "a"))
                if re.fullmatch(r"panel-[0-9a-f]{8}\.json", n)
            ],
        )

    def test_a_whole_panel_removes_the_part_of_one_that_was_stopped(self):
        self.write("panel.toml", 'env_id = "CartPole-v1"\nepisodes = 20\n')
        self.run_program("train", *SMALL, "--out", "a", "--quiet")
        whole = self.object_of("eval", "a", "--panel", "panel.toml", "--json")["file"]
        part = whole.replace(".json", ".partial.json")
        self.write(part, "{}")
        self.run_program("eval", "a", "--panel", "panel.toml", "--quiet")
        self.assertFalse(os.path.exists(os.path.join(self.folder.name, part)))

    def test_a_stopped_panel_leaves_out_scores_over_several_rows(self):
        rows = "[perturbations.noisy]\nobs_noise = 0.1\n"
        self.write("panel.toml", f'env_id = "CartPole-v1"\nepisodes = 300000\n{rows}')
        self.run_program("train", *SMALL, "--out", "a", "--quiet")
        call = ["eval", "a", "--panel", "panel.toml", "--threads", "1"]
        code, text = self.stop_where(r"[1-9][\d,]* of 600,000 episodes", *call)
        self.assertEqual(code, 130, text)
        self.assertRegex(text, r"all +nominal .* of 300,000")
        self.assertNotRegex(text, r"all +all ")
        self.assertRegex(text, r"Stopped: [\d,]+ of 600,000 episodes .* 0 of 2 rows are whole")
        part = re.search(r"Kept in (a/panel-[0-9a-f]{8}\.partial\.json)", text)[1]
        with open(os.path.join(self.folder.name, part)) as file:
            self.assertNotIn("all/all", json.load(file)["panel"]["rows"])
        result = self.run_program("compare", part, "a", "--panel", "panel.toml")
        self.assertEqual(result.returncode, 6)
        self.assertIn("only the part of a panel", result.stderr)
        code, text = self.stop_where(
            r"[1-9][\d,]* of 600,000 ep",
            "compare",
            "a",
            "b.json",
            "--panel",
            "panel.toml",
            "--threads",
            "1",
        )
        self.assertEqual(code, 130, text)
        self.assertNotIn("whole results", text)

    def test_a_stopped_audit_judges_what_it_measured(self):
        self.run_program("train", *SMALL, "--out", "a", "--quiet")
        code, text = self.stop_where(
            r"[1-9][\d,]* of 10,000 iterations measured",
            *["audit", "a", "--iterations", "10000", "--threads", "1"],
        )
        self.assertEqual(code, 130, text)
        self.assertRegex(text, r"Note: stopped after [\d,]+ of 10,?000 iterations")
        self.assertRegex(text, r"\d+ errors?, \d+ warnings?, \d+ notes?")

    def test_a_stopped_bench_keeps_the_rounds_so_far(self):
        self.write("case.toml", 'env_id = "CartPole-v1"\ntotal_timesteps = 1_000_000_000\n')
        code, text = self.stop_where(
            r"[1-9]\d* of 1000 rounds measured",
            *["bench", "case.toml", "--repeats", "1000", "--seconds", "0.05", "--json", "b.json"],
        )
        self.assertEqual(code, 130, text)
        self.assertIn("1 case, 1000 rounds, about 0:50", text)
        rounds = int(re.search(r"Stopped after (\d+) of 1000 rounds", text)[1])
        with open(os.path.join(self.folder.name, "b.json")) as file:
            found = json.load(file)
        self.assertEqual(found["repeats"], rounds)
        self.assertEqual(len(found["cases"][0]["repeats"]), rounds)

    def test_stopped_gradients_keep_the_shapes_so_far(self):
        self.run_program("train", *SMALL, "--hidden_sizes", "8", "--out", "a", "--quiet")
        call = ["gradients", "a", "--shapes", "1x64,64x1,8x8", "--blocks", "100000"]
        call += ["--study", "variance", "--start_envs", "32", "--threads", "1"]
        code, text = self.stop_where(r"64 x 1, ", *call)
        self.assertEqual(code, 130, text)
        self.assertRegex(text, r"The study was stopped: 1 of 3 shapes were measured\. Kept: a/grad")
        with open(os.path.join(self.folder.name, "a/gradients/gradients.json")) as file:
            found = json.load(file)
        self.assertTrue(found["stopped"])
        self.assertEqual({row["num_envs"] for row in found["variance"]}, {1})
        again, text = self.stop_where(r"64 x 1, ", *call)
        self.assertEqual(again, 130, text)
        self.assertIn("Kept: a/gradients/gradients.partial.json", text)
        with open(os.path.join(self.folder.name, "a/gradients/gradients.json")) as file:
            self.assertEqual(json.load(file), found)
        code, text = self.stop_where(r"  0 %  ", *call, "--out", "none")
        self.assertEqual(code, 130, text)
        self.assertIn("nothing is kept", text)

    def test_ctrl_c_ends_a_panel_and_resume_plays_it_again(self):
        self.write("panel.toml", 'env_id = "CartPole-v1"\nepisodes = 1000000\n')
        process = subprocess.Popen(
            [PROGRAM, "train", *SMALL, "--out", "run", "--panel", "panel.toml", "--threads", "1"],
            stdout=subprocess.PIPE,
            text=True,
            cwd=self.folder.name,
        )
        while "100 %" not in process.stdout.readline():
            self.assertIsNone(process.poll())
        while self.catches(process, signal.SIGINT):  # until the training is over
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=60), -signal.SIGINT)
        process.communicate()
        self.assertFalse(os.path.exists(os.path.join(self.folder.name, "ledger.jsonl")))


if __name__ == "__main__":
    unittest.main(verbosity=2)
