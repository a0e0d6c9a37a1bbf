"""The ledger through the program: records and `broadloom rerun`."""

import json
import os
import shutil
import resource
import signal
import subprocess
import unittest

from program_test_case import PROGRAM, SMALL, ProgramTest


class Ledger(ProgramTest):
    def test_a_run_is_recorded_and_run_again(self):
        run = self.object_of("train", *SMALL, "--out", "a", "--eval_interval", "4", "--json")
        self.assertEqual(run["record"], "ledger.jsonl:1")
        text = self.run_program(
            "train", *SMALL, "--out", "b/", "--env_id", "Pendulum-v1", "--num_minibatches", "4"
        )
        self.assertIn("Recorded as: ledger.jsonl:2\n", text.stdout)
        first, second = map(json.loads, self.ledger())
        self.assertEqual((first["contract"]["num_envs"], first["result"]["global_step"]), (2, 1024))
        self.assertEqual(first["config"]["eval_interval"], "4")
        self.assertEqual(first["evaluation"]["episodes"], 10)
        self.assertEqual(
            (second["contract"]["env_id"], second["evaluation"]), ("Pendulum-v1", None)
        )
        self.assertGreater(second["speed"]["steps_per_second"], 0)
        again = self.object_of(
            "rerun", "ledger.jsonl:1", "--out", "again", "--json", "--quiet", "--threads", "2"
        )
        self.assertEqual((again["finished"], again["agrees"]), (True, True))
        fields = {field["name"]: field for field in again["fields"]}
        for name in (
            "result.parameters_hash",
            "result.mean_return",
            "evaluation.mean_return",
            "config.gamma",
        ):
            self.assertEqual((fields[name]["rule"], fields[name]["agrees"]), ("exact", True), name)
        self.assertGreater(fields["speed.steps_per_second"]["ratio"], 0)
        self.assertEqual(len(self.ledger()), 2)  # a rerun is a check, and gets no line
        folder = self.run_program("rerun", "b", "--out", "again_b")
        self.assertIn("fields that must agree do agree.", folder.stdout)
        self.assertIn("from b/ledger_line.json:1, into again_b\n", folder.stdout)
        last = self.run_program("rerun", "ledger.jsonl", "--out", "last")
        self.assertIn(
            "Training Pendulum-v1 again, from ledger.jsonl:2 (the last line), into last\n",
            last.stdout,
        )

    def test_recording_twice_elsewhere_or_not_at_all(self):
        self.run_program("train", *SMALL, "--out", "a", "--quiet")
        line = self.ledger()
        again = self.object_of("train", "--resume", "a", "--json")  # finished: recorded already
        self.assertEqual((again["record"], self.ledger()), ("ledger.jsonl:1", line))
        other = self.object_of("train", "--resume", "a", "--ledger", "all/of/them.jsonl", "--json")
        self.assertEqual(
            (other["record"], self.ledger("all/of/them.jsonl")), ("all/of/them.jsonl:1", line)
        )
        none = self.object_of("train", *SMALL, "--out", "b", "--ledger", "none", "--json")
        self.assertEqual((none["record"], self.ledger()), ("", line))

    def test_peak_memory_is_the_runs_own(self):
        if "Release" not in self.run_program("--version").stdout:
            self.skipTest("the memory is that of a release build")
        held = b"x" * 400_000_000  # by the caller
        self.run_program("train", *SMALL, "--out", "a", "--quiet")
        self.assertLess(json.loads(self.ledger()[0])["memory"]["peak_bytes"], len(held) / 2)

    def test_runs_that_end_together_are_all_recorded(self):
        runs = [
            subprocess.Popen(
                [PROGRAM, "train", *SMALL, "--seed", str(i), "--out", f"run{i}", "--quiet"],
                cwd=self.folder.name,
            )
            for i in range(8)
        ]
        self.assertEqual([run.wait(timeout=120) for run in runs], [0] * 8)
        self.assertEqual(
            sorted(json.loads(line)["config"]["seed"] for line in self.ledger()), list("01234567")
        )

    def test_a_ledger_that_cannot_be_written_costs_no_run(self):
        large = self.write("large.jsonl", '{"format":1}\n' * 40000)

        def limit():  # to less than the ledger has already, and more than any file of the run
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(
                resource.RLIMIT_FSIZE, (os.path.getsize(large) - 1000, resource.RLIM_INFINITY)
            )

        result = subprocess.run(
            [PROGRAM, "train", *SMALL, "--out", "a", "--ledger", large, "--quiet"],
            capture_output=True,
            text=True,
            cwd=self.folder.name,
            timeout=120,
            preexec_fn=limit,
        )
        self.assertEqual(result.returncode, 4, result.stderr)
        for words in ("trained and saved in 'a'", "not recorded", f"--resume a --ledger {large}"):
            self.assertIn(words, result.stderr)
        self.assertEqual(os.path.getsize(large), 40000 * 13)
        for form in ([], ["--json"]):
            command = [PROGRAM, "train", *SMALL, "--out", f"b{len(form)}", "--ledger", large, *form]
            outcome = subprocess.run(
                command,
                capture_output=True,
                text=True,
                cwd=self.folder.name,
                timeout=120,
                preexec_fn=limit,
            )
            self.assertEqual(outcome.returncode, 4, outcome.stderr)
            self.assertIn("not recorded", outcome.stderr)
            if not form:
                self.assertIn("Trained 1,024 of 1,024 steps", outcome.stdout)
                continue
            answer = json.loads(outcome.stdout)
            self.assertEqual(
                (answer["global_step"], answer["record"], answer["exit_code"]), (1024, "", 4)
            )
            self.assertIn("not recorded", answer["error"])
        self.assertEqual(
            self.object_of("train", "--resume", "a", "--json")["record"], "ledger.jsonl:1"
        )

    def test_ledgers_that_are_none(self):
        self.write("notes.txt", "not a ledger\n")
        self.fails(
            6,
            ["'notes.txt'", "not a ledger", "--ledger"],
            "train",
            *SMALL,
            "--out",
            "a",
            "--ledger",
            "notes.txt",
            "--quiet",
        )
        os.mkfifo(os.path.join(self.folder.name, "pipe"))
        self.fails(
            4,
            ["notes.txt/x", "Not a directory"],
            "train",
            *SMALL,
            "--out",
            "a",
            "--ledger",
            "notes.txt/x",
        )
        for path in (self.folder.name, "newdir/", "pipe", "/dev/null", "/dev/full"):
            self.fails(
                6,
                [f"'{path}'", "runs/ledger.jsonl"],
                "train",
                *SMALL,
                "--out",
                "a",
                "--ledger",
                path,
                "--quiet",
            )
        self.assertEqual(
            sorted(os.listdir(self.folder.name)), ["notes.txt", "pipe"]
        )  # said before training
        self.fails(3, ["missing.jsonl"], "rerun", "missing.jsonl:1")
        self.fails(
            3,
            ["'notes.txt' is not a ledger, expected LEDGER:LINE", "runs/ledger.jsonl:3"],
            "rerun",
            "notes.txt",
        )

    def test_places_that_have_no_record(self):
        self.run_program("train", *SMALL, "--out", "runs/a", "--quiet")
        os.remove(os.path.join(self.folder.name, "runs/a/ledger_line.json"))
        self.fails(
            3, ["'runs/a' has no record", "`broadloom train --resume runs/a`"], "rerun", "runs/a"
        )
        self.fails(3, ["'runs' is a folder", "its ledger is 'runs/ledger.jsonl'"], "rerun", "runs")
        self.fails(
            3,
            ["'runs/a/checkpoints' is not a run", "name the run", ", 'runs/a'"],
            "rerun",
            "runs/a/checkpoints",
        )
        self.fails(3, ["'runs/a/manifest.json' is not a ledger"], "rerun", "runs/a/manifest.json")

    def test_a_damaged_record_of_a_run_is_written_anew(self):
        self.run_program("train", *SMALL, "--out", "runs/a", "--quiet")
        path = os.path.join(self.folder.name, "runs/a/ledger_line.json")
        with open(path, encoding="utf-8") as file:
            whole = file.read()
        for damaged in ("x" * 50, whole[:-40], whole.replace('"seed"', '"sEEd"', 1)):
            with open(path, "w", encoding="utf-8") as file:
                file.write(damaged)
            self.fails(
                5,
                ["'runs/a/ledger_line.json', the record of the run, is damaged"]
                + ["`broadloom train --resume runs/a` writes it anew"],
                "rerun",
                "runs/a",
            )
            again = self.run_program("train", "--resume", "runs/a", "--quiet")
            self.assertEqual(again.returncode, 0, again.stderr)
            with open(path, encoding="utf-8") as file:
                self.assertEqual(len(file.read().split()), len(whole.split()))
            rerun = self.run_program("rerun", "runs/a", "--out", "again", "--quiet")
            self.assertEqual(rerun.returncode, 0, rerun.stderr)
            shutil.rmtree(os.path.join(self.folder.name, "again"))

    def test_lines_that_were_altered(self):
        self.run_program("train", *SMALL, "--out", "a", "--quiet")
        line = self.ledger()[0]
        self.fails(3, ["has 1 lines", "expected a line 2"], "rerun", "ledger.jsonl:2")
        self.fails(2, ["'0'", "from 1"], "rerun", "ledger.jsonl:0")
        self.fails(2, ["'x'", "from 1"], "rerun", "ledger.jsonl:x")
        for old, new in (
            ('"gamma":"0.99"', '"gamma":"0.98"'),
            ('"mean_return":', '"mean_return": '),
            ('"}', ""),
        ):
            self.assertIn(old, line)
            self.write("altered.jsonl", line.replace(old, new) + "\n")
            self.fails(5, ["was altered"], "rerun", "altered.jsonl")
        self.write("empty.jsonl", "")
        self.fails(3, ["has 0 lines"], "rerun", "empty.jsonl")


if __name__ == "__main__":
    unittest.main(verbosity=2)
