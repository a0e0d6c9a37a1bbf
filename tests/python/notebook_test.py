"""Runs all code cells of the notebooks in order, in a new folder, without Jupyter."""

import contextlib
import importlib.util
import io
import json
import os
import pathlib
import tempfile
import unittest

NOTEBOOKS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"


def run(path):
    """Runs a notebook's code cells; returns their names and their output."""
    cells = json.loads(path.read_text())["cells"]
    names, printed = {"__name__": "__main__"}, io.StringIO()
    with contextlib.redirect_stdout(printed):
        for number, cell in enumerate(cells):
            if cell["cell_type"] == "code":
                exec(compile("".join(cell["source"]), f"{path.name}, cell {number}", "exec"), names)
    return names, printed.getvalue()


@unittest.skipUnless(importlib.util.find_spec("matplotlib"), "matplotlib is not there")
@unittest.skipUnless(
    importlib.util.find_spec("pandas") or importlib.util.find_spec("polars"),
    "neither pandas nor Polars is there",
)
class NotebookTest(unittest.TestCase):
    def test_from_a_study_to_a_plot(self):
        with (
            tempfile.TemporaryDirectory() as folder,
            contextlib.chdir(folder) if hasattr(contextlib, "chdir") else _in(folder),
        ):
            names, printed = run(NOTEBOOKS / "study_to_plot.ipynb")
            self.assertIn("15 runs, complete: True", printed)
            self.assertEqual(len(names["scores"]), 15)
            self.assertIn("<svg", pathlib.Path("rates.svg").read_text())
            self.assertGreater(len(names["by_place"]), 60)
            self.assertIn(names["found"]["answer"], printed)

    def test_no_outputs_are_kept(self):
        for path in NOTEBOOKS.glob("*.ipynb"):
            for cell in json.loads(path.read_text())["cells"]:
                self.assertFalse(cell.get("outputs"), path.name)


@contextlib.contextmanager
def _in(folder):  # until Python 3.11 is the oldest
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


if __name__ == "__main__":
    unittest.main()
