#!/usr/bin/env python3
"""together.py: the last policies of two shapes of the ladder over three tasks in one test.

Shares of pairs are averaged over tasks; the test deals the runs of each task anew. It prints what
README.md says of 8 x 128 against 1 x 1024, and how many such tests there are.
"""

import itertools
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[0] = str(HERE.parent)  # this folder's numbers.py would hide the library's
from rows import dealt  # noqa: E402

sys.path.insert(0, str(HERE))
from arms import runs  # noqa: E402

SHAPES = ["1x1024", "2x512", "4x256", "8x128", "16x64"]
TASKS = ["CartPole-v1", "Acrobot-v1", "Pendulum-v1"]


def main():
    found = {}
    for starts in ("synchronised", "staggered"):
        scores = runs(f"ladder_{starts}", "evaluation")
        for a, b in itertools.combinations(SHAPES, 2):
            found[starts, a, b] = dealt([(scores[task, a], scores[task, b]) for task in TASKS])
    least = min(found, key=lambda test: found[test][1])
    assert least == ("staggered", "1x1024", "8x128") and len(found) == 20, found
    share, p = found[least]
    lines = (
        f"8 x 128, staggered, is ahead of 1 x 1024 in {1 - share:.2f} of the pairs",
        f"p of {p:.2f} is the least of twenty such tests",
    )
    for line in lines:
        print(line.replace("0.", "."))


if __name__ == "__main__":
    main()
