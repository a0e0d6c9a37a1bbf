"""Signals that stop the program: Ctrl-C, a kill, a closing terminal."""

import os
import pty
import re
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
