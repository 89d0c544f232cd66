// ULIDs sort in the order they were made, whatever the clock does.
#include "base/ulid.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

namespace holdfast::base {
namespace {

TEST(Ulid, GrowsWhileTheClockStandsOrStepsBack) {
  ManualClock clock(1'770'201'000'123);
  Random random;
  UlidSource source(&clock, &random);
  std::string last;
  for (int i = 0; i < 3000; ++i) {
    if (i == 1000) clock.Advance(-60'000);
    if (i == 2000) clock.Advance(120'000);
    std::string next = source.Next();
    EXPECT_LT(last, next);
    EXPECT_TRUE(IsUlid(next)) << next;
    last = next;
  }
}

TEST(Ulid, SaysItsMillisecond) {
  ManualClock clock(1'469'918'176'385);  // the example of the specification
  Random random;
  EXPECT_EQ(UlidSource(&clock, &random).Next().substr(0, 10), "01ARYZ6S41");
}

TEST(Ulid, IsUniqueAmongThreads) {
  ManualClock clock(1'770'201'000'123);
  Random random;
  UlidSource source(&clock, &random);
  std::vector<std::vector<std::string>> made(4);
  std::vector<std::thread> threads;
  for (auto& mine : made) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) mine.push_back(source.Next());
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> all;
  for (const auto& mine : made) {
    EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
    all.insert(mine.begin(), mine.end());
  }
  EXPECT_EQ(all.size(), 8000U);
}

TEST(Ulid, KnowsItsForm) {
  EXPECT_TRUE(IsUlid("7ZZZZZZZZZZZZZZZZZZZZZZZZZ"));
  for (const char* text :
       {"", "8ZZZZZZZZZZZZZZZZZZZZZZZZZ", "01ARYZ6S41TSV4RRFFQ69G5FA", "01ARYZ6S41TSV4RRFFQ69G5FAVX",
        "01aryz6s41tsv4rrffq69g5fav", "01ARYZ6S41TSV4RRFFQ69G5FAU", "01ARYZ6S41TSV4RRFFQ69G5FAI"})
    EXPECT_FALSE(IsUlid(text)) << text;
}

}  // namespace
}  // namespace holdfast::base
