#!/usr/bin/env bash
# Gradients of PPO's policy and critic and of PQN's loss, at equal samples and N of 1 to 128, on 20
# policies. run.sh [SEEDS]: default 301 to 305. Stop it at any moment; the same command goes on.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
folder=experiments/pqn-gain
out=${IN:-studies/pqn-gain}
threads=${THREADS:-1}
mkdir -p "$out"
for seed in ${*:-301 302 303 304 305}; do
  for env in CartPole-v1 MinAtar/Breakout-v1; do
    for algorithm in ppo pqn; do
      run=$out/${env#*/}-$algorithm-$seed
      rate=()
      losses=td
      [ $algorithm = pqn ] || { rate=(--learning_rate 0.001); losses="policy value"; }
      if [ ! -f "$run/finished" ]; then
        rm -rf "$run"
        "$broadloom" train --env_id $env --algorithm $algorithm --encoder mlp --hidden_sizes 64,64 \
          --num_envs 16 --num_steps 64 --num_minibatches 16 --total_timesteps 100000 \
          --max_episode_steps 500 --seed "$seed" --threads "$threads" "${rate[@]}" \
          --no-tensorboard --quiet --ledger none --out "$run"
        touch "$run/finished"
      fi
      for loss in $losses; do
        [ ! -f "$run/$loss.json" ] || continue
        "$broadloom" gradients "$run" --loss $loss --study agreement,variance \
          --shapes 1x1024,8x128,32x32,128x8 --lambdas 0.65,0.95 --blocks 100 \
          --bias_budget 200000 --start_envs 128 --seed "$seed" --threads "$threads" --quiet \
          --out "$run/measured"
        mv "$run/measured/gradients.json" "$run/$loss.json"
        rm -r "$run/measured"
      done
      echo "$env $algorithm seed $seed"
    done
  done
done
python3 $folder/analyse.py "$out" $folder/results
