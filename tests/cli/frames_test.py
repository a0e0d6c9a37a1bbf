"""Stacks of frames in every command that plays an environment."""

import json
import os
import unittest

from program_test_case import SMALL, ProgramTest

GAME = ["--env_id", "MinAtar/Breakout-v1"]
STACKS = GAME + ["--env.frame_stack", "3", "--max_episode_steps", "20"]


class FramesTest(ProgramTest):
    def train(self, folder, *arguments):
        result = self.run_program("train", *STACKS, *SMALL, "--out", folder, "--hashes", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def test_what_an_environment_shows(self):
        shown = self.run_program(
            "env", "show", "MinAtar/Breakout-v1", "--env.frame_stack", "3"
        ).stdout
        self.assertIn("Box(10, 10, 12; uint8 to 1, 3 frames)", shown)
        names = [
            option["name"]
            for option in self.object_of("env", "show", "MinAtar/Breakout-v1", "--json")["options"]
        ]
        self.assertIn("frame_stack", names)
        self.assertIn("frame_padding", names)
        self.assertNotIn("frame_stack", self.run_program("env", "show", "Taxi-v3").stdout)
        self.assertEqual(
            self.run_program(
                "env", "check", "MinAtar/Breakout-v1", "--env.frame_stack", "4"
            ).returncode,
            0,
        )
        bench = self.object_of(
            "env",
            "bench",
            "MinAtar/Breakout-v1",
            "--env.frame_stack",
            "4",
            "--num_steps",
            "100",
            "--json",
        )
        self.assertGreater(bench["episodes"], 0)

    def test_a_run_is_played_on_its_stacks(self):
        answer = self.train("run").stdout
        self.assertIn("of shape (10, 10, 12), each 0 or 1, the last 3 frames", answer)
        with open(
            os.path.join(self.folder.name, "run", "ledger_line.json"), encoding="utf-8"
        ) as file:
            contract = json.load(file)["contract"]
        self.assertEqual(
            contract["observation"],
            {"dtype": "uint8", "shape": [10, 10, 12], "full_scale": 1, "frames": 3},
        )
        for command in (
            ["eval", "run", "--episodes", "3"],
            ["watch", "run", "--episodes", "1"],
            ["audit", "run"],
            ["train", "--resume", "run"],
            [
                "gradients",
                "run",
                "--study",
                "variance",
                "--shapes",
                "2x8",
                "--starts",
                "stationary",
                "--blocks",
                "40",
            ],
        ):
            result = self.run_program(*command)
            self.assertEqual(result.returncode, 0, f"{command}: {result.stderr}")

    def test_another_program_of_steps_has_the_same_bits(self):
        self.train("whole")
        self.train("half", "--threads", "1")
        self.assertEqual(self.run_program("diff", "whole", "half").returncode, 0)

    def test_panels_state_stacks(self):
        self.train("run")
        of_one = self.write("one.toml", 'env_id = "MinAtar/Breakout-v1"\nepisodes = 2\n')
        of_three = self.write(
            "three.toml", 'env_id = "MinAtar/Breakout-v1"\nepisodes = 2\n[env]\nframe_stack = 3\n'
        )
        self.assertEqual(self.run_program("eval", "run", "--panel", of_three).returncode, 0)
        self.fails(
            6,
            ["Box(10, 10, 4; uint8 to 1)", "Box(10, 10, 12; uint8 to 1, 3 frames)"],
            "eval",
            "run",
            "--panel",
            of_one,
        )

    def test_vectors_are_stacked(self):
        pole = ["CartPole-v1", "--env.hide_obs", "1,3", "--env.frame_stack", "4"]
        self.assertIn("Box(8; 4 frames)", self.run_program("env", "show", *pole).stdout)
        self.assertEqual(self.run_program("env", "check", *pole).returncode, 0)
        flags = ["--env_id", *pole, "--total_timesteps", "512", "--quiet"]
        record = self.run_program("train", *flags, "--out", "pole", "--ledger", "pole.jsonl")
        self.assertEqual(record.returncode, 0, record.stderr)
        observed = json.loads(self.ledger("pole.jsonl")[0])["contract"]["observation"]
        self.assertEqual(observed, {"dtype": "float32", "shape": [8], "frames": 4})

    def test_what_cannot_be_stacked(self):
        self.fails(
            2,
            ["env.frame_stack: got 4", "Discrete(500)"],
            "train",
            "--env_id",
            "Taxi-v3",
            "--env.frame_stack",
            "4",
        )
        self.fails(2, ["did you mean '--env.frame_stack'"], "train", *GAME, "--frame_stack", "4")
        config = self.write("run.toml", 'env_id = "MinAtar/Breakout-v1"\nframe_stack = 4\n')
        self.fails(2, ["run.toml:2", "did you mean 'env.frame_stack'"], "train", config)


if __name__ == "__main__":
    unittest.main()
