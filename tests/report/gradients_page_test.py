#!/usr/bin/env python3
"""gradients_page_test.py MAKE_PAGE OUT: gradients.html in a real browser: nothing complains, nothing is loaded from elsewhere,
every chart is drawn, in light and dark and at a phone's width; the summary is that of the file.
Pages stay in OUT, with BROADLOOM_PICTURES=1 screenshots, too. Without a browser: SKIPPED, exit 77."""

import sys
import unittest

from browser import run_tests
import gradients_fixture as fixture
from page_checks import DISPLAYS, check_display, write_page

STUDIES = ("agreement", "correlation", "variance", "bias", "exact")
PICTURED = ("rich",)  # pictures take much of the test's time
FEW = (
    "only_variance",
    "only_exact",
    "bare",
)  # parts of what the others have: two displays are enough
MAKE_PAGE = OUT = BROWSER = None


def make_page(name, data):
    return write_page(MAKE_PAGE, "gradients", OUT, name, data)


class PageTest(unittest.TestCase):
    def check_display(self, name, page, data, display):
        pictured = name in PICTURED and display != "small_phone"
        check_display(
            self, BROWSER, page, display, OUT / f"{name}_{display}.png" if pictured else None
        )
        sections = BROWSER.evaluate(
            "[...document.querySelectorAll('main > section[id]')].map((s) => s.id)"
        )
        self.assertEqual(
            sorted(set(sections) - {"summary"}), sorted(s for s in STUDIES if data.get(s))
        )

    def test_every_file_on_every_display(self):
        for name, make in fixture.ALL.items():
            data = make()
            page = make_page(name, data)
            for display in ("light", "small_phone") if name in FEW else DISPLAYS:
                with self.subTest(file=name, display=display):
                    self.check_display(name, page, data, display)

    def test_losses_of_values_have_one_kind_of_agreement(self):
        BROWSER.display(**DISPLAYS["light"])
        BROWSER.open(make_page("of_values", fixture.of_values()))
        text = BROWSER.evaluate("document.querySelector('main').textContent")
        self.assertIn("TD loss", text)
        self.assertIn("Agreement under the run's critic", text)
        self.assertNotIn("advantages normalised", text)

    def test_every_case_has_its_drawings(self):
        data = fixture.rich()
        BROWSER.display(**DISPLAYS["light"])
        BROWSER.open(make_page("rich", data))
        shapes, lambdas, with_pairs = (
            11,
            3,
            10,
        )  # blocks of one step have no pairs within a trajectory
        labels = BROWSER.evaluate(
            "[...document.querySelectorAll('canvas, svg')].map((c) => c.getAttribute('aria-label'))"
        )
        count = lambda start: sum(label.startswith(start) for label in labels)
        self.assertEqual(count("Histogram of the cosine between two"), shapes * lambdas)
        self.assertEqual(count("Autocovariance against lag"), with_pairs * lambdas)
        self.assertEqual(count("Histogram of the cosine between samples and their"), shapes)
        self.assertEqual(count("Heat map"), shapes * lambdas)
        self.assertEqual(count("Stacked bars"), lambdas)
        self.assertEqual(count("Sampled against exact"), 5)
        self.assertEqual(count("Agreement under"), 3)
        self.assertTrue(labels[0].startswith("Agreement under"), "the answer's figure comes first")
        lines = BROWSER.evaluate(
            "[...document.querySelectorAll('#summary > ul > li')].map((li) => li.textContent)"
        )
        self.assertEqual(
            lines[0],
            "Best shape for one block under the run's critic at λ = 0.95: 1 × 64 (0.49 [0.44, 0.54]); "
            "least agrees 64 × 1.",
        )
        self.assertEqual(lines[1:], data["summary"][1:])
        self.assertEqual(
            BROWSER.evaluate("document.querySelectorAll('#summary li').length"),
            len(data["summary"]),
        )
        self.assertEqual(
            BROWSER.evaluate("[...document.querySelectorAll('details.folded')].map((d) => d.open)"),
            [False],
        )
        self.assertEqual(len(labels), len(set(labels)), "two drawings with the same name")
        rows = BROWSER.evaluate(
            "[...document.querySelectorAll('table')].map((t) => t.tBodies[0].rows.length)"
        )
        self.assertEqual(rows[0], shapes * lambdas)  # agreement

    def test_colours_follow_the_system_while_the_page_is_open(self):
        BROWSER.display(**DISPLAYS["light"])
        BROWSER.open(make_page("two_shapes", fixture.two_shapes()))
        picture = "document.querySelector('.canvas canvas').toDataURL()"
        light, background = (
            BROWSER.evaluate(picture),
            BROWSER.evaluate("getComputedStyle(document.body).backgroundColor"),
        )
        BROWSER.display(**DISPLAYS["dark"])
        BROWSER.evaluate(
            "new Promise((r) => setTimeout(() => requestAnimationFrame(() => r(1)), 50))"
        )
        self.assertNotEqual(BROWSER.evaluate(picture), light)
        self.assertNotEqual(
            BROWSER.evaluate("getComputedStyle(document.body).backgroundColor"), background
        )
        BROWSER.evaluate("window.dispatchEvent(new Event('beforeprint'))")  # paper is light
        self.assertEqual(
            BROWSER.evaluate("getComputedStyle(document.body).backgroundColor"), background
        )
        self.assertEqual(BROWSER.evaluate(picture), light)
        BROWSER.evaluate("window.dispatchEvent(new Event('afterprint'))")
        self.assertNotEqual(BROWSER.evaluate(picture), light)
        self.assertEqual(BROWSER.take_problems(), [])

    def test_a_study_that_cannot_be_shown_is_counted_and_leaves_the_rest(self):
        data = fixture.two_shapes()
        data["bias"] = [{"num_steps": 4, "lambda": 0, "gamma": 1, "bias_norm": {"value": 1}}]
        data["correlation"][0]["batch_means"]["matrix"] = [7]
        BROWSER.display(**DISPLAYS["light"])
        BROWSER.open(make_page("damaged", data))
        state = BROWSER.evaluate("({...document.documentElement.dataset})")
        self.assertIn("Heat map", state["failures"])
        self.assertEqual(int(state["drawn"]), int(state["charts"]) - 1)
        self.assertEqual(BROWSER.evaluate("document.querySelectorAll('.failed').length"), 1)

    def test_tables_download_every_digit(self):
        BROWSER.open(make_page("two_shapes", fixture.two_shapes()))
        variance = "varianceTable(JSON.parse(document.getElementById('data').textContent).variance)"
        csv = BROWSER.evaluate(
            f"(() => {{ const t = {variance}; return csvOf(t.columns, t.rows); }})()"
        ).splitlines()
        self.assertEqual(len(csv), 1 + 6)
        head, first = csv[0].split(","), csv[1].split(",")
        self.assertEqual(head[:3], ["N", "T", "λ"])
        case = next(
            c for c in fixture.two_shapes()["variance"] if c["num_envs"] == 4 and c["lambda"] == 0
        )
        for key, column in (
            ("value", "Tr Cov(G_B)"),
            ("low", "Tr Cov(G_B) low"),
            ("high", "Tr Cov(G_B) high"),
            ("count", "Tr Cov(G_B) count"),
        ):
            self.assertEqual(float(first[head.index(column)]), case["total"][key])
        self.assertEqual(
            BROWSER.evaluate(
                """csvOf([{title: 'a, "b"', read: (r) => r}], ['x"y', 'new\\nline', null])"""
            ),
            '"a, ""b"""\n"x""y"\n"new\nline"\n\n',
        )
        # A text that a spreadsheet would take for a formula is none; numbers with their intervals are none.
        self.assertEqual(
            BROWSER.evaluate("['=1+1', '@x', '-a', '-1.5', '-1 [-2, 3]', '-'].map(noFormula)"),
            ["'=1+1", "'@x", "'-a", "-1.5", "-1 [-2, 3]", "-"],
        )
        BROWSER.evaluate("document.querySelector('details button').click()")
        self.assertEqual(BROWSER.take_problems(), [])

    def test_numbers_as_text(self):
        BROWSER.open(make_page("bare", fixture.bare()))
        for given, wanted in (
            ("{value: 0.12345, low: 0.1134, high: 0.1334}", "0.123 [0.113, 0.133]"),
            ("{value: 1.23456e-5, low: 1.1e-5, high: 1.4e-5}", "1.23 [1.10, 1.40] × 10⁻⁵"),
            ("{value: -3, low: -5.2, high: -0.8}", "-3.0 [-5.2, -0.8]"),
            ("{value: 12.5, low: null, high: null}", "12.50"),
            ("{value: 12.5, low: 10.1, high: null}", "12.5 [10.1, –]"),
            ("{value: null}", "–"),
            ("null", "–"),
            ("{value: 0, low: 0, high: 0}", "0 [0, 0]"),
        ):
            with self.subTest(given=given):
                self.assertEqual(BROWSER.evaluate(f"formatEstimate({given})"), wanted)


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
