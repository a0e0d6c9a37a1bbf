#!/usr/bin/env bash
# Part two: gradients of PPO's policy and of PQN's loss early in training, on 96 policies.
# run_early.sh [SEEDS]: default 306 to 317. Stop it at any moment; the same command goes on.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
out=${IN:-studies/pqn-gain-early}
ppo=(--learning_rate 0.001 --lr_schedule constant)
training=(--checkpoint_interval 20 --keep_checkpoints 0)
measure_run() {
  loss=td
  [ $algorithm = pqn ] || loss=policy
  for iteration in 20 40; do
    gradients "$run/checkpoints/iteration_$(printf %010d $iteration).safetensors" $loss 400000 \
      $iteration
  done
}
make_runs ${*:-$(seq 306 317)}
python3 $folder/analyse_early.py "$out" $folder/results
