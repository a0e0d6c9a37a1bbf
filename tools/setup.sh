#!/usr/bin/env bash
# Installs the packages that Broadloom needs. Does nothing, and asks nothing, if all are installed.
#   tools/setup.sh           for the build
#   tools/setup.sh --tests   also for the tests
#   tools/setup.sh --mujoco  also MuJoCo (docs/envs/MuJoCo.md): from PyPI into build/mujoco, where
#                            CMake finds it
#   tools/setup.sh --mpi     also Debian's Open MPI (docs/ranks.md)
# BROADLOOM_SKIP_SETUP=1 skips the check, for systems without apt-get.
set -euo pipefail

packages=(g++ cmake ninja-build git libhwy-dev librandom123-dev libfmt-dev nlohmann-json3-dev
          libtomlplusplus-dev libcli11-dev libxxhash-dev libsqlite3-dev libjs-chart.js)
test_packages=(libgtest-dev libbenchmark-dev clang-format clang-tidy python3 python3-venv
               chromium)
render_packages=(libegl1 libgl1-mesa-dri libwebp7)  # broadloom watch in three dimensions

case "${1:-}" in
  "") ;;
  --tests) packages+=("${test_packages[@]}" "${render_packages[@]}") ;;
  --mujoco) packages+=(python3 python3-venv "${render_packages[@]}") ;;
  --mpi) packages+=(libopenmpi-dev openmpi-bin) ;;
  *) echo "setup.sh: unknown option '$1'; expected --tests, --mujoco or --mpi" >&2; exit 2 ;;
esac

# MuJoCo's library and headers, and Gymnasium for its models, in the versions of
# cmake/BroadloomMujoco.cmake and with the hashes of tests/requirements.txt.
add_mujoco() {
  local root venv wanted
  root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
  venv="$root/build/mujoco"
  compgen -G "$venv/lib/python3*/site-packages/mujoco/libmujoco.so.4.0.0" >/dev/null &&
    compgen -G "$venv/lib/python3*/site-packages/gymnasium-1.4.0.dist-info" >/dev/null && return 0
  echo "Installing MuJoCo and Gymnasium into build/mujoco"
  wanted=$("$root/tools/pinned.py" --alone mujoco-core gymnasium)
  python3 -m venv "$venv"
  "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-input --timeout 20 \
    --retries 2 --no-deps --require-hashes -r <(echo "$wanted") </dev/null || {
      echo "setup.sh: MuJoCo was not installed; does pip reach a registry? All else works." >&2
      exit 1
    }
  echo "Build again: cmake --preset release && cmake --build --preset release"
}
finish() {
  [ "${1:-}" != --mujoco ] || add_mujoco
  exit 0
}
[ "${BROADLOOM_SKIP_SETUP:-0}" = 1 ] && finish "$@"

say_by_hand() {
  {
    echo
    echo "Please install these packages (Debian's names), then run this again:"
    printf '  %s\n' "$@"
    echo "CMake must be 3.25 or newer, the compiler g++ 12, clang 14 or newer."
    echo "If they are there under other names, set BROADLOOM_SKIP_SETUP=1."
  } >&2
  exit 1
}

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  echo "setup.sh: this system has no apt-get, so nothing was installed." >&2
  say_by_hand "${packages[@]}"
fi

is_installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null | head -c 9)" = installed ]
}
missing=()
for package in "${packages[@]}"; do
  is_installed "$package" || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && finish "$@"

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup.sh: not root, and there is no sudo, so nothing was installed." >&2
    say_by_hand "${missing[@]}"
  fi
  as_root=(sudo)
fi

echo "Installing: ${missing[*]}"
install_missing() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -q --no-install-recommends "${missing[@]}" </dev/null
}
# The package lists may be absent or old: refresh them only when the first try fails.
if ! install_missing >/dev/null 2>&1; then
  "${as_root[@]}" apt-get update -q ||
    echo "setup.sh: apt-get update failed; trying to install without it." >&2
  install_missing || { echo "setup.sh: apt-get could not install everything." >&2
                       say_by_hand "${missing[@]}"; }
fi
finish "$@"
