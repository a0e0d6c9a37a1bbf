#!/usr/bin/env bash
# Trains five runs a task and measures three checkpoints of each, into studies/windows. Stop it at
# any moment; the same command goes on where it was.
# Seeds may be given; MEMORY=mingru takes the other cell.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
memory=${MEMORY:-gru}
out=studies/windows
mkdir -p $out
common=(--recurrent "$memory" --hidden_sizes 32 --total_timesteps 200000 --no-tensorboard --quiet
  --ledger none --threads "${THREADS:-1}" --checkpoint_interval 1 --keep_checkpoints 0)
for seed in ${*:-201 202 203 204 205}; do
  for task in t_maze cartpole_hidden; do
    case $task in
      t_maze) block=2048 shape=32x32 own=(--max_episode_steps 32) ;;
      cartpole_hidden) block=1024 shape=8x128 own=(--max_episode_steps 128) ;;
    esac
    run=$out/$task-$memory-$seed
    iterations=$((200000 / block))
    if [ ! -f "$run/finished" ]; then
      rm -rf "$run"
      "$broadloom" train "configs/$task.toml" "${common[@]}" "${own[@]}" --seed "$seed" --out "$run"
      touch "$run/finished"
    fi
    for share in 5 25 100; do
      name=$(printf 'iteration_%010d.safetensors' $(((iterations * share + 50) / 100)))
      result=$run/windows_$share.json
      [ -f "$result" ] && continue
      "$broadloom" gradients "$run/checkpoints/$name" --study windows --shapes $shape --blocks 200 \
        --seed "$seed" --threads "${THREADS:-1}" --quiet --out "$scratch/windows"
      mv "$scratch/windows/windows.json" "$result"
    done
    find "$run/checkpoints" -name '*.safetensors' -delete
    echo "$task $memory seed $seed"
  done
done
python3 experiments/windows/analyse.py $out experiments/windows/results
