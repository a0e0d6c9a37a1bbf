#!/usr/bin/env bash
# From a clean machine to a trained policy: installs what is missing, builds, trains CartPole-v1
# (less than a minute of training), evaluates it, and says where the run is.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

tools/setup.sh

launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
echo "Building (a few minutes the first time) ..."
mkdir -p build
if ! { cmake --preset release -DBROADLOOM_BUILD_TESTS=OFF "${launcher[@]}" &&
       cmake --build --preset release --target broadloom_cli; } >build/quickstart.log 2>&1; then
  tail -n 40 build/quickstart.log
  echo "quickstart.sh: the build failed; all of its output is in build/quickstart.log" >&2
  exit 1
fi

program=build/release/cli/broadloom
run="runs/quickstart-$(date +%Y%m%d-%H%M%S)"
mkdir -p runs
"$program" train --env_id CartPole-v1 --out "$run"
"$program" eval "$run" --json >"$run/quickstart_eval.json"

score=$(tr -d '\n' <"$run/quickstart_eval.json" |
        sed -n 's/.*"mean_return"[[:space:]]*:[[:space:]]*\([-+0-9.eE]*\).*/\1/p')
echo
echo "Run folder: $PWD/$run"
echo "Score:      ${score:-unknown} (mean return of fresh episodes; the most CartPole-v1 gives is 500)"
