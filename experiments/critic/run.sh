#!/usr/bin/env bash
# Trained shape x measured shape x critic: trains 150 runs and measures 450 checkpoints, into
# studies/critic. rates.csv has the best rates of the first screen of the surface, at five rates. Seeds
# may be given (two halves side by side are faster than one after the other). Stop it at any moment; the
# same command goes on where it was. Then analyse.py makes results/.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
folder=experiments/critic
out=studies/critic
shapes=(1x1024 16x64 64x16 256x4 1024x1)
mkdir -p $out
for seed in ${*:-61 62 63 64 65 66 67 68 69 70}; do
  for task in CartPole-v1:300000 Pendulum-v1:300000 FrozenLake8x8-v1:500000; do
    for shape in "${shapes[@]}"; do
      env=${task%:*} steps=${task#*:}
      run=$out/$env-$shape-$seed
      iterations=$((steps / 1024))
      if [ ! -f "$run/ledger_line.json" ]; then
        rm -rf "$run"
        rate=$(awk -F, -v env="$env" -v shape="$shape" '$1 == env && $2 == shape { print $3 }' $folder/rates.csv)
        "$broadloom" train --env_id "$env" --num_envs "${shape%x*}" --num_steps "${shape#*x}" --total_timesteps "$steps" --learning_rate "$rate" \
          --minibatch_size 64 --update_epochs 4 --stagger_starts --stagger_by actions --seed $seed --eval_interval $((iterations / 20)) --eval_episodes 10 \
          --checkpoint_interval 1 --keep_checkpoints 0 --no-tensorboard --quiet --ledger none --out "$run"
      fi
      kept=()
      for share in 5 20 60; do kept+=("$(printf 'iteration_%010d.safetensors' $(((iterations * share + 50) / 100)))"); done
      find "$run/checkpoints" -name '*.safetensors' | { grep -v -F "$(printf '%s\n' "${kept[@]}")" || true; } | xargs -r rm
      for checkpoint in "$run"/checkpoints/*.safetensors; do
        result=$run/$(basename "$checkpoint" .safetensors).json
        [ -f "$result" ] && continue
        "$broadloom" gradients "$checkpoint" --study agreement --shapes "$(IFS=,; echo "${shapes[*]}")" --lambdas 0.95 --blocks 300 --quiet --out "$work/gradients"
        mv "$work/gradients/gradients.json" "$result"
      done
      echo "$env $shape seed $seed"
    done
  done
done
