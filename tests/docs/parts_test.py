#!/usr/bin/env python3
"""The parts that a build contains are those of THIRD_PARTY.md, with their licences."""

import os
import re
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = sys.argv.pop(1)
sys.path.insert(0, os.path.join(ROOT, "tools"))
import sbom  # noqa: E402

LICENCES = {
    "MIT": {"MIT"},
    "MIT, with an exception": {"MIT"},
    "BSD (2)": {"BSD-2-Clause"},
    "BSD (3)": {"BSD-3-Clause"},
    "Apache 2.0 or BSD (3)": {"Apache-2.0 OR BSD-3-Clause"},
    "public domain": {"blessing"},
}


def listed_parts():
    with open(os.path.join(ROOT, "THIRD_PARTY.md"), encoding="utf-8") as file:
        rows = re.findall(r"^\| \[([^\]]+)\]\([^)]*\) \|[^|]*\| ([^|]+) \|", file.read(), re.M)
    return dict(rows)


class Parts(unittest.TestCase):
    def test_are_those_of_the_list(self):
        parts = sbom.parts_of(BUILD)
        built = {part.name: part.licence for part in parts if not part.is_of_system()}
        listed = listed_parts()
        # The extension is built only where nanobind is installed.
        optional = {"nanobind", "robin-map"} - set(built)
        self.assertEqual(set(built), set(listed) - optional)
        for part in parts:
            self.assertRegex(part.version, r"\d", part.name)
            if not part.is_of_system():
                self.assertIn(part.licence, LICENCES[listed[part.name]], part.name)


if __name__ == "__main__":
    if (
        subprocess.run(
            ["sh", "-c", "command -v dpkg && command -v ninja"], stdout=subprocess.DEVNULL
        ).returncode
        != 0
    ):
        print("SKIPPED: parts are found by dpkg and Ninja")
        sys.exit(77)
    unittest.main()
