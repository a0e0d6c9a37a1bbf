#!/bin/sh
# The site is built without a warning, and its pages load nothing from elsewhere. Exit code 77
# without a registry.
cd "$(dirname "$0")/../.." || exit 1
tools/site.sh
case $? in
  0) ;;
  3) exit 77 ;;
  *) exit 1 ;;
esac
for page in index docs/study experiments/README; do
  [ -s "build/site/html/$page.html" ] || [ -s "build/site/html/${page%README}index.html" ] ||
    { echo "there is no $page"; exit 1; }
done
if command -v doxygen >/dev/null &&
  ! grep -q "api/vec__env_8h.html" build/site/html/docs/own_environment.html; then
  echo "docs/own_environment does not lead to the reference of vec_env.h"
  exit 1
fi
for kind in Tutorials Guides Reference Explanation; do
  grep -q "$kind" build/site/html/index.html ||
    { echo "the first page does not lead to $kind"; exit 1; }
done
grep -q 'title="Switch to dark mode"' build/site/html/index.html || { echo "no dark mode"; exit 1; }
grep -q "Broadloom [0-9.]*, revision" build/site/html/docs/python.html ||
  { echo "no version at the foot of docs/python"; exit 1; }
grep -q 'study_report.png' build/site/html/index.html || { echo "no picture"; exit 1; }
if grep -rlE "<(script|link|img)[^>]*(src|href)=\"?https?:" build/site/html --include=*.html; then
  echo "these pages fetch something from elsewhere"
  exit 1
fi
