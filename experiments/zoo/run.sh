#!/usr/bin/env bash
# Trains the zoo: ten seeds of each small task, about ten minutes of one core. Writes seeds.csv and
# results.csv. run.sh TASK... trains these tasks alone. A task is trained again only if its settings
# have changed; JOBS=4 trains four seeds at once. Rows of MinAtar and MuJoCo come from the kept runs
# of experiments/minatar, experiments/mujoco and experiments/quadruped.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
python3 experiments/zoo/make.py "$broadloom" "$scratch" "$@"
