// The engine as operations see it, on both storages.
#include "engine/engine.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <semaphore>
#include <thread>

#include "base/limits.h"
#include "engine/commit/commit.h"
#include "engine/index/recount.h"
#include "engine/verify.h"
#include "storage/fault/fault_file_system.h"

namespace holdfast::engine {
namespace {

// Puts an item, or deletes it where there is none; only over `expected`, where that is given.
class Store final : public ItemMutation {
 public:
  explicit Store(std::optional<Item> item, std::optional<Item> expected = {})
      : item_(std::move(item)), expected_(std::move(expected)) {}
  Result<Change> Apply(const value::MapView* old) const override {
    if (expected_ && (old == nullptr || old->bytes() != expected_->flat()))
      return Change{Change::Kind::kConditionFailed, {}};
    if (!item_) return Change{Change::Kind::kDelete, {}};
    return Change{Change::Kind::kPut, *item_};
  }

 private:
  const std::optional<Item> item_, expected_;
};

class EngineTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "rocksdb") {
      static int opened = 0;
      directory_ = std::filesystem::temp_directory_path() /
                   ("holdfast-engine-" + std::to_string(::getpid()) + "-" + std::to_string(++opened));
      disk_ = std::make_shared<storage::FaultFileSystem>(1);  // a fast one: it syncs nothing
    }
    Open();
  }
  void TearDown() override {
    engine_.reset();
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }

  void Open() {
    engine_.reset();
    EngineOptions options{.clock = &clock_, .seed = 1, .manual_housekeeping = true};
    options.options.directory = directory_;
    options.file_system = disk_;
    options.write_buffer_bytes = write_buffer_bytes_;
    options.table_bytes = table_bytes_;
    auto opened = Engine::Open(options);
    ASSERT_TRUE(opened.has_value()) << opened.error().ToString();
    engine_ = *std::move(opened);
  }

  TablePtr CreateTable(std::string name) {
    TableSchema schema{.name = std::move(name), .partition = {"pk", value::Type::kString}};
    return engine_->CreateTable(std::move(schema)).value();
  }
  static IndexSchema Index(std::string name, ProjectionType projection = ProjectionType::kAll) {
    return {.name = std::move(name),
            .partition = {{"group", value::Type::kString}},
            .sort = {{"rank", value::Type::kNumber}},
            .projection = projection,
            .status = IndexStatus::kCreating};
  }
  Status AddIndex(const TablePtr& table, const IndexSchema& index) {
    return engine_->ChangeSchema(table, [&](TableSchema* schema) -> Status {
      schema->indexes.push_back(index);
      return Ok{};
    });
  }
  Status SetTtl(const TablePtr& table, TimeToLiveStatus status) {
    return engine_->ChangeSchema(table, [&](TableSchema* schema) -> Status {
      schema->ttl_attribute = "expires";
      schema->ttl_status = status;
      return Ok{};
    });
  }

  // Enables a stream, or disables the one there is.
  Status SetStream(const TablePtr& table, std::optional<StreamViewType> view) {
    return engine_->ChangeSchema(table, [&](TableSchema* schema) -> Status {
      if (view) {
        schema->streams.push_back({.view_type = *view, .created_millis = clock_.NowMillis()});
      } else {
        schema->streams.back().disabled_millis = clock_.NowMillis();
      }
      return Ok{};
    });
  }
  // Everything in the log of `table`, as "insert a, modify a (…)".
  std::string LogOf(const TablePtr& table, ChangeRange range = {.after = {0, 0}}) {
    std::string text;
    auto end = engine_->change_log().Visit(table->schema()->id, range, [&](const ChangeRecord& record) {
      static constexpr std::string_view kNames[] = {"", "insert", "modify", "remove"};
      auto show = [](const std::optional<Item>& item) {
        return item ? std::to_string(item->ToMap().size()) : std::string("-");
      };
      const Item& item = record.now ? *record.now : *record.old;
      text += std::string(kNames[static_cast<int>(record.kind)]) + " " + item.Get("pk")->AsText() + " " +
              show(record.old) + ">" + show(record.now) + (record.old_is_whole ? "; " : " (new); ");
      return true;
    });
    EXPECT_TRUE(end.has_value());
    return text;
  }

  static std::string KeyOf(const TablePtr& table, std::string_view pk) {
    return ItemKey(*table->schema(), pk, std::nullopt);
  }
  Result<ItemWriter::Written> Write(const TablePtr& table, std::string_view pk,
                                    const ItemMutation& mutation) {
    HF_TRY(ItemWriter::Written written,
           engine_->writer().Write({{table.get(), KeyOf(table, pk), &mutation}}, {}));
    HF_CHECK_OK(engine_->committer().WaitDurable());
    return written;
  }
  void Put(const TablePtr& table, const Item& item) {
    ASSERT_TRUE(Write(table, item.Get("pk")->AsText(), Store(item)));
  }
  void Delete(const TablePtr& table, std::string_view pk) {
    ASSERT_TRUE(Write(table, pk, Store(std::nullopt)));
  }
  std::optional<Item> Get(const TablePtr& table, std::string_view pk) {
    std::string stored;
    View view = engine_->NewView(Engine::Reads::kOne);
    if (!*engine_->Get(KeyOf(table, pk), view, storage::Wait::kMayBlock, &stored)) return std::nullopt;
    return Item::FromFlat(std::string(DecodeStored(stored).flat));
  }

  static std::vector<ChangeRecord> Read(const std::unique_ptr<Watch>& watch, size_t limit) {
    return watch->Read(limit).value();
  }

  // Faults of the store, and its figures beside what is really there.
  void ExpectSound(uint64_t items, uint64_t index_entries = 0, uint64_t expiries = 0) {
    auto report = VerifyStore(engine_.get());
    ASSERT_TRUE(report.has_value());
    for (const std::string& fault : report->faults) ADD_FAILURE() << fault;
    EXPECT_EQ(report->items, items);
    EXPECT_EQ(report->index_entries, index_entries);
    EXPECT_EQ(report->expiry_entries, expiries);
    int64_t counted = 0, counted_entries = 0;
    for (const TablePtr& table : engine_->catalog().All()) {
      counted += table->tally.count;
      for (const IndexSchema& index : table->schema()->indexes)
        counted_entries += table->IndexTally(index.id)->count;
    }
    EXPECT_EQ(counted, static_cast<int64_t>(items));
    EXPECT_EQ(counted_entries, static_cast<int64_t>(index_entries));
  }

  base::ManualClock clock_{1'800'000'000'000};
  std::string directory_;
  std::shared_ptr<storage::FaultFileSystem> disk_;
  size_t write_buffer_bytes_ = 0, table_bytes_ = 0;  // 0: as ever
  std::unique_ptr<Engine> engine_;
};

using namespace std::chrono_literals;
auto Now() {
  return std::chrono::steady_clock::now();
}

TEST_P(EngineTest, ItemsAreStoredReplacedAndRemoved) {
  TablePtr table = CreateTable("t");
  EXPECT_EQ(Get(table, "a"), std::nullopt);
  Put(table, {{"pk", "a"}, {"n", 1}});
  Put(table, {{"pk", "a"}, {"n", 2}});
  Put(table, {{"pk", "b"}});
  EXPECT_EQ(Get(table, "a"), (Item{{"pk", "a"}, {"n", 2}}));
  ExpectSound(2);
  Delete(table, "a");
  Delete(table, "a");
  EXPECT_EQ(Get(table, "a"), std::nullopt);
  ExpectSound(1);
}

TEST_P(EngineTest, ATransactionIsAllOrNothing) {
  TablePtr table = CreateTable("t"), other = CreateTable("u");
  Put(table, {{"pk", "a"}, {"n", 1}});
  Store fits(Item{{"pk", "new"}}), fails(Item{{"pk", "a"}, {"n", 3}}, Item{{"pk", "a"}, {"n", 2}});
  std::vector<WriteAction> actions = {{other.get(), KeyOf(other, "new"), &fits},
                                      {table.get(), KeyOf(table, "a"), &fails}};
  auto stopped = engine_->writer().Write(actions, {.atomicity = Atomicity::kAll});
  ASSERT_TRUE(stopped.has_value());
  EXPECT_FALSE(stopped->all_applied);
  EXPECT_EQ(stopped->outcomes[1].kind, Change::Kind::kConditionFailed);
  EXPECT_EQ(stopped->outcomes[1].old, (Item{{"pk", "a"}, {"n", 1}})) << "what it met";
  EXPECT_EQ(Get(other, "new"), std::nullopt);

  Put(table, {{"pk", "a"}, {"n", 2}});
  EXPECT_TRUE(engine_->writer().Write(actions, {.atomicity = Atomicity::kAll})->all_applied);
  ASSERT_TRUE(engine_->committer().WaitDurable());
  EXPECT_EQ(Get(other, "new"), (Item{{"pk", "new"}}));
  EXPECT_EQ(Get(table, "a"), (Item{{"pk", "a"}, {"n", 3}}));
  ExpectSound(2);
}

// A transaction does not wait for long: whoever holds one of its items is a conflict, and names the action.
TEST_P(EngineTest, ATransactionReportsTheItemAnotherHolds) {
  TablePtr table = CreateTable("t");
  Store put(Item{{"pk", "b"}});
  std::vector<WriteAction> both = {{table.get(), KeyOf(table, "a"), &put},
                                   {table.get(), KeyOf(table, "b"), &put}};
  bool met = false;
  WriteOptions slow;
  slow.under_lock = [&](const std::vector<WriteOutcome>* outcomes, WriteOptions::Extras*) -> Status {
    if (outcomes != nullptr) return Ok{};
    std::thread([&] {
      auto conflicting = engine_->writer().Write(both, {.atomicity = Atomicity::kAll});
      met = conflicting.has_value() && !conflicting->all_applied && conflicting->conflict == 1;
    }).join();
    return Ok{};
  };
  ASSERT_TRUE(engine_->writer().Write({both[1]}, slow));
  EXPECT_TRUE(met);
  ExpectSound(1);
}

TEST_P(EngineTest, AnIndexFollowsItsItems) {
  TableSchema schema{.name = "t", .partition = {"pk", value::Type::kString}};
  schema.indexes = {Index("all"), Index("keys", ProjectionType::kKeysOnly)};
  for (IndexSchema& index : schema.indexes) index.status = IndexStatus::kActive;
  TablePtr table = engine_->CreateTable(schema).value();
  Put(table, {{"pk", "a"}, {"group", "g"}, {"rank", 1}, {"x", "y"}});
  Put(table, {{"pk", "b"}, {"group", "g"}, {"rank", 1}});
  Put(table, {{"pk", "c"}, {"group", "g"}});
  Put(table, {{"pk", "d"}, {"group", "g"}, {"rank", "a string"}});
  ExpectSound(4, 4);
  auto moved = Write(table, "a", Store(Item{{"pk", "a"}, {"group", "h"}, {"rank", 1}, {"x", "y"}}));
  EXPECT_EQ(moved->outcomes[0].index_units, (std::vector<double>{2, 2})) << "a delete and an insert";
  auto untouched = Write(table, "a", Store(Item{{"pk", "a"}, {"group", "h"}, {"rank", 1}, {"x", "z"}}));
  EXPECT_EQ(untouched->outcomes[0].index_units, (std::vector<double>{1, -1})) << "x is not in the second";
  Put(table, {{"pk", "b"}, {"rank", 1}});
  Delete(table, "a");
  ExpectSound(3, 0);
}

// An index on a table in use must end up as if it had always been there.
TEST_P(EngineTest, ABackfillMeetsWritersAndMissesNothing) {
  TablePtr table = CreateTable("t");
  auto item = [](int i, int rank) {
    return Item{{"pk", std::to_string(i)}, {"group", "g" + std::to_string(i % 3)}, {"rank", rank}};
  };
  for (int i = 0; i < 600; ++i) {
    ASSERT_TRUE(engine_->writer().Write(
        {{table.get(), KeyOf(table, std::to_string(i)), std::make_unique<Store>(item(i, i)).get()}}, {}));
  }
  ASSERT_TRUE(AddIndex(table, Index("late")));
  ASSERT_TRUE(SetTtl(table, TimeToLiveStatus::kEnabling));
  std::thread writer([&] {
    for (int i = 0; i < 600; i += 2) {
      Store change(i % 4 == 0 ? std::optional<Item>() : item(i, -i));
      ASSERT_TRUE(engine_->writer().Write({{table.get(), KeyOf(table, std::to_string(i)), &change}}, {}));
    }
  });
  writer.join();
  engine_->WaitForBackfills();
  EXPECT_EQ(table->schema()->indexes[0].status, IndexStatus::kActive);
  EXPECT_EQ(table->schema()->ttl_status, TimeToLiveStatus::kEnabled);
  EXPECT_EQ(engine_->BackfillProgress(table->schema()->indexes[0].id), 1);
  ExpectSound(450, 450);

  ASSERT_TRUE(engine_->ChangeSchema(table, [](TableSchema* schema) -> Status {
    schema->indexes.clear();
    return Ok{};
  }));
  ExpectSound(450, 0);
}

TEST_P(EngineTest, WhatHasExpiredIsSweptAndTold) {
  TablePtr table = CreateTable("t");
  int64_t now = clock_.NowSeconds();
  Put(table, {{"pk", "before"}, {"expires", now - 10}});
  ASSERT_TRUE(SetTtl(table, TimeToLiveStatus::kEnabling));
  engine_->WaitForBackfills();
  auto watch = engine_->change_log().Open(table, std::nullopt).value();
  Put(table, {{"pk", "fraction"}, {"expires", AttributeValue::Number(std::to_string(now - 1) + ".5")}});
  Put(table, {{"pk", "later"}, {"expires", now + 10}});
  Put(table, {{"pk", "text"}, {"expires", "soon"}});
  Put(table, {{"pk", "mistake"}, {"expires", 1}});  // over five years ago: taken for a mistake
  Put(table, {{"pk", "saved"}, {"expires", now - 10}});
  Put(table, {{"pk", "saved"}, {"expires", now + 1000}});
  ExpectSound(6, 0, 5);
  ASSERT_TRUE(engine_->RunHousekeeping());
  EXPECT_EQ(engine_->expired_items(), 2u);
  ExpectSound(4, 0, 3);  // the mistake keeps its entry
  clock_.Advance(11'000);
  ASSERT_TRUE(engine_->RunHousekeeping());
  EXPECT_EQ(Get(table, "later"), std::nullopt);
  ExpectSound(3, 0, 2);

  int swept = 0;
  for (const ChangeRecord& record : Read(watch, 100)) {
    EXPECT_EQ(record.by_ttl, record.kind == ChangeRecord::Kind::kRemove);
    swept += record.by_ttl;
  }
  EXPECT_EQ(swept, 3);
  ASSERT_TRUE(SetTtl(table, TimeToLiveStatus::kDisabled));
  ExpectSound(3, 0, 0);
}

// The sweep reads which items have expired, and deletes them later: one whose expiry is moved in between must
// survive. Here it is moved by a write that has the item's key while the sweep, which has looked already,
// waits for it.
TEST_P(EngineTest, DB_L_03_AnItemWhoseExpiryMovesAfterTheSweepHasLookedStays) {
  TablePtr table = CreateTable("t");
  ASSERT_TRUE(SetTtl(table, TimeToLiveStatus::kEnabling));
  engine_->WaitForBackfills();
  int64_t now = clock_.NowSeconds();
  constexpr int kOthers = 40;
  Put(table, {{"pk", "moved"}, {"expires", now - 10}});
  for (int i = 0; i < kOthers; ++i) Put(table, {{"pk", std::to_string(i)}, {"expires", now - 10}});

  std::binary_semaphore held{0}, let_go{0};
  std::thread writer([&] {
    WriteOptions options;
    options.under_lock = [&](const std::vector<WriteOutcome>* outcomes, WriteOptions::Extras*) -> Status {
      if (outcomes != nullptr) return Ok{};
      held.release();
      let_go.acquire();
      return Ok{};
    };
    Store later(Item{{"pk", "moved"}, {"expires", now + 1000}});
    EXPECT_TRUE(engine_->writer().Write({{table.get(), KeyOf(table, "moved"), &later}}, options));
  });
  held.acquire();
  std::thread sweep([&] { EXPECT_TRUE(engine_->RunHousekeeping()); });
  // It has looked when it has the key of another item: it takes all of them in one order, and waits for ours.
  Store nothing(std::nullopt, Item{{"pk", "none"}});  // fails its condition
  auto is_locked = [&](int i) {
    auto probe = engine_->writer().Write({{table.get(), KeyOf(table, std::to_string(i)), &nothing}},
                                         {.wait = storage::Wait::kNever});
    return !probe && probe.error().code() == ErrorCode::kWouldBlock;
  };
  auto deadline = Now() + 20s;
  bool has_looked = false;
  while (!has_looked && Now() < deadline) {
    for (int i = 0; i < kOthers && !has_looked; ++i) has_looked = is_locked(i);
  }
  EXPECT_TRUE(has_looked);
  let_go.release();
  writer.join();
  sweep.join();
  ASSERT_TRUE(engine_->committer().WaitDurable());
  EXPECT_EQ(Get(table, "moved"), (Item{{"pk", "moved"}, {"expires", now + 1000}}));
  EXPECT_EQ(engine_->expired_items(), static_cast<uint64_t>(kOthers));
  ExpectSound(1, 0, 1);
}

TEST_P(EngineTest, AWatchTellsEveryChangeOnceInOrder) {
  TablePtr table = CreateTable("t"), other = CreateTable("other");
  Put(table, {{"pk", "unseen"}});
  auto watch = engine_->change_log().Open(table, std::nullopt).value();
  EXPECT_FALSE(watch->Wait(Now()));
  Put(table, {{"pk", "a"}, {"n", 1}});
  Put(table, {{"pk", "a"}, {"n", 1}});  // the same again is no change
  Put(table, {{"pk", "a"}, {"n", 2}});
  Delete(table, "a");
  Put(other, {{"pk", "elsewhere"}});
  EXPECT_TRUE(watch->Wait(Now() + 60s));
  std::vector<ChangeRecord> records = Read(watch, 100);
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].kind, ChangeRecord::Kind::kInsert);
  EXPECT_EQ(records[0].old, std::nullopt);
  EXPECT_EQ(records[1].kind, ChangeRecord::Kind::kModify);
  EXPECT_EQ(records[1].old, (Item{{"pk", "a"}, {"n", 1}}));
  EXPECT_EQ(records[1].now, (Item{{"pk", "a"}, {"n", 2}}));
  EXPECT_EQ(records[2].kind, ChangeRecord::Kind::kRemove);
  EXPECT_EQ(records[2].now, std::nullopt);
  EXPECT_EQ(records[2].time_millis, clock_.NowMillis());
  EXPECT_LT(records[0].commit_number, records[1].commit_number);
}

// A reader that takes a few records at a time must be told that the rest of a commit is there.
TEST_P(EngineTest, AWatchDoesNotWaitInTheMiddleOfACommit) {
  TablePtr table = CreateTable("t");
  auto watch = engine_->change_log().Open(table, std::nullopt).value();
  std::vector<Store> stores;
  std::vector<WriteAction> actions;
  for (std::string pk : {"a", "b", "c"}) stores.emplace_back(Item{{"pk", pk}});
  for (size_t i = 0; i < 3; ++i)
    actions.push_back({table.get(), KeyOf(table, std::string(1, "abc"[i])), &stores[i]});
  ASSERT_TRUE(engine_->writer().Write(actions, {.atomicity = Atomicity::kAll}));
  ASSERT_TRUE(engine_->committer().WaitDurable());
  std::string told;
  while (watch->Wait(Now())) {
    for (const ChangeRecord& record : Read(watch, 1)) told += record.now->Get("pk")->AsText();
  }
  EXPECT_EQ(told, "abc");
}

// Writes to other tables are published too: they must not keep the reader of a quiet one awake.
TEST_P(EngineTest, AWatchSleepsWhileOnlyOtherTablesChange) {
  TablePtr table = CreateTable("t"), other = CreateTable("other");
  auto watch = engine_->change_log().Open(table, std::nullopt).value();
  Put(other, {{"pk", "x"}});
  EXPECT_TRUE(Read(watch, 10).empty());
  EXPECT_FALSE(watch->Wait(Now())) << "nothing since the last look";
  Put(table, {{"pk", "y"}});
  EXPECT_EQ(Read(watch, 10).size(), 1u);
}

TEST_P(EngineTest, AWatchGoesOnWhereAnotherStopped) {
  TablePtr table = CreateTable("t");
  auto first = engine_->change_log().Open(table, std::nullopt).value();
  for (std::string pk : {"a", "b", "c"}) Put(table, {{"pk", pk}});
  ASSERT_EQ(Read(first, 1).size(), 1u);
  ChangePosition position = first->position();
  auto second = engine_->change_log().Open(table, position).value();
  EXPECT_EQ(Read(second, 10).size(), 2u);

  first.reset();
  second.reset();
  ASSERT_TRUE(engine_->RunHousekeeping());  // nobody follows: the log is dropped
  auto late = engine_->change_log().Open(table, position);
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().code(), ErrorCode::kTrimmedDataAccess);
}

// As much as the most demanding follower needs, and nothing where nobody follows.
TEST_P(EngineTest, TheLogHoldsWhatItsFollowersNeed) {
  TablePtr table = CreateTable("t");
  auto write = [&](const std::string& pk) {
    Put(table, {{"pk", pk}, {"n", 1}});
    Put(table, {{"pk", pk}, {"n", 1}});  // no change
    Put(table, {{"pk", pk}, {"n", 2}, {"m", 3}});
    Delete(table, pk);
    Delete(table, pk);  // no change
  };
  write("unfollowed");
  EXPECT_EQ(LogOf(table), "");
  ASSERT_TRUE(SetStream(table, StreamViewType::kKeysOnly));
  write("new");
  clock_.Advance(1);
  ASSERT_TRUE(SetStream(table, std::nullopt));
  write("between");
  ASSERT_TRUE(SetStream(table, StreamViewType::kOldImage));
  write("both");
  clock_.Advance(1);
  ASSERT_TRUE(SetStream(table, std::nullopt));
  write("after");
  std::string kept =
      "insert new ->2; modify new ->3 (new); remove new 1>- (new); "
      "insert both ->2; modify both 2>3; remove both 3>-; ";
  EXPECT_EQ(LogOf(table), kept);
  {
    auto watch = engine_->change_log().Open(table, std::nullopt).value();
    write("watched");
  }
  kept += "insert watched ->2; modify watched 2>3; remove watched 3>-; ";
  ASSERT_TRUE(engine_->RunHousekeeping());
  EXPECT_EQ(LogOf(table), kept) << "the streams are younger than a day";
  const std::vector<StreamSchema> streams = table->schema()->streams;
  EXPECT_EQ(LogOf(table, {.after = {streams[0].after}, .up_to = streams[0].until}),
            "insert new ->2; modify new ->3 (new); remove new 1>- (new); ");
  EXPECT_EQ(LogOf(table, {.after = {streams[1].after}, .up_to = streams[1].until}),
            "insert both ->2; modify both 2>3; remove both 3>-; ");
}

TEST_P(EngineTest, StreamsAreKeptForADay) {
  TablePtr table = CreateTable("t");
  ASSERT_TRUE(SetStream(table, StreamViewType::kNewImage));
  Put(table, {{"pk", "early"}});
  clock_.Advance(3600'000);
  Put(table, {{"pk", "late"}});
  EXPECT_EQ(LogOf(table), "insert early ->1; insert late ->1; ");
  clock_.Advance(limits::kStreamRetentionMillis - 3600'000);
  ASSERT_TRUE(engine_->RunHousekeeping());
  EXPECT_EQ(LogOf(table), "insert early ->1; insert late ->1; ");
  EXPECT_EQ(*engine_->change_log().TrimmedUpTo(table->schema()->id), table->schema()->streams[0].after);
  clock_.Advance(120'000);
  ASSERT_TRUE(engine_->RunHousekeeping());
  EXPECT_EQ(LogOf(table), "insert late ->1; ");
  EXPECT_GT(*engine_->change_log().TrimmedUpTo(table->schema()->id), table->schema()->streams[0].after);

  ASSERT_TRUE(SetStream(table, std::nullopt));
  clock_.Advance(3600'000);
  ASSERT_TRUE(engine_->RunHousekeeping());
  EXPECT_EQ(table->schema()->streams.size(), 1u);
  clock_.Advance(limits::kStreamRetentionMillis);
  ASSERT_TRUE(engine_->RunHousekeeping());
  EXPECT_TRUE(table->schema()->streams.empty());
  EXPECT_EQ(LogOf(table), "");
}

// Each consumer reads in its own time: what one is done with another may still need.
TEST_P(EngineTest, TheLogIsKeptForTheSlowestConsumer) {
  TablePtr table = CreateTable("t");
  ObjectId id = table->schema()->id;
  auto watch = engine_->change_log().Open(table, std::nullopt).value();
  std::vector<uint64_t> numbers;
  for (std::string pk : {"a", "b", "c", "d"}) {
    Put(table, {{"pk", pk}});
    numbers.push_back(Read(watch, 1)[0].commit_number);
  }
  ChangeLog& log = engine_->change_log();
  log.Keep(id, Consumer::kVectors, numbers[2]);
  log.Keep(id, Consumer::kRecovery, numbers[0]);
  EXPECT_TRUE(Read(watch, 1).empty());
  ASSERT_TRUE(engine_->RunHousekeeping());
  EXPECT_EQ(LogOf(table), "insert b ->1; insert c ->1; insert d ->1; ");
  log.Keep(id, Consumer::kRecovery, numbers[1]);
  log.Keep(id, Consumer::kRecovery, numbers[0]);  // never back
  ASSERT_TRUE(engine_->RunHousekeeping());
  EXPECT_EQ(LogOf(table), "insert c ->1; insert d ->1; ");
  log.Forget(id, Consumer::kRecovery);
  ASSERT_TRUE(engine_->RunHousekeeping());
  EXPECT_EQ(LogOf(table), "insert d ->1; ");
  log.Forget(id, Consumer::kVectors);
  watch.reset();
  ASSERT_TRUE(engine_->RunHousekeeping());
  EXPECT_EQ(LogOf(table), "");
}

TEST_P(EngineTest, ShardsDivideTheLogAndTimesAreFound) {
  TablePtr table = CreateTable("t");
  ObjectId id = table->schema()->id;
  ASSERT_TRUE(SetStream(table, StreamViewType::kKeysOnly));
  int64_t start = clock_.NowMillis();
  for (int i = 0; i < 40; ++i) {
    clock_.Advance(1000);
    Put(table, {{"pk", std::to_string(i)}});
  }
  std::vector<ChangeRecord> all;
  std::map<int, std::vector<uint64_t>> by_shard;
  for (int shard = ChangeRange::kAllShards; shard < ChangeLog::kShards; ++shard) {
    uint64_t last = 0;
    ASSERT_TRUE(engine_->change_log().Visit(id, {.after = {0, 0}, .shard = shard}, [&](ChangeRecord record) {
      EXPECT_LT(last, record.commit_number);
      last = record.commit_number;
      by_shard[shard].push_back(last);
      if (shard == ChangeRange::kAllShards) all.push_back(std::move(record));
      return true;
    }));
  }
  EXPECT_EQ(by_shard[-1].size(), 40u);
  std::vector<uint64_t> together;
  for (int shard = 0; shard < ChangeLog::kShards; ++shard) {
    EXPECT_FALSE(by_shard[shard].empty());
    together.insert(together.end(), by_shard[shard].begin(), by_shard[shard].end());
  }
  std::sort(together.begin(), together.end());
  EXPECT_EQ(together, by_shard[-1]);
  for (int i : {0, 1, 17, 40}) {
    uint64_t expected = i == 0 ? 3 : all[static_cast<size_t>(i) - 1].commit_number;
    EXPECT_EQ(*engine_->change_log().LastBefore(id, 3, start + i * 1000 + 1), expected) << i;
    if (i > 0) {
      EXPECT_EQ(all[static_cast<size_t>(i) - 1].time_millis, start + i * 1000);
    }
  }
}

// Who reads one shard of a busy table is not kept waiting by the others' records: it is told how far it got.
TEST_P(EngineTest, AVisitOfAShardPassesBoundedlyManyOfOthers) {
  TablePtr table = CreateTable("t");
  ASSERT_TRUE(SetStream(table, StreamViewType::kKeysOnly));
  for (int i = 0; i < 40; ++i) Put(table, {{"pk", std::to_string(i)}});
  for (int shard = 0; shard < ChangeLog::kShards; ++shard) {
    size_t found = 0, visits = 0;
    ChangePosition at{0, 0};
    for (ChangePosition before{1, 0}; at != before; ++visits) {
      before = at;
      ChangeRange range{.after = at, .shard = shard, .passed_bytes_max = 150};
      auto count = [&](const ChangeRecord&) { return ++found > 0; };
      at = engine_->change_log().Visit(table->schema()->id, range, count).value();
    }
    size_t all = 0;
    ASSERT_TRUE(engine_->change_log().Visit(table->schema()->id, {.after = {0, 0}, .shard = shard},
                                            [&](const ChangeRecord&) { return ++all > 0; }));
    EXPECT_EQ(found, all) << shard;
    EXPECT_GT(visits, (40 - all) / 8) << shard;  // a record has 20 bytes and more
  }
}

TEST_P(EngineTest, ADroppedTableLeavesItsStreamForADay) {
  TablePtr table = CreateTable("t"), plain = CreateTable("plain");
  ASSERT_TRUE(SetStream(table, StreamViewType::kNewImage));
  Put(table, {{"pk", "a"}});
  ASSERT_TRUE(engine_->DropTable(plain));
  ASSERT_TRUE(engine_->DropTable(table));
  ASSERT_EQ(engine_->catalog().Dropped().size(), 1u);
  SchemaPtr left = engine_->catalog().Dropped()[0];
  EXPECT_EQ(left->name, "t");
  EXPECT_FALSE(left->streams[0].enabled());
  ASSERT_TRUE(engine_->RunHousekeeping());
  EXPECT_EQ(LogOf(table), "insert a ->1; ");
  if (!directory_.empty()) {
    Open();
    ASSERT_EQ(engine_->catalog().Dropped().size(), 1u);
    EXPECT_EQ(LogOf(table), "insert a ->1; ");
  }
  clock_.Advance(limits::kStreamRetentionMillis + 120'000);
  ASSERT_TRUE(engine_->RunHousekeeping());
  EXPECT_TRUE(engine_->catalog().Dropped().empty());
  EXPECT_EQ(LogOf(table), "");
}

TEST_P(EngineTest, ADroppedTableIsGoneWithAllThatBelongedToIt) {
  TablePtr table = CreateTable("t");
  ASSERT_TRUE(AddIndex(table, Index("i")));
  engine_->WaitForBackfills();
  Put(table, {{"pk", "a"}, {"group", "g"}, {"rank", 1}});
  ASSERT_TRUE(engine_->DropTable(table));
  EXPECT_EQ(engine_->catalog().Find("t"), nullptr);
  EXPECT_EQ(Write(table, "a", Store(Item{{"pk", "a"}})).error().code(), ErrorCode::kResourceNotFound);
  EXPECT_EQ(engine_->change_log().Open(table, std::nullopt).error().code(), ErrorCode::kResourceNotFound);
  TablePtr again = CreateTable("t");
  EXPECT_NE(again->schema()->id, table->schema()->id) << "a number is never used twice";
  EXPECT_EQ(Get(again, "a"), std::nullopt);
  ExpectSound(0);
}

// A write that was let in before the table was marked, and comes to its gate after, would not be in the
// table's last backup.
TEST_P(EngineTest, ATableThatIsGoingAwayTakesNoMoreWrites) {
  TablePtr table = CreateTable("t");
  Put(table, {{"pk", "a"}});
  ASSERT_TRUE(engine_->ChangeSchema(table, [](TableSchema* schema) -> Status {
    schema->status = TableStatus::kDeleting;
    return Ok{};
  }));
  EXPECT_EQ(Write(table, "b", Store(Item{{"pk", "b"}})).error().code(), ErrorCode::kResourceNotFound);
  EXPECT_EQ(Get(table, "b"), std::nullopt);
  EXPECT_TRUE(Get(table, "a").has_value());
}

TEST_P(EngineTest, ANameIsTakenOnce) {
  CreateTable("t");
  TableSchema schema{.name = "t", .partition = {"pk", value::Type::kString}};
  EXPECT_EQ(engine_->CreateTable(schema).error().code(), ErrorCode::kResourceInUse);
}

// A stop does not wait until gigabytes are counted; what was counted by then is of no use.
TEST_P(EngineTest, ACountGivesUpWhenTheStoreCloses) {
  TablePtr table = CreateTable("t");
  for (int i = 0; i < 2100; ++i) Put(table, {{"pk", std::to_string(i)}});
  table->tally.count = 5;  // as a crash may leave it
  ObjectId id = table->schema()->id;
  int asked = 0;
  Status counted = Recount(&engine_->kv(), table.get(), id, [&] { return ++asked == 2; });
  ASSERT_FALSE(counted);
  EXPECT_EQ(counted.error().code(), ErrorCode::kWouldBlock);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(table->tally.count, 5);
  ASSERT_TRUE(Recount(&engine_->kv(), table.get(), id, [] { return false; }));
  EXPECT_EQ(table->tally.count, 2100);
}

INSTANTIATE_TEST_SUITE_P(Storages, EngineTest, testing::Values("memory", "rocksdb"),
                         [](const auto& info) { return info.param; });

// What only a disk can show.
class EngineOnDisk : public EngineTest {};

TEST_P(EngineOnDisk, EverythingIsThereAfterReopening) {
  TablePtr table = CreateTable("t");
  Put(table, {{"pk", "a"}, {"group", "g"}, {"rank", 1}});
  ASSERT_TRUE(AddIndex(table, Index("i")));  // perhaps still filling when the store closes
  uint64_t number = engine_->committer().begun_number();
  table.reset();
  Open();
  engine_->WaitForBackfills();
  table = engine_->catalog().Find("t");
  ASSERT_NE(table, nullptr);
  EXPECT_TRUE(Get(table, "a").has_value());
  EXPECT_GT(engine_->committer().begun_number() + 1, number) << "numbers never come back";
  ExpectSound(1, 1);
}

TEST_P(EngineOnDisk, StreamsGoOnAfterReopening) {
  TablePtr table = CreateTable("t"), other = CreateTable("other");
  ASSERT_TRUE(SetStream(table, StreamViewType::kNewAndOldImages));
  auto watch = engine_->change_log().Open(other, std::nullopt).value();
  Put(table, {{"pk", "a"}});
  Put(other, {{"pk", "watched"}});
  uint64_t last = engine_->committer().begun_number();
  watch.reset();
  Open();
  table = engine_->catalog().Find("t");
  EXPECT_EQ(LogOf(engine_->catalog().Find("other")), "") << "nobody watches any more";
  ASSERT_TRUE(engine_->RunHousekeeping());
  EXPECT_EQ(LogOf(table), "insert a ->1; ");
  Put(table, {{"pk", "a"}, {"n", 1}});
  EXPECT_EQ(LogOf(table), "insert a ->1; modify a 1>2; ");
  EXPECT_EQ(LogOf(table, {.after = {last}}), "modify a 1>2; ");
}

// Format 1 kept the log shard by shard, and both images of a change whole.
TEST_P(EngineOnDisk, AStoreOfFormat1IsBroughtForward) {
  TablePtr table = CreateTable("t"), next = CreateTable("u");
  ASSERT_TRUE(SetStream(table, StreamViewType::kNewAndOldImages));
  ASSERT_TRUE(SetStream(next, StreamViewType::kNewAndOldImages));
  std::string text(100'000, 'x');  // so that it takes several steps
  for (int i = 0; i < 20; ++i) Put(table, {{"pk", std::to_string(i)}, {"text", text}});
  for (int i = 0; i < 20; ++i) Put(table, {{"pk", std::to_string(i)}, {"text", text}, {"n", i}});
  Put(next, {{"pk", "a"}});
  std::string log = LogOf(table);

  ObjectId id = table->schema()->id;
  Commit commit(&engine_->committer());
  std::string first;
  base::AppendBigEndian(&first, id, 4);
  commit.batch()->DeleteRange(storage::Space::kChanges, {first, first + '\xff'});
  ASSERT_TRUE(engine_->change_log().Visit(id, {.after = {0, 0}}, [&](const ChangeRecord& record) {
    std::string key = first, bytes(1, static_cast<char>(record.kind));
    key.push_back(
        static_cast<char>(static_cast<uint8_t>(KeyOf(table, record.now->Get("pk")->AsText())[4]) >> 6));
    base::AppendBigEndian(&key, record.commit_number, 8);
    base::AppendBigEndian(&key, record.ordinal, 4);
    std::string_view old = record.old ? record.old->flat() : "";
    base::AppendVarint(&bytes, static_cast<uint64_t>(record.time_millis));
    base::AppendVarint(&bytes, old.size());
    bytes.append(old).append(record.now->flat());
    commit.batch()->Put(storage::Space::kChanges, key, bytes);
    return true;
  }));
  ASSERT_TRUE(commit.Write(storage::Wait::kMayBlock));
  EXPECT_EQ(LogOf(table), "");
  table.reset(), next.reset();
  engine_.reset();
  std::ofstream(directory_ + "/FORMAT") << "holdfast store, format 1\n";

  for (int start = 0; start < 2; ++start) {
    Open();
    EXPECT_EQ(LogOf(engine_->catalog().Find("t")), log);
    EXPECT_EQ(LogOf(engine_->catalog().Find("u")), "insert a ->1; ");
    std::string format;
    std::getline(std::ifstream(directory_ + "/FORMAT"), format);
    EXPECT_EQ(format, "holdfast store, format 3");
  }
}

// Reads show only what a power cut could not take back (I-2).
TEST_P(EngineOnDisk, WhatIsNotSyncedIsNotSeen) {
  TablePtr table = CreateTable("t");
  ASSERT_TRUE(engine_->committer().WaitDurable());
  Store put(Item{{"pk", "a"}});
  ASSERT_TRUE(engine_->writer().Write({{table.get(), KeyOf(table, "a"), &put}}, {}));
  EXPECT_EQ(Get(table, "a"), std::nullopt);
  EXPECT_FALSE(engine_->committer().IsPublished());
  ASSERT_TRUE(engine_->committer().WaitDurable());
  EXPECT_TRUE(Get(table, "a").has_value());
}

// After a failed sync nobody knows what the log holds: nothing more may be promised (I-5).
TEST_P(EngineOnDisk, AFailedSyncEndsWritingForGood) {
  TablePtr table = CreateTable("t");
  Put(table, {{"pk", "a"}});
  disk_->FailSyncs(true);
  Store put(Item{{"pk", "b"}});
  EXPECT_EQ(Write(table, "b", put).error().code(), ErrorCode::kReadOnly);
  disk_->FailSyncs(false);
  EXPECT_EQ(Write(table, "b", put).error().code(), ErrorCode::kReadOnly);
  EXPECT_TRUE(Get(table, "a").has_value());
  EXPECT_EQ(Get(table, "b"), std::nullopt);
}

// A store of more table files than RocksDB opens by itself answered reads that may not wait with an empty
// item, for absent keys too, and the server ended in an assertion.
TEST_P(EngineOnDisk, AStoreOfManyTablesIsReadRightAfterARestart) {
  write_buffer_bytes_ = 128 << 10;
  table_bytes_ = 16 << 10;
  Open();
  constexpr int kItems = 4000;
  auto name = [](int number) { return "item" + std::to_string(number); };
  TablePtr table = CreateTable("t");
  base::Random random(1);
  for (int first = 0; first < kItems; first += 100) {
    std::vector<Store> stores;
    std::vector<WriteAction> actions;
    stores.reserve(100);
    for (int i = first; i < first + 100; ++i) {
      std::string bytes;
      while (bytes.size() < 200) bytes += std::to_string(random.Next());
      stores.emplace_back(Item{{"pk", name(i)}, {"bytes", bytes}});
      actions.push_back({table.get(), KeyOf(table, name(i)), &stores.back()});
    }
    ASSERT_TRUE(engine_->writer().Write(actions, {}));
  }
  ASSERT_TRUE(engine_->committer().WaitDurable());
  ASSERT_TRUE(engine_->Compact());
  table.reset();
  Open();
  int tables = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory_))
    tables += entry.path().extension() == ".sst";
  ASSERT_GT(tables, 24);
  table = engine_->catalog().Find("t");
  int answered = 0;
  for (int i = 0; i < 2 * kItems; ++i) {
    std::string stored;
    View view = engine_->NewView(Engine::Reads::kOne);
    Result<bool> found = engine_->Get(KeyOf(table, name(i)), view, storage::Wait::kNever, &stored);
    if (!found) {
      ASSERT_EQ(found.error().code(), ErrorCode::kWouldBlock);
      continue;
    }
    ++answered;
    ASSERT_EQ(*found, i < kItems) << name(i);
    if (*found) {
      EXPECT_EQ(Item::FromFlat(std::string(DecodeStored(stored).flat)).Get("pk")->AsText(), name(i));
    }
  }
  EXPECT_GT(answered, 0) << "filters are in the cache, so that some reads need no disk";
  ExpectSound(kItems);
}

INSTANTIATE_TEST_SUITE_P(Storages, EngineOnDisk, testing::Values("rocksdb"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace holdfast::engine
