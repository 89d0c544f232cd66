#!/bin/bash
# Installs the JavaScript SDKs that are missing and runs the tests that use them; the report goes to the file that is given.
cd "$(dirname "$0")/.." || exit 1
. scripts/packages.sh
node=$(node_command) || exit 1
cd tests/sdk/js || exit 1
npm ls >/dev/null 2>&1 || $npm_install || exit 1
exec timeout 300 "$node" --test --test-reporter=spec --test-reporter-destination=stdout \
  --test-reporter=junit --test-reporter-destination="$1" ./*.test.js </dev/null
