#!/usr/bin/env python3
"""Runs whose ranks are processes under mpirun: they have the bits of one process, and can be
resumed after failures.

Usage: mpi_test.py MPIEXEC BROADLOOM
"""

import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

MPIEXEC, BROADLOOM = sys.argv[1:3]
# Only for this test: ranks share cores here, and users in containers are often root.
ENVIRONMENT = dict(
    os.environ,
    OMPI_ALLOW_RUN_AS_ROOT="1",
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
    OMPI_MCA_rmaps_base_oversubscribe="1",
    OMPI_MCA_hwloc_base_binding_policy="none",
    OMPI_MCA_mpi_yield_when_idle="1",
    OMPI_MCA_btl="self,vader",
    OMPI_MCA_plm_rsh_agent="sh",
)
SMALL = [
    "--num_envs",
    "64",
    "--num_steps",
    "8",
    "--num_minibatches",
    "2",
    "--update_epochs",
    "2",
    "--hidden_sizes",
    "16,8",
    "--hashes",
    "true",
    "--checkpoint_interval",
    "5",
    "--eval_interval",
    "10",
    "--eval_episodes",
    "4",
    "--norm_obs",
    "true",
    "--instruments",
    "gradient,audit",
    "--instrument_every",
    "7",
    "--threads",
    "1",
    "--quiet",
]
# Runs write checkpoints all the time, and a disk that stalls would look like a rank that hangs.
FOLDER = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
# Seconds that ranks wait for each other where a test stops one: more than a busy machine stalls.
RANK_TIMEOUT = 10
# Limit of one command, for machines that do much else.
MOST_SECONDS = 180


def numbers(folder):
    """A run's records, without wall time and speed."""
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    for line in lines:
        del line["wall_time"], line["steps_per_second"]
    return lines, (folder / "eval.jsonl").read_text(), (folder / "hashes.bin").read_bytes()


def result(folder):
    return json.loads((folder / "ledger_line.json").read_text())["result"]


class MpiTest(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(dir=FOLDER))
        self.addCleanup(shutil.rmtree, self.root)

    def command(self, ranks, *arguments):
        launcher = [] if ranks == 0 else [MPIEXEC, "-n", str(ranks)]
        return [*launcher, BROADLOOM, "train", *map(str, arguments)]

    def train(self, ranks, *arguments):
        return subprocess.run(
            self.command(ranks, *arguments),
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
        )

    def trained(self, ranks, *arguments):
        done = self.train(ranks, *arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def expect_same(self, got, expected):
        self.assertEqual(numbers(got), numbers(expected))
        for part in ("parameters_hash", "state_hash"):
            if part in result(expected):
                self.assertEqual(result(got)[part], result(expected)[part])

    def test_the_bits_are_those_of_one_process(self):
        for env, counts in (("CartPole-v1", (1, 2, 3, 8)), ("Pendulum-v1", (2, 4))):
            base = ["--env_id", env, "--total_timesteps", 10240, "--ledger", "none", *SMALL]
            one = self.root / env / "one"
            self.trained(0, "--out", one, *base)
            for ranks in counts:
                with self.subTest(env=env, ranks=ranks):
                    several = self.root / env / str(ranks)
                    self.trained(ranks, "--out", several, *base)
                    self.expect_same(several, one)

    def test_the_records_say_how_many_they_were(self):
        base = ["--env_id", "CartPole-v1", "--total_timesteps", 2048, "--ledger", "none", *SMALL]
        lines, manifests = {}, {}
        for ranks in (0, 2):
            folder = self.root / str(ranks)
            self.trained(ranks, "--out", folder, *base)
            lines[ranks] = json.loads((folder / "ledger_line.json").read_text())
            manifests[ranks] = json.loads((folder / "manifest.json").read_text())
        self.assertEqual([line["speed"].get("ranks") for line in lines.values()], [None, 2])
        self.assertEqual([manifest.get("ranks") for manifest in manifests.values()], [None, 2])
        answer = json.loads(self.trained(2, "--out", self.root / "said", "--json", *base).stdout)[
            "ranks"
        ]
        self.assertEqual(answer["count"], 2)
        self.assertGreater(answer["received_bytes"], 4 * 1000)
        self.assertGreaterEqual(
            answer["exchanges"], 2 * 4 * 2
        )  # iterations, gradient steps of each
        self.assertGreater(answer["seconds"], 0.0)
        self.assertGreater(lines[2]["memory"]["planned_bytes"], lines[0]["memory"]["planned_bytes"])
        again = subprocess.run(
            [BROADLOOM, "rerun", str(self.root / "2"), "--threads", "1"],
            env=ENVIRONMENT,
            cwd=self.root,
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
        )
        self.assertEqual(again.returncode, 0, again.stdout + again.stderr)
        self.assertRegex(again.stdout, r"x 0\.50 +speed\.ranks +2 \| 1")

    def test_a_run_that_lost_a_rank_goes_on_with_another_number(self):
        base = ["--env_id", "CartPole-v1", "--total_timesteps", 102400, "--ledger", "none", *SMALL]
        whole, killed = self.root / "whole", self.root / "killed"
        self.trained(0, "--out", whole, *base)
        draw = random.Random(1)
        arguments, kills = ["--out", killed, *base], 0
        # 200 iterations. Each run is killed after at least so many; the second as it starts.
        for ranks, iteration in ((3, 20), (2, 0), (4, 50), (2, 80), (3, 110), (4, 140)):
            process = self.start(ranks, *arguments)
            if self.kill_a_rank(process, killed, draw.randrange(ranks), iteration):
                kills += 1
                process.communicate(timeout=MOST_SECONDS)
                self.assertNotEqual(process.returncode, 0)
            else:
                process.communicate(timeout=MOST_SECONDS)
            arguments = ["--resume", killed, "--ledger", "none", "--quiet", "--threads", "1"]
        self.assertGreaterEqual(kills, 2)
        self.trained(2, *arguments)
        self.expect_same(killed, whole)

    def start(self, ranks, *arguments):
        return subprocess.Popen(
            self.command(ranks, *arguments),
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def start_endless(self, name, *arguments):
        """A run of two ranks in a folder of that name, once it has saved a checkpoint."""
        folder = self.root / name
        base = ["--env_id", "CartPole-v1", "--total_timesteps", 10**8, "--ledger", "none"]
        process = self.start(2, *base, "--out", folder, *arguments, *SMALL)
        self.addCleanup(process.kill)
        while self.newest_iteration(folder) <= 0:
            self.assertIsNone(process.poll())
            time.sleep(0.05)
        return process, folder

    def newest_iteration(self, folder):
        """The iteration of its newest checkpoint; -1 where there is none."""
        names = [path.name for path in (folder / "checkpoints").glob("iteration_*")]
        return max((int(re.search(r"\d+", name)[0]) for name in names), default=-1)

    def kill_a_rank(self, launcher, folder, rank, iteration):
        """Kills it once that iteration is saved. False where the run has ended before."""
        while launcher.poll() is None:
            pid = self.pid_of(launcher.pid, rank)
            if pid is not None and self.newest_iteration(folder) >= iteration:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    return False
                return True
            time.sleep(0.01)
        return False

    def pid_of(self, launcher, rank):
        for child in pathlib.Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split():
            try:
                variables = pathlib.Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if f"OMPI_COMM_WORLD_RANK={rank}".encode() in variables:
                return int(child)
        return None

    def test_ranks_that_hang_end_a_run_and_suspended_jobs_go_on(self):
        limit = ["--rank_timeout", RANK_TIMEOUT]
        last, first, job = (self.start_endless(name, *limit)[0] for name in ("1", "0", "job"))
        os.kill(self.pid_of(last.pid, 1), signal.SIGSTOP)
        os.kill(self.pid_of(first.pid, 0), signal.SIGSTOP)
        ranks = [self.pid_of(job.pid, rank) for rank in (0, 1)]
        for action, seconds in ((signal.SIGSTOP, RANK_TIMEOUT + 2), (signal.SIGCONT, 1)):
            for rank in ranks:
                os.kill(rank, action)
            time.sleep(seconds)
        self.assertIsNone(job.poll())
        os.kill(ranks[0], signal.SIGTERM)
        errors = job.communicate(timeout=MOST_SECONDS)[1]
        self.assertEqual(job.returncode, 130, errors)
        for process, expected, advice in (
            (last, r"rank 0 of 2 has waited 10 seconds for rank 1 on \S+: ", "stays saved"),
            (
                first,
                r"rank 1 of 2 has waited 10 seconds for rank 0 on \S+: that rank hangs",
                "train --resume",
            ),
        ):
            errors = process.communicate(timeout=MOST_SECONDS)[1]
            self.assertNotEqual(process.returncode, 0)
            self.assertRegex(errors, expected)
            self.assertIn(advice, errors.replace("\n", " "))

    def test_another_mpis_launcher_is_noticed(self):
        arguments = [
            BROADLOOM,
            "train",
            "--env_id",
            "CartPole-v1",
            "--total_timesteps",
            "1024",
            "--ledger",
            "none",
            "--quiet",
            "--out",
            str(self.root / "none"),
        ]
        for variables in ({"OMPI_COMM_WORLD_SIZE": "4"}, {"PMI_SIZE": "2", "PMI_RANK": "0"}):
            done = subprocess.run(
                arguments,
                env=dict(ENVIRONMENT, **variables),
                capture_output=True,
                text=True,
                timeout=MOST_SECONDS,
            )
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertRegex(done.stderr, r"started \d processes, but MPI sees 1")
            self.assertFalse((self.root / "none").exists())
        tasks = {"SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "0"}
        done = subprocess.run(
            arguments,
            env=dict(ENVIRONMENT, **tasks),
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Slurm has started 2 tasks without MPI", done.stderr)

    def test_a_time_that_is_no_number_is_refused(self):
        done = self.train(0, "--env_id", "CartPole-v1", "--rank_timeout", "nan")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("got 'nan', expected a number", done.stderr)

    def test_being_told_to_stop_saves(self):
        process, folder = self.start_endless("stopped")
        os.kill(self.pid_of(process.pid, 1), signal.SIGTERM)  # one of them is enough
        process.communicate(timeout=MOST_SECONDS)
        self.assertEqual(process.returncode, 130)
        lines = (folder / "metrics.jsonl").read_text().splitlines()
        self.assertEqual(json.loads(lines[-1])["iteration"], self.newest_iteration(folder))

    def test_another_program_is_refused(self):
        other = self.root / "broadloom"
        shutil.copy(BROADLOOM, other)
        with open(other, "ab") as file:
            file.write(b"\0")
        arguments = [
            "train",
            "--env_id",
            "CartPole-v1",
            "--total_timesteps",
            "1024",
            "--out",
            str(self.root / "none"),
        ]
        done = subprocess.run(
            [MPIEXEC, "-n", "1", BROADLOOM, *arguments, ":", "-n", "1", str(other), *arguments],
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
        )
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("rank 1 of 2 runs another program than rank 0", done.stderr)
        self.assertFalse((self.root / "none").exists())

    def test_errors_are_said_once(self):
        taken = self.root / "taken"
        taken.mkdir()
        (taken / "file").write_text("")
        for arguments, message in (
            (["--out", taken], "taken"),
            (["--resume", self.root / "nowhere"], "nowhere"),
            (["--num_envs", "-3"], "num_envs"),
        ):
            done = self.train(
                3, *([] if "--resume" in arguments else ["--env_id", "CartPole-v1"]), *arguments
            )
            self.assertNotEqual(done.returncode, 0)
            printed = [line for line in done.stderr.splitlines() if line.startswith("broadloom:")]
            self.assertEqual(len(printed), 1, done.stderr)
            self.assertIn(message, printed[0])

    def test_none_makes_runs_of_their_own(self):
        base = [
            BROADLOOM,
            "train",
            "--ranks",
            "none",
            "--env_id",
            "CartPole-v1",
            "--total_timesteps",
            "1024",
            "--ledger",
            "none",
            *SMALL,
            "--out",
        ]
        a, b = self.root / "a", self.root / "b"
        done = subprocess.run(
            [MPIEXEC, "-n", "1", *base, str(a), ":", "-n", "1", *base, str(b)],
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.expect_same(a, b)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
