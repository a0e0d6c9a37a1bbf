#!/usr/bin/env bash
# The surface of N, T and learning rate, and what it is made of: run.sh runs all studies, run.sh
# NAME... those. Stores go to studies/surface. Stop it at any moment; the same command goes on where
# it was. A stage of the surface is chosen from the runs of the stages before it.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
folder=experiments/surface
stores=studies/surface
study() { "$broadloom" study "$folder/$1.toml" --out "$stores/$1.sqlite" --no_report; }
names=("$@")
[ ${#names[@]} -gt 0 ] || names=(screen edges final second second_final parts health value_clip)
for name in "${names[@]}"; do
  case $name in
    final | second | second_final) python3 $folder/choose.py "$name" ;;
  esac
  study "$name"
  case $name in
    parts | health | value_clip) part=$name ;;
    *) part=surface ;;
  esac
  python3 $folder/analyse.py $stores $folder/results $part
done
python3 $folder/fair.py $folder/results
