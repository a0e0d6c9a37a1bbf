"""Closed streams, and files made to do harm: nothing is lost, and nothing waits for ever."""

import json
import os
import resource
import signal
import subprocess
import unittest

from program_test_case import PROGRAM, SMALL, ProgramTest

STUDY = [
    "study",
    "--total_timesteps",
    "512",
    "--match",
    "none",
    "--shapes",
    "4x32,8x16",
    "--seeds",
    "1",
    "--no_report",
]


class Strangers(ProgramTest):
    def with_closed(self, streams, *arguments):
        """The exit code of the program, started without those of its standard streams."""
        words = " ".join(f"{stream}{'<' if stream == 0 else '>'}&-" for stream in streams)
        command = ["bash", "-c", f'exec "$@" {words}', "bash", PROGRAM, *arguments]
        return subprocess.run(
            command,
            cwd=self.folder.name,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=120,
        ).returncode

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def test_closed_streams_are_no_places_for_data(self):
        for streams in ([1], [0, 1], [0, 1, 2]):
            name = "".join(map(str, streams))
            self.assertEqual(self.with_closed(streams, *STUDY, "--out", f"{name}.sqlite"), 0)
            report = self.run_program("report", f"{name}.sqlite", "--quiet")
            self.assertEqual(report.returncode, 0, report.stderr)
            self.assertEqual(self.with_closed(streams, "train", *SMALL, "--out", name), 0)
            self.assertEqual(self.run_program("train", "--resume", name).returncode, 0)
            with open(self.path(f"{name}/metrics.jsonl"), encoding="utf-8") as file:
                for line in file:
                    json.loads(line)
            with open(self.path(f"{name}/lock"), encoding="utf-8") as file:
                self.assertRegex(file.read(), r"^process \d+ on \S+$")

    def test_what_has_no_end_is_not_read(self):
        os.mkfifo(self.path("pipe"))
        for arguments in (
            ["rerun", "/dev/zero"],
            ["rerun", "pipe"],
            ["eval", "pipe"],
            ["report", "pipe"],
            ["train", "pipe"],
            ["study", "pipe"],
            ["curve", "pipe"],
        ):
            result = self.run_program(*arguments)
            self.assertGreater(result.returncode, 1, (arguments, result.stderr))
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.write("deep.toml", ".".join("a" * 20000) + " = 1\n")
        for arguments in (["train", "deep.toml"], ["study", "deep.toml", "--plan"]):
            self.fails(2, ["deep.toml:1: ", "too many parts"], *arguments)

    def test_links_in_a_run_lead_nowhere(self):
        victim = self.write("victim", "of somebody")
        self.run_program("train", *SMALL, "--out", "run", "--quiet")
        self.run_program("train", *SMALL, "--out", "other", "--quiet")
        for name in ("lock", "metrics.jsonl", "eval.jsonl"):
            os.rename(self.path(f"run/{name}"), self.path("kept"))
            os.symlink(victim, self.path(f"run/{name}"))
            result = self.run_program("train", "--resume", "run", "--total_timesteps", "2048")
            self.assertNotEqual(result.returncode, 0, name)
            os.unlink(self.path(f"run/{name}"))
            os.rename(self.path("kept"), self.path(f"run/{name}"))
        os.symlink(victim, self.path("run/eval_command.jsonl"))
        result = self.run_program("eval", "run", "--episodes", "2")
        self.assertIn("eval_command.jsonl", result.stderr)
        os.rename(self.path("run/checkpoints"), self.path("kept"))
        os.symlink(self.path("other/checkpoints"), self.path("run/checkpoints"))
        before = self.checkpoints("other")
        self.assertEqual(self.run_program("train", "--resume", "run").returncode, 5)
        self.assertEqual(self.checkpoints("other"), before)
        with open(victim, encoding="utf-8") as file:
            self.assertEqual(file.read(), "of somebody")

    def test_memory_that_runs_out_is_told_with_what_was_asked(self):
        self.run_program("train", *SMALL, "--out", "run", "--quiet")
        with open(self.path("large.jsonl"), "wb") as file:
            file.truncate(8 << 30)

        def limit():
            resource.setrlimit(resource.RLIMIT_DATA, (200 << 20, 200 << 20))

        def limited(*arguments):
            return subprocess.run(
                [PROGRAM, *arguments],
                cwd=self.folder.name,
                capture_output=True,
                text=True,
                preexec_fn=limit,
                timeout=120,
            )

        result = limited("rerun", "large.jsonl")
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("cannot read 'large.jsonl': no memory is left", result.stderr)
        result = limited("eval", "run", "--episodes", "10000000", "--threads", "1")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("out of memory", result.stderr)
        self.assertIn("eval run --episodes 10000000", result.stderr)

    def test_a_full_disk_is_found_before_the_work(self):
        self.run_program("train", *SMALL, "--out", "run", "--quiet")
        self.run_program(*STUDY, "--out", "s.sqlite", "--no_report")

        def full():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))

        for arguments in (
            ["gradients", "run", "--out", "g", "--blocks", "100000"],
            ["advise", "--steps", "1000000000000", "--out", "a"],
            ["bench", self.write("case.toml", ""), "--repeats", "100000", "--json", "b.json"],
            ["report", "s.sqlite", "--out", "r"],
        ):
            result = subprocess.run(
                [PROGRAM, *arguments],
                cwd=self.folder.name,
                capture_output=True,
                text=True,
                preexec_fn=full,
                timeout=60,
            )
            self.assertEqual(result.returncode, 4, result.stderr)
            self.assertIn("free some space", result.stderr)
            self.assertNotIn("--resume", result.stderr)
        self.assertFalse(os.path.exists(self.path("r")))

    def test_a_rerun_that_was_stopped_is_added_to_no_ledger(self):
        self.run_program("train", *SMALL, "--out", "run", "--quiet")
        self.run_program("rerun", "run", "--out", "again", "--quiet")
        os.unlink(self.path("again/ledger_line.json"))  # as if it had been killed before
        result = self.run_program("rerun", "again")
        self.assertIn("no ledger", result.stderr)
        resumed = self.object_of("train", "--resume", "again", "--json")
        self.assertEqual(resumed["record"], "")
        self.assertEqual(len(self.ledger()), 1)
        self.assertTrue(os.path.exists(self.path("again/ledger_line.json")))


if __name__ == "__main__":
    unittest.main(verbosity=1)
