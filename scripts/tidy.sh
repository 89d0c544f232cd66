#!/bin/bash
# Runs clang-tidy as .clang-tidy says, over src/ or over what is given: scripts/tidy.sh [FLAG...] [FILE.cc...]
# It takes seconds a file, minutes for all of src/, so ./test leaves it out: run it on what you changed.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh
install_packages $holdfast_build_packages clang-tidy-14
# Only configured, never built: how each file by itself would be compiled.
[ -f build/tidy/compile_commands.json ] || cmake --preset release -B build/tidy -DHOLDFAST_TOGETHER=OFF >&2
[ $# -gt 0 ] || mapfile -t files < <(git ls-files 'src/*.cc' ':!src/*_test.cc')
clang-tidy-14 --quiet -p build/tidy "${@:-${files[@]}}"
