#!/bin/sh
# with_python.sh PYTHON MODULE SCRIPT ARGUMENTS...: runs the script, or prints SKIPPED and the
# reason (exit 77).
python=$1
module=$2
shift 2
if ! "$python" -c "import $module" 2>/dev/null; then
  echo "SKIPPED: '$python' cannot import $module; ./test.sh installs it into .venv"
  exit 77
fi
exec "$python" "$@"
