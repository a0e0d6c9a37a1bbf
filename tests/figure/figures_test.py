"""experiments/figures.py: what a description picks and draws, and what is said of a wrong one."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "experiments"))
import figures  # noqa: E402

SPEC = 'title = "t"\ndata = "cells.csv"\nx = "N"\ny = "return"\n'
DATA = "N,task,other,return,return low,return high\n8,a,rate=1,1,0,3\n16,a,rate=2,2,1,4\n8,b,,7,,\n"


class Figures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "cells.csv").write_text(DATA)

    def run_script(self, spec, *flags):
        """Returns the exit code: None, a message or a number."""
        (self.folder / "a.toml").write_text(spec)
        with contextlib.redirect_stdout(io.StringIO()), self.assertRaises(SystemExit) as end:
            figures.main([*flags, str(self.folder / "a.toml")])
        return end.exception.code

    def picture(self, spec):
        self.assertIsNone(self.run_script(spec))
        return (self.folder / "a.svg").read_text()

    def texts(self, spec):
        root = xml.etree.ElementTree.fromstring(self.picture(spec))
        return [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]

    def refused(self, words, spec):
        self.assertIn(words, self.run_script(spec))

    def test_check_says_what_is_not_up_to_date(self):
        spec = SPEC + 'series_by = "task"\n'
        self.picture(spec)
        kept = self.run_script(spec, "--check")
        if kept == 77:
            self.skipTest("another version of matplotlib")
        self.assertIsNone(kept)
        (self.folder / "cells.csv").write_text(DATA.replace("16,a,rate=2,2", "16,a,rate=2,3"))
        self.assertIn("a.svg is not what a.toml draws", self.run_script(spec, "--check"))

    def test_series_are_named_and_panels_filtered(self):
        texts = self.texts(SPEC + 'series_by = "task"\nseries_names = { b = "the other" }\n')
        self.assertLess(texts.index("the other"), texts.index("a"))  # in the order of the names
        panels = '[[panels]]\ntitle = "first"\nwhere.task = "a"\n[[panels]]\nwhere.task = "b"\n'
        self.assertIn("first", self.texts(SPEC + panels))
        self.assertNotIn("b", self.texts(SPEC + panels))

    def test_cells_of_a_heat_map(self):
        heat = SPEC.replace('y = "return"', 'y = "task"\nvalue = "return"\nkind = "heat"\n')
        self.assertLessEqual({"1", "[0, 3]", "7"}, set(self.texts(heat)))
        self.assertNotIn("stroke-dasharray", self.picture(heat))
        self.assertIn("stroke-dasharray", self.picture(heat + 'best = "smallest"\n'))  # 2 [1, 4]

    def test_settings_in_one_column_are_columns(self):
        texts = self.texts(SPEC.replace('"N"', '"other/rate"') + 'where.task = "a"\n')
        self.assertIn("1", texts)
        self.refused("no row of", SPEC + 'where."other/rate" = 3\n')

    def test_wrong_descriptions_are_refused(self):
        self.refused("unknown key 'y_tile'; 'y_title' is one", SPEC + 'y_tile = "a"\n')
        self.refused("no column 'retrn'", SPEC.replace('"return"', '"retrn"'))
        self.refused("no row of cells.csv", SPEC + 'where.task = "c"\n')
        self.refused("two rows at one x", SPEC)
        self.refused(
            "which the order ['16'] lacks",
            SPEC + 'kind = "points"\nx_scale = "categories"\nx_order = ["16"]\n',
        )
        self.refused("cells.tsv", SPEC.replace("csv", "tsv"))
        self.refused("a.toml", "title")


if __name__ == "__main__":
    unittest.main()
