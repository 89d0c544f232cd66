#include "expression/condition.h"

#include <gtest/gtest.h>

#include "expression/testing.h"

namespace holdfast::expression {
namespace {

using testing::Request;
using testing::Why;

const Item kItem{{"s", "hello"},
                 {"n", 5},
                 {"b", AttributeValue::Binary("\x01\x02")},
                 {"t", true},
                 {"z", AttributeValue()},
                 {"ss", AttributeValue::StringSet({"x", "y"})},
                 {"ns", AttributeValue::NumberSet({"1", "2"})},
                 {"l", AttributeValue::List({"e", 1, AttributeValue::List({"deep"})})},
                 {"m", AttributeValue::Map({{"k", "v"}, {"in_it", AttributeValue::Map({{"x", 1}})}})},
                 {"wide", "é😀"},
                 {"dotted.name", 1}};

const Item kValues{{":s", "hello"},
                   {":h", "he"},
                   {":n", 5},
                   {":m", 4},
                   {":p", 6},
                   {":b", AttributeValue::Binary("\x01")},
                   {":t", true},
                   {":x", "x"},
                   {":one", AttributeValue::Number("1.0")},
                   {":e", "e"},
                   {":ss", AttributeValue::StringSet({"y", "x"})},
                   {":type", "SS"}};

std::string Holds(std::string text, const Item& item = kItem, NameMap names = {}) {
  Request request{std::move(text), kValues, std::move(names)};
  Result<Condition> condition = Condition::Parse("ConditionExpression", request.text, &request.scope);
  if (!condition) return Why(condition);
  return condition->Holds(value::MapView(item)) ? "yes" : "no";
}

TEST(Condition, ComparisonsHoldForValuesOfOneTypeOnly) {
  for (std::string_view text : {"s = :s", "n = :n", "ss = :ss", "t = :t", "n > :m", "n >= :n", "n < :p",
                                "n <= :n", "s > :h", "b > :b", "n BETWEEN :m AND :p", "n IN (:s, :n)",
                                "s <> :n", "n <> :m", "absent <> :n", "m.k < s OR s > :h"}) {
    EXPECT_EQ(Holds(std::string(text)), "yes") << text;
  }
  for (std::string_view text :
       {"s = :n", "s < :n", "s > :n", "n <> :n", "absent = :n", "absent < :n", "NOT n = :n", "z < :n",
        "n BETWEEN :p AND :p", "s BETWEEN :m AND :p", "n IN (:m, :p)", "l = :n", "absent IN (:n)"}) {
    EXPECT_EQ(Holds(std::string(text)), "no") << text;
  }
}

TEST(Condition, FunctionsLookAtTypesAndParts) {
  for (std::string_view text :
       {"attribute_exists(m.in_it.x)", "attribute_exists(l[2][0])", "attribute_not_exists(l[3])",
        "attribute_not_exists(m.k.deeper)", "attribute_not_exists(s[0])", "attribute_type(ss, :type)",
        "begins_with(s, :h)", "begins_with(b, :b)", "contains(s, :h)", "contains(ss, :x)",
        "contains(ns, :one)", "contains(l, :e)", "contains(l, :one)", "size(s) = :n", "size(ss) < size(l)",
        "size(m) < :n"}) {
    EXPECT_EQ(Holds(std::string(text)), "yes") << text;
  }
  for (std::string_view text :
       {"attribute_exists(nothing)", "attribute_type(s, :type)", "begins_with(n, :h)", "begins_with(s, :b)",
        "contains(n, :n)", "contains(ss, :n)", "size(n) = :n", "size(absent) < :n", "contains(absent, :x)"}) {
    EXPECT_EQ(Holds(std::string(text)), "no") << text;
  }
}

// DynamoDB counts a string in UTF-16 units.
TEST(Condition, TheSizeOfAStringIsItsUtf16Length) {
  Request request{"size(wide) = :three", Item{{":three", 3}}};
  auto condition = Condition::Parse("ConditionExpression", request.text, &request.scope);
  ASSERT_TRUE(condition.has_value());
  EXPECT_TRUE(condition->Holds(value::MapView(kItem)));
}

TEST(Condition, AnItemThatDoesNotExistHasNoAttributes) {
  Request request{"attribute_not_exists(s) AND NOT n = :n AND n <> :n", kValues};
  auto condition = Condition::Parse("ConditionExpression", request.text, &request.scope);
  ASSERT_TRUE(condition.has_value());
  EXPECT_TRUE(condition->Holds(nullptr));
}

TEST(Condition, PlaceholdersStandForOneNameWhateverItHolds) {
  EXPECT_EQ(Holds("#d = :one", kItem, {{"#d", "dotted.name"}}), "yes");
  EXPECT_EQ(Holds("attribute_exists(m.#k)", kItem, {{"#k", "in_it"}}), "yes");
  EXPECT_EQ(Holds("attribute_not_exists(#h)", kItem, {{"#h", "#h"}}), "yes");
}

// What can be refused without an item is refused before one is read, in DynamoDB's words.
TEST(Condition, MeaninglessConditionsAreRefused) {
  for (auto [text, why] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"frob(a)", "Invalid function name; function: frob"},
           {"Size(a) = :n", "Invalid function name; function: Size"},
           {"size(a)", "The function is not allowed to be used this way in an expression; function: size"},
           {"attribute_exists(a) = :n",
            "The function is not allowed to be used this way in an expression; function: attribute_exists"},
           {"if_not_exists(a, :n) = :n",
            "The function is not allowed in a condition expression; function: if_not_exists"},
           {"name = :n", "Attribute name is a reserved keyword; reserved keyword: name"},
           {"a.Year = :n", "Attribute name is a reserved keyword; reserved keyword: Year"},
           {"#a = :n",
            "An expression attribute name used in the document path is not defined; attribute name: #a"},
           {"a = :undefined",
            "An expression attribute value used in expression is not defined; attribute value: :undefined"},
           {"size(a, b) = :n",
            "Incorrect number of operands for operator or function; operator or function: "
            "size, number of operands: 2"},
           {"begins_with(a)",
            "Incorrect number of operands for operator or function; operator or function: "
            "begins_with, number of operands: 1"},
           {"a = a",
            "The first operand must be distinct from the remaining operands for this operator or "
            "function; operator: =, first operand: [a]"},
           {"a < :t",
            "Incorrect operand type for operator or function; operator or function: <, operand type: BOOL"},
           {"begins_with(a, :n)",
            "Incorrect operand type for operator or function; operator or function: "
            "begins_with, operand type: N"},
           {"size(:n) = :n",
            "Incorrect operand type for operator or function; operator or function: size, operand type: N"},
           {"attribute_exists(:n)",
            "Operator or function requires a document path; operator or function: attribute_exists"},
           {"attribute_type(a, :s)",
            "Invalid attribute type name found; type: hello, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}"},
           {"a BETWEEN :p AND :m",
            "The BETWEEN operator requires upper bound to be greater than or equal to "
            "lower bound; lower bound operand: AttributeValue: {N:6}, upper bound "
            "operand: AttributeValue: {N:4}"},
           {"a BETWEEN :s AND :n",
            "The BETWEEN operator requires same data type for lower and upper bounds; "
            "lower bound operand: AttributeValue: {S:hello}, upper bound operand: "
            "AttributeValue: {N:5}"}}) {
    EXPECT_EQ(Holds(std::string(text)), why) << text;
  }
}

TEST(Condition, APathMayHave32Elements) {
  std::string path = "a";
  for (int i = 1; i < 32; ++i) path += ".b";
  EXPECT_EQ(Holds("attribute_not_exists(" + path + ")"), "yes");
  EXPECT_EQ(Holds("attribute_not_exists(" + path + "[0])"),
            "The document path has too many nesting levels; nesting levels: 33");
}

TEST(Scope, NamesAndValuesThatNobodyUsesAreRefused) {
  Request request{"a = :used", Item{{":used", 1}, {":spare", 2}}, {{"#spare", "x"}}};
  auto condition = Condition::Parse("ConditionExpression", request.text, &request.scope);
  ASSERT_TRUE(condition.has_value());
  EXPECT_EQ(Why(request.scope.CheckAllUsed()),
            "Value provided in ExpressionAttributeNames unused in expressions: keys: {#spare}");
  request.names.clear();
  Scope values_only(nullptr, &request.values);
  EXPECT_TRUE(Condition::Parse("ConditionExpression", request.text, &values_only));
  EXPECT_EQ(Why(values_only.CheckAllUsed()),
            "Value provided in ExpressionAttributeValues unused in expressions: keys: {:spare}");
}

TEST(Scope, KeysOfTheMapsHaveAForm) {
  auto check = [](NameMap names, const Item& values) { return Why(Scope(&names, &values).CheckMaps()); };
  EXPECT_EQ(check({{"#a_1", "x"}}, Item{{":v", 1}}), "ok");
  EXPECT_EQ(check({}, Item{{":v", 1}}), "ExpressionAttributeNames must not be empty");
  EXPECT_EQ(check({{"#a", "x"}}, Item{}), "ExpressionAttributeValues must not be empty");
  EXPECT_EQ(check({{"a", "x"}}, Item{{":v", 1}}),
            "ExpressionAttributeNames contains invalid key: Syntax error; key: \"a\"");
  EXPECT_EQ(check({{"#a", "x"}}, Item{{":v-1", 1}}),
            "ExpressionAttributeValues contains invalid key: Syntax error; key: \":v-1\"");
  EXPECT_EQ(check({{"#a", ""}}, Item{{":v", 1}}),
            "ExpressionAttributeNames contains invalid value: Empty attribute name; key: \"#a\"");
}

}  // namespace
}  // namespace holdfast::expression
