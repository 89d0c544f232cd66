#!/bin/bash
# Installs the JavaScript SDKs that are missing and runs the tests that use them; the report goes to the file that is
# given. The SDKs need Node.js 20: where the machine's is older, as Debian 12's is, npm's package of it is used.
cd "$(dirname "$0")/.." || exit 1
. scripts/packages.sh
command -v npm >/dev/null || install_packages nodejs npm || exit 1
install="npm install --no-package-lock --no-audit --no-fund --silent"
node=node
if [ "$(node -p 'process.versions.node.split(".")[0]')" -lt 20 ]; then
  node=$PWD/build/node/node_modules/.bin/node
  [ -x "$node" ] || $install --prefix build/node node@22 || exit 1
fi
cd tests/sdk/js || exit 1
npm ls >/dev/null 2>&1 || $install || exit 1
exec timeout 300 "$node" --test --test-reporter=spec --test-reporter-destination=stdout \
  --test-reporter=junit --test-reporter-destination="$1" ./*.test.js </dev/null
