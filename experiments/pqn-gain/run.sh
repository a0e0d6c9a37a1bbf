#!/usr/bin/env bash
# Gradients of PPO's policy and critic and of PQN's loss, at equal samples and N of 1 to 128, on 20
# policies. run.sh [SEEDS]: default 301 to 305. Stop it at any moment; the same command goes on.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
out=${IN:-studies/pqn-gain}
ppo=(--learning_rate 0.001)
training=()
measure_run() {
  losses=td
  [ $algorithm = pqn ] || losses="policy value"
  for loss in $losses; do gradients "$run" $loss 200000 $loss; done
}
make_runs ${*:-301 302 303 304 305}
python3 $folder/analyse.py "$out" $folder/results
