#!/usr/bin/env python3
"""Each page has a place in the site. Relative links and their anchors lead somewhere."""

import os
import re
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools", "site"))
import pages  # noqa: E402
import reference  # noqa: E402


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def markdown_files():
    skipped = {"build", "runs", "studies"}
    for folder, folders, names in os.walk(ROOT):
        folders[:] = sorted(name for name in set(folders) - skipped if not name.startswith("."))
        for name in sorted(names):
            if name.endswith(".md"):
                yield os.path.relpath(os.path.join(folder, name), ROOT)


def broken(page, text):
    for link, path, anchor in pages.links(text):
        target = pages.target(page, path) if path else page
        if path and not os.path.exists(os.path.join(ROOT, target)):
            yield f"{page}: {link}: there is no {target}"
        elif (
            anchor
            and target.endswith(".md")
            and anchor not in pages.anchors(text if target == page else read(target))
        ):
            yield f"{page}: {link}: {target} has no such heading"


class Links(unittest.TestCase):
    def test_every_link_leads_somewhere(self):
        self.assertEqual(
            [line for page in markdown_files() for line in broken(page, read(page))], []
        )

    def test_every_page_has_a_place(self):
        self.assertIn(
            "README.md",
            [page for _, section in pages.placed(list(markdown_files())) for page in section],
        )

    def test_a_page_without_a_place_is_told(self):
        with self.assertRaisesRegex(SystemExit, "no section for lost/page.md"):
            pages.placed(["README.md", "lost/page.md"])

    def test_broken_links_are_found(self):
        text = "# One\n[a](README.md) [b](nowhere.md) [c](#one) [d](#two) `[e](code.md)`\n"
        text += "```\n[f](code.md)\n```\n"
        self.assertEqual(
            [line.split(": ")[1] for line in broken("page.md", text)], ["nowhere.md", "#two"]
        )

    def test_the_librarys_page_names_the_public_headers(self):
        named = re.findall(r"^\| \[`([^`]+)`\]\(([^)]+)\) \|", read("docs/library.md"), flags=re.M)
        listed = [header for _, section in reference.sections() for header in section]
        self.assertEqual([header for header, _ in named], listed)
        self.assertEqual(
            [pages.target("docs/library.md", link) for _, link in named],
            [reference.source(header) for header in listed],
        )


if __name__ == "__main__":
    unittest.main()
