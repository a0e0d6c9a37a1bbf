#!/usr/bin/env bash
# The JAX and PyTorch peers on a machine with a GPU and no network, one after another.
#
# usage, from the repository's root: bash CARRY/run_peers.sh OUT
# CARRY is the folder with a copy of this script and these folders:
#   wheels/  rejax 0.1.3, gymnax 0.0.9, distrax 0.1.9, tfp-nightly 0.26.0.dev20261027, dm-tree
#   0.1.10,
#            decorator 5.3.1, gast 0.7.0, gymnasium 1.4.0, farama-notifications 0.0.6,
#            stable-baselines3 2.9.2
#   src/     purejaxrl-31756b1, purejaxql-47af6d7: the files of these commits
# Needs Python 3.12 with torch, jax and flax. Leaves OUT/peers.jsonl, one line per measurement, and
# OUT/peers.log. PEERS_SECONDS (100) limits the total time. PEERS_QUICK=1 tries all peers with small
# sizes on a CPU.
set -u
carry=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
total=${PEERS_SECONDS:-100}
site=${PEERS_SITE:-/tmp/site}
scripts=bench/gpu
[ -f "$scripts/jax_ppo.py" ] || scripts=$carry/bench/gpu
ppo=(--purejaxrl "$carry/src/purejaxrl-31756b1/purejaxrl" --purejaxrl_version 31756b1 --rejax)
pqn=("$carry/src/purejaxql-47af6d7/purejaxql" --version 47af6d7)
sb3=()
if [ -n "${PEERS_QUICK:-}" ]; then
    ppo+=(--num_envs 64 --updates 2 --runs 1 2 --small_steps 16384 --seconds 0.2)
    pqn+=(--num_envs 128 --runs 1 --updates 1 --seconds 0.2)
    sb3+=(--device cpu --seconds 0.2)
fi
export PYTHONPATH=$site MPLBACKEND=Agg PYTHONUNBUFFERED=1 TF_CPP_MIN_LOG_LEVEL=1

# measure NAME SECONDS ARGUMENTS...: takes at most SECONDS, and no more than the rest of the total.
measure() {
    local name=$1 limit=$2
    shift 2
    [ "$limit" -le $((total - SECONDS - 2)) ] || limit=$((total - SECONDS - 2))
    if [ "$limit" -lt 8 ]; then
        echo "$name: left out, $limit s are left"
        return
    fi
    echo "== $name, at most $limit s" >>"$out/peers.log"
    local begun=$SECONDS
    timeout -k 2 $((limit + 1)) python3 -W ignore "$scripts/$name.py" --limit $((limit - 1)) "$@" \
        >>"$out/peers.jsonl" 2>>"$out/peers.log"
    echo "$name: exit $?, $((SECONDS - begun)) s" | tee -a "$out/peers.log"
}

nvidia-smi >>"$out/peers.log" 2>&1
python3 -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --upgrade \
    --target "$site" "$carry"/wheels/*.whl >>"$out/peers.log" 2>&1 ||
    echo "pip failed, see peers.log"
python3 -m pip list >>"$out/peers.log" 2>/dev/null
echo "installed: $SECONDS s"
measure jax_ppo $((total * 45 / 100)) "${ppo[@]}"
measure jax_pqn_minatar $((total * 40 / 100)) "${pqn[@]}"
measure sb3_ppo $((total * 25 / 100)) "${sb3[@]}"
python3 - "$out/peers.jsonl" <<'EOF'
import json, sys
for line in open(sys.argv[1]):
    row = json.loads(line)
    rate = row.get("failed") or (
        f"{row['steps_per_second']:,.0f} steps/s, compiled in {row['compile_seconds']} s")
    shape = f"N {row['num_envs']} T {row['num_steps']}"
    runs = f"runs {row.get('runs', 1)}"
    print(row["peer"], row["case"], shape, runs, row.get("matmul_precision", ""), rate)
EOF
