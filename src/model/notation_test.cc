// The small notations: attribute lines, computed values, sort key conditions, plain scalars.
#include "model/notation.h"

#include <gtest/gtest.h>

namespace holdfast::model {
namespace {

Attribute Line(std::string_view text) {
  Attribute attribute;
  Status parsed = ParseAttributeLine(text, &attribute);
  EXPECT_TRUE(parsed) << text;
  return attribute;
}

TEST(Notation, AttributeLines) {
  EXPECT_TRUE(Line("S!").required);
  EXPECT_FALSE(Line("S?").required);
  EXPECT_FALSE(Line("S").required);
  EXPECT_EQ(Line("L[S]!").items->kind, Kind::kString);
  EXPECT_EQ(Line("L[L[N]]").items->items->kind, Kind::kNumber);
  EXPECT_EQ(Line("vector(1024)!").dimensions, 1024);
  EXPECT_EQ(Line("N! = 3").default_value, AttributeValue(3));
  EXPECT_EQ(Line("S = 3").default_value, AttributeValue("3"));
  EXPECT_EQ(Line("BOOL! = false").default_value, AttributeValue(false));
  EXPECT_EQ(Line("M = {}").default_value, AttributeValue::Map({}));
  EXPECT_EQ(Line("L = []").default_value, AttributeValue::List({}));
  EXPECT_EQ(Line("ts! = now()").default_from->source, Computed::Source::kNow);
  EXPECT_EQ(Line("S! = uuid()").default_from->source, Computed::Source::kUuid);
  Attribute choices = Line("S! = P3 {P1|Two words|P3|…}");
  EXPECT_EQ(choices.choices, (std::vector<std::string>{"P1", "Two words", "P3"}));
  EXPECT_TRUE(choices.open_choices);
  EXPECT_EQ(choices.default_value, AttributeValue("P3"));
  EXPECT_FALSE(Line("S {a|b}").open_choices);
  for (const char* text :
       {"", "s", "S!!", "L[", "L[S", "L[x]", "S[N]", "vector", "vector()", "vector(0)", "vector(-1)",
        "vector(4", "vector(4)x", "S {a", "S {a||b}", "S {}", "S a", "N = 3 x {a"}) {
    Attribute attribute;
    EXPECT_FALSE(ParseAttributeLine(text, &attribute)) << text;
  }
}

TEST(Notation, ComputedValues) {
  EXPECT_EQ(ParseComputed("now()").value().shift_seconds, 0);
  EXPECT_EQ(ParseComputed("createdAt + 30d").value().shift_seconds, 30 * 86400);
  EXPECT_EQ(ParseComputed("createdAt + 30d").value().attribute, "createdAt");
  EXPECT_EQ(ParseComputed("now() - 15m").value().shift_seconds, -900);
  EXPECT_TRUE(ParseComputed("now() - 24h as date").value().as_date);
  for (const char* text :
       {"", "today()", "now() + 3", "now() + 3w", "now() + -3d", "now() + d", "uuid() + 1d", "now() + 1d2h",
        "a b", "now() + 99999999999999999999d", "now() + 2000000000d", "now("})
    EXPECT_FALSE(ParseComputed(text)) << text;
}

TEST(Notation, SortConditions) {
  using Op = SortCondition::Op;
  for (const auto& [text, op] :
       {std::pair("A#{id}", Op::kEqual), std::pair("begins_with A#", Op::kBeginsWith),
        std::pair("< A", Op::kLess), std::pair("<= A", Op::kLessEqual), std::pair("> A", Op::kGreater),
        std::pair(">= A", Op::kGreaterEqual), std::pair("between A#{from} and A#{to}~", Op::kBetween)})
    EXPECT_EQ(ParseSortCondition(text).value().op, op) << text;
  EXPECT_EQ(ParseSortCondition("between A#{from} and A#{to}~").value().high.ToText(), "A#{to}~");
  for (const char* text : {"between A", "between A and {", "begins_with {a", ">= }"})
    EXPECT_FALSE(ParseSortCondition(text)) << text;
}

TEST(Notation, PlainScalars) {
  EXPECT_EQ(ParsePlainScalar("3.50"), AttributeValue::Number(std::string("3.5")));
  EXPECT_EQ(ParsePlainScalar("-0.5"), AttributeValue::Number(std::string("-0.5")));
  EXPECT_EQ(ParsePlainScalar("true"), AttributeValue(true));
  EXPECT_TRUE(ParsePlainScalar("null").is_null());
  EXPECT_TRUE(ParsePlainScalar("~").is_null());
  for (const char* text : {"0123", "1e5", "2026-02-04", "1.2.3", "-", ".", "True", "abc"})
    EXPECT_EQ(ParsePlainScalar(text), AttributeValue(text));
}

}  // namespace
}  // namespace holdfast::model
