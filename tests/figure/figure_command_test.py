"""`broadloom figure`: pictures, --check, messages, exit codes."""
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

PROGRAM = os.path.abspath(sys.argv.pop(1))
SPEC = 'title = "t"\ndata = "cells.csv"\nx = "N"\ny = "return"\n'


class FigureCommand(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        os.mkdir(self.path("data"))
        self.write("data/cells.csv", "N,return\n8,1\n16,2\n")
        self.write("data/a.toml", SPEC)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def run_program(self, *arguments):
        return subprocess.run([PROGRAM, "figure", *arguments], capture_output=True, text=True, cwd=self.folder.name, timeout=60)

    def fails(self, code, words, *arguments):
        result = self.run_program(*arguments)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertIn(words, result.stderr)

    def test_pictures_go_beside_their_descriptions(self):
        self.write("data/b.toml", SPEC)
        result = self.run_program("data/a.toml", "data/b.toml")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(result.stdout, "data/a.svg\ndata/b.svg\n")
        self.assertEqual(self.read("data/a.svg"), self.read("data/b.svg"))
        root = xml.etree.ElementTree.fromstring(self.read("data/a.svg"))
        self.assertTrue(root.tag.endswith("svg"))
        self.assertEqual(len(root.findall(".//{*}circle")), 2)

    def test_a_picture_elsewhere(self):
        self.assertEqual(self.run_program("data/a.toml", "--out", "x.svg", "--quiet").stdout, "")
        self.assertIn("<svg", self.read("x.svg"))

    def test_check_says_what_is_not_up_to_date(self):
        self.fails(3, "data/a.svg", "data/a.toml", "--check")
        self.assertEqual(self.run_program("data/a.toml").returncode, 0)
        result = self.run_program("data/a.toml", "--check")
        self.assertEqual((result.returncode, result.stdout), (0, "data/a.svg is up to date\n"))
        self.write("data/cells.csv", "N,return\n8,1\n16,3\n")
        before = self.read("data/a.svg")
        self.fails(6, "is not what 'data/a.toml' draws; draw it again with", "data/a.toml", "--check")
        self.assertEqual(self.read("data/a.svg"), before)

    def test_notes_go_to_the_error_stream(self):
        self.write("data/cells.csv", "N,return\n8,1\n16,\n")
        result = self.run_program("data/a.toml")
        self.assertEqual(result.returncode, 0)
        self.assertIn("Note: data/a.toml: 1 of 2 rows have no 'return'", result.stderr)

    def test_wrong_calls(self):
        self.fails(2, "expected a name that ends in .toml", "data/cells.csv")
        self.fails(2, "--out: got 'x.png'", "data/a.toml", "--out", "x.png")
        self.fails(2, "--out: got 2 figures", "data/a.toml", "data/a.toml", "--out", "x.svg")
        self.fails(3, "none.toml", "none.toml")
        self.write("data/a.toml", SPEC + "colour = 1\n")
        self.fails(2, "data/a.toml:5: unknown key 'colour'", "data/a.toml")


if __name__ == "__main__":
    unittest.main()
