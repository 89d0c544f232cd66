#include "base/random.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>

namespace holdfast::base {
namespace {

// A failing run is replayed by its seed.
TEST(Random, ASeedReplaysARun) {
  Random a(7), b(7), c(8);
  uint64_t first = a.Next();
  EXPECT_EQ(first, b.Next());
  EXPECT_NE(first, c.Next());
  EXPECT_NE(Random().Next(), Random().Next());
}

// Table ids are UUIDs that clients may parse.
TEST(Random, UuidsAreOfVersionFourAndDiffer) {
  Random random(1);
  std::regex version4("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    std::string uuid = random.Uuid();
    EXPECT_TRUE(std::regex_match(uuid, version4)) << uuid;
    EXPECT_TRUE(seen.insert(uuid).second);
  }
}

}  // namespace
}  // namespace holdfast::base
