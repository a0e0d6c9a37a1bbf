#!/usr/bin/env bash
# Part two: trains the games' runs into studies/long-budgets. Stop it at any moment; the same
# command goes on where it was. run_games.sh SEED... makes seeds 111 to each SEED, one after the
# other. The default is 112 113 114, since a study that tunes needs two seeds.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
folder=experiments/long-budgets
out=studies/long-budgets
mkdir -p $out
for game in Breakout SpaceInvaders; do
  for last in ${*:-112 113 114}; do
    "$broadloom" study $folder/games.toml --env_id MinAtar/$game-v1 --seeds 111-$last \
      --out $out/games-$game.sqlite --quiet --no_report
  done
done
python3 $folder/judge_games.py $out $folder/results
