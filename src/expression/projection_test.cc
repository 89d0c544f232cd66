#include "expression/projection.h"

#include <gtest/gtest.h>

#include <random>

#include "base/limits.h"
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
  return Projection::Parse(request.text, &request.scope).value().Apply(value::MapView(kItem), &request.work);
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

// The tree is built from sorted paths, and refusals name the first path, in the order of the text, that
// clashes with one before it: for random paths both agree with what is asked of each pair.
TEST(Projection, PathsClashExactlyWhenTwoOfThemDo) {
  std::mt19937_64 random(5);
  int clashes = 0, sound = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<Path> paths;
    for (size_t n = 1 + random() % 5; n > 0; --n) {
      Path path{{.name = std::string_view("abc").substr(random() % 3, 1)}};
      for (size_t more = random() % 3; more > 0; --more) {
        if (random() % 2 == 0)
          path.push_back({.name = std::string_view("abc").substr(random() % 3, 1)});
        else
          path.push_back({.name = {}, .position = static_cast<int64_t>(random() % 2)});
      }
      paths.push_back(std::move(path));
    }
    auto clash = [](const Path& a, const Path& b) {
      for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
        if (a[i] != b[i]) return a[i].is_position() != b[i].is_position();
      }
      return true;
    };
    bool any = false;
    for (size_t i = 0; i < paths.size(); ++i) {
      for (size_t j = 0; j < i; ++j) any = any || clash(paths[i], paths[j]);
    }
    ASSERT_EQ(PathTree::Build("X", paths).has_value(), !any);
    ++(any ? clashes : sound);
  }
  EXPECT_GT(clashes, 1000);
  EXPECT_GT(sound, 1000);
}

// As many names as are allowed, in the order that is worst for insertion, are found where they belong.
TEST(Projection, ManyNamesComeInAnyOrder) {
  std::vector<std::string> names;
  AttributeMap attributes;
  for (size_t i = limits::kLegacyNamesMax; i > 0; --i) {
    names.push_back("n" + std::to_string(100'000 + i));
    attributes.emplace(names.back(), static_cast<int64_t>(i));
  }
  Item item(attributes);
  base::WorkMeter work(base::WorkMeter::Bound::kRequest);
  EXPECT_EQ(Projection::OfAttributes(names).Apply(value::MapView(item), &work), item);
  // A look-up is a dozen names; the values are copied.
  EXPECT_LT(work.bytes(), limits::kLegacyNamesMax * 200);
  EXPECT_GT(work.bytes(), limits::kLegacyNamesMax * 16);
}

}  // namespace
}  // namespace holdfast::expression
