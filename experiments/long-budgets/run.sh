#!/usr/bin/env bash
# Trains the runs into studies/long-budgets, adds them to results/ and writes the verdicts. Stop it
# at any moment; the same command goes on where it was. run.sh SEEDS makes those (default 101-108).
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
folder=experiments/long-budgets
out=studies/long-budgets
mkdir -p $out $folder/results
for study in constant annealed middle annealed_long; do
  for task in CartPole-v1 Pendulum-v1 Acrobot-v1; do
    "$broadloom" study $folder/$study.toml --env_id $task --seeds ${1:-101-108} \
      --out $out/$study-$task.sqlite --quiet --no_report
    python3 $folder/analyse.py $out $folder/results
  done
done
