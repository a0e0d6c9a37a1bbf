"""A config names its model by a path beside it. Its run, record and rerun find the model."""

import json
import os
import pathlib
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
