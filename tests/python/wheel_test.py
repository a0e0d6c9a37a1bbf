"""wheel_test.py FILES PROGRAM: installs the wheels of tools/release.sh into fresh environments.

Each wheel is tried with every CPython on this machine that it serves: `broadloom` is there and has
the program's bits, an environment of one's own trains, MuJoCo is found if it is installed, and no
library is loaded but the wheel's, Python's and those that manylinux allows.
"""

import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES, PROGRAM = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
MOST_BYTES = 15_000_000
# PEP 600: what every manylinux system has. libmvec belongs to glibc.
ALLOWED = re.compile(
    r"(ld-linux-.*|lib(c|m|mvec|dl|rt|pthread|util|resolv|nsl|anl|gcc_s|stdc\+\+))\.so(\.\d+)*"
)
# Python's own modules load libraries of its system; NumPy's and Gymnasium's come first, therefore.
LIBRARIES = """
import os, sqlite3, ssl, gymnasium
def loaded():
    maps = [line.split(maxsplit=5)[-1].strip() for line in open("/proc/self/maps")]
    return {os.path.realpath(path) for path in maps if path.startswith("/") and ".so" in path}
before = loaded()
import broadloom
broadloom.train("CartPole-v1", total_timesteps=1000, out="loaded")
print(*loaded() - before, sep="\\n")
"""
HOPPER = """
import broadloom
broadloom.train("Hopper-v5", total_timesteps=4096, num_envs=4, num_steps=64, out="hopper")
"""


def serving(tag):
    """The Pythons of a wheel's tag, such as cp310-cp310 or cp312-abi3: those that start."""
    minor = int(re.match(r"cp3(\d+)", tag)[1])
    for number in range(minor, 30 if "abi3" in tag else minor + 1):
        name = f"python3.{number}"
        try:
            if subprocess.run([name, "-c", ""], capture_output=True).returncode == 0:
                yield name
        except FileNotFoundError:
            pass


def tried():
    """(wheel, Python) of every pair to try."""
    wheels = sorted(FILES.glob("*.whl"))
    return [(wheel, name) for wheel in wheels for name in serving(wheel.name.split("-", 2)[2])]


def own_environment():
    """The README's example, with fewer steps."""
    text = (ROOT / "README.md").read_text()
    code = re.search(r"```python\n(.*?class Track.*?)```", text, re.DOTALL)[1]
    return code.replace("train(Track, ", "train(Track, total_timesteps=100_000, ")


class Wheels(unittest.TestCase):
    def run_in(self, folder, *words, **more):
        foreign = ("PYTHONPATH", "VIRTUAL_ENV")
        environment = {k: v for k, v in os.environ.items() if k not in foreign}
        done = subprocess.run(
            [str(word) for word in words], cwd=folder, env=environment, text=True,
            capture_output=True, timeout=1200, **more,
        )
        self.assertEqual(done.returncode, 0, f"{words}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def hash_of(self, folder, program, *words):
        self.run_in(folder, program, "train", *words)
        lines = (pathlib.Path(folder) / "runs/ledger.jsonl").read_text().splitlines()
        return json.loads(lines[-1])["result"]["parameters_hash"]

    def test_files(self):
        wheels = list(FILES.glob("*.whl"))
        self.assertTrue(wheels)
        for wheel in wheels:
            with self.subTest(wheel.name), zipfile.ZipFile(wheel) as opened:
                self.assertLess(wheel.stat().st_size, MOST_BYTES)
                self.assertIn("-manylinux_", wheel.name)
                names = opened.namelist()
                self.assertFalse([name for name in names if "mujoco" in name.lower()], names)
                self.assertTrue([name for name in names if name.endswith("THIRD_PARTY.md")], names)
                for name in names:
                    if ".so" in name:
                        self.assertNotIn(os.fsencode(str(ROOT)), opened.read(name), name)
        sums = (FILES / "SHA256SUMS").read_text().splitlines()
        listed = {line.split()[1]: line.split()[0] for line in sums}
        others = {path.name: path for path in FILES.iterdir() if path.name != "SHA256SUMS"}
        self.assertEqual(set(listed), set(others))
        for name, path in others.items():
            self.assertEqual(hashlib.sha256(path.read_bytes()).hexdigest(), listed[name], name)

    def test_every_python(self):
        pairs = tried()
        self.assertTrue(pairs, "no Python on this machine is served by a wheel")
        for wheel, python in pairs:
            with self.subTest(f"{wheel.name} {python}"), tempfile.TemporaryDirectory() as folder:
                self.try_wheel(wheel, python, pathlib.Path(folder))

    def try_wheel(self, wheel, python, folder):
        begin = time.monotonic()
        self.run_in(folder, python, "-m", "venv", "venv")
        pip = (folder / "venv/bin/python", "-m", "pip", "install", "-q", "--no-input",
               "--disable-pip-version-check")
        self.run_in(folder, *pip, wheel)
        installed = time.monotonic()
        inside, program = folder / "venv/bin/python", folder / "venv/bin/broadloom"

        (folder / "own.py").write_text(own_environment())
        self.run_in(folder, inside, "own.py")
        trained = time.monotonic()
        print(f"{wheel.name} of {wheel.stat().st_size / 1e6:.1f} MB, {python}: installed in "
              f"{installed - begin:.0f} s, trained the README's environment in "
              f"{trained - installed:.0f} s", flush=True)

        self.assertEqual(self.run_in(folder, program, "--version"),
                         self.run_in(folder, PROGRAM, "--version"))
        words = ("--env_id", "CartPole-v1", "--total_timesteps", 50000, "--threads", 2)
        self.assertEqual(self.hash_of(folder, program, *words, "--out", "runs/wheel"),
                         self.hash_of(folder, PROGRAM, *words, "--out", "runs/program"))

        base = self.run_in(folder, inside, "-c", "import sys; print(sys.base_prefix)").strip()
        roots = (os.path.realpath(folder), os.path.realpath(base) + "/lib/python")
        printed = self.run_in(folder, inside, "-c", LIBRARIES).splitlines()
        files = [line for line in printed if line.startswith("/")]
        self.assertTrue([file for file in files if "/broadloom/_core." in file], files)
        foreign = [file for file in files if not file.startswith(roots)]
        self.assertFalse([f for f in foreign if not ALLOWED.fullmatch(os.path.basename(f))], files)

        if python != "python3.10":  # MuJoCo 4.0 needs 3.11
            self.run_in(folder, *pip, "mujoco-core==4.0.0", "gymnasium==1.4.0")
            self.run_in(folder, inside, "-c", HOPPER)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
