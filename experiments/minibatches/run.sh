#!/usr/bin/env bash
# Trains the runs into studies/minibatches, and writes results/ and the verdicts. Stop it at any
# moment; the same command goes on where it was. run.sh SEEDS makes those seeds (default 51-58).
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
folder=experiments/minibatches
out=studies/minibatches
mkdir -p $out $folder/results
study() {  # study FILE TASK FLAGS...
  local file=$1 task=$2
  shift 2
  "$broadloom" study $folder/$file.toml --env_id $task --out $out/$file-$task.sqlite --quiet \
    --no_report "$@"
}
for seeds in ${*:-51-54 51-58}; do
  study shuffle CartPole-v1 --seeds $seeds
  study shuffle Pendulum-v1 --normaliser gymnasium --seeds $seeds
  study shuffle FrozenLake8x8-v1 --shapes 4x256,64x16 --seeds $seeds
  study pqn CartPole-v1 --seeds $seeds
  study pqn Acrobot-v1 --seeds $seeds
done
python3 $folder/judge.py $out $folder/results
