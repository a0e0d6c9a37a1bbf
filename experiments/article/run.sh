#!/usr/bin/env bash
# The article's heat maps, cosines and noise, with controls; see README.md. Needs Python with numpy
# and gymnasium, and the module of the build. About five minutes of one core.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
folder=experiments/article
results=$folder/results
python=${PYTHON:-python3}
export PYTHONPATH=${PYTHONPATH:-build/release/python}
mkdir -p $results
article() { "$python" $folder/article.py "$@"; }
policy() {  # policy RUN ITERATION: exports that checkpoint
  "$broadloom" export "$(checkpoint "$1" "$2")" --out "$work/$1_$2.npz" --quiet
}
script() {  # script COMMAND RUN ITERATION ARGUMENTS...
  local command=$1 run=$2 iteration=$3
  shift 3
  article "$command" "$work/${run}_$iteration.npz" "$(checkpoint "$run" "$iteration")" "$@"
}
laboratory() {  # laboratory RUN ITERATION FOLDER FLAGS...
  measure "$1" "$2" "$work/$3/$1_$2.json" --threads 1 "${@:4}"
}

# 1, 2 and 4: the policies of pendulum-gradients and frozenlake-gradients.
train pendulum --env_id Pendulum-v1 --num_envs 4 --num_steps 256 --total_timesteps 1000000 \
  --normaliser gymnasium --checkpoint_interval 10 --threads 1
train lake --env_id FrozenLake8x8-v1 --num_envs 32 --num_steps 128 --total_timesteps 2000000 \
  --ent_coef 0.02 --gamma 0.995 --checkpoint_interval 20 --threads 1
for pair in "pendulum 390" "lake 80" "lake 120"; do
  policy $pair
done
for pair in "pendulum 390" "lake 80"; do
  set -- $pair
  laboratory "$1" "$2" check --study correlation,variance --shapes 16x64 --lambdas 0,0.95,1 \
    --blocks 200 --lags 1 --start_envs 512
  script check "$1" "$2" "$work/check/$1_$2.json"
  script buffers "$1" "$2" $results
done
for iteration in 80 120; do
  script noise lake $iteration
done | awk 'NR == 1 || !/^task/' >$results/noise.csv
article histograms experiments/pendulum-gradients/results/step_{399360,737280}.json \
  experiments/frozenlake-gradients/results/step_{327680,491520}.json >$results/histograms.csv

# 3: the article's 14 updates, each shape on its own run.
for shape in "4 32" "32 4"; do
  set -- $shape
  run=own_$1x$2
  train "$run" --env_id FrozenLake8x8-v1 --num_envs "$1" --num_steps "$2" --total_timesteps 192000 \
    --checkpoint_interval 100 --threads 1
  for update in {1..9}00 {11..15}00; do
    laboratory "$run" "$update" "$run" --study correlation --shapes "$1x$2" --batch 128 \
      --lambdas 0.95 --lags 1 --blocks 400 --start_envs 512
    policy "$run" "$update"
  done
done
for update in {1..9}00 {11..15}00; do
  script episodes own_4x32 "$update"
done | awk 'NR == 1 || !/^update/' >$results/episodes.csv
article updates "$work"/own_*/own_*.json >$results/updates.csv

# 5: 2 x 1024 against 1024 x 2.
train ladder experiments/gradient-ladder/pendulum.toml --normaliser gymnasium \
  --checkpoint_interval 4 --threads 1
train cartpole --env_id CartPole-v1 --checkpoint_interval 8 --threads 1
for pair in "ladder 100" "cartpole 160" "lake 80"; do
  laboratory $pair shapes --study agreement,variance --batch 2048 --shapes 2x1024,1024x2 \
    --lambdas 0,0.95,1 --blocks 150 --start_envs 512 --bias_budget 500000
done
article shapes "$work"/shapes/*.json >$results/shapes.csv
# Pendulum's critic needs more transitions than the others'.
laboratory ladder 100 shapes_3m --study agreement,variance --batch 2048 --shapes 2x1024,1024x2 \
  --lambdas 0,0.95,1 --blocks 150 --start_envs 512 --bias_budget 3000000
article shapes "$work"/shapes_3m/ladder_100.json >$results/shapes_3m.csv
