"""`broadloom export`: its files, messages and refusals. tests/formats/export_page_test.py tests the
contents of the files."""

import os
import re
import subprocess
import unittest

from program_test_case import PROGRAM, SMALL, ProgramTest


class Export(ProgramTest):
    def files(self, folder="."):
        return sorted(
            name
            for name in os.listdir(os.path.join(self.folder.name, folder))
            if name.startswith("policy")
        )

    def read(self, name):
        with open(os.path.join(self.folder.name, name), "rb") as file:
            return file.read()

    def test_places_formats_and_what_is_said(self):
        self.run_program("train", *SMALL, "--out", "a", "--quiet")
        printed = self.run_program("export", "a")
        self.assertEqual(printed.returncode, 0, printed.stderr)
        self.assertRegex(
            printed.stdout,
            r"^  in  observation  float32 \[N, 4\].*\n  out action       int64 \[N\]\n"
            r"      logits       float32 \[N, 2\]\n      value        float32 \[N\]\n"
            r".* \d+ .*states.* \d\.\de-\d\d\na/policy\.onnx\na/policy\.onnx\.parity\.npz\n$",
        )
        quiet = self.run_program(
            "export", self.checkpoints("a")[-1], "--format", "torch", "--quiet"
        )
        self.assertEqual((quiet.returncode, quiet.stdout), (0, ""), quiet.stderr)
        self.assertEqual(self.files(), ["policy.py", "policy.py.parity.npz", "policy.safetensors"])
        answer = self.object_of("export", "a", "--out", "b.npz", "--no-value", "--json")
        self.assertEqual(answer["format"], "npz")
        self.assertEqual(answer["files"], ["b.npz", "b.npz.parity.npz"])
        self.assertEqual(answer["outputs"], {"action": "int64 [N]", "logits": "float32 [N, 2]"})
        self.assertEqual(
            (answer["about"]["env_id"], answer["about"]["run"], answer["about"]["global_step"]),
            ("CartPole-v1", "a", "1024"),
        )
        self.assertLess(answer["difference"], 1e-6)
        self.assertEqual(
            self.run_program("eval", "a", "--episodes", "2").returncode, 0
        )  # a run still

    def test_the_same_bytes_each_time(self):
        self.run_program(
            "train",
            "--env_id",
            "Pendulum-v1",
            *SMALL,
            "--norm_obs",
            "true",
            "--out",
            "a",
            "--quiet",
        )
        for ending in ("onnx", "npz", "py"):
            self.run_program("export", "a", "--out", "b." + ending)
            self.run_program("export", "a", "--out", "c." + ending)
            self.assertEqual(self.read("b." + ending), self.read("c." + ending))
            self.assertEqual(
                self.read(f"b.{ending}.parity.npz"), self.read(f"c.{ending}.parity.npz")
            )
        self.assertEqual(self.read("b.safetensors"), self.read("c.safetensors"))

    def test_what_is_there_stays_unless_it_may_go(self):
        self.run_program("train", *SMALL, "--out", "a", "--quiet")
        self.write("policy.onnx", "mine")
        self.fails(4, ["'policy.onnx'", "--force"], "export", "a", "--out", "policy.onnx")
        self.assertEqual(self.read("policy.onnx"), b"mine")
        self.write("b.safetensors", "mine")
        self.fails(4, ["'b.safetensors'", "--force"], "export", "a", "--out", "b.py")
        self.assertFalse(os.path.exists(os.path.join(self.folder.name, "b.py")))
        self.assertEqual(
            self.run_program("export", "a", "--out", "policy.onnx", "--force").returncode, 0
        )
        self.assertNotEqual(self.read("policy.onnx"), b"mine")
        os.rename(
            os.path.join(self.folder.name, self.checkpoints("a")[-1]),
            os.path.join(self.folder.name, "policy.safetensors"),
        )
        before = self.read("policy.safetensors")
        self.fails(
            2,
            ["'policy.safetensors' is the checkpoint itself"],
            "export",
            "policy.safetensors",
            "--format",
            "torch",
            "--force",
        )
        self.assertEqual(self.read("policy.safetensors"), before)
        self.run_program("train", *SMALL, "--out", "b", "--quiet")
        self.fails(
            2,
            ["among a run's checkpoints"],
            "export",
            "b",
            "--out",
            "b/checkpoints/policy.py",
            "--force",
        )
        # A checkpoint that is named by itself is one of a run all the same, and so is a place in
        # another run.
        self.fails(
            2,
            ["among a run's checkpoints"],
            "export",
            "policy.safetensors",
            "--out",
            "b/checkpoints/policy.npz",
        )
        newest = self.checkpoints("b")[-1]
        inside = subprocess.run(
            [PROGRAM, "export", os.path.basename(newest), "--format", "torch"],
            capture_output=True,
            text=True,
            cwd=os.path.join(self.folder.name, "b/checkpoints"),
            timeout=120,
        )
        self.assertEqual(inside.returncode, 2, inside.stderr)
        self.assertIn("'policy.py' would be among a run's checkpoints", inside.stderr)
        self.assertEqual(self.checkpoints("b")[-1], newest)

    def test_notes(self):
        frames = [
            "--env_id",
            "MinAtar/Breakout-v1",
            "--env.frame_stack",
            "3",
            "--env.frame_padding",
            "zero",
        ]
        self.run_program("train", *frames, *SMALL, "--out", "a", "--quiet")
        self.assertIn(
            "An observation is the last 3 images of an episode, the newest last among its "
            "channels; before the first image of an episode there is a black one.",
            self.object_of("export", "a", "--json")["notes"],
        )
        pole = ["--env_id", "CartPole-v1", "--env.frame_stack", "4"]
        self.run_program("train", *pole, *SMALL, "--out", "c", "--quiet")
        self.assertIn(
            "An input is the last 4 observations of an episode, the newest last; before the first "
            "one there are copies of it.",
            self.object_of("export", "c", "--json")["notes"],
        )
        self.run_program(
            "train",
            "--env_id",
            "Pendulum-v1",
            *SMALL,
            "--norm_reward",
            "true",
            "--out",
            "b",
            "--quiet",
        )
        self.assertEqual(
            self.object_of("export", "b", "--json")["notes"],
            ["Values are for rewards scaled by norm_reward."],
        )
        self.assertEqual(
            self.object_of("export", "b", "--value", "false", "--force", "--json")["notes"], []
        )

    def test_a_header_of_cpp_plays_what_the_network_does(self):
        few = ["--hidden_sizes", "16", *SMALL]
        kinds = {
            "choices": ["--env_id", "CartPole-v1", *SMALL],  # 64 x 64
            "gaussian": ["--env_id", "Pendulum-v1", "--norm_obs", "true", *SMALL],
            "leader": ["--env_id", "Pendulum-v1", "--sapg_policies", "2", *SMALL],
            "parts": ["--env_id", "Dials-v0", "--layer_norm", "all", *few],
            "masks": ["--env_id", "TicTacToe-v0", "--activation", "elu", *few],
            "index": ["--env_id", "Taxi-v3", *few],
            "images": ["--env_id", "MinAtar/Freeway-v1", "--encoder", "impala", *few],
            "channels": [
                *("--env_id", "MinAtar/Asterix-v1", "--encoder", "minatar"),
                *("--layer_norm", "channels", *few),
            ],
        }
        compiler = [os.environ.get("CXX", "c++"), "-std=c++17", "-O1", "-fno-exceptions"]
        compiler += ["-fno-rtti", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]
        for name, flags in kinds.items():
            with self.subTest(name):
                self.run_program("train", *flags, "--out", name, "--quiet")
                answer = self.object_of(
                    *("export", name, "--format", "cpp", "--namespace", f"robot::{name}", "--json")
                )
                files = ["policy.h", "policy_parity.cc", "policy.h.parity.npz"]
                self.assertEqual(answer["files"], [f"{name}/{file}" for file in files])
                folder = os.path.join(self.folder.name, name)
                compile_it = [*compiler, "policy_parity.cc", "-o", "policy_parity"]
                subprocess.run(compile_it, check=True, cwd=folder)
                play = [os.path.join(folder, "policy_parity")]
                played = subprocess.run(play, check=True, capture_output=True, text=True).stdout
                found = re.match(r"(\d+) states: .* at most (\S+) \(limit 1.0e-05\)", played)
                self.assertEqual(int(found[1]), answer["parity_rows"])
                self.assertLess(float(found[2]), 1e-6)
        header = os.path.join(folder, "policy.h")
        with open(header, encoding="utf-8") as file:
            text = file.read()
        with open(header, "w", encoding="utf-8") as file:
            file.write(re.sub(r"(head_bias\{\{\s*)", r"\g<1>0.001f + ", text))
        subprocess.run(compile_it, check=True, cwd=folder)
        self.assertEqual(subprocess.run(play, stdout=subprocess.DEVNULL).returncode, 1)

    def test_what_it_refuses(self):
        self.run_program("train", *SMALL, "--out", "a", "--quiet")
        self.fails(3, ["no run folder 'nowhere'"], "export", "nowhere")
        self.fails(
            2,
            ["format: got 'tflite', expected onnx, torch, npz or cpp"],
            "export",
            "a",
            "--format",
            "tflite",
        )
        self.fails(
            2,
            ["out: got 'policy.pt', expected a name that ends in .onnx, .py (PyTorch), .npz or .h"],
            "export",
            "a",
            "--out",
            "policy.pt",
        )
        self.fails(
            2,
            ["out: got 'policy.npz', expected a name that ends in .onnx"],
            "export",
            "a",
            "--format",
            "onnx",
            "--out",
            "policy.npz",
        )
        for name, flags in {
            "my-robot": ["--format", "cpp"],
            "robot::class": ["--format", "cpp"],
            "std": ["--format", "cpp"],
            "walk": [],
        }.items():
            refusal = [f"namespace: got '{name}', expected"]
            self.fails(2, refusal, "export", "a", *flags, "--namespace", name)
        self.fails(3, ["nowhere/policy.onnx"], "export", "a", "--out", "nowhere/policy.onnx")
        for checkpoint in self.checkpoints("a"):
            os.remove(os.path.join(self.folder.name, checkpoint))
        self.fails(3, ["checkpoint"], "export", "a")
        self.assertEqual(self.files(), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
