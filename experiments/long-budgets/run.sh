#!/usr/bin/env bash
# Trains the runs into studies/long-budgets, and writes results/ and the verdicts. Stop it at any
# moment; the same command goes on where it was.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
folder=experiments/long-budgets
out=studies/long-budgets
mkdir -p $out $folder/results
for task in CartPole-v1 Pendulum-v1 Acrobot-v1; do
  "$broadloom" study $folder/constant.toml --env_id $task --out $out/constant-$task.sqlite \
    --quiet --no_report
done
python3 $folder/analyse.py $out $folder/results
