# Shared by the experiments' scripts. They run from the repository's root, on a release build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
broadloom=${BROADLOOM:-build/release/cli/broadloom}
[ -x "$broadloom" ] || { echo "no program at $broadloom: run ./quickstart.sh first, or set BROADLOOM" >&2; exit 3; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
work=$scratch  # a script that keeps its runs sets another

# train NAME FLAGS...: a run in $work/NAME with all its checkpoints.
train() {
  local name=$1
  shift
  echo "training $name"
  "$broadloom" train "$@" --keep_checkpoints 0 --no-tensorboard --quiet --out "$work/$name"
}

checkpoint() { printf '%s/%s/checkpoints/iteration_%010d.safetensors' "$work" "$1" "$2"; }

# measure RUN ITERATION RESULT FLAGS...: the laboratory on one checkpoint; keeps gradients.json as
# RESULT.
measure() {
  local file result=$3
  file=$(checkpoint "$1" "$2")
  shift 3
  echo "measuring $(basename "$result" .json)"
  "$broadloom" gradients "$file" --quiet --out "$work/gradients" "$@"
  mkdir -p "$(dirname "$result")"
  # The path of the checkpoint, and how long it took on how many threads, is of no use to anybody
  # else.
  python3 - "$work/gradients/gradients.json" "$result" "$work/" <<'PYTHON'
import json, sys
source, target, work = sys.argv[1:]
report = json.load(open(source))
report["checkpoint"]["file"] = report["checkpoint"]["file"].replace(work, "")
report["command"] = [word.replace(work, "") for word in report["command"]]
open(target, "w").write(json.dumps(report, separators=(",", ":")) + "\n")
PYTHON
}
