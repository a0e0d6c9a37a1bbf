#!/usr/bin/env bash
# 2,048 walking robots: contract, training, panel, ledger line, rerun on another number of threads,
# audit, and five planted faults. Keeps what the page shows in results/. STAGES: some of "train
# rerun audit faults keep", in WORK, a folder that stays.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
broadloom=$(realpath "$broadloom")
folder=$PWD/experiments/robots-2048
results=$folder/results
work=${WORK:-$work}
threads=${THREADS:-2}
mkdir -p "$results" "$work"
work=$(realpath "$work")
cd "$work"  # so that the record names the run, and not where it lay

stage_train() {
  "$broadloom" train "$folder/run.toml" --panel "$folder/panel.toml" --threads "$threads" --out run | tee train.txt
}

# The record of three updates; `rerun run --threads 1` does the same of the whole run, in the time that one
# thread takes for it.
stage_rerun() {
  rm -rf brief again
  "$broadloom" train "$folder/run.toml" --total_timesteps 147456 --eval_interval 0 --max_episode_steps 100 --ledger brief.jsonl \
    --threads 2 --quiet --out brief
  "$broadloom" rerun brief --threads 1 --out again | sed -n '/^Recorded |/,$p' > "$results"/rerun.txt
}

# The text of the audit, without its exit code: the next ones are of interest, too.
look() {
  "$broadloom" audit "$1" --iterations "$2" --threads "$threads" --json > "audit_$3.json" || true
}

stage_audit() {
  "$broadloom" audit run --threads "$threads" > "$results"/audit.txt || true
}

# A run of three updates that begins with the trained policy, in episodes of 2 s so that phases show
# soon.
short() {
  local name=$1
  shift
  rm -rf "$name"
  "$broadloom" train "$folder/run.toml" --init run --total_timesteps 147456 --max_episode_steps 100 --eval_interval 0 --ledger none \
    --threads "$threads" --quiet --out "$name" "$@"
}

stage_faults() {
  short none
  look none 3 none
  short commands --env.max_command_x 0 --env.max_command_y 0 --env.max_command_yaw 0
  look commands 3 commands
  short column --env.terrain_column 1
  look column 3 column
  short resets --stagger_starts false --max_episode_steps 40
  look resets 3 resets
  sed -e 's/^terrain_seed = 2/terrain_seed = 1/' -e 's/^episodes = 20/episodes = 1/' "$folder/panel.toml" > leaked.toml
  short panel --panel leaked.toml
  look panel 1 panel_worlds
  python3 "$folder/plant.py" panel panel
  look panel 1 panel_streams
  rm -rf plane stale
  "$broadloom" train "$folder/run.toml" --seed 2 --total_timesteps 98304 --stagger_starts false --eval_interval 0 --ledger none \
    --threads "$threads" --quiet --out plane
  cp -r run stale
  BROADLOOM=$broadloom python3 "$folder/plant.py" normaliser stale plane
  look stale 3 stale
}

stage_keep() { python3 "$folder/keep.py" . "$results"; }

for stage in ${STAGES:-train rerun audit faults keep}; do "stage_$stage"; done
