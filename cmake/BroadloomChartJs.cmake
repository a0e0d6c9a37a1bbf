# Finds the minified Chart.js that report pages contain: BROADLOOM_CHART_JS.
find_file(BROADLOOM_CHART_JS NAMES chart.min.js Chart.min.js
          PATHS /usr/share/javascript /usr/share/nodejs PATH_SUFFIXES chart.js chart.js/dist
          DOC "Chart.js 3, minified, in one file")
if(NOT BROADLOOM_CHART_JS OR NOT EXISTS "${BROADLOOM_CHART_JS}")
  message(FATAL_ERROR "Chart.js was not found (BROADLOOM_CHART_JS is '${BROADLOOM_CHART_JS}'). \
Install Debian's package libjs-chart.js, as tools/setup.sh does, or set \
-DBROADLOOM_CHART_JS=/path/to/chart.min.js to version 3 of https://www.chartjs.org.")
endif()
# Chart.js changes between major versions, so a wrong one is refused here, not in the browser.
file(READ "${BROADLOOM_CHART_JS}" chart_js_head LIMIT 200)
if(NOT chart_js_head MATCHES "Chart\\.js v3\\.")
  message(FATAL_ERROR "'${BROADLOOM_CHART_JS}' is not version 3 of Chart.js; \
set -DBROADLOOM_CHART_JS=/path/to/chart.min.js to one of 3.x (Debian: libjs-chart.js 3.9.1).")
endif()
