#!/usr/bin/env python3
"""Holds that every table of the pages is whole: rows that an empty line parts from their heading
show as text. Holds the ledger's page to the ledger's schema."""

import json
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


# Values of these keys have the form of another page, to which the ledger's page links.
OF_OTHER_PAGES = {"evaluation", "rows", "simulator", "plugin"}


def keys_of(schema):
    """Every key of a JSON object, and of the objects in it."""
    found = set(schema.get("properties", {}))
    for name, part in schema.get("properties", {}).items():
        if name not in OF_OTHER_PAGES:
            found |= keys_of(part)
    return found | keys_of(schema["items"]) if "items" in schema else found


class LedgerPage(unittest.TestCase):
    def test_each_key_of_the_schema_is_on_the_page(self):
        formats = ROOT / "docs" / "formats"
        schema = json.loads((formats / "ledger.schema.json").read_text(encoding="utf-8"))
        page = (formats / "ledger.md").read_text(encoding="utf-8").split("\n## ")
        parts = {part.splitlines()[0]: part for part in page}
        for key, value in schema["properties"].items():
            if key in OF_OTHER_PAGES:
                continue
            text = parts.get(key, page[0])
            spans = re.findall(r"`([^`]+)`", text)
            names = {name for span in spans for name in span.split(".")}
            self.assertEqual(keys_of(value) - names, set(), f"{key}: not on ledger.md")

    def test_keys_are_those_of_all_depths(self):
        inner = {"properties": {"b": {"items": {"properties": {"c": {}}}}}}
        self.assertEqual(keys_of({"properties": {"a": inner}}), {"a", "b", "c"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
