#!/usr/bin/env python3
"""Which files clang-tidy reads again, in repositories with commits of known dates."""

import os
import pathlib
import subprocess
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "tidy_changed.py"
HOUR = 3600
NOW = 1_700_000_000


class Repository(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name, "here")
        self.root.mkdir()
        self.git("init", "-q")
        self.write("broadloom/a.h", "int a();\n")
        self.write("broadloom/inner.h", "int inner();\n")
        self.write("broadloom/outer.h", '#include "broadloom/inner.h"\n')
        self.write("broadloom/a.cc", '#include "broadloom/a.h"\n')
        self.write("broadloom/b.cc", '#include "broadloom/outer.h"\n')
        self.write("cli/c.cc", '#include "broadloom/a.h"\nint c = 1;\nint d = 2;\nint e = 3;\n')
        self.write("README.md", "words\n")
        self.write(".clang-tidy", "Checks: -*\n")
        self.commit(NOW - 48 * HOUR)

    def git(self, *arguments, when=NOW):
        date = f"{when} +0000"
        names = {
            f"GIT_{who}_{what}": "x"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        environment = {
            **os.environ,
            **names,
            "GIT_AUTHOR_DATE": date,
            "GIT_COMMITTER_DATE": date,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
        }
        subprocess.run(["git", *arguments], cwd=self.root, env=environment, check=True)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def commit(self, when):
        self.git("add", "-A", when=when)
        self.git("commit", "-q", "--allow-empty", "-m", "change", when=when)

    def chosen(self, root=None):
        done = subprocess.run(
            [str(TOOL), "--root", str(root or self.root)],
            capture_output=True,
            text=True,
            check=True,
        )
        self.said = done.stderr
        return done.stdout.split()

    ALL = ["broadloom/a.cc", "broadloom/b.cc", "cli/c.cc"]

    def test_all_where_there_is_no_older_commit(self):
        self.assertEqual(self.chosen(), self.ALL)
        self.assertIn("does not reach back a day", self.said)

    def test_a_source_that_changed_and_none_that_changed_earlier(self):
        self.write("broadloom/b.cc", "int b;\n")
        self.commit(NOW - 24 * HOUR)
        self.write("broadloom/a.cc", "int a;\n")
        self.commit(NOW - HOUR)
        self.commit(NOW)
        self.assertEqual(self.chosen(), ["broadloom/a.cc"])

    def test_sources_that_include_a_header_that_changed(self):
        self.write("broadloom/a.h", "long a();\n")
        self.commit(NOW)
        self.assertEqual(self.chosen(), ["broadloom/a.cc", "cli/c.cc"])

    def test_a_header_that_headers_alone_include(self):
        self.write("broadloom/inner.h", "long inner();\n")
        self.commit(NOW)
        self.assertEqual(self.chosen(), ["broadloom/b.cc"])

    def test_what_is_not_committed(self):
        self.commit(NOW)
        self.write("broadloom/new.cc", "int n;\n")
        self.write("broadloom/b.cc", "int b;\n")
        self.assertEqual(self.chosen(), ["broadloom/b.cc", "broadloom/new.cc"])

    def test_a_file_that_only_moved_and_pages_are_not_read(self):
        self.git("mv", "cli/c.cc", "cli/moved.cc")
        self.write("README.md", "other words\n")
        self.commit(NOW)
        self.assertEqual(self.chosen(), [])

    def test_all_where_the_settings_changed(self):
        self.write(".clang-tidy", "Checks: bugprone-*\n")
        self.commit(NOW)
        self.assertEqual(self.chosen(), self.ALL)
        self.assertIn(".clang-tidy changed", self.said)

    def test_a_clone_says_the_same_and_a_shallow_one_takes_all(self):
        self.write("broadloom/a.cc", "int a;\n")
        self.commit(NOW)
        whole, shallow = (pathlib.Path(self.folder.name, name) for name in ("whole", "shallow"))
        self.git("clone", "-q", f"file://{self.root}", str(whole))
        self.git("clone", "-q", "--depth", "1", f"file://{self.root}", str(shallow))
        self.assertEqual(self.chosen(whole), ["broadloom/a.cc"])
        self.assertEqual(self.chosen(shallow), self.ALL)


if __name__ == "__main__":
    unittest.main()
