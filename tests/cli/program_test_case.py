"""The base of the program's tests: a folder for each test, calls, and checks of errors."""

import json
import os
import pty
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
# Takes a fraction of a second, and a few episodes end.
SMALL = ["--total_timesteps", "1024", "--num_envs", "2", "--num_steps", "64"]


class ProgramTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def run_program(self, *arguments):
        return subprocess.run(
            [PROGRAM, *arguments], capture_output=True, text=True, cwd=self.folder.name, timeout=120
        )

    def write(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def fails(self, code, words, *arguments):
        result = self.run_program(*arguments)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, "one line says it: " + result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    def object_of(self, *arguments, code=0):
        """The one JSON object on standard output; NaN and Infinity are not JSON."""
        result = self.run_program(*arguments)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stdout.count("\n"), 1)

        def refuse(word):
            raise AssertionError(f"{word} is not JSON")

        return json.loads(result.stdout, parse_constant=refuse)

    def on_a_terminal(self, *arguments):
        """Exit code and all that the program writes to a terminal."""
        code, text = None, b""
        process, terminal = pty.fork()
        if process == 0:
            os.chdir(self.folder.name)
            os.execv(PROGRAM, [PROGRAM, *arguments])
        while code is None:
            try:
                text += os.read(terminal, 4096)
            except OSError:  # its end
                code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        os.close(terminal)
        return code, text.decode()

    def checkpoints(self, run):
        folder = os.path.join(run, "checkpoints")
        return [
            os.path.join(folder, name)
            for name in sorted(os.listdir(os.path.join(self.folder.name, folder)))
        ]

    def ledger(self, path="ledger.jsonl"):
        with open(os.path.join(self.folder.name, path), encoding="utf-8") as file:
            return file.read().splitlines()
