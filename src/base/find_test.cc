#include "base/find.h"

#include <gtest/gtest.h>

#include <random>

namespace holdfast::base {
namespace {

TEST(Find, FindsWhatIsThereAndNothingElse) {
  EXPECT_TRUE(Contains("", ""));
  EXPECT_TRUE(Contains("abc", ""));
  EXPECT_TRUE(Contains("abc", "abc"));
  EXPECT_TRUE(Contains("abc", "c"));
  EXPECT_FALSE(Contains("abc", "abcd"));
  EXPECT_FALSE(Contains("abc", "ac"));
  EXPECT_FALSE(Contains("", "a"));
  EXPECT_TRUE(Contains(std::string_view("a\0\xff", 3), std::string_view("\0\xff", 2)));
}

// Texts of few letters are where searches go wrong: their parts repeat each other in every way.
TEST(Find, AgreesWithTheObviousSearch) {
  std::mt19937 random(11);
  int found = 0;
  for (int i = 0; i < 200000; ++i) {
    auto text_of = [&](size_t size, unsigned letters) {
      std::string text;
      while (text.size() < size) text.push_back(static_cast<char>('a' + random() % letters));
      return text;
    };
    auto letters = static_cast<unsigned>(1 + random() % 3);
    // What stands in front uses up the tries of the fast way.
    std::string text = (random() % 2 == 0 ? std::string(200, 'a') : "") + text_of(random() % 60, letters);
    std::string wanted = text_of(1 + random() % 12, letters);
    if (random() % 4 == 0) wanted += wanted + wanted;
    bool is_there = text.find(wanted) != std::string::npos;
    found += is_there;
    ASSERT_EQ(Contains(text, wanted), is_there) << text << " " << wanted;
  }
  EXPECT_GT(found, 1000);
}

// The product of these two is 38 billion: a search that takes it would not end here.
TEST(Find, TakesTimeThatGrowsWithTheTextsSum) {
  std::string text(390'000, 'a');
  EXPECT_FALSE(Contains(text, std::string(195'000, 'a') + "b"));
  EXPECT_FALSE(Contains(text, "b" + std::string(195'000, 'a')));
  EXPECT_FALSE(Contains(text, std::string(97'000, 'a') + "b" + std::string(97'000, 'a')));
  for (int i = 0; i < 200; ++i) EXPECT_FALSE(Contains(text, std::string(195'000, 'a') + "b"));
}

}  // namespace
}  // namespace holdfast::base
