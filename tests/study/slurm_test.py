#!/usr/bin/env python3
"""Studies as job arrays of a real Slurm: all of its daemons run on this machine, started here. Jobs are cancelled, killed and put back, and the
store that is left has to be the one of a study that nothing disturbed. Exits with 77, which ctest shows as skipped, where there is no Slurm."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM, SLURM_HERE, HAS_MPI = (
    os.path.abspath(sys.argv[1]),
    os.path.abspath(sys.argv[2]),
    sys.argv[3] == "1",
)
del sys.argv[1:4]

STUDY = """
seeds = 4
points = 5
evaluations = 2
[base]
total_timesteps = {steps}
num_steps = 64
eval_episodes = 3
hidden_sizes = [16]
[grid]
num_envs = [2, 3]
"""
# All but times, and what the machine is called.
CONTENTS = [
    "SELECT name, hash, definition, matched, points, evaluations, shard, shards, version, revision FROM study",
    "SELECT * FROM cells ORDER BY id",
    "SELECT id, cell_id, seed, config_hash, status, error, parameters_hash, version, revision, isa FROM runs ORDER BY id",
    "SELECT run_id, point, environment_steps, global_step, iteration FROM points ORDER BY run_id, point",
    "SELECT run_id, key, point, value FROM metrics ORDER BY run_id, key, point",
    "SELECT * FROM evaluations ORDER BY run_id, global_step",
]


def missing():
    """Why there can be no Slurm here; "": nothing is missing."""
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    gone = [
        name
        for name in ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "sinfo")
        if not shutil.which(name, path=path)
    ]
    if gone:
        return f"no {', '.join(gone)} (Debian: slurm-wlm and munge)"
    return "" if os.geteuid() == 0 else "its daemon starts jobs as root alone, and this is not root"


def rows(store, query):
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=20) as database:
        return database.execute(query).fetchall()


class SlurmTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="broadloom slurm ")  # a space in every path
        cls.cluster = tempfile.mkdtemp(prefix="broadloom_slurm_")
        started = subprocess.run(
            [SLURM_HERE, "start", cls.cluster], capture_output=True, text=True, check=False
        )
        if started.returncode != 0:
            cls.end()
            raise RuntimeError("no Slurm came up: " + started.stderr)
        os.environ["SLURM_CONF"] = os.path.join(cls.cluster, "slurm.conf")
        cls.write("study.toml", STUDY.format(steps=500_000))
        cls.call(
            "study", "study.toml", "--out", "whole.sqlite", "--no_report", "--quiet"
        ).check_returncode()
        cls.whole = cls.contents("whole.sqlite")

    @classmethod
    def tearDownClass(cls):
        cls.end()

    @classmethod
    def end(cls):
        subprocess.run([SLURM_HERE, "stop", cls.cluster], capture_output=True, check=False)
        cls.folder.cleanup()
        shutil.rmtree(cls.cluster, ignore_errors=True)

    @classmethod
    def path(cls, *names):
        return os.path.join(cls.folder.name, *names)

    @classmethod
    def write(cls, name, text):
        with open(cls.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    @classmethod
    def call(cls, *arguments, **how):
        return subprocess.run(
            [PROGRAM, *arguments],
            capture_output=True,
            text=True,
            cwd=cls.folder.name,
            timeout=120,
            check=False,
            **how,
        )

    @classmethod
    def contents(cls, store):
        return [rows(cls.path(store), query) for query in CONTENTS]

    def arguments(self, store, *more):
        return ["study", "study.toml", "--launcher", "slurm", "--out", store, "--no_report", *more]

    def start(self, store, *more):
        process = subprocess.Popen(
            [PROGRAM, *self.arguments(store, *more)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder.name,
        )
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    @unittest.skipUnless(HAS_MPI, "a build without MPI")
    def test_srun_starts_ranks(self):
        """Tasks of a job step train one run together, with the bits of one process."""
        known = subprocess.run(["srun", "--mpi=list"], capture_output=True, text=True, check=False)
        if "pmix" not in known.stdout + known.stderr:
            self.skipTest("this Slurm has no PMIx")
        # Containers' users are often root, and one node has no network between its tasks.
        variables = dict(
            os.environ,
            OMPI_ALLOW_RUN_AS_ROOT="1",
            OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
            OMPI_MCA_btl="self,vader",
        )
        arguments = [
            "train",
            "--env_id",
            "CartPole-v1",
            "--num_envs",
            "64",
            "--total_timesteps",
            "65536",
            "--threads",
            "1",
            "--ledger",
            "none",
            "--quiet",
        ]
        lines = {}
        for name, launcher in (("ranks", ["srun", "--mpi=pmix", "-n", "2"]), ("one", [])):
            done = subprocess.run(
                [*launcher, PROGRAM, *arguments, "--json", "--out", name],
                capture_output=True,
                text=True,
                cwd=self.folder.name,
                timeout=120,
                check=False,
                env=variables,
            )
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(json.loads(done.stdout)["ranks"]["count"], 2 if launcher else 1)
            with open(self.path(name, "ledger_line.json"), encoding="utf-8") as file:
                lines[name] = json.load(file)
        self.assertEqual(lines["ranks"]["speed"]["ranks"], 2)
        self.assertEqual(lines["ranks"]["result"], lines["one"]["result"])

    def finish(self, process, code):
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, code, out + err)
        return out, err

    def wait_for(self, what, *arguments):
        """Waits until what() returns a true value, and returns it."""
        end = time.monotonic() + 120
        while time.monotonic() < end:
            got = what(*arguments)
            if got:
                return got
            time.sleep(0.02)
        self.fail(
            f"{what.__name__}{arguments} did not come to be: "
            + subprocess.run(["squeue"], capture_output=True, text=True, check=False).stdout
        )

    def jobs(self, state):
        """(array, part) of those jobs."""
        out = subprocess.run(
            ["squeue", "--noheader", "--array", "--states=" + state, "--format=%F %K"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        return [tuple(line.split()) for line in out.splitlines()]

    def at_work(self, launch="launch-1", store="a"):
        """(array, part) of a job that has put a run into its store and has two more to do at the least."""
        for array, part in self.jobs("RUNNING"):
            path = self.path(f"{store}-jobs", launch, f"part-{part}.sqlite")
            if not os.path.exists(path):
                continue
            # How many runs a part has follows from how long they took this machine just now.
            with open(self.path(f"{store}-jobs", launch, "launch.json"), encoding="utf-8") as file:
                runs = sum(
                    int(last or first) - int(first) + 1
                    for first, _, last in (
                        item.partition("-")
                        for item in json.load(file)["parts"][int(part) - 1].split(",")
                    )
                )
            finished = rows(path, "SELECT count(*) FROM runs WHERE status = 'finished'")[0][0]
            if 1 <= finished <= runs - 2:
                return array, part
        return None

    def times(self, store):
        return set(
            rows(
                self.path(store),
                "SELECT id, started, finished, seconds FROM runs WHERE status = 'finished'",
            )
        )

    def test_a_cancelled_job_is_named_and_the_same_command_does_its_rest(self):
        process = self.start("a.sqlite", "--parts", "2", "--jobs", "1")
        array, part = self.wait_for(self.at_work)
        subprocess.run(["scancel", f"{array}_{part}"], check=True)
        out, err = self.finish(process, 4)
        self.assertIn("8 of 8 runs in 2 jobs, 1 at once; partition work, ", out)
        self.assertRegex(
            err,
            rf"part {part} \(job {array}_{part}\) left \d of its \d runs, '.*/launch-1/part-{part}.log' ends: .*CANCELLED AT",
        )
        done = self.times("a.sqlite")
        self.assertTrue(1 <= len(done) < 8, len(done))
        out, _ = self.finish(self.start("a.sqlite", "--parts", "2"), 0)
        self.assertIn(f"{8 - len(done)} of 8 runs in ", out)
        self.assertTrue(
            done <= self.times("a.sqlite"), "a run that was in the store was made once more"
        )
        self.assertEqual(self.contents("a.sqlite"), self.whole)
        self.assertEqual(
            sorted(os.listdir(self.path("a-jobs", "launch-1"))),
            sorted(["job.sh", "launch.json", "part-1.log", "part-2.log", f"part-{part}.sqlite"]),
        )

    def test_jobs_that_are_put_back_or_killed_go_on(self):
        process = self.start("b.sqlite", "--parts", "2", "--threads", "1")
        array, part = self.wait_for(self.at_work, "launch-1", "b")
        subprocess.run(["scontrol", "requeue", f"{array}_{part}"], check=True)  # as preemption does
        other = "1" if part == "2" else "2"
        store = f"{self.path('b-jobs', 'launch-1')}/part-{other}.sqlite"
        killed = self.pids_with("--out=" + store)
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        out, err = self.finish(process, 4 if killed else 0)
        if killed:
            self.assertIn(f"(job {array}_{other})", err)
            self.assertNotIn(f"(job {array}_{part})", err)
            self.finish(self.start("b.sqlite"), 0)
        self.assertEqual(self.contents("b.sqlite"), self.whole)

    @staticmethod
    def pids_with(word):
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    if word.encode() in file.read().split(b"\0"):
                        found.append(int(pid))
            except OSError:
                pass  # it has ended
        return found

    def test_watching_may_stop_and_only_one_watches(self):
        process = self.start("c.sqlite", "--parts", "2")
        self.wait_for(self.jobs, "RUNNING")
        second = self.call(*self.arguments("c.sqlite"))
        self.assertEqual(second.returncode, 4)
        self.assertIn("another command is working on 'c.sqlite'", second.stderr)
        process.send_signal(signal.SIGINT)
        out, _ = self.finish(process, 130)
        self.assertRegex(out, r"Job array \d+ goes on")
        local = self.call("study", "study.toml", "--out", "c.sqlite")
        self.assertEqual(local.returncode, 4)
        self.assertIn("--launcher slurm", local.stderr)
        killed = self.start("c.sqlite")
        time.sleep(0.3)
        killed.kill()
        killed.communicate()
        self.finish(self.start("c.sqlite"), 0)
        self.assertEqual(
            os.listdir(self.path("c-jobs")), ["launch-1"], "its runs were launched twice"
        )
        self.assertEqual(self.contents("c.sqlite"), self.whole)

    def test_what_a_person_has_set_for_other_jobs_changes_nothing(self):
        own = dict(
            os.environ,
            SBATCH_JOB_NAME="mine",
            SBATCH_ARRAY_INX="1",
            SBATCH_OUTPUT="/dev/null",
            SBATCH_PARTITION="short",
            SBATCH_TIMELIMIT="1",
            SBATCH_MEM_PER_CPU="1M",
            SQUEUE_STATES="COMPLETED",
            SQUEUE_PARTITION="short",
            SQUEUE_NAMES="mine",
            SINFO_PARTITION="short",
        )
        result = self.call(*self.arguments("g.sqlite", "--parts", "2"), env=own)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("8 of 8 runs in 2 jobs; partition work, ", result.stdout)
        self.assertEqual(
            sorted(os.listdir(self.path("g-jobs", "launch-1"))),
            ["job.sh", "launch.json", "part-1.log", "part-2.log"],
        )
        self.assertEqual(self.contents("g.sqlite"), self.whole)

    def test_a_study_that_changed_since_is_refused_by_its_parts(self):
        self.write("changing.toml", STUDY.format(steps=500_000))
        process = subprocess.Popen(
            [
                PROGRAM,
                "study",
                "changing.toml",
                "--name",
                "study",
                "--launcher",
                "slurm",
                "--parts",
                "2",
                "--jobs",
                "1",
                "--out",
                "d.sqlite",
                "--no_report",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder.name,
        )
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.wait_for(self.at_work, "launch-1", "d")
        self.write("changing.toml", STUDY.format(steps=250_000))
        _, err = self.finish(process, 4)
        self.assertRegex(
            err, r"runs? (are|is) left.*is the store of another study.*total_timesteps"
        )
        changed = self.call(
            "study", "changing.toml", "--name", "study", "--launcher", "slurm", "--out", "d.sqlite"
        )
        self.assertEqual(changed.returncode, 6, changed.stderr)

    def test_what_cannot_be_launched_says_why_and_leaves_nothing(self):
        bare = dict(os.environ, PATH="/nowhere")
        refused = dict(os.environ, SBATCH_RESERVATION="nobody")
        for code, words, more, env in [
            (3, ["'sbatch'", "--launcher local"], [], bare),
            (4, ["sbatch refused: '", "eservation"], [], refused),
            (2, ["got 'gpu'", "short, work"], ["--partition", "gpu"], None),
            (
                2,
                ["a job needs 11 minutes", "short: 10 minutes"],
                ["--partition", "short", "--time_limit", "11"],
                None,
            ),
            (2, ["3 processors", "--threads"], ["--threads", "3"], None),
            (2, ["leave out --part and --runs"], ["--part", "1/2"], None),
        ]:
            result = self.call(*self.arguments("e.sqlite", *more), env=env)
            self.assertEqual(result.returncode, code, result.stderr)
            for word in words:
                self.assertIn(word, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
            self.assertEqual(
                os.listdir(self.path("e-jobs")) if os.path.exists(self.path("e-jobs")) else [], []
            )

    def test_a_plan_says_what_would_be_submitted_and_any_engine_can_run_it(self):
        result = self.call(
            *self.arguments("f.sqlite", "--parts", "3", "--plan", "--time_limit", "30")
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        for line in (
            "8 of 8 runs in 3 jobs; partition work, 30 minutes",
            "#SBATCH --array=1-3\n",
            "#SBATCH --time=30\n",
        ):
            self.assertIn(line, result.stdout)
        self.assertFalse(
            os.path.exists(self.path("f.sqlite")) or os.path.exists(self.path("f-jobs"))
        )
        self.write("job.sh", result.stdout[result.stdout.index("#!/bin/bash") :])
        for part in "123":
            done = subprocess.run(
                ["bash", self.path("job.sh"), part], capture_output=True, text=True, check=False
            )
            self.assertEqual(done.returncode, 0, done.stderr)
        parts = [self.path("f-jobs", "launch-N", f"part-{part}.sqlite") for part in "123"]
        self.assertEqual(self.call("study", "merge", *parts, "--out", "f.sqlite").returncode, 0)
        self.assertEqual(self.contents("f.sqlite"), self.whole)


if __name__ == "__main__":
    why = missing()
    if why:
        print("SKIPPED: no study is run as jobs of a cluster: " + why)
        sys.exit(77)
    unittest.main(verbosity=2)
