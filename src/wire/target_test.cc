#include "wire/target.h"

#include <gtest/gtest.h>

#include "model/refusal.h"

namespace holdfast::wire {
namespace {

using Segments = std::vector<std::string>;
using Parameters = std::vector<std::pair<std::string, std::string>>;

// Names in a path may hold anything, the slash too; a plus is itself there.
TEST(Target, SegmentsAreDecodedAfterThePathIsSplit) {
  EXPECT_EQ(*SplitPath("/v1/pm/entities/A%2FB+%c3%a9"), (Segments{"v1", "pm", "entities", "A/B+é"}));
  EXPECT_EQ(*SplitPath("/v1//x/"), (Segments{"v1", "", "x", ""}));
  EXPECT_EQ(*SplitPath("/"), (Segments{""}));
}

// What browsers and curl send in a query.
TEST(Target, ParametersAreDecoded) {
  Query query = *Query::Parse("a=1&b=x+y%26z&c&=&d==");
  EXPECT_EQ(query.parameters(), (Parameters{{"a", "1"}, {"b", "x y&z"}, {"c", ""}, {"", ""}, {"d", "="}}));
  EXPECT_TRUE(Query::Parse("")->parameters().empty());
}

// A value that the server would guess at is refused, with the name of the parameter where there is one.
TEST(Target, WhatCannotBeDecodedIsRefusedWithItsPlace) {
  auto path_of = [](std::string_view text) -> std::string {
    Result<Query> query = Query::Parse(text);
    if (query) return "accepted";
    EXPECT_EQ(model::RefusalName(query.error()), "ValidationError");
    return query.error().detail()->refusal.details.at("violations").AsList()[0].AsMap().at("path").AsText();
  };
  EXPECT_EQ(path_of("a=%4"), "a");
  EXPECT_EQ(path_of("a=%zz"), "a");
  EXPECT_EQ(path_of("%ff=1"), "query");
  EXPECT_EQ(path_of("name=%ff"), "name");
  EXPECT_EQ(path_of("x=1&y=2&x=3"), "x");
  EXPECT_FALSE(SplitPath("/v1/%"));
  EXPECT_FALSE(SplitPath("/v1/%80"));
}

// Looking for doubles must not cost the square of what a stranger sends.
TEST(Target, ParametersAreBounded) {
  std::string many;
  for (int i = 0; i < 300; ++i) many += "p" + std::to_string(i) + "=&";
  EXPECT_FALSE(Query::Parse(many));
}

// Flags and numbers say how to answer: anything but their own spelling is a mistake of the sender.
TEST(Target, WhatIsTakenOutIsTyped) {
  Query query = *Query::Parse("limit=20&explain=true&none=&wide=1e3&flag=yes&rest=1");
  EXPECT_EQ(**query.TakeNumber("limit"), 20);
  EXPECT_EQ(*query.TakeNumber("absent"), std::nullopt);
  EXPECT_FALSE(query.TakeNumber("none"));
  EXPECT_FALSE(query.TakeNumber("wide"));
  EXPECT_TRUE(*query.TakeFlag("explain"));
  EXPECT_FALSE(*query.TakeFlag("absent"));
  EXPECT_FALSE(query.TakeFlag("flag").has_value());
  EXPECT_EQ(query.parameters(), (Parameters{{"rest", "1"}}));
}

}  // namespace
}  // namespace holdfast::wire
