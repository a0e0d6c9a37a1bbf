#!/usr/bin/env python3
"""The names of test.sh's stages, and that each label of a test belongs to a stage."""

import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(*names):
    return subprocess.run([ROOT / "test.sh", *names], capture_output=True, text=True)


class Stages(unittest.TestCase):
    def test_help_says_a_line_of_each(self):
        done = run("--help")
        self.assertEqual(done.returncode, 0)
        for name in "set-up build unit learning pages python lint asan tsan all".split():
            self.assertRegex(done.stdout, rf"(?m)^  {name} +\w")

    def test_a_name_that_is_none_is_refused_before_anything_runs(self):
        done = run("unit", "tsna")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stdout, "")
        self.assertIn("got stage 'tsna', expected some of: set-up build unit", done.stderr)

    def test_each_label_is_of_a_stage(self):
        script = (ROOT / "test.sh").read_text(encoding="utf-8")
        declared = script[script.index("declare -A labels_of=(") :].split(")", 1)[0]
        known = set(re.split(r"[|\s]+", " ".join(re.findall(r"\]=\"?([^\s\"]+)", declared))))
        used = set()
        for path in (ROOT / "tests").rglob("CMakeLists.txt"):
            text = path.read_text(encoding="utf-8")
            used |= set(re.findall(r"LABELS ([a-z]+)", text)) | set(
                re.findall(r"set\(label ([a-z]+)\)", text)
            )
            if "add_test(NAME" in text or "gtest_discover_tests(" in text:
                self.assertIn("LABELS", text, f"{path}: tests without a label run in no stage")
        self.assertEqual(used - known, set())


if __name__ == "__main__":
    unittest.main()
