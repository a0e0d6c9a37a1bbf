#!/usr/bin/env python3
"""runs_page_test.py PROGRAM OUT: the page of `report runs/*` in a real browser. It fits a desk and
a phone, loads nothing and has all its runs."""

import shutil
import subprocess
import sys
import unittest

from browser import run_tests
from page_checks import DISPLAYS

MAKE_PAGE = OUT = BROWSER = None  # MAKE_PAGE: the program
SMALL = "--total_timesteps=2048 --num_envs=2 --num_steps=64 --quiet --no-tensorboard".split()
RUNS = {  # long names, many settings, more than one task, and a run without a partner
    "cart-with-a-name-that-is-as-long-as-names-of-runs-often-are__ppo__1": [],
    "cart__2": ["--seed=2"],
    "cart__3": [
        *"--hidden_sizes=256,256,256,256 --learning_rate=1e-3 --clip_coef=0.3".split(),
        "--eval_interval=16",
        "--panel=PANEL",
    ],
    "cart__4": "--dialect=rl_games --num_minibatches=4 --update_epochs=1".split(),
    "lake": ["--env_id=FrozenLake-v1"],
}
PANEL = """env_id = "CartPole-v1"
episodes = 2
seeds = [1]
[strata.short]
half_length = 0.2
[perturbations.late]
action_delay = 2
"""
# Elements that end to the right of the screen and of all boxes that scroll by themselves.
TOO_WIDE = """[...document.querySelectorAll('body *')].filter((e) =>
  !e.parentNode.closest('.wide') &&
  e.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map(
  (e) => e.outerHTML.slice(0, 80))"""
# The least size of letters that a figure has on the screen, CSS pixels.
LEAST_LETTERS = """Math.min(...[...document.querySelectorAll('svg text')].map((t) =>
  parseFloat(getComputedStyle(t).fontSize) * Math.hypot(t.getCTM().a, t.getCTM().b)))"""


class RunsPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        runs = OUT / "runs"
        shutil.rmtree(runs, ignore_errors=True)
        OUT.mkdir(parents=True, exist_ok=True)
        (OUT / "panel.toml").write_text(PANEL, encoding="utf-8")
        for name, flags in RUNS.items():
            flags = [flag.replace("PANEL", str(OUT / "panel.toml")) for flag in flags]
            call = [MAKE_PAGE, "train", *SMALL, *flags, "--out", runs / name]
            subprocess.run(call, check=True)
        call = [MAKE_PAGE, "report", *(runs / name for name in RUNS), "--out", OUT, "--quiet"]
        subprocess.run(call, check=True)
        cls.page = OUT / "runs.html"

    def test_it_fits_each_display(self):
        for display, size in DISPLAYS.items():
            with self.subTest(display):
                BROWSER.leave()
                BROWSER.display(**size)
                problems, requests = BROWSER.open(self.page)
                self.assertEqual(problems, [])
                self.assertEqual(requests, [self.page.absolute().as_uri()])
                BROWSER.screenshot(OUT / f"{display}.png", scale=1)
                BROWSER.evaluate("for (const d of document.querySelectorAll('details')) d.open = 1")
                width = BROWSER.evaluate("document.documentElement.scrollWidth")
                self.assertLessEqual(width, size["width"])
                self.assertEqual(BROWSER.evaluate(TOO_WIDE), [])
                self.assertEqual(BROWSER.take_problems(), [])

    def test_letters_of_figures_can_be_read_on_a_phone(self):
        BROWSER.leave()
        BROWSER.display(**DISPLAYS["phone"])
        BROWSER.open(self.page)
        self.assertGreaterEqual(BROWSER.evaluate(LEAST_LETTERS), 8)

    def test_it_has_all_runs_and_tasks(self):
        BROWSER.leave()
        BROWSER.open(self.page)
        for words, expected in (("td a", RUNS), ("h2", ["CartPole-v1", "FrozenLake-v1"])):
            found = BROWSER.evaluate(
                f"[...document.querySelectorAll('{words}')].map((a) => a.textContent)"
            )
            self.assertEqual(sorted(found), sorted(expected))

    def test_it_tells_three_claims_apart(self):
        BROWSER.leave()
        BROWSER.open(self.page)
        cells = BROWSER.evaluate(
            "[...document.querySelectorAll('tr')].filter((r) => r.querySelector('th')?.textContent"
            " === 'cart__3').map((r) => [...r.querySelectorAll('td')].map((c) => c.textContent))"
        )
        ((systems, learning, embodiment),) = cells
        self.assertRegex(systems, r"^\d+ on \d+ threads?$")
        self.assertRegex(learning, r"^[\d.]+ \[[\d.-]+, [\d.]+\] after 2048 steps$")
        self.assertRegex(embodiment, r"^[\d.]+ \(short/\w+\) to [\d.]+ \(short/\w+\), 2 rows$")
        self.assertIn("no panel", BROWSER.evaluate("document.body.textContent"))


if __name__ == "__main__":
    sys.exit(run_tests(globals(), "runs_page"))
