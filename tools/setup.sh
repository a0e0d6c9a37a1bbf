#!/usr/bin/env bash
# Installs what Broadloom needs to build. Does nothing, and asks for nothing, when all is there.
#   tools/setup.sh           what the build needs
#   tools/setup.sh --tests   and what the tests need
# BROADLOOM_SKIP_SETUP=1 trusts that everything is there (for systems without apt-get).
set -euo pipefail

packages=(g++ cmake ninja-build git libhwy-dev librandom123-dev libfmt-dev nlohmann-json3-dev
          libtomlplusplus-dev libcli11-dev libxxhash-dev libsqlite3-dev libjs-chart.js)
test_packages=(libgtest-dev librapidcheck-dev libbenchmark-dev clang-format clang-tidy python3 python3-venv
               chromium)

case "${1:-}" in
  "") ;;
  --tests) packages+=("${test_packages[@]}") ;;
  *) echo "setup.sh: unknown option '$1'; the only one is --tests" >&2; exit 2 ;;
esac
[ "${BROADLOOM_SKIP_SETUP:-0}" = 1 ] && exit 0

say_by_hand() {
  {
    echo
    echo "Please install these (Debian's names), then run this again:"
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
[ ${#missing[@]} -eq 0 ] && exit 0

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
  "${as_root[@]}" apt-get update -q || echo "setup.sh: apt-get update failed; trying all the same." >&2
  install_missing || { echo "setup.sh: apt-get could not install everything." >&2
                       say_by_hand "${missing[@]}"; }
fi
