"""Broadloom's statistics against the real rliable: point estimates to 1e-12, interval ends within Monte Carlo
error of rliable's own replicates.

usage: rliable_test.py STATISTICS_JSON
"""

import json
import math
import subprocess
import sys
import unittest
import unittest.mock
import warnings

import numpy as np

warnings.filterwarnings(
    "ignore"
)  # SciPy's on tiny samples; rliable wants the statistic, not its p value
import scipy.stats  # noqa: E402
from rliable import library, metrics  # noqa: E402

PROGRAM = sys.argv.pop(1)
REPLICATES = 50000  # of Broadloom; rliable's are fewer, it takes a thousand times as long
AGGREGATES = ("iqm", "median", "mean", "optimality_gap")


def ask(x, y, thresholds, replicates=REPLICATES):
    words = [7, replicates, replicates]
    for scores in (x, y):
        words += [*scores.shape, *scores.ravel()]
    words += [len(thresholds), *thresholds]
    text = " ".join(repr(float(w)) if isinstance(w, float) else str(w) for w in words)
    result = subprocess.run([PROGRAM], input=text, capture_output=True, text=True, check=True)
    return json.loads(result.stdout)


def aggregates(scores):
    return np.array(
        [
            metrics.aggregate_iqm(scores),
            metrics.aggregate_median(scores),
            metrics.aggregate_mean(scores),
            metrics.aggregate_optimality_gap(scores),
        ]
    )


def keeping(function, kept):
    """The function, which also keeps what it gave: rliable does not show its replicates."""

    def wrapped(*arguments):
        kept.append(function(*arguments))
        return kept[-1]

    return wrapped


# Name, runs of x, runs of y, tasks, and whether the scores are multiples of 1/4, so that many are alike.
CASES = (
    ("usual", 20, 20, 3, False),
    ("one task", 9, 6, 1, False),
    ("ties", 10, 7, 5, True),
    ("odd", 7, 11, 7, False),
    ("two runs", 2, 3, 2, False),
    ("many tasks", 5, 5, 26, True),
)


def draw(case, seed):
    _, runs_x, runs_y, tasks, coarse = case
    rng = np.random.default_rng(seed)
    x = rng.normal(0.6, 0.5, (runs_x, tasks)) + rng.normal(0, 0.4, tasks)
    y = rng.normal(0.4, 0.6, (runs_y, tasks)) + rng.normal(0, 0.4, tasks)
    return (np.round(4 * x) / 4, np.round(4 * y) / 4) if coarse else (x, y)


class AgainstRliable(unittest.TestCase):
    worst = 0.0

    def check_values(self, ours, theirs, what):
        for mine, upstream in zip(ours, theirs, strict=True):
            difference = abs(mine[0] - upstream) / max(1.0, abs(upstream))
            AgainstRliable.worst = max(AgainstRliable.worst, difference)
            self.assertLessEqual(difference, 1e-12, what)

    # An interval's end is a quantile of the replicates at p. The quantile of this many random
    # replicates lies between theirs at p -+ 5 standard errors of the share p, also if many values are tied.
    def check_intervals(self, ours, replicates, what):
        count = len(replicates)
        for i, mine in enumerate(ours):
            for p, end in ((0.025, mine[1]), (0.975, mine[2])):
                slack = 5 * math.sqrt(p * (1 - p) * (1 / count + 1 / REPLICATES))
                self.assertLess(
                    slack, min(p, 1 - p), "too few replicates to see that an interval is too wide"
                )
                low, high = np.quantile(
                    [r[i] for r in replicates], (max(0, p - slack), min(1, p + slack))
                )
                self.assertGreaterEqual(end, low - 1e-12, f"{what}, number {i}, p {p}")
                self.assertLessEqual(end, high + 1e-12, f"{what}, number {i}, p {p}")

    def check(self, ours, function, scores, replicates, what):
        kept = []
        np.random.seed(5)  # rliable draws from NumPy's global generator
        values, intervals = library.get_interval_estimates(
            {"a": scores}, keeping(function, kept), reps=replicates
        )
        self.check_values(ours, values["a"], what)
        drawn = kept[-replicates:]
        np.testing.assert_allclose(
            intervals["a"], np.quantile(drawn, (0.025, 0.975), axis=0), rtol=0, atol=1e-12
        )
        self.check_intervals(ours, drawn, what)

    def test_aggregates_and_intervals(self):
        for number, case in enumerate(CASES):
            x, y = draw(case, number)
            ours = ask(x, y, [0.0])
            self.check([ours[name] for name in AGGREGATES], aggregates, x, 2500, case[0])

    # SciPy's test takes 1.6 ms, nearly all of it for a p value. The replicates count pairs instead; the
    # point estimates, here and in the next but one, are SciPy's.
    def test_probability_of_improvement(self):
        def pairs(a, b, **_):
            return np.sign(a[:, None] - b).sum() / 2 + a.size * b.size / 2, None

        def improvement(a, b):
            with unittest.mock.patch.object(scipy.stats, "mannwhitneyu", pairs):
                return np.array([metrics.probability_of_improvement(a, b)])

        for number, case in enumerate(CASES[:5]):
            x, y = draw(case, number)
            ours = ask(x, y, [0.0])
            self.assertAlmostEqual(
                improvement(x, y)[0], metrics.probability_of_improvement(x, y), delta=1e-12
            )
            self.check([ours["probability_of_improvement"]], improvement, [x, y], 1500, case[0])

    def test_profiles(self):
        for number, case in enumerate(CASES):
            x, y = draw(case, number)
            thresholds = np.sort(
                np.concatenate([np.linspace(-0.5, 2.0, 6), x[0, :2], x.mean(axis=0)[:2]])
            )
            ours = ask(x, y, thresholds)
            for key, uses_runs in (("run_profile", True), ("mean_profile", False)):
                profile = (
                    library.score_distributions
                    if uses_runs
                    else library.average_score_distributions
                )
                self.check(
                    ours[key],
                    lambda scores, profile=profile: profile(scores, thresholds),
                    x,
                    1500,
                    f"{case[0]}, {key}",
                )

    def test_points_of_many_shapes(self):
        rng = np.random.default_rng(3)
        for _ in range(200):
            runs, tasks = int(rng.integers(1, 24)), int(rng.integers(1, 8))
            x, y = draw(("", runs, int(rng.integers(1, 9)), tasks, rng.random() < 0.5), rng)
            thresholds = np.linspace(-1, 2, 13)
            ours = ask(x, y, thresholds, replicates=1)
            self.check_values([ours[name] for name in AGGREGATES], aggregates(x), f"{x.shape}")
            self.check_values(
                [ours["probability_of_improvement"]],
                [metrics.probability_of_improvement(x, y)],
                f"{x.shape} against {y.shape}",
            )
            self.check_values(
                ours["run_profile"], library.score_distributions(x, thresholds), f"{x.shape}"
            )
            self.check_values(
                ours["mean_profile"],
                library.average_score_distributions(x, thresholds),
                f"{x.shape}",
            )

    # The same samples on both sides are a special case of rliable's code.
    def test_equal_samples(self):
        x, _ = draw(CASES[2], 1)
        self.check_values(
            [ask(x, x, [0.0], 1)["probability_of_improvement"]],
            [metrics.probability_of_improvement(x, x)],
            "equal",
        )

    # A known difference: for one run rliable gives an interval without width, Broadloom none.
    def test_one_run_has_no_interval(self):
        x, y = draw(("", 1, 4, 3, False), 4)
        ours = ask(x, y, [0.0])
        values, intervals = library.get_interval_estimates({"a": x}, aggregates, reps=20)
        self.check_values([ours[name] for name in AGGREGATES], values["a"], "one run")
        np.testing.assert_allclose(intervals["a"][0], intervals["a"][1], rtol=0, atol=1e-12)
        for name in (*AGGREGATES, "probability_of_improvement"):
            self.assertEqual(ours[name][1:], [None, None], name)

    @classmethod
    def tearDownClass(cls):
        print(f"largest difference of a point estimate: {cls.worst:.3g}")


if __name__ == "__main__":
    unittest.main(verbosity=1)
