#!/usr/bin/env bash
# From a clean machine to a first answer: installs what is missing, builds, runs a small study (50 trained policies, less
# than a minute) and says what it found and where the page with its charts is.
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

# 50 runs of CartPole-v1 in five shapes of one batch, stored, compared and drawn.
program=build/release/cli/broadloom
study="studies/quickstart-$(date +%Y%m%d-%H%M%S)"
"$program" study configs/studies/quickstart.toml --out "$study.sqlite"

echo
echo "Report: $PWD/$study-report/study.html"
echo "Next:   $program train --env_id CartPole-v1    # one run; README.md has more"
