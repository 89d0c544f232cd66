#include "json/plain.h"

#include <gtest/gtest.h>

namespace holdfast::json {
namespace {

std::string AsText(const Item& item) {
  std::string text;
  AppendPlainItem(value::MapView(item), &text);
  return text;
}

TEST(Plain, GivesWhatItRead) {
  std::string text = R"({"a":[1,-2.5,"x\"y",true,false,null],"b":{"c":12345678901234567890123456789}})";
  auto item = ReadPlainItem(text);
  ASSERT_TRUE(item) << item.error().ToString();
  EXPECT_EQ(AsText(*item), text);
}

// People type values on a command line: what is no JSON must not pass for some other value.
TEST(Plain, RefusesWhatIsNoJson) {
  for (const char* text :
       {"", "none", "nul", "nulls", "tru", "1 2", "1,2", "1],[2", "{}}", "[1", "'a'", "01", "abc"}) {
    auto read = ReadPlainValue(text);
    EXPECT_FALSE(read) << text;
  }
  EXPECT_TRUE(ReadPlainValue(" null ")->is_null());
}

}  // namespace
}  // namespace holdfast::json
