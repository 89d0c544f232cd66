#!/usr/bin/env bash
# Whether the storage layer compiles against another RocksDB: its headers suffice.
#
#   git clone --depth 1 -b v9.10.0 https://github.com/facebook/rocksdb /tmp/rocksdb
#   scripts/check_rocksdb_headers.sh /tmp/rocksdb/include
set -euo pipefail

include=${1:?"usage: $0 INCLUDE_DIR (the directory that holds rocksdb/version.h)"}
[[ -f $include/rocksdb/version.h ]] || { echo "$include/rocksdb/version.h is not there" >&2; exit 1; }
cd "$(dirname "$0")/.."
awk '/define ROCKSDB_(MAJOR|MINOR|PATCH)/ {print $2, $3}' "$include/rocksdb/version.h"

failed=0
while read -r file; do
  "${CXX:-c++}" -std=c++20 -fsyntax-only -Wall -Wextra -Wno-missing-field-initializers -Werror -isystem "$include" -Isrc -Iinclude "$file" || failed=1
done < <(find src/storage -name '*.cc')
exit $failed
