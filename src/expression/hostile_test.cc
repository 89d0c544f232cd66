// Expressions come from strangers: no text may crash the parser, exhaust the stack, or build a tree larger
// than its text. The bounds are counts, never times.
#include <gtest/gtest.h>

#include <random>

#include "base/limits.h"
#include "expression/condition.h"
#include "expression/key_condition.h"
#include "expression/projection.h"
#include "expression/testing.h"
#include "expression/update.h"

namespace holdfast::expression {
namespace {

using testing::Request;

const Item kItem{{"a", AttributeValue::Map({{"a", AttributeValue::List({"x", 1})}})}, {"n", 1}};

// Runs `text` through every grammar, and what is accepted through its evaluator.
void Survive(const std::string& text) {
  Request request{text, Item{{":v", "x"}, {":n", 1}, {":l", AttributeValue::List({"x"})}}, {{"#a", "a"}}};
  value::MapView item(kItem);
  if (auto tree = ParseConditionText("ConditionExpression", text)) {
    EXPECT_LE(tree->nodes.size(), text.size());
  }
  if (auto condition = Condition::Parse("ConditionExpression", text, &request.scope)) {
    static_cast<void>(condition->Holds(item, &request.work));
  }
  if (auto tree = ParseKeyConditionTree(text, &request.scope)) {
    static_cast<void>(CollectKeyConditions(*tree).has_value());
  }
  if (auto update = Update::Parse(text, &request.scope))
    static_cast<void>(update->Apply(item, &request.work).has_value());
  if (auto projection = Projection::Parse(text, &request.scope)) {
    static_cast<void>(projection->Apply(item, &request.work).size());
  }
}

std::string Repeat(std::string_view part, size_t bytes = limits::kExpressionBytesMax) {
  std::string text;
  while (text.size() + part.size() <= bytes) text += part;
  return text;
}

TEST(HostileExpressions, LongRunsOfOneTokenAreRefusedOrBounded) {
  for (std::string_view part : {"(",
                                ")",
                                "NOT ",
                                "a.",
                                "a[",
                                "a[0]",
                                "[0]",
                                "size(",
                                "if_not_exists(a,",
                                "list_append(:l,",
                                "a=:v AND ",
                                "a=:v OR NOT (",
                                "a,",
                                "a.b,",
                                "a IN (",
                                "a BETWEEN ",
                                "-",
                                "+",
                                "#a.",
                                ":v",
                                "#",
                                ":",
                                ".",
                                "\xff",
                                "😀",
                                "a = (",
                                "((a)=",
                                "BETWEEN AND ",
                                "0"}) {
    std::string run = Repeat(part);
    for (const std::string& text : {run, "SET a = " + Repeat(part, 4000), Repeat(part, 4000) + "a = :v",
                                    "a=:v AND " + Repeat(part, 4000)}) {
      Survive(text);
    }
  }
}

TEST(HostileExpressions, BalancedNestingIsRefusedBeyondItsDepth) {
  auto nested = [](std::string_view open, size_t levels, std::string_view inner) {
    std::string text;
    for (size_t i = 0; i < levels; ++i) text += open;
    text += inner;
    return text + std::string(levels, ')');
  };
  for (size_t levels : {10, 100, 319, 320, 321, 1000, 2000}) {
    for (std::string_view open : {"(", "NOT (", "size("}) Survive(nested(open, levels, "a = :v"));
    Survive("SET a = " + nested("(", levels, "a"));
    Survive("SET a = " + nested("if_not_exists(a,", levels, "a"));
    Survive("a = " + nested("(", levels, ":v"));
  }
  Result<Tree> deep = ParseConditionText("ConditionExpression", nested("(", 2000, "a = :v"));
  ASSERT_FALSE(deep.has_value());
  EXPECT_EQ(testing::Why(deep), "The expression is nested too deeply;");
  Result<Tree> nots = ParseConditionText("ConditionExpression", Repeat("NOT ", 4000) + "a = :v");
  ASSERT_FALSE(nots.has_value());
  EXPECT_EQ(testing::Why(nots), "The expression contains too many operators; operator count: 301");
}

TEST(HostileExpressions, RandomTokensAreRefusedOrBounded) {
  static constexpr std::string_view kTokens[] = {"a",
                                                 "n",
                                                 "#a",
                                                 "#undefined",
                                                 ":v",
                                                 ":n",
                                                 ":undefined",
                                                 "(",
                                                 ")",
                                                 "[",
                                                 "]",
                                                 "0",
                                                 "99",
                                                 ".",
                                                 ",",
                                                 "=",
                                                 "<>",
                                                 "<",
                                                 ">=",
                                                 "+",
                                                 "-",
                                                 "AND",
                                                 "OR",
                                                 "NOT",
                                                 "IN",
                                                 "BETWEEN",
                                                 "SET",
                                                 "REMOVE",
                                                 "ADD",
                                                 "DELETE",
                                                 "size",
                                                 "contains",
                                                 "attribute_exists",
                                                 "if_not_exists",
                                                 "list_append",
                                                 "begins_with",
                                                 "!",
                                                 "\xf0\x9f",
                                                 "name"};
  std::mt19937_64 random(31);
  for (int i = 0; i < 20000; ++i) {
    std::string text = random() % 3 == 0 ? "SET a = " : "";
    for (size_t n = random() % (i % 100 == 0 ? 800 : 24); n > 0; --n) {
      text += kTokens[random() % std::size(kTokens)];
      if (random() % 4 != 0) text += " ";
    }
    Survive(text);
  }
}

// Sound expressions with one place damaged reach deeper than noise does.
TEST(HostileExpressions, DamagedExpressionsAreRefusedOrBounded) {
  const std::string sound[] = {
      "attribute_exists(a.a[0]) AND (n BETWEEN :n AND :n OR NOT contains(a.#a, :v)) AND size(a) IN (:n, n)",
      "SET a.b = list_append(if_not_exists(a.a, :l), :l), n = n + :n REMOVE a.a[1] ADD c :n",
      "a.a[1], n, #a.b.c[3].d", "a = :v AND begins_with(n, :v)"};
  std::mt19937_64 random(37);
  for (int i = 0; i < 20000; ++i) {
    std::string text = sound[random() % std::size(sound)];
    for (size_t n = random() % 3 + 1; n > 0; --n) {
      size_t at = random() % text.size();
      switch (random() % 3) {
        case 0: text.erase(at, random() % 4 + 1); break;
        case 1: text[at] = static_cast<char>(random()); break;
        default: text.insert(at, text.substr(random() % text.size(), random() % 20)); break;
      }
      if (text.empty()) text = "a";
    }
    Survive(text);
  }
}

}  // namespace
}  // namespace holdfast::expression
