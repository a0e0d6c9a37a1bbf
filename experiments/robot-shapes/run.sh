#!/usr/bin/env bash
# The effect of the block's shape on a robot: some five hours of one core. Needs a build with MuJoCo
# (docs/envs/MuJoCo.md).
# run.sh STAGE...: some of "screen choose final screen_quadruped choose_quadruped final_quadruped
# families laboratory phases phases_more keep", by default all of them, in that order. The studies
# go on where they were stopped. FLAT: the run of experiments/quadruped's first stage, whose policy
# the families begin with. JOBS: runs of a study at once, and threads of single runs.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
folder=experiments/robot-shapes
stores=studies/robot-shapes
results=$folder/results
quadruped=(--total_timesteps 1000000 --minibatch_size 1024 --eval_episodes 5)
study() { "$broadloom" study "$folder/$1.toml" --out "$stores/$1.sqlite" --no_report --quiet ${JOBS:+--jobs "$JOBS"} "${@:2}"; }

families() {
  local of seed run
  for seed in 1 2 3; do
    for of in 1 8 128; do
      run=$stores/families/${of}_$seed
      [ ! -f "$run/ledger_line.json" ] || continue
      rm -rf "$run"
      "$broadloom" train configs/quadruped_terrain.toml --init "${FLAT:?FLAT=RUN, a run of configs/quadruped.toml}" --seed_families "$of" --seed "$seed" --total_timesteps 1000000 \
        --threads "${JOBS:-2}" --panel experiments/quadruped/ground.toml --no-tensorboard --quiet --out "$run"
    done
  done
}

# laboratory NAME SHAPES CONFIG FLAGS...: a run, and its gradient at a tenth, two fifths and all of
# its steps.
laboratory() {
  local name=$1 shapes=$2 share iteration
  shift 2
  [ -f "$stores/laboratory/$name/ledger_line.json" ] || rm -rf "$stores/laboratory/$name"
  [ -d "$stores/laboratory/$name" ] || "$broadloom" train "$@" --stagger_starts --stagger_by actions --seed 21 --keep_checkpoints 0 --checkpoint_interval 1 --threads "${JOBS:-2}" --no-tensorboard --quiet --out "$stores/laboratory/$name"
  work=$stores/laboratory
  local last
  last=$(ls "$work/$name/checkpoints" | sed -n 's/^iteration_0*\([0-9]*\)\.safetensors$/\1/p' | sort -n | tail -1)
  for share in 10 40 100; do
    iteration=$((last * share / 100))
    [ ! -f "$results/gradients_${name}_$share.json" ] || continue
    measure "$name" "$iteration" "$results/gradients_${name}_$share.json" --study agreement --shapes "$shapes" --lambdas 0.95 --blocks 120 --start_envs 128 --bias_budget 1000000 --threads "${JOBS:-2}"
  done
}

mkdir -p "$stores/families" "$stores/laboratory"
stages=("$@")
[ ${#stages[@]} -gt 0 ] || stages=(screen choose final screen_quadruped choose_quadruped final_quadruped families laboratory phases phases_more keep)
case " ${stages[*]} " in *" families "*) : "${FLAT:?FLAT=RUN, a run of configs/quadruped.toml}" ;; esac
for stage in "${stages[@]}"; do
  case $stage in
    screen | final | phases | phases_more) study "$stage" ;;
    screen_quadruped | final_quadruped) study "$stage" "${quadruped[@]}" ;;
    choose) python3 "$folder/choose.py" robots "$stores/screen.sqlite" ;;
    choose_quadruped) python3 "$folder/choose.py" quadruped "$stores/screen_quadruped.sqlite" ;;
    families) families ;;
    laboratory)
      for task in Hopper HalfCheetah; do
        laboratory "$task" 1x2048,8x256,32x64,128x16,512x4 configs/mujoco.toml --env_id "$task-v5" --total_timesteps 500000
      done
      laboratory Quadruped 4x512,32x64,256x8 configs/quadruped.toml --total_timesteps 1000000 ;;
    keep) python3 "$folder/analyse.py" keep "$stores" "$results" && python3 "$folder/analyse.py" judge "$results" ;;
    *) echo "no stage '$stage'" >&2; exit 2 ;;
  esac
done
