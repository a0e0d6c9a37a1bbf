#!/usr/bin/env bash
# Trains the runs into studies/proximal-policy, and writes results/ and the verdicts. Stop it at any
# moment; the same command goes on where it was. run.sh SEEDS... makes those, such as 201-204.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
folder=experiments/proximal-policy
out=studies/proximal-policy
mkdir -p $out $folder/results
for seeds in ${*:-201-204 201-205 201-206}; do
  for task in CartPole-v1 Pendulum-v1; do
    for study in ppo proximal scaled; do
      "$broadloom" study $folder/$study.toml --env_id $task --out $out/$study-$task.sqlite \
        --seeds $seeds --quiet --no_report
    done
  done
done
python3 $folder/judge.py $out $folder/results
python3 $folder/without_seeds.py
