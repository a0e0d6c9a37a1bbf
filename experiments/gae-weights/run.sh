#!/usr/bin/env bash
# Trains the runs into studies/gae-weights, and writes results/ and the verdicts. Stop it at any
# moment; the same command goes on where it was. run.sh SEEDS... makes those (default 401-404, then
# 401-408). PYTHON names a Python with Broadloom and gymnasium[box2d], for LunarLander; without it
# that task is left out.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
folder=experiments/gae-weights
out=studies/gae-weights
mkdir -p $out $folder/results
for seeds in ${*:-401-404 401-408}; do
  for task in CartPole-v1 Acrobot-v1 Pendulum-v1; do
    "$broadloom" study $folder/study.toml --env_id $task --out $out/$task.sqlite \
      --seeds $seeds --quiet --no_report
  done
  if [ -n "${PYTHON:-}" ]; then
    "$PYTHON" -m broadloom study $folder/lander.toml --out $out/LunarLander-v3.sqlite \
      --seeds $seeds --quiet --no_report
  fi
done
python3 $folder/judge.py $out $folder/results
