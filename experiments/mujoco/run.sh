#!/usr/bin/env bash
# The study of PREREGISTRATION.md: 80 runs of a million steps, and of Ant and Humanoid five of a
# million and five of three each, into studies/mujoco/*.sqlite. Stop it at any moment; the same
# command goes on where it was. Needs a build with MuJoCo (docs/envs/MuJoCo.md). run.sh ENV_ID...
# takes these tasks alone.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
mkdir -p studies/mujoco
# study TASK FILE STORE FLAGS...: the cells of one task.
study() {
  sed "s/^env_id = .*/env_id = [\"$1\"]/" "experiments/mujoco/$2.toml" >"studies/mujoco/$3.toml"
  "$broadloom" study "studies/mujoco/$3.toml" --out "studies/mujoco/$3.sqlite" --quiet ${JOBS:+--jobs "$JOBS"} "${@:4}"
}
# blind TASK SEED: a run of cleanrl's cell that does not see contact forces.
blind() {
  local run=studies/mujoco/blind/$1_$2
  [ -f "$run/ledger_line.json" ] && return
  rm -rf "$run"
  "$broadloom" train configs/mujoco.toml --env_id "$1" --env.include_cfrc_ext_in_observation false --num_envs 1 --num_steps 2048 --seed "$2" --threads 1 --no-tensorboard --quiet --out "$run"
}
tasks=("$@")
[ ${#tasks[@]} -gt 0 ] || tasks=(InvertedPendulum-v5 InvertedDoublePendulum-v5 Reacher-v5 Swimmer-v5 HalfCheetah-v5 Hopper-v5 Walker2d-v5 Pusher-v5 Ant-v5 Humanoid-v5)
for task in "${tasks[@]}"; do
  case $task in
    Ant-v5 | Humanoid-v5)
      study "$task" study "$task" --runs 1,3,5,7,9  # cleanrl's cell alone: seeds go round the cells
      study "$task" hour "$task-hour"
      if [ "$task" = Ant-v5 ]; then for seed in 1 2 3; do blind "$task" "$seed"; done; else blind "$task" 1; fi ;;
    *) study "$task" study "$task" ;;
  esac
done
