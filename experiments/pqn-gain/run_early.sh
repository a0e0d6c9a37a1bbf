#!/usr/bin/env bash
# Part two: gradients of PPO's policy and of PQN's loss early in training, on 96 policies.
# run_early.sh [SEEDS]: default 306 to 317. Stop it at any moment; the same command goes on.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
folder=experiments/pqn-gain
out=${IN:-studies/pqn-gain-early}
threads=${THREADS:-1}
mkdir -p "$out"
for seed in ${*:-$(seq 306 317)}; do
  for env in CartPole-v1 MinAtar/Breakout-v1; do
    for algorithm in ppo pqn; do
      run=$out/${env#*/}-$algorithm-$seed
      rate=()
      loss=td
      [ $algorithm = pqn ] || { rate=(--learning_rate 0.001 --lr_schedule constant); loss=policy; }
      if [ ! -f "$run/finished" ]; then
        rm -rf "$run"
        "$broadloom" train --env_id $env --algorithm $algorithm --encoder mlp --hidden_sizes 64,64 \
          --num_envs 16 --num_steps 64 --num_minibatches 16 --total_timesteps 100000 \
          --max_episode_steps 500 --seed "$seed" --threads "$threads" "${rate[@]}" \
          --checkpoint_interval 20 --keep_checkpoints 0 --no-tensorboard --quiet --ledger none \
          --out "$run"
        touch "$run/finished"
      fi
      for iteration in 20 40; do
        [ ! -f "$run/$iteration.json" ] || continue
        "$broadloom" gradients "$run/checkpoints/iteration_$(printf %010d $iteration).safetensors" \
          --loss $loss --study agreement,variance --shapes 1x1024,8x128,32x32,128x8 \
          --lambdas 0.65,0.95 --blocks 100 --bias_budget 400000 --start_envs 128 --seed "$seed" \
          --threads "$threads" --quiet --out "$run/measured"
        mv "$run/measured/gradients.json" "$run/$iteration.json"
        rm -r "$run/measured"
      done
      echo "$env $algorithm seed $seed"
    done
  done
done
python3 $folder/analyse_early.py "$out" $folder/results
