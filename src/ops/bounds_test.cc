// I-38: what one request may cost, counted in the bytes it looks at. Each of these requests once held a
// thread for seconds or took gigabytes.
#include <gtest/gtest.h>

#include "base/limits.h"
#include "engine/engine.h"
#include "ops/operations.h"

namespace holdfast::ops {
namespace {

class BoundsTest : public testing::Test {
 protected:
  void SetUp() override {
    engine_ = *engine::Engine::Open({.seed = 1, .manual_housekeeping = true});
    CreateTableRequest table{.table_name = "table"};
    table.key_schema = {{"p", KeyType::kHash}, {"s", KeyType::kRange}};
    table.attribute_definitions = {{"p", ScalarAttributeType::kString}, {"s", ScalarAttributeType::kNumber}};
    table.billing_mode = BillingMode::kPayPerRequest;
    ASSERT_TRUE(ops::Run(engine_.get(), table));
  }

  void Put(int64_t sort, AttributeMap more = {}) {
    more.emplace("p", "x");
    more.emplace("s", sort);
    auto put = ops::Run(engine_.get(), PutItemRequest{.table_name = "table", .item = Item(more)});
    ASSERT_TRUE(put.has_value()) << put.error().ToString();
  }

  // As an I/O thread does it, or the pool. Notes in spent_ what it came to.
  enum class Where : uint8_t { kIoThread, kPool };
  template <class Request>
  auto Do(const Request& request, Where where, uint64_t spent_before = 0) {
    Context context{engine_.get(), where == Where::kPool ? storage::Wait::kMayBlock : storage::Wait::kNever};
    context.work.Spend(spent_before);
    auto result = Execute(context, request, {});
    spent_ = context.work.bytes() - spent_before;
    return result;
  }
  template <class T>
  static std::string Why(const Result<T>& result) {
    return result ? "ok" : result.error().message();
  }

  static std::string Repeated(std::string_view what, std::string_view between, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text.append(i == 0 ? "" : between).append(what);
    return text;
  }
  PutItemRequest ManySearches() {
    PutItemRequest put{.table_name = "table", .item = {{"p", "x"}, {"s", 1}, {"new", true}}};
    put.condition_expression = Repeated("contains(a,:v)", "or ", 240);
    put.expression_attribute_values = Item{{":v", std::string(195'000, 'a') + "b"}};
    return put;
  }

  std::unique_ptr<engine::Engine> engine_;
  uint64_t spent_ = 0;
};

TEST_F(BoundsTest, AConditionOfMuchWorkLeavesTheIoThreadAndChangesNothing) {
  Put(1, {{"a", std::string(390'000, 'a')}});
  auto inline_put = Do(ManySearches(), Where::kIoThread);
  ASSERT_FALSE(inline_put.has_value());
  EXPECT_EQ(inline_put.error().code(), ErrorCode::kWouldBlock);
  EXPECT_LT(spent_, limits::kInlineWorkBytesMax + (1 << 20));
  auto put = Do(ManySearches(), Where::kPool);
  ASSERT_FALSE(put.has_value());
  EXPECT_EQ(put.error().code(), ErrorCode::kConditionalCheckFailed) << "there it has its answer";
  EXPECT_LT(spent_, 240 * 600'000U);
}

// A transaction is the sum of its actions, and one that is to be tried elsewhere was not cancelled.
TEST_F(BoundsTest, ATransactionIsOneRequest) {
  TransactWriteItemsRequest transaction;
  for (int i = 0; i < 12; ++i) {
    Put(i, {{"a", std::string(390'000, 'a')}});
    PutItemRequest put = ManySearches();
    TransactConditionCheck check{.table_name = "table", .key = {{"p", "x"}, {"s", i}}};
    check.condition_expression = "not (" + *put.condition_expression + ")";
    check.expression_attribute_values = put.expression_attribute_values;
    transaction.transact_items.push_back({.condition_check = std::move(check)});
  }
  auto inline_run = Do(transaction, Where::kIoThread);
  ASSERT_FALSE(inline_run.has_value());
  EXPECT_EQ(inline_run.error().code(), ErrorCode::kWouldBlock);
  EXPECT_LT(spent_, limits::kInlineWorkBytesMax + (1 << 20));
}

TEST_F(BoundsTest, ARequestThatComesToAGigabyteIsRefused) {
  Put(1, {{"a", std::string(390'000, 'a')}});
  auto put = Do(ManySearches(), Where::kPool, limits::kRequestWorkBytesMax - 100'000'000);
  ASSERT_FALSE(put.has_value());
  EXPECT_EQ(put.error().code(), ErrorCode::kValidation);
  EXPECT_TRUE(put.error().message().starts_with("The request is too much work")) << put.error().message();
  EXPECT_LT(spent_, 101'000'000U);
}

// A filter is evaluated for each item of a page.
TEST_F(BoundsTest, AFilterIsPaidForItemByItem) {
  for (int i = 0; i < 2000; ++i) Put(i, {{"n", i}});
  QueryRequest query{.table_name = "table"};
  query.key_condition_expression = "p = :p";
  query.expression_attribute_values = Item{{":p", "x"}};
  ASSERT_TRUE(Do(query, Where::kIoThread));
  uint64_t without = spent_;
  EXPECT_GT(without, 2000 * 16U);
  EXPECT_LT(without, 2000 * 100U) << "the bytes of the items";
  AttributeMap values{{":p", "x"}};
  std::string operands;
  for (int i = 0; i < 100; ++i) {
    values.emplace(":v" + std::to_string(i), -1 - i);
    operands += (i == 0 ? ":v" : ",:v") + std::to_string(i);
  }
  query.filter_expression = "n in (" + operands + ")";
  query.expression_attribute_values = Item(values);
  auto found = Do(query, Where::kIoThread);
  ASSERT_TRUE(found.has_value()) << found.error().ToString();
  EXPECT_EQ(found->scanned_count, 2000);
  EXPECT_GT(spent_ - without, 2000 * 100 * 16U);
  EXPECT_LT(spent_ - without, 2000 * 100 * 64U);
}

// The weight that ends a page leaves names out, as DynamoDB's does: six attributes with names of 64 KB weigh
// a few bytes, and a thousand such items would be an answer of 400 MB.
TEST_F(BoundsTest, APageOfLongNamesEndsToo) {
  for (int i = 0; i < 45; ++i) {
    AttributeMap names;
    for (char c = 'a'; c < 'g'; ++c) names.emplace(std::string(65'000, c), true);
    Put(i, names);
  }
  auto page = Do(ScanRequest{.table_name = "table"}, Where::kPool);
  ASSERT_TRUE(page.has_value());
  ASSERT_TRUE(page->last_evaluated_key.has_value());
  EXPECT_EQ(page->scanned_count, 44) << "16 MB and the item that reached them";
  auto rest =
      Do(ScanRequest{.table_name = "table", .exclusive_start_key = page->last_evaluated_key}, Where::kPool);
  ASSERT_TRUE(rest.has_value());
  EXPECT_EQ(rest->scanned_count, 1);
}

TEST_F(BoundsTest, AnUpdateEndsWhenItsItemIsTooLarge) {
  UpdateItemRequest update{.table_name = "table", .key = {{"p", "x"}, {"s", 1}}};
  update.update_expression = "SET a0=:v";
  for (int i = 1; i < 300; ++i) *update.update_expression += ",a" + std::to_string(i) + "=:v";
  update.expression_attribute_values = Item{{":v", std::string(400'000, 'x')}};
  EXPECT_EQ(Why(Do(update, Where::kIoThread)), "Item size to update has exceeded the maximum allowed size");
  EXPECT_LT(spent_, 3 * limits::kFlatItemBytesMax);
  update.expression_attribute_values = Item{{":v", std::string(limits::kExpressionMapBytesMax, 'x')}};
  EXPECT_EQ(Why(Do(update, Where::kIoThread)), "ExpressionAttributeValues exceeds max size");
}

// The parameters from before expressions have the limits of expressions.
TEST_F(BoundsTest, LegacyParametersHaveTheLimitsOfExpressions) {
  const std::string kInvalid = "One or more parameter values were invalid: ";
  for (int i = 0; i < 300; ++i) Put(i, {{"n", i}});
  auto conditions = [](size_t count, size_t operands) {
    LegacyConditions filter;
    for (size_t i = 0; i < count; ++i) {
      LegacyCondition condition{.comparison_operator = ComparisonOperator::kIn};
      condition.attribute_value_list.emplace(operands, SingleValue(AttributeValue(7)));
      filter.emplace("n" + std::to_string(i), std::move(condition));
    }
    return filter;
  };
  auto scan = [&](LegacyConditions filter) {
    return Why(Do(ScanRequest{.table_name = "table", .scan_filter = std::move(filter)}, Where::kPool));
  };
  EXPECT_EQ(scan(conditions(1, 100)), "ok");
  EXPECT_EQ(scan(conditions(1, 101)),
            kInvalid + "Invalid number of argument(s) for the IN ComparisonOperator");
  EXPECT_EQ(scan(conditions(300, 1)), "ok");
  EXPECT_EQ(scan(conditions(301, 1)), kInvalid + "A filter may have 300 elements at most");

  auto get = [&](int64_t count) {
    GetItemRequest request{.table_name = "table", .key = {{"p", "x"}, {"s", 1}}};
    request.attributes_to_get.emplace();
    for (int64_t i = count; i > 0; --i) request.attributes_to_get->push_back("n" + std::to_string(i));
    return Why(Do(request, Where::kIoThread));
  };
  EXPECT_EQ(get(2048), "ok");
  EXPECT_LT(spent_, 2048 * 100U);
  EXPECT_EQ(get(2049), kInvalid + "AttributesToGet may have 2048 elements at most");

  auto update = [&](int count) {
    UpdateItemRequest request{.table_name = "table", .key = {{"p", "x"}, {"s", 1}}};
    request.attribute_updates.emplace();
    for (int i = 0; i < count; ++i)
      (*request.attribute_updates)["n" + std::to_string(i)] = {.value = SingleValue(AttributeValue(i))};
    return Why(Do(request, Where::kIoThread));
  };
  EXPECT_EQ(update(2048), "ok");
  EXPECT_EQ(update(2049), kInvalid + "AttributeUpdates may have 2048 elements at most");

  auto put = [&](int count) {
    PutItemRequest request{.table_name = "table", .item = {{"p", "x"}, {"s", 1}}};
    request.expected.emplace();
    for (int i = 0; i < count; ++i) (*request.expected)["m" + std::to_string(i)] = {.exists = false};
    return Why(Do(request, Where::kIoThread));
  };
  EXPECT_EQ(put(300), "ok");
  EXPECT_EQ(put(301), kInvalid + "Expected may have 300 elements at most");
}

// --- faults ---

// Reports are AWS's for what is within bounds: first ten, in the order of the fields.
TEST_F(BoundsTest, OfManyFaultsTheFirstTenAreReported) {
  TransactGetItemsRequest request;
  request.transact_items.resize(100);
  std::string why = Why(Do(request, Where::kIoThread));
  EXPECT_TRUE(
      why.starts_with("10 validation errors detected: Value '' at "
                      "'transactItems.1.member.get.tableName' failed to satisfy constraint: Member must have "
                      "length greater than or equal to 1; "))
      << why;
  EXPECT_NE(why.find("'transactItems.10.member.get.tableName'"), std::string::npos) << why;
  EXPECT_EQ(why.find("'transactItems.11.member"), std::string::npos) << why;
}

// What a member that was missing breaks is reported as missing, however many are, and the report is in order.
TEST_F(BoundsTest, WhatIsMissingIsReportedOnce) {
  Violations found;
  FieldPath path;
  path.Push(0, "TransactItems");
  TransactGetItemsRequest request;
  request.transact_items.resize(100);
  for (int i = 99; i >= 0; --i) {
    path.PushElement(i);
    path.Push(0, "Get");
    if (found.Reports(path.Place(), false)) found.Add(path.Missing({}));
    found.missing.push_back(path.Place());
    path.Pop();
    path.Pop();
  }
  Context context{engine_.get()};
  std::string why = Why(Execute(context, request, found));
  EXPECT_TRUE(
      why.starts_with("10 validation errors detected: Value null at 'transactItems.1.member.get' failed to "
                      "satisfy constraint: Member must not be null; Value null at "
                      "'transactItems.2.member.get' failed"))
      << why;
  EXPECT_TRUE(
      why.ends_with("'transactItems.10.member.get' failed to satisfy constraint: Member must not be null"))
      << why;
}

TEST_F(BoundsTest, AReportShowsTheBeginningOfWhatItRefuses) {
  TransactGetItemsRequest request;
  for (int i = 0; i < 101; ++i) {
    request.transact_items.push_back(
        {.get = {.table_name = "table", .key = {{"p", std::string(100'000, 'x')}, {"s", i}}}});
  }
  std::string why = Why(Do(request, Where::kIoThread));
  EXPECT_TRUE(
      why.starts_with("1 validation error detected: Value '[TransactGetItem(get=Get(tableName=table, key={p="
                      "AttributeValue: {S:xxx"))
      << why;
  EXPECT_TRUE(
      why.ends_with("x...' at 'transactItems' failed to satisfy constraint: Member must have length less "
                    "than or equal to 100"))
      << why;
  EXPECT_LT(why.size(), 1500U);
  QueryRequest query{.table_name = std::string(15'000'000, 't')};
  EXPECT_LT(Why(Do(query, Where::kIoThread)).size(), 5000U);
}

// Every key of every index was looked up among all definitions.
TEST_F(BoundsTest, CreateTableTakesTimeThatGrowsWithItsSize) {
  CreateTableRequest table{.table_name = "other"};
  table.billing_mode = BillingMode::kPayPerRequest;
  table.key_schema = {{"d0", KeyType::kHash}};
  for (int i = 0; i < 16'000; ++i)
    table.attribute_definitions.push_back({"d" + std::to_string(i), ScalarAttributeType::kString});
  GlobalSecondaryIndex& index = table.global_secondary_indexes.emplace().emplace_back();
  index.index_name = "index";
  index.projection.projection_type = ProjectionType::kAll;
  for (int i = 0; i < 16'000; ++i)
    index.key_schema.push_back({"d" + std::to_string(15'999 - i), KeyType::kHash});
  EXPECT_EQ(Why(Do(table, Where::kPool)),
            "Invalid KeySchema: The KeySchema has 16000 HASH key elements; at most 4 are allowed");
  std::vector<Tag> tags;
  for (int i = 0; i < 16'000; ++i) tags.push_back({"holdfast:vector:" + std::to_string(i), "x"});
  table.global_secondary_indexes.reset();
  table.attribute_definitions.resize(1);
  table.tags = tags;
  EXPECT_EQ(Why(Do(table, Where::kPool)),
            "One or more parameter values were invalid: Too many tags: at most 50 are allowed");
}

}  // namespace
}  // namespace holdfast::ops
