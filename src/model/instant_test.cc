// Instants as people, plain SDK code and holdfast write them.
#include "model/instant.h"

#include <gtest/gtest.h>

namespace holdfast::model {
namespace {

TEST(Instant, ReadsEverySpellingOfOneInstant) {
  for (const char* text :
       {"2026-02-04T10:30:00.120Z", "2026-02-04T10:30:00.12Z", "2026-02-04T10:30:00.1209999Z",
        "2026-02-04t10:30:00.120z", "2026-02-04 10:30:00.120Z", "2026-02-04T16:00:00.120+05:30",
        "2026-02-03T23:30:00.120-11:00", "2026-02-04T10:30:00.120-00:00"}) {
    auto millis = ParseInstant(text);
    ASSERT_TRUE(millis) << text;
    EXPECT_EQ(FormatInstant(*millis), "2026-02-04T10:30:00.120Z") << text;
    EXPECT_EQ(FormatWholeSecond(*millis), "2026-02-04T10:30:00Z") << text;
    EXPECT_EQ(FormatDate(*millis), "2026-02-04") << text;
  }
}

TEST(Instant, RefusesWhatIsNone) {
  for (const char* text : {"",
                           "2026-02-04",
                           "2026-02-04T10:30Z",
                           "2026-02-04T10:30:00",
                           "2026-02-04T10:30:00.Z",
                           "2026-2-4T10:30:00Z",
                           "2026-02-29T00:00:00Z",
                           "2026-13-01T00:00:00Z",
                           "2026-00-10T00:00:00Z",
                           "2026-01-32T00:00:00Z",
                           "2026-02-04T24:00:00Z",
                           "2026-02-04T10:60:00Z",
                           "2026-02-04T10:30:60Z",
                           "2026-02-04T10:30:00Z ",
                           "2026-02-04T10:30:00+24:00",
                           "2026-02-04T10:30:00+0530",
                           "2026-02-04T10:30:00+05:60",
                           "1770201000",
                           "0000-01-01T00:00:00Z",
                           "-001-01-01T00:00:00Z"})
    EXPECT_FALSE(ParseInstant(text)) << text;
}

// An offset may lead out of the years that four digits can say.
TEST(Instant, StaysWithinItsYears) {
  for (const char* text : {"9999-12-31T23:59:59-00:01", "0001-01-01T00:00:00+00:01"})
    EXPECT_FALSE(ParseInstant(text)) << text;
  for (const char* text :
       {"9999-12-31T23:59:59.999Z", "0001-01-01T00:00:00.000Z", "1969-12-31T23:59:59.999Z",
        "1900-02-28T12:00:00.001Z", "2000-02-29T00:00:00.000Z", "2024-02-29T23:59:59.999Z"})
    EXPECT_EQ(FormatInstant(ParseInstant(text).value()), text);
  EXPECT_FALSE(ParseInstant("1900-02-29T00:00:00Z"));
}

TEST(Instant, DatesAreDays) {
  EXPECT_EQ(ParseDate("1970-01-02"), kDayMillis);
  EXPECT_EQ(FormatDate(-1), "1969-12-31");
  for (const char* text : {"2026-02-30", "2026-02-04T", "2026-2-4", "26-02-04", "", "2026-02-04 "})
    EXPECT_FALSE(ParseDate(text)) << text;
}

TEST(Instant, KnowsTheTwoFormsOfKeys) {
  for (const char* text : {"2026-02-04T10:30:00Z", "2026-02-04T10:30:00.000Z"})
    EXPECT_TRUE(IsKeyInstant(text));
  for (const char* text : {"2026-02-04T10:30:00.00Z", "2026-02-04t10:30:00Z", "2026-02-04T10:30:00.0000Z",
                           "2026-02-30T10:30:00Z", "2026-02-04T10:30:00+00:00", ""})
    EXPECT_FALSE(IsKeyInstant(text)) << text;
}

}  // namespace
}  // namespace holdfast::model
