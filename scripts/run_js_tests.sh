#!/bin/bash
# Installs the packages that the JavaScript tests of a directory lack, builds what they need and runs them; the report goes to the file that is given.
#   scripts/run_js_tests.sh DIRECTORY REPORT
cd "$(dirname "$0")/.." || exit 1
. scripts/packages.sh
node=$(node_command) || exit 1
cd "$1" || exit 1
npm ls >/dev/null 2>&1 || $npm_install || exit 1
npm run --silent --if-present build >&2 || exit 1
exec timeout 300 "$node" --test --test-reporter=spec --test-reporter-destination=stdout \
  --test-reporter=junit --test-reporter-destination="$2" ./*.test.js </dev/null
