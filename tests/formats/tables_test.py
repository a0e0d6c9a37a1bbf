#!/usr/bin/env python3
"""Holds that every table of the pages is whole: rows that an empty line parts from their heading
show as text."""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULE = re.compile(r"^\|(\s*:?-+:?\s*\|)+$")


def rows_outside_tables(text):
    """The first line of each group of table lines that has no rule below its heading."""
    lines = text.splitlines()
    firsts = [
        i
        for i, line in enumerate(lines)
        if line.startswith("|") and not (i and lines[i - 1].startswith("|"))
    ]
    return [lines[i] for i in firsts if i + 1 == len(lines) or not RULE.match(lines[i + 1])]


class Tables(unittest.TestCase):
    def test_rows_without_a_heading_are_found(self):
        table = "| key | what |\n|---|---|\n| a | b |\n"
        self.assertEqual(rows_outside_tables(table), [])
        self.assertEqual(rows_outside_tables(table + "\n| c | d |\n"), ["| c | d |"])

    def test_all_pages(self):
        pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
        self.assertGreater(len(pages), 10)
        for page in pages:
            self.assertEqual(rows_outside_tables(page.read_text(encoding="utf-8")), [], page)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
