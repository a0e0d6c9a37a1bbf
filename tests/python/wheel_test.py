"""wheel_test.py FILES PROGRAM: installs the wheels of tools/release.sh into fresh environments.

Each wheel is tried with every CPython on this machine that it serves: `broadloom` is there and has
the program's bits, an environment of one's own trains, MuJoCo is found if it is installed, and no
library is loaded but the wheel's, Python's and those that manylinux allows.

One wheel is tried in a bare Debian as well: its base, Python and venv, without compilers or
packages for development. debootstrap makes it in build/bare, which needs root.
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES, PROGRAM = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
MOST_BYTES = 15_000_000
MOST_CUDA_BYTES = 100_000_000  # with kernels for several architectures
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


def is_cuda(wheel):
    return wheel.name.startswith("broadloom_cuda-")


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
            [str(word) for word in words],
            cwd=folder,
            env=environment,
            text=True,
            capture_output=True,
            timeout=1200,
            **more,
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
                most = MOST_CUDA_BYTES if is_cuda(wheel) else MOST_BYTES
                self.assertLess(wheel.stat().st_size, most)
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
        pip = (
            folder / "venv/bin/python",
            "-m",
            "pip",
            "install",
            "-q",
            "--no-input",
            "--disable-pip-version-check",
        )
        self.run_in(folder, *pip, wheel)
        installed = time.monotonic()
        inside, program = folder / "venv/bin/python", folder / "venv/bin/broadloom"

        (folder / "own.py").write_text(own_environment())
        self.run_in(folder, inside, "own.py")
        trained = time.monotonic()
        print(
            f"{wheel.name} of {wheel.stat().st_size / 1e6:.1f} MB, {python}: installed in "
            f"{installed - begin:.0f} s, trained the README's environment in "
            f"{trained - installed:.0f} s",
            flush=True,
        )

        self.assertEqual(
            self.run_in(folder, program, "--version"), self.run_in(folder, PROGRAM, "--version")
        )
        words = ("--env_id", "CartPole-v1", "--total_timesteps", 50000, "--threads", 2)
        self.assertEqual(
            self.hash_of(folder, program, *words, "--out", "runs/wheel"),
            self.hash_of(folder, PROGRAM, *words, "--out", "runs/program"),
        )

        if is_cuda(wheel) and not os.path.exists("/dev/nvidia0"):
            done = subprocess.run(
                [program, "train", "--device", "cuda", "--out", "cuda"],
                cwd=folder, text=True, capture_output=True,
            )  # fmt: skip
            self.assertNotEqual(done.returncode, 0)
            self.assertNotIn("built without", done.stderr)
            print(f"****SKIPPED: its kernels are not run without a GPU: {done.stderr}", flush=True)

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


ZOO = """
import broadloom
names = broadloom.zoo.names()
assert "CartPole-v1" in names, names
policy = broadloom.zoo.load("CartPole-v1")  # raises unless it has the zoo's bits
print(broadloom.evaluate(policy.origin["run_dir"], episodes=20)["mean_return"])
"""


class BareSystem(unittest.TestCase):
    """A Debian without anything that builds, as a container of it would be."""

    SYSTEM = ROOT / "build/bare"

    def setUp(self):
        lacks = [name for name in ("debootstrap", "chroot") if shutil.which(name) is None]
        if os.geteuid() != 0 or lacks:
            why = f"no {', '.join(lacks)}" if lacks else "not root"
            print(f"****SKIPPED: the wheel is not tried in a bare system: {why}", flush=True)
            self.skipTest(why)
        if not (self.SYSTEM / "made").exists():
            shutil.rmtree(self.SYSTEM, ignore_errors=True)
            packages = "--include=python3,python3-venv,ca-certificates"
            source = "http://deb.debian.org/debian"
            made = subprocess.run(
                ["debootstrap", "--variant=minbase", packages, "bookworm", self.SYSTEM, source],
                capture_output=True, text=True,
            )  # fmt: skip
            if made.returncode != 0:
                print(f"****SKIPPED: debootstrap failed: {made.stdout[-300:]}", flush=True)
                self.skipTest("debootstrap failed")
            (self.SYSTEM / "made").touch()
        for name in ("etc/resolv.conf", "etc/hosts", "etc/ssl/certs/ca-certificates.crt"):
            if os.path.exists(f"/{name}"):  # of this machine's network
                (self.SYSTEM / name).unlink(missing_ok=True)
                shutil.copy(f"/{name}", self.SYSTEM / name)
        self.home = self.SYSTEM / "try"
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir()

    def inside(self, *words):
        environment = {
            "PATH": "/try/venv/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/try",
            "LANG": "C.UTF-8",
            "PIP_CERT": "/etc/ssl/certs/ca-certificates.crt",
            **{k: v for k, v in os.environ.items() if k.lower().endswith("_proxy")},
        }
        # /proc is mounted in a namespace of its own, which ends with the call.
        there = "sh -c 'cd /try && exec \"$@\"' -"
        call = f'mount -t proc proc "$0/proc" && exec chroot "$0" {there} "$@"'
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", call, self.SYSTEM, *map(str, words)],
            env=environment, capture_output=True, text=True, timeout=1200,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, f"{words}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def test_from_the_wheel_to_a_trained_environment(self):
        packages = self.inside("dpkg-query", "-W", "-f", "${Package}\n").split()
        tool = re.compile(r"(gcc|g\+\+|cmake|make|.*-dev)(-\d+)?$")
        tools = [name for name in packages if tool.match(name)]
        self.assertFalse(tools, "the system is not bare")
        version = self.inside("python3", "-c", "import sys; print('cp3%d' % sys.version_info[1])")
        wheels = sorted(FILES.glob(f"broadloom-*-{version.strip()}-*.whl"))
        self.assertTrue(wheels, f"no wheel for {version}")
        shutil.copy(wheels[0], self.home)
        (self.home / "own.py").write_text(own_environment())
        (self.home / "zoo.py").write_text(ZOO)

        begin = time.monotonic()
        self.inside("python3", "-m", "venv", "venv")
        self.inside("venv/bin/pip", "install", "-q", "--disable-pip-version-check", wheels[0].name)
        installed = time.monotonic()
        self.inside("python", "own.py")
        trained = time.monotonic()
        print(
            f"bare Debian with {len(packages)} packages, {wheels[0].name} of "
            f"{wheels[0].stat().st_size / 1e6:.1f} MB: installed in {installed - begin:.0f} s, "
            f"trained the README's environment in {trained - installed:.0f} s", flush=True
        )  # fmt: skip

        words = ("--env_id", "CartPole-v1", "--total_timesteps", 50000, "--threads", 2)
        hashes = []
        self.inside("broadloom", "train", *words, "--out", "runs/wheel")
        hashes.append((self.home / "runs/ledger.jsonl").read_text().splitlines()[-1])
        with tempfile.TemporaryDirectory() as folder:
            call = [PROGRAM, "train", *map(str, words), "--out", "runs/program"]
            subprocess.run(call, cwd=folder, check=True, capture_output=True)
            hashes.append((pathlib.Path(folder) / "runs/ledger.jsonl").read_text())
        bits = {json.loads(line)["result"]["parameters_hash"] for line in hashes}
        self.assertEqual(len(bits), 1, bits)

        self.assertIn("CartPole-v1", self.inside("broadloom", "zoo"))
        self.assertGreater(float(self.inside("python", "zoo.py").split()[-1]), 475)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
