#!/usr/bin/env bash
# Agreement, variance, bias and correlation for every factorisation of B = 1024, on Pendulum and
# CartPole, at an early, a middle and a late checkpoint. About ten minutes on 2 cores.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
results=experiments/gradient-ladder/results
flags=(--batch 1024 --lambdas 0,0.95,1 --lags 1,5,20,100 --bias_budget 8000000)
train pendulum experiments/gradient-ladder/pendulum.toml --checkpoint_interval 4
for iteration in 24 100 488; do
  measure pendulum $iteration $results/pendulum_$((iteration * 2048)).json "${flags[@]}"
done
train cartpole --env_id CartPole-v1 --checkpoint_interval 8
for iteration in 40 160 976; do
  measure cartpole $iteration $results/cartpole_$((iteration * 512)).json "${flags[@]}"
done
python3 experiments/tables.py $results/pendulum_{49152,204800,999424}.json $results/cartpole_*.json >$results/tables.md
# Only policies whose true gradient can be told from zero.
kept=($results/pendulum_{49152,204800}.json $results/cartpole_{20480,81920}.json
  experiments/frozenlake-gradients/results/step_{327680,491520,1966080}.json)
python3 experiments/gradient-ladder/agreement.py "${kept[@]}" >$results/agreement.csv
python3 experiments/gradient-ladder/agreement.py --best $results/agreement.csv >$results/best_lambda.csv
python3 experiments/figures.py experiments/gradient-ladder/figure_agreement.toml  # with matplotlib
