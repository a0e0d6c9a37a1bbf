#!/usr/bin/env bash
# Trains the runs into studies/long-budgets, and writes results/ and the verdicts. Stop it at any
# moment; the same command goes on where it was. run.sh SEEDS... makes those, such as 101-104.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
folder=experiments/long-budgets
out=studies/long-budgets
mkdir -p $out $folder/results
for seeds in ${*:-101-102 101-103 101-104 101-105 101-106}; do
  for task in CartPole-v1 Acrobot-v1 Pendulum-v1; do
    for study in constant annealed; do
      "$broadloom" study $folder/$study.toml --env_id $task --out $out/$study-$task.sqlite \
        --seeds $seeds --quiet --no_report
    done
  done
done
python3 $folder/analyse.py $out $folder/results
