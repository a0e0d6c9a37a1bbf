#!/usr/bin/env bash
# Trains the runs into studies/rare-rewards, and writes results/ and the verdicts. Stop it at any
# moment; the same command goes on where it was. run.sh SEEDS makes those seeds (default 11-20).
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
folder=experiments/rare-rewards
out=studies/rare-rewards
mkdir -p $out $folder/results
corridor_12=SFFFFF/HHHHHF/GFFFFF
corridor_26=SFFFFF/HHHHHF/FFFFFF/FHHHHH/FFFFFF/HHHHHF/GFFFFF
study() {  # study FILE NAME FLAGS...
  local file=$1 name=$2
  shift 2
  "$broadloom" study $folder/$file.toml --name $name --out $out/$name.sqlite --quiet --no_report "$@"
}
for seeds in ${*:-11-15 11-20}; do
  study corridor corridor_12 --env.desc $corridor_12 --seeds $seeds
  study corridor corridor_26 --env.desc $corridor_26 --seeds $seeds
done
seeds=${*:-11-20}
study mountain_car mountain_car --seeds $seeds
study fixed_steps fixed_12 --env.desc $corridor_12 --seeds $seeds
study fixed_steps fixed_26 --env.desc $corridor_26 --seeds $seeds
python3 $folder/analyse.py $out $folder/results "$broadloom"
