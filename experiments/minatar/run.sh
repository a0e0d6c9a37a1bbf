#!/usr/bin/env bash
# The table of MinAtar and the scores under gymnax's rules. run.sh SEED... runs every study for
# these seeds, one store a study and seed, in studies/minatar; STUDIES="scores_ppo scores_pqn" names
# some of them. Stop it at any moment; the same command goes on where it was. Then `analyse.py keep
# studies/minatar experiments/minatar/results` keeps what has finished (other machines and days add
# to it), and `analyse.py judge experiments/minatar/results` judges.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
folder=experiments/minatar
mkdir -p studies/minatar
for seed in ${*:-1 2 3 4 5}; do
  for study in ${STUDIES:-depth_ppo depth_pqn breadth_ppo scores_ppo scores_pqn}; do
    if [ "$study" = breadth_ppo ] && [ "$seed" -gt 3 ]; then continue; fi
    "$broadloom" study $folder/$study.toml --seeds "$seed-$seed" --out "studies/minatar/$study-$seed.sqlite" --no_report --quiet
    echo "$study, seed $seed"
  done
done
