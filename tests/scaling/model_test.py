#!/usr/bin/env python3
"""The model of bench/scaling: sums, limits, and that its page says what it gives."""
import importlib.util
import math
import os
import re
import sys
import unittest

SOURCE = os.path.abspath(sys.argv.pop(1))
FOLDER = os.path.join(SOURCE, "bench", "scaling")
sys.dont_write_bytecode = True
spec = importlib.util.spec_from_file_location("model", os.path.join(FOLDER, "model.py"))
model = importlib.util.module_from_spec(spec)
sys.modules["model"] = model
spec.loader.exec_module(model)

SLOW = model.Machine(latency=1e-3, bandwidth=1e6)


def constant(file, name):
    with open(os.path.join(SOURCE, file), encoding="utf-8") as text:
        return int(re.search(rf"{name} = (\d+);", text.read()).group(1))


class Model(unittest.TestCase):
    def setUp(self):
        self.cases = model.read_cases()

    def test_one_thread_is_what_was_measured(self):
        for case, steps, _ in self.cases:
            self.assertAlmostEqual(case.batch / model.foretell(case, model.Machine()).seconds / steps, 1.0, places=9)

    def test_the_error_of_two_threads_is_what_the_page_says(self):
        self.assertEqual(len(self.cases), 7)
        with open(os.path.join(FOLDER, "README.md"), encoding="utf-8") as page:
            self.assertIn("\n".join(model.threads_table(self.cases, model.Machine())), page.read())
        for case, _, two in self.cases:
            foretold = case.batch / model.foretell(case, model.Machine(), threads=2).seconds
            self.assertLess(abs(foretold / two - 1), 0.1, case.name)

    def test_it_knows_more_than_half_the_time(self):
        """Twice the speed of one thread, which is the simplest thing to say, is further off for each case."""
        for case, one, two in self.cases:
            foretold = case.batch / model.foretell(case, model.Machine(), threads=2).seconds
            self.assertLess(abs(foretold - two), abs(2 * one - two), case.name)

    def test_constants_are_those_of_the_program(self):
        self.assertEqual(model.TILE_ROWS, constant("broadloom/nn/layer.h", "kTileRows"))
        cut = [constant("broadloom/algo/gradient_cut.cc", name) for name in ("kUsualPartialGradients", "kMostPartialGradients", "kLeastTilesOfMore")]
        self.assertEqual([model.USUAL_PARTIALS, model.MOST_PARTIALS, model.LEAST_TILES], cut)
        self.assertEqual([model.partial_gradients(samples, 9000) for samples in (64, 1024, 8192, 32768, 65536, 10**6)], [1, 8, 16, 32, 64, 64])
        self.assertEqual(model.CACHED_PARAMETERS, constant("broadloom/algo/gradient_cut.h", "kCachedParameters"))

    def test_reductions_by_hand(self):
        self.assertEqual(model.all_reduce(1, 1000, SLOW), 0.0)
        # Two ranks: one message of 4,000 bytes each way, or two of half.
        self.assertAlmostEqual(model.all_reduce(2, 1000, SLOW), 1e-3 + 4e-3)
        # Eight ranks and a large vector: halving moves 2 x 7/8 of it, doubling three times all of it.
        self.assertAlmostEqual(model.all_reduce(8, 10**6, SLOW), 6e-3 + 2 * 7 / 8 * 4.0)
        self.assertAlmostEqual(model.all_gather(4, 1000, SLOW), 2e-3 + 0.75e-3)

    def test_parts_go_where_they_must(self):
        free = model.Machine()
        for case, _, _ in self.cases:
            times = [model.foretell(case, free, ranks=ranks).seconds for ranks in (1, 2, 4, 8, 16, 1024)]
            self.assertEqual(times, sorted(times, reverse=True), case.name)
            partials = model.partial_gradients(case.minibatch_size, case.parameters)
            end = model.foretell(case, free, ranks=10**6)
            self.assertGreaterEqual(end.gradient, model.foretell(case, free).gradient / partials * (1 - 1e-12))
            self.assertGreater(end.alone, 0.0)
            far = model.foretell(case, SLOW, ranks=16)
            steps = case.update_epochs * case.minibatches
            self.assertAlmostEqual(far.reduction, steps * model.all_reduce(16, case.parameters, SLOW))
            self.assertGreater(far.seconds, model.foretell(case, SLOW).seconds)
            self.assertTrue(math.isfinite(far.seconds))

    def test_what_was_not_measured_is_called_foretold(self):
        self.assertIn("foretold", model.ranks_table(self.cases, model.Machine(), [1, 2])[0])


if __name__ == "__main__":
    unittest.main()
