"""The table of exit codes: each of its examples, and that --help names every code."""

import os
import re
import subprocess
import sys
import unittest

PAGE = os.path.abspath(sys.argv.pop(2))

from program_test_case import PROGRAM, SMALL, ProgramTest

LIMITED = """
import os, resource, sys
resource.setrlimit(getattr(resource, sys.argv[1]), (int(sys.argv[2]),) * 2)
os.execv(sys.argv[3], sys.argv[3:])
"""


def rows():
    """(code, example) of each row; "" without an example."""
    with open(PAGE, encoding="utf-8") as file:
        return re.findall(
            r"^\| (\d+) \| .* \| (?:`broadloom (.*)`)? ?\|$", file.read(), re.MULTILINE
        )


class ExitCodes(ProgramTest):
    def test_examples_end_as_the_table_says(self):
        for name, seed in (("a", "1"), ("b", "2")):
            self.run_program("train", *SMALL, "--seed", seed, "--hashes", "--out", name, "--quiet")
        os.makedirs(os.path.join(self.folder.name, "taken", "by"))
        self.write("damaged.safetensors", "x")
        tried = [(int(code), example) for code, example in rows() if example]
        self.assertEqual([code for code, _ in tried], [0, 2, 3, 4, 5, 6, 7])
        for code, example in tried:
            result = self.run_program(*example.split())
            self.assertEqual(result.returncode, code, example + "\n" + result.stderr)
            self.assertEqual(
                result.stderr.count("\n"),
                0 if code == 0 or example.startswith("diff") else 1,
                example,
            )

    def limited(self, limit, *arguments, resource="RLIMIT_AS"):
        """Runs the program under a limit, by default of memory, like a small machine."""
        return subprocess.run(
            [sys.executable, "-c", LIMITED, resource, str(limit), PROGRAM, *arguments],
            capture_output=True,
            text=True,
            cwd=self.folder.name,
            timeout=120,
        )

    def test_a_thread_that_the_machine_refuses(self):
        """Their stacks do not fit, which root meets, too."""
        for call in (
            ["train", *SMALL, "--threads", "200"],
            ["eval", "run", "--threads", "200"],
            ["study", "--seeds", "400", "--jobs", "400", "--no_report", *SMALL],
        ):
            if call[0] == "eval":
                self.assertEqual(
                    self.run_program("train", *SMALL, "--out", "run", "--quiet").returncode, 0
                )
            result = self.limited(400 << 20, *call)
            self.assertEqual(result.returncode, 4, result.stderr)
            self.assertIn("cannot start a thread: ", result.stderr)
            self.assertIn("ask for fewer threads or jobs", result.stderr)

    def test_memory_that_runs_out(self):
        study = ["study", "--seeds", "4", "--out", "s.sqlite", "--no_report", "--quiet", *SMALL]
        self.assertEqual(self.run_program(*study).returncode, 0)
        start = self.smallest_start()
        codes = []
        for kilobytes in (256, 1024, 2048, 4096, 8192, 16384):
            result = self.limited(start + (kilobytes << 10), "report", "s.sqlite")
            codes.append(result.returncode)
            self.assertIn(result.returncode, (0, 1), f"{kilobytes} kB: {result.stderr}")
            if result.returncode == 1:
                self.assertIn("out of memory; ", result.stderr)
        self.assertIn(1, codes)

    def smallest_start(self):
        """The limit below which the program cannot begin: libraries may crash there."""
        fails, begins = 0, 1 << 32
        while begins - fails > 64 << 10:
            middle = (fails + begins) // 2
            if self.limited(middle, "--version").returncode == 0:
                begins = middle
            else:
                fails = middle
        return begins

    def test_a_run_that_needs_more_than_the_limit_is_refused_first(self):
        large = ["--num_envs", "65536", "--num_steps", "256", "--total_timesteps", "33554432"]
        result = self.limited(400 << 20, "train", *large, "--out", "large")
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn(", but ulimit -v allows 419.4 MB; make num_envs", result.stderr)
        self.assertEqual(os.listdir(self.folder.name), [])

    def test_a_file_that_the_limit_forbids(self):
        """SIGXFSZ would end the program without a word, and leave a hidden folder."""
        result = self.limited(1000, "train", *SMALL, "--out", "run", resource="RLIMIT_FSIZE")
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("File too large; raise the limit of file sizes", result.stderr)
        self.assertEqual(
            [name for name in os.listdir(self.folder.name) if name.startswith(".")], []
        )

    def test_a_store_that_the_limit_forbids(self):
        study = ["study", "--seeds", "2", "--no_report", "--quiet", *SMALL]
        for kilobytes in (4, 20, 40):
            store = f"s{kilobytes}.sqlite"
            result = self.limited(kilobytes << 10, *study, "--out", store, resource="RLIMIT_FSIZE")
            self.assertEqual(result.returncode, 4, result.stderr)
            self.assertIn(
                "; raise the limit of file sizes (ulimit -f), or free some space; then run the "
                "same command again",
                result.stderr,
            )
            self.assertIn(store, result.stderr)

    def test_help_names_every_code(self):
        text = re.search(
            r"\nExit codes: (.*?)\n(?! )", self.run_program("--help").stdout, re.DOTALL
        ).group(1)
        self.assertEqual(re.findall(r"\b\d+\b", text), [code for code, _ in rows()])


if __name__ == "__main__":
    unittest.main(verbosity=2)
