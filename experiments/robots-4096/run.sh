#!/usr/bin/env bash
# 4,096 quadrupeds x 24 steps and 512 HalfCheetahs x 24, with held-out panels of delays, noise and
# other worlds: some twenty minutes of one core. Needs MuJoCo (docs/envs/MuJoCo.md). STAGES: some of
# "quadruped cheetah report keep", in WORK, a folder that stays; a stopped stage goes on.
[ -z "${STAGES:-}" ] || : "${WORK:?STAGES needs it: runs elsewhere are removed at the end}"
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
broadloom=$(realpath "$broadloom")
folder=$PWD/experiments/robots-4096
work=${WORK:-$work}
mkdir -p "$work" "$folder/results"
work=$(realpath "$work")
cd "$work"  # so that records name the runs, and not where they lay

robot() {
  if [ -d "$1" ]; then
    "$broadloom" train --resume "$1" --threads "${THREADS:-1}"
  else
    "$broadloom" train "$folder/$1.toml" --panel "$folder/$1_panel.toml" \
      --threads "${THREADS:-1}" --no-tensorboard --out "$1" > "$1.txt"
  fi
}

for stage in ${STAGES:-quadruped cheetah report keep}; do
  case $stage in
    quadruped | cheetah) robot "$stage" ;;
    report) "$broadloom" report quadruped cheetah --out report ;;
    keep) python3 "$folder/keep.py" . "$folder/results" ;;
    *) echo "no stage '$stage'" >&2; exit 2 ;;
  esac
done
