// What every implementation of the storage port promises, run over each of them.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <random>

#include "holdfast/master_keys.h"
#include "storage/encryption/vault.h"
#include "storage/kv.h"
#include "storage/memory/memory_kv.h"
#include "storage/rocksdb/rocksdb_kv.h"

namespace holdfast::storage {
namespace {

class KvContract : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::temp_directory_path() /
                 ("holdfast-contract-" + std::to_string(::getpid()) + "-" + std::to_string(++opened_));
    Open();
  }
  void TearDown() override {
    kv_.reset();
    std::filesystem::remove_all(directory_);
  }
  void Open() {
    if (GetParam() == "memory") {
      kv_ = OpenMemoryKv();
    } else {
      RocksDbOptions options{.directory = directory_};
      if (GetParam() == "encrypted") options.vault = Unlock(directory_);
      auto opened = OpenRocksDbKv(options, silence_);
      ASSERT_TRUE(opened.has_value()) << opened.error().ToString();
      kv_ = *std::move(opened);
    }
  }

  std::shared_ptr<Vault> Unlock(const std::string& directory) const {
    std::filesystem::create_directories(directory);
    auto vault = Vault::Open({.directory = directory, .keys = keys_, .encrypt = true});
    EXPECT_TRUE(vault.has_value()) << vault.error().ToString();
    return *vault;
  }
  static std::shared_ptr<const MasterKeys> MakeKeys() {
    auto keys = std::make_shared<MasterKeys>();
    keys->id = "contract";
    keys->versions.resize(1);
    keys->versions[0].key.bytes.fill(7);
    keys->current = 1;
    return keys;
  }

  void Put(ByteView key, ByteView value) {
    auto batch = kv_->NewBatch();
    batch->Put(space_, key, value);
    ASSERT_TRUE(kv_->Write(batch.get(), Wait::kMayBlock));
  }
  std::string Get(ByteView key, const Snapshot* snapshot = nullptr) {
    std::string value;
    Result<bool> found = kv_->Get(space_, key, snapshot, Wait::kMayBlock, &value);
    if (!found) return found.error().ToString();
    return *found ? value : "(none)";
  }
  std::string Walk(Range range, bool forward = true, const Snapshot* snapshot = nullptr) {
    auto it = kv_->Iterate(space_, std::move(range), snapshot, Wait::kMayBlock);
    std::string keys;
    for (forward ? it->SeekToFirst() : it->SeekToLast(); it->Valid(); forward ? it->Next() : it->Prev()) {
      keys += std::string(it->key()) + " ";
    }
    EXPECT_TRUE(it->status());
    return keys;
  }

  static inline int opened_ = 0;
  Space space_ = Space::kItems;
  std::string directory_;
  const std::shared_ptr<const MasterKeys> keys_ = MakeKeys();
  base::Log silence_{base::LogLevel::kNone};
  std::unique_ptr<Kv> kv_;
};

TEST_P(KvContract, ABatchIsVisibleWhenItsWriteReturns) {
  EXPECT_EQ(Get("a"), "(none)");
  Put("a", "1");
  EXPECT_EQ(Get("a"), "1");
  Put("a", "");
  EXPECT_EQ(Get("a"), "");
}

TEST_P(KvContract, ABatchAppliesInOrder) {
  space_ = Space::kChanges;  // where ranges may be read again after their deletion
  auto batch = kv_->NewBatch();
  EXPECT_TRUE(batch->empty());
  batch->Put(space_, "a", "1");
  batch->Put(space_, "b", "1");
  batch->DeleteRange(space_, {"a", "b"});
  batch->Delete(space_, "b");
  batch->Put(space_, "b", "2");
  ASSERT_TRUE(kv_->Write(batch.get(), Wait::kMayBlock));
  EXPECT_EQ(Walk({}), "b ");
  EXPECT_EQ(Get("b"), "2");
}

TEST_P(KvContract, SpacesDoNotMeet) {
  Put("a", "1");
  std::string value;
  Result<bool> found = kv_->Get(Space::kIndexes, "a", nullptr, Wait::kMayBlock, &value);
  ASSERT_TRUE(found.has_value());
  EXPECT_FALSE(*found);
}

TEST_P(KvContract, ASnapshotStaysWhatItWas) {
  Put("a", "1");
  auto snapshot = kv_->TakeSnapshot();
  Put("a", "2");
  Put("b", "2");
  EXPECT_EQ(Get("a", snapshot.get()), "1");
  EXPECT_EQ(Walk({}, true, snapshot.get()), "a ");
  EXPECT_EQ(Walk({}), "a b ");
}

TEST_P(KvContract, IteratorsKeepToTheirRangeBothWays) {
  for (const char* key : {"a", "b", "c", "d"}) Put(key, "");
  EXPECT_EQ(Walk({"b", "d"}), "b c ");
  EXPECT_EQ(Walk({"b", "d"}, false), "c b ");
  EXPECT_EQ(Walk({"c", ""}), "c d ");
  EXPECT_EQ(Walk({"b", "b"}), "");
  auto it = kv_->Iterate(Space::kItems, {"b", "d"}, nullptr, Wait::kMayBlock);
  EXPECT_FALSE(it->Valid());
  it->Seek("bb");
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->key(), "c");
  it->SeekForPrev("bb");
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->key(), "b");
  it->Prev();
  EXPECT_FALSE(it->Valid());
}

// Random work against a map that cannot be wrong.
TEST_P(KvContract, BehavesLikeAMap) {
  space_ = Space::kTtl;
  std::mt19937_64 random(17);
  std::map<std::string, std::string> model;
  auto key = [&] { return std::to_string(random() % 200); };
  for (int round = 0; round < 3000; ++round) {
    auto batch = kv_->NewBatch();
    for (size_t n = random() % 4 + 1; n > 0; --n) {
      std::string k = key(), v = std::to_string(random());
      if (random() % 3 == 0) {
        batch->Delete(space_, k);
        model.erase(k);
      } else {
        batch->Put(space_, k, v);
        model[k] = v;
      }
    }
    if (random() % 100 == 0) {
      Range range{key(), key()};
      if (range.lower < range.upper) {
        batch->DeleteRange(space_, range);
        model.erase(model.lower_bound(range.lower), model.lower_bound(range.upper));
      }
    }
    ASSERT_TRUE(kv_->Write(batch.get(), Wait::kMayBlock));
    std::string probe = key();
    auto expected = model.find(probe);
    ASSERT_EQ(Get(probe), expected == model.end() ? "(none)" : expected->second);
  }
  std::string expected;
  for (const auto& [k, v] : model) expected += k + " ";
  EXPECT_EQ(Walk({}), expected);
}

TEST_P(KvContract, WhatWasSyncedIsThereAfterReopening) {
  if (!kv_->capabilities().durable) {
    EXPECT_FALSE(kv_->capabilities().checkpoints);
    return;
  }
  Put("a", "1");
  ASSERT_TRUE(kv_->Sync());
  kv_.reset();
  Open();
  EXPECT_EQ(Get("a"), "1");
}

TEST_P(KvContract, ALogMayBeLeftAtAnyTime) {
  ASSERT_TRUE(kv_->RollLog());  // nothing was written yet
  for (const char* key : {"a", "b", "c"}) {
    Put(key, "1");
    ASSERT_TRUE(kv_->RollLog());
  }
  Put("d", "1");
  ASSERT_TRUE(kv_->Sync());
  if (kv_->capabilities().durable) {
    kv_.reset();
    Open();
  }
  EXPECT_EQ(Walk({}), "a b c d ");
}

TEST_P(KvContract, ACheckpointIsAStoreOfItsOwn) {
  if (!kv_->capabilities().checkpoints) return;
  Put("a", "1");
  ASSERT_TRUE(kv_->RollLog());
  Put("b", "1");
  std::string copy = directory_ + ".copy";
  std::filesystem::remove_all(copy);
  ASSERT_TRUE(kv_->Checkpoint(copy));
  Put("c", "1");
  ASSERT_TRUE(kv_->Sync());
  kv_.reset();
  std::swap(directory_, copy);
  Open();
  EXPECT_EQ(Walk({}), "a b ");
  EXPECT_EQ(std::filesystem::exists(directory_ + "/ENCRYPTION"), GetParam() == "encrypted");
  std::filesystem::remove_all(copy);
}

// Backups are files: whatever the storage, they are written whole, read from the start, listed and deleted.
TEST_P(KvContract, SegmentsAreFiles) {
  Files* files = kv_->files(FileKind::kSegments);
  ASSERT_NE(files, nullptr);
  EXPECT_TRUE(files->List().value().empty());
  EXPECT_FALSE(files->Open("a").has_value());
  for (std::string text : {"first", "second time"}) {
    std::unique_ptr<FileWriter> writer = files->Create("a").value();
    ASSERT_TRUE(writer->Append(text.substr(0, 3)));
    ASSERT_TRUE(writer->Append(text.substr(3)));
    ASSERT_TRUE(writer->Finish());
    std::unique_ptr<FileReader> reader = files->Open("a").value();
    std::string read(text.size(), ' ');
    ASSERT_TRUE(reader->Read(4, read.data()));
    ASSERT_TRUE(reader->Read(text.size() - 4, read.data() + 4));
    EXPECT_EQ(read, text);
    EXPECT_EQ(reader->Read(1, read.data()).error().code(), ErrorCode::kCorruption);
  }
  EXPECT_EQ(files->List().value(), std::vector<std::string>{"a"});
  ASSERT_TRUE(files->Delete("a"));
  EXPECT_FALSE(files->Delete("a"));
  EXPECT_TRUE(files->List().value().empty());
}

INSTANTIATE_TEST_SUITE_P(Backends, KvContract, testing::Values("memory", "rocksdb", "encrypted"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace holdfast::storage
