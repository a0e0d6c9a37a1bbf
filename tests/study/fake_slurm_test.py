#!/usr/bin/env python3
"""Studies launched without Slurm: scripts named like its commands run the parts here. slurm_test.py tests a real Slurm."""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
STUDY = "seeds = 3\npoints = 2\n[base]\ntotal_timesteps = 2048\neval_episodes = 2\nhidden_sizes = [8]\n[grid]\nlearning_rate = [1e-3, 1e-4]\n"
FAKES = {
    "sinfo": "echo 'work*|up|1-00:00:00|64|100000'",
    "sbatch": r"""[ "$1" = --version ] && exit
script=${!#}
echo "$@" > "$FAKE/words"
env > "$FAKE/variables-sbatch"
name=$(sed -n 's/^#SBATCH --job-name=//p' "$script")
parts=$(sed -n 's/^#SBATCH --array=1-\([0-9]*\).*/\1/p' "$script")
log=$(sed -n 's/^#SBATCH --output="\(.*\)"$/\1/p' "$script")
for part in $(seq "$parts"); do
  bash "$script" "$part" > "${log/\%a/$part}" 2>&1 < /dev/null &
  echo "$part $!" >> "$FAKE/jobs-$name"
done
echo '7;here'""",
    "squeue": r"""[ -e "$FAKE/down" ] && rm "$FAKE/down" && echo 'squeue: error: the controller is being started' >&2 && exit 1
env > "$FAKE/variables-squeue"
for word; do case $word in --name=*) name=${word#--name=};; esac; done
while read -r part pid; do
  [ -e "/proc/$pid" ] && ! grep -q ') Z' "/proc/$pid/stat" && echo "7|$part|RUNNING|None"
done < "$FAKE/jobs-$name"
exit 0""",
}


class FakeSlurm(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.mkdir(self.path("bin"))
        for name, text in FAKES.items():
            self.fake(name, text)
        with open(self.path("a.toml"), "w", encoding="utf-8") as file:
            file.write(STUDY)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def fake(self, name, text):
        with open(self.path("bin", name), "w", encoding="utf-8") as file:
            file.write("#!/bin/bash\n" + text + "\n")
        os.chmod(self.path("bin", name), 0o755)

    def call(self, *arguments, bare=False, variables=()):
        env = dict(
            os.environ,
            **dict(variables),
            FAKE=self.folder,
            PATH="/nowhere" if bare else self.path("bin") + ":" + os.environ["PATH"],
        )
        return subprocess.run(
            [PROGRAM, "study", *arguments],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=env,
            timeout=120,
            check=False,
        )

    def refused(self, code, words, *arguments, bare=False):
        result = self.call(*arguments, bare=bare)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    def hashes(self, store):
        with sqlite3.connect(self.path(store)) as database:
            return database.execute(
                "SELECT id, status, parameters_hash FROM runs ORDER BY id"
            ).fetchall()

    def test_parts_end_in_the_store_of_one_runner(self):
        open(
            self.path("down"), "w", encoding="utf-8"
        ).close()  # the queue does not answer the first time
        result = self.call(
            "a.toml",
            "--launcher",
            "slurm",
            "--parts",
            "3",
            "--env.gravity",
            "9.5",
            "--json",
            "--out",
            "a.sqlite",
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("6 of 6 runs in 3 jobs; partition work", result.stderr)
        self.assertEqual(json.loads(result.stdout)["store"], "a.sqlite")
        self.assertEqual(
            self.call(
                "a.toml", "--env.gravity", "9.5", "--no_report", "--quiet", "--out", "b.sqlite"
            ).returncode,
            0,
        )
        self.assertEqual(self.hashes("a.sqlite"), self.hashes("b.sqlite"))
        self.assertEqual([status for _, status, _ in self.hashes("a.sqlite")], ["finished"] * 6)

    def test_a_plan_is_one_object_with_the_jobs(self):
        words = ["a.toml", "--launcher", "slurm", "--parts", "2", "--plan", "--json"]
        result = self.call(*words)
        self.assertEqual(result.returncode, 0, result.stderr)
        plan = json.loads(result.stdout)
        self.assertEqual((plan["study"], plan["runs"], len(plan["cells"])), ("a", 6, 2))
        self.assertIn("6 of 6 runs in 2 jobs", plan["launch"])
        self.assertIn("#SBATCH --array=1-2\n", plan["launch"])

    def test_variables_of_a_persons_own_jobs_change_nothing(self):
        own = {
            "SBATCH_PARTITION": "gpu",
            "SBATCH_WAIT": "1",
            "SQUEUE_STATES": "COMPLETED",
            "SINFO_FORMAT": "%P",
            "SBATCH_ACCOUNT": "mine",
        }
        result = self.call(
            "a.toml",
            "--launcher",
            "slurm",
            "--parts",
            "2",
            "--jobs",
            "1",
            "--quiet",
            "--time_limit",
            "7",
            variables=own,
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(self.path("words"), encoding="utf-8") as file:
            words = file.read().split()
        for word in (
            "--array=1-2%1",
            "--partition=work",
            "--time=7",
            "--open-mode=append",
            "--requeue",
        ):
            self.assertIn(word, words)
        for start in ("--job-name=broadloom-a-", "--output=", "--mem="):
            self.assertTrue(any(word.startswith(start) for word in words), start)
        for command in ("sbatch", "squeue"):
            with open(self.path("variables-" + command), encoding="utf-8") as file:
                variables = file.read()
            self.assertIn("SBATCH_ACCOUNT=mine", variables)
            for name in ("SBATCH_WAIT", "SQUEUE_STATES", "SINFO_FORMAT"):
                self.assertNotIn(name, variables)

    def test_a_part_that_cannot_start_is_named_with_its_words(self):
        self.fake(
            "sbatch",
            FAKES["sbatch"].replace('  bash "$script" "$part"', "(echo no such node; false)"),
        )
        self.refused(
            4,
            [
                "6 runs are left",
                "part 1 (job 7_1) left ",
                "part-1.log' ends: no such node;",
                "the same command",
            ],
            "a.toml",
            "--launcher",
            "slurm",
            "--parts",
            "2",
            "--quiet",
        )
        self.fake("sbatch", FAKES["sbatch"])
        self.assertEqual(
            self.call("a.toml", "--launcher", "slurm", "--parts", "2", "--quiet").returncode, 0
        )

    def test_refusals_are_told_in_slurms_words_and_leave_nothing(self):
        slurm = ["a.toml", "--launcher", "slurm", "--quiet"]
        self.refused(3, ["'sbatch'"], *slurm, bare=True)
        self.fake(
            "sbatch",
            '[ "$1" = --version ] && exit\necho "sbatch: error: Invalid account" >&2; echo "sbatch: error: give one" >&2; exit 1',
        )
        self.refused(
            4, ["sbatch refused: 'sbatch: error: Invalid account sbatch: error: give one'"], *slurm
        )
        self.assertEqual(os.listdir(self.path("studies", "a-jobs")), [])
        self.refused(2, ["got 'gpu'", "it has work"], *slurm, "--partition", "gpu")

    def test_flags_that_do_not_go_together(self):
        self.refused(
            2, ["launcher 'slrum'", "did you mean 'slurm'"], "a.toml", "--launcher", "slrum"
        )
        self.refused(2, ["--partition", "--launcher slurm"], "a.toml", "--partition", "work")
        self.refused(2, ["--parts", "--launcher slurm"], "a.toml", "--parts", "3")
        self.refused(
            2, ["leave out --part and --runs"], "a.toml", "--launcher", "slurm", "--runs", "1-2"
        )
        self.refused(2, ["--part"], "a.toml", "--part", "1/2", "--runs", "1")
        self.refused(2, ["runs: got '7'", "1 to 6"], "a.toml", "--runs", "7")

    def test_runs_by_number(self):
        self.assertEqual(
            self.call("a.toml", "--runs", "2,4-5", "--quiet", "--out", "c.sqlite").returncode, 0
        )
        self.assertEqual(
            [number for number, status, _ in self.hashes("c.sqlite") if status == "finished"],
            [2, 4, 5],
        )
        self.assertEqual(self.call("a.toml", "--quiet", "--out", "c.sqlite").returncode, 0)
        self.assertEqual([status for _, status, _ in self.hashes("c.sqlite")], ["finished"] * 6)


if __name__ == "__main__":
    unittest.main()
