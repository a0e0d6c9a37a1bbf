#!/usr/bin/env bash
# PQN with CleanRL's settings on three tasks, ten seeds each; a minute on two cores.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
"$broadloom" study experiments/pqn/study.toml --out studies/pqn.sqlite --no_report --quiet
python3 experiments/pqn/analyse.py studies/pqn.sqlite experiments/pqn/results
