#!/usr/bin/env bash
# Trains the runs into studies/long-budgets, and writes results/ and the verdicts. Stop it at any
# moment; the same command goes on where it was.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
folder=experiments/long-budgets
out=studies/long-budgets
mkdir -p $out $folder/results
make() {  # STUDY TASK SEEDS
  "$broadloom" study $folder/$1.toml --env_id $2 --seeds $3 --out $out/$1-$2.sqlite \
    --quiet --no_report
}
make constant CartPole-v1 101-102
make short CartPole-v1 103-104
for task in Pendulum-v1 Acrobot-v1; do
  make constant $task 101-104
done
python3 $folder/analyse.py $out $folder/results
