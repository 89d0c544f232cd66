#include "expression/projection.h"

#include <gtest/gtest.h>

#include "expression/testing.h"

namespace holdfast::expression {
namespace {

using testing::Request;
using testing::Why;

const Item kItem{{"a", 1},
                 {"l", AttributeValue::List({0, 1, AttributeValue::Map({{"x", "deep"}, {"y", 2}})})},
                 {"m", AttributeValue::Map({{"k", "v"}, {"other", 1}})}};

std::string Refusal(std::string text) {
  Request request{std::move(text), Item{}, {{"#k", "k"}}};
  return Why(Projection::Parse(request.text, &request.scope));
}

Item Project(std::string text) {
  Request request{std::move(text), Item{}, {{"#k", "k"}}};
  return Projection::Parse(request.text, &request.scope).value().Apply(value::MapView(kItem));
}

TEST(Projection, KeepsThePartsItNamesInTheirParents) {
  EXPECT_EQ(Project("a, m"), (Item{{"a", 1}, *kItem.ToMap().find("m")}));
  EXPECT_EQ(Project("m.#k"), (Item{{"m", AttributeValue::Map({{"k", "v"}})}}));
  EXPECT_EQ(Project("l[2].x, l[0]"),
            (Item{{"l", AttributeValue::List({0, AttributeValue::Map({{"x", "deep"}})})}}))
      << "in order of position, closed up";
}

TEST(Projection, WhatIsNotThereLeavesNoTrace) {
  EXPECT_TRUE(Project("nothing, m.nothing, l[9], a.b").empty());
  EXPECT_TRUE(Project("a[0], m[0], l.x").empty()) << "a step that does not fit the type";
}

TEST(Projection, PathsThatMeetAreRefused) {
  EXPECT_EQ(
      Refusal("a, a"),
      "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: "
      "[a], path two: [a]");
  EXPECT_EQ(
      Refusal("m.#k, m"),
      "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: "
      "[m, k], path two: [m]");
  EXPECT_EQ(
      Refusal("m.x, m[0], b, b.c"),
      "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: "
      "[b], path two: [b, c]")
      << "an overlap is reported before an earlier conflict";
}

TEST(Projection, ReservedWordsNeedAPlaceholder) {
  EXPECT_EQ(Refusal("a, Status"), "Attribute name is a reserved keyword; reserved keyword: Status");
  EXPECT_EQ(Refusal("a, abs, m.localtimestamp2"), "ok");
  for (std::string_view text : {"", ",", "a,", "a b", "a.", ":v", "size(a)", "a[x]"}) {
    EXPECT_NE(Refusal(std::string(text)), "ok") << text;
  }
}

}  // namespace
}  // namespace holdfast::expression
