#!/usr/bin/env bash
# Studies of the block's shape: run.sh runs all of them, run.sh NAME... those. Their stores go to
# studies/batch-shape, and what is kept of them to results/. Stop it at any moment; the same command
# goes on where it was.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
folder=experiments/batch-shape
names=("$@")
[ ${#names[@]} -gt 0 ] || names=(ladder_synchronised ladder_staggered doubled_minibatch_count doubled_minibatch_size \
  doubled_gradient_steps trend_minibatch_count trend_gradient_steps epochs encoders_minibatch_count \
  encoders_gradient_steps encoders_norm_reward learning_rate lambda gamma optimiser \
  health_curves)
for name in "${names[@]}"; do
  store=studies/batch-shape/$name.sqlite
  "$broadloom" study $folder/$name.toml --out "$store" --no_report
  reports=()
  for task in $(sed -n 's/^env_id = "\(.*\)"/\1/p' $folder/$name.toml); do
    "$broadloom" report "$store" --task $task --out "$work/$name/$task" --quiet
    reports+=("$work/$name/$task/study.json")
  done
  python3 $folder/results.py $folder/results/$name "$store" "${reports[@]}"
done
