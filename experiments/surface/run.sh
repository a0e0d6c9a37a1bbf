#!/usr/bin/env bash
# The surface of N, T and learning rate, and what it is made of: run.sh runs all studies, run.sh
# NAME... those. Stores go to studies/surface. Stop it at any moment; the same command goes on where
# it was.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
folder=experiments/surface
study() { "$broadloom" study "$folder/$1.toml" --out "studies/surface/$1.sqlite" --no_report; }
names=("$@")
[ ${#names[@]} -gt 0 ] || names=(screen final parts health value_clip)
for name in "${names[@]}"; do
  if [ "$name" = final ]; then
    python3 $folder/choose.py studies/surface/screen.sqlite
    for file in "$folder"/final_*.toml; do study "$(basename "$file" .toml)"; done
  else
    study "$name"
  fi
done
