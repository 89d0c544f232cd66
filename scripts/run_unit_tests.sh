#!/bin/bash
# Runs every unit test binary of the release build, as many at a time as there are processors; reports go to the directory that is given.
printf '%s\n' build/release/src/*_test build/release/tests/*_test | xargs -P "$(nproc)" -I{} bash -c \
  '"$1" --gtest_brief=1 --gtest_output="xml:$2/unit-$(basename "$1").xml" 2>&1 | sed "s|^|$(basename "$1"): |"; exit ${PIPESTATUS[0]}' run {} "$1"
