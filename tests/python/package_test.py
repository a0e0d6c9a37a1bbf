"""The source package: its files, and that CMake configures it. `./test.sh wheel` builds wheels."""

import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import unittest

import scikit_build_core.build as backend

ROOT = pathlib.Path(__file__).resolve().parents[2]
NEEDED = ("broadloom", "research", "bridges", "cli", "cmake", "cuda", "python", "docs/formats")


def files_of(root, folders):
    return {
        str(path.relative_to(root))
        for folder in folders
        for path in (root / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


class SourcePackage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        here = pathlib.Path.cwd()
        os.chdir(ROOT)
        try:
            archive = pathlib.Path(folder.name) / backend.build_sdist(folder.name)
        finally:
            os.chdir(here)
        cls.size = archive.stat().st_size
        with tarfile.open(archive) as opened:
            opened.extractall(folder.name)
        cls.source = archive.with_name(archive.name.removesuffix(".tar.gz"))

    def test_holds_what_the_build_reads_and_no_experiments(self):
        self.assertEqual(files_of(self.source, NEEDED), files_of(ROOT, NEEDED))
        self.assertTrue((self.source / "THIRD_PARTY.md").is_file())
        top = {path.name for path in self.source.iterdir()}
        self.assertFalse(top & {"experiments", "build", "runs", ".git", ".venv"}, top)
        self.assertLess(self.size, 4_000_000)

    def test_configures_and_knows_its_revision(self):
        (self.source / "REVISION").write_text("0123456789ab\n")
        build = self.source.with_name("build")
        options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["scikit-build"]
        words = [f"-D{key}={value}" for key, value in options["cmake"]["define"].items()]
        done = subprocess.run(
            [
                "cmake",
                "-S",
                self.source,
                "-B",
                build,
                "-G",
                "Ninja",
                "-DCMAKE_BUILD_TYPE=Release",
                f"-DPython_EXECUTABLE={sys.executable}",
                *words,
            ],
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        information = (build / "generated/broadloom_build_info.inc").read_text()
        self.assertIn('REVISION "0123456789ab"', information)
        self.assertIn("python/broadloom", (build / "python/cmake_install.cmake").read_text())

    def test_versions_agree(self):
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        cmake = (ROOT / "CMakeLists.txt").read_text()
        self.assertEqual(re.search(r"broadloom VERSION ([\d.]+)", cmake)[1], project["version"])
        citation = (ROOT / "CITATION.cff").read_text()
        found = re.search(r"(?m)^version: (\S+)", citation)[1]
        self.assertEqual(found.strip('"'), project["version"])


if __name__ == "__main__":
    unittest.main()
