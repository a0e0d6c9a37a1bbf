#!/usr/bin/env bash
# Trains the runs into studies/stagger-by-age, and writes results/ and the verdicts. Needs a build
# with MuJoCo. Stop it at any moment; the same command goes on where it was. run.sh SEEDS... makes
# those, one range after the other (default 31-32, 31-34, 31-36, 31-38).
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
folder=experiments/stagger-by-age
out=studies/stagger-by-age
mkdir -p $out $folder/results
for seeds in ${*:-31-32 31-34 31-36 31-38}; do
  for robot in HalfCheetah-v5 Swimmer-v5; do
    "$broadloom" study $folder/robots.toml --env_id $robot --out $out/$robot.sqlite \
      --seeds $seeds --quiet --no_report
  done
done
python3 $folder/judge.py $out $folder/results
