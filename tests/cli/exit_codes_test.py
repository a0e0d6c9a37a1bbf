"""The table of exit codes: each of its examples, and that --help names every code."""
import os
import re
import sys
import unittest

PAGE = os.path.abspath(sys.argv.pop(2))

from program_test_case import SMALL, ProgramTest


def rows():
    """(code, example) of each row; "" where there is no example."""
    with open(PAGE, encoding="utf-8") as file:
        return re.findall(r"^\| (\d+) \| .* \| (?:`broadloom (.*)`)? ?\|$", file.read(), re.MULTILINE)


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
            self.assertEqual(result.stderr.count("\n"), 0 if code == 0 or example.startswith("diff") else 1, example)

    def test_help_names_every_code(self):
        text = re.search(r"\nExit codes: (.*?)\n(?! )", self.run_program("--help").stdout, re.DOTALL).group(1)
        self.assertEqual(re.findall(r"\b\d+\b", text), [code for code, _ in rows()])


if __name__ == "__main__":
    unittest.main(verbosity=2)
