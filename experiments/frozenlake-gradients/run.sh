#!/usr/bin/env bash
# The settings of the article's FrozenLake version: 8x8, slippery, 4 x 32 against 32 x 4, sampled
# and solved, for eight T and three lambdas, at an early, a middle and a late checkpoint. About two
# minutes on 2 cores.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
results=experiments/frozenlake-gradients/results
train lake --env_id FrozenLake8x8-v1 --num_envs 32 --num_steps 128 --total_timesteps 2000000 --ent_coef 0.02 \
  --gamma 0.995 --checkpoint_interval 20
for iteration in 80 120 480; do
  measure lake $iteration $results/step_$((iteration * 4096)).json --study agreement,correlation,exact --batch 128 \
    --lambdas 0,0.95,1 --lags 1,3,5,10,20 --blocks 2000 --bias_budget 4000000
done
python3 experiments/tables.py $results/step_327680.json $results/step_491520.json $results/step_1966080.json >$results/tables.md
