#!/usr/bin/env bash
# clang-tidy over the library and the program, two files at a time (BROADLOOM_JOBS):
#   tools/check_tidy.sh            files changed within a day before the newest commit, and since
#                                  (tidy_changed.py)
#   tools/check_tidy.sh --all      every file. These two read several files at once (tidy_units.py),
#                                  without the analyser: the sanitizers run the same paths
#   tools/check_tidy.sh FILE ...   these files, each by itself and with the analyser. Use it for
#                                  files that you changed: it also finds missing includes
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v clang-tidy >/dev/null ||
  { echo "check_tidy.sh: clang-tidy is not installed" >&2; exit 1; }
files=("$@") together=0
case "${1:-}" in
  "") together=1; list=$(python3 tools/tidy_changed.py) ;;
  --all)
    together=1
    list=$(git -c safe.directory='*' ls-files --cached --others --exclude-standard -- \
      'broadloom/*.cc' 'research/*.cc' 'bridges/*.cc' 'cli/*.cc' 'cuda/*.cc') ;;
  -*) echo "check_tidy.sh: got '$1', expected --all or names of files" >&2; exit 2 ;;
esac
if [ $together = 1 ]; then
  [ -n "$list" ] || exit 0
  mapfile -t files <<<"$list"
fi
# Uses its own configuration: clang cannot read GCC's precompiled headers.
commands=$(mktemp -d)
trap 'rm -rf "$commands"' EXIT
cmake -S . -B "$commands" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DBROADLOOM_SHARED_UNITS=OFF -DBROADLOOM_BUILD_TESTS=OFF \
  -DBROADLOOM_BUILD_BENCH=OFF >"$commands/configure.log" ||
  { cat "$commands/configure.log" >&2; exit 1; }
sed -i 's/ -fpch-preprocess//' "$commands/compile_commands.json"
# Reads Highway's kernels once, for AVX2, instead of once for each instruction set.
extra=(--extra-arg=-DHWY_COMPILE_ONLY_STATIC)
[ "$(uname -m)" = x86_64 ] && extra+=(--extra-arg=-march=haswell --extra-arg=-maes)
if [ $together = 1 ]; then
  here=$(pwd -P | sed 's/[^A-Za-z0-9\/_-]/[&]/g')
  headers="(broadloom|research|bridges|cli)/[^.]*[.]h"
  sources="(broadloom|research|bridges|cli|cuda)/[^.]*[.]cc"
  extra+=("--checks=-clang-analyzer-*" "--header-filter=^$here/($headers|$sources)\$")
  mapfile -t files < <(python3 tools/tidy_units.py "$commands" "${files[@]}")
  [ ${#files[@]} -gt 0 ] || exit 1
fi
# The analyser walks a tenth of its usual paths in each function, which halves its time. The
# sanitizers run the other paths.
for word in -Xclang -analyzer-config -Xclang max-nodes=20000; do extra+=("--extra-arg=$word"); done
# Runs clang-tidy on a unit, without its count of suppressed warnings. A unit that does not compile
# may hold files with clashing names, so each of its files is then read by itself.
tidy() {
  local unit=$1 output code=0 file
  shift
  output=$(clang-tidy -p "$commands" --quiet "$@" "$unit" \
    2> >(grep -v 'warnings\? generated\.$' >&2)) || code=$?
  if [[ $code != 0 && $unit == "$commands"/* && $output == *clang-diagnostic-error* ]]; then
    echo "check_tidy.sh: $unit does not compile, so its files are read one by one"
    code=0
    while read -r file; do tidy "$file" "$@" || code=1; done \
      < <(sed -n 's/^#include "\([^"]*\)".*/\1/p' "$unit")
    return $code
  fi
  [ -z "$output" ] || printf '%s\n' "$output"
  return $code
}
export -f tidy
export commands
printf '%s\0' "${files[@]}" |
  xargs -0 -P "${BROADLOOM_JOBS:-2}" -I {} bash -c 'tidy "$@"' tidy {} "${extra[@]}"
