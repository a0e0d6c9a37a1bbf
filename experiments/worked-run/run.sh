#!/usr/bin/env bash
# The worked run: contract, training, panel, ledger line, rerun on another number of threads, audit. Keeps what the page shows in results/.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
folder=experiments/worked-run
results=$folder/results
mkdir -p $results
"$broadloom" train $folder/run.toml --panel $folder/panel.toml --threads 2 --out "$work/run" | tee "$work/train.txt"
sed -n '/^Block/,/^Seed:/p' "$work/train.txt" > $results/contract.txt
"$broadloom" rerun "$work/run" --threads 1 --out "$work/again" | sed -n '/^Recorded |/,$p' > $results/rerun.txt
"$broadloom" audit "$work/run" > $results/audit.txt || [ $? = 7 ]
python3 $folder/keep.py "$work/run" $results
sed -i "s#$work/##g" $results/*.txt
