"""Refusals of the package are broadloom.Errors wherever they are raised."""

import ast
import pathlib
import unittest

import gymnasium
import numpy as np

import broadloom
from simulator_cases import out, SMALL

PACKAGE = pathlib.Path(broadloom.__file__).parent
PLAIN = {"ValueError", "TypeError"}
# Functions that may raise them, and the reason.
ALLOWED = {
    ("_rsl_rl_keys.py", "number"): "turned() replaces it by an Error that names the key",
    ("_rsl_rl_keys.py", "widths"): "turned() replaces it by an Error that names the key",
}


def plain_errors(tree, function=""):
    """(function, line) of each ValueError or TypeError that code makes or raises."""
    for node in ast.iter_child_nodes(tree):
        inner = node.name if isinstance(node, ast.FunctionDef) else function
        made = node.func if isinstance(node, ast.Call) else getattr(node, "exc", None)
        if isinstance(made, ast.Name) and made.id in PLAIN:
            yield inner, node.lineno
        yield from plain_errors(node, inner)


class Shrinks(gymnasium.Env):
    """An environment whose observations lose a number in its 150th step."""

    observation_space = gymnasium.spaces.Box(-1, 1, (3,))
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(3, np.float32), {}

    def step(self, action):
        self.steps += 1
        return np.zeros(3 - (self.steps == 150), np.float32), 1.0, False, False, {}


class ErrorsTest(unittest.TestCase):
    def test_the_package_raises_no_plain_error(self):
        found, files = {}, sorted(PACKAGE.glob("*.py"))
        for file in files:
            for function, line in plain_errors(ast.parse(file.read_text())):
                found.setdefault((file.name, function), []).append(line)
        self.assertGreater(len(files), 30)
        self.assertEqual(found.keys(), ALLOWED.keys(), "raise InvalidValue or InvalidType")

    def test_the_search_finds_each_form(self):
        for code in ("raise TypeError", "raise ValueError('x')", "shown = ValueError('x')"):
            with self.subTest(code):
                tree = ast.parse(f"def f():\n  {code}")
                self.assertEqual(list(plain_errors(tree)), [("f", 2)])
        self.assertEqual(list(plain_errors(ast.parse("raise InvalidValue('x')"))), [])

    def test_a_refusal_within_a_run_says_how_it_goes_on(self):
        with self.assertRaisesRegex(
            ValueError, r"an array of shape \(2,\), expected \(3,\)"
        ) as refused:
            broadloom.train(Shrinks, out=out("shrinks"), **SMALL)
        self.assertIsInstance(refused.exception, broadloom.Error)
        self.assertEqual(refused.exception.kind, "invalid_config")
        if hasattr(refused.exception, "add_note"):  # Python 3.11 and later
            self.assertIn("The run is saved up to step", refused.exception.__notes__[-1])

    def test_refusals_outside_of_runs_have_a_kind(self):
        policy = broadloom.Policy(broadloom.train("CartPole-v1", out=out("kinds"), **SMALL))
        for types, words, call in (
            (ValueError, r"shape \(3,\)", lambda: policy.act(np.zeros(3, np.float32))),
            (TypeError, "complex128", lambda: policy.act(np.zeros(4, complex))),
            (TypeError, "sinks: got a int", lambda: broadloom.log_to(out("kinds"), 3)),
            (ValueError, "view: got 'secrets'", lambda: broadloom.read_store("no", "secrets")),
        ):
            with self.subTest(words), self.assertRaisesRegex(types, words) as refused:
                call()
            self.assertIsInstance(refused.exception, broadloom.Error)
            self.assertEqual(refused.exception.kind, "invalid_config")


if __name__ == "__main__":
    unittest.main()
