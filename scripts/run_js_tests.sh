#!/bin/bash
# Installs the JavaScript SDKs when they are missing and runs the tests that use them; the report goes to the file that is
# given. Needs Node.js 20 or newer with npm.
cd "$(dirname "$0")/../tests/sdk/js" || exit 1
[ -d node_modules/@aws-sdk/lib-dynamodb ] || npm install --no-package-lock --no-audit --no-fund --silent || exit 1
exec timeout 300 node --test --test-reporter=junit --test-reporter-destination="$1" ./*.test.js </dev/null
