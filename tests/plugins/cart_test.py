"""Every command on examples/plugin/cart.c, compiled by the command in its comment."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BROADLOOM, SOURCE = (os.path.abspath(path) for path in sys.argv[1:3])
del sys.argv[1:3]
CART = pathlib.Path(SOURCE) / "examples" / "plugin" / "cart.c"
ID = "plugin:libcart.so:Cart-v0"
SMALL = [
    "--num_envs",
    "16",
    "--num_steps",
    "32",
    "--hidden_sizes",
    "16,16",
    "--lr_schedule",
    "constant",
    "--quiet",
    "--ledger",
    "none",
]
PANEL = f"""env_id = "{ID}"
episodes = 6
[perturbations.slippery]
env.friction = 0.1
"""


def compile_cart(folder, *flags):
    """Compiles it by the command in its source."""
    line = re.search(r"cc (.*) -o libcart.so cart.c", CART.read_text(encoding="utf-8")).group(1)
    command = [
        "cc",
        *line.replace("PREFIX/include", SOURCE).split(),
        *flags,
        "-o",
        os.path.join(folder, "libcart.so"),
        str(CART),
    ]
    subprocess.run(command, check=True)


class Cart(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        compile_cart(cls.folder)
        (cls.folder / "panel.toml").write_text(PANEL, encoding="utf-8")
        cls.run_it(
            "train",
            "--env_id",
            ID,
            *SMALL[:-2],
            "--total_timesteps",
            "4096",
            "--threads",
            "1",
            "--out",
            "runs/a",
            "--panel",
            "panel.toml",
            "--ledger",
            "ledger.jsonl",
        )

    @classmethod
    def run_it(cls, *arguments, codes=(0,), path=".", folder=None):
        environment = {**os.environ, "BROADLOOM_PLUGIN_PATH": path}
        result = subprocess.run(
            [BROADLOOM, *arguments],
            capture_output=True,
            text=True,
            cwd=folder or cls.folder,
            timeout=100,
            env=environment,
        )
        if result.returncode not in codes:
            raise AssertionError(
                f"{arguments}: {result.returncode}\n{result.stdout}\n{result.stderr}"
            )
        return result

    def json_of(self, name):
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    def test_it_passes_the_conformance_checks(self):
        report = json.loads(self.run_it("env", "check", ID, "--json").stdout)
        self.assertTrue(report["agrees"])
        self.assertEqual(
            [check["name"] for check in report["checks"] if check["left_out"]],
            ["frame stacks", "action masks", "mirrored play", "steps allocate nothing"],
        )

    def test_its_own_limit_holds(self):
        walk = pathlib.Path(SOURCE) / "tests" / "plugins" / "walk.c"
        subprocess.run(
            [
                "cc",
                "-std=c11",
                "-shared",
                "-fPIC",
                "-DWALK_LIMIT=12",
                "-I",
                SOURCE,
                "-o",
                str(self.folder / "libshort.so"),
                str(walk),
            ],
            check=True,
        )
        report = json.loads(
            self.run_it(
                "env", "check", "plugin:libshort.so:Itself-v0", "--json", codes=(0, 6)
            ).stdout
        )
        self.assertEqual([check["findings"] for check in report["checks"] if check["findings"]], [])

    def test_threads_and_resuming_do_not_change_the_bits(self):
        whole = self.json_of("runs/a/ledger_line.json")["result"]["state_hash"]
        for threads in ("2", "5"):
            out = f"threads/{threads}"
            self.run_it(
                "train",
                "--env_id",
                ID,
                *SMALL,
                "--total_timesteps",
                "2048",
                "--threads",
                threads,
                "--out",
                out,
            )
            resumed = self.run_it(
                "train",
                "--resume",
                out,
                "--total_timesteps",
                "4096",
                "--quiet",
                "--threads",
                threads,
                "--ledger",
                "none",
            )
            self.assertNotIn("plug-in", resumed.stderr)
            self.assertEqual(self.json_of(f"{out}/ledger_line.json")["result"]["state_hash"], whole)

    def test_it_learns(self):
        self.run_it(
            "train",
            "--env_id",
            ID,
            *SMALL,
            "--total_timesteps",
            "60000",
            "--learning_rate",
            "3e-3",
            "--norm_reward",
            "true",
            "--out",
            "learns",
        )
        after = json.loads(self.run_it("eval", "learns", "--episodes", "50", "--json").stdout)
        self.assertGreater(after["mean_return"], 120.0)  # at most 200; random actions give -13
        self.assertGreater(after["success_rate"], 0.3)

    def test_every_command_accepts_it(self):
        self.assertIn("slippery", self.run_it("eval", "runs/a", "--panel", "panel.toml").stdout)
        self.run_it("audit", "runs/a", codes=(0, 20, 21))
        self.run_it(
            "gradients",
            "runs/a",
            "--batch",
            "64",
            "--blocks",
            "20",
            "--bias_budget",
            "20000",
            "--out",
            "gradients",
        )
        self.run_it(
            "study",
            "--env_id",
            ID,
            "--num_envs",
            "4",
            "--num_steps",
            "16",
            "--total_timesteps",
            "256",
            "--seeds",
            "2",
            "--grid",
            "learning_rate=1e-3,3e-4",
            "--out",
            "cart.sqlite",
            "--quiet",
        )
        self.run_it("env", "bench", ID, "--num_steps", "100")

    def test_step_sums_are_shown(self):
        last = json.loads(
            (self.folder / "runs/a/metrics.jsonl").read_text(encoding="utf-8").splitlines()[-1]
        )
        self.assertAlmostEqual(last["reward/alive"], 1.0)
        self.assertLess(last["reward/off_mark"], 0.0)
        self.assertGreater(last["measure/distance"], 0.0)
        self.assertIn("distance", self.run_it("eval", "runs/a", "--panel", "panel.toml").stdout)
        self.assertEqual(
            self.json_of("runs/a/ledger_line.json")["contract"]["reward_terms"]["off_mark"], -1.0
        )
        checks = json.loads(self.run_it("audit", "runs/a", "--json", codes=(0, 20, 21)).stdout)[
            "checks"
        ]
        self.assertEqual(
            [check["severity"] for check in checks if check["name"] == "same_tasks"], ["ok"]
        )

    def test_folders_are_named_after_it(self):
        self.run_it("train", "--env_id", ID, *SMALL, "--total_timesteps", "512")
        self.assertTrue(list(self.folder.glob("runs/plugin_libcart.so_Cart-v0__*")))

    def test_a_changed_plug_in_is_reported(self):
        self.run_it(
            "train", "--env_id", ID, *SMALL, "--total_timesteps", "1024", "--out", "changed"
        )
        before = self.json_of("changed/manifest.json")["plugin"]
        self.assertEqual((before["name"], before["version"]), ("cart", "1.0"))
        other = self.folder / "other"
        other.mkdir()
        shutil.copy(self.folder / "ledger.jsonl", other)
        shutil.copytree(self.folder / "changed", other / "changed")
        compile_cart(other, "-g")  # the same steps, but different bytes
        resumed = self.run_it(
            "train",
            "--resume",
            "changed",
            "--total_timesteps",
            "2048",
            "--ledger",
            "none",
            folder=other,
        )
        self.assertIn("is not the one that the run began with", resumed.stderr)
        after = json.loads((other / "changed/manifest.json").read_text(encoding="utf-8"))["plugin"]
        self.assertNotEqual(after["hash"], before["hash"])
        again = self.run_it("rerun", "ledger.jsonl:1", "--out", "again", folder=other)
        self.assertRegex(again.stdout, "DIFFERS +program.plugin")

    def test_rerun_agrees(self):
        output = self.run_it("rerun", "ledger.jsonl:1", "--out", "again").stdout
        self.assertRegex(output, "agrees +program.plugin")

    def test_files_load_no_code(self):
        (self.folder / "study.toml").write_text(
            f'seeds = 1\n[base]\nenv_id = "{ID}"\n'
            "total_timesteps = 256\nnum_envs = 4\nnum_steps = 16\n",
            encoding="utf-8",
        )
        train = [
            "train",
            "--env_id",
            ID,
            *SMALL[:-3],
            "--ledger",
            "none",
            "--total_timesteps",
            "1024",
            "--out",
        ]
        output = self.run_it(*train, "unnamed", path="").stdout
        self.assertIn("eval unnamed --allow_plugin libcart.so\n", output)
        reads = [
            ["eval", "runs/a"],
            ["eval", "runs/a", "--panel", "panel.toml"],
            ["audit", "runs/a"],
            ["watch", "runs/a"],
            ["gradients", "runs/a"],
            ["train", "--resume", "runs/a", "--total_timesteps", "8192"],
            ["rerun", "ledger.jsonl:1", "--out", "r"],
            ["compare", "runs/a", "unnamed", "--panel", "panel.toml"],
            ["study", "study.toml", "--plan"],
        ]
        for words in reads:
            with self.subTest(words=words):
                self.assertIn(
                    "add --allow_plugin libcart.so ",
                    self.run_it(*words, path="", codes=(2,)).stderr,
                )
        # The checkpoint describes the spaces, which is enough for these; they load nothing.
        exported = self.run_it("export", "runs/a", "--out", "x.npz", path="")
        self.assertIn("since it cannot be made here: ", exported.stdout + exported.stderr)
        begun = self.run_it("train", "--init", "runs/a", "--out", "i", path="", codes=(6,))
        self.assertIn("does not fit this run (CartPole-v1)", begun.stderr)
        for words in (
            ["eval", "runs/a", "--allow_plugin", "./libcart.so"],
            ["eval", "--allow_plugin", ".", "runs/a"],
            ["study", "study.toml", "--plan", "--allow_plugin", "libcart.so"],
            ["study", "study.toml", "--quiet"],
            ["train", "--init", "runs/a", *train[1:], "begun"],
        ):
            with self.subTest(words=words):
                self.run_it(*words, path="")
        self.assertIn(
            "'none.so'",
            self.run_it("eval", "runs/a", "--allow_plugin", "none.so", path="", codes=(3,)).stderr,
        )

    def test_it_is_found_in_the_path(self):
        (self.folder / "elsewhere").mkdir()
        shutil.copy(self.folder / "libcart.so", self.folder / "elsewhere/libthere.so")
        lost = self.run_it("env", "show", "plugin:libthere.so:Cart-v0", codes=(3,)).stderr
        self.assertIn("BROADLOOM_PLUGIN_PATH", lost)
        self.run_it(
            "env", "show", "plugin:libthere.so:Cart-v0", path=f"nowhere:{self.folder}/elsewhere"
        )


if __name__ == "__main__":
    if shutil.which("cc") is None:
        print("SKIPPED: there is no C compiler called cc")
        sys.exit(77)
    unittest.main()
