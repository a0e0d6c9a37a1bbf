#!/usr/bin/env bash
# Lists the C++ files that clang-format would change; --fix changes them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mode=(--dry-run -Werror)
[ "${1:-}" = --fix ] && mode=(-i)
command -v clang-format >/dev/null ||
  { echo "check_format.sh: clang-format is not installed" >&2; exit 1; }
# safe.directory: a clone made by another user is still ours to read.
git -c safe.directory='*' ls-files -z --cached --others --exclude-standard -- '*.h' '*.cc' '*.cu' |
  xargs -0 -r clang-format "${mode[@]}"
