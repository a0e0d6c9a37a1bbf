# Shared by both parts. A script sets `out`, the flags `ppo` and `training`, and measure_run.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
folder=experiments/pqn-gain
threads=${THREADS:-1}

# make_runs SEED...: a run of each algorithm on each task, and what measure_run makes of it.
make_runs() {
  mkdir -p "$out"
  for seed in "$@"; do
    for env in CartPole-v1 MinAtar/Breakout-v1; do
      for algorithm in ppo pqn; do
        run=$out/${env#*/}-$algorithm-$seed
        rate=("${ppo[@]}")
        [ $algorithm = ppo ] || rate=()
        if [ ! -f "$run/finished" ]; then
          rm -rf "$run"
          "$broadloom" train --env_id $env --algorithm $algorithm --encoder mlp \
            --hidden_sizes 64,64 --num_envs 16 --num_steps 64 --num_minibatches 16 \
            --total_timesteps 100000 --max_episode_steps 500 --seed "$seed" --threads "$threads" \
            "${rate[@]}" "${training[@]}" --no-tensorboard --quiet --ledger none --out "$run"
          touch "$run/finished"
        fi
        measure_run
        echo "$env $algorithm seed $seed"
      done
    done
  done
}

# gradients POLICY LOSS BUDGET NAME: the laboratory on a policy of the run; keeps NAME.json there.
gradients() {
  [ ! -f "$run/$4.json" ] || return 0
  "$broadloom" gradients "$1" --loss "$2" --study agreement,variance \
    --shapes 1x1024,8x128,32x32,128x8 --lambdas 0.65,0.95 --blocks 100 --bias_budget "$3" \
    --start_envs 128 --seed "$seed" --threads "$threads" --quiet --out "$run/measured"
  mv "$run/measured/gradients.json" "$run/$4.json"
  rm -r "$run/measured"
}
