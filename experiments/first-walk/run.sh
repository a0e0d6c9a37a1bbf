#!/usr/bin/env bash
# Five trainings of configs/quadruped_walk.toml, with mjbatch's example in turn: some ten minutes of
# two cores. Needs MuJoCo in the program. For the peer, PEER_PYTHON is a Python with mjbatch 0.1.4,
# mujoco 3.14.0 and torch, and PEER_EXAMPLE your copy of mjbatch's examples/go1_joystick.py with its
# folder assets; without them the peer is left out. WORK: a folder that keeps the runs.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
broadloom=$(realpath "$broadloom")
root=$PWD
folder=$root/experiments/first-walk
work=${WORK:-$work}
mkdir -p "$work"
work=$(realpath "$work")
cd "$work"

peer=""
if [ -n "${PEER_PYTHON:-}" ]; then
  peer=yes
  robot=$root/bridges/mujoco/quadruped/quadruped.xml
  coproc PEER { "$PEER_PYTHON" "$folder/peer.py" "$PEER_EXAMPLE" "$robot" 2>peer_errors.txt; }
  read -r _ <&"${PEER[0]}"
fi
ask() { # ask WORDS: a command to the peer, whose answer is kept
  [ -n "$peer" ] || return 0
  local answer
  if [ -n "${PEER_PID:-}" ] && echo "$*" >&"${PEER[1]}" && read -r answer <&"${PEER[0]}"; then
    echo "$answer" | tee -a peer.jsonl
  else
    echo "the peer is gone: peer_errors.txt" && peer=""
  fi
}
bench() { # bench NAME FLAGS...: our physics with rewards and observations
  local name=$1
  shift
  "$broadloom" env bench Quadruped-v0 --num_envs 1024 --threads 2 --num_steps 24 --json "$@" \
    >"bench_$name.json" || true
}

rm -f peer.jsonl times.csv
echo "seed,wall_s,processor_s" >times.csv
for seed in ${SEEDS:-201 202 203 204 205}; do
  TIMEFORMAT="%R %U %S"
  { time "$broadloom" train "$root/configs/quadruped_walk.toml" --seed "$seed" --threads 2 \
      --checkpoint_interval 80 --keep_checkpoints 0 --log_interval 8 --no-tensorboard --quiet \
      --ledger ledger.jsonl ${MORE:-} --out "walk_$seed" 2>&3; } 3>&2 2>took.txt
  awk -v seed="$seed" '{ printf "%s,%s,%s\n", seed, $1, $2 + $3 }' took.txt | tee -a times.csv
  ask train "${SLICE:-30}"
  ask physics 3
  bench "own_$seed"
  bench "walk_$seed" --env.timestep 0.005 --env.frame_skip 4 --env.iterations 10 \
    --env.ls_iterations 20
done
ask score 20
if [ -n "$peer" ]; then eval "exec ${PEER[1]}>&-"; fi
python3 "$folder/keep.py" "$broadloom" "$work" "$folder/results"
