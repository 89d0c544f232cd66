// Returning to states of a store: whatever happened since, it is as it was, and everything derived from it
// too.
#include "engine/dev/store_snapshots.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "engine/backup/backups.h"
#include "engine/commit/commit.h"
#include "engine/item/stored_item.h"
#include "engine/verify.h"
#include "storage/fault/fault_file_system.h"

namespace holdfast::engine {
namespace {

class Set final : public ItemMutation {
 public:
  explicit Set(std::optional<Item> item) : item_(std::move(item)) {}
  Result<Change> Apply(const value::MapView*) const override {
    if (!item_) return Change{Change::Kind::kDelete, {}};
    return Change{Change::Kind::kPut, *item_};
  }

 private:
  const std::optional<Item> item_;
};

// What a store has, in the terms of its clients: tables by name, items by partition key.
using Content = std::map<std::string, std::map<std::string, Item>>;

class StoreSnapshotsTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    EngineOptions options{.clock = &clock_, .seed = 1, .manual_housekeeping = true};
    if (GetParam() == "rocksdb") {
      static int opened = 0;
      directory_ = std::filesystem::temp_directory_path() /
                   ("holdfast-snapshots-" + std::to_string(::getpid()) + "-" + std::to_string(++opened));
      options.options.directory = directory_;
      options.file_system = std::make_shared<storage::FaultFileSystem>(1);  // a fast one: it syncs nothing
    }
    engine_ = Engine::Open(options).value();
    snapshots_ = std::make_unique<StoreSnapshots>(engine_.get());
  }
  void TearDown() override {
    snapshots_.reset();
    engine_.reset();
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }

  TablePtr CreateTable(const std::string& name, bool indexed = true) {
    TableSchema schema{.name = name, .partition = {"pk", value::Type::kString}};
    schema.attributes = {{"pk", ScalarAttributeType::kString}, {"n", ScalarAttributeType::kNumber}};
    schema.ttl_attribute = "gone";
    schema.ttl_status = TimeToLiveStatus::kEnabled;
    if (indexed) {
      schema.indexes.emplace_back().name = "byN";
      schema.indexes[0].partition = {{"n", value::Type::kNumber}};
      schema.indexes.emplace_back().name = "near";
      schema.indexes[1].kind = IndexSchema::Kind::kVector;
      schema.indexes[1].vector = VectorSchema{.attribute = "v", .dimensions = 2};
    }
    return engine_->CreateTable(std::move(schema)).value();
  }
  void Put(const std::string& table, const std::string& pk, int64_t n) {
    Write(table, pk, Item{{"pk", pk}, {"n", n}, {"gone", n + 1000}, {"v", AttributeValue::List({n, 1})}});
  }
  void Write(const std::string& table, const std::string& pk, std::optional<Item> item) {
    TablePtr at = engine_->catalog().Find(table);
    Set mutation(std::move(item));
    ASSERT_TRUE(
        engine_->writer().Write({{at.get(), ItemKey(*at->schema(), pk, std::nullopt), &mutation}}, {}));
  }

  Content Read() {
    Content content;
    for (const TablePtr& table : engine_->catalog().All()) {
      auto& items = content[table->schema()->name];
      auto it = engine_->kv().Iterate(storage::Space::kItems, ObjectRange(table->schema()->id), nullptr,
                                      storage::Wait::kMayBlock);
      for (it->SeekToFirst(); it->Valid(); it->Next()) {
        Item item = Item::FromFlat(std::string(DecodeStored(it->value()).flat));
        items[item.Get("pk")->AsText()] = item;
      }
      EXPECT_EQ(table->tally.count.load(), static_cast<int64_t>(items.size()));
    }
    return content;
  }
  void ExpectSound() {
    auto report = VerifyStore(engine_.get());
    ASSERT_TRUE(report) << report.error().ToString();
    EXPECT_TRUE(report->faults.empty()) << report->faults[0];
  }

  base::ManualClock clock_{1'700'000'000'000};
  std::string directory_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<StoreSnapshots> snapshots_;
};
INSTANTIATE_TEST_SUITE_P(Storages, StoreSnapshotsTest, testing::Values("memory", "rocksdb"),
                         [](const auto& info) { return info.param; });

TEST_P(StoreSnapshotsTest, ReturnsWhateverHappenedSince) {
  for (const char* name : {"kept", "dropped", "made_anew", "changed"}) {
    CreateTable(name);
    for (int i = 0; i < 300; ++i) Put(name, std::to_string(i), i % 7);
  }
  ASSERT_TRUE(snapshots_->Take("one"));
  Content before = Read();

  for (int i = 0; i < 150; ++i) Put("kept", std::to_string(i * 3), 100 + i);  // new, changed and the same
  for (int i = 0; i < 20; ++i) Write("kept", std::to_string(i), std::nullopt);
  ASSERT_TRUE(engine_->DropTable(engine_->catalog().Find("dropped")));
  ASSERT_TRUE(engine_->DropTable(engine_->catalog().Find("made_anew")));
  CreateTable("made_anew");
  Put("made_anew", "other", 1);
  ASSERT_TRUE(engine_->ChangeSchema(engine_->catalog().Find("changed"), [](TableSchema* schema) -> Status {
    schema->tags = {{"a", "b"}};
    schema->indexes.erase(schema->indexes.begin());
    return Ok{};
  }));
  CreateTable("new", /*indexed=*/false);
  ASSERT_NE(Read(), before);

  for (int round = 0; round < 2; ++round) {
    auto restored = snapshots_->Restore("one");
    ASSERT_TRUE(restored) << restored.error().ToString();
    EXPECT_EQ(Read(), before);
    ExpectSound();
    EXPECT_EQ(engine_->catalog().Find("changed")->schema()->indexes.size(), 2);
    EXPECT_TRUE(engine_->catalog().Find("changed")->schema()->tags.empty());
    // The second time there is nothing left to do.
    EXPECT_EQ(restored->items_written == 0 && restored->tables_made == 0, round == 1);
  }
}

// Whoever follows a table is told of what a return changes, as of any write.
TEST_P(StoreSnapshotsTest, WatchersAreTold) {
  TablePtr table = CreateTable("t");
  Put("t", "a", 1);
  ASSERT_TRUE(snapshots_->Take("s"));
  Put("t", "a", 2);
  auto watch = engine_->change_log().Open(table, std::nullopt).value();
  uint64_t number = engine_->committer().begun_number();
  ASSERT_TRUE(snapshots_->Restore("s"));
  EXPECT_GT(engine_->committer().begun_number(), number);
  auto records = watch->Read(10).value();
  ASSERT_EQ(records.size(), 1);
  EXPECT_EQ(records[0].now->Get("n")->AsInt64(), 1);
}

TEST_P(StoreSnapshotsTest, ResetEmptiesAndSnapshotsStay) {
  CreateTable("t");
  Put("t", "a", 1);
  ASSERT_TRUE(snapshots_->Take("s"));
  ASSERT_EQ(snapshots_->Reset()->tables_dropped, 1);
  EXPECT_TRUE(Read().empty());
  ASSERT_TRUE(snapshots_->Restore("s"));
  EXPECT_EQ(Read()["t"].size(), 1);
  ASSERT_EQ(snapshots_->List().size(), 1);
  ASSERT_TRUE(snapshots_->Delete("s"));
  EXPECT_EQ(snapshots_->Restore("s").error().code(), ErrorCode::kResourceNotFound);
  EXPECT_EQ(snapshots_->Delete("s").error().code(), ErrorCode::kResourceNotFound);
}

// A transaction that was undone may be sent again with its token.
TEST_P(StoreSnapshotsTest, TokensSinceAreForgotten) {
  auto put = [&](const std::string& token) {
    Commit commit(&engine_->committer());
    commit.batch()->Put(storage::Space::kCatalog, TokenRecordKey(token), "x");
    ASSERT_TRUE(commit.Write(storage::Wait::kMayBlock));
  };
  auto is_there = [&](const std::string& token) {
    std::string value;
    return engine_->kv()
        .Get(storage::Space::kCatalog, TokenRecordKey(token), nullptr, storage::Wait::kMayBlock, &value)
        .value();
  };
  put("before");
  ASSERT_TRUE(snapshots_->Take("s"));
  put("after");
  ASSERT_TRUE(snapshots_->Restore("s"));
  EXPECT_TRUE(is_there("before"));
  EXPECT_FALSE(is_there("after"));
}

// What was left or made since goes; what was there before stays.
TEST_P(StoreSnapshotsTest, StreamsOfTablesThatAreGoneAndBackupsGo) {
  auto with_stream = [&](const std::string& name) {
    TableSchema schema{.name = name, .partition = {"pk", value::Type::kString}};
    schema.attributes = {{"pk", ScalarAttributeType::kString}};
    schema.streams = {{.view_type = StreamViewType::kNewImage, .created_millis = clock_.NowMillis()}};
    return engine_->CreateTable(std::move(schema)).value();
  };
  ASSERT_TRUE(engine_->DropTable(with_stream("before")));
  TablePtr kept = CreateTable("kept");
  ASSERT_TRUE(engine_->backups().Create(kept, "before"));
  engine_->backups().thread().WaitIdle();
  ASSERT_TRUE(snapshots_->Take("s"));
  ASSERT_TRUE(engine_->DropTable(with_stream("since")));
  with_stream("new");
  ASSERT_TRUE(engine_->backups().Create(kept, "since"));
  auto backups = [&] { return engine_->backups().List("", 10, [](const Backup&) { return true; })->size(); };
  ASSERT_EQ(engine_->catalog().Dropped().size(), 2);
  ASSERT_EQ(backups(), 2);
  ASSERT_TRUE(snapshots_->Restore("s"));
  ASSERT_EQ(engine_->catalog().Dropped().size(), 1);
  EXPECT_EQ(engine_->catalog().Dropped()[0]->name, "before");
  EXPECT_EQ(backups(), 1);
  ASSERT_TRUE(snapshots_->Reset());
  EXPECT_TRUE(engine_->catalog().Dropped().empty());
  EXPECT_EQ(backups(), 0);
  ExpectSound();
}

// What a test used of a table's throughput is not missing in the next.
TEST_P(StoreSnapshotsTest, TablesHaveTheirThroughputAgain) {
  TableSchema schema{.name = "slow", .partition = {"pk", value::Type::kString}};
  schema.attributes = {{"pk", ScalarAttributeType::kString}};
  schema.throughput = {1, 1};
  TablePtr table = engine_->CreateTable(std::move(schema)).value();
  ASSERT_TRUE(snapshots_->Take("then"));
  EXPECT_EQ(table->consumption.writes.Balance(clock_.NowMillis()), 300);
  table->consumption.writes.Charge(400);
  ASSERT_TRUE(snapshots_->Restore("then"));
  EXPECT_EQ(engine_->catalog().Find("slow"), table);
  EXPECT_EQ(table->consumption.writes.Balance(clock_.NowMillis()), 300);
}

TEST_P(StoreSnapshotsTest, ThereAreOnlySoMany) {
  for (size_t i = 0; i < StoreSnapshots::kSnapshotsMax; ++i) ASSERT_TRUE(snapshots_->Take(std::to_string(i)));
  EXPECT_EQ(snapshots_->Take("more").error().code(), ErrorCode::kLimitExceeded);
  EXPECT_TRUE(snapshots_->Take("0")) << "in place of the one that has this name";
}

}  // namespace
}  // namespace holdfast::engine
