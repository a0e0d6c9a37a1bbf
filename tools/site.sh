#!/usr/bin/env bash
# Builds the documentation as a site of plain files, build/site/html/index.html. It opens from disk,
# without a network. `tools/site.sh --serve` shows it while you edit pages. Installs mkdocs-material
# from the Python registry into build/site/venv, in the versions of tools/site/requirements.txt.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=build/site/venv
wants=tools/site/requirements.txt
if ! cmp -s "$wants" "$venv/wants.txt"; then
  echo "installing mkdocs-material into $venv"
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-input --require-hashes \
    -r "$wants" 2>&1 | tee "$venv/pip.log" >&2 || {
      ! grep -q "DO NOT MATCH THE HASHES" "$venv/pip.log" || exit 1
      echo "site.sh: cannot install mkdocs-material; does pip reach a registry?" >&2
      exit 3
    }
  cp "$wants" "$venv/wants.txt"
fi
exec "$venv/bin/python" tools/site/build.py "$@"
