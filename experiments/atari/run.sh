#!/usr/bin/env bash
# Makes the runs that results/runs.csv lacks, then the table and the verdicts. Stop it at any
# moment; the same command goes on where it was. run.sh SEEDS... makes those, such as 1 2.
#
# Needs Broadloom's Python package, and: pip install ale-py==0.12.1 opencv-python-headless
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
[ $# -gt 0 ] || set -- 1 2
python3 train.py "$@"
python3 analyse.py
