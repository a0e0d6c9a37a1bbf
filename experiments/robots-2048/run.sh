#!/usr/bin/env bash
# 2,048 walking robots: contract, training, panel, ledger line, rerun on another number of threads,
# audit, and six planted faults. Keeps what the page shows in results/. Needs MuJoCo in the program.
# STAGES: some of "train rerun audit faults keep", in WORK, a folder that stays.
[ -z "${STAGES:-}" ] || : "${WORK:?STAGES needs it: runs elsewhere are removed at the end}"
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
  "$broadloom" train "$folder/run.toml" --panel "$folder/panel.toml" --threads "$threads" \
    --no-tensorboard --out run | tee train.txt
}

# The whole run from its line, on twice the threads: more than the cores take as long as the cores.
stage_rerun() {
  rm -rf again
  # 6: it does not agree, which judge.py tells.
  "$broadloom" rerun run --threads $((2 * threads)) --out again > rerun.txt || [ $? -eq 6 ]
}

# The text of the audit, without its exit code: the next ones are of interest, too.
look() {
  "$broadloom" audit "$1" --iterations 6 --threads "$threads" --json > "audit_$2.json" || true
}

stage_audit() {
  "$broadloom" audit run --threads "$threads" > audit.txt || true
}

# A run of six updates that begins with the trained policy, at its last learning rate, in episodes
# of 2 s so that phases show soon.
short() {
  local name=$1
  shift
  rm -rf "$name"
  "$broadloom" train "$folder/run.toml" --init run --learning_rate 1e-4 --total_timesteps 147456 \
    --max_episode_steps 100 --eval_interval 0 --eval_episodes 10 --ledger none --no-tensorboard \
    --threads "$threads" --quiet --out "$name" "$@"
}

stage_faults() {
  short none
  look none none
  short commands --env.max_command_x 0 --env.max_command_y 0 --env.max_command_yaw 0
  look commands commands
  short column --env.terrain_column 1
  look column column
  short resets --stagger_by actions --stagger_starts false --max_episode_steps 40
  look resets resets
  short families --seed_families 1
  look families families
  sed -e 's/^terrain_seed = 2/terrain_seed = 1/' -e 's/^episodes = 40/episodes = 1/' \
    "$folder/panel.toml" > leaked.toml
  short panel --panel leaked.toml
  look panel panel_worlds
  python3 "$folder/plant.py" panel panel
  look panel panel_streams
  rm -rf stale other
  "$broadloom" train "$folder/run.toml" --seed 2 --total_timesteps 98304 --eval_interval 0 \
    --eval_episodes 10 --ledger none --no-tensorboard --threads "$threads" --quiet --out other
  cp -r run stale
  BROADLOOM=$broadloom python3 "$folder/plant.py" normaliser stale other
  look stale stale
}

stage_keep() {
  python3 "$folder/keep.py" . "$results"
  python3 "$folder/judge.py"
  python3 "$folder/page.py"
}

for stage in ${STAGES:-train rerun audit faults keep}; do "stage_$stage"; done
