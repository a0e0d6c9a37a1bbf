#!/usr/bin/env bash
# Trains the runs into studies/trainer-details, and writes results/ and the verdicts. Stop it at any
# moment; the same command goes on where it was. run.sh SEEDS... makes those, such as 301-304.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
folder=experiments/trainer-details
out=studies/trainer-details
mkdir -p $out $folder/results
python3 $folder/arms.py $out/arms
for seeds in ${*:-301-304 301-305 301-306 301-307 301-308}; do
  for task in HalfCheetah-v5 Hopper-v5; do
    for arm in $out/arms/*.toml; do
      "$broadloom" study "$arm" --env_id $task --out "$out/$(basename "$arm" .toml)-$task.sqlite" \
        --seeds "$seeds" --jobs "${JOBS:-2}" --quiet --no_report
    done
  done
done
python3 $folder/judge.py $out $folder/results
