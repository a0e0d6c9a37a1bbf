#!/usr/bin/env bash
# Trainings of configs/biped_walk.toml, some four minutes of two quiet cores each, and their scores. Needs
# MuJoCo in the program. Runs stay in studies/biped; what is there isn't made again.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
folder=experiments/biped
work=studies/biped
mkdir -p "$work"
for seed in ${SEEDS:-301 302 303}; do
  [ -f "$work/biped_$seed/took.txt" ] && continue
  rm -rf "$work/biped_$seed"
  TIMEFORMAT="%R %U %S"
  { time "$broadloom" train configs/biped_walk.toml --seed "$seed" --threads 2 --log_interval 8 \
      --checkpoint_interval 100 --keep_checkpoints 0 --no-tensorboard --quiet \
      --out "$work/biped_$seed" 2>&3; } 3>&2 2>"$work/took.txt"
  mv "$work/took.txt" "$work/biped_$seed/took.txt"
done
python3 $folder/keep.py "$broadloom" "$work" $folder/results
