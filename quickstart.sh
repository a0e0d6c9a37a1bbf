#!/usr/bin/env bash
# From a clean machine to a first result: installs missing packages, builds, and runs a small study
# (50 trained policies, about half a minute on two cores of a Zen 4 server). Prints the result and
# the place of the page with its charts.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

tools/setup.sh

export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}
# One cache for all checkouts.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD} CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR:-1}
launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
log=build/quickstart.log
mkdir -p build
failed() {
  echo "quickstart.sh: the build failed${1:-; see its output in $log}" >&2
  exit 1
}
echo "Building; this takes up to ten minutes on two slow cores ..."
cmake --preset release -DBROADLOOM_BUILD_TESTS=OFF "${launcher[@]}" >"$log" 2>&1 ||
  { tail -n 40 "$log"; failed; }
build=(cmake --build --preset release --target broadloom_cli)

# Without a terminal, prints ninja's count "[k/n]" from the log every half minute, while this script
# runs.
show_progress() {
  while sleep 30 >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
    grep -o '^\[[0-9]*/[0-9]*\]' "$log" | tail -n 1 || true  # none yet
  done
}
if [ -t 1 ]; then
  "${build[@]}" || failed "; see the error above"  # on a terminal ninja shows its own count
else
  echo "The build's output: $log"
  show_progress &
  progress=$!
  trap 'kill "$progress" 2>/dev/null || true' EXIT
  "${build[@]}" >>"$log" 2>&1 || { tail -n 40 "$log"; failed; }
  kill "$progress"
  trap - EXIT
fi

# 50 runs of CartPole-v1 in five shapes of one batch; stores, compares and draws them.
program=build/release/cli/broadloom
study="studies/quickstart-$(date +%Y%m%d-%H%M%S)"
"$program" study configs/studies/quickstart.toml --out "$study.sqlite"

echo
echo "Report: $PWD/$study-report/study.html"
echo "Next:   $program train --env_id CartPole-v1    # one run; README.md has more"
