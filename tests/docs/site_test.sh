#!/bin/sh
# The documentation's site is built without a warning, and a page of it wants nothing from elsewhere. 77 without a registry.
cd "$(dirname "$0")/../.." || exit 1
tools/site.sh
case $? in
  0) ;;
  3) exit 77 ;;
  *) exit 1 ;;
esac
for page in index docs/study experiments/README; do
  [ -s "build/site/html/$page.html" ] || [ -s "build/site/html/${page%README}index.html" ] || { echo "there is no $page"; exit 1; }
done
if command -v doxygen >/dev/null && ! grep -q "api/vec__env_8h.html" build/site/html/docs/own_environment.html; then
  echo "docs/own_environment does not lead to the reference of vec_env.h"
  exit 1
fi
if grep -rlE "<(script|link|img)[^>]*(src|href)=\"?https?:" build/site/html --include=*.html; then
  echo "these pages fetch something from elsewhere"
  exit 1
fi
