#!/usr/bin/env bash
# Seed families against held-out success: run.sh [SEEDS] (default 20). Families 1, 8, 128 and N =
# 512, narrow and wide strata, on CartPole-v1 and Pendulum-v1. Runs and their ledger go to
# studies/seed-families, what is kept to results/. Stop it at any moment; the same command goes on
# where it was, and a larger number of seeds adds to it.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
folder=experiments/seed-families
runs=studies/seed-families
mkdir -p "$runs"

declare -A strata=(
  [CartPole-v1-narrow]="--strata.train.half_length 0.4..0.6 --strata.train.force 9..11"
  [CartPole-v1-wide]="--strata.train.half_length 0.1..2 --strata.train.force 5..15"
  [Pendulum-v1-narrow]="--strata.train.gravity 9.5..10.5 --strata.train.mass 0.95..1.05"
  [Pendulum-v1-wide]="--strata.train.gravity 5..12 --strata.train.mass 0.6..1.4"
)
declare -A settings=(
  [CartPole-v1]="--learning_rate 1e-3 --total_timesteps 2000000"
  [Pendulum-v1]="--learning_rate 1e-3 --total_timesteps 1000000 --gamma 0.95"
)

# one TASK WIDTH FAMILIES SEED: a run, its panel and its line of the ledger, unless they are there.
one() {
  local out=$runs/$1-$2-$3-$4 flags=(--threads 1 --quiet --ledger "$runs/ledger.jsonl")
  [ -f "$out/ledger_line.json" ] && return
  if [ -d "$out" ]; then
    "$broadloom" train --resume "$out" "${flags[@]}"
  else
    # shellcheck disable=SC2086 # the tables hold several words each
    "$broadloom" train --env_id "$1" ${strata[$1-$2]} ${settings[$1]} --seed_families "$3" --seed "$4" \
      --num_envs 512 --num_steps 32 --num_minibatches 32 --no-tensorboard \
      --panel "$folder/$1.toml" --out "$out" "${flags[@]}"
  fi
}

jobs_at_once=$(nproc)
for seed in $(seq "${1:-20}"); do
  for task in CartPole-v1 Pendulum-v1; do
    for width in narrow wide; do
      for families in 1 8 128 512; do
        while [ "$(jobs -rp | wc -l)" -ge "$jobs_at_once" ]; do wait -n; done
        one "$task" "$width" "$families" "$seed" &
      done
    done
  done
  echo "seed $seed begun"
done
wait
for out in "$runs"/*-*-*-*; do
  [ -f "$out/ledger_line.json" ] || { echo "$out did not end; run the same command again" >&2; exit 1; }
done
python3 $folder/results.py "$runs/ledger.jsonl" $folder/results
