#!/usr/bin/env python3
"""advice_page_test.py MAKE_PAGE OUT: advice.html in a real browser, as gradients_page_test.py looks at its page: of an answer with
all that can stand beside it, of one without an advice, and of one that was stopped before anything was tried."""

import copy
import json
import sys
import unittest

from browser import run_tests
from page_checks import DISPLAYS, check_display, write_page

MAKE_PAGE = OUT = BROWSER = None


def estimate(value, half=None):
    return {
        "value": value,
        "low": None if half is None else value - half,
        "high": None if half is None else value + half,
        "count": 9,
    }


def candidate(
    n, t, rate, default=False, returns=((20, 200, 480, 490), (20, 150, 300, 480, 490)), rungs=2
):
    return {
        "name": f"{n} x {t}, minibatches of 256, 4 epochs, learning rate {rate}",
        "num_envs": n,
        "num_steps": t,
        "minibatch_size": 256,
        "update_epochs": 4,
        "learning_rate": rate,
        "default": default,
        "steps_per_second": 100000 * n / 32,
        "rungs": rungs,
        "horizon": 0.4,
        "reached": len(returns),
        "failed": 0,
        "mean_cost": 0.3,
        "mean_area": 200.0,
        "mean_last": 480.0,
        "trials": [
            {
                "seed": i + 1,
                "error": "",
                "steps": [10000 * (k + 1) for k in range(len(r))],
                "returns": list(r),
                "unfinished": [0] * len(r),
            }
            for i, r in enumerate(returns)
        ],
    }


def rival(index):
    return {
        "candidate": index,
        "text": f"Setting {index}: the advised setting does better with probability 0.80 (0.60 to 0.95).",
        "advised_is_better": estimate(0.8, 0.15),
    }


def whole():
    row = {
        "num_envs": 64,
        "num_steps": 16,
        "cosine": estimate(0.9, 0.05),
        "agreement": estimate(0.2, 0.01),
        "agreement_refitted": estimate(0.3, 0.01),
        "noise_scale": estimate(None),
        "critical_batch": {"value": 5e4, "low": 1e4, "high": None, "count": 40},
    }
    return {
        "format": 1,
        "kind": "advice",
        "created": "2026-01-01T00:00:00Z",
        "version": "0",
        "revision": "r",
        "command": ["advise"],
        "env_id": "CartPole-v1",
        "goal": "speed",
        "rule": "race",
        "candidates_for": "robots",
        "unit": "seconds",
        "budget_seconds": 60.0,
        "budget_steps": 0,
        "spent_steps": 123456,
        "seed": 1,
        "seeds": 2,
        "eval_episodes": 10,
        "interrupted": False,
        "threshold": 475.0,
        "threshold_source": "task",
        "untrained": estimate(21.0, 4.0),
        "held": ["num_envs"],
        "left_out": 3,
        "notes": [],
        "machine": {"cpu": "one", "cores": 2, "threads": 2, "spent_seconds": 59.5},
        "advice": {
            "verdict": "reached",
            "candidate": 1,
            "order": [1, 2, 3, 0],
            "threshold": 475.0,
            "cost": estimate(0.3, 0.1),
            "steps": estimate(3e4, 1e3),
            "reached": 2,
            "trials": 2,
            "horizon": 0.5,
            "last_return": 480.0,
            "answer": "Train CartPole-v1 with 32 x 32 (N x T).",
            "expected": "It was at 475 after 0.3 s.",
            "because": ["One reason.", "Another one."],
            "tried": ["2 settings: of one experiment."],
            "changes_mind": ["More seeds."],
            "not_known": ["What <b>others</b> & more would do."],
            "runners_up": [rival(2), rival(3)],
            "against_default": rival(0),
        },
        "candidates": [
            candidate(4, 128, 0.00025, default=True, returns=((20, 25), (22, 30)), rungs=1),
            candidate(32, 32, 0.001),
            candidate(64, 16, 0.001),
            candidate(8, 128, 0.001),
        ],
        "rungs": [{"cost": 0.2, "candidates": 4}, {"cost": 0.4, "candidates": 3}],
        "gradient": {
            "why_not": "",
            "global_step": 20000,
            "policy": {"num_envs": 32, "num_steps": 32},
            "rows": [row, {**row, "num_steps": 64, "cosine": estimate(None)}],
        },
    }


def without_advice():
    data = whole()
    data["advice"].update(
        verdict="nothing learnt",
        candidate=None,
        answer="No advice: nothing learnt.",
        expected="",
        because=[],
        runners_up=[],
        against_default=None,
        cost=estimate(None),
        threshold=None,
        last_return=None,
    )
    data["gradient"].update(rows=[], why_not="of a reason")
    data.update(
        unit="environment steps", budget_steps=1000, threshold=None, threshold_source="best seen"
    )
    for c in data["candidates"]:
        c.update(steps_per_second=None, reached=0)
    data["candidates"][3]["trials"][0]["error"] = "a loss is not finite"
    return data


def stopped():
    data = without_advice()
    data["candidates"] = []
    data["rungs"] = []
    data["advice"].update(order=[])
    return data


class AdvicePage(unittest.TestCase):
    def test_on_every_display(self):
        for name, make, displays in (
            ("advice", whole, DISPLAYS),
            ("advice_none", without_advice, ("light", "small_phone")),
            ("advice_stopped", stopped, ("light",)),
        ):
            data = make()
            page = write_page(MAKE_PAGE, "advice", OUT, name, data)
            for display in displays:
                with self.subTest(file=name, display=display):
                    check_display(
                        self,
                        BROWSER,
                        page,
                        display,
                        OUT / f"{name}_{display}.png" if display in ("light", "phone") else None,
                    )
                    self.assertEqual(
                        BROWSER.evaluate("document.querySelector('h1').innerText"),
                        data["advice"]["answer"],
                    )

    def test_it_begins_with_answer_and_figure(self):
        BROWSER.display(**DISPLAYS["light"])
        BROWSER.open(write_page(MAKE_PAGE, "advice", OUT, "advice", whole()))
        tags = BROWSER.evaluate(
            "[...document.querySelector('main').children].slice(0, 4).map((e) => e.tagName)"
        )
        self.assertEqual(tags, ["H1", "P", "FIGURE", "SECTION"])
        text = BROWSER.evaluate("document.body.innerText")
        for words in (
            whole()["advice"]["because"]
            + whole()["advice"]["tried"]
            + whole()["advice"]["not_known"]
            + [rival(2)["text"]]
        ):
            self.assertIn(words, text)

    def test_a_seed_that_stopped_stays_where_it_was(self):
        BROWSER.open(write_page(MAKE_PAGE, "advice", OUT, "advice", whole()))
        points = BROWSER.evaluate(
            f"meanCurve({json.dumps(whole())}, {json.dumps(candidate(32, 32, 0.001))}).map((p) => [p.x, p.estimate.value])"
        )
        self.assertEqual([round(x, 9) for x, _ in points], [0.1, 0.2, 0.3, 0.4, 0.5])
        self.assertEqual([value for _, value in points], [20, 175, 390, 485, 490])

    def test_the_figure_shows_the_default_too(self):
        shown = BROWSER.evaluate(f"shownCandidates({json.dumps(whole())}).map((s) => s.index)")
        self.assertEqual(shown, [1, 2, 3, 0])
        data = copy.deepcopy(whole())
        data["advice"]["order"] = [0, 1, 2, 3]
        self.assertEqual(
            BROWSER.evaluate(f"shownCandidates({json.dumps(data)}).map((s) => s.index)"), [0, 1, 2]
        )


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
