"""Studies from outside: kills, full disks, two runners, parts. The store is that of an undisturbed study.

usage: study_test.py PROGRAM
"""

import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
FORMAT_PAGE = pathlib.Path(__file__).parents[2] / "docs/formats/study.md"
KILLS = 12
SEEDS = 4
STUDY = """
seeds = 4
points = 20
evaluations = 2
match = "minibatch_count"

[base]
env_id = "CartPole-v1"
total_timesteps = 8192
eval_episodes = 3
instruments = "gradient"
instrument_every = 4

[shapes]
batch = 256
list = ["4x64", "16x16", "64x4", "256x1"]
"""
WALL_CLOCK = {"seconds", "started", "finished", "created"}
TABLES = {
    "study": "id",
    "cells": "id",
    "runs": "id",
    "points": "run_id, point",
    "metrics": "run_id, key, point",
    "evaluations": "run_id, global_step",
}


def command(*arguments):
    return [PROGRAM, *map(str, arguments)]


def run(*arguments, **options):
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, timeout=60, **options
    )


def dump(path):
    """All rows of all tables, but for wall-clock columns."""
    assert path.exists(), path
    connection = sqlite3.connect(path)
    connection.row_factory = sqlite3.Row
    rows = {}
    for table, order in TABLES.items():
        found = connection.execute(f"SELECT * FROM {table} ORDER BY {order}").fetchall()
        rows[table] = [{k: row[k] for k in row.keys() if k not in WALL_CLOCK} for row in found]
    assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    assert connection.execute("PRAGMA foreign_key_check").fetchone() is None
    connection.close()
    return rows


def size_of(path):
    return path.stat().st_size if path.exists() else 0


def finished_runs(path):
    """None before the store has its tables. Undoes a half-made commit after a kill."""
    if size_of(path) == 0:
        return None
    connection = sqlite3.connect(path, timeout=10)
    try:
        return connection.execute("SELECT count(*) FROM runs WHERE status = 'finished'").fetchone()[
            0
        ]
    except sqlite3.OperationalError as error:
        assert "no such table" in str(error), error
        return None
    finally:
        connection.close()


def small_files(limit):
    """For preexec_fn: files of this process cannot grow beyond `limit` bytes, as on a full disk."""

    def apply():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return apply


class Study(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix="broadloom_study_"))
        cls.file = cls.root / "small.toml"
        cls.file.write_text(STUDY)
        start = time.monotonic()
        result = run("study", cls.file, "--out", cls.root / "whole.sqlite", "--quiet")
        assert result.returncode == 0, result.stderr
        cls.seconds = time.monotonic() - start
        cls.whole = dump(cls.root / "whole.sqlite")
        assert len(cls.whole["runs"]) == 4 * SEEDS
        assert all(row["status"] == "finished" for row in cls.whole["runs"])

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.root)

    def study(self, store, *arguments, **options):
        return run("study", self.file, "--out", store, "--quiet", *arguments, **options)

    def start(self, store, *arguments):
        return subprocess.Popen(
            command("study", self.file, "--out", store, "--quiet", *arguments),
            stderr=subprocess.PIPE,
            text=True,
        )

    def assert_same(self, store):
        got = dump(store)
        for table in TABLES:
            self.assertEqual(got[table], self.whole[table], table)
        self.assertEqual(
            [p.name for p in store.parent.glob(store.name + "-*")], [], "files left beside it"
        )

    def refused(self, code, words, *arguments):
        result = run("study", *arguments)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    def test_a_study_killed_again_and_again_ends_with_the_store_of_one_that_was_not(self):
        moments = random.Random(11)
        store = self.root / "killed.sqlite"
        before, grew, early = 0, 0, 0
        # A quarter falls before the store is made or soon after. The others wait until the store
        # grows, on a machine of any load, and fall into the runs and commits after it. Its size
        # needs no lock, so looking does not hold the study up.
        for kill in range(KILLS):
            size = size_of(store)
            process = self.start(store, "--jobs", 1 + kill % 3)
            while kill % 4 and process.poll() is None and size_of(store) <= size:
                time.sleep(0.001)
            time.sleep(moments.uniform(0.0, self.seconds / len(self.whole["runs"])))
            process.send_signal(signal.SIGKILL)
            process.communicate()
            now = finished_runs(store)
            if now is None:
                early += 1
                self.assertEqual(before, 0, "a store was lost")
                continue
            self.assertGreaterEqual(now, before, "a stored run was lost")
            grew += now > before
            before = now
        result = self.study(store)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_same(store)
        print(
            f"{self.seconds:.1f} s undisturbed; {KILLS} kills: {early} before there was a store, "
            f"{grew} after further runs, {before} runs by then"
        )
        self.assertGreater(grew, 1)

    def test_an_interrupt_stops_it_and_the_same_command_goes_on(self):
        store = self.root / "interrupted.sqlite"
        process = self.start(store, "--jobs", 1)
        while not store.exists():
            time.sleep(0.01)
        time.sleep(0.2 * self.seconds)
        process.send_signal(signal.SIGINT)
        process.communicate()
        self.assertIn(process.returncode, (0, 130))
        result = self.study(store, "--jobs", 3, "--threads", 2)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_same(store)

    def test_a_finished_study_is_left_as_it_is(self):
        store = self.root / "finished.sqlite"
        shutil.copy(self.root / "whole.sqlite", store)
        before = store.read_bytes()
        result = run("study", self.file, "--out", store, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(store.read_bytes(), before)
        answer = json.loads(result.stdout)
        self.assertTrue(answer["complete"])
        self.assertTrue(answer["part_complete"])
        self.assertEqual([cell["finished"] for cell in answer["cells"]], [SEEDS] * 4)

    def test_two_runners_on_one_store(self):
        store = self.root / "two.sqlite"
        first = self.start(store, "--jobs", 1, "--total_timesteps", 262144)
        while not store.exists() or store.stat().st_size == 0:
            time.sleep(0.01)
        second = self.study(store, "--total_timesteps", 262144)
        self.assertEqual(second.returncode, 4, second.stderr)
        self.assertIn("another command is working on", second.stderr)
        first.send_signal(signal.SIGINT)
        first.communicate()
        self.assertEqual(first.returncode, 130)
        # Two at the same moment, before there is a store: one of them does it.
        store = self.root / "race.sqlite"
        racers = [self.start(store) for _ in range(3)]
        errors = [racer.communicate()[1] for racer in racers]
        codes = sorted(racer.returncode for racer in racers)
        self.assertIn(codes, ([0, 4, 4], [0, 0, 4], [0, 0, 0]), errors)
        self.assert_same(store)

    def test_a_store_can_be_read_while_it_grows(self):
        store = self.root / "read.sqlite"
        process = self.start(store)
        counts = []
        while process.poll() is None:
            time.sleep(0.02)
            if not store.exists() or store.stat().st_size == 0:
                continue
            connection = sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=10)
            try:
                counts.append(
                    connection.execute(
                        "SELECT count(DISTINCT seed) FROM learning_curves"
                    ).fetchone()[0]
                )
            except sqlite3.OperationalError as error:  # between the file and its tables
                self.assertIn("no such table", str(error))
            connection.close()
        process.communicate()
        self.assertEqual(process.returncode, 0)
        self.assertEqual(counts, sorted(counts))
        self.assertGreater(len(set(counts)), 1)
        self.assert_same(store)

    def test_a_disk_that_is_full_loses_nothing_stored(self):
        store = self.root / "full.sqlite"
        size = (self.root / "whole.sqlite").stat().st_size
        for limit in (0, 5000, 40000, size // 3, size // 2, size * 2 // 3):
            before = finished_runs(store) or 0
            result = self.study(store, "--jobs", 1, preexec_fn=small_files(limit))
            self.assertEqual(result.returncode, 4, (limit, result.stderr))
            self.assertIn("free some space", result.stderr)
            if limit >= size // 3:
                self.assertGreater(finished_runs(store), before)
        result = self.study(store)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_same(store)

    def test_parts_merge_into_one_store(self):
        parts = [self.root / f"part{i}.sqlite" for i in (1, 2, 3)]
        processes = [
            self.start(part, "--part", f"{i + 1}/3", "--jobs", 1) for i, part in enumerate(parts)
        ]
        for process in processes:
            process.communicate()
            self.assertEqual(process.returncode, 0)
        again = json.loads(self.study(parts[0], "--part", "1/3", "--json").stdout)
        self.assertEqual((again["complete"], again["part_complete"]), (False, True))
        merged = self.root / "merged.sqlite"
        result = run("study", "merge", parts[2], "--out", merged)
        self.assertEqual(result.returncode, 0, result.stderr)
        result = run("study", "merge", *parts[::-1], "--out", merged)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("16 of 16 runs", result.stdout)
        self.assert_same(merged)
        result = run("study", "merge", *parts, "--out", merged)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_same(merged)
        result = run(
            "study",
            "merge",
            *parts,
            "--out",
            self.root / "no_room.sqlite",
            preexec_fn=small_files(100000),
        )
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("free some space", result.stderr)
        self.assertNotIn("--resume", result.stderr)
        self.assertEqual(list(self.root.glob("no_room*")), [])

    def test_a_run_has_the_numbers_of_the_same_run_alone(self):
        connection = sqlite3.connect(self.root / "whole.sqlite")
        for shape, seed in (("16x16", 2), ("256x1", 3)):
            num_envs, num_steps = shape.split("x")
            folder = self.root / f"alone_{shape}"
            result = run(
                "train",
                "--env_id",
                "CartPole-v1",
                "--total_timesteps",
                8192,
                "--num_envs",
                num_envs,
                "--num_steps",
                num_steps,
                "--seed",
                seed,
                "--instruments",
                "gradient",
                "--instrument_every",
                4,
                "--out",
                folder,
                "--quiet",
            )
            self.assertEqual(result.returncode, 0, result.stderr)
            alone = {
                line["global_step"]: line
                for line in map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
            }
            rows = connection.execute(
                "SELECT p.global_step, m.key, m.value FROM metrics m JOIN points p USING (run_id, point) "
                "JOIN runs r ON r.id = m.run_id JOIN cells c ON c.id = r.cell_id WHERE c.name = ? AND r.seed = ?",
                (shape, seed),
            ).fetchall()
            self.assertGreater(len(rows), 20 * 15)
            for step, key, value in rows:
                if key.startswith("grad/"):
                    continue  # last measured, perhaps in an iteration before
                self.assertEqual(value, alone[step][key], (shape, step, key))
            last = {key: value for step, key, value in rows if step == 8192}
            self.assertEqual(last["grad/drift_cosine"], alone[8192]["grad/drift_cosine"])
        connection.close()

    def test_wrong_input_is_refused_before_anything_is_made(self):
        store = self.root / "wrong.sqlite"
        bad = self.root / "bad.toml"
        for text, words in {
            "sede = 3": ["bad.toml:1", "'sede'", "'seeds'"],
            "seeds = 2\n[base]\nnum_env = 4": ["bad.toml:3", "'num_envs'"],
            "seeds = 2\n[grid]\ngamma = []": ["bad.toml:3", "grid would be empty"],
            "seeds = 2\n[shapes]\nbatch = 1024\nlist = ['8x128', '8x100']": [
                "8x100 makes a batch of 800"
            ],
            "[shapes]\nbatch = 1024\nladder = true": ["no seeds"],
        }.items():
            bad.write_text(text)
            self.refused(2, words, bad, "--out", store)
        self.refused(2, ["'--lader'", "'--ladder'"], "--lader")
        self.refused(2, ["part", "'3/2'"], self.file, "--part", "3/2", "--out", store)
        self.refused(2, ["--grid", "KEY=VALUE"], self.file, "--grid", "gamma", "--out", store)
        self.refused(2, ["seed is not a key of a study"], self.file, "--seed", 3, "--out", store)
        self.refused(3, ["study file 'mrege'"], "mrege", "--out", store)
        self.assertFalse(store.exists())

    def test_stores_of_something_else_are_refused(self):
        whole = self.root / "whole.sqlite"
        before = whole.read_bytes()
        self.refused(
            6,
            ["another study", "'seeds 1,2,3,4'", "'seeds 1,2'"],
            self.file,
            "--seeds",
            2,
            "--out",
            whole,
            "--quiet",
        )
        self.refused(
            6,
            ["another study: the store has 'gamma 0.99', this study 'gamma 0.5'. Name"],
            self.file,
            "--gamma",
            0.5,
            "--out",
            whole,
            "--quiet",
        )
        self.refused(6, ["SQLite database"], self.file, "--out", self.file, "--quiet")
        self.assertEqual(self.file.read_text(), STUDY)
        self.assertEqual(whole.read_bytes(), before)

    def test_the_plan_and_the_result_are_printed(self):
        result = run("study", self.file, "--plan", "--match", "gradient_steps", "--doubled", "4x64")
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = {
            line.split()[0]: line.split()
            for line in result.stdout.splitlines()
            if line[:1].isdigit()
        }
        self.assertEqual(rows["4x64"], ["4x64", "8,192", "32", "4", "64", "4", "512", "16"])
        self.assertEqual(rows["8x64"], ["8x64", "8,192", "16", "8", "64", "4", "512", "16"])
        result = run("study", self.file, "--out", self.root / "whole.sqlite")
        self.assertIn("training IQM [95 %]", result.stdout)
        self.assertIn("256x1", result.stdout)

    def test_plan_and_result_are_objects_with_the_keys_of_the_page(self):
        page = FORMAT_PAGE.read_text(encoding="utf-8")
        section = page.partition("## study --json: one object\n\n")[2].partition("\n\n## ")[0]
        common, of_plan, of_result = (
            [[re.findall(r"`(\w+)`", cell) for cell in line.split("|")] for line in table]
            for table in (table.splitlines()[2:] for table in section.split("\n\n"))
        )

        def first_column(rows):
            return {key for row in rows for key in row[1]}

        of_each_cell = set(common[-1][2])
        steps = ["--match", "gradient_steps", "--runs", "1-3"]
        result = run("study", self.file, *steps, "--plan", "--json", "--quiet")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        plan = json.loads(result.stdout)
        self.assertEqual(set(plan), first_column(common + of_plan))
        self.assertEqual([set(cell) for cell in plan["cells"]], 4 * [of_each_cell])
        self.assertEqual((plan["match"], plan["adjust"]), ("gradient_steps", "minibatches"))
        self.assertEqual((plan["runs"], plan["runs_of_part"], plan["launch"]), (16, 3, ""))
        self.assertEqual((plan["seeds"], plan["cells"][0]["gradient_steps"]), ([1, 2, 3, 4], 512))
        store = self.root / "object.sqlite"
        result = run("study", self.file, "--seeds", "1", "--out", store, "--json", "--quiet")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        whole = json.loads(result.stdout)
        in_cells = first_column(of_result[1:])
        self.assertEqual(set(whole), first_column(common + of_result[:1]))
        self.assertEqual([set(cell) for cell in whole["cells"]], 4 * [of_each_cell | in_cells])
        self.assertEqual(
            set(whole["cells"][0]["training_iqm"]), {key for key in of_result[-1][2] if key}
        )

    def test_a_key_of_the_grid_is_given_once_and_wins_over_the_file(self):
        study = ["study", self.file, "--plan", "--json", "--quiet"]
        rate = ["--grid", "learning_rate=1e-3,1e-2"]
        self.refused(
            2, ["learning_rate is given twice"], self.file, *rate, "--grid", "learning_rate=5e-3"
        )
        file = self.root / "axes.toml"
        file.write_text(STUDY + "[grid]\nlearning_rate = [0.5]\ngamma = [0.9]\n")
        study[1] = file
        result = run(*study, *rate, "--grid", "gae_lambda=0.8")
        self.assertEqual(result.returncode, 0, result.stderr)
        names = [cell["cell"] for cell in json.loads(result.stdout)["cells"]]
        self.assertEqual(
            names[:2],
            [f"4x64 gamma=0.9 learning_rate={rate} gae_lambda=0.8" for rate in ("1e-3", "1e-2")],
        )
        self.assertEqual(len(names), 8)

    def test_options_of_a_match_that_has_no_use_for_them_are_refused(self):
        file = self.root / "steps.toml"
        steps = STUDY.replace('"minibatch_count"', '"gradient_steps"\nadjust = "epochs"')
        file.write_text(steps + 'reference = "16x16"\n')
        self.assertEqual(run("study", file, "--plan").returncode, 0)
        none = ["--match", "none", "--plan"]  # replaces the file's match with its options
        self.assertEqual(run("study", file, *none).returncode, 0)
        self.refused(2, ["adjust: got epochs"], file, *none, "--adjust", "epochs")
        self.refused(2, ["reference: got 4x64"], file, *none, "--reference", "4x64")
        self.refused(2, ["doublings 2", "doubled"], file, "--doublings", "2", "--plan")
        file.write_text(STUDY.replace("batch = 256", 'doubled = ["4x64"]').split("list =")[0])
        once, twice = (
            run("study", file, "--doublings", number, "--plan", "--json") for number in ("1", "2")
        )
        shapes = [len(json.loads(plan.stdout)["cells"]) for plan in (once, twice)]
        self.assertEqual(shapes, [3, 5], twice.stderr)

    def test_of_a_large_plan_the_beginning_is_printed(self):
        rates = ",".join(f"{i}e-4" for i in range(1, 31))
        # 4 x 32 divides no budget of 200 steps: each cell has a note.
        study = [
            "study",
            "--env_id",
            "CartPole-v1",
            "--num_steps",
            "32",
            "--total_timesteps",
            "200",
            "--hidden_sizes",
            "4",
            "--evaluations",
            "0",
            "--seeds",
            "1",
            "--grid",
            f"learning_rate={rates}",
        ]

        def cells(text):
            return [
                line for line in text.splitlines() if re.match(r"learning_rate=\S+  +128  ", line)
            ]

        whole = run(*study, "--plan")
        self.assertEqual(whole.returncode, 0, whole.stderr)
        self.assertEqual((len(cells(whole.stdout)), whole.stdout.count("200 steps give")), (30, 30))
        self.assertNotIn("more", whole.stdout)
        store = ("--out", self.root / "large.sqlite", "--no_report")
        result = run(*study, *store, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(
            (len(cells(result.stderr)), result.stderr.count("200 steps give")), (24, 8)
        )
        self.assertIn("\n... and 6 more cells; --plan prints the whole plan\n", result.stderr)
        self.assertIn("\n... and 22 more notes; --plan prints the whole plan\n", result.stderr)
        self.assertEqual(len(json.loads(result.stdout)["cells"]), 30)


if __name__ == "__main__":
    unittest.main(verbosity=1)
