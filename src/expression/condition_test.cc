#include "expression/condition.h"

#include <gtest/gtest.h>

#include "base/limits.h"
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
  return condition->Holds(value::MapView(item), &request.work) ? "yes" : "no";
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
  EXPECT_TRUE(condition->Holds(value::MapView(kItem), &request.work));
}

TEST(Condition, AnItemThatDoesNotExistHasNoAttributes) {
  Request request{"attribute_not_exists(s) AND NOT n = :n AND n <> :n", kValues};
  auto condition = Condition::Parse("ConditionExpression", request.text, &request.scope);
  ASSERT_TRUE(condition.has_value());
  EXPECT_TRUE(condition->Holds(nullptr, &request.work));
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

// --- what it costs ---

// Bounds stand on this count (I-38): what a condition looks at is spent, whether it holds or not.
TEST(Condition, SpendsTheBytesItLooksAt) {
  const Item item{{"t", std::string(100'000, 'a')}, {"l", AttributeValue::List({"x", "y"})}, {"n", 1}};
  auto spent = [&](std::string text) -> uint64_t {
    Request request{std::move(text), Item{{":w", std::string(50'000, 'a') + "b"}, {":n", 1}}};
    auto condition = Condition::Parse("ConditionExpression", request.text, &request.scope);
    EXPECT_TRUE(condition.has_value()) << condition.error().message();
    static_cast<void>(condition->Holds(value::MapView(item), &request.work));
    return request.work.bytes();
  };
  constexpr uint64_t kSteps = 200;
  auto about = [](uint64_t got, uint64_t bytes) { return got >= bytes && got <= bytes + kSteps; };
  EXPECT_TRUE(about(spent("contains(t, :w)"), 150'000)) << spent("contains(t, :w)");
  EXPECT_TRUE(about(spent("begins_with(t, :w)"), 50'000)) << spent("begins_with(t, :w)");
  EXPECT_TRUE(about(spent("t = :w"), 50'000)) << spent("t = :w");
  EXPECT_TRUE(about(spent("size(t) = :n"), 100'000)) << spent("size(t) = :n");
  EXPECT_TRUE(about(spent("size(l) = :n"), 0)) << "a list knows its size";
  EXPECT_TRUE(about(spent("n = :n"), 0)) << spent("n = :n");
  EXPECT_TRUE(about(spent("contains(t, :w) and contains(t, :w)"), 150'000)) << "the second is not asked";
  EXPECT_GE(spent("contains(t, :w) or contains(t, :w)"), 300'000U);
}

// 240 searches of 400 KB fit into an expression; an I/O thread makes 40 of them and leaves the rest to the
// pool.
TEST(Condition, StopsWhenItsWorkIsExhausted) {
  const Item item{{"a", std::string(390'000, 'a')}};
  std::string text = "contains(a,:v)";
  for (int i = 1; i < 240; ++i) text += "or contains(a,:v)";
  Request request{text, Item{{":v", std::string(195'000, 'a') + "b"}}};
  auto condition = Condition::Parse("ConditionExpression", request.text, &request.scope);
  ASSERT_TRUE(condition.has_value()) << condition.error().message();
  base::WorkMeter work(base::WorkMeter::Bound::kInline);
  static_cast<void>(condition->Holds(value::MapView(item), &work));
  EXPECT_GT(work.bytes(), limits::kInlineWorkBytesMax);
  EXPECT_LT(work.bytes(), limits::kInlineWorkBytesMax + 600'000);
  EXPECT_EQ(work.Check().error().code(), ErrorCode::kWouldBlock);
  EXPECT_FALSE(condition->Holds(value::MapView(item), &request.work));
  EXPECT_TRUE(request.work.Check()) << "where it may take long it is answered";
  EXPECT_LT(request.work.bytes(), 240 * 600'000U);
}

// 4 KB of text name an attribute a thousand times: its 64 KB must not be there as often.
TEST(Condition, RefersToNamesInsteadOfCopyingThem) {
  Request request{"#n = :v or #n > :v", Item{{":v", 1}}, {{"#n", std::string(65'535, 'n')}}};
  auto condition = Condition::Parse("ConditionExpression", request.text, &request.scope);
  ASSERT_TRUE(condition.has_value());
  int paths = 0;
  condition->ForEachPath([&](const Path& path) {
    ++paths;
    EXPECT_EQ(path[0].name.data(), request.names.at("#n").data());
  });
  EXPECT_EQ(paths, 2);
}

TEST(Condition, NamesAndValuesHaveTwoMegabytesEach) {
  auto check = [](AttributeMap values, NameMap names) {
    Request request{"", Item(values), std::move(names)};
    Status sound = request.scope.CheckMaps();
    return sound ? "ok" : sound.error().message();
  };
  std::string half(limits::kExpressionMapBytesMax / 2 - 2, 'x');
  EXPECT_EQ(check({{":a", half}, {":b", half}}, {{"#a", "a"}}), "ok");
  EXPECT_EQ(check({{":a", half}, {":b", half + "x"}}, {{"#a", "a"}}),
            "ExpressionAttributeValues exceeds max size");
  NameMap names;
  for (int i = 0; i < 32; ++i) names["#" + std::to_string(i)] = std::string(65'535, 'n');
  EXPECT_EQ(check({{":a", 1}}, names), "ExpressionAttributeNames exceeds max size");
}

}  // namespace
}  // namespace holdfast::expression
