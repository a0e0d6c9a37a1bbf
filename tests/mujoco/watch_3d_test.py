"""`broadloom watch` on a MuJoCo task: 3D if this machine can render, otherwise 2D with a note."""

import json
import os
import pathlib
import re
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from program_test_case import SMALL, ProgramTest  # noqa: E402

TASK = ["--env_id", "InvertedPendulum-v5", *SMALL, "--out", "a", "--quiet"]


class Watch3d(ProgramTest):
    def setUp(self):
        super().setUp()
        trained = self.run_program("train", *TASK)
        self.assertEqual(trained.returncode, 0, trained.stderr)

    def without_drivers(self):
        """Hides all drivers from EGL, if libglvnd looks for them."""
        empty = tempfile.TemporaryDirectory()
        self.addCleanup(empty.cleanup)
        os.environ["__EGL_VENDOR_LIBRARY_DIRS"] = empty.name
        self.addCleanup(os.environ.pop, "__EGL_VENDOR_LIBRARY_DIRS")

    def data(self):
        with open(os.path.join(self.folder.name, "a", "watch.html"), encoding="utf-8") as file:
            text = file.read()
        return json.loads(
            re.search(
                r'<script type="application/json" id="data">\n(.*?)\n</script>', text, re.DOTALL
            ).group(1)
        )

    def test_both_views_show_the_same_episodes(self):
        answer = self.object_of("watch", "a", "--episodes", "2", "--json")
        if answer["view"] != "3d":
            self.skipTest("SKIPPED: " + answer["why_drawn"])
        shown = self.data()
        self.assertEqual(shown["pictures_every"], 1)
        self.assertEqual({shape[0] for shape in shown["shapes"]}, {"image"})
        drawn = self.object_of("watch", "a", "--episodes", "2", "--view", "drawn", "--json")
        self.assertEqual((drawn["view"], drawn["why_drawn"]), ("drawn", None))
        self.assertEqual(drawn["episodes"], answer["episodes"])
        flat = self.data()
        self.assertEqual(flat["pictures_every"], 0)
        for a, b in zip(shown["episodes"], flat["episodes"]):
            self.assertEqual(
                (a["rewards"], a["actions"], len(a["frames"])),
                (b["rewards"], b["actions"], len(b["frames"])),
            )

    def test_without_a_renderer_it_draws_in_two_dimensions_and_says_so(self):
        self.without_drivers()
        result = self.run_program("watch", "a")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(
            result.stdout,
            r"\nDrawn in two dimensions: OpenGL without a display is not available: "
            r".*apt-get install libegl1.*\na/watch\.html\nNext: .*\n$",
        )
        self.assertEqual(self.data()["pictures_every"], 0)
        self.fails(
            3,
            [
                "OpenGL without a display is not available",
                "libEGL.so.1",
                "apt-get install libegl1 libgl1-mesa-dri",
            ],
            "watch",
            "a",
            "--view",
            "3d",
        )


if __name__ == "__main__":
    unittest.main(verbosity=2)
