#!/usr/bin/env bash
# The worked run: contract, training, panel, ledger line, rerun on another number of threads, audit.
# Keeps what the page shows in results/.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
broadloom=$(realpath "$broadloom")
folder=$PWD/experiments/worked-run
results=$folder/results
mkdir -p "$results"
cd "$work"  # so that the record names the run, and not where it lay
"$broadloom" train "$folder/run.toml" --panel "$folder/panel.toml" --threads 2 --out run | tee train.txt
sed -n '/^Block/,/^Seed:/p' train.txt > "$results"/contract.txt
"$broadloom" rerun run --threads 1 --out again | sed -n '/^Recorded |/,$p' > "$results"/rerun.txt
"$broadloom" audit run > "$results"/audit.txt || [ $? = 7 ]
python3 "$folder/keep.py" run "$results"
