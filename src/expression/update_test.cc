#include "expression/update.h"

#include <gtest/gtest.h>

#include "base/limits.h"
#include "expression/testing.h"

namespace holdfast::expression {
namespace {

using testing::Request;
using testing::Why;

AttributeValue List(std::vector<AttributeValue> elements) {
  return AttributeValue::List(std::move(elements));
}

const Item kItem{{"n", 5},
                 {"s", "text"},
                 {"ss", AttributeValue::StringSet({"x", "y"})},
                 {"l", List({"a", "b", "c"})},
                 {"m", AttributeValue::Map({{"k", "v"}, {"l", List({1})}})}};

const Item kValues{{":one", 1},
                   {":s", "new"},
                   {":l", List({"d"})},
                   {":xz", AttributeValue::StringSet({"x", "z"})},
                   {":xy", AttributeValue::StringSet({"x", "y"})},
                   {":ns", AttributeValue::NumberSet({"1"})},
                   {":big", AttributeValue::Number("9.9e125")}};

// The item that `text` makes of `item`; a failure is reported and gives the item back.
Item Apply(std::string text, std::string* why, const Item& item = kItem) {
  Request request{std::move(text), kValues, {{"#n", "n"}}};
  Result<Update> update = Update::Parse(request.text, &request.scope);
  *why = Why(update);
  if (!update) return item;
  Result<Item> applied = update->Apply(value::MapView(item), &request.work);
  *why = Why(applied);
  return std::move(applied).value_or(item);
}

Item With(std::initializer_list<std::pair<std::string_view, AttributeValue>> changes) {
  Item item = kItem;
  for (const auto& [name, value] : changes) item.Set(name, value);
  return item;
}

TEST(Update, SetStoresWhatItsRightHandSideGives) {
  for (const auto& [text, expected] : std::initializer_list<std::pair<std::string, Item>>{
           {"SET s = :s", With({{"s", "new"}})},
           {"SET fresh = n", With({{"fresh", 5}})},
           {"SET #n = n + :one", With({{"n", 6}})},
           {"SET n = :one - n", With({{"n", -4}})},
           {"SET n = if_not_exists(n, :one), c = if_not_exists(c, :one) + :one", With({{"c", 2}})},
           {"SET l = list_append(l, :l)", With({{"l", List({"a", "b", "c", "d"})}})},
           {"SET l = list_append(:l, l)", With({{"l", List({"d", "a", "b", "c"})}})},
           {"SET c = list_append(if_not_exists(c, :l), :l)", With({{"c", List({"d", "d"})}})},
           {"SET l[1] = :s", With({{"l", List({"a", "new", "c"})}})},
           {"SET l[9] = :s, l[7] = :one", With({{"l", List({"a", "b", "c", 1, "new"})}})},
           {"SET m.k = :s, m.x = n",
            With({{"m", AttributeValue::Map({{"k", "new"}, {"x", 5}, {"l", List({1})}})}})},
           {"SET m.l[0] = m.k", With({{"m", AttributeValue::Map({{"k", "v"}, {"l", List({"v"})}})}})},
           {"SET s = n, n = s", With({{"s", 5}, {"n", "text"}})}}) {
    std::string why;
    EXPECT_EQ(Apply(text, &why), expected) << text;
    EXPECT_EQ(why, "ok") << text;
  }
}

TEST(Update, RemoveAddAndDeleteTakeAndGive) {
  Item without_list = kItem, without_set = kItem;
  without_list.Remove("l");
  without_set.Remove("ss");
  for (const auto& [text, expected] : std::initializer_list<std::pair<std::string, Item>>{
           {"REMOVE l", without_list},
           {"REMOVE l[0], l[2], l[9]", With({{"l", List({"b"})}})},
           {"REMOVE nothing", kItem},
           {"REMOVE m.k", With({{"m", AttributeValue::Map({{"l", List({1})}})}})},
           {"ADD n :one", With({{"n", 6}})},
           {"ADD c :one", With({{"c", 1}})},
           {"ADD ss :xz", With({{"ss", AttributeValue::StringSet({"x", "y", "z"})}})},
           {"DELETE ss :xz", With({{"ss", AttributeValue::StringSet({"y"})}})},
           {"DELETE ss :xy", without_set},
           {"DELETE nothing :xy", kItem}}) {
    std::string why;
    EXPECT_EQ(Apply(text, &why), expected) << text;
    EXPECT_EQ(why, "ok") << text;
  }
}

TEST(Update, WhatDoesNotFitTheItemIsRefused) {
  constexpr std::string_view kPath =
      "The document path provided in the update expression is invalid for update";
  constexpr std::string_view kType = "An operand in the update expression has an incorrect data type";
  constexpr std::string_view kMissing =
      "The provided expression refers to an attribute that does not exist in the item";
  for (auto [text, why] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"SET absent.k = :s", kPath},
           {"SET s.k = :s", kPath},
           {"SET m[0] = :s", kPath},
           {"REMOVE l.k", kPath},
           {"SET c = absent", kMissing},
           {"SET n = s + :one", kType},
           {"SET l = list_append(s, :l)", kType},
           {"ADD s :one", kType},
           {"ADD ss :ns", kType},
           {"DELETE n :xy", kType}}) {
    std::string reported;
    Apply(std::string(text), &reported);
    EXPECT_EQ(reported, why) << text;
  }
  std::string why;
  Apply("ADD n :big", &why);
  EXPECT_TRUE(why.starts_with("Number overflow")) << "126 digits would be needed: " << why;
}

TEST(Update, MeaninglessUpdatesAreRefused) {
  for (auto [text, why] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"SET a = :s SET b = :s", "The \"SET\" section can only be used once in an update expression;"},
           {"SET a = :s, a.b = :s",
            "Two document paths overlap with each other; must remove or rewrite one of these paths; path "
            "one: "
            "[a], path two: [a, b]"},
           {"SET a.b = :s, a[0] = :s",
            "Two document paths conflict with each other; must remove or rewrite one of these paths; path "
            "one: "
            "[a, b], path two: [a, [0]]"},
           {"SET a = size(b)", "The function is not allowed in an update expression; function: size"},
           {"SET a = frob(b)", "Invalid function name; function: frob"},
           {"SET a = list_append(list_append(a, :l), :l)",
            "The function is not allowed to be used this way in an expression; function: list_append"},
           {"SET a = if_not_exists(:s, :s)",
            "Operator or function requires a document path; operator or function: if_not_exists"},
           {"SET a = b + :s",
            "Incorrect operand type for operator or function; operator or function: +, operand type: S"},
           {"ADD a :s",
            "Incorrect operand type for operator or function; operator: ADD, operand type: STRING, "
            "typeSet: ALLOWED_FOR_ADD_OPERAND"},
           {"DELETE a :one",
            "Incorrect operand type for operator or function; operator: DELETE, operand type: "
            "NUMBER, typeSet: ALLOWED_FOR_DELETE_OPERAND"},
           {"SET size = :s", "Attribute name is a reserved keyword; reserved keyword: size"}}) {
    std::string reported;
    Apply(std::string(text), &reported);
    EXPECT_EQ(reported, why) << text;
  }
}

// A value that fits by itself may be too deep where it is put.
TEST(Update, TheResultMayNotNestTooDeeply) {
  auto apply = [](int levels) {
    AttributeValue value("leaf");
    for (int i = 1; i < levels; ++i) value = List({value});
    Request request{"SET m.k = :v", Item{{":v", value}}};
    Result<Update> update = Update::Parse(request.text, &request.scope);
    if (!update) return Why(update);
    return Why(update->Apply(value::MapView(kItem), &request.work));
  };
  EXPECT_EQ(apply(31), "ok");
  EXPECT_TRUE(apply(32).starts_with("Nesting Levels have exceeded"));
}

TEST(Update, OnlyRemovesTellsWhetherAnItemWouldBeMade) {
  auto only_removes = [](std::string text) {
    Request request{std::move(text), kValues};
    return Update::Parse(request.text, &request.scope).value().only_removes();
  };
  EXPECT_TRUE(only_removes("REMOVE a DELETE ss :xy"));
  EXPECT_FALSE(only_removes("REMOVE a ADD n :one"));
}

// --- what it costs ---

// 300 clauses that name one value of 400 KB would make an item of 120 MB, only to measure it.
TEST(Update, StopsAsSoonAsTheItemIsLargerThanAnyMayBe) {
  auto apply = [](const std::string& text, const Item& values, uint64_t* spent) {
    Request request{text, values};
    Result<Update> update = Update::Parse(request.text, &request.scope);
    EXPECT_TRUE(update.has_value()) << Why(update);
    std::string why = Why(update->Apply(value::MapView(kItem), &request.work));
    *spent = request.work.bytes();
    return why;
  };
  const std::string kTooLarge = "Item size to update has exceeded the maximum allowed size";
  std::string sets = "SET a0=:v", appends = "SET b0=list_append(:v,:v)";
  for (int i = 1; i < 150; ++i) {
    sets += ",a" + std::to_string(i) + "=:v";
    appends += ",b" + std::to_string(i) + "=list_append(:v,:v)";
  }
  uint64_t spent = 0;
  EXPECT_EQ(apply(sets, Item{{":v", std::string(400'000, 'x')}}, &spent), kTooLarge);
  EXPECT_LT(spent, 3 * limits::kFlatItemBytesMax);
  std::vector<AttributeValue> elements(100'000, AttributeValue("xyz"));
  EXPECT_EQ(apply(appends, Item{{":v", List(elements)}}, &spent), kTooLarge);
  EXPECT_LT(spent, 4 * limits::kFlatItemBytesMax);
}

TEST(Update, SpendsTheBytesItReadsAndWrites) {
  Request request{"SET a = :v", Item{{":v", std::string(100'000, 'x')}}};
  Result<Update> update = Update::Parse(request.text, &request.scope);
  ASSERT_TRUE(update.has_value());
  EXPECT_TRUE(update->Apply(value::MapView(kItem), &request.work));
  EXPECT_GE(request.work.bytes(), 200'000U) << "looked at, and written";
  EXPECT_LT(request.work.bytes(), 202'000U);
  base::WorkMeter work(base::WorkMeter::Bound::kInline);
  work.Spend(limits::kInlineWorkBytesMax);
  EXPECT_EQ(update->Apply(value::MapView(kItem), &work).error().code(), ErrorCode::kWouldBlock);
}

}  // namespace
}  // namespace holdfast::expression
