// Vector indexes as the engine keeps them: equal to the items after any history, with stops, restarts and
// lost snapshots in between.
#include <gtest/gtest.h>
#include <rocksdb/file_system.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <semaphore>
#include <thread>

#include "engine/commit/commit.h"
#include "engine/engine.h"
#include "engine/index/live_vectors.h"
#include "engine/verify.h"

namespace holdfast::engine {
namespace {

constexpr int kDimensions = 5;

class Replace final : public ItemMutation {
 public:
  explicit Replace(std::optional<Item> item) : item_(std::move(item)) {}
  Result<Change> Apply(const value::MapView*) const override {
    if (!item_) return Change{Change::Kind::kDelete, {}};
    return Change{Change::Kind::kPut, *item_};
  }

 private:
  const std::optional<Item> item_;
};

// The disk, with something in the way of each graph file of a snapshot that is made, or read.
class HookedFiles final : public rocksdb::FileSystemWrapper {
 public:
  HookedFiles() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "HookedFiles"; }
  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* context) override {
    if (name.ends_with(".graph.partial") && on_graph) {
      if (rocksdb::IOStatus status = on_graph(); !status.ok()) return status;
    }
    return FileSystemWrapper::NewWritableFile(name, options, file, context);
  }

  rocksdb::IOStatus NewSequentialFile(const std::string& name, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSSequentialFile>* file,
                                      rocksdb::IODebugContext* context) override {
    if (name.ends_with(".graph") && on_reading) on_reading();
    return FileSystemWrapper::NewSequentialFile(name, options, file, context);
  }

  std::function<rocksdb::IOStatus()> on_graph;  // set while nobody writes
  std::function<void()> on_reading;             // likewise
};

class VectorTest : public testing::Test {
 protected:
  void SetUp() override {
    static int opened = 0;
    directory_ = std::filesystem::temp_directory_path() /
                 ("holdfast-vectors-" + std::to_string(::getpid()) + "-" + std::to_string(++opened));
    Open();
  }
  void TearDown() override {
    engine_.reset();
    std::filesystem::remove_all(directory_);
  }

  void Open(bool load_behind = false) {
    engine_.reset();
    EngineOptions options{.seed = 1, .manual_housekeeping = true};
    options.options.directory = directory_;
    options.options.durability = durability_;
    options.file_system = file_system_;
    options.vector_graph_min = 60;
    options.vector_snapshot_changes = snapshot_changes_;
    options.load_behind = load_behind;
    auto opened = Engine::Open(options);
    ASSERT_TRUE(opened.has_value()) << opened.error().ToString();
    engine_ = *std::move(opened);
    if (TablePtr table = engine_->catalog().Find("t")) table_ = table;
  }

  static IndexSchema Index(const std::string& name, bool with_hash) {
    IndexSchema index;
    index.name = name;
    index.kind = IndexSchema::Kind::kVector;
    index.projection = ProjectionType::kAll;
    index.vector = VectorSchema{.attribute = "vector", .dimensions = kDimensions};
    if (with_hash) {
      index.partition = {{"tenant", value::Type::kString}};
      index.vector->search_schema.push_back({"tenant", SearchSchemaElementType::kHash});
    }
    index.vector->search_schema.push_back({"colour", SearchSchemaElementType::kInlineFilter});
    return index;
  }

  void Create(std::vector<IndexSchema> indexes) {
    TableSchema schema;
    schema.name = "t";
    schema.partition = {"pk", value::Type::kString};
    schema.attributes = {{"tenant", ScalarAttributeType::kString}, {"colour", ScalarAttributeType::kString}};
    schema.indexes = std::move(indexes);
    table_ = engine_->CreateTable(std::move(schema)).value();
  }

  // Half of all writes: items that no index takes, or only one; vectors that stay as they are.
  Item RandomItem(const std::string& pk) {
    Item item{{"pk", pk}, {"note", static_cast<int64_t>(random_() % 1000)}};
    std::vector<AttributeValue> elements;
    for (int i = 0; i < kDimensions; ++i) elements.emplace_back(static_cast<int64_t>(random_() % 9));
    if (random_() % 10 == 0) elements.pop_back();
    if (random_() % 10 > 0) item.Set("vector", AttributeValue::List(std::move(elements)));
    if (random_() % 10 > 0) item.Set("tenant", "tenant" + std::to_string(random_() % 3));
    if (random_() % 10 > 0) item.Set("colour", "colour" + std::to_string(random_() % 3));
    return item;
  }

  void Write(const std::string& pk, std::optional<Item> item) {
    Replace replace(std::move(item));
    std::string key = ItemKey(*table_->schema(), pk, std::nullopt);
    ASSERT_TRUE(engine_->writer().Write({{table_.get(), key, &replace}}, {}));
  }

  void Churn(int steps) {
    for (int i = 0; i < steps; ++i) {
      std::string pk = "item" + std::to_string(random_() % 400);
      if (random_() % 5 == 0) {
        Write(pk, std::nullopt);
      } else {
        Write(pk, RandomItem(pk));
      }
    }
  }

  void ExpectSound() {
    auto report = VerifyStore(engine_.get());
    ASSERT_TRUE(report.has_value());
    for (const std::string& fault : report->faults) ADD_FAILURE() << fault;
  }

  size_t SnapshotFiles() const {
    std::error_code none;
    auto names = std::filesystem::directory_iterator(directory_ + "/vectors", none);
    return none ? 0 : static_cast<size_t>(std::distance(begin(names), end(names)));
  }

  std::vector<VectorHit> Search(const std::string& index, VectorQuery query) {
    SchemaPtr schema = table_->schema();
    return engine_->SearchVectors(table_, *schema->FindIndex(index), query).value();
  }

  std::string directory_;
  uint64_t snapshot_changes_ = 150;
  Durability durability_ = Durability::kNone;
  std::shared_ptr<HookedFiles> file_system_ = std::make_shared<HookedFiles>();
  std::mt19937_64 random_{7};
  std::unique_ptr<Engine> engine_;
  TablePtr table_;
};

// The whole promise: whatever was written, and however often the store was stopped, the index holds what the
// items say.
TEST_F(VectorTest, AnyHistoryEndsWithAnIndexThatEqualsItsItems) {
  Create({Index("plain", false), Index("tenants", true)});
  for (int round = 0; round < 8; ++round) {
    Churn(500);
    if (round % 2 == 0) engine_->WaitForVectors();
    ExpectSound();
    Open();
    ExpectSound();
  }
  EXPECT_GT(SnapshotFiles(), 0u);
}

TEST_F(VectorTest, AnIndexIsFilledFromItemsThatWereThere) {
  Create({});
  Churn(600);
  ASSERT_TRUE(engine_->ChangeSchema(table_, [](TableSchema* schema) -> Status {
    IndexSchema late = Index("late", true);
    late.status = IndexStatus::kCreating;
    schema->indexes.push_back(late);
    return Ok{};
  }));
  Churn(300);  // while it is filled
  engine_->WaitForBackfills();
  EXPECT_EQ(table_->schema()->indexes[0].status, IndexStatus::kActive);
  ExpectSound();
  Open();
  ExpectSound();
}

// A snapshot saves time and nothing else: without it, or with a damaged one, the index is made again.
TEST_F(VectorTest, ALostOrDamagedSnapshotCostsTimeOnly) {
  Create({Index("plain", false)});
  Churn(800);
  engine_->WaitForVectors();
  for (bool lost : {true, false}) {
    engine_.reset();
    ASSERT_GT(SnapshotFiles(), 0u);
    for (const auto& file : std::filesystem::directory_iterator(directory_ + "/vectors")) {
      if (lost) {
        std::filesystem::remove(file.path());
      } else {
        std::fstream out(file.path(), std::ios::in | std::ios::out | std::ios::binary);
        out.seekp(static_cast<std::streamoff>(std::filesystem::file_size(file.path()) / 2));
        out.put('\x5a').put('\xa5').put('\x5a');
      }
    }
    Open();
    ExpectSound();
    Churn(300);
    engine_->WaitForVectors();
    ExpectSound();
  }
}

TEST_F(VectorTest, DroppingAnIndexTakesItsFiles) {
  Create({Index("plain", false), Index("tenants", true)});
  Churn(600);
  engine_->WaitForVectors();
  size_t before = SnapshotFiles();
  auto drop = [&](size_t position) {
    ASSERT_TRUE(engine_->ChangeSchema(table_, [&](TableSchema* schema) -> Status {
      schema->indexes.erase(schema->indexes.begin() + static_cast<ptrdiff_t>(position));
      return Ok{};
    }));
  };
  drop(0);
  engine_->WaitForVectors();
  EXPECT_LT(SnapshotFiles(), before);
  drop(0);
  engine_->WaitForVectors();
  EXPECT_EQ(SnapshotFiles(), 0u);
  Churn(100);
  ASSERT_TRUE(engine_->RunHousekeeping());  // nobody needs the log any more
  auto it = engine_->kv().Iterate(storage::Space::kChanges, ObjectRange(table_->schema()->id), nullptr,
                                  storage::Wait::kMayBlock);
  it->SeekToFirst();
  EXPECT_FALSE(it->Valid());
}

// What has been saved need not be looked at again: the log must not grow with the life of the table.
TEST_F(VectorTest, TheLogIsTrimmedBySnapshots) {
  Create({Index("plain", false)});
  for (int round = 0; round < 6; ++round) {
    Churn(400);
    engine_->WaitForVectors();
    ASSERT_TRUE(engine_->RunHousekeeping());
  }
  uint64_t records = 0;
  auto it = engine_->kv().Iterate(storage::Space::kChanges, ObjectRange(table_->schema()->id), nullptr,
                                  storage::Wait::kMayBlock);
  for (it->SeekToFirst(); it->Valid(); it->Next()) ++records;
  EXPECT_LT(records, 2 * snapshot_changes_);
}

// A watch wants whole records; the vectors beside it only names. Neither may spoil the other's.
TEST_F(VectorTest, AWatchAndAVectorIndexShareTheLog) {
  Create({Index("plain", false)});
  Churn(400);
  engine_->WaitForVectors();
  auto watch = engine_->change_log().Open(table_, std::nullopt).value();
  Write("watched", RandomItem("watched"));
  auto records = watch->Read(10).value();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].now->Get("pk")->AsText(), "watched");
  Churn(200);
  watch.reset();
  ASSERT_TRUE(engine_->RunHousekeeping());
  Churn(200);
  Open();
  ExpectSound();
}

// A commit that takes its time must not hide later ones, or a client would not find what it was just told it
// has written.
TEST_F(VectorTest, WhatWasAnsweredIsFoundWhileAnEarlierCommitIsUnderWay) {
  for (Durability durability : {Durability::kSync, Durability::kInterval, Durability::kNone}) {
    durability_ = durability;
    Open();
    if (table_ == nullptr) Create({Index("plain", false)});
    auto search = [&] { return Search("plain", {.vector = {1, 2, 3, 4, 5}, .top_k = 1}); };
    std::optional<Commit> slow(std::in_place, &engine_->committer());
    ASSERT_TRUE(slow->Begin());
    Write("own", Item{{"pk", "own"}, {"vector", AttributeValue::List({1, 2, 3, 4, 5})}});
    ASSERT_TRUE(engine_->committer().WaitDurable());
    auto hits = search();
    ASSERT_EQ(hits.size(), 1u) << static_cast<int>(durability);
    EXPECT_EQ(hits[0].score, 0);
    Write("own", std::nullopt);
    ASSERT_TRUE(engine_->committer().WaitDurable());
    EXPECT_TRUE(search().empty());
    slow.reset();
  }
}

// The number of a snapshot can lag behind what was written before anything was logged: that must not be lost
// between the two.
TEST_F(VectorTest, TheFirstSnapshotHasEverythingThatWasNotLogged) {
  Create({Index("plain", false)});
  std::optional<Commit> slow(std::in_place, &engine_->committer());
  ASSERT_TRUE(slow->Begin());
  Churn(400);
  engine_->WaitForVectors();
  slow.reset();
  Open();
  ExpectSound();
  Churn(400);
  engine_->WaitForVectors();
  EXPECT_GT(SnapshotFiles(), 0u);
}

// Writes go on while the first snapshot is written, and so does housekeeping, which keeps no log for watches
// that were closed: what the snapshot does not have must stay in the log all the same.
TEST_F(VectorTest, TheLogIsKeptWhileTheFirstSnapshotIsWritten) {
  Create({Index("plain", false)});
  engine_->change_log().Open(table_, std::nullopt).value().reset();
  file_system_->on_graph = [&] {
    file_system_->on_graph = nullptr;
    Write("late", Item{{"pk", "late"}, {"vector", AttributeValue::List({1, 2, 3, 4, 5})}});
    EXPECT_TRUE(engine_->RunHousekeeping());
    return rocksdb::IOStatus::OK();
  };
  Churn(400);
  engine_->WaitForVectors();
  ASSERT_GT(SnapshotFiles(), 0u);
  Open();
  ExpectSound();
}

// Whoever waits wants graphs that have everything. A round that leaves vectors for later, because more seem
// to come, has not come to rest.
TEST_F(VectorTest, WaitingOutlastsARoundThatLetsWritersPass) {
  Create({Index("plain", false)});
  int written = 0;
  auto write = [&](int count) {
    for (int end = written + count; written < end; ++written) {
      std::string pk = "item" + std::to_string(written);
      Write(pk, Item{{"pk", pk}, {"vector", AttributeValue::List({written, 1, 0, 0, 0})}});
    }
  };
  write(145);
  engine_->WaitForVectors();
  // The round that the wait begins with looks at the index, then writes a snapshot; meanwhile many come.
  file_system_->on_graph = [&] {
    file_system_->on_graph = nullptr;
    write(30);
    return rocksdb::IOStatus::OK();
  };
  write(5);
  engine_->WaitForVectors();
  EXPECT_EQ(written, 180);
  EXPECT_EQ(table_->active()->VectorBacklog(), 0u);
}

// A snapshot that cannot be read today may be readable tomorrow; by then it is too old.
TEST_F(VectorTest, ASnapshotThatWasPassedOverIsNeverUsed) {
  Create({Index("plain", false)});
  Churn(400);
  engine_->WaitForVectors();
  engine_.reset();
  std::string files = directory_ + "/vectors", saved = directory_ + "-saved";
  std::filesystem::rename(files, saved);
  snapshot_changes_ = 100'000;  // no other comes in its place
  Open();
  ExpectSound();
  Churn(50);
  engine_.reset();
  std::filesystem::rename(saved, files);
  Open();
  ExpectSound();
}

// A start must not take the longer the more vectors there are: everything but searches is served while they
// come, and what is written meanwhile is in the index when it is back.
TEST_F(VectorTest, AStoreIsServedWhileItsVectorsAreLoaded) {
  durability_ = Durability::kSync;  // what searches see waits for the disk
  Create({Index("plain", false), Index("tenants", true)});
  Churn(400);
  engine_->WaitForVectors();
  engine_.reset();
  ASSERT_GT(SnapshotFiles(), 0u);
  std::binary_semaphore reading{0}, go_on{0};
  file_system_->on_reading = [&] {
    reading.release();
    go_on.acquire();
  };
  Open(/*load_behind=*/true);
  reading.acquire();
  EXPECT_EQ(engine_->Loading(),
            (std::vector<std::string>{"vector index plain of table t", "vector index tenants of table t"}));
  Churn(200);
  Write("late", Item{{"pk", "late"}, {"vector", AttributeValue::List({100, 0, 0, 0, 0})}});
  VectorQuery query{.vector = {100, 0, 0, 0, 0}, .top_k = 1};
  auto early = engine_->SearchVectors(table_, *table_->schema()->FindIndex("plain"), query);
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code(), ErrorCode::kThrottling) << early.error().ToString();

  go_on.release(2);  // each index has a snapshot
  engine_->WaitForVectors();
  EXPECT_TRUE(engine_->Loading().empty());
  auto hits = Search("plain", query);
  ASSERT_EQ(hits.size(), 1u);
  EXPECT_EQ(hits[0].item.Get("pk")->AsText(), "late");
  ExpectSound();
  file_system_->on_reading = nullptr;
  Open();
  ExpectSound();
}

// The same with snapshots that turn out to be of no use, and an index that is dropped while it is loaded.
TEST_F(VectorTest, WritesMeetAnIndexThatIsMadeAgain) {
  Create({Index("plain", false), Index("tenants", true)});
  Churn(400);
  engine_->WaitForVectors();
  engine_.reset();
  for (const auto& file : std::filesystem::directory_iterator(directory_ + "/vectors"))
    std::filesystem::resize_file(file.path(), std::filesystem::file_size(file.path()) / 2);
  std::binary_semaphore reading{0}, go_on{0};
  file_system_->on_reading = [&] {
    reading.release();
    go_on.acquire();
  };
  Open(/*load_behind=*/true);
  reading.acquire();
  Churn(200);
  ASSERT_TRUE(engine_->ChangeSchema(table_, [](TableSchema* schema) -> Status {
    std::erase_if(schema->indexes, [](const IndexSchema& index) { return index.name == "tenants"; });
    return Ok{};
  }));
  go_on.release(2);
  engine_->WaitForVectors();
  EXPECT_TRUE(engine_->Loading().empty());
  ExpectSound();
  file_system_->on_reading = nullptr;
  snapshot_changes_ = 100'000;
  Churn(100);  // not logged any more: the next start makes the index from its items, too
  Open();
  ExpectSound();
}

// Stopping a store that is still loading must not wait for its vectors: the load is abandoned.
TEST_F(VectorTest, AStopDuringALoadLeavesASoundStore) {
  Create({Index("plain", false)});
  Churn(400);
  engine_->WaitForVectors();
  engine_.reset();
  std::binary_semaphore reading{0}, go_on{0};
  int read = 0;
  file_system_->on_reading = [&] {
    ++read;
    reading.release();
    go_on.acquire();
  };
  Open(/*load_behind=*/true);
  reading.acquire();
  Write("late", Item{{"pk", "late"}, {"vector", AttributeValue::List({1, 2, 3, 4, 5})}});
  std::thread stopping([&] { engine_.reset(); });
  go_on.release();
  stopping.join();
  EXPECT_EQ(read, 1);
  file_system_->on_reading = nullptr;
  Open();
  ExpectSound();
}

// On a full disk, attempt after attempt would keep it full.
TEST_F(VectorTest, AFailedSnapshotLeavesNothingBehindAndIsNotTriedAgainAtOnce) {
  Create({Index("plain", false)});
  int attempts = 0;
  file_system_->on_graph = [&] {
    ++attempts;
    return rocksdb::IOStatus::NoSpace();
  };
  Churn(400);
  for (int i = 0; i < 3; ++i) engine_->WaitForVectors();
  EXPECT_EQ(attempts, 1);
  EXPECT_EQ(SnapshotFiles(), 0u);
  ExpectSound();
}

TEST_F(VectorTest, SearchesGiveProjectedItemsOfOnePartitionNearestFirst) {
  Create({Index("tenants", true)});
  auto put = [&](const std::string& pk, const std::string& tenant, int64_t x) {
    Write(pk, Item{{"pk", pk}, {"tenant", tenant}, {"vector", AttributeValue::List({x, 1, 0, 0, 0})}});
  };
  put("a", "one", 5), put("b", "one", 1), put("c", "two", 5), put("d", "one", -5);
  VectorQuery query{.vector = {5, 1, 0, 0, 0}, .top_k = 2, .with_vectors = true};
  query.partition = std::string(1, static_cast<char>(value::Type::kString)) + "one";
  auto hits = Search("tenants", query);
  ASSERT_EQ(hits.size(), 2u);
  EXPECT_EQ(hits[0].item.Get("pk")->AsText(), "a");
  EXPECT_EQ(hits[0].item.Get("vector"), std::nullopt);
  EXPECT_EQ(hits[0].vector, (std::vector<float>{5, 1, 0, 0, 0}));
  EXPECT_EQ(hits[1].item.Get("pk")->AsText(), "b");
}

}  // namespace
}  // namespace holdfast::engine
