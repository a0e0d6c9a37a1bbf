#!/usr/bin/env bash
# Trains the 290 runs into studies/rnd, and writes results/ and the verdicts. Stop it at any moment;
# the same command goes on where it was.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
folder=experiments/rnd
out=studies/rnd
mkdir -p $out $folder/results
for study in study without mountain_car; do
  "$broadloom" study $folder/$study.toml --out $out/$study.sqlite --quiet
done
python3 $folder/analyse.py $out $folder/results
