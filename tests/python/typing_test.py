"""Types: the extension's stub is current, public functions have type annotations, and a type
checker, if installed, finds no error."""

import ast
import importlib.util
import inspect
import pathlib
import subprocess
import sys
import tempfile
import unittest

import broadloom
from broadloom import _core

PACKAGE = pathlib.Path(broadloom.__file__).parent
TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
USES = """
from typing import Any
import numpy as np
import broadloom

options: dict[str, Any] = {"env.gravity": 9.5}
run: broadloom.Run = broadloom.train("CartPole-v1", num_envs=16, quiet=True, **options)
score: float | None = run.mean_return
policy = broadloom.Policy(run)
actions = policy.act(np.zeros((3, 4), np.float32), rng=np.random.default_rng(1))
found: dict[str, object] = broadloom.evaluate(run, episodes=5)
study = broadloom.Study({"seeds": 2, "base": {"env_id": "CartPole-v1"}}, name="tiny")
study.run(jobs=2)
found_best = study.search({"gamma": [0.9, 0.99]}, trials=4, sampler=lambda seed: None, seed=2)
rows, rewards, terminated, truncated, infos = broadloom.VectorEnv(4,
env_id="CartPole-v1").step(np.zeros(4, int))
total: np.float64 = rewards.sum()
try:
    broadloom.resume("nowhere")
except broadloom.Error as error:
    kind: str = error.kind
wrapped = broadloom.train("pkg:Id-v0", env_kwargs={"size": 5}, wrappers=[lambda env: env],
    vectorization="async", learning_rate=1e-3, hidden_sizes=[64, 64], target_kl=0.02)
short = broadloom.train("CartPole-v1", on_iteration=lambda p: p.policy.act([0.0] * 4) and
    p["approx_kl"] < 1, sinks=["csv", broadloom.sinks.WandB(mode="offline")])
places: list[str] = broadloom.log_to(short, "mlflow", follow=True)
"""
MISUSES = {
    "broadloom.train('CartPole-v1', lerning_rate=1e-3)": "call-arg",
    "broadloom.train('CartPole-v1', num_envs='many')": "arg-type",
    "broadloom.train('CartPole-v1', lr_schedule='liner')": "arg-type",
    "broadloom.train('CartPole-v1', threads='all')": "arg-type",
    "broadloom.evaluate(3)": "arg-type",
    "broadloom.Run({}).global_stap": "attr-defined",
}


def public():
    for name in broadloom.__all__:
        value = getattr(broadloom, name)
        if inspect.ismodule(value):
            continue
        if not inspect.isclass(value):
            yield name, value
            continue
        for member, function in vars(value).items():
            if inspect.isfunction(function) and (
                not member.startswith("_") or member == "__init__"
            ):
                yield f"{name}.{member}", function


class TypesTest(unittest.TestCase):
    def test_the_stub_names_what_the_extension_has(self):
        stub = PACKAGE / "_core.pyi"
        self.assertTrue(stub.is_file(), "the stub is made with the extension (target _core_stub)")
        tree = ast.parse(stub.read_text())
        names = {
            node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))
        }
        self.assertEqual(names, {name for name in vars(_core) if not name.startswith("__")})
        members = {
            node.name: {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
            for node in tree.body
            if isinstance(node, ast.ClassDef)
        }
        for name in ("Environments", "Policy"):
            there = {
                member
                for member in vars(getattr(_core, name))
                if not member.startswith("__") or member == "__init__"
            }
            self.assertEqual(members[name], there, name)
        self.assertTrue((PACKAGE / "py.typed").is_file())

    def test_keys_of_a_config_are_those_of_the_code(self):
        sys.path.insert(0, str(TOOLS))
        import python_keys

        self.assertEqual(
            (PACKAGE / "_keys.py").read_text(),
            python_keys.text(),
            "write it anew: PYTHONPATH=build/release/python tools/python_keys.py",
        )

    def test_what_is_public_says_its_types(self):
        for name, function in public():
            if not inspect.isfunction(function):  # list_envs is of the extension
                continue
            with self.subTest(name):
                signature = inspect.signature(function)
                bare = [
                    parameter.name
                    for parameter in signature.parameters.values()
                    if parameter.annotation is parameter.empty and parameter.name != "self"
                ]
                self.assertEqual(bare, [])
                self.assertIsNot(signature.return_annotation, signature.empty)

    @unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is not installed")
    def test_a_checker_is_content(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "uses.py"
            file.write_text(USES + "\n".join(f"{words}  # misuse" for words in MISUSES))
            done = subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "mypy",
                    "--strict",
                    "--cache-dir",
                    f"{folder}/cache",
                    str(file),
                ],
                capture_output=True,
                text=True,
                cwd=folder,
            )
        lines = [line for line in done.stdout.splitlines() if "error:" in line]
        self.assertEqual(len(lines), len(MISUSES), done.stdout + done.stderr)
        for line, kind in zip(lines, MISUSES.values(), strict=True):
            self.assertIn("uses.py", line)
            self.assertIn(f"[{kind}]", line)


if __name__ == "__main__":
    unittest.main()
