#include "base/shown.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace holdfast::base {
namespace {

// An answer that repeats a request of 15 MB is an amplifier, and a log that does so is full.
TEST(Shown, LongTextsAreCutBetweenCharacters) {
  EXPECT_EQ(Shown(""), "");
  EXPECT_EQ(Shown(std::string(limits::kShownBytesMax, 'x')), std::string(limits::kShownBytesMax, 'x'));
  EXPECT_EQ(Shown("abcdef", 3), "abc...");
  EXPECT_EQ(Shown("abäöü", 3), "ab...");
  EXPECT_EQ(Shown("'abcdef'", 4), "'abc...'");
}

}  // namespace
}  // namespace holdfast::base
