#!/usr/bin/env python3
"""The model of bench/scaling: sums, limits, and that its page says what it gives."""
import importlib.util
import math
import os
import re
import statistics
import sys
import tempfile
import unittest

SOURCE = os.path.abspath(sys.argv.pop(1))
FOLDER = os.path.join(SOURCE, "bench", "scaling")
sys.dont_write_bytecode = True
spec = importlib.util.spec_from_file_location("model", os.path.join(FOLDER, "model.py"))
model = importlib.util.module_from_spec(spec)
sys.modules["model"] = model
spec.loader.exec_module(model)

SLOW = model.Network(latency=1e-3, bandwidth=1e6, overhead=1e-4)


def constant(file, name, pattern=r"(\d+)"):
    with open(os.path.join(SOURCE, file), encoding="utf-8") as text:
        return int(re.search(rf"{name} = {pattern};", text.read()).group(1))


class Model(unittest.TestCase):
    def setUp(self):
        self.cases = model.read_cases()
        with open(os.path.join(FOLDER, "README.md"), encoding="utf-8") as page:
            self.page = page.read()

    def test_one_thread_is_what_was_measured(self):
        for file in ("threads.csv", "cases.csv"):
            for case, row in model.read_cases(file).values():
                self.assertAlmostEqual(case.batch / model.foretell(case, model.Machine()).seconds / float(row["steps_1"]), 1.0, places=9)

    def test_the_page_says_what_it_gives(self):
        slow = model.CLUSTERS["10 Gbit/s, 30 us"]
        for table in (model.threads_table(), model.ranks_table(), model.messages_table(), model.foretold_table(model.CLUSTER), model.foretold_table(slow),
                      model.changes_table(model.CLUSTER), model.grown_table(model.CLUSTER)):
            self.assertIn("\n".join(table), self.page)
        with tempfile.TemporaryDirectory() as folder:
            model.write_figure_data(os.path.join(folder, "foretold.csv"))
            with open(os.path.join(folder, "foretold.csv"), encoding="utf-8") as now, open(os.path.join(FOLDER, "foretold.csv"), encoding="utf-8") as kept:
                self.assertEqual(now.read(), kept.read())

    def test_the_error_of_two_threads_is_small(self):
        self.assertEqual(len(self.cases), 7)
        for name, (case, row) in self.cases.items():
            foretold = case.batch / model.foretell(case, model.Machine(), threads=2).seconds
            self.assertLess(abs(foretold / float(row["steps_2"]) - 1), 0.1, name)
            # Twice the speed of one thread, which is the simplest thing to say, is further off.
            self.assertLess(abs(foretold - float(row["steps_2"])), abs(2 * float(row["steps_1"]) - float(row["steps_2"])), name)

    def test_the_error_of_ranks_is_what_the_page_says(self):
        errors = {(row[0], row[1]): row[7] / row[3] - 1 for row in model.ranks_rows()}
        self.assertEqual(len(errors), 36)
        size = {key: abs(error) for key, error in errors.items()}
        far = [error for (_, network), error in size.items() if not network.startswith("here")]
        self.assertIn(f"off by {100 * statistics.median(size.values()):.0f} % (median) and by {100 * max(size.values()):.0f} % at most", self.page)
        self.assertIn(f"Over the slow networks the median error is {100 * statistics.median(far):.0f} %", self.page)

    def test_constants_are_those_of_the_program(self):
        self.assertEqual(model.TILE_ROWS, constant("broadloom/nn/layer.h", "kTileRows"))
        places = {"kUsualPartialGradients": "cc", "kMostPartialGradients": "h", "kLeastTilesOfMore": "cc"}
        cut = [constant(f"broadloom/learn/gradient_cut.{ending}", name) for name, ending in places.items()]
        self.assertEqual([model.USUAL_PARTIALS, model.MOST_PARTIALS, model.LEAST_TILES], cut)
        self.assertEqual([model.partial_gradients(samples, 9000) for samples in (64, 1024, 8192, 32768, 65536, 10**6)], [1, 8, 16, 32, 64, 64])
        self.assertEqual(model.CACHED_PARAMETERS, constant("broadloom/learn/gradient_cut.h", "kCachedParameters"))
        self.assertEqual(model.SENT_WHOLE, 1024 * constant("broadloom/learn/rank_sums.cc", "kSentWhole", r"(\d+) \* 1024"))
        self.assertEqual(model.MOST_BYTES, constant("broadloom/core/exchange.h", "kMostBytes", r"std::size_t\{(\d+)\} << 20") << 20)
        self.assertEqual(model.NOTE_BYTES, 16 * constant("broadloom/setup/rank_plan.cc", "kNoteBytes", r"2 \* (\d+) \* sizeof\(double\)"))

    def test_runs_are_powers_of_two(self):
        self.assertEqual([model.run_length(16, ranks) for ranks in (1, 2, 3, 4, 5, 8, 16, 100)], [16, 8, 8, 4, 4, 2, 1, 1])

    def test_exchanges_by_hand(self):
        self.assertEqual(SLOW.exchange(1, 1000), 0.0)
        self.assertAlmostEqual(SLOW.exchange(2, 1000), 1e-3 + 1e-3)
        # Four ranks send three messages of 1,000 bytes each, two of which cost time of a core.
        self.assertAlmostEqual(SLOW.exchange(4, 1000), 1e-3 + 2e-4 + 3e-3)
        self.assertAlmostEqual(model.replace(SLOW, doubling=True).exchange(4, 1000), 2e-3 + 3e-3)
        measured = model.Network(measured={2: [(8, 1.0), (108, 2.0), (208, 4.0)]})
        self.assertEqual([measured.exchange(2, size) for size in (0, 8, 58, 108, 158, 308)], [1.0, 1.0, 1.5, 2.0, 3.0, 6.0])

    def test_messages_above_64_kb_are_asked_for(self):
        self.assertAlmostEqual(SLOW.exchange(2, 1 << 16), 1e-3 + 65536e-6)
        self.assertAlmostEqual(SLOW.exchange(2, 100_000), 3e-3 + 0.1)

    def test_only_ranks_with_shards_send(self):
        """64 environments are four shards: of eight ranks four send a quarter of 64 x 64 transitions of 20 bytes to seven others, in one chunk; of two each a half."""
        case, free = model.replace(self.cases["pendulum_64_k4"][0], row_bytes=20.0), model.Machine(memory=math.inf)
        self.assertEqual(model.shard_count(64), 4)
        few = model.FEW_BYTES_EXCHANGES
        for ranks, senders in ((8, 4), (2, 2)):
            expected = SLOW.exchange(ranks, 64 * 64 * 20.0 / senders) + few * SLOW.exchange(ranks, 64)
            self.assertAlmostEqual(model.exchange(ranks, case, SLOW, free), expected)
        # A line of 16 MB is two chunks: of its 16,384 shards 32 ranks have some each, and half of them fill a chunk.
        large = model.replace(case, num_envs=1 << 20, num_steps=1, row_bytes=16.0)
        expected = 2 * SLOW.exchange(32, (8 << 20) / 16) + few * SLOW.exchange(32, 64)
        self.assertAlmostEqual(model.exchange(32, large, SLOW, free), expected)

    def test_reductions_by_hand(self):
        free = model.Machine(memory=math.inf)
        small, large = (model.replace(self.cases["pendulum_64_k4"][0], parameters=count) for count in (1000, 10**6))
        self.assertEqual(model.reduction(1, small, 16, SLOW, free), 0.0)
        # Two nodes of 4,000 bytes go whole, with the notes of eight partial gradients.
        self.assertAlmostEqual(model.reduction(2, small, 16, SLOW, free), 1e-3 + (4000 + 8 * 192) * 1e-6)
        # Of 4 MB each of two ranks adds a half and sends it.
        self.assertAlmostEqual(model.reduction(2, large, 16, SLOW, free), 1e-3 + 8 * 192e-6 + 2 * (3e-3 + 2.0))

    def test_parts_go_where_they_must(self):
        free = model.Machine(memory=math.inf)
        for name, (case, _) in self.cases.items():
            times = [model.foretell(case, free, ranks=ranks).seconds for ranks in (1, 2, 4, 8, 16, 1024)]
            self.assertEqual(times, sorted(times, reverse=True), name)
            partials = model.partial_gradients(case.minibatch_size, case.parameters)
            end = model.foretell(case, free, ranks=10**6)
            self.assertGreaterEqual(end.gradient, model.foretell(case, free).gradient / partials * (1 - 1e-12))
            self.assertGreater(end.alone, 0.0)
            far = model.foretell(case, free, ranks=16, network=SLOW)
            self.assertAlmostEqual(far.reduction, case.update_epochs * case.minibatches * model.reduction(16, case, partials, SLOW, free))
            self.assertGreater(far.seconds, model.foretell(case, free, network=SLOW).seconds)
            self.assertTrue(math.isfinite(far.seconds))
            # Ranks that share one core gain nothing.
            shared = model.foretell(case, model.Machine(cores=1), ranks=4)
            self.assertGreaterEqual(shared.seconds, model.foretell(case, model.Machine()).seconds * (1 - 1e-9))

    def test_what_was_not_measured_is_called_foretold(self):
        for table in (model.foretold_table, model.changes_table, model.grown_table):
            self.assertIn("foretold", table(model.CLUSTER)[0])


if __name__ == "__main__":
    unittest.main()
