#!/usr/bin/env python3
"""tools/check_words.py finds a planted fault of each sort, and nothing in a page without one."""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import check_words  # noqa: E402

HARD = (
    "Notwithstanding considerable methodological heterogeneity, contemporaneous investigations "
    "substantiate extraordinarily counterintuitive characterisations, necessitating comprehensive "
    "reconsideration regarding infrastructural interdependencies. "
)


class Words(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name

    def write(self, path, text):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def found(self, check, files):
        """The lines with faults."""
        for path, text in files.items():
            self.write(path, text)
        tree = check_words.Tree(self.root)
        return [(fault.path, fault.line) for fault in check_words.CHECKS[check](tree)]

    def test_long_lines_are_found_but_not_tables_addresses_and_code(self):
        long = "word " * 25
        page = f"# Page\n\n{long}\n\n| {long} |\n\nhttps://a.b/{'c' * 100}\n\n```\n{long}\n```\n"
        files = {"docs/a.md": page, "a.cc": f"// {long}\n", "a.py": f"# {long}\n", "a.sh": "ls\n"}
        self.assertEqual(self.found("columns", files), [("a.cc", 1), ("a.py", 1), ("docs/a.md", 3)])

    def test_openings_are_found_in_pages_and_comments(self):
        page = "# Page\n\nGood. What it does is\nbad.\n\n| Which one? | Of two |\n\n"
        page += "`a`. That is bad.\n"
        files = {
            "a.md": page,
            "a.h": '// What it is.\nint a;  // Fine.\nauto b = "// Of a string";  // Of samples.\n',
            "a.py": '"""Where it is."""\n\nx = 1  # Those that stay.\n# A note of\n# Those two.\n',
            "a.sh": "# Good. Which are\n# bad\nls $#  # What else\n",
        }
        self.assertEqual(
            self.found("openings", files),
            [("a.md", 3), ("a.md", 6), ("a.md", 8), ("a.h", 1), ("a.h", 3)]
            + [("a.py", 1), ("a.py", 3), ("a.sh", 1), ("a.sh", 3)],
        )

    def test_names_are_found_where_they_are_declared(self):
        header = (
            "void copy(const float* from, float* into);\nint at(int i);  // as std::vector has it\n"
            "struct Ears {};\nfor (const auto& [of, b] : pairs) use(to);\nreturn at;\n"
            "double said() { return x * to; }\n"
        )
        files = {
            "a.h": header,
            "a.py": "def f(of, size=1):\n    told = of\n    return told\n",
            "a.js": "const by = 1;\nlist.map((at) => at + 1);\nuse(at);\n",
        }
        self.assertEqual(
            self.found("names", files),
            [("a.h", 1), ("a.h", 1), ("a.h", 3), ("a.h", 4), ("a.h", 6)]
            + [("a.js", 1), ("a.js", 2), ("a.py", 1), ("a.py", 2)],
        )

    def test_headings_that_ask_are_found(self):
        page = "# Page\n\n## What it costs\n\n## Cost\n\n```\n# What a comment\n```\n"
        self.assertEqual(self.found("headings", {"a.md": page}), [("a.md", 3)])

    def test_long_sentences_are_found(self):
        page = f"# Page\n\n{'word ' * 25}end.\n\n{'word ' * 24}end. `f()` {'word ' * 20}end.\n"
        self.assertEqual(self.found("sentences", {"a.md": page}), [("a.md", 3)])

    def test_too_many_words_are_found(self):
        files = {"README.md": "word " * 701, "docs/a.md": "word " * 29000}
        self.assertEqual(self.found("words", files), [("README.md", 0)])
        self.assertEqual(len(self.found("words", {"docs/b.md": "| word |\n" * 400})), 2)

    def test_dead_links_are_found(self):
        script = os.path.join("tests", "docs", "links_test.py")
        for path in (script, "tools/site/pages.py", "tools/site/reference.py", "docs/library.md"):
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                self.write(path, file.read())
        found = self.found("links", {"README.md": "[a](nowhere.md)\n"})
        self.assertIn(("README.md", 0), found)

    def test_misspellings_are_found(self):
        if check_words.missing_package("spelling"):
            self.skipTest("codespell is not installed")
        self.assertEqual(
            self.found("spelling", {"a.md": "A page.\n\nIt has recieved one.\n"}), [("a.md", 3)]
        )

    def test_hard_pages_are_found(self):
        if check_words.missing_package("readability"):
            self.skipTest("textstat is not installed")
        files = {"a.md": HARD * 6, "b.md": "The dog eats. The cat sleeps all day. " * 20}
        self.assertEqual(self.found("readability", files), [("a.md", 0)])

    def run_with(self, allowed):
        self.write(check_words.ALLOWED, allowed)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            failed = check_words.run_checks(self.root)
        return failed, printed.getvalue()

    def test_a_count_may_fall_but_not_rise(self):
        self.write("src/a.cc", "// What it is.\n\n// Of two.\n")
        self.assertEqual(self.run_with("[openings]\nsrc = 2\n")[0], 0)
        failed, printed = self.run_with("[openings]\nsrc = 1\n")
        self.assertEqual(failed, 1)
        self.assertIn('src/a.cc:1: "What it is." begins with What', printed)
        self.assertIn("src: 2 faults in 'openings'", printed)
        self.assertIn("can lower 1 counts", self.run_with("[openings]\nsrc = 5\n")[1])
        self.write(check_words.ALLOWED, '# Left.\n[openings]\n"src" = 5\n"gone" = 3\n')
        check_words.lower(self.root)
        with open(os.path.join(self.root, check_words.ALLOWED), encoding="utf-8") as file:
            self.assertEqual(file.read(), '# Left.\n[openings]\n"src" = 2\n')

    def test_files_before_git_add_count_as_after_it(self):
        subprocess.run(["git", "init", "-q", self.root], check=True)
        self.write(".gitignore", "/build/\n")
        self.write("src/a.cc", "// What it is.\n")
        self.write("build/a.cc", "// What it is.\n")
        before = check_words.Tree(self.root).paths()
        self.assertEqual(before, [".gitignore", "src/a.cc"])
        self.write(check_words.ALLOWED, '[openings]\n"src" = 5\n')
        check_words.lower(self.root)
        with open(os.path.join(self.root, check_words.ALLOWED), encoding="utf-8") as file:
            self.assertEqual(file.read(), '[openings]\n"src" = 1\n')
        subprocess.run(["git", "-C", self.root, "add", "src", ".gitignore"], check=True)
        self.assertEqual(check_words.Tree(self.root).paths(), [*before, check_words.ALLOWED])

    def test_a_missing_package_is_told(self):
        kept = dict(check_words.NEEDS)
        self.addCleanup(check_words.NEEDS.update, kept)
        check_words.NEEDS["spelling"] = "no_such_package"
        printed = self.run_with("")[1]
        self.assertIn(
            "**** SKIPPED: spelling. Install it: python3 -m pip install no_such_package", printed
        )


if __name__ == "__main__":
    unittest.main()
