"""Runs the commands of README, docs/first_run.md and pages that show output as they stand, one
after the other, in a folder like a fresh clone after its build. The study file of docs/study.md is
the one in configs, and all studies have plans."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE, PROGRAM = (os.path.abspath(path) for path in sys.argv[1:3])
del sys.argv[1:3]
STOPPED = 124  # the exit code of `timeout` after it sent its signal


def read(name):
    with open(os.path.join(SOURCE, name), encoding="utf-8") as file:
        return file.read()


def blocks(name, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", read(name), re.M | re.S)


def commands(block):
    """Its lines without their comments."""
    lines = [re.sub(r"(^|\s)#.*", "", line).strip() for line in block.splitlines()]
    return [line for line in lines if line]


class Readme(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.clone = folder.name
        for name in ("configs", "bench"):
            os.symlink(os.path.join(SOURCE, name), os.path.join(self.clone, name))
        self.place(PROGRAM, "build/release/cli/broadloom")

    def place(self, program, path):
        os.makedirs(os.path.join(self.clone, os.path.dirname(path)))
        os.symlink(program, os.path.join(self.clone, path))

    def run_in_order(self, lines):
        """Returns each one's standard output."""
        shell, printed = "", []
        for line in lines:
            if re.match(r"(PATH|export )", line):
                shell += line + "\n"
                continue
            start = time.monotonic()
            result = subprocess.run(
                ["bash", "-c", shell + line],
                capture_output=True,
                text=True,
                cwd=self.clone,
                timeout=250,
            )
            print(f"{time.monotonic() - start:6.1f} s  {line}", flush=True)
            # 0 there, too: a machine may be done before.
            wanted = (STOPPED, 0) if line.startswith("timeout ") else (0,)
            self.assertIn(
                result.returncode,
                wanted,
                f"{line}\n{result.stdout[-2000:]}\n{result.stderr[-2000:]}",
            )
            printed.append(result.stdout)
        return printed

    def test_the_lines_of_the_readme_run_in_order(self):
        pasted = [block for block in blocks("README.md", "sh") if "broadloom train" in block]
        self.assertEqual(len(pasted), 1)
        self.run_in_order(commands(pasted[0]))

    def test_the_block_to_paste_runs_in_order(self):
        pasted = [
            block
            for block in blocks("docs/first_run.md", "sh")
            if "broadloom train --env_id" in block
        ]
        self.assertEqual(len(pasted), 1)
        lines = commands(pasted[0])
        for command in (
            "train",
            "eval",
            "compare",
            "curve",
            "watch",
            "export",
            "rerun",
            "diff",
            "audit",
            "gradients",
            "study",
            "report",
            "bench",
        ):
            self.assertTrue(
                any(re.search(rf"broadloom {command}\b", line) for line in lines), command
            )
        self.run_in_order(lines)

    def test_pages_show_what_their_commands_print(self):
        for page in ("bits", "ledger", "pqn", "shape_schedule"):
            both = r"^```sh\n(.*?)^```\n.*?^```\n(.*?)^```$"  # commands, then output
            shown = re.search(both, read(f"docs/{page}.md"), re.M | re.S)
            lines = [f"cd {page}; {line}" for line in commands(shown[1])]
            os.mkdir(os.path.join(self.clone, page))
            path = 'PATH="$PWD/build/release/cli:$PATH"'
            printed = "".join(self.run_in_order([path, *lines]))
            # A speed differs each time; "..." stands for lines, or for the rest of one.
            exact = [line for line in shown[2].splitlines() if " speed." not in line]
            exact = [line for line in exact if line.strip(" .")]
            self.assertTrue(exact, page)
            for line in exact:
                end = "" if line.endswith("...") else "\n"
                self.assertIn(line.removesuffix("...") + end, printed, page)

    def test_every_environment_has_a_page(self):
        folder = os.path.join(SOURCE, "docs/envs")
        pages = "".join(read(os.path.join("docs/envs", name)) for name in os.listdir(folder))
        listed = subprocess.run(
            [PROGRAM, "env", "list", "--json"],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        for env in json.loads(listed.stdout)["environments"]:
            self.assertIn(env["id"], pages)


class Studies(unittest.TestCase):
    def test_the_study_file_of_the_page_is_the_one_in_configs(self):
        file = read("configs/studies/two_tasks.toml")
        self.assertIn(file, blocks("docs/study.md", "toml"))

    def test_every_study_has_a_plan(self):
        folder = os.path.join(SOURCE, "configs/studies")
        for name in sorted(os.listdir(folder)):
            result = subprocess.run(
                [PROGRAM, "study", os.path.join(folder, name), "--plan"],
                capture_output=True,
                text=True,
                timeout=60,
            )
            self.assertEqual((result.returncode, result.stderr), (0, ""), name)
        self.assertIn(
            "Study two_tasks: 4 cells x 5 seeds = 20 runs", result.stdout
        )  # the last by name


if __name__ == "__main__":
    unittest.main()
