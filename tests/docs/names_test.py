#!/usr/bin/env python3
"""Pages name things that exist: files and folders, and functions on the pages about the code."""

import difflib
import fnmatch
import os
import re
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDERS = (
    "bench bridges broadloom cli cmake configs cuda docs examples experiments python research "
    "tests tools"
).split()
SOURCES = (".h", ".cc", ".cu", ".py", ".js", ".in")
ABOUT_CODE = ["ARCHITECTURE.md", "CONTRIBUTING.md"]
FOREIGN_HEADERS = ["Python.h"]
# Folders that headers are included from, apart from the root.
INCLUDED_FROM = ["cli/include/", "bridges/"]


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def repository_files():
    """Paths of all files and folders, as git would list them."""
    skipped = {"build", "runs", "studies", "advice", "__pycache__"}
    found = set()
    for folder, folders, names in os.walk(ROOT):
        hidden_or_made = skipped if folder == ROOT else {"__pycache__"}
        folders[:] = [
            name
            for name in folders
            if name not in hidden_or_made and (not name.startswith(".") or name == ".github")
        ]
        for name in folders + names:
            found.add(os.path.relpath(os.path.join(folder, name), ROOT))
    return found


def spans(text):
    """Text in backticks, outside of code blocks."""
    text = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.M | re.S)
    return re.findall(r"`([^`\n]+)`", text)


def is_path(span):
    """Whether a span names a file: a path below a folder of the root, or a source file."""
    if not re.fullmatch(r"[\w.*/-]+", span):
        return False  # a command, a pattern with <name>
    if span in FOREIGN_HEADERS or re.fullmatch(r"broadloom/[A-Z]\w*-v\d", span):
        return False  # an id of Gymnasium's
    first = span.split("/")[0]
    return ("/" in span and first in FOLDERS) or bool(re.fullmatch(r"[\w/*-]+\.(h|cc|cu)", span))


def exists(span, files):
    """A whole path, or the end of one, such as `ppo_loss.cc`; `*` stands for any part of a name."""
    name = span.rstrip("/")
    if name in files or any(prefix + name in files for prefix in INCLUDED_FROM):
        return True
    if "*" in name:
        return any(
            fnmatch.fnmatch(path, name) or fnmatch.fnmatch(path, "*/" + name) for path in files
        )
    return name.split("/")[0] not in FOLDERS and any(path.endswith("/" + name) for path in files)


def missing_paths(page, text, files):
    return [
        f"{page}: there is no {span}"
        for span in spans(text)
        if is_path(span) and not exists(span, files)
    ]


def missing_names(page, text, words):
    """Functions and classes: `Trainer::iterate()`, `plan_memory()`, `ActorCritic`."""
    found = []
    for span in spans(text):
        if re.fullmatch(r"\w+(::\w+)*\(\)|\w+(::\w+)+|[A-Z][a-z]+[A-Z]\w+", span):
            found += [
                f"{page}: no source names {name}"
                for name in re.findall(r"\w+", span)
                if name not in words
            ]
    return found


def words_of_sources(files):
    words = set()
    for path in files:
        if (
            path.endswith(SOURCES)
            and not path.startswith("experiments/")
            and os.path.isfile(os.path.join(ROOT, path))
        ):
            words.update(re.findall(r"\w+", read(path)))
    return words


def misspelt_keys(page, text, keys, words):
    """Names in no source that look like a key of a run: `num_evns`."""
    unknown = sorted(set(re.findall(r"[a-z]+(?:_[a-z0-9]+)+", text)) - words)
    near = {name: difflib.get_close_matches(name, keys, 1, 0.8) for name in unknown}
    return [f"{page}: {name}: is it {key[0]}?" for name, key in near.items() if key]


class Names(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.files = repository_files()

    def test_every_path_exists(self):
        pages = ABOUT_CODE + sorted(
            path
            for path in self.files
            if re.fullmatch(r"docs/[\w/.-]+\.md", path) and not path.startswith("docs/adr/")
        )
        self.assertGreater(len(pages), 40)  # decisions may name files and functions of their time
        self.assertEqual(
            [line for page in pages for line in missing_paths(page, read(page), self.files)], []
        )

    def test_every_function_exists(self):
        words = words_of_sources(self.files)
        self.assertEqual(
            [line for page in ABOUT_CODE for line in missing_names(page, read(page), words)], []
        )

    def test_no_key_is_misspelt(self):
        keys = set(re.findall(r"^\| `(\w+_\w+)`", read("docs/reference/config.md"), flags=re.M))
        self.assertGreater(len(keys), 50)
        # Not the tests', which misspell on purpose.
        words = words_of_sources([path for path in self.files if not path.startswith("tests/")])
        # Other programs' names are on the page about coming from them; decisions are of their time.
        pages = ["README.md"] + sorted(
            path
            for path in self.files
            if re.fullmatch(r"docs/[\w/.-]+\.md", path)
            and not path.startswith("docs/adr/")
            and path != "docs/coming_from.md"
        )
        found = [line for page in pages for line in misspelt_keys(page, read(page), keys, words)]
        self.assertEqual(found, [])
        self.assertEqual(
            misspelt_keys("p", "`--num_evns` and num_envs", keys, words),
            ["p: num_evns: is it num_envs?"],
        )

    def test_every_decision_has_a_status_and_a_line_in_the_index(self):
        index = read("docs/adr/README.md")
        pages = sorted(path for path in self.files if re.fullmatch(r"docs/adr/\d{4}-.*\.md", path))
        self.assertGreater(len(pages), 30)
        for page in pages:
            with self.subTest(page=page):
                status = re.findall(
                    r"^\*\*Status\.\*\* ((?:Accepted|Superseded by).*)\.$", read(page), flags=re.M
                )
                self.assertEqual(len(status), 1)
                left = re.sub("^Accepted(; )?", "", status[0])
                name = f"({os.path.basename(page)}) |"
                lines = [line for line in index.splitlines() if name in line]
                self.assertTrue(lines[0].endswith(f"| {left} |" if left else "| |"))

    def test_missing_paths_are_found(self):
        text = (
            "`broadloom/core/status.h` `broadloom/program.h` `status.h` `core/status.h` "
            "`train/*.cc` `docs/` `study.json` `a/b`\n"
            "`broadloom/algo/ppo.cc` `nowhere.h` `algo/status.h` "
            "`core/*_nowhere.cc` `docs/nowhere/`\n"
            "```\n`broadloom/in/a/block.h`\n```\n"
        )
        self.assertEqual(
            [line.split()[-1] for line in missing_paths("p", text, self.files)],
            [
                "broadloom/algo/ppo.cc",
                "nowhere.h",
                "algo/status.h",
                "core/*_nowhere.cc",
                "docs/nowhere/",
            ],
        )

    def test_missing_names_are_found(self):
        words = {"Trainer", "iterate", "ActorCritic"}
        text = (
            "`Trainer::iterate()` `ActorCritic` `nowhere()` `Trainer::gone` `NoClass` `plain_word`"
        )
        self.assertEqual(
            [line.split()[-1] for line in missing_names("p", text, words)],
            ["nowhere", "gone", "NoClass"],
        )


if __name__ == "__main__":
    sys.exit(unittest.main())
