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
  printf '  %-10s %s\n' lint "format, words and tidy" all "every stage above" fuzz "${does[fuzz]}"
  echo "Without a name: unit, golden and cli."
}

declare -A chosen=()
[ $# -gt 0 ] || set -- unit golden cli
for name in "$@"; do
  case "$name" in -h | --help) usage; exit 0 ;; esac
  for one in ${group[$name]:-$name}; do
    if [ -z "${does[$one]:-}" ]; then
      echo "test.sh: got stage '$name', expected some of: ${stages[*]} lint all fuzz" >&2
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

# The Python side of the tests: real Gymnasium, TensorBoard and safetensors in .venv. Without a
# package registry those tests say SKIPPED; everything else runs.
python_wants=(gymnasium==1.4.0 numpy tensorboard safetensors)
python_is_ready() {
  [ -x .venv/bin/python ] && .venv/bin/python - <<'PYTHON'
import importlib.metadata as m
for name in ("numpy", "tensorboard", "safetensors"):
    m.version(name)
assert m.version("gymnasium") == "1.4.0"
PYTHON
}
make_venv() {
  python_is_ready 2>/dev/null && return 0
  [ -d .venv ] || python3 -m venv .venv || { rm -rf .venv; return 1; }
  timeout 400 .venv/bin/python -m pip install -q --disable-pip-version-check --no-input \
    --timeout 20 --retries 2 "${python_wants[@]}" </dev/null && python_is_ready
}

pip_quietly=(-q --disable-pip-version-check --no-input --timeout 20 --retries 2)
pip_install=(timeout 300 .venv/bin/python -m pip install "${pip_quietly[@]}")

# rliable, for one test: it compares intervals with this library. rliable requires plotting packages
# that nothing here uses, and a pandas before 3, so it is installed apart from the rest. Without it
# only that test is skipped.
rliable_wants=("arch<8" "pandas<3" scipy absl-py)
rliable_is_ready() { .venv/bin/python -W ignore -c "import rliable.library, rliable.metrics"; }
add_rliable() {
  rliable_is_ready 2>/dev/null && return 0
  "${pip_install[@]}" "${rliable_wants[@]}" </dev/null &&
    "${pip_install[@]}" --no-deps rliable==1.2.0 </dev/null && rliable_is_ready
}

# MinAtar, for one test that compares its games step by step, without the plotting packages of its
# windows.
minatar_is_ready() {
  .venv/bin/python -c "import importlib.metadata as m, minatar.gym
assert m.version('MinAtar') == '1.0.15'"
}
add_minatar() {
  minatar_is_ready 2>/dev/null && return 0
  "${pip_install[@]}" --no-deps MinAtar==1.0.15 </dev/null && minatar_is_ready
}

# Procgen, for one test: only its library and pictures, which need no Python. The wheel is for
# Python 3.10 on x86-64.
procgen_is_ready() { [ -f .venv/procgen/procgen/data/prebuilt/libenv.so ]; }
add_procgen() {
  procgen_is_ready && return 0
  local wheels
  wheels=$(mktemp -d) || return 1
  timeout 300 .venv/bin/python -m pip download "${pip_quietly[@]}" --no-deps --only-binary=:all: \
    --python-version 3.10 --dest "$wheels" procgen==0.10.7 </dev/null &&
    .venv/bin/python -m zipfile -e "$wheels"/procgen-*.whl .venv/procgen.part &&
    mv .venv/procgen.part .venv/procgen
  rm -rf "$wheels"
  procgen_is_ready
}

# matplotlib, which draws the figures that the repository keeps; other versions write other bytes.
matplotlib_is_ready() {
  .venv/bin/python -c "import matplotlib as m; assert m.__version__ == '3.11.2'"
}
add_matplotlib() {
  matplotlib_is_ready 2>/dev/null && return 0
  "${pip_install[@]}" matplotlib==3.11.2 </dev/null && matplotlib_is_ready
}

# ONNX Runtime, for one test, which has it play exported policies.
onnxruntime_is_ready() { .venv/bin/python -c "import onnxruntime"; }
add_onnxruntime() {
  onnxruntime_is_ready 2>/dev/null && return 0
  "${pip_install[@]}" onnxruntime </dev/null && onnxruntime_is_ready
}

# codespell and textstat, for the stage `words`.
words_are_ready() { .venv/bin/python -c "import codespell_lib, textstat"; }
add_words() {
  words_are_ready 2>/dev/null && return 0
  [ -d .venv ] || python3 -m venv .venv || return 1
  "${pip_install[@]}" codespell==2.4.3 textstat==0.7.13 </dev/null && words_are_ready
}
test_words() {
  has words || return 0
  optional_stage "words packages" add_words "words checks neither spelling nor readability"
  local python=python3
  [ ! -x .venv/bin/python ] || python=.venv/bin/python
  check_stage "words" "$python" tools/check_words.py
  grep '^\*\*\*\*' "$stage_log" || true  # skipped checks
}

# nanobind builds the extension of `import broadloom`, for the tests of the Python package.
nanobind_is_ready() {
  .venv/bin/python - <<'PYTHON'
import nanobind, os, sysconfig
header = os.path.join(sysconfig.get_paths()["include"], "Python.h")
assert os.path.exists(header), f"no {header}: Debian has it in python3-dev"
PYTHON
}
add_nanobind() {
  nanobind_is_ready 2>/dev/null && return 0
  "${pip_install[@]}" "nanobind>=2" </dev/null && nanobind_is_ready
}
extension=()

# MuJoCo, for its bridge and the test against Gymnasium's tasks. glfw and imageio are for the
# windows of Gymnasium's module. CMake finds MuJoCo in .venv.
mujoco_is_ready() {
  .venv/bin/python -c "import importlib.metadata as m, gymnasium.envs.mujoco.mujoco_rendering
assert m.version('mujoco-core') == '4.0.0'"
}
add_mujoco() {
  mujoco_is_ready 2>/dev/null && return 0
  "${pip_install[@]}" mujoco-core==4.0.0 glfw imageio packaging </dev/null && mujoco_is_ready
}

# GCC 12's ThreadSanitizer does not start under some kernels' address space randomisation.
no_aslr=()
setarch "$(uname -m)" -R true 2>/dev/null && no_aslr=(setarch "$(uname -m)" -R)
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=1}
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

# A stage that installs what some tests want: NAME COMMAND WHAT_IS_SKIPPED without it.
optional_stage() {
  if stage "$1" "$2"; then report 0 0 0 "$stage_row"; return 0; fi
  report 0 0 0 "$stage_row   NOT INSTALLED: $3"
  echo "**** $1 could not be installed: $3. With a registry: ./test.sh again"
  return 1
}

add_mpi() { tools/setup.sh --mpi; }  # Open MPI, for runs of several processes

install_packages() {
  if stage "python" make_venv; then
    report 0 0 0 "$stage_row"
  else
    report 0 0 0 "$stage_row   NO PACKAGES: the tests against Python libraries are SKIPPED"
    echo "**** No package registry answered: the tests that compare with Gymnasium, TensorBoard and"
    echo "**** safetensors report SKIPPED. With a registry: rm -rf .venv && ./test.sh all"
  fi
  if [ -x .venv/bin/python ]; then
    optional_stage "rliable" add_rliable "study.rliable reports SKIPPED"
    optional_stage "minatar" add_minatar "oracle.minatar reports SKIPPED"
    optional_stage "mujoco" add_mujoco "the bridge to MuJoCo is neither built nor tested"
    optional_stage "procgen" add_procgen "plugins.procgen reports SKIPPED"
    optional_stage "matplotlib" add_matplotlib \
      "figure.kept, figure.descriptions and python.notebook report SKIPPED"
    optional_stage "onnxruntime" add_onnxruntime "formats.export_onnxruntime reports SKIPPED"
    if optional_stage "nanobind" add_nanobind \
      "the Python package is neither built nor tested (it needs python3-dev, too)"; then
      extension=(-DBROADLOOM_BUILD_PYTHON=ON "-DPython_EXECUTABLE=$PWD/.venv/bin/python")
    else
      extension=(-DBROADLOOM_BUILD_PYTHON=OFF)
    fi
  fi
  optional_stage "mpi" add_mpi \
    "ranks.mpi reports SKIPPED; ranks that are threads are still tested" || true
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
  [ ${#labels[@]} -eq 0 ] && return
  ctest_stage "test release" release -L "^($(IFS='|'; echo "${labels[*]}"))\$"
}
test_tidy() { has tidy || return 0; check_stage "clang-tidy" tools/check_tidy.sh; }
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
  check_stage "build bits" configure_and_build release fuzz_bits || return 1
  check_stage "fuzz bits" build/release/tests/fuzz/fuzz_bits 200 --jobs "$BROADLOOM_JOBS"
}

stage "set-up" tools/setup.sh --tests || { report 0 1 0 "$stage_row   FAILED"; finish; }
report 0 0 0 "$stage_row"
has pages python bridges examples asan && install_packages
has format && check_stage "format" tools/check_format.sh
test_words
large=(test_release test_tidy "test_sanitizer asan" "test_sanitizer tsan")
side_by_side=${BROADLOOM_SIDE_BY_SIDE:-0}
if [ "$side_by_side" = 1 ]; then
  jobs=$((BROADLOOM_JOBS > 8 ? BROADLOOM_JOBS / 4 : 2))
  for part in "${large[@]}"; do (BROADLOOM_JOBS=$jobs; $part) & done
  wait
else
  for part in "${large[@]}"; do $part; done
fi
test_fuzz
finish
