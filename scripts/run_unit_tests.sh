#!/bin/bash
# Runs every unit test binary of the release build; reports go to the directory that is given.
status=0
for binary in build/release/src/*_test build/release/tests/*_test; do
  "$binary" --gtest_brief=1 --gtest_output="xml:$1/unit-$(basename "$binary").xml" || status=1
done
exit $status
