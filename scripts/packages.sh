# Installs the Debian packages that are missing; sourced by ./run and ./test.

# GoogleTest is among them because configuring a preset looks for all that the preset can build.
holdfast_build_packages="cmake ninja-build g++ librocksdb-dev libsimdjson-dev libdeflate-dev libxxhash-dev libgoogle-perftools-dev libssl-dev libcurl4-openssl-dev libyaml-cpp-dev libre2-dev libcli11-dev libgtest-dev libgmock-dev"
holdfast_test_packages="python3-pytest python3-boto3 awscli openjdk-17-jre-headless clang-14 libclang-rt-14-dev g++-aarch64-linux-gnu qemu-user libsimde-dev python3-yaml python3-jsonschema python3-websocket python3-websockets python3-cryptography chromium"

# install_packages NAME...: with sudo when needed; asks apt for nothing when all are there.
install_packages() {
  local missing=() name
  for name in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || missing+=("$name")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  local as_root=""
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "Please install, as root: apt-get install ${missing[*]}" >&2; return 1; }
    as_root=sudo
  fi
  echo "Installing packages: ${missing[*]}" >&2
  $as_root apt-get update -qq >&2 &&
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

# build_preset NAME [TARGETS...]: configures when needed, then builds.
build_preset() {
  local preset=$1
  shift
  [ -f "build/$preset/build.ninja" ] || cmake --preset "$preset" >&2 || return 1
  cmake --build --preset "$preset" ${1:+--target "$@"} >&2
}

# node_command: prints which Node.js to use. The SDKs need version 20: where the machine's is older, as Debian 12's is, npm's
# package of it is installed under build/. Run in the repository's root.
npm_install="npm install --no-package-lock --no-audit --no-fund --silent"
node_command() {
  command -v npm >/dev/null || install_packages nodejs npm || return 1
  local node=node
  if [ "$(node -p 'process.versions.node.split(".")[0]')" -lt 20 ]; then
    node=$PWD/build/node/node_modules/.bin/node
    [ -x "$node" ] || $npm_install --prefix build/node node@22 >&2 || return 1
  fi
  echo "$node"
}
