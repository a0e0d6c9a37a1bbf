#!/usr/bin/env bash
# Agreement of one block by shape, lambda and critic, on 170 policies: some 100 minutes of a core.
# run.sh [SEEDS]: default 61 to 70. Stop it at any moment; the same command goes on where it was.
# Runs go to studies/independence (IN names another folder), results/ is written at the end.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
folder=experiments/independence
out=${IN:-studies/independence}
threads=${THREADS:-1}
lambdas=0,0.5,0.8,0.9,0.95,0.98,1
shapes=(1x1024 16x64 64x16 256x4 1024x1)
measured=$(IFS=,; echo "${shapes[*]}")
mkdir -p "$out"
seeds=("$@")
[ ${#seeds[@]} -gt 0 ] || seeds=(61 62 63 64 65 66 67 68 69 70)

# policy RUN SHARE ITERATIONS FLAGS...: trains RUN unless it is there; keeps one checkpoint, policy.
policy() {
  local run=$1 iteration=$((($2 * $3 + 50) / 100))
  [ ! -f "$run/policy.safetensors" ] || return 0
  rm -rf "$run"
  "$broadloom" train "${@:4}" --update_epochs 4 --checkpoint_interval "$iteration" \
    --keep_checkpoints 0 --threads "$threads" --no-tensorboard --quiet --ledger none --out "$run"
  mv "$run/checkpoints/$(printf 'iteration_%010d.safetensors' "$iteration")" \
    "$run/policy.safetensors"
  rm -rf "$run/checkpoints"
}

# laboratory RUN NAME FLAGS...: measures its policy into NAME.json.
laboratory() {
  [ ! -f "$1/$2.json" ] || return 0
  "$broadloom" gradients "$1/policy.safetensors" --lambdas $lambdas --threads "$threads" --quiet \
    --out "$work/gradients" "${@:3}"
  mv "$work/gradients/gradients.json" "$1/$2.json"
}

for seed in "${seeds[@]}"; do
  for task in CartPole-v1:300000 Pendulum-v1:300000 FrozenLake8x8-v1:500000; do
    env=${task%:*} steps=${task#*:}
    for shape in "${shapes[@]}"; do
      run=$out/$env-$shape-$seed
      rate=$(awk -F, -v env="$env" -v shape="$shape" '$1 == env && $2 == shape { print $3 }' \
        experiments/critic/rates.csv)
      policy "$run" 20 $((steps / 1024)) --env_id "$env" --num_envs "${shape%x*}" \
        --num_steps "${shape#*x}" --total_timesteps "$steps" --learning_rate "$rate" \
        --minibatch_size 64 --stagger_starts --stagger_by actions --seed "$seed"
      laboratory "$run" agreement --study agreement --shapes "$measured" --blocks 120
      echo "$env $shape seed $seed"
    done
  done
done
for seed in "${seeds[@]}"; do
  for env in HalfCheetah-v5 Hopper-v5; do
    run=$out/$env-16x64-$seed
    policy "$run" 60 97 configs/mujoco.toml --env_id $env --num_envs 16 --num_steps 64 \
      --total_timesteps 100000 --num_minibatches 16 --seed "$seed"
    laboratory "$run" agreement --study agreement --shapes 1x1024,32x32,1024x1 --blocks 60 \
      --bias_budget 400000 --start_envs 32
    echo "$env seed $seed"
  done
done
for seed in "${seeds[@]}"; do
  [ "$seed" -le 65 ] || continue
  for shape in "${shapes[@]}"; do  # the sampled part is kept small: only exact numbers are used
    laboratory "$out/FrozenLake8x8-v1-$shape-$seed" exact --study exact --shapes "$measured" \
      --blocks 30 --bias_budget 1000 --start_envs 64
  done
done
python3 $folder/analyse.py "$out" $folder/results
