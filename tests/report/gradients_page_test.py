#!/usr/bin/env python3
"""gradients_page_test.py MAKE_PAGE OUT: gradients.html in a real browser: nothing complains, nothing is loaded from elsewhere,
every chart is drawn, in light and dark and at a phone's width; and what the summary says follows from the numbers.
Pages stay in OUT, with BROADLOOM_PICTURES=1 screenshots, too. Without a browser: SKIPPED, exit 77."""

import copy
import json
import random
import sys
import unittest

from browser import run_tests
import gradients_fixture as fixture
from page_checks import DISPLAYS, check_display, write_page

STUDIES = ("agreement", "correlation", "variance", "bias", "exact")
PICTURED = ("rich",)  # pictures take much of the test's time
FEW = ("only_variance", "only_exact", "bare")  # parts of what the others have: two displays are enough
MAKE_PAGE = OUT = BROWSER = None


def make_page(name, data):
    return write_page(MAKE_PAGE, "gradients", OUT, name, data)


def summary_of(data):
    """The lines of the page's summary for this data."""
    return BROWSER.evaluate(f"summarise({json.dumps(data)}).flatMap((block) => block.lines)")


class PageTest(unittest.TestCase):
    def check_display(self, name, page, data, display):
        pictured = name in PICTURED and display != "small_phone"
        check_display(self, BROWSER, page, display, OUT / f"{name}_{display}.png" if pictured else None)
        sections = BROWSER.evaluate("[...document.querySelectorAll('main > section[id]')].map((s) => s.id)")
        self.assertEqual(sorted(set(sections) - {"summary"}), sorted(s for s in STUDIES if data.get(s)))

    def test_every_file_on_every_display(self):
        for name, make in fixture.ALL.items():
            data = make()
            page = make_page(name, data)
            for display in ("light", "small_phone") if name in FEW else DISPLAYS:
                with self.subTest(file=name, display=display):
                    self.check_display(name, page, data, display)

    def test_every_case_has_its_drawings(self):
        data = fixture.rich()
        BROWSER.display(**DISPLAYS["light"])
        BROWSER.open(make_page("rich", data))
        shapes, lambdas, with_pairs = 11, 3, 10  # blocks of one step have no pairs within a trajectory
        labels = BROWSER.evaluate("[...document.querySelectorAll('canvas, svg')].map((c) => c.getAttribute('aria-label'))")
        count = lambda start: sum(label.startswith(start) for label in labels)
        self.assertEqual(count("Histogram of the cosine between two"), shapes * lambdas)
        self.assertEqual(count("Autocovariance against lag"), with_pairs * lambdas)
        self.assertEqual(count("Histogram of the cosine between samples and their"), shapes)
        self.assertEqual(count("Heat map"), shapes * lambdas)
        self.assertEqual(count("Stacked bars"), lambdas)
        self.assertEqual(count("Sampled against exact"), 5)
        self.assertEqual(count("Agreement under"), 3)
        self.assertTrue(labels[0].startswith("Agreement under"), "the answer's figure comes first")
        lines = BROWSER.evaluate("[...document.querySelectorAll('#summary > ul > li')].map((li) => li.textContent)")
        self.assertEqual(lines[0], "Best shape for one block under the run's critic at λ = 0.95: 1 × 64 (0.49 [0.44, 0.54]); "
                                   "least agrees 64 × 1.")
        self.assertEqual(len(lines), len(data["summary"]))
        self.assertEqual(BROWSER.evaluate("[...document.querySelectorAll('details.folded')].map((d) => d.open)"), [False])
        self.assertEqual(len(labels), len(set(labels)), "two drawings with the same name")
        rows = BROWSER.evaluate("[...document.querySelectorAll('table')].map((t) => t.tBodies[0].rows.length)")
        self.assertEqual(rows[0], shapes * lambdas)  # agreement

    def test_colours_follow_the_system_while_the_page_is_open(self):
        BROWSER.display(**DISPLAYS["light"])
        BROWSER.open(make_page("two_shapes", fixture.two_shapes()))
        picture = "document.querySelector('.canvas canvas').toDataURL()"
        light, background = BROWSER.evaluate(picture), BROWSER.evaluate("getComputedStyle(document.body).backgroundColor")
        BROWSER.display(**DISPLAYS["dark"])
        BROWSER.evaluate("new Promise((r) => setTimeout(() => requestAnimationFrame(() => r(1)), 50))")
        self.assertNotEqual(BROWSER.evaluate(picture), light)
        self.assertNotEqual(BROWSER.evaluate("getComputedStyle(document.body).backgroundColor"), background)
        BROWSER.evaluate("window.dispatchEvent(new Event('beforeprint'))")  # paper is light
        self.assertEqual(BROWSER.evaluate("getComputedStyle(document.body).backgroundColor"), background)
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
        csv = BROWSER.evaluate(f"(() => {{ const t = {variance}; return csvOf(t.columns, t.rows); }})()").splitlines()
        self.assertEqual(len(csv), 1 + 6)
        head, first = csv[0].split(","), csv[1].split(",")
        self.assertEqual(head[:3], ["N", "T", "λ"])
        case = next(c for c in fixture.two_shapes()["variance"] if c["num_envs"] == 4 and c["lambda"] == 0)
        for key, at in (("value", "Tr Cov(G_B)"), ("low", "Tr Cov(G_B) low"), ("high", "Tr Cov(G_B) high"), ("count", "Tr Cov(G_B) count")):
            self.assertEqual(float(first[head.index(at)]), case["total"][key])
        self.assertEqual(BROWSER.evaluate("""csvOf([{title: 'a, "b"', of: (r) => r}], ['x"y', 'new\\nline', null])"""),
                         '"a, ""b"""\n"x""y"\n"new\nline"\n\n')
        BROWSER.evaluate("document.querySelector('details button').click()")
        self.assertEqual(BROWSER.take_problems(), [])

    def test_numbers_as_text(self):
        BROWSER.open(make_page("bare", fixture.bare()))
        for given, wanted in (("{value: 0.12345, low: 0.1134, high: 0.1334}", "0.123 [0.113, 0.133]"),
                              ("{value: 1.23456e-5, low: 1.1e-5, high: 1.4e-5}", "1.23 [1.10, 1.40] × 10⁻⁵"),
                              ("{value: -3, low: -5.2, high: -0.8}", "-3.0 [-5.2, -0.8]"),
                              ("{value: 12.5, low: null, high: null}", "12.50"),
                              ("{value: 12.5, low: 10.1, high: null}", "12.5 [10.1, –]"), ("{value: null}", "–"), ("null", "–"),
                              ("{value: 0, low: 0, high: 0}", "0 [0, 0]")):
            with self.subTest(given=given):
                self.assertEqual(BROWSER.evaluate(f"formatEstimate({given})"), wanted)


class SummaryTest(unittest.TestCase):
    """The summary may not say more than the intervals allow."""

    @classmethod
    def setUpClass(cls):
        BROWSER.open(make_page("bare", fixture.bare()))

    def variance(self, *totals):
        return [{"num_envs": 1 << i, "num_steps": 64 >> i, "lambda": 0.95, "gamma": 0.99,
                 "total": {"value": v, "low": low, "high": high, "count": 9}} for i, (v, low, high) in enumerate(totals)]

    def test_lowest_variance(self):
        apart = summary_of({"variance": self.variance((3, 2.5, 3.5), (1, 0.9, 1.1), (2, 1.8, 2.2))})[0]
        self.assertIn("lowest estimate of Tr Cov(G_B) is that of 2 × 32", apart)
        self.assertIn("apart from those of all other shapes", apart)
        self.assertIn("The highest, 1 × 64, is 2.3 to 3.9 times that", apart)
        some = summary_of({"variance": self.variance((3, 2.5, 3.5), (1, 0.9, 1.1), (1.05, 1.0, 1.2))})[0]
        self.assertIn("overlaps with that of 4 × 16, and is apart from the remaining one", some)
        none = summary_of({"variance": self.variance((1.3, 0.9, 1.6), (1, 0.8, 1.2))})[0]
        self.assertIn("not settled", none)
        self.assertNotIn("times", none)
        self.assertEqual(summary_of({"variance": self.variance((1, None, None), (2, None, None))}), [])

    def test_inflation_that_cannot_be_told_from_one(self):
        def lines(low, high):
            case = {"num_envs": 2, "num_steps": 8, "lambda": 1, "gamma": 0.99, "variance_inflation": {"value": (low + high) / 2, "low": low, "high": high}}
            return summary_of({"variance": [case]})
        self.assertEqual(lines(0.9, 1.2), ["In no case can a block be told from B independent samples: every interval of the variance inflation holds 1."])
        self.assertIn("fewer than B independent samples (variance inflation above 1) in 1 of 1 shape", lines(1.1, 1.3)[0])

    def test_autocovariance(self):
        def case(envs, value, low, high):
            return {"num_envs": envs, "num_steps": 64 // envs, "lambda": 1, "gamma": 0.99,
                    "within": [{"lag": 2, "autocovariance": {"value": 99, "low": 98, "high": 100}},
                               {"lag": 1, "autocovariance": {"value": value, "low": low, "high": high}}]}
        line = summary_of({"correlation": [case(1, 2, 1, 3), case(2, -1, -2, -0.5), case(4, 0.1, -1, 1)]})[0]
        self.assertIn("at lag 1 is above zero in 1 of 3 shapes (1 × 64) and is below zero in 1 of 3 shapes (2 × 32)", line)
        self.assertIn("in the other one the interval holds zero", line)
        line = summary_of({"correlation": [case(1, 0.1, -1, 1), case(2, 0, -1, 1)]})[0]
        self.assertIn("cannot be told from zero in any of 2 shapes", line)

    def test_bias(self):
        def case(steps, value, low, square_low, stopped="precision"):
            return {"num_steps": steps, "lambda": 0.9, "gamma": 1, "stopped": stopped,
                    "bias_norm": {"value": value, "low": low, "high": value + 0.1},
                    "bias_squared": {"value": value ** 2, "low": square_low, "high": value ** 2 + 0.1}}
        lines = summary_of({"bias": [case(1, 1.0, 0.9, 0.8), case(2, 0.95, 0.85, 0.7), case(64, 0.05, 0, -0.1, "budget")]})
        self.assertIn("at T = 1, λ = 0.9: 1.00 [0.90, 1.10]", lines[0])
        self.assertIn("The intervals of 1 other case overlap with it", lines[0])
        self.assertEqual("The whole interval of the squared bias is above zero in 2 of 3 cases; in the others no bias was found.", lines[1])
        clear = summary_of({"bias": [case(1, 1.0, 0.9, 0.8)]})[1]
        self.assertEqual("The whole interval of the squared bias is above zero in 1 of 1 case.", clear)
        self.assertIn("In 1 of 3 bias cases the budget ended", lines[2])
        self.assertIn("its interval reaches zero", summary_of({"bias": [case(1, 0.05, 0, -1)]})[0])

    def test_exact(self):
        def quantity(agrees):
            return {"exact": 1.0, "sampled": {"value": 1.0, "low": 0.9, "high": 1.1}, "agrees": agrees}
        data = {"settings": {"confidence": 0.95}, "exact": {"cases": [
            {"num_steps": 1, "lambda": 0, "gamma": 1, "cosine": quantity(True), "total": quantity(False), "bias_norm": quantity(None)}]}}
        self.assertIn("holds the exact value in 1 of 2 comparisons", summary_of(data)[0])
        self.assertIn("about 0.10 misses", summary_of(data)[0])

    def test_order_of_cases_does_not_matter(self):
        data = fixture.rich()
        mixed = copy.deepcopy(data)
        for study in ("variance", "correlation", "bias"):
            random.Random(5).shuffle(mixed[study])
        self.assertEqual(summary_of(mixed), summary_of(data))


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
