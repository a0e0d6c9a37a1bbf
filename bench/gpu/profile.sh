#!/usr/bin/env bash
# Profiles the kernels of a case with Nsight Compute, for the tables of bench/gpu/README.md. Nsight
# Compute empties the caches before each launch.
#
# usage: bash bench/gpu/profile.sh BROADLOOM CASE.toml OUT.csv
set -euo pipefail
metrics=gpu__time_duration.sum,dram__bytes.sum,smsp__sass_thread_inst_executed_op_ffma_pred_on.sum
log=$(mktemp)
trap 'rm -f "$log"' EXIT
ncu --clock-control none --csv --metrics "$metrics" --launch-count 100 \
    "$1" bench --repeats 1 --seconds 0.01 --device cuda "$2" >"$log"
python3 "$(dirname "${BASH_SOURCE[0]}")/kernels.py" "$log" | tee "$3"
