"""`broadloom advise`: its files, its output, its refusals, and signals that stop it."""

import json
import os
import re
import signal
import subprocess
import sys
import unittest

FORMAT_PAGE = os.path.abspath(sys.argv.pop(2))

from program_test_case import PROGRAM, ProgramTest

TASK = [
    "advise",
    "--env_id",
    "FrozenLake-v1",
    "--env.is_slippery",
    "false",
    "--hidden_sizes",
    "8",
    "--threads",
    "2",
]
ANSWERED = ["--steps", "400000"]
HOPELESS = [
    "advise",
    "--env_id",
    "MountainCar-v0",
    "--hidden_sizes",
    "8",
    "--threads",
    "2",
    "--seeds",
    "2",
]
FEW = ["--steps", "60000"]


class Advise(ProgramTest):
    def read(self, *names):
        with open(os.path.join(self.folder.name, *names), encoding="utf-8") as file:
            return file.read()

    def test_answers_in_words_and_files_and_train_takes_them(self):
        result = self.run_program(*TASK, *ANSWERED, "--out", "a")
        self.assertEqual(result.returncode, 0, result.stderr)
        for words in (
            "Train FrozenLake-v1 with ",
            "Why:",
            "Runners-up:",
            "would change",
            "Not known:",
            "Written: a/advice.toml, a/advice.json, a/advice.html",
            "Next: broadloom train a/advice.toml",
        ):
            self.assertIn(words, result.stdout)
        data = json.loads(self.read("a", "advice.json"))
        self.assertEqual(
            (data["format"], data["kind"], data["unit"]), (1, "advice", "environment steps")
        )
        self.assertIn(
            data["advice"]["answer"], self.read("a", "advice.html").replace("\\u003c", "<")
        )
        trained = self.run_program(
            "train", "a/advice.toml", "--total_timesteps", "5000", "--out", "run", "--quiet"
        )
        self.assertEqual(trained.returncode, 0, trained.stderr)
        config = json.loads(self.read("run", "manifest.json"))["config"]
        advised = data["candidates"][data["advice"]["candidate"]]
        for key in ("num_envs", "num_steps", "minibatch_size", "update_epochs", "learning_rate"):
            self.assertEqual(float(config[key]), advised[key], key)
        self.assertEqual(
            (config["lr_schedule"], config["hidden_sizes"], config["env.is_slippery"]),
            ("constant", "8", "false"),
        )

    def test_steps_answer_the_same_on_any_number_of_threads(self):
        for threads in ("1", "3"):
            self.assertEqual(
                self.run_program(
                    *TASK[:-1], threads, *ANSWERED, "--out", threads, "--quiet"
                ).returncode,
                0,
            )
        self.assertEqual(self.read("1", "advice.toml"), self.read("3", "advice.toml"))

        def but_for_the_clock(text):
            return {
                key: value
                for key, value in json.loads(text).items()
                if key not in ("created", "machine", "command")
            }

        self.assertEqual(
            but_for_the_clock(self.read("1", "advice.json")),
            but_for_the_clock(self.read("3", "advice.json")),
        )

    def test_the_file_has_the_keys_of_its_page_and_no_others(self):
        with open(FORMAT_PAGE, encoding="utf-8") as file:
            page = file.read()

        def keys_under(heading):
            """The words in backquotes of the first column; in lists of members those of the second,
            too."""
            text = (
                page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
                if heading
                else page.partition("\n## ")[0]
            )
            rows = [line.split("|") for line in text.splitlines() if line.startswith("| `")]
            return {key for row in rows for key in re.findall(r"`(\w+)`", row[1])}, {
                row[1].strip(" `"): row[2] for row in rows
            }

        data = self.object_of(*TASK, *ANSWERED, "--out", "a", "--json")
        del data["written"]  # of the command, not of the file
        self.assertEqual(set(data), keys_under(None)[0])
        for heading in ("advice", "candidates", "gradient"):
            one = data[heading][0] if heading == "candidates" else data[heading]
            self.assertEqual(set(one), keys_under(heading)[0], heading)
        members = keys_under("candidates")[1]["trials"]
        self.assertEqual(
            set(data["candidates"][0]["trials"][0]), set(re.findall(r"`(\w+)`", members))
        )

    def test_candidates_are_those_of_the_kind_of_task_with_their_experiments(self):
        few = [*TASK, *FEW, "--seeds", "1"]
        result = self.run_program(*few, "--for", "return,robots", "--out", "a")
        self.assertIn(result.returncode, (0, 22), result.stderr)
        self.assertIn("Tried, as by --for robots:", result.stdout)
        data = json.loads(self.read("a", "advice.json"))
        self.assertEqual((data["goal"], data["candidates_for"]), ("return", "robots"))
        first = data["candidates"][1]
        self.assertEqual((first["num_envs"], first["num_steps"]), (128, 16))
        self.assertIn(first["name"], data["advice"]["tried"][1])
        root = os.path.dirname(os.path.dirname(os.path.dirname(FORMAT_PAGE)))
        for candidate in data["candidates"][1:]:
            pages = re.findall(r"\b(?:experiments|bench)/[\w-]+", candidate["why"])
            self.assertTrue(pages, candidate["why"])
            for page in pages:
                self.assertTrue(os.path.exists(os.path.join(root, page, "README.md")), page)
        held = self.run_program(*few, "--num_envs", "4", "--out", "b", "--quiet")
        self.assertIn(held.returncode, (0, 22), held.stderr)
        usual = json.loads(self.read("b", "advice.json"))
        self.assertEqual(usual["candidates_for"], "small")
        self.assertIn("num_envs was set", usual["advice"]["tried"][-1])

    def test_probing_again_adds_changes_of_shape(self):
        data = self.object_of(*TASK, "--steps", "2000000", "--reprobe", "--out", "a", "--json")
        self.assertTrue(data["changes"] or data["no_changes"])
        for change in data["changes"][1:]:
            self.assertEqual(set(change) - set(data["changes"][0]), {"then"})
            self.assertGreater(change["then"]["after"], 0)
        self.assertEqual(data["advice"]["change"] is None, not data["changes"])
        self.assertEqual(
            self.run_program("train", "a/advice.toml", "--out", "run", "--quiet").returncode, 0
        )
        self.fails(2, ["reprobe", "race"], *TASK, *ANSWERED, "--reprobe", "--rule", "gradient")

    def test_json_is_one_object(self):
        data = self.object_of(*TASK, *ANSWERED, "--out", "a", "--json")
        self.assertEqual(data["written"], ["a/advice.toml", "a/advice.json", "a/advice.html"])
        self.assertEqual(data["advice"]["order"][0], data["advice"]["candidate"])

    def test_speeds_of_an_earlier_advice_make_steps_into_seconds(self):
        timed = self.run_program(*TASK, "--time", "3s", "--out", "timed", "--quiet")
        self.assertIn(timed.returncode, (0, 22), timed.stderr)
        few = json.loads(self.read("timed", "advice.json"))
        held = [
            f"--{key}={few['candidates'][0][key]}"
            for key in ("num_envs", "num_steps", "minibatch_size", "update_epochs")
        ]
        first = self.object_of(
            *TASK, *ANSWERED, *held, "--speeds", "timed/advice.json", "--out", "b", "--json"
        )
        self.assertEqual(first["unit"], "seconds")
        self.assertEqual(
            {c["steps_per_second"] for c in first["candidates"]},
            {few["candidates"][0]["steps_per_second"]},
        )
        self.assertEqual(few["speeds_from"], {"cpu": few["machine"]["cpu"], "threads": 2})
        self.assertEqual(first["speeds_from"], few["speeds_from"])
        known = ["--speeds", "timed/advice.json", "--steps", "1000"]
        wide = ["--hidden_sizes", "16"]
        self.fails(6, ["timed/advice.json", "hidden_sizes = 8", "it is 16"], *TASK, *wide, *known)
        self.fails(6, ["env_id = FrozenLake-v1"], "advise", "--env_id", "Acrobot-v1", *known)

    def test_names_the_advice_that_it_replaces(self):
        first = self.run_program(*TASK, *ANSWERED, "--out", "a")
        self.assertNotIn("has replaced", first.stderr)
        created = json.loads(self.read("a", "advice.json"))["created"]
        second = self.run_program(*TASK, *FEW, "--out", "a")
        self.assertIn(
            f"Note: a has replaced the advice of {created} with a budget of 400,000 environment "
            "steps; --out keeps both",
            second.stderr,
        )

    def test_replaces_what_is_no_advice_without_naming_it(self):
        os.makedirs(os.path.join(self.folder.name, "a"))
        for earlier in ({"format": 1, "kind": "x"}, {"format": 1, "kind": "advice"}, []):
            self.write("a/advice.json", json.dumps(earlier))
            result = self.run_program(*TASK, *FEW, "--seeds", "1", "--out", "a")
            self.assertIn(result.returncode, (0, 22), result.stderr)
            self.assertNotIn("has replaced", result.stderr)

    def test_a_budget_without_room_is_refused_with_the_least_one(self):
        cart = ["advise", "--env_id", "CartPole-v1", "--out", "a"]
        self.fails(2, ["steps: got 1000", "at least 30720", "4 settings"], *cart, "--steps", "1000")
        self.assertFalse(os.path.exists(os.path.join(self.folder.name, "a")))

    def test_a_hopeless_task_gets_no_advice_and_no_file_of_before(self):
        os.makedirs(os.path.join(self.folder.name, "a"))
        self.write("a/advice.toml", 'env_id = "CartPole-v1"\n')
        result = self.run_program(*HOPELESS, *FEW, "--out", "a")
        self.assertEqual(result.returncode, 22, result.stderr)
        self.assertIn("No advice: ", result.stdout)
        self.assertNotIn("Next:", result.stdout)
        self.assertEqual(
            sorted(os.listdir(os.path.join(self.folder.name, "a"))), ["advice.html", "advice.json"]
        )
        self.assertIsNone(json.loads(self.read("a", "advice.json"))["advice"]["candidate"])

    def test_ctrl_c_answers_from_what_there_is(self):
        process = subprocess.Popen(
            [
                PROGRAM,
                "advise",
                "--env_id",
                "CartPole-v1",
                "--steps",
                "100000000000",
                "--threads",
                "1",
                "--out",
                "a",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder.name,
        )
        self.addCleanup(process.kill)
        self.assertIn("%", process.stderr.readline())  # its line of progress
        process.send_signal(signal.SIGINT)
        words, errors = process.communicate(timeout=100)
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn("It was stopped after", words)
        self.assertTrue(json.loads(self.read("a", "advice.json"))["interrupted"])

    def test_a_terminal_sees_how_far_it_is(self):
        code, text = self.on_a_terminal(*HOPELESS, "--steps", "1000000", "--out", "a")
        self.assertEqual(code, 22, text)
        self.assertRegex(text, r"\d+ %  racing \d+ candidates")
        self.assertIn("\x1b[K", text, "one line, written anew")

    def test_what_is_set_is_held(self):
        data = self.object_of(
            *TASK, "--steps", "1200000", "--num_envs", "16", "--out", "a", "--json"
        )
        self.assertEqual(data["held"], ["num_envs"])
        self.assertEqual({c["num_envs"] for c in data["candidates"]}, {16})
        self.write(
            "base.toml", 'env_id = "FrozenLake-v1"\nlearning_rate = 0.002\nhidden_sizes = [8]\n'
        )
        data = self.object_of("advise", "base.toml", *ANSWERED, "--out", "b", "--json", code=0)
        self.assertEqual({c["learning_rate"] for c in data["candidates"]}, {0.002})

    def test_returns_are_another_question(self):
        data = self.object_of(*TASK, *ANSWERED, "--for", "return", "--out", "a", "--json")
        self.assertEqual(data["goal"], "return")
        self.assertIn("Its evaluations reached", data["advice"]["expected"])

    def test_wrong_calls(self):
        self.fails(2, ["--time", "soon", "60s"], "advise", "--time", "soon")
        self.fails(2, ["--for", "glory", "speed or return"], "advise", "--for", "glory")
        self.fails(2, ["--for", "one of each"], "advise", "--for", "speed,return")
        self.fails(2, ["--for", "one of each"], "advise", "--for", "games,return,gpu")
        self.fails(2, ["--rule", "dice", "race or gradient"], "advise", "--rule", "dice")
        no_race = ("--rule", "gradient", "--for", "return,games")
        self.fails(2, ["no candidates", "leave games out"], "advise", *no_race)
        self.fails(2, ["--threshold", "high"], "advise", "--threshold", "high")
        self.fails(2, ["budget", "0.5 seconds"], "advise", "--time", "0.5s")
        self.fails(2, ["--time", "--steps"], "advise", "--time", "5s", "--steps", "100000")
        self.fails(2, ["lr_schedule", "constant"], "advise", "--lr_schedule", "linear")
        self.fails(
            2,
            ["nothing is left to advise on"],
            "advise",
            "--num_envs",
            "8",
            "--num_steps",
            "8",
            "--num_minibatches",
            "1",
            "--update_epochs",
            "1",
            "--learning_rate",
            "0.1",
        )
        self.fails(2, ["--steps"], "advise", "--speeds", self.speeds())
        self.fails(3, ["nowhere.toml"], "advise", "nowhere.toml")
        self.fails(3, ["nowhere.json"], "advise", "--steps", "1000", "--speeds", "nowhere.json")
        self.write("x.json", "{}")
        self.fails(5, ["x.json", "advice.json"], "advise", "--steps", "1000", "--speeds", "x.json")
        self.fails(3, ["NoSuch-v0"], "advise", "--env_id", "NoSuch-v0")
        self.write("file", "")
        self.fails(4, ["file", "--out"], "advise", "--out", "file/a")

    def speeds(self):
        return self.write(
            "speeds.json",
            json.dumps(
                {
                    "format": 1,
                    "kind": "advice",
                    "config": {"env_id": "CartPole-v1"},
                    "speeds_from": {"cpu": "Abacus", "threads": 1},
                    "candidates": [
                        {
                            "num_envs": 1,
                            "num_steps": 1,
                            "minibatch_size": 1,
                            "update_epochs": 1,
                            "learning_rate": 1,
                            "steps_per_second": 1,
                        }
                    ],
                }
            ),
        )


if __name__ == "__main__":
    unittest.main(verbosity=2)
