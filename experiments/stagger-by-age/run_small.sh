#!/usr/bin/env bash
# The runs on small tasks, into studies/stagger-by-age; then results/small_*.csv and the verdicts.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
folder=experiments/stagger-by-age
out=studies/stagger-by-age
mkdir -p $out
for task in CartPole-v1 Acrobot-v1 Pendulum-v1 MountainCarContinuous-v0; do
  "$broadloom" study $folder/small.toml --env_id $task --out $out/small-$task.sqlite --quiet \
    --no_report
done
python3 $folder/judge_small.py $out $folder/results
