#!/usr/bin/env bash
# The settings of the article on parallel environments and rollout steps (Pendulum version): 4 x 256
# against 16 x 64, lambda 0, 0.95 and 1, at its three checkpoints; and its lag curve over 20
# checkpoints. About two minutes on 2 cores.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
results=experiments/pendulum-gradients/results
train pendulum --env_id Pendulum-v1 --num_envs 4 --num_steps 256 --total_timesteps 1000000 --checkpoint_interval 10
for iteration in 390 440 720; do
  measure pendulum $iteration $results/step_$((iteration * 1024)).json --shapes 4x256,16x64 --lambdas 0,0.95,1 \
    --lags 1,3,5,7,10,20,40,50 --bias_budget 8000000
done
for iteration in $(seq 40 40 800); do
  measure pendulum $iteration "$work/curve/$iteration.json" --study correlation --shapes 4x256 --lambdas 0,0.95,1 \
    --lags 1,5,10,20 --blocks 100
done
python3 experiments/lag_curve.py "$work"/curve/*.json >$results/lag_curve.csv
python3 experiments/tables.py $results/step_*.json >$results/tables.md
