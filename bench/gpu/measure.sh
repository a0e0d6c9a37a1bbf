#!/usr/bin/env bash
# Measures the numbers of Broadloom in bench/gpu/README.md.
#
# usage, from the repository's root: bash bench/gpu/measure.sh BROADLOOM OUT
# BROADLOOM is a program built with -DBROADLOOM_CUDA=ON. Takes about two minutes with an H100 and 16
# cores. Leaves in OUT the studies' stores and these files:
#   cases.json, cases_cpu.json  bench/gpu/cases on both devices
#   envs.json                   CartPole with 1,024 to 1,048,576 environments
#   learn.txt                   learn.toml with device = cuda, compared with the store LEARN_CPU of
#                               device = cpu, if that is set
#   learn_tf32.txt              learn_tf32.toml, compared with learn.toml
#   side_by_side.txt            many small runs at once
set -uo pipefail
program=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
here=bench/gpu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
jobs=${JOBS:-16}

# study NAME ARGUMENTS...: prints the wall time of a study.
study() {
    local name=$1 begun
    shift
    begun=$(date +%s%N)
    "$program" study "$@" --jobs "$jobs" --threads 1 --no_report --quiet \
        --out "$out/$name.sqlite" || return
    echo "$name: $((($(date +%s%N) - begun) / 1000000)) ms of wall time, $jobs at a time"
}

failed=0
"$program" bench --repeats 3 --seconds 0.7 --device cuda --json "$out/cases.json" \
    "$here"/cases/*.toml || failed=1
on_cpu=()
for case in "$here"/cases/*.toml; do
    [[ $case == *_tf32.toml ]] || on_cpu+=("$case") # only a GPU has TF32
done
"$program" bench --repeats 2 --seconds 0.7 --device cpu --json "$out/cases_cpu.json" \
    "${on_cpu[@]}" || failed=1

for exponent in 10 11 12 13 14 15 16 17 18 19 20; do
    envs=$((1 << exponent))
    sed "s/^num_envs.*/num_envs = $envs/" "$here/cases/cartpole.toml" >"$scratch/envs_$envs.toml"
done
(cd "$scratch" && "$program" bench --repeats 1 --seconds 1 --device cuda --json "$out/envs.json" \
    $(ls envs_*.toml | sort -V)) || failed=1

{
    study learn_cuda "$here/learn.toml" --device cuda &&
        { [ -z "${LEARN_CPU:-}" ] ||
            python3 "$here/same_learning.py" "$out/learn_cuda.sqlite" "$LEARN_CPU"; }
} | tee "$out/learn.txt" || failed=1
# TF32 has other bits, so only the returns can be compared.
{
    study learn_tf32 "$here/learn_tf32.toml" &&
        { python3 "$here/same_learning.py" "$out/learn_tf32.sqlite" "$out/learn_cuda.sqlite" ||
            true; }
} | tee "$out/learn_tf32.txt" || failed=1
{
    study cuda_256_runs "$here/side_by_side.toml" --device cuda --seeds 256 &&
        study cpu_64_runs "$here/side_by_side.toml" --device cpu --seeds 64
} | tee "$out/side_by_side.txt" || failed=1
exit $failed
