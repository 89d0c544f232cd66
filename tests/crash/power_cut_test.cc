// Cuts the power under a store at work, over and over, and looks at what is left: every acknowledged write,
// everything that anybody had read, whole transactions, indexes that equal a rebuild.
//
// Each seed is one store that lives through several cuts. `HOLDFAST_CRASH_SEEDS=200` is the long form; a
// failure prints its seed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>

#include "engine/engine.h"
#include "engine/verify.h"
#include "holdfast/master_keys.h"
#include "indexed_table.h"
#include "ops/operations.h"
#include "storage/fault/fault_file_system.h"

namespace holdfast {
namespace {

constexpr int kWriters = 4;
constexpr int kKeysPerWriter = 6;
constexpr int kRounds = 3;

// What one key may hold. Each writer owns its keys, so at most one write of a key is in doubt.
struct KeyState {
  struct Version {
    int64_t number = 0;
    bool is_there = false;
    friend bool operator==(const Version&, const Version&) = default;
  };
  Version acknowledged;
  Version tried;
  std::atomic<int64_t> seen{0};  // the newest version a reader was shown
};

AttributeValue Text(const std::string& text) {
  return AttributeValue(text);
}

// How the store is encrypted while the power goes.
enum class Encrypts : uint8_t {
  kNever,
  kFromTheStart,
  kMeanwhile,  // switched on in the first round, with a new version of the key in each that follows
};

class PowerCut {
 public:
  PowerCut(uint64_t seed, Durability durability, Encrypts encrypts = Encrypts::kNever)
      : seed_(seed),
        durability_(durability),
        encrypts_(encrypts),
        random_(seed),
        disk_(std::make_shared<storage::FaultFileSystem>(seed)) {
    directory_ = std::filesystem::temp_directory_path() /
                 ("holdfast-cut-" + std::to_string(::getpid()) + "-" + std::to_string(seed));
    std::filesystem::remove_all(directory_);
    key_file_ = directory_ + ".key";
    std::filesystem::remove(key_file_);
    if (encrypts_ != Encrypts::kNever) {
      EXPECT_TRUE(MasterKeys::Create(key_file_).has_value());
    }
  }
  ~PowerCut() {
    engine_.reset();
    std::filesystem::remove_all(directory_);
    std::filesystem::remove_all(directory_ + ".parked");
    std::filesystem::remove_all(directory_ + "/vectors.parked");
    std::filesystem::remove(key_file_);
  }

  // Lives through all rounds; what was wrong comes back, empty when nothing was.
  std::vector<std::string> Live() {
    Open();
    if (!testing::Test::HasFatalFailure()) CreateTable();
    for (int round = 0; round < kRounds && faults_.empty() && !testing::Test::HasFatalFailure(); ++round) {
      // A log that is never synced is written in large blocks: few operations are many commits.
      disk_->CutAfter(durability_ == Durability::kNone ? 50 : 100 + random_() % 4000);
      Work();
      engine_.reset();
      disk_->Restore();
      Open();
      if (engine_ != nullptr) Inspect();
    }
    if (encrypts_ != Encrypts::kNever && engine_ != nullptr && faults_.empty()) InspectFiles();
    return faults_;
  }

 private:
  void Open() {
    engine::EngineOptions options;
    options.options.directory = directory_;
    options.options.durability = durability_;
    options.options.ttl_sweep_millis = 20;
    options.file_system = disk_;
    if (encrypts_ != Encrypts::kNever) options.options.key_file = key_file_;
    options.options.encrypt = encrypts_ == Encrypts::kFromTheStart;
    if (seed_ % 2 == 0) options.write_buffer_bytes = 128 << 10;  // cuts meet flushes and compactions too
    // And graphs that grow, and snapshots of them.
    options.vector_graph_min = 8;
    options.vector_snapshot_changes = 40;
    auto opened = engine::Engine::Open(options);
    ASSERT_TRUE(opened.has_value()) << "seed " << seed_ << ": " << opened.error().ToString();
    engine_ = *std::move(opened);
  }

  void CreateTable() {
    ASSERT_TRUE(ops::Run(engine_.get(), IndexedTable("cut")).has_value());
    UpdateTimeToLiveRequest ttl;
    ttl.table_name = "cut";
    ttl.time_to_live_specification = {.attribute_name = "e", .enabled = true};
    ASSERT_TRUE(ops::Run(engine_.get(), ttl).has_value());
  }

  // Adds an index while everybody writes, or drops it, so that cuts meet backfills too.
  void ToggleIndex() {
    auto table = ops::Run(engine_.get(), DescribeTableRequest{.table_name = "cut"});
    if (!table) return;
    UpdateTableRequest request;
    request.table_name = "cut";
    request.attribute_definitions = {
        {{"v", ScalarAttributeType::kNumber}, {"g", ScalarAttributeType::kString}}};
    GlobalSecondaryIndexUpdate update;
    if (table->table.global_secondary_indexes->size() == 1) {
      update.create =
          CreateGlobalSecondaryIndexAction{{.index_name = "by_v",
                                            .key_schema = {{"v", KeyType::kHash}},
                                            .projection = {.projection_type = ProjectionType::kKeysOnly}}};
    } else {
      update.delete_action = DeleteGlobalSecondaryIndexAction{.index_name = "by_v"};
      request.attribute_definitions.reset();
    }
    request.global_secondary_index_updates = {{update}};
    static_cast<void>(ops::Run(engine_.get(), request));  // the power may go, or the index be busy
  }

  // Rewrites the store under the writers: from plain at first, then under a newer version of the key.
  void ChangeKey() {
    if (engine_->encryption() == engine::Encryption::kOff) {
      UpdateTableRequest request;
      request.table_name = "cut";
      request.sse_specification = SseSpecification{.enabled = true};
      static_cast<void>(ops::Run(engine_.get(), request));  // the power may go
    } else {
      ASSERT_TRUE(MasterKeys::Rotate(key_file_).has_value());  // noticed by the next start at the latest
    }
  }

  // Sooner or later no file is left that is plain or under an older key, whatever was interrupted.
  void InspectFiles() {
    if (engine_->encryption() == engine::Encryption::kOff) return;  // cut before it was switched on
    Status done = engine_->WaitForEncryption();
    if (!done) Fault(done.error().ToString());
    if (engine_->encryption() != engine::Encryption::kOn) Fault("the store is not encrypted as a whole");
    Inspect();
    engine_.reset();
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_)) {
      if (!entry.is_regular_file() || entry.path().parent_path().extension() == ".parked") continue;
      std::ifstream file(entry.path(), std::ios::binary);
      std::string bytes{std::istreambuf_iterator<char>(file), {}};
      if (bytes.find("xxxxxxxx") != std::string::npos || bytes.find("by_g") != std::string::npos)
        Fault("in plain text: " + entry.path().string());
    }
    Open();
  }

  void Work() {
    std::vector<std::thread> threads;
    for (int writer = 0; writer < kWriters; ++writer) {
      threads.emplace_back([this, writer, seed = random_()] { WriteUntilCut(writer, seed); });
    }
    threads.emplace_back([this, seed = random_()] { ReadUntilCut(seed); });
    if (random_() % 2 == 0) ToggleIndex();
    if (encrypts_ == Encrypts::kMeanwhile) ChangeKey();
    for (std::thread& thread : threads) thread.join();
  }

  static std::string KeyName(int writer, int key) {
    return std::to_string(writer) + "-" + std::to_string(key);
  }
  KeyState& State(int writer, int key) { return states_[writer * kKeysPerWriter + key]; }

  void WriteUntilCut(int writer, uint64_t seed) {
    std::mt19937_64 random(seed);
    bool alive = true;
    while (alive && !disk_->is_cut()) {
      switch (random() % 6) {
        case 0:
          alive = Write({{writer, static_cast<int>(2 + random() % 4)}}, /*is_there=*/false, &random);
          break;
        case 1: alive = Write({{writer, 0}, {writer, 1}}, true, &random); break;
        case 2: alive = PutExpired(writer, &random); break;
        default: alive = Write({{writer, static_cast<int>(2 + random() % 4)}}, true, &random); break;
      }
    }
  }

  // Gives the keys their next version; several keys are one transaction. False when the store refused.
  bool Write(std::vector<std::pair<int, int>> keys, bool is_there, std::mt19937_64* random) {
    TransactWriteItemsRequest transaction;
    Result<Ok> done = Ok{};
    for (auto [writer, key] : keys) {
      KeyState& state = State(writer, key);
      state.tried = {state.acknowledged.number + 1, is_there};
      Item item{{"p", Text(KeyName(writer, key))},
                {"g", Text("g" + std::to_string((*random)() % 3))},
                {"v", state.tried.number},
                {"w", AttributeValue::List({state.tried.number, key, writer, (*random)() % 100})},
                {"pad", Text(std::string((*random)() % 2000, 'x'))}};
      Item name{{"p", Text(KeyName(writer, key))}};
      if (keys.size() > 1) {
        TransactWriteItem action;
        action.put = TransactPut{.table_name = "cut", .item = item};
        transaction.transact_items.push_back(std::move(action));
      } else if (!is_there) {
        done = Ack(ops::Run(engine_.get(), DeleteItemRequest{.table_name = "cut", .key = name}));
      } else if ((*random)() % 2 == 0) {
        done = Ack(ops::Run(engine_.get(), PutItemRequest{.table_name = "cut", .item = item}));
      } else {
        UpdateItemRequest update{.table_name = "cut", .key = name};
        update.update_expression = "SET v = :v, g = :g";
        update.expression_attribute_values = Item{{":v", state.tried.number}, {":g", Text("moved")}};
        done = Ack(ops::Run(engine_.get(), update));
      }
    }
    if (keys.size() > 1) done = Ack(ops::Run(engine_.get(), transaction));
    if (!done) return false;
    for (auto [writer, key] : keys) State(writer, key).acknowledged = State(writer, key).tried;
    return true;
  }

  template <class Response>
  static Status Ack(const Result<Response>& result) {
    if (!result) return result.error();
    return Ok{};
  }

  bool PutExpired(int writer, std::mt19937_64* random) {
    Item item{{"p", Text("ttl-" + std::to_string(writer) + "-" + std::to_string((*random)() % 20))},
              {"g", Text("expiring")},
              {"e", engine_->clock().NowSeconds() - static_cast<int64_t>((*random)() % 3)}};
    return ops::Run(engine_.get(), PutItemRequest{.table_name = "cut", .item = item}).has_value();
  }

  void ReadUntilCut(uint64_t seed) {
    std::mt19937_64 random(seed);
    while (!disk_->is_cut()) {
      int writer = static_cast<int>(random() % kWriters), key = static_cast<int>(random() % kKeysPerWriter);
      std::optional<int64_t> version = Read(writer, key);
      if (version) State(writer, key).seen = std::max(State(writer, key).seen.load(), *version);
    }
  }

  std::optional<int64_t> Read(int writer, int key) {
    auto got = ops::Run(engine_.get(),
                        GetItemRequest{.table_name = "cut", .key = {{"p", Text(KeyName(writer, key))}}});
    if (!got || !got->item) return std::nullopt;
    return got->item->Get("v")->AsInt64();
  }

  void Inspect() {
    for (int writer = 0; writer < kWriters; ++writer) {
      for (int key = 0; key < kKeysPerWriter; ++key) InspectKey(writer, key);
      if (State(writer, 0).acknowledged != State(writer, 1).acknowledged) {
        Fault("a transaction is torn: writer " + std::to_string(writer));
      }
    }
    engine_->WaitForBackfills();
    auto report = engine::VerifyStore(engine_.get());
    if (!report) return Fault(report.error().ToString());
    for (const std::string& fault : report->faults) Fault(fault);
  }

  void InspectKey(int writer, int key) {
    KeyState& state = State(writer, key);
    std::optional<int64_t> version = Read(writer, key);
    auto is = [&](const KeyState::Version& expected) {
      return version ? expected.is_there && expected.number == *version : !expected.is_there;
    };
    std::string name = "key " + KeyName(writer, key) + ": ";
    if (!is(state.acknowledged) && !is(state.tried)) {
      Fault(name + "version " + std::to_string(version.value_or(-1)) + " where " +
            std::to_string(state.acknowledged.number) + " was acknowledged and " +
            std::to_string(state.tried.number) + " tried");
    }
    if (version.value_or(state.tried.number) < state.seen) {
      Fault(name + "version " + std::to_string(state.seen) + " had been read");
    }
    state.acknowledged = is(state.tried) ? state.tried : state.acknowledged;
    state.tried = state.acknowledged;
    state.seen = 0;
  }

  void Fault(std::string what) { faults_.push_back("seed " + std::to_string(seed_) + ": " + what); }

  const uint64_t seed_;
  const Durability durability_;
  const Encrypts encrypts_;
  std::mt19937_64 random_;
  std::string directory_;
  std::string key_file_;
  std::shared_ptr<storage::FaultFileSystem> disk_;
  std::unique_ptr<engine::Engine> engine_;
  std::array<KeyState, kWriters * kKeysPerWriter> states_;
  std::vector<std::string> faults_;
};

uint64_t SeedCount() {
  const char* asked = std::getenv("HOLDFAST_CRASH_SEEDS");
  return asked != nullptr ? std::stoull(asked) : 20;
}

TEST(PowerCut, TakesNothingThatWasAcknowledgedOrRead) {
  for (uint64_t seed = 1; seed <= SeedCount(); ++seed) {
    for (const std::string& fault : PowerCut(seed, Durability::kSync).Live()) ADD_FAILURE() << fault;
    if (testing::Test::HasFailure()) return;
  }
}

// And encryption, which puts a header before each file and a mark behind each log, takes nothing either.
TEST(PowerCut, DB_X_01_TakesNothingFromAnEncryptedStore) {
  for (uint64_t seed = 1; seed <= SeedCount() / 2; ++seed) {
    for (const std::string& fault : PowerCut(seed, Durability::kSync, Encrypts::kFromTheStart).Live())
      ADD_FAILURE() << fault;
    if (testing::Test::HasFailure()) return;
  }
}

TEST(PowerCut, DB_X_01_TakesNothingWhileFilesAreRewritten) {
  for (uint64_t seed = 1; seed <= SeedCount() / 2; ++seed) {
    for (const std::string& fault : PowerCut(seed, Durability::kSync, Encrypts::kMeanwhile).Live())
      ADD_FAILURE() << fault;
    if (testing::Test::HasFailure()) return;
  }
}

// The first test proves something only if it can fail: without syncs, writes must be seen to go missing.
TEST(PowerCut, IsNoticedWithoutSyncs) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    if (!PowerCut(seed, Durability::kNone).Live().empty()) return;
  }
  ADD_FAILURE() << "twenty unsynced stores lost nothing to a power cut";
}

}  // namespace
}  // namespace holdfast
