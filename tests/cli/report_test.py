"""`broadloom report`, and the report that `broadloom study` writes: files, sentences, messages,
exit codes."""

import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
STUDY = [
    "study",
    "--env_id",
    "CartPole-v1",
    "--total_timesteps",
    "2048",
    "--seeds",
    "2",
    "--points",
    "4",
    "--hidden_sizes",
    "8",
    "--eval_episodes",
    "2",
]


class Report(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def run_program(self, *arguments):
        return subprocess.run(
            [PROGRAM, *arguments], capture_output=True, text=True, cwd=self.folder.name, timeout=200
        )

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def study(self, store, *flags):
        result = self.run_program(
            *STUDY, "--batch", "128", "--shapes", "4x32,8x16,16x8", "--out", store, *flags
        )
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def fails(self, code, words, *arguments):
        result = self.run_program("report", *arguments)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertIn(words, result.stderr)
        return result

    def test_a_study_ends_with_its_report(self):
        printed = self.study("a.sqlite")
        self.assertIn("\nCells: 6 of 6 runs have finished\n", printed)
        self.assertIn("With 2 runs intervals are unreliable", printed)
        self.assertIn("Written: a-report/study.json, a-report/study.html", printed)
        with open(self.path("a-report/study.json"), encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual(report["command"][:3], STUDY[:3])
        self.assertEqual([arm["name"] for arm in report["arms"]], ["4x32", "8x16", "16x8"])
        self.assertEqual(len(report["comparisons"]), 6)
        # Again from the store, word for word.
        again = self.run_program("report", "a.sqlite", "--out", "b", "--threads", "3")
        self.assertEqual((again.returncode, again.stderr), (0, ""))
        self.assertIn("Written: b/study.json, b/study.html", again.stdout)
        # The answer comes first, as on the page.
        first = " ".join(again.stdout.split("\n\n")[0].split())
        self.assertEqual(first, report["answer"])
        self.assertIn("the runs are too few to call a difference", first)
        self.assertLessEqual(len(first.split()), 30)
        # A row a cell, with its runs and the numbers of the file.
        cells = {cell["name"]: cell for cell in report["cells"]}
        rows = re.findall(r"(?m)^  (\d+x\d+) +2 of 2 +(\S+) \[", again.stdout)
        self.assertEqual(sorted(name for name, _ in rows), sorted(cells))
        for name, value in rows:
            wanted = cells[name]["scores"]["evaluation"]["iqm"]["value"]
            self.assertAlmostEqual(float(value), wanted, delta=0.06 * abs(wanted))
        self.assertEqual(len(re.findall(r"(?m)^  N = \d+ .* not called$", again.stdout)), 2)
        self.assertEqual([line["standings"].count("unknown") for line in report["lines"]], [2])
        self.assertIn(f"{report['heading']} ({report['title']})", again.stdout)
        with open(self.path("b/study.json"), encoding="utf-8") as file:
            same = json.load(file)
        for key in report:
            if key not in ("created", "command"):
                self.assertEqual(report[key], same[key], key)
        self.assertLessEqual(max(len(line) for line in again.stdout.splitlines()), 80)

    def test_no_report_means_none(self):
        printed = self.study("a.sqlite", "--no_report")
        self.assertNotIn("Written", printed)
        self.assertEqual(os.listdir(self.folder.name), ["a.sqlite"])

    def test_json_is_one_object(self):
        printed = self.study("a.sqlite", "--json", "--quiet")
        self.assertEqual(
            json.loads(printed)["written"], ["a-report/study.json", "a-report/study.html"]
        )
        result = self.run_program("report", "a.sqlite", "--json")
        self.assertEqual(json.loads(result.stdout)["kind"], "study")
        quiet = self.run_program("report", "a.sqlite", "--quiet")
        self.assertEqual((quiet.returncode, quiet.stdout, quiet.stderr), (0, "", ""))

    def test_several_stores_are_one_report(self):
        self.study("a.sqlite", "--no_report")
        self.study("b.sqlite", "--no_report", "--match", "minibatch_size", "--minibatch_size", "16")
        result = self.run_program("report", "a.sqlite", "b.sqlite")
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(self.path("a+b-report/study.json"), encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual(len(report["arms"]), 6)
        self.assertEqual(
            {arm["other"] for arm in report["arms"]},
            {"match=minibatch_count", "match=minibatch_size"},
        )

    def test_reports_of_a_part_have_folders_of_their_own(self):
        grid = ["--grid", "env_id=CartPole-v1,Acrobot-v1", "--grid", "learning_rate=1e-3,1e-2"]
        two = [flag for flag in STUDY if flag not in ("--env_id", "CartPole-v1")]
        made = self.run_program(
            *two, *grid, "--num_envs", "8", "--num_steps", "16", "--name", "two"
        )
        self.assertEqual((made.returncode, made.stderr), (0, ""))
        self.assertIn("Store: studies/two.sqlite", made.stdout)
        for flags, name in (
            (["--task", "Acrobot-v1"], "two-Acrobot-v1-report"),
            (["--tuned", "learning_rate"], "two-tuned-learning_rate-report"),
        ):
            made = self.run_program("report", "studies/two.sqlite", *flags)
            self.assertEqual(made.returncode, 0, made.stderr)
            self.assertIn(f"Written: studies/{name}/study.json", made.stdout)
        with open(self.path("studies/two-report/study.json"), encoding="utf-8") as file:
            self.assertEqual(len(json.load(file)["cells"]), 4)

    def test_one_budget_is_advised_for_all_cells(self):
        shapes = ["--shapes", "8x32,32x32,128x8", "--total_timesteps", "20000", "--plan"]
        printed = self.run_program("study", "--seeds", "2", *shapes).stdout
        self.assertEqual(printed.count("choose"), 1, printed)
        self.assertIn("Note: choose total_timesteps = 20480, which suits all cells.", printed)
        self.assertNotIn("num_envs =", printed)

    def test_a_study_with_runs_left_says_so(self):
        result = self.run_program(
            *STUDY, "--shapes", "4x32,8x16", "--part", "1/2", "--out", "part.sqlite"
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("Written", result.stdout)
        result = self.run_program("report", "part.sqlite")
        self.assertEqual(result.returncode, 0, result.stderr)
        words = " ".join(result.stdout.split())
        self.assertIn("part.sqlite is part 1/2", words)
        self.assertIn("2 of 4 runs of part.sqlite have not finished.", words)

    def hold(self, name):
        """Holds the lock of a run or a store until the file is closed (record/file_lock.cc)."""
        file = open(self.path(name), "r+b")
        byte = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 1 << 52, 1, 0)
        fcntl.fcntl(file, getattr(fcntl, "F_OFD_SETLK", 37), byte)
        return file

    def test_a_live_page_reloads_itself_until_the_runs_end(self):
        small = ["--total_timesteps", "4096", "--num_envs", "8", "--num_steps", "32"]
        small += ["--hidden_sizes", "8", "--max_episode_steps", "50", "--quiet"]
        for name in ("a", "b"):
            seed = str(1 + (name == "b"))
            done = self.run_program("train", *small, "--seed", seed, "--out", f"runs/{name}")
            self.assertEqual(done.returncode, 0, done.stderr)
        # Run b has the record of its end, but is trained on, as by train --resume.
        held = self.hold("runs/b/lock")
        process = subprocess.Popen(
            [PROGRAM, "report", "runs/a", "runs/b", "--follow"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder.name,
        )
        self.addCleanup(process.kill)
        self.assertIn("Written", process.stdout.readline())
        page = pathlib.Path(self.path("runs-report/runs.html"))
        self.assertIn('<meta http-equiv="refresh" content="5">', page.read_text(encoding="utf-8"))
        held.close()
        _, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, errors)
        self.assertIn("Written every 5 s until the runs end", errors)
        self.assertNotIn('http-equiv="refresh"', page.read_text(encoding="utf-8"))
        self.fails(2, "--follow: got --json", "runs/a", "--follow", "--json")

    def test_a_live_page_ends_when_nobody_trains(self):
        """After Ctrl-C or kill -9 a run has no record of its end, and a study has runs to do."""
        small = ["--total_timesteps", "4096", "--num_envs", "8", "--num_steps", "32"]
        self.run_program("train", *small, "--hidden_sizes", "8", "--quiet", "--out", "runs/a")
        os.remove(self.path("runs/a/ledger_line.json"))
        part = ["--shapes", "4x32,8x16", "--part", "1/2", "--out", "part.sqlite"]
        self.assertEqual(self.run_program(*STUDY, *part).returncode, 0)
        for name, page in (
            ("runs/a", "runs-report/runs.html"),
            ("part.sqlite", "part-report/study.html"),
        ):
            with self.subTest(name):
                result = self.run_program("report", name, "--follow")
                self.assertEqual(result.returncode, 0, result.stderr)
                text = pathlib.Path(self.path(page)).read_text(encoding="utf-8")
                self.assertNotIn('http-equiv="refresh"', text)

    def test_a_live_page_names_a_run_that_is_gone(self):
        small = ["--total_timesteps", "4096", "--num_envs", "8", "--num_steps", "32"]
        self.run_program("train", *small, "--hidden_sizes", "8", "--quiet", "--out", "runs/a")
        self.addCleanup(self.hold("runs/a/lock").close)
        process = subprocess.Popen(
            [PROGRAM, "report", "runs/a", "--follow"],
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder.name,
        )
        self.addCleanup(process.kill)
        self.assertIn("until the runs end", process.stderr.readline())
        shutil.rmtree(self.path("runs/a"))
        _, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 3, errors)
        self.assertIn("'runs/a'", errors)
        self.assertNotIn("sqlite", errors)

    def test_a_live_page_of_a_study_stops_with_ctrl_c(self):
        part = ["--shapes", "4x32,8x16", "--part", "1/2", "--out", "part.sqlite"]
        self.assertEqual(self.run_program(*STUDY, *part).returncode, 0)
        self.addCleanup(self.hold("part.sqlite").close)
        process = subprocess.Popen(
            [PROGRAM, "report", "part.sqlite", "--follow"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder.name,
        )
        self.addCleanup(process.kill)
        page = pathlib.Path(self.path("part-report/study.html"))
        self.assertIn("until the runs end", process.stderr.readline())
        self.assertIn('http-equiv="refresh"', page.read_text(encoding="utf-8"))
        time.sleep(0.2)  # until it waits for the next page
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130)
        self.assertNotIn('http-equiv="refresh"', page.read_text(encoding="utf-8"))

    def test_wrong_input(self):
        with open(self.path("text"), "w", encoding="utf-8") as file:
            file.write("no store" * 1000)
        self.fails(3, "No such file", "none.sqlite")
        self.fails(6, "SQLite database; name the .sqlite file that `broadloom study` wrote", "text")
        folder = "got the folder '.', expected the store of a study, or runs: broadloom report ./*"
        self.fails(2, folder, ".")
        self.fails(2, "STORE")
        self.assertEqual(json.loads(self.fails(3, "none", "none", "--json").stdout)["exit_code"], 3)
        self.study("a.sqlite", "--no_report")
        self.fails(2, "to the same study", "a.sqlite", "a.sqlite")
        stores = "got the folder '.', expected stores of studies: broadloom report ./*.sqlite"
        self.fails(2, stores, ".")
        self.fails(4, "cannot make the folder 'text/x'", "a.sqlite", "--out", "text/x")
        # An error about reading is one line.
        with open(self.path("a.sqlite"), "rb") as file:
            whole = file.read()
        for damaged in (whole[:9000], whole[:4096] + bytes(range(256)) * 40 + whole[14336:]):
            with open(self.path("bad.sqlite"), "wb") as file:
                file.write(damaged)
            result = self.fails(5, "", "bad.sqlite")
            self.assertRegex(result.stderr, r"cannot read 'bad\.sqlite'|'bad\.sqlite' is damaged")
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def test_runs_that_failed_are_always_said(self):
        study = [
            *STUDY,
            "--max_grad_norm",
            "1e30",
            "--activation",
            "relu",
            "--lr_schedule",
            "constant",
            "--out",
            "f.sqlite",
            "--hidden_sizes",
            ",".join(["16"] * 10),
            "--total_timesteps",
            "4096",
            "--grid",
            "learning_rate=10,1e-3",
        ]
        for flags in ([], ["--quiet"], ["--json"]):  # the later ones find the store whole
            result = self.run_program(*study, *flags)
            self.assertEqual(result.returncode, 7, result.stderr)
            self.assertRegex(
                result.stderr,
                r"(?m)^Failed: learning_rate=10 seed [12]: loss or gradient is not finite",
            )
            self.assertNotIn("Failed: learning_rate=10 seed", result.stdout)
            self.assertEqual(result.stdout == "", flags == ["--quiet"])
        self.assertGreater(json.loads(result.stdout)["cells"][0]["failed"], 0)

    def test_what_evaluations_are_is_said(self):
        self.assertIn(
            "Evaluation: mean return of 2 episodes of its final policy, most likely actions.",
            self.study("a.sqlite", "--no_report"),
        )
        # Without evaluations their number has no effect, so only its default is accepted.
        plain = self.study("b.sqlite", "--no_report", "--evaluations", "0", "--eval_episodes", "10")
        self.assertNotIn("Evaluation:", plain)

    def test_a_page_of_runs(self):
        few = ["--total_timesteps", "2048", "--num_envs", "8", "--num_steps", "32", "--quiet"]
        for env_id in ("CartPole-v1", "Acrobot-v1"):
            for rate in ("1e-3", "1e-2") if env_id == "CartPole-v1" else ("1e-3",):
                for seed in ("1", "2"):
                    name = f"runs/{env_id}-{rate}-{seed}"
                    flags = ["--env_id", env_id, "--learning_rate", rate, "--seed", seed]
                    flags += ["--hidden_sizes", "8", "--max_episode_steps", "50", "--out", name]
                    done = self.run_program("train", *flags, *few)
                    self.assertEqual(done.returncode, 0, done.stderr)
        made = os.listdir(self.path("runs"))
        runs = sorted(f"runs/{name}" for name in made if name != "ledger.jsonl")
        with open(self.path("runs/notes.txt"), "w", encoding="utf-8") as file:
            file.write("mine")
        made = self.run_program("report", *runs, "runs/ledger.jsonl", "runs/notes.txt")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual(made.stdout, "Written: runs-report/runs.html\n")
        self.assertRegex(made.stderr, r"^Note: left out: .*runs/notes.txt")
        with open(self.path("runs-report/runs.html"), encoding="utf-8") as file:
            page = file.read()
        self.assertEqual(re.findall(r"<h2>(.*?)</h2>", page), ["Acrobot-v1", "CartPole-v1"])
        self.assertEqual(page.count("class='curve' d='M") - page.count("h24'"), 3)
        self.assertEqual(re.findall(r"<mark>(.*?)</mark>", page), ["learning_rate"])
        row = r"learning_rate=0.01</th><td>2</td><td>(\S+)</td><td>(\S+) to (\S+)</td>"
        mean, low, high = map(float, re.search(row, page).groups())
        own = re.findall(r"CartPole-v1-1e-2-\d</a>: (\S+?)<", page)
        self.assertAlmostEqual(mean, sum(map(float, own)) / 2, delta=0.011)
        self.assertTrue(low <= mean <= high)
        links = re.findall(r"href='(.*?)'", page)
        self.assertEqual(sorted(links), [f"../{run}" for run in runs])
        self.assertNotIn("<script", page)
        # A run in which no episode has ended yet.
        shutil.copytree(self.path(runs[0]), self.path("runs/begun"))
        with open(self.path("runs/begun/metrics.jsonl"), "w", encoding="utf-8"):
            pass
        made = self.run_program("report", runs[0], "runs/begun", "--out", "two")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("Note: left out: 'runs/begun/metrics.jsonl' has no return yet", made.stderr)
        none = self.run_program("report", "runs/begun", "--out", "none")
        self.assertEqual(none.returncode, 3, none.stderr)
        self.assertIn("got no run with an ended episode", none.stderr)
        # A copy counts once, and the page keeps all others.
        shutil.copytree(self.path(runs[0]), self.path("runs/copy"))
        made = self.run_program("report", *runs, "runs/copy", runs[1], "--out", "copies")
        self.assertEqual(made.returncode, 0, made.stderr)
        for double, same in ("runs/copy", runs[0]), (runs[1], runs[1]):
            self.assertIn(
                f"Note: left out '{double}', which is the same run as '{same}', with equal "
                "settings and seed\n",
                made.stderr,
            )
        with open(self.path("copies/runs.html"), encoding="utf-8") as file:
            page = file.read()
        self.assertIn("<title>Runs</title>", page)
        self.assertIn(f"<h1>{len(runs)} runs</h1>", page)
        links = re.findall(r"href='(.*?)'", page)
        self.assertEqual(sorted(links), [f"../{run}" for run in runs])
        # A rerun gives way to its run, although its name comes first.
        rerun = self.run_program("rerun", runs[0], "--out", "runs/A")
        self.assertEqual(rerun.returncode, 0, rerun.stderr)
        made = self.run_program("report", "runs/A", *runs, "--out", "reruns")
        self.assertIn(f"left out 'runs/A', which is the same run as '{runs[0]}'", made.stderr)
        with open(self.path("reruns/runs.html"), encoding="utf-8") as file:
            links = re.findall(r"href='(.*?)'", file.read())
        self.assertEqual(sorted(links), [f"../{run}" for run in runs])
        made = self.run_program("report", "runs/A", runs[1], "--out", "alone")
        self.assertEqual((made.returncode, made.stderr), (0, ""))
        # A page of one run; nothing is left of the options of stores.
        self.assertEqual(self.run_program("report", runs[0], "--out", "one").returncode, 0)
        refused = self.run_program("report", runs[0], "--tuned", "gamma")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--tuned: got runs, expected stores of studies", refused.stderr)
        self.fails(2, "--json: got runs", runs[0], "--json")
        self.study("a.sqlite", "--no_report")
        self.fails(2, "got runs and 'a.sqlite', the store of a study", runs[0], "a.sqlite")

    def test_stores_of_other_studies_do_not_merge(self):
        self.study("a.sqlite", "--no_report")
        self.study("b.sqlite", "--no_report", "--env_id", "Acrobot-v1", "--grid", "gamma=0.9,0.99")
        result = self.run_program("study", "merge", "a.sqlite", "b.sqlite", "--out", "c.sqlite")
        self.assertEqual((result.returncode, result.stdout), (6, ""))
        self.assertRegex(
            result.stderr,
            r"^broadloom: 'b\.sqlite' is of another study than 'a\.sqlite', and only parts of one "
            r"study can be merged .*They differ: 'b\.sqlite' has 'env_id Acrobot-v1', "
            r"'a\.sqlite' 'env_id CartPole-v1'; ",
        )
        self.assertLess(len(result.stderr), 800)


if __name__ == "__main__":
    unittest.main()
