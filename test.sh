#!/usr/bin/env bash
# Installs what is missing, builds, and tests. Without a name: what a user runs, in minutes.
#   ./test.sh              set-up, build, and the tests of engine, research and program
#   ./test.sh all          every stage, as .ci/run does
#   ./test.sh NAME ...     these stages alone; ./test.sh --help lists them
# Ends with a table of stages and one line: N passed, N failed, N skipped. Exit status 0 only when
# nothing failed. BROADLOOM_JOBS sets how many things run at once (default: the number of cores).
# BROADLOOM_SIDE_BY_SIDE=1 runs release, clang-tidy, asan and tsan at once, for 8 cores or more.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

# Stages in their order. Stages of the release build are labels of ctest, named in labels_of.
stages=(set-up build unit golden cli runs learning pages python bridges examples perf format words
  tidy asan tsan)
declare -A does=(
  [set-up]="what is missing of Debian's packages; every other stage begins with it"
  [build]="all of the release build; tests build what they need of it"
  [unit]="cases of single functions and small runs"
  [golden]="the bits that small runs come to"
  [cli]="the program from outside: commands, messages, exit codes, kept files"
  [runs]="kills, faults, resumes and studies of the program; the README's commands"
  [learning]="training runs that must reach a bar"
  [pages]="report pages in a browser, and the documentation's site"
  [python]="the Python package, and results beside those of Python libraries"
  [bridges]="kernels emulated on the host, MuJoCo, MPI, Slurm"
  [examples]="an installed copy, the examples built against it, plug-ins"
  [perf]="speed as ratios within one process"
  [format]="clang-format"
  [words]="line width, openings, names, spelling, links and readability (docs/style.md)"
  [tidy]="clang-tidy over files changed within a day (tools/check_tidy.sh --all: every file)"
  [asan]="the address and undefined behaviour sanitizers, where there is raw memory"
  [tsan]="the thread sanitizer, where there are threads"
  [wheel]="wheels and the source package, made and tried; compiles once for each CPython"
  [fuzz]="100,000 changed files and 200 random configurations; takes minutes on many cores")
declare -A labels_of=(
  [unit]=unit [golden]=golden [cli]=cli [runs]=runs [learning]=learn [pages]=pages [python]=python
  [bridges]="kernels|mujoco|cuda|mpi|cluster" [examples]="example|consumer" [perf]=perf)
declare -A group=([lint]="format words tidy" [all]="${stages[*]}")

usage() {
  sed -n '2,9s/^# \{0,1\}//p' "$0"
  echo
  echo "Stages:"
  for name in "${stages[@]}"; do printf '  %-10s %s\n' "$name" "${does[$name]}"; done
  printf '  %-10s %s\n' lint "format, words and tidy" all "every stage above" \
    wheel "${does[wheel]}" fuzz "${does[fuzz]}"
  echo "Without a name: unit, golden and cli."
}

declare -A chosen=()
[ $# -gt 0 ] || set -- unit golden cli
for name in "$@"; do
  case "$name" in -h | --help) usage; exit 0 ;; esac
  for one in ${group[$name]:-$name}; do
    if [ -z "${does[$one]:-}" ]; then
      echo "test.sh: got stage '$name', expected some of: ${stages[*]} lint all wheel fuzz" >&2
      exit 2
    fi
    chosen[$one]=1
  done
done
has() {  # any of these stages
  local name
  for name in "$@"; do [ -z "${chosen[$name]:-}" ] || return 0; done
  return 1
}

export BROADLOOM_JOBS=${BROADLOOM_JOBS:-$(nproc)}
export PYTHONDONTWRITEBYTECODE=1
# The compiler's cache keeps objects with precompiled headers only with the first; with the others a
# second checkout in another folder finds what the first one compiled.
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD} CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR:-1}
logs=build/test-logs
mkdir -p "$logs"
rm -f "$logs"/*
side_by_side=0
results=$logs/results  # a line a stage: passed, failed, skipped, and its row of the table
: >"$results"

# stage NAME COMMAND...: runs it with its output in a log file, shows the log when it fails.
stage() {
  local name=$1 start=$SECONDS code=0
  shift
  stage_log="$logs/${name// /-}.log"
  [ "$side_by_side" = 1 ] || printf -- '-- %-16s ' "$name"
  "$@" >"$stage_log" 2>&1 || code=$?
  [ "$side_by_side" = 0 ] || printf -- '-- %-16s ' "$name"
  printf '%4d s  %s\n' $((SECONDS - start)) "$([ $code -eq 0 ] && echo ok || echo FAILED)"
  stage_row="$(printf '%-16s %5d s' "$name" $((SECONDS - start)))"
  if [ $code -ne 0 ]; then
    tail -n 60 "$stage_log"
    echo "-- all of it: $stage_log"
  fi
  return $code
}

# report PASSED FAILED SKIPPED ROW: keeps what a stage came to.
report() { echo "$1 $2 $3 $4" >>"$results"; }

# A stage that is one check: it counts as one test.
check_stage() {
  if stage "$@"; then
    report 1 0 0 "$stage_row   ok"
  else
    report 0 1 0 "$stage_row   FAILED"
    return 1
  fi
}

attribute() { sed -n "s/^[[:space:]]*$2=\"\([0-9]*\)\".*/\1/p" "$1" | head -n 1; }

# A stage that is a ctest run: NAME PRESET CTEST_OPTIONS... Its tests are counted as ctest knows
# them: for sanitizers, a program of many cases is one, and its skipped cases are not told.
ctest_stage() {
  local name=$1 preset=$2 code=0
  shift 2
  local junit="$PWD/$logs/${name// /-}.xml"
  stage "$name" "${no_aslr[@]}" ctest --preset "$preset" -j "$BROADLOOM_JOBS" --no-tests=error \
    --output-junit "$junit" "$@" || code=1
  local all=0 bad=0 left_out=0
  if [ -f "$junit" ]; then
    all=$(attribute "$junit" tests)
    bad=$(attribute "$junit" failures)
    left_out=$(($(attribute "$junit" skipped) + $(attribute "$junit" disabled)))
  fi
  [ $code -ne 0 ] && [ "$bad" -eq 0 ] && bad=1 all=$((all + 1))
  report $((all - bad - left_out)) "$bad" "$left_out" \
    "$stage_row   $((all - bad - left_out)) passed, $bad failed, $left_out skipped"
  if [ "$left_out" -gt 0 ]; then
    grep -E '\*\*\*(Skipped|Not Run)' "$stage_log" | sed -E 's/\.{3,}/ ... /; s/^/   SKIPPED: /'
  fi
}

# PRESET TARGETS OPTIONS...: the targets are one word each, or "all".
configure_and_build() {
  local preset=$1 targets=$2 launcher=()
  command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  shift 2
  # shellcheck disable=SC2086  # several targets
  cmake --preset "$preset" -DBROADLOOM_BUILD_TESTS=ON "$@" "${launcher[@]}" &&
    "${no_aslr[@]}" cmake --build --preset "$preset" -j "$BROADLOOM_JOBS" --target $targets
}

# Python packages, in the versions and with the hashes of tests/requirements.txt, in .venv. Without
# a registry the tests that want them say SKIPPED; everything else runs.
pip_quietly=(-q --disable-pip-version-check --no-input --timeout 20 --retries 2)
has_pinned() { [ -x .venv/bin/python ] && .venv/bin/python tools/pinned.py --installed "$@"; }
add_pinned() {
  has_pinned "$@" 2>/dev/null && return 0
  [ -d .venv ] || python3 -m venv .venv || { rm -rf .venv; return 1; }
  local wanted
  wanted=$(python3 tools/pinned.py "$@") || return 1
  # The lines name every need, less those of tests/requirements_left_out.txt.
  timeout 600 .venv/bin/python -m pip install "${pip_quietly[@]}" --no-deps --require-hashes \
    -r <(echo "$wanted") </dev/null && has_pinned "$@"
}

# Procgen, for one test: only its library and pictures, which need no Python. The wheel is for
# Python 3.10 on x86-64, so it is not in tests/requirements.txt.
procgen_wheel=(procgen==0.10.7
  --hash=sha256:4b594d14e42f0f2166e59a9e294477b906eb99c90c3343b570b7124cbc865f53)
add_procgen() {
  [ ! -f .venv/procgen/procgen/data/prebuilt/libenv.so ] || return 0
  local wheels
  wheels=$(mktemp -d) || return 1
  timeout 300 .venv/bin/python -m pip download "${pip_quietly[@]}" --no-deps --only-binary=:all: \
    --python-version 3.10 --dest "$wheels" --require-hashes \
    -r <(echo "${procgen_wheel[*]}") </dev/null &&
    .venv/bin/python -m zipfile -e "$wheels"/procgen-*.whl .venv/procgen.part &&
    mv .venv/procgen.part .venv/procgen
  local code=$?
  rm -rf "$wheels"
  return $code
}

test_words() {
  has words || return 0
  optional_stage "words packages" "words checks neither spelling nor readability" \
    add_pinned codespell textstat
  local python=python3
  [ ! -x .venv/bin/python ] || python=.venv/bin/python
  check_stage "words" "$python" tools/check_words.py
  grep '^\*\*\*\*' "$stage_log" || true  # skipped checks
}

# Rules and form of Python: pyproject.toml.
check_ruff() { .venv/bin/ruff check . && .venv/bin/ruff format --check --output-format concise .; }
test_python_format() {
  has format || return 0
  optional_stage "ruff package" "Python's format is not checked" add_pinned ruff
  ! has_pinned ruff 2>/dev/null || check_stage "python format" check_ruff
}

# nanobind builds the extension of `import broadloom`, for the tests of the Python package.
has_nanobind() {
  has_pinned nanobind && .venv/bin/python - <<'PYTHON'
import os, sysconfig
header = os.path.join(sysconfig.get_paths()["include"], "Python.h")
assert os.path.exists(header), f"no {header}: Debian has it in python3-dev"
PYTHON
}
add_nanobind() { add_pinned nanobind && has_nanobind; }
extension=()
# Options of the release build, once packages are there or are known to be missing.
choose_extension() {
  [ -x .venv/bin/python ] || return 0
  extension=(-DBROADLOOM_BUILD_PYTHON=OFF)
  ! has_nanobind 2>/dev/null ||
    extension=(-DBROADLOOM_BUILD_PYTHON=ON "-DPython_EXECUTABLE=$PWD/.venv/bin/python")
}

# GCC 12's ThreadSanitizer does not start under some kernels' address space randomisation.
no_aslr=()
setarch "$(uname -m)" -R true 2>/dev/null && no_aslr=(setarch "$(uname -m)" -R)
# Stacks of 4 calls for each piece of memory take a tenth less time than those of 30.
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=1:malloc_context_size=4}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1}

finish() {
  local passed=0 failed=0 skipped=0 p f s row
  echo
  while read -r p f s row; do
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    echo "   $row"
  done <"$results"
  echo
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" -eq 0 ]
  exit
}

# A stage that installs what some tests want: NAME WHAT_IS_SKIPPED COMMAND...
optional_stage() {
  local name=$1 skipped=$2
  shift 2
  if stage "$name" "$@"; then report 0 0 0 "$stage_row"; return 0; fi
  if grep -q "DO NOT MATCH THE HASHES\|--require-hashes mode" "$stage_log"; then
    report 0 1 0 "$stage_row   FAILED: a package has another hash than this repository expects"
    return 1
  fi
  report 0 0 0 "$stage_row   NOT INSTALLED: $skipped"
  echo "**** $name could not be installed: $skipped. With a registry: ./test.sh again"
  return 1
}

add_mpi() { tools/setup.sh --mpi; }  # Open MPI, for runs of several processes

install_packages() {
  optional_stage "python" "the tests against Python libraries report SKIPPED" \
    add_pinned gymnasium numpy tensorboard safetensors
  if [ -x .venv/bin/python ]; then
    # For one test, which compares intervals with this library.
    optional_stage "rliable" "study.rliable reports SKIPPED" add_pinned rliable
    # For one test, which compares its games step by step.
    optional_stage "minatar" "oracle.minatar reports SKIPPED" add_pinned minatar
    # CMake finds MuJoCo in .venv. The other packages are for the windows of Gymnasium's module.
    optional_stage "mujoco" "the bridge to MuJoCo is neither built nor tested" \
      add_pinned mujoco-core glfw imageio packaging
    optional_stage "procgen" "plugins.procgen reports SKIPPED" add_procgen
    optional_stage "matplotlib" \
      "figure.kept, figure.descriptions and python.notebook report SKIPPED" add_pinned matplotlib
    # For one test, which has it play exported policies.
    optional_stage "onnxruntime" "formats.export_onnxruntime reports SKIPPED" add_pinned onnxruntime
    # Sinks of runs are read back by these, Optuna searches, and mypy checks a user's code.
    optional_stage "workflow" "python.wandb, python.mlflow and python.optuna report SKIPPED" \
      add_pinned wandb mlflow-skinny optuna mypy
    optional_stage "jax" "python.jax reports SKIPPED" add_pinned jax gymnax absl-py six
    optional_stage "warp" "python.warp reports SKIPPED" add_pinned mujoco-core mujoco-warp
    # Packs the source, for one test.
    optional_stage "packer" "python.package reports SKIPPED" add_pinned scikit-build-core
    optional_stage "nanobind" \
      "the Python package is neither built nor tested (it needs python3-dev, too)" add_nanobind
  fi
  optional_stage "mpi" "ranks.mpi reports SKIPPED; ranks that are threads are still tested" \
    add_mpi || true
}

# The chosen stages of the release build, in one run of ctest, so that no core waits between them.
test_release() {
  local name labels=() targets="test_programs"
  for name in unit golden cli runs learning pages python bridges examples perf; do
    has "$name" && labels+=("${labels_of[$name]}")
  done
  has build || [ ${#labels[@]} -gt 0 ] || return 0
  has golden && targets="golden_tests $targets"
  has cli runs learning && targets="broadloom_cli $targets"
  has build pages python bridges examples perf && targets=all
  check_stage "build release" configure_and_build release "$targets" "${extension[@]}" || return 1
  has build && sed -n 's/^-- \(No nvcc .*\)/**** \1/p' "$stage_log"
  [ ${#labels[@]} -eq 0 ] && return
  ctest_stage "test release" release -L "^($(IFS='|'; echo "${labels[*]}"))\$"
}
test_tidy() {
  has tidy || return 0
  check_stage "clang-tidy" tools/check_tidy.sh
  # Names that clash cost a minute.
  sed -n 's/^check_tidy.sh: \(.* one by one\)/**** \1/p' "$stage_log"
}
test_sanitizer() {
  has "$1" || return 0
  check_stage "build $1" configure_and_build "$1" test_programs || return 1
  ctest_stage "test $1" "$1"
}

# More cases of what ctest plays some hundreds of.
test_fuzz() {
  has fuzz || return 0
  local name
  check_stage "build fuzz" configure_and_build asan fuzz_programs || return 1
  for name in checkpoint log store toml; do
    check_stage "fuzz $name" "build/asan/tests/fuzz/fuzz_$name" 25000 --jobs "$BROADLOOM_JOBS"
  done
  check_stage "fuzz state" build/asan/tests/fuzz/fuzz_state
  check_stage "build bits" configure_and_build release "fuzz_bits fuzz_idle" || return 1
  check_stage "fuzz bits" build/release/tests/fuzz/fuzz_bits 200 --jobs "$BROADLOOM_JOBS"
  check_stage "fuzz idle" build/release/tests/fuzz/fuzz_idle
}

# The files of a release of HEAD, then each wheel with every CPython that it serves.
test_wheel() {
  has wheel || return 0
  # pyenv hides interpreters that its own file does not name.
  if command -v pyenv >/dev/null; then
    PYENV_VERSION=$(pyenv version-name | cut -d: -f1)
    PYENV_VERSION+=$(pyenv versions --bare | sed -n 's/^3\./:3./p' | tr -d '\n')
    export PYENV_VERSION
  fi
  check_stage "build program" configure_and_build release broadloom_cli || return 1
  check_stage "make wheels" tools/release.sh || return 1
  check_stage "try wheels" python3 tests/python/wheel_test.py build/release-files \
    build/release/cli/broadloom
}

stage "set-up" tools/setup.sh --tests || { report 0 1 0 "$stage_row   FAILED"; finish; }
report 0 0 0 "$stage_row"
all_at_once=${BROADLOOM_SIDE_BY_SIDE:-0}
large=(test_release test_tidy "test_sanitizer asan")
# Packages come over the network, and the thread sanitizer needs none of them: both at once.
if has pages python bridges examples asan; then
  side_by_side=1
  install_packages &
fi
has format && check_stage "format" tools/check_format.sh
if [ "$all_at_once" = 1 ]; then large+=("test_sanitizer tsan"); else test_sanitizer tsan; fi
wait
side_by_side=$all_at_once
has pages python bridges examples asan && choose_extension
test_words
test_python_format
if [ "$all_at_once" = 1 ]; then
  jobs=$((BROADLOOM_JOBS > 8 ? BROADLOOM_JOBS / 4 : 2))
  for part in "${large[@]}"; do (BROADLOOM_JOBS=$jobs; $part) & done
  wait
else
  for part in "${large[@]}"; do $part; done
fi
test_fuzz
test_wheel
finish
