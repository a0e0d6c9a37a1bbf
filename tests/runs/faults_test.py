"""Kills, full disks and damaged files: whatever happens, a run goes on with the bits it would have had.

usage: faults_test.py PROGRAM
"""

import json
import pathlib
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = sys.argv.pop(1)
KILLS = 25
TRAIN = [
    "--env_id",
    "CartPole-v1",
    "--total_timesteps",
    "40960",
    "--num_envs",
    "16",
    "--num_steps",
    "32",
    "--checkpoint_interval",
    "7",
    "--eval_interval",
    "11",
    "--eval_episodes",
    "4",
    "--norm_obs",
    "true",
    "--hashes",
    "true",
    "--instruments",
    "gradient,plasticity,policy,coverage",
    "--instrument_every",
    "9",
]
WALL_CLOCK = {"wall_time", "steps_per_second"}


def command(*arguments):
    return [PROGRAM, *map(str, arguments), "--quiet"]


def run(*arguments, **options):
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, timeout=60, **options
    )


def tensors(path):
    """The tensors of a safetensors file, as bytes by name."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__")
    body = data[8 + length :]
    return {name: body[slice(*entry["data_offsets"])] for name, entry in header.items()}


def checkpoint(folder):
    return sorted((folder / "checkpoints").glob("*.safetensors"))[-1]


def lines(path):
    """A JSON Lines file without its wall-clock fields."""
    text = path.read_text()
    assert text == "" or text.endswith("\n"), f"half a line at the end of {path}"
    return [
        {k: v for k, v in json.loads(line).items() if k not in WALL_CLOCK}
        for line in text.splitlines()
    ]


def recorded(folder):
    """The parts of the run's ledger line that no kill may change."""
    line = json.loads((folder / "ledger_line.json").read_text())
    return {key: line[key] for key in ("contract", "seeds", "result", "evaluation", "config")}


def outcome(folder):
    return (
        tensors(checkpoint(folder)),
        lines(folder / "metrics.jsonl"),
        lines(folder / "eval.jsonl"),
        (folder / "hashes.bin").read_bytes(),
        recorded(folder),
    )


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix="broadloom_faults_"))
        start = time.monotonic()
        result = run("train", *TRAIN, "--out", cls.root / "whole", "--threads", 1)
        assert result.returncode == 0, result.stderr
        cls.seconds = time.monotonic() - start
        cls.whole = outcome(cls.root / "whole")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.root)

    def test_killed_runs_end_with_the_bits_of_the_run_that_was_not(self):
        moments = random.Random(7)
        before_start, resumed, patience = 0, 0, 1.0
        for i in range(KILLS):
            folder = self.root / f"killed{i}"
            process = subprocess.Popen(
                command("train", *TRAIN, "--out", folder, "--threads", 1 + i % 2)
            )
            time.sleep(moments.uniform(0.0, 1.05 * self.seconds * patience))
            process.send_signal(signal.SIGKILL)
            process.wait()
            # A machine may be busier than it was for the whole run: then the next kill comes later.
            patience = 1.0 if folder.exists() else 1.3 * patience
            if folder.exists():
                resumed += 1
                result = run("train", "--resume", folder, "--threads", 2 - i % 2)
            else:
                before_start += 1
                result = run("train", *TRAIN, "--out", folder)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(outcome(folder), self.whole, f"kill {i}")
            self.assertEqual(list(folder.rglob("*.tmp-*")), [])
            shutil.rmtree(folder)
        names = [
            json.loads(line)["run"]["folder"]
            for line in (self.root / "ledger.jsonl").read_text().splitlines()
        ]
        self.assertEqual(len(set(names)), len(names))  # each once
        self.assertLessEqual({str(self.root / f"killed{i}") for i in range(KILLS)}, set(names))
        print(f"{KILLS} kills: {resumed} resumed, {before_start} before the folder was there")
        self.assertGreater(resumed, KILLS // 3)

    def test_threads_evaluation_logging_and_instruments_do_not_change_the_parameters(self):
        plain = TRAIN[: TRAIN.index("--eval_interval")]
        reference = hashes = None
        for i, extra in enumerate(
            (
                ["--threads", 1],
                ["--threads", 2],
                ["--threads", 5],
                ["--eval_interval", 3],
                ["--log_interval", 9, "--tensorboard", "false"],
                ["--checkpoint_interval", 1],
                ["--checkpoint_interval", 1, "--keep_checkpoints", 0],
                ["--instruments", "gradient,plasticity,policy,coverage", "--instrument_every", 2],
                ["--hashes", "true"],
                ["--hashes", "true", "--eval_interval", 1],
            )
        ):
            folder = self.root / f"same{i}"
            result = run("train", *plain, "--norm_obs", "true", *extra, "--out", folder)
            self.assertEqual(result.returncode, 0, result.stderr)
            got = {
                name: data
                for name, data in tensors(checkpoint(folder)).items()
                if not name.startswith("instruments.")
            }
            reference = reference or got
            self.assertEqual(got, reference, extra)
            if "--hashes" in extra:
                got = (folder / "hashes.bin").read_bytes()
                hashes = hashes or got
                self.assertTrue(got == hashes, extra)
        self.assertEqual(
            lines(self.root / "same0" / "metrics.jsonl"),
            lines(self.root / "same2" / "metrics.jsonl"),
        )
        kept = [len(list((self.root / f"same{i}" / "checkpoints").iterdir())) for i in (5, 6)]
        self.assertEqual(kept[0], 2)
        iterations = len(lines(self.root / "same6" / "metrics.jsonl"))
        self.assertEqual(kept[1], iterations + 1)  # and the one before the first iteration

    def test_a_disk_that_is_full_at_the_start_leaves_no_folder(self):
        folder = self.root / "full"

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))

        result = run("train", *TRAIN, "--out", folder, preexec_fn=limit)
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("free some space", result.stderr)
        self.assertFalse(folder.exists())

    def test_a_full_disk_while_running_loses_nothing_saved(self):
        folder = self.root / "full_later"
        size = checkpoint(self.root / "whole").stat().st_size
        metrics = (self.root / "whole" / "metrics.jsonl").stat().st_size
        self.assertGreater(metrics, 0)

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            cut = max(size + 4096, metrics // 2)
            resource.setrlimit(resource.RLIMIT_FSIZE, (cut, resource.RLIM_INFINITY))

        long_run = ["--total_timesteps", "4096000"]
        result = run("train", *TRAIN, *long_run, "--out", folder, preexec_fn=limit)
        self.assertEqual(result.returncode, 4, result.stderr)
        lines(folder / "metrics.jsonl")  # ends with a whole line
        tensors(checkpoint(folder))
        self.assertIn("free some space. What was saved", result.stderr)

    def test_damaged_checkpoints_are_refused(self):
        for name, damage in {
            "cut": lambda data: data[: len(data) // 2],
            "altered": lambda data: data[:-100] + bytes([data[-100] ^ 1]) + data[-99:],
            "header": lambda data: data[:40] + b"#" + data[41:],
            "empty": lambda data: b"",
        }.items():
            folder = self.root / name
            shutil.copytree(self.root / "whole", folder)
            path = checkpoint(folder)
            path.write_bytes(damage(path.read_bytes()))
            for arguments in (("train", "--resume", folder), ("eval", folder)):
                result = run(*arguments)
                self.assertEqual(result.returncode, 5, (name, result.stderr))
                self.assertIn("damaged or was cut short", result.stderr)
                self.assertIn(str(path), result.stderr)

    def test_checkpoints_of_another_run_are_refused(self):
        for name, other in {
            "environment": ["--env_id", "MountainCar-v0"],
            "network": ["--env_id", "CartPole-v1", "--hidden_sizes", "32,32"],
        }.items():
            source = self.root / f"source_{name}"
            result = run("train", *other, "--total_timesteps", 1024, "--out", source)
            self.assertEqual(result.returncode, 0, result.stderr)
            folder = self.root / f"mixed_{name}"
            shutil.copytree(self.root / "whole", folder)
            shutil.copy(
                checkpoint(source), folder / "checkpoints" / "iteration_9999999999.safetensors"
            )
            result = run("train", "--resume", folder)
            self.assertEqual(result.returncode, 6, result.stderr)
            self.assertIn("another run", result.stderr)

    def test_resuming_a_finished_run_changes_nothing(self):
        folder = self.root / "finished"
        shutil.copytree(self.root / "whole", folder)
        self.assertEqual(run("train", "--resume", folder).returncode, 0)
        self.assertEqual(outcome(folder), self.whole)

    def start_long(self, name):
        """A training that is not over for a long time, with its folder there."""
        folder = self.root / name
        process = self.start("train", *TRAIN, "--total_timesteps", 40960000, "--out", folder)
        while not folder.exists():
            time.sleep(0.01)
        return folder, process

    def start(self, *arguments):
        process = subprocess.Popen(command(*arguments))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def go_on_and_stop(self, folder):
        process = self.start("train", "--resume", folder)
        while f"process {process.pid} " not in (folder / "lock").read_text():
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(), 130)

    def test_an_evaluation_beside_a_training_tears_no_log(self):
        folder, process = self.start_long("beside")
        log = folder / "eval.jsonl"
        while not log.exists() or log.read_text().count("\n") < 2:
            time.sleep(0.01)
        self.assertEqual(run("eval", folder, "--episodes", 3, "--seed", 77).returncode, 0)
        there, before = log.read_text().count("\n"), checkpoint(folder).name
        while log.read_text().count("\n") < there + 2 or checkpoint(folder).name == before:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assertEqual(run("eval", folder, "--episodes", 3, "--seed", 78).returncode, 0)
        self.go_on_and_stop(folder)
        evaluations = lines(log)
        self.assertEqual({line["source"] for line in evaluations}, {"train"})
        block, every = 16 * 32, 11
        self.assertEqual(
            [line["global_step"] for line in evaluations],
            [block * every * (i + 1) for i in range(len(evaluations))],
        )
        self.assertEqual([line["seed"] for line in lines(folder / "eval_command.jsonl")], [77, 78])

    def test_a_run_has_one_trainer_at_a_time(self):
        folder, process = self.start_long("one")
        second = run("train", "--resume", folder)
        self.assertEqual(second.returncode, 4, second.stderr)
        self.assertIn(f"is being trained by process {process.pid}", second.stderr)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.go_on_and_stop(folder)


if __name__ == "__main__":
    unittest.main(verbosity=1)
