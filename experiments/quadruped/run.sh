#!/usr/bin/env bash
# The quadruped on the plane, then on ground that gets harder: about an hour on two cores. Needs
# MuJoCo (docs/envs/MuJoCo.md). STAGES: some of "flat ground keep", in WORK, a folder that stays; a
# stage that was stopped goes on.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
broadloom=$(realpath "$broadloom")
root=$PWD
folder=$root/experiments/quadruped
work=${WORK:-$work}
mkdir -p "$work"
work=$(realpath "$work")
common=(--threads "${THREADS:-2}" --total_timesteps "${STEPS:-10000000}" --eval_interval 100 --eval_episodes 20 --no-tensorboard --ledger ledger.jsonl)
cd "$work"  # so that records name the runs, and not where they lay

# stage NAME FLAGS...: a run of that name, begun or gone on with.
stage() {
  local run=$1
  shift
  if [ -d "$run" ]; then
    "$broadloom" train --resume "$run" --threads "${THREADS:-2}" --ledger ledger.jsonl
  else
    "$broadloom" train "$@" "${common[@]}" --out "$run"
  fi
}

for name in ${STAGES:-flat ground keep}; do
  case $name in
    flat) stage flat "$root/configs/quadruped.toml" --panel "$root/configs/panels/quadruped.toml" ;;
    ground) stage ground "$root/configs/quadruped_terrain.toml" --panel "$folder/ground.toml" --init flat ;;
    keep) python3 "$folder/keep.py" "$broadloom" "$work" "$folder/results" ;;
    *) echo "no stage '$name'" >&2; exit 2 ;;
  esac
done
