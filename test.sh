#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test.
#   ./test.sh         everything: release tests, sanitizers, format, clang-tidy
#   ./test.sh quick   the release build and its tests only
# Ends with a table of stages and one line: N passed, N failed, N skipped. Exit status 0 only when
# nothing failed. BROADLOOM_JOBS sets how many things run at once (default: the number of cores).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

case "${1:-all}" in
  all | quick) mode=${1:-all} ;;
  *) echo "test.sh: unknown argument '$1'; the only one is 'quick'" >&2; exit 2 ;;
esac
export BROADLOOM_JOBS=${BROADLOOM_JOBS:-$(nproc)}
export PYTHONDONTWRITEBYTECODE=1
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}  # or ccache keeps nothing: CMakeLists.txt says why
logs=build/test-logs
mkdir -p "$logs"
rm -f "$logs"/*

passed=0 failed=0 skipped=0
rows=()

# stage NAME COMMAND...: runs it with its output in a log file, shows the log when it fails.
stage() {
  local name=$1 start=$SECONDS code=0
  shift
  stage_log="$logs/${name// /-}.log"
  printf -- '-- %-16s ' "$name"
  "$@" >"$stage_log" 2>&1 || code=$?
  printf '%4d s  %s\n' $((SECONDS - start)) "$([ $code -eq 0 ] && echo ok || echo FAILED)"
  stage_row="$(printf '%-16s %5d s' "$name" $((SECONDS - start)))"
  if [ $code -ne 0 ]; then
    tail -n 60 "$stage_log"
    echo "-- all of it: $stage_log"
  fi
  return $code
}

# A stage that is one check: it counts as one test.
check_stage() {
  if stage "$@"; then
    passed=$((passed + 1)); rows+=("$stage_row   ok")
  else
    failed=$((failed + 1)); rows+=("$stage_row   FAILED")
  fi
}

attribute() { sed -n "s/^[[:space:]]*$2=\"\([0-9]*\)\".*/\1/p" "$1" | head -n 1; }

# A stage that is a ctest run: NAME PRESET CTEST_OPTIONS... Its tests are counted as ctest knows them: for sanitizers,
# a program of many cases is one, and its skipped cases are not told.
ctest_stage() {
  local name=$1 preset=$2 code=0
  shift 2
  local report="$PWD/$logs/${name// /-}.xml"
  stage "$name" "${no_aslr[@]}" ctest --preset "$preset" -j "$BROADLOOM_JOBS" --no-tests=error \
    --output-junit "$report" "$@" || code=1
  local all=0 bad=0 left_out=0
  if [ -f "$report" ]; then
    all=$(attribute "$report" tests)
    bad=$(attribute "$report" failures)
    left_out=$(($(attribute "$report" skipped) + $(attribute "$report" disabled)))
  fi
  [ $code -ne 0 ] && [ "$bad" -eq 0 ] && bad=1 all=$((all + 1))
  passed=$((passed + all - bad - left_out))
  failed=$((failed + bad))
  skipped=$((skipped + left_out))
  rows+=("$stage_row   $((all - bad - left_out)) passed, $bad failed, $left_out skipped")
  if [ "$left_out" -gt 0 ]; then
    grep -E '\*\*\*(Skipped|Not Run)' "$stage_log" | sed -E 's/\.{3,}/ ... /; s/^/   SKIPPED: /'
  fi
}

configure_and_build() {
  local preset=$1 launcher=()
  command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  shift
  cmake --preset "$preset" -DBROADLOOM_BUILD_TESTS=ON "$@" "${launcher[@]}" &&
    "${no_aslr[@]}" cmake --build --preset "$preset" -j "$BROADLOOM_JOBS"
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

# rliable, for one test: it compares intervals with the library they are from. It wants plotting packages that
# nothing here uses, and a pandas before 3, so it comes apart from the rest, and its lack costs that test only.
rliable_wants=("arch<8" "pandas<3" scipy absl-py)
rliable_is_ready() { .venv/bin/python -W ignore -c "import rliable.library, rliable.metrics"; }
add_rliable() {
  rliable_is_ready 2>/dev/null && return 0
  local pip=(timeout 300 .venv/bin/python -m pip install -q --disable-pip-version-check --no-input --timeout 20 --retries 2)
  "${pip[@]}" "${rliable_wants[@]}" </dev/null && "${pip[@]}" --no-deps rliable==1.2.0 </dev/null && rliable_is_ready
}

# MinAtar, for one test, which compares its games step by step: without the plotting packages that it wants for its windows.
minatar_is_ready() { .venv/bin/python -c "import importlib.metadata as m; assert m.version('MinAtar') == '1.0.15'; import minatar.gym"; }
add_minatar() {
  minatar_is_ready 2>/dev/null && return 0
  timeout 300 .venv/bin/python -m pip install -q --disable-pip-version-check --no-input --timeout 20 --retries 2 \
    --no-deps MinAtar==1.0.15 </dev/null && minatar_is_ready
}

# Procgen, for one test: its library and pictures, which need no Python of theirs. The wheel is of Python 3.10 and of x86-64.
procgen_is_ready() { [ -f .venv/procgen/procgen/data/prebuilt/libenv.so ]; }
add_procgen() {
  procgen_is_ready && return 0
  local wheels
  wheels=$(mktemp -d) || return 1
  timeout 300 .venv/bin/python -m pip download -q --disable-pip-version-check --no-input --timeout 20 --retries 2 --no-deps \
    --only-binary=:all: --python-version 3.10 --dest "$wheels" procgen==0.10.7 </dev/null &&
    .venv/bin/python -m zipfile -e "$wheels"/procgen-*.whl .venv/procgen.part && mv .venv/procgen.part .venv/procgen
  rm -rf "$wheels"
  procgen_is_ready
}

# ONNX Runtime, for one test, which has it play exported policies.
onnxruntime_is_ready() { .venv/bin/python -c "import onnxruntime"; }
add_onnxruntime() {
  onnxruntime_is_ready 2>/dev/null && return 0
  timeout 300 .venv/bin/python -m pip install -q --disable-pip-version-check --no-input --timeout 20 --retries 2 \
    onnxruntime </dev/null && onnxruntime_is_ready
}

# What the extension of `import broadloom` is built with, for the tests of the Python package.
nanobind_is_ready() {
  .venv/bin/python - <<'PYTHON'
import nanobind, os, sysconfig
header = os.path.join(sysconfig.get_paths()["include"], "Python.h")
assert os.path.exists(header), f"no {header}: Debian has it in python3-dev"
PYTHON
}
add_nanobind() {
  nanobind_is_ready 2>/dev/null && return 0
  timeout 300 .venv/bin/python -m pip install -q --disable-pip-version-check --no-input --timeout 20 --retries 2 \
    "nanobind>=2" </dev/null && nanobind_is_ready
}
extension=(-DBROADLOOM_BUILD_PYTHON=OFF)

# MuJoCo, for its bridge and the test against Gymnasium's tasks, whose module wants the two others for its windows. CMake finds it in .venv.
mujoco_is_ready() {
  .venv/bin/python -c "import importlib.metadata as m; assert m.version('mujoco-core') == '4.0.0'; import gymnasium.envs.mujoco.mujoco_rendering"
}
add_mujoco() {
  mujoco_is_ready 2>/dev/null && return 0
  timeout 300 .venv/bin/python -m pip install -q --disable-pip-version-check --no-input --timeout 20 --retries 2 \
    mujoco-core==4.0.0 glfw imageio packaging </dev/null && mujoco_is_ready
}

# GCC 12's ThreadSanitizer does not start under some kernels' address space randomisation.
no_aslr=()
setarch "$(uname -m)" -R true 2>/dev/null && no_aslr=(setarch "$(uname -m)" -R)
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1}

finish() {
  echo
  printf '   %s\n' "${rows[@]}"
  echo
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" -eq 0 ]
  exit
}

stage "set-up" tools/setup.sh --tests || { failed=1; rows+=("$stage_row   FAILED"); finish; }
rows+=("$stage_row")
if stage "python" make_venv; then
  rows+=("$stage_row")
else
  rows+=("$stage_row   NO PACKAGES: the tests against Python libraries are SKIPPED")
  echo "**** No package registry answered: the tests that compare with real Gymnasium, TensorBoard"
  echo "**** and safetensors report SKIPPED. With a registry: rm -rf .venv && ./test.sh"
fi

# A stage that installs what some tests want: NAME COMMAND WHAT_IS_SKIPPED without it.
optional_stage() {
  if stage "$1" "$2"; then rows+=("$stage_row"); return 0; fi
  rows+=("$stage_row   NOT INSTALLED: $3")
  echo "**** $1 could not be installed: $3. With a registry: ./test.sh again"
  return 1
}

if [ -x .venv/bin/python ]; then
  optional_stage "rliable" add_rliable "study.rliable reports SKIPPED"
  optional_stage "minatar" add_minatar "oracle.minatar reports SKIPPED"
  optional_stage "mujoco" add_mujoco "the bridge to MuJoCo is neither built nor tested"
  optional_stage "procgen" add_procgen "plugins.procgen reports SKIPPED"
  optional_stage "onnxruntime" add_onnxruntime "formats.export_onnxruntime reports SKIPPED"
  if optional_stage "nanobind" add_nanobind "the Python package is neither built nor tested (it wants python3-dev, too)"; then
    extension=(-DBROADLOOM_BUILD_PYTHON=ON "-DPython_EXECUTABLE=$PWD/.venv/bin/python")
  fi
fi

# Open MPI, for runs of several processes.
add_mpi() { tools/setup.sh --mpi; }
optional_stage "mpi" add_mpi "ranks.mpi reports SKIPPED; ranks that are threads are tested all the same" || true

check_stage "build release" configure_and_build release "${extension[@]}"
ctest_stage "test release" release
if [ "$mode" = all ]; then
  check_stage "format" tools/check_format.sh
  check_stage "clang-tidy" tools/check_tidy.sh
  for sanitizer in asan tsan; do
    check_stage "build $sanitizer" configure_and_build "$sanitizer"
    ctest_stage "test $sanitizer" "$sanitizer"
  done
fi
finish
