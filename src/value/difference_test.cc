#include "value/difference.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace holdfast::value {
namespace {

std::string Difference(const Item& item, const Item& other) {
  std::string bytes;
  AppendDifference(MapView(item), MapView(other), &bytes);
  return bytes;
}

std::optional<Item> Applied(ByteView difference, const Item& other) {
  std::optional<std::string> bytes = ApplyDifference(difference, MapView(other));
  if (!bytes) return std::nullopt;
  EXPECT_TRUE(IsWellFormedItem(*bytes));
  return Item::FromFlat(*std::move(bytes));
}

TEST(Difference, OneChangedAttributeIsAllThatIsKept) {
  Item old{{"id", "a"}, {"count", 1}, {"text", std::string(300, 'x')}};
  Item now{{"id", "a"}, {"count", 2}, {"text", std::string(300, 'x')}};
  std::string difference = Difference(old, now);
  EXPECT_LT(difference.size(), 20u);
  EXPECT_EQ(Applied(difference, now), old);
}

// Attributes may come, go and change on either side of those that stay.
TEST(Difference, AnyItemComesBackFromAnyOther) {
  base::Random random(7);
  auto make = [&] {
    AttributeMap attributes;
    for (int i = 0; i < 40; ++i) {
      std::string name(i % 3 == 0 ? 130 : 2, static_cast<char>('a' + i % 26));
      name += std::to_string(i);
      if (random.Next() % 3 == 0)
        attributes.emplace(name, AttributeValue(static_cast<int64_t>(random.Next() % 2)));
      if (random.Next() % 3 == 0)
        attributes.emplace(name, AttributeValue(std::string(random.Next() % 200, 'v')));
    }
    return Item(std::move(attributes));
  };
  for (int i = 0; i < 500; ++i) {
    Item one = make(), other = make();
    EXPECT_EQ(Applied(Difference(one, other), other), one);
    EXPECT_EQ(Applied(Difference(one, Item()), Item()), one);
    EXPECT_EQ(Applied(Difference(Item(), other), other), Item());
  }
}

TEST(Difference, DamagedBytesAreRefused) {
  Item old{{"id", "a"}, {"n", 1}}, now{{"id", "a"}, {"n", 2}};
  std::string difference = Difference(old, now);
  ASSERT_EQ(difference[0], 1);  // id is the first there; of n, everything follows
  for (size_t size = 2; size < difference.size(); ++size) {
    EXPECT_FALSE(Applied(difference.substr(0, size), now)) << size;
  }
  EXPECT_FALSE(Applied("\x03", now));                              // it has two
  EXPECT_FALSE(Applied(std::string("\x00\x01n\x00", 4), now));     // a value without a tag
  EXPECT_FALSE(Applied(std::string("\x00\xff\xff\x7f", 4), now));  // a name longer than all there is
}

}  // namespace
}  // namespace holdfast::value
