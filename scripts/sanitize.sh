#!/bin/bash
# Builds test programs with sanitizers and runs them, one line of result each.
#   scripts/sanitize.sh asan [TARGET...]   AddressSanitizer and UndefinedBehaviorSanitizer
#   scripts/sanitize.sh tsan [TARGET...]   ThreadSanitizer
# A TARGET is a test program (base_test, model_concurrency_test, ...) or the name of a layer (base). Without one: for asan
# all layers and the models, for tsan what runs on several threads. GTEST_FILTER narrows, JOBS=N builds N files at a time.
#
# Debian's librocksdb is not instrumented. ThreadSanitizer cannot see its locks, and takes what it does for races: the
# files in scripts/sanitize/ say what is passed over, and why.
set -uo pipefail
cd "$(dirname "$0")/.."

asan_targets="base crypt value vector json expression storage engine ops net auth store model agent apps sdk wire model_commands_test
  model_patterns_test model_agents_test model_behaviour_test model_malformed_test model_concurrency_test"
tsan_targets="base storage engine ops store agent wire concurrency_test model_agents_test model_concurrency_test"

preset=${1:-}
case $preset in
  asan) targets=$asan_targets ;;
  tsan) targets=$tsan_targets ;;
  *) sed -n '2,6s/^# //p' "$0" >&2; exit 2 ;;
esac
shift
[ $# -gt 0 ] && targets=$*

suppressions=$PWD/scripts/sanitize
export ASAN_OPTIONS="detect_leaks=1:strict_string_checks=1:abort_on_error=0"
export LSAN_OPTIONS="suppressions=$suppressions/lsan.txt:print_suppressions=0"
export UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1"
export TSAN_OPTIONS="suppressions=$suppressions/tsan.txt:second_deadlock_stack=1:history_size=4:exitcode=66"

logs=build/$preset/sanitize
mkdir -p "$logs"
if [ ! -f "build/$preset/build.ninja" ]; then
  cmake --preset "$preset" >"$logs/configure.log" 2>&1 || { echo "configure: failed, see $logs/configure.log"; exit 1; }
fi

failures=0
for target in $targets; do
  case $target in *_test) ;; *) target=${target}_test ;; esac
  log=$logs/$target.log
  if ! cmake --build --preset "$preset" --target "$target" -- -j"${JOBS:-2}" >"$log" 2>&1; then
    echo "$target: does not build, see $log"
    failures=$((failures + 1))
    continue
  fi
  program=build/$preset/src/$target
  [ -x "$program" ] || program=build/$preset/tests/$target
  begun=$SECONDS
  "$program" --gtest_brief=1 >"$log" 2>&1
  status=$?
  reports=$(grep -cE '^(==[0-9]+==)?(ERROR|WARNING): (Address|Leak|Thread)Sanitizer|runtime error:' "$log")
  passed=$(sed -nE 's/^\[  PASSED  \] ([0-9]+) tests?\.?.*/\1/p' "$log" | tail -1)
  if [ $status -eq 0 ] && [ "$reports" -eq 0 ]; then
    echo "$target: ${passed:-0} passed, no report, $((SECONDS - begun)) s"
  else
    echo "$target: status $status, ${passed:-0} passed, $reports reports, $((SECONDS - begun)) s, see $log"
    failures=$((failures + 1))
  fi
done
[ $failures -eq 0 ]
