"""A config names its model by a path beside it. Its run, record and rerun find the model."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from program_test_case import PROGRAM, ProgramTest  # noqa: E402

CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"
SMALL = ["--num_envs", "4", "--num_steps", "8", "--total_timesteps", "64", "--threads", "1"]
PANEL = """env_id = "Quadruped-v0"
episodes = 2
seeds = [1]
[env]
xml_file = "../configs/robots/biped.xml"
feet = ["left", "right"]
gait_hz = 1.5
"""
STUDY = """seeds = 1
base = "../configs/biped_walk.toml"
[grid]
"env.xml_file" = ["../configs/robots/biped.xml", "./heavy.xml"]
"""


class ConfigPaths(ProgramTest):
    def setUp(self):
        super().setUp()
        self.place = pathlib.Path(self.folder.name)
        (self.place / "configs" / "robots").mkdir(parents=True)
        shutil.copy(CONFIGS / "biped_walk.toml", self.place / "configs")
        shutil.copy(CONFIGS / "robots" / "biped.xml", self.place / "configs" / "robots")
        (self.place / "studies").mkdir()

    def trained(self, name, config, *flags):
        """The record of a run."""
        result = self.run_program("train", config, *SMALL, *flags, "--out", name, "--quiet")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads((self.place / name / "ledger_line.json").read_text())

    def test_a_run_has_the_same_bits_from_any_folder(self):
        records = [
            self.trained("near", "configs/biped_walk.toml"),
            self.trained("whole", str(self.place / "configs" / "biped_walk.toml")),
            self.trained("named", "configs/biped_walk.toml", "--env.xml_file",
                         "./configs/robots/biped.xml"),
        ]  # fmt: skip
        paths = [record["config"]["env.xml_file"] for record in records]
        near, whole = "./configs/robots/biped.xml", f"{self.place}/configs/robots/biped.xml"
        self.assertEqual(paths, [near, whole, near])
        self.assertEqual(len({record["result"]["parameters_hash"] for record in records}), 1)
        call = [PROGRAM, "train", "biped_walk.toml", *SMALL, "--out", "../inside", "--quiet"]
        subprocess.run(call, check=True, cwd=self.place / "configs")
        inside = json.loads((self.place / "inside" / "ledger_line.json").read_text())
        self.assertEqual(inside["config"]["env.xml_file"], "./robots/biped.xml")
        results = [record["result"]["parameters_hash"] for record in (records[0], inside)]
        self.assertEqual(*results)

    def test_a_rerun_finds_what_is_recorded(self):
        self.trained("a", "configs/biped_walk.toml")
        rerun = self.run_program("rerun", "ledger.jsonl", "--out", "again")
        self.assertEqual(rerun.returncode, 0, rerun.stdout + rerun.stderr)

    def test_a_policy_is_exported_without_its_robots_file(self):
        self.trained("a", "configs/biped_walk.toml")
        played = self.object_of("export", "a", "--out", "with.npz", "--json")
        os.rename(self.place / "configs" / "robots", self.place / "gone")
        drawn = self.object_of("export", "a", "--out", "without.npz", "--json")
        self.assertFalse(any("cannot be made" in note for note in played["notes"]))
        note = next(note for note in drawn["notes"] if "cannot be made here: " in note)
        self.assertIn("the model './configs/robots/biped.xml' cannot be opened", note)
        self.assertEqual(drawn["outputs"], played["outputs"])
        files = [(self.place / name).read_bytes() for name in ("with.npz", "without.npz")]
        self.assertEqual(*files)

    def test_a_path_that_leads_nowhere_says_from_where_it_counts(self):
        self.trained("a", "configs/biped_walk.toml")
        (self.place / "elsewhere").mkdir()
        for words in (["eval"], ["watch"], ["audit"], ["train", "--resume"]):
            with self.subTest(words=words):
                call = [PROGRAM, *words, "../a"]
                more = ["--more_timesteps", "64"] if words[0] == "train" else []
                run = subprocess.run(
                    call + more, cwd=self.place / "elsewhere", capture_output=True, text=True
                )
                self.assertEqual(run.returncode, 3, run.stdout + run.stderr)
                self.assertIn("'./configs/robots/biped.xml' is looked up from", run.stderr)
                self.assertIn(f"{self.place.resolve()}/elsewhere", run.stderr)
                self.assertIn("Run the command in the folder from which the path", run.stderr)

    def test_panels_and_studies_have_the_same_rule(self):
        self.write("studies/panel.toml", PANEL)
        record = self.trained("a", "configs/biped_walk.toml", "--panel", "studies/panel.toml")
        definition = record["panel"]["definition"]
        self.assertEqual(definition["env.xml_file"], "./studies/../configs/robots/biped.xml")
        scored = self.run_program("eval", "a", "--panel", "a/panel.toml")
        self.assertEqual(scored.returncode, 0, scored.stderr)
        text = (CONFIGS / "robots" / "biped.xml").read_text()
        self.write("studies/heavy.xml", text)
        self.write("studies/study.toml", STUDY)
        study = self.object_of("study", "studies/study.toml", *SMALL[:-2], "--no_report", "--json")
        self.assertEqual([cell["finished"] for cell in study["cells"]], [1, 1])

    def edit(self):
        """Makes the robot another one: its trunk is heavier."""
        path = self.place / "configs" / "robots" / "biped.xml"
        text = path.read_text()
        changed = re.sub(r'mass="([\d.]+)"', lambda m: f'mass="{2 * float(m[1])}"', text, count=1)
        self.assertNotEqual(text, changed)
        path.write_text(changed)

    def engine_of(self, name):
        return json.loads((self.place / name / "manifest.json").read_text())["engine"]

    def test_an_edited_robot_is_named_wherever_its_run_plays(self):
        self.write("studies/panel.toml", PANEL)
        self.trained("a", "configs/biped_walk.toml")
        before = self.engine_of("a")
        self.assertRegex(before, r"^MuJoCo [\d.]+, biped\.xml [0-9a-f]{16}$")
        first = self.object_of("eval", "a", "--episodes", "2", "--json")
        self.assertNotIn("note", first)
        panel = self.object_of("eval", "a", "--panel", "studies/panel.toml", "--json")
        self.edit()
        again = self.object_of("eval", "a", "--episodes", "2", "--json")
        self.assertIn(f"was by '{before}' when the policy was trained", again["note"])
        text = (self.place / "a" / "eval_command.jsonl").read_text()
        engines = [json.loads(line)["engine"] for line in text.splitlines()]
        self.assertEqual(engines[0], before)
        self.assertNotEqual(engines[1], before)
        for words in (["watch", "a", "--view", "drawn", "--max_steps", "3"], ["audit", "a"]):
            with self.subTest(words=words):
                result = self.run_program(*words)
                self.assertIn(f"was by '{before}' when", result.stdout + result.stderr)
        self.trained("b", "configs/biped_walk.toml", "--seed", "2")
        other = self.object_of("eval", "b", "--panel", "studies/panel.toml", "--json")
        files = [panel["file"], other["file"]]
        played = [json.loads((self.place / file).read_text())["panel"]["engine"] for file in files]
        self.assertNotEqual(*played)
        self.fails(6, ["they were played in", *played], "compare", *files)

    def test_a_run_that_goes_on_with_another_robot_says_from_which_step(self):
        self.trained("a", "configs/biped_walk.toml")
        before = self.engine_of("a")
        self.edit()
        more = self.run_program("train", "--resume", "a", "--total_timesteps", "128", "--quiet")
        self.assertEqual(more.returncode, 0, more.stderr)
        manifest = json.loads((self.place / "a" / "manifest.json").read_text())
        self.assertEqual(manifest["engine"], before)
        (change,) = manifest["engine_changes"]
        self.assertEqual(change["step"], 64)
        self.assertNotEqual(change["engine"], before)
        line = json.loads((self.place / "a" / "ledger_line.json").read_text())
        self.assertEqual(line["contract"]["engine"], before)
        self.assertEqual(line["contract"]["engine_changes"], [change])
        rerun = self.run_program("rerun", "ledger.jsonl:2", "--out", "again")
        self.assertEqual(rerun.returncode, 6, rerun.stdout + rerun.stderr)
        self.assertIn("different contract.engine, contract.engine_changes", rerun.stdout)
        self.assertNotIn("are the same, so they are not the cause", rerun.stdout)

    def test_a_store_has_runs_of_one_robot(self):
        self.write("studies/study.toml", STUDY.replace(', "./heavy.xml"', ""))
        call = ["study", "studies/study.toml", *SMALL[:-2], "--no_report", "--json"]
        self.object_of(*call)
        self.object_of(*call)
        self.edit()
        words = ["the store of another study", "engine MuJoCo", "biped.xml"]
        other = self.run_program(*call[:-1])
        self.assertEqual(other.returncode, 6, other.stderr)
        for word in words:
            self.assertIn(word, other.stderr)

    def test_a_panel_that_leaves_out_the_robot_is_refused(self):
        self.trained("a", "configs/biped_walk.toml")
        text = PANEL.replace(
            'xml_file = "../configs/robots/biped.xml"\nfeet = ["left", "right"]\n', ""
        )
        self.write("studies/other.toml", text)
        words = ["on a model without meshes' and not in", "on biped.xml'", "such as xml_file"]
        self.fails(6, words, "eval", "a", "--panel", "studies/other.toml")

    def test_a_path_from_the_current_folder_still_works(self):
        text = (self.place / "configs" / "biped_walk.toml").read_text()
        text = text.replace("./robots/biped.xml", "./configs/robots/biped.xml")
        self.write("configs/biped_walk.toml", text)
        record = self.trained("old", "configs/biped_walk.toml")
        self.assertEqual(record["config"]["env.xml_file"], "./configs/robots/biped.xml")
        os.rename(self.place / "configs" / "robots", self.place / "gone")
        self.fails(3, ["./configs/robots/biped.xml"], "train", "configs/biped_walk.toml")


if __name__ == "__main__":
    unittest.main(verbosity=2)
