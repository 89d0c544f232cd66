#include "expression/key_condition.h"

#include <gtest/gtest.h>

#include "expression/testing.h"

namespace holdfast::expression {
namespace {

using Kind = KeyCondition::Kind;
using testing::Request;
using testing::Why;

const Item kValues{{":a", "a"}, {":b", "b"}, {":n", 1}};

// "attribute kind;…", or why not.
std::string Collect(std::string text) {
  Request request{std::move(text), kValues};
  Result<Tree> tree = ParseKeyConditionTree(request.text, &request.scope);
  if (!tree) return Why(tree);
  auto conditions = CollectKeyConditions(*tree);
  if (!conditions) return conditions.error().message();
  static constexpr std::string_view kNames[] = {"=", "<", "<=", ">", ">=", "between", "begins_with"};
  std::string collected;
  for (const KeyCondition& condition : *conditions) {
    collected += condition.attribute + " " + std::string(kNames[static_cast<size_t>(condition.kind)]) + ";";
  }
  return collected;
}

TEST(KeyCondition, EveryFormIsTakenApart) {
  EXPECT_EQ(Collect("pk = :a"), "pk =;");
  EXPECT_EQ(Collect("pk = :a AND sk BETWEEN :a AND :b"), "pk =;sk between;");
  EXPECT_EQ(Collect("begins_with(sk, :a) AND pk = :b"), "sk begins_with;pk =;");
  EXPECT_EQ(Collect("(pk = :a) AND (sk < :b AND x >= :n)"), "pk =;sk <;x >=;");
}

// `:v < sk` means `sk > :v`.
TEST(KeyCondition, AValueOnTheLeftTurnsTheOperatorRound) {
  EXPECT_EQ(Collect(":a = pk AND :b < sk"), "pk =;sk >;");
  EXPECT_EQ(Collect(":a <= x AND :a > y AND :a >= w"), "x >=;y <;w <=;");
}

TEST(KeyCondition, WhatIsNoConditionOnAKeyIsRefused) {
  for (auto [text, why] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"pk = :a OR sk = :b", "Invalid operator used in KeyConditionExpression: OR"},
           {"NOT pk = :a", "Invalid operator used in KeyConditionExpression: NOT"},
           {"pk <> :a", "Invalid operator used in KeyConditionExpression: <>"},
           {"pk IN (:a)", "Invalid operator used in KeyConditionExpression: IN"},
           {"attribute_exists(pk)", "Invalid operator used in KeyConditionExpression: attribute_exists"},
           {"pk = :a AND pk = :b", "KeyConditionExpressions must only contain one condition per key"},
           {"size(pk) = :n", "KeyConditionExpressions cannot contain nested operations"},
           {"pk.x = :a", "KeyConditionExpressions cannot have conditions on nested attributes"},
           {"pk = sk",
            "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition"},
           {":a = :b", "Invalid condition in KeyConditionExpression: No key attribute specified"},
           {"begins_with(:a, sk)",
            "Invalid condition in KeyConditionExpression: begins_with operator must have "
            "the key attribute as its first operand"},
           {":a BETWEEN sk AND :b",
            "Invalid condition in KeyConditionExpression: BETWEEN operator must have "
            "the key attribute as its first operand"}}) {
    EXPECT_EQ(Collect(std::string(text)), why) << text;
  }
}

}  // namespace
}  // namespace holdfast::expression
