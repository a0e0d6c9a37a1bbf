"""Every picture under experiments/ and bench/ is, byte for byte, what its description draws from the data beside it.

    kept_figures_test.py PROGRAM REPOSITORY
"""
import pathlib
import subprocess
import sys
import unittest


def kept(pattern):
    folders = (ROOT / "experiments", ROOT / "bench/peers/threshold")
    return [path for folder in folders for path in folder.rglob(pattern)]


class KeptFigures(unittest.TestCase):
    def test_they_are_up_to_date(self):
        specs = sorted(str(path.relative_to(ROOT)) for path in kept("figure*.toml"))
        self.assertTrue(specs)
        for spec in specs:
            with self.subTest(spec):
                result = subprocess.run([PROGRAM, "figure", "--check", "--quiet", spec], cwd=ROOT, capture_output=True, text=True, timeout=60)
                self.assertEqual(result.returncode, 0, result.stderr)

    def test_no_picture_is_without_a_description(self):
        for picture in kept("*.svg"):
            self.assertTrue(picture.with_suffix(".toml").exists(), f"{picture}: nothing says how it was drawn")


if __name__ == "__main__":
    PROGRAM, ROOT = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    unittest.main(argv=sys.argv[:1])
