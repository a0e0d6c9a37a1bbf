#!/usr/bin/env bash
# Trains teachers, students and PPO into studies/distillation, and writes results/ and the verdicts.
# Stop it at any moment; the same command goes on where it was. run.sh SEEDS... makes those.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
folder=experiments/distillation
out=studies/distillation
mkdir -p $out $folder/results
study() {
  "$broadloom" study $folder/base.toml --env_id "$task" "${hidden[@]}" --seeds "$seed-$seed" \
    "${@:2}" --out "$out/$task-$1-$seed.sqlite" --jobs "${JOBS:-2}" --quiet --no_report
}
for seed in ${*:-$(seq 401 410)}; do
  for task in CartPole-v1 Pendulum-v1; do
    teacher=$out/$task-teacher-$seed
    config=()
    case $task in
      CartPole-v1) hide=1,3 first=100000 steps=100000 own=() ;;
      Pendulum-v1)
        hide=2 first=1000000 steps=200000
        own=(--gamma 0.9 --stagger_starts true --stagger_by actions)
        config=(configs/pendulum.toml)
        ;;
    esac
    if [ ! -f "$teacher/teacher.json" ]; then
      rm -rf "$teacher"
      "$broadloom" train "${config[@]}" --env_id $task --total_timesteps $first --seed "$seed" \
        --no-tensorboard --ledger none --quiet --out "$teacher"
      "$broadloom" eval "$teacher" --episodes 100 --seed 7 --json >"$scratch/teacher.json"
      mv "$scratch/teacher.json" "$teacher/teacher.json"
    fi
    hidden=(--env.hide_obs $hide)
    for arm in ppo:$steps long:$((first + steps)); do
      study "${arm%:*}" --num_steps 128 --num_minibatches 4 --update_epochs 4 \
        --total_timesteps "${arm#*:}" "${own[@]}" --grid learning_rate=3e-4,1e-3,3e-3
    done
    hidden+=(--env.hide_from policy)
    study student --algorithm distill --teacher "$teacher" --num_steps 120 \
      --total_timesteps $steps
    echo "$task seed $seed"
  done
done
python3 $folder/judge.py $out $folder/results
