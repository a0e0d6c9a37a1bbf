#!/usr/bin/env bash
# Can a shape be advised? run.sh runs all in order, run.sh PART... those parts: tune grid rest
# advise final anchors refit. Stores and advice go to studies/advice. Stop it at any moment; the
# same command goes on where it was. Speeds and advice want a machine that does nothing else.
# BROADLOOM: a program that knows Hover-v0, such as that of examples/own_env.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
folder=experiments/advice
out=studies/advice
mkdir -p $out
tuned=(CartPole-v1 Pendulum-v1)
held_out=(Acrobot-v1 MountainCarContinuous-v0 FrozenLake-v1 FrozenLake8x8-v1 Hover-v0)
declare -A threshold=([CartPole-v1]=475 [Pendulum-v1]=-200 [Acrobot-v1]=-100 [MountainCarContinuous-v0]=90 [FrozenLake-v1]=0.6 [FrozenLake8x8-v1]=0.6 [Hover-v0]=180)

study() { "$broadloom" study "$1" --out "$out/$2.sqlite" --no_report > "$out/$2.log"; }

speeds() {  # TASK: of all kinds of the grid
  python3 $folder/choose.py kinds "$work/kinds.json"
  python3 $folder/speeds.py "$broadloom" $folder/results/speeds.csv "$1" "$work/kinds.json"
}

advise() {  # TASK RULE SEED
  local to=$out/$1-$2-$3
  [ -f "$to/advice.json" ] && return
  rm -rf "$work/advice"
  "$broadloom" advise --env_id "$1" --threshold "${threshold[$1]}" --time 60s --rule "$2" --seed "$3" --quiet --out "$work/advice" || [ $? = 22 ]
  mv "$work/advice" "$to"
}

tune() {
  for task in "${tuned[@]}"; do speeds "$task"; done
  study $folder/tune.toml tune
  python3 $folder/choose.py fixed $out/tune.sqlite $folder/results/speeds.csv $folder/fixed.json
}

grid() {
  for task in "${held_out[@]}"; do speeds "$task"; done
  study $folder/grid.toml grid
}

rest() {
  study $folder/rest.toml rest
  for task in MountainCar-v0 CliffWalking-v1 Taxi-v3; do
    [ -f "$out/rest-$task/advice.json" ] && continue
    "$broadloom" advise --env_id "$task" --time 60s --quiet --out "$out/rest-$task" || [ $? = 22 ]
  done
}

advices() {
  for task in "${tuned[@]}"; do
    for rule in race gradient; do advise "$task" $rule 1; done
  done
  for seed in 1 2 3; do
    for task in "${held_out[@]}"; do
      for rule in race gradient; do advise "$task" $rule $seed; done
    done
  done
}

final() {
  for task in "${held_out[@]}" "${tuned[@]}"; do
    local store=$out/grid.sqlite
    [[ " ${tuned[*]} " == *" $task "* ]] && store=$out/tune.sqlite
    if [ ! -f "$out/final_$task.sqlite" ]; then
      python3 $folder/choose.py advised $out "$task" "$work/kinds.json"
      python3 $folder/speeds.py "$broadloom" $folder/results/speeds.csv "$task" "$work/kinds.json"
      python3 $folder/choose.py final "$task" $store $folder/results/speeds.csv $out "$folder/final_$task.toml"
    fi
    study "$folder/final_$task.toml" "final_$task"
  done
}

anchors() {  # some ten minutes of one core; anchors_robots needs a build with MuJoCo
  study $folder/anchors_small.toml anchors_small
  study $folder/anchors_robots.toml anchors_robots
  python3 $folder/anchors.py $out $folder/results
}

# Seconds, from kept files.
refit() { python3 $folder/refit.py $folder/results; }

parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(tune grid rest advise final anchors refit)
for part in "${parts[@]}"; do
  if [ "$part" = advise ]; then advices; else "$part"; fi
done
