// Cursors: what was encoded comes back, and nothing else is taken.
#include "model/cursor.h"

#include <gtest/gtest.h>

#include "model/refusal.h"

namespace holdfast::model {
namespace {

Position Somewhere() {
  Position position;
  position.step = 1;
  position.start = Item{{"pk", "USER#ann"}, {"sk", "TASK#1"}, {"n", 3}};
  position.after_millis = 1'770'201'000'123;
  position.after_key = "TASK#2026";
  position.skip = 7;
  return position;
}

TEST(Cursor, ComesBack) {
  CursorCodec codec("key");
  std::string text = codec.Encode(Somewhere(), "pattern");
  EXPECT_EQ(text.find_first_of("+/="), std::string::npos) << "goes into a URL";
  Position back = codec.Decode(text, "pattern").value();
  EXPECT_EQ(back.step, 1);
  EXPECT_EQ(back.start, Somewhere().start);
  EXPECT_EQ(back.after_millis, Somewhere().after_millis);
  EXPECT_EQ(back.after_key, "TASK#2026");
  EXPECT_EQ(back.skip, 7);
  Position begin = codec.Decode(codec.Encode({}, ""), "").value();
  EXPECT_FALSE(begin.start || begin.after_millis || begin.step != 0 || begin.skip != 0);
}

TEST(Cursor, IsRefusedWithAnyBitChanged) {
  CursorCodec codec("key");
  std::string text = codec.Encode(Somewhere(), "pattern");
  for (size_t i = 0; i < text.size() * 8; ++i) {
    std::string bad = text;
    bad[i / 8] ^= static_cast<char>(1 << i % 8);
    // The last character of Base64 may have bits that mean nothing.
    if (auto got = codec.Decode(bad, "pattern")) {
      EXPECT_EQ(codec.Encode(*got, "pattern"), text) << i;
    }
  }
  for (size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(codec.Decode(text.substr(0, size), "pattern"));
  for (const std::string& bad :
       {std::string(), std::string("x"), std::string("%%%%"), std::string(100'000, 'A')}) {
    auto got = codec.Decode(bad, "pattern");
    ASSERT_FALSE(got);
    EXPECT_EQ(RefusalName(got.error()), "InvalidCursor");
  }
}

TEST(Cursor, IsBoundToItsQuestionAndKey) {
  CursorCodec codec("key");
  std::string text = codec.Encode(Somewhere(), "pattern");
  EXPECT_FALSE(codec.Decode(text, "patter"));
  EXPECT_FALSE(codec.Decode(text, "pattern\n"));
  EXPECT_FALSE(codec.Decode(text, ""));
  EXPECT_FALSE(CursorCodec("kez").Decode(text, "pattern"));
  EXPECT_TRUE(CursorCodec("key").Decode(text, "pattern"));
  EXPECT_FALSE(CursorCodec("").Decode(CursorCodec("").Encode({}, "p"), "p")) << "a random key each";
}

}  // namespace
}  // namespace holdfast::model
