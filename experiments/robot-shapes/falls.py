#!/usr/bin/env python3
"""falls.py RESULTS: the share of HalfCheetahs that lie on their backs after so many uniformly random actions, to RESULTS/falls.csv. Needs gymnasium 1.4.0 with MuJoCo, glfw and imageio."""

import math
import sys
from pathlib import Path

import gymnasium
import numpy

sys.path.append(str(Path(__file__).resolve().parent.parent))
from rows import write  # noqa: E402

ROBOTS, MARKS = 60, (50, 100, 200, 400, 700, 1000)
random = numpy.random.default_rng(0)
env = gymnasium.make("HalfCheetah-v5")
fallen = dict.fromkeys(MARKS, 0)
for robot in range(ROBOTS):
    env.reset(seed=robot)
    for step in range(1, MARKS[-1] + 1):
        pitch = env.step(random.uniform(-1, 1, 6).astype(numpy.float32))[0][
            1
        ]  # of the trunk, in whole turns, too
        if step in fallen:
            fallen[step] += math.cos(pitch) < 0
write(
    Path(sys.argv[1]) / "falls.csv",
    ["steps", "robots", "on_their_backs"],
    [(step, ROBOTS, count / ROBOTS) for step, count in fallen.items()],
)
