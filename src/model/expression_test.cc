#include "model/expression.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "model/item_builder.h"

namespace holdfast::model {
namespace {

// What commands write is only as good as the values they are made of.
class ExpressionTest : public testing::Test {
 protected:
  ExpressionTest() : ulids_(&clock_, &random_) {
    sources_.now_millis = 1'770'201'000'000;  // 2026-02-04T10:30:00Z
    sources_.random = &random_;
    sources_.ulids = &ulids_;
    scope_.Set("input", Item{{"name", "Lantern"},
                             {"count", 3},
                             {"minutes", 30},
                             {"list", AttributeValue::List({AttributeValue("a"), AttributeValue("b")})},
                             {"map", AttributeValue::Map({{"x", 1}, {"y", 2}})},
                             {"options", AttributeValue::List({AttributeValue::Map({{"id", "p"}}),
                                                               AttributeValue::Map({{"id", "q"}})})}});
    now_ = Item{{"value", "2026-02-04T10:30:00.000Z"}, {"epoch", 1770201000}};
    scope_.Set("now", value::MapView(now_).Find("value"));
    scope_.Set("nowEpoch", value::MapView(now_).Find("epoch"));
  }

  // The value, or NULL when there is none.
  AttributeValue Is(std::string_view text) {
    auto expression = ParseExpression(text);
    EXPECT_TRUE(expression) << text;
    if (!expression) return {};
    auto value = scope_.Evaluate(*expression);
    EXPECT_TRUE(value) << text;
    if (!value || !*value) return {};
    return value::ToAttributeValue(**value);
  }
  bool Holds(std::string_view text) {
    auto condition = ParseCondition(text);
    EXPECT_TRUE(condition) << text;
    return condition && scope_.Holds(*condition);
  }

  base::SystemClock clock_;
  base::Random random_;
  base::UlidSource ulids_;
  Sources sources_;
  Scope scope_{&sources_};
  Item now_;
};

TEST_F(ExpressionTest, PathsLiteralsAndTemplates) {
  EXPECT_EQ(Is("$input.name"), AttributeValue("Lantern"));
  EXPECT_EQ(Is("$input.map.x"), AttributeValue(1));
  EXPECT_EQ(Is("$input.none"), AttributeValue());
  EXPECT_EQ(Is("$input.options[].id"), AttributeValue::List({AttributeValue("p"), AttributeValue("q")}));
  EXPECT_EQ(Is("plain"), AttributeValue("plain"));
  EXPECT_EQ(Is("{input.name} has {input.count}{input.none}"), AttributeValue("Lantern has 3"));
  EXPECT_EQ(Is("$input.none ?? $input.count ?? 7"), AttributeValue(3));
  EXPECT_EQ(Is("$input.none ?? 7"), AttributeValue(7));
  EXPECT_EQ(Is("$nothing"), AttributeValue());
  EXPECT_EQ(Is("$uuid").AsText().size(), 36U);
  EXPECT_EQ(Is("$ulid").AsText().size(), 26U);
}

TEST_F(ExpressionTest, SumsAndTimes) {
  EXPECT_EQ(Is("$input.count + 1"), AttributeValue(4));
  EXPECT_EQ(Is("$input.count + $input.minutes - 1"), AttributeValue(32));
  EXPECT_EQ(Is("$input.count + $input.none"), AttributeValue());
  EXPECT_EQ(Is("$now + 30m"), AttributeValue("2026-02-04T11:00:00.000Z"));
  EXPECT_EQ(Is("$now - 24h"), AttributeValue("2026-02-03T10:30:00.000Z"));
  EXPECT_EQ(Is("$now + $input.minutes minutes"), AttributeValue("2026-02-04T11:00:00.000Z"));
  EXPECT_EQ(Is("$nowEpoch + 60s"), AttributeValue(1770201060));
  EXPECT_EQ(Is("$nowEpoch - 60"), AttributeValue(1770200940));
}

TEST_F(ExpressionTest, NonsenseIsRefusedWhenItIsRead) {
  for (const char* text : {"$", "$ input", "$a + ", "$a ?? ", "$a$b", "{open", "$now + 3 parsecs $x"})
    EXPECT_FALSE(ParseExpression(text)) << text;
}

TEST_F(ExpressionTest, AlternativesBindWeakerThanConjunctions) {
  EXPECT_TRUE(Holds("input.count = 4 and input.name = 'x' or input.count = 3"));
  EXPECT_FALSE(Holds("input.count = 4 and (input.name = 'x' or input.count = 3)"));
  EXPECT_TRUE(Holds("(input.count = 3)"));
}

TEST_F(ExpressionTest, ContainsAmongElements) {
  EXPECT_TRUE(Holds("input.options[].id contains 'q'"));
  EXPECT_FALSE(Holds("input.options[].id contains 'z'"));
  EXPECT_TRUE(Holds("input.options[].id not contains 'z'"));
  EXPECT_TRUE(Holds("input.none not contains 'z'"));
  EXPECT_TRUE(Holds("input.list contains 'a'"));
}

// An inner name hides an outer one for as long as it is there.
TEST_F(ExpressionTest, ScopesNest) {
  size_t mark = scope_.Mark();
  scope_.Set("input", Item{{"name", "inner"}});
  EXPECT_EQ(Is("$input.name"), AttributeValue("inner"));
  scope_.Leave(mark);
  EXPECT_EQ(Is("$input.name"), AttributeValue("Lantern"));
}

}  // namespace
}  // namespace holdfast::model
