// The power goes while a store of hundreds of table files is loaded and while it is changed, with a global
// index, a stream and point-in-time recovery, plain and encrypted. Small stores keep everything in write
// buffers and the newest files; here a cut meets flushes and compactions of every level.
//
// HOLDFAST_SIZE_ITEMS=2000000 is the long form.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <thread>

#include "engine/engine.h"
#include "engine/verify.h"
#include "holdfast/master_keys.h"
#include "ops/operations.h"
#include "storage/fault/fault_file_system.h"

namespace holdfast {
namespace {

constexpr int kWriters = 4;
constexpr int kBatch = 25;
constexpr int kFilesMin = 100;

int64_t ItemCount() {
  const char* asked = std::getenv("HOLDFAST_SIZE_ITEMS");
  return asked != nullptr ? std::stoll(asked) : 24'000;
}

std::string KeyOf(int64_t n) {
  // In no order, so that every flush overlaps every file.
  return std::to_string(static_cast<uint64_t>(n + 1) * 0x9E3779B97F4A7C15) + "-" + std::to_string(n);
}

Item ItemOf(int64_t n, int64_t version) {
  std::mt19937_64 random(static_cast<uint64_t>(n * 4 + version));
  std::string note;
  while (note.size() < 380) note += std::to_string(random());
  return {{"p", KeyOf(n)}, {"g", "g" + std::to_string(n % 997)}, {"v", version}, {"note", note}};
}

class LargeStore {
 public:
  LargeStore(uint64_t seed, bool encrypted)
      : encrypted_(encrypted), random_(seed), disk_(std::make_shared<storage::FaultFileSystem>(seed)) {
    directory_ = std::filesystem::temp_directory_path() / ("holdfast-size-cut-" + std::to_string(::getpid()));
    std::filesystem::remove_all(directory_);
    if (encrypted_) {
      EXPECT_TRUE(MasterKeys::Create(directory_ + ".key").has_value());
    }
  }
  ~LargeStore() {
    engine_.reset();
    for (const char* suffix : {"", ".parked", ".key"}) std::filesystem::remove_all(directory_ + suffix);
  }

  void Live() {
    Open();
    CreateTable();
    // Cut within the load, then again as soon as it is whole and being changed.
    disk_->CutAfter(AMoment());
    Write(0);
    ComeBack();
    Inspect(0);
    Write(0);
    ASSERT_EQ(*std::min_element(done_[0].begin(), done_[0].end()), PerWriter());
    EXPECT_GT(TableFiles(), kFilesMin);
    for (int round = 0; round < 2 && !testing::Test::HasFailure(); ++round) {
      disk_->CutAfter(AMoment());
      Write(1);
      ComeBack();
      Inspect(1);
    }
    auto report = engine::VerifyStore(engine_.get());
    ASSERT_TRUE(report) << report.error().ToString();
    for (const std::string& fault : report->faults) ADD_FAILURE() << fault;
  }

 private:
  static int64_t PerWriter() { return ItemCount() / kWriters; }
  // A moment of the work: so few operations write less than half of the items, however many share a sync.
  uint64_t AMoment() {
    auto items = static_cast<uint64_t>(ItemCount());
    return items / 400 + random_() % (items / 200);
  }

  void Open() {
    engine::EngineOptions options;
    options.options.directory = directory_;
    if (encrypted_) options.options.key_file = directory_ + ".key";
    options.options.encrypt = encrypted_;
    options.file_system = disk_;
    options.write_buffer_bytes = 128 << 10;
    options.table_bytes = 64 << 10;
    auto opened = engine::Engine::Open(options);
    ASSERT_TRUE(opened.has_value()) << opened.error().ToString();
    engine_ = *std::move(opened);
  }

  void CreateTable() {
    CreateTableRequest request;
    request.table_name = "large";
    request.billing_mode = BillingMode::kPayPerRequest;
    request.key_schema = {{"p", KeyType::kHash}};
    request.attribute_definitions = {{"p", ScalarAttributeType::kString},
                                     {"g", ScalarAttributeType::kString}};
    request.global_secondary_indexes = {{.index_name = "by_g",
                                         .key_schema = {{"g", KeyType::kHash}, {"p", KeyType::kRange}},
                                         .projection = {.projection_type = ProjectionType::kKeysOnly}}};
    request.stream_specification =
        StreamSpecification{.stream_enabled = true, .stream_view_type = StreamViewType::kNewImage};
    ASSERT_TRUE(ops::Run(engine_.get(), request).has_value());
    UpdateContinuousBackupsRequest recovery;
    recovery.table_name = "large";
    recovery.point_in_time_recovery_specification.point_in_time_recovery_enabled = true;
    ASSERT_TRUE(ops::Run(engine_.get(), recovery).has_value());
  }

  // Each writer goes on with its items, a batch after another, until all are written or the power is gone.
  void Write(int version) {
    std::vector<std::thread> threads;
    for (size_t writer = 0; writer < kWriters; ++writer) {
      threads.emplace_back([this, writer, version] {
        int64_t& done = done_[static_cast<size_t>(version)][writer];
        while (done < PerWriter()) {
          BatchWriteItemRequest batch;
          int64_t end = std::min(done + kBatch, PerWriter());
          for (int64_t i = done; i < end; ++i)
            batch.request_items["large"].push_back(
                {.put_request = PutRequest{ItemOf(NumberOf(writer, i), version)}});
          auto written = ops::Run(engine_.get(), batch);
          if (!written || !written->unprocessed_items.empty()) return;
          done = end;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  static int64_t NumberOf(size_t writer, int64_t i) { return i * kWriters + static_cast<int64_t>(writer); }

  void ComeBack() {
    ASSERT_TRUE(disk_->is_cut()) << "the work was done before the power went";
    engine_.reset();
    disk_->Restore();
    Open();
  }

  // What was acknowledged is there; of what comes after it only the batch that was under way may be.
  void Inspect(int64_t version) {
    for (size_t writer = 0; writer < kWriters; ++writer) {
      int64_t done = done_[static_cast<size_t>(version)][writer];
      for (int64_t i = 0; i < PerWriter(); ++i) {
        int64_t n = NumberOf(writer, i);
        auto got = ops::Run(engine_.get(), GetItemRequest{.table_name = "large", .key = {{"p", KeyOf(n)}}});
        ASSERT_TRUE(got) << got.error().ToString();
        bool is_new = got->item && got->item->Get("v")->AsInt64() == version;
        ASSERT_TRUE(is_new || i >= done) << "item " << n << " was acknowledged";
        ASSERT_TRUE(!is_new || i < done + kBatch) << "nobody wrote item " << n;
        bool is_old = got->item && version > 0 && !is_new;
        ASSERT_TRUE(is_new || is_old || version == 0) << "item " << n << " is gone";
        if (got->item) {
          ASSERT_EQ(*got->item, ItemOf(n, is_new ? version : version - 1)) << "item " << n;
        }
      }
    }
  }

  int TableFiles() const {
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory_))
      files += entry.path().extension() == ".sst" ? 1 : 0;
    return files;
  }

  const bool encrypted_;
  std::mt19937_64 random_;
  std::string directory_;
  std::shared_ptr<storage::FaultFileSystem> disk_;
  std::unique_ptr<engine::Engine> engine_;
  std::array<std::array<int64_t, kWriters>, 2>
      done_{};  // by version: items of each writer that are acknowledged
};

TEST(SizePowerCut, TakesNothingFromAStoreOfHundredsOfFiles) {
  LargeStore(1, /*encrypted=*/false).Live();
}
TEST(SizePowerCut, TakesNothingFromOneThatIsEncrypted) {
  LargeStore(2, /*encrypted=*/true).Live();
}

}  // namespace
}  // namespace holdfast
