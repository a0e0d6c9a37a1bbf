#!/usr/bin/env bash
# Trains the runs into studies/changing-blocks, and writes results/ and the verdicts. Stop it at any
# moment; the same command goes on where it was. run.sh SEEDS makes those seeds (default 71-82).
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
folder=experiments/changing-blocks
out=studies/changing-blocks
mkdir -p $out $folder/results
for seeds in ${*:-71-74 71-78 71-82}; do
  for task in CartPole-v1 Pendulum-v1 Acrobot-v1 FrozenLake8x8-v1 MountainCarContinuous-v0; do
    for study in one four; do
      "$broadloom" study $folder/$study.toml --env_id $task --out $out/$study-$task.sqlite \
        --seeds $seeds --quiet --no_report
    done
  done
done
python3 $folder/judge.py $out $folder/results
