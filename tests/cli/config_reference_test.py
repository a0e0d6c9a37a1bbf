"""docs/reference/config.md equals the program's output, so it has every change of a key."""

import difflib
import subprocess
import sys

program, page = sys.argv[1:]
written = subprocess.run(
    [program, "config-reference"], check=True, capture_output=True, text=True
).stdout
with open(page, encoding="utf-8") as file:
    kept = file.read()
diff = list(
    difflib.unified_diff(kept.splitlines(), written.splitlines(), page, "program", lineterm="")
)
if diff:
    print("\n".join(diff))
    sys.exit(f"{page} is out of date; write it anew: broadloom config-reference > {page}")
