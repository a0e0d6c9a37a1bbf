#!/usr/bin/env bash
# The study of PREREGISTRATION.md: 80 runs of a million steps into studies/mujoco.sqlite. Stop it at any moment; the same command goes on where it was.
# Needs a build with MuJoCo (docs/envs/MuJoCo.md). run.sh ENV_ID... takes these tasks alone.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
mkdir -p studies/mujoco
tasks=("$@")
[ ${#tasks[@]} -gt 0 ] || tasks=(InvertedPendulum-v5 InvertedDoublePendulum-v5 Reacher-v5 Swimmer-v5 HalfCheetah-v5 Hopper-v5 Walker2d-v5 Pusher-v5)
for task in "${tasks[@]}"; do
  sed "s/^env_id = .*/env_id = [\"$task\"]/" experiments/mujoco/study.toml >"studies/mujoco/$task.toml"
  "$broadloom" study "studies/mujoco/$task.toml" --out "studies/mujoco/$task.sqlite" --quiet
done
