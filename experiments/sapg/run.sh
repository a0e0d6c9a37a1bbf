#!/usr/bin/env bash
# Trains the runs into studies/sapg, measures gradients, and writes results/ and the verdicts. Stop
# it at any time; the same command goes on where it was.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
folder=experiments/sapg
out=studies/sapg
python=${PYTHON:-python3}
mkdir -p $out $folder/results
sapg="--sapg_policies 4 --sapg_entropy_scale 0.005"
for task in CartPole-v1:100000 Pendulum-v1:200000; do
  name=${task%:*}
  steps=${task#*:}
  arm() {
    "$broadloom" study $folder/small.toml --env_id "$name" --total_timesteps "$steps" "${@:2}" \
      --out "$out/$name.$1.sqlite" --quiet --no_report --threads "${THREADS:-2}"
  }
  arm ppo
  arm alone $sapg --sapg_followers 0
  arm code $sapg
  arm paper $sapg --sapg_clip paper
  for seed in 201 202; do
    run=$out/$name.$seed
    iterations=$((steps / 2048))
    [ -f "$run/finished" ] && continue
    rm -rf "$run"
    "$broadloom" train --env_id "$name" --total_timesteps "$steps" \
      --num_envs 16 --num_steps 128 --num_minibatches 4 --update_epochs 4 \
      --stagger_starts true --stagger_by actions \
      --learning_rate 1e-3 --seed $seed $sapg --keep_checkpoints 0 --no-tensorboard --quiet \
      --checkpoint_interval $((iterations / 4)) --ledger none --out "$run"
    touch "$run/finished"
  done
done
"$python" $folder/gradients.py $out $folder/results
"$python" $folder/judge.py $out $folder/results
"$python" $folder/rates.py
