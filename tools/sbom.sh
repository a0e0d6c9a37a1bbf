#!/usr/bin/env bash
# Writes broadloom.cdx.json, the SBOM of the built program and Python extension in CycloneDX: names,
# versions and licences of the parts of others. tools/sbom.py says how they are found.
#   tools/sbom.sh [FOLDER] [BUILD]   default: build/sbom, build/release
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
folder=${1:-$root/build/sbom}
venv=$root/build/sbom/venv
if ! "$venv/bin/python" "$root/tools/pinned.py" --installed cyclonedx-python-lib 2>/dev/null; then
  wanted=$(python3 "$root/tools/pinned.py" cyclonedx-python-lib)
  python3 -m venv "$venv"
  "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-input --require-hashes \
    -r <(echo "$wanted") </dev/null
fi
mkdir -p "$folder"
"$venv/bin/python" "$root/tools/sbom.py" "${2:-$root/build/release}" "$folder/broadloom.cdx.json"
