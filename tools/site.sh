#!/usr/bin/env bash
# The documentation as a site of plain files, which opens from disk without a network:
# build/site/html/index.html. `tools/site.sh --serve` shows it while pages are edited. The tool
# (mkdocs-material) comes from the Python registry into build/site/venv, at the versions of
# tools/site/requirements.txt.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=build/site/venv
wants=tools/site/requirements.txt
if ! cmp -s "$wants" "$venv/wants.txt"; then
  echo "installing mkdocs-material into $venv"
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-input -r "$wants" ||
    { echo "no mkdocs-material: does the package registry answer?" >&2; exit 3; }
  cp "$wants" "$venv/wants.txt"
fi
exec "$venv/bin/python" tools/site/build.py "$@"
