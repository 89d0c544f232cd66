// `enforce` must hold on every way in which an item can be written, and nowhere else.
#include "model/guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "engine/engine.h"
#include "model/load.h"
#include "store/embedded_store.h"

namespace holdfast::model {
namespace {

using testing::HasSubstr;

constexpr const char* kYaml = R"yaml(
model: shelf
version: 1
tables:
  main:
    name: Shelf
    key: {pk: S, sk: S}
    type_attribute: kind
    ttl: expires
    enforce: MODE
entities:
  Book:
    key: {pk: "BOOK#{id}", sk: BOOK}
    attributes:
      id: S!
      title: S!
      pages: {type: N, min: 1}
      status: S! = shelved {shelved|lent}
      details: {type: M, schema: details}
      secret: encrypted
      expires: epoch
schemas:
  details: {fields: {isbn: S!}}
patterns:
  book: {title: One book, get: Book}
)yaml";

const Item kGood{{"pk", "BOOK#1"}, {"sk", "BOOK"},        {"kind", "Book"},
                 {"id", "1"},      {"title", "The Tide"}, {"status", "lent"}};

Item With(std::string_view name, const AttributeValue& value) {
  Item item = kGood;
  item.Set(name, value);
  return item;
}

// An engine whose table Shelf has a guard of the given mode.
class Guarded {
 public:
  explicit Guarded(std::string mode)
      : log(base::LogLevel::kInfo, [this](std::string_view line) { lines.emplace_back(line); }) {
    std::string yaml = kYaml;
    yaml.replace(yaml.find("MODE"), 4, mode);
    auto model = model::LoadModel(yaml, "shelf.yaml", {});
    EXPECT_TRUE(model) << model.error().message();
    engine::EngineOptions options;
    options.manual_housekeeping = true;
    EXPECT_TRUE(AddGuards(*model, &log, &options.guards));
    engine = *engine::Engine::Open(options);
    store = store::EmbeddedStore(engine.get());
    auto app = Application::Open(store.get(), *model, {});
    EXPECT_TRUE((*app)->Apply());
  }

  Status Put(const Item& item) { return Done(PutItemRequest{.table_name = "Shelf", .item = item}); }

  template <class Request>
  Status Done(const Request& request) {
    auto done = store->Run(request);
    if (!done) return done.error();
    return Ok{};
  }

  Status Update(const std::string& expression) {
    UpdateItemRequest request;
    request.table_name = "Shelf";
    request.key = Item{{"pk", "BOOK#1"}, {"sk", "BOOK"}};
    request.update_expression = expression;
    return Done(request);
  }

  Status Batch(const std::vector<Item>& items) {
    BatchWriteItemRequest request;
    for (const Item& item : items)
      request.request_items["Shelf"].emplace_back().put_request.emplace().item = item;
    return Done(request);
  }

  Status Transact(const std::vector<Item>& items) {
    TransactWriteItemsRequest request;
    for (const Item& item : items) {
      TransactPut put;
      put.table_name = "Shelf";
      put.item = item;
      request.transact_items.emplace_back().put = std::move(put);
    }
    return Done(request);
  }

  size_t Count() {
    auto scanned = store->Run(ScanRequest{.table_name = "Shelf"});
    return scanned ? scanned->items->size() : 999;
  }
  uint64_t Warnings() { return engine->catalog().Find("Shelf")->guard->warnings(); }

  std::vector<std::string> lines;
  base::Log log;
  std::unique_ptr<engine::Engine> engine;
  std::unique_ptr<Store> store;
};

std::string Refusal(const Status& status) {
  EXPECT_FALSE(status);
  if (status) return "";
  EXPECT_EQ(status.error().code(), ErrorCode::kValidation) << status.error().ToString();
  return status.error().message();
}

TEST(GuardTest, StrictNamesEntityAndPathOfWhateverIsWrong) {
  Guarded shelf("strict");
  Item untitled = kGood;
  untitled.Remove("title");
  EXPECT_THAT(Refusal(shelf.Put(untitled)), HasSubstr("no Book of the model shelf: title is required"));
  EXPECT_THAT(Refusal(shelf.Put(With("pages", "many"))), HasSubstr("pages should be"));
  EXPECT_THAT(Refusal(shelf.Put(With("pages", 0))), HasSubstr("pages should"));
  EXPECT_THAT(Refusal(shelf.Put(With("status", "burnt"))), HasSubstr("status should be one of"));
  EXPECT_THAT(Refusal(shelf.Put(With("details", AttributeValue::Map({})))),
              HasSubstr("details.isbn is required"));
  EXPECT_THAT(Refusal(shelf.Put(With("id", "2"))), HasSubstr("pk is not what the model makes"));
  EXPECT_THAT(Refusal(shelf.Put(With("kind", "Chair"))), HasSubstr("no entity of the model shelf"));
  EXPECT_THAT(Refusal(shelf.Put({{"pk", "x"}, {"sk", "y"}})), HasSubstr("no entity of the model shelf"));
  EXPECT_EQ(shelf.Count(), 0u);
  EXPECT_TRUE(shelf.Put(kGood));
  EXPECT_EQ(shelf.Count(), 1u);
}

TEST(GuardTest, StrictHoldsForEveryWayOfWriting) {
  Guarded shelf("strict");
  Item bad = With("pk", "BOOK#2");
  ASSERT_TRUE(shelf.Put(kGood));

  // An update is judged by what it makes of the item.
  EXPECT_THAT(Refusal(shelf.Update("REMOVE title")), HasSubstr("Book of the model shelf: title"));
  EXPECT_TRUE(shelf.Update("SET title = sk"));

  // A batch is refused as a whole.
  EXPECT_THAT(Refusal(shelf.Batch({With("title", "New"), bad})), HasSubstr("pk"));
  EXPECT_EQ(shelf.store->Run(GetItemRequest{.table_name = "Shelf", .key = {{"pk", "BOOK#1"}, {"sk", "BOOK"}}})
                ->item->Get("title"),
            AttributeValue("BOOK"));

  Status canceled = shelf.Transact({With("title", "New"), bad});
  ASSERT_FALSE(canceled);
  ASSERT_EQ(canceled.error().code(), ErrorCode::kTransactionCanceled) << canceled.error().ToString();
  const auto& reasons = canceled.error().detail()->reasons;
  EXPECT_EQ(reasons[0].code, "None");
  EXPECT_EQ(reasons[1].code, "ValidationError");
  EXPECT_THAT(reasons[1].message.value_or(""), HasSubstr("pk is not what the model makes"));
  EXPECT_EQ(shelf.Count(), 1u);
}

TEST(GuardTest, DeletesAndExpiryAreNobodysBusiness) {
  Guarded shelf("strict");
  ASSERT_TRUE(shelf.Put(With("expires", base::SystemClock().NowSeconds() - 60)));
  ASSERT_TRUE(shelf.engine->RunHousekeeping());
  EXPECT_EQ(shelf.Count(), 0u);
  ASSERT_TRUE(shelf.Put(kGood));
  EXPECT_TRUE(
      shelf.Done(DeleteItemRequest{.table_name = "Shelf", .key = {{"pk", "BOOK#1"}, {"sk", "BOOK"}}}));
  EXPECT_EQ(shelf.Count(), 0u);
}

TEST(GuardTest, WarnAcceptsCountsAndLogsOnceASecond) {
  Guarded shelf("warn");
  EXPECT_TRUE(shelf.Put(kGood));
  EXPECT_EQ(shelf.Warnings(), 0u);
  EXPECT_TRUE(shelf.Put(With("pages", "many")));
  EXPECT_TRUE(shelf.Update("REMOVE title"));
  EXPECT_TRUE(shelf.Batch({With("pk", "BOOK#2"), With("pk", "BOOK#3")}));
  EXPECT_TRUE(shelf.Transact({With("pk", "BOOK#4")}));
  EXPECT_EQ(shelf.Warnings(), 5u);
  EXPECT_EQ(shelf.Count(), 4u);
  ASSERT_GE(shelf.lines.size(), 1u);
  EXPECT_LT(shelf.lines.size(), 5u);
  EXPECT_THAT(shelf.lines[0], HasSubstr("pages should be"));
}

TEST(GuardTest, WarnDoesNotCountWhatIsNotWritten) {
  Guarded shelf("warn");
  Item bad = With("pages", "many");
  PutItemRequest put{.table_name = "Shelf", .item = bad};
  put.condition_expression = "attribute_exists(pk)";
  EXPECT_FALSE(shelf.Done(put));
  TransactWriteItemsRequest request;
  for (const Item& item : {bad, With("pk", "BOOK#2")}) {
    TransactPut action;
    action.table_name = "Shelf";
    action.item = item;
    if (item == bad) action.condition_expression = "attribute_exists(pk)";
    request.transact_items.emplace_back().put = action;
  }
  EXPECT_FALSE(shelf.Done(request));
  EXPECT_EQ(shelf.Warnings(), 0u);
}

TEST(GuardTest, OffAsksNobody) {
  Guarded shelf("off");
  EXPECT_EQ(shelf.engine->catalog().Find("Shelf")->guard, nullptr);
  EXPECT_TRUE(shelf.Put({{"pk", "x"}, {"sk", "y"}}));
  EXPECT_TRUE(shelf.Update("SET a = pk"));
  EXPECT_TRUE(shelf.Batch({With("pages", "many")}));
  EXPECT_TRUE(shelf.Transact({With("pk", "BOOK#4")}));
}

TEST(GuardTest, TwoModelsCannotEnforceThemselvesOnOneTable) {
  std::string yaml = kYaml;
  yaml.replace(yaml.find("MODE"), 4, "strict");
  auto model = model::LoadModel(yaml, "shelf.yaml", {});
  base::Log log(base::LogLevel::kNone);
  engine::ItemGuards guards;
  ASSERT_TRUE(AddGuards(*model, &log, &guards));
  EXPECT_THAT(Refusal(AddGuards(*model, &log, &guards)), HasSubstr("shelf.yaml:"));
}

}  // namespace
}  // namespace holdfast::model
