#include "engine/commit/committer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "engine/commit/commit.h"
#include "storage/memory/memory_kv.h"
#include "storage/rocksdb/rocksdb_kv.h"

namespace holdfast::engine {
namespace {

// In memory every commit is safe to show as soon as all before it have ended.
class CommitterInMemory : public testing::Test {
 protected:
  uint64_t published() const { return committer_.published()->number; }

  std::unique_ptr<storage::Kv> kv_ = storage::OpenMemoryKv();
  base::ManualClock clock_{1000};
  base::Log silence_{base::LogLevel::kNone};
  Committer committer_{kv_.get(), &clock_, &silence_, {}, /*first_number=*/10, /*time_floor_millis=*/2000};
};

// Readers of the change log go as far as the published number: a gap below it would be skipped for good
// (I-4).
TEST_F(CommitterInMemory, PublishesNothingAboveACommitInFlight) {
  EXPECT_EQ(published(), 9u);
  Commit first(&committer_), second(&committer_), third(&committer_);
  EXPECT_EQ(first.Begin()->number, 10u);
  ASSERT_TRUE(second.Begin());
  Stamp newest = third.Begin().value();
  EXPECT_EQ(newest.number, 12u);
  ASSERT_TRUE(second.Write(storage::Wait::kMayBlock));
  EXPECT_EQ(published(), 9u);
  ASSERT_TRUE(first.Write(storage::Wait::kMayBlock));
  EXPECT_EQ(published(), 11u);
  ASSERT_TRUE(third.Write(storage::Wait::kMayBlock));
  EXPECT_EQ(published(), 12u);
  EXPECT_EQ(committer_.begun_number(), 12u);
  EXPECT_EQ(committer_.last_time_millis(), newest.time_millis);
}

// A caller that returns early, for whatever reason, must not hold back everybody's publication for good.
TEST_F(CommitterInMemory, ACommitThatIsGivenUpEnds) {
  {
    Commit given_up(&committer_);
    ASSERT_TRUE(given_up.Begin());
    given_up.batch()->Put(storage::Space::kItems, "key", "value");
  }
  EXPECT_EQ(published(), 10u);
  std::string value;
  EXPECT_FALSE(kv_->Get(storage::Space::kItems, "key", nullptr, storage::Wait::kMayBlock, &value).value());
}

// What a maintainer keeps in memory must be there when readers are sent to the commit (I-18).
TEST_F(CommitterInMemory, WhatFollowsAWriteIsDoneBeforeItIsPublished) {
  Commit commit(&committer_);
  commit.batch()->Put(storage::Space::kItems, "key", "value");
  uint64_t published_then = 0;
  std::string value;
  ASSERT_TRUE(commit.Write(storage::Wait::kMayBlock, [&] {
    published_then = published();
    EXPECT_TRUE(kv_->Get(storage::Space::kItems, "key", nullptr, storage::Wait::kMayBlock, &value).value());
  }));
  EXPECT_EQ(published_then, 9u);
  EXPECT_EQ(published(), 10u);
}

// An idle server that saves its figures now and then must not make the next answer wait for a sync.
TEST_F(CommitterInMemory, UpkeepTakesNoNumber) {
  Commit upkeep(&committer_, Commit::Kind::kUpkeep);
  upkeep.batch()->Put(storage::Space::kCatalog, "figures", "1");
  ASSERT_TRUE(upkeep.Write(storage::Wait::kMayBlock));
  EXPECT_EQ(committer_.begun_number(), 9u);
}

// The clock may be set back while the store runs, or between two runs of it.
TEST_F(CommitterInMemory, TimesNeverGoBack) {
  Commit first(&committer_), second(&committer_), third(&committer_);
  EXPECT_EQ(first.Begin()->time_millis, 2000) << "the floor the last run left";
  clock_.Set(5000);
  EXPECT_EQ(second.Begin()->time_millis, 5000);
  clock_.Set(3000);
  EXPECT_EQ(third.Begin()->time_millis, 5000);
}

TEST_F(CommitterInMemory, AnswersAtOnceAndTellsItsListener) {
  uint64_t heard = 0;
  committer_.OnPublish([&](uint64_t number) { heard = number; });
  ASSERT_TRUE(Commit(&committer_).Write(storage::Wait::kMayBlock));
  EXPECT_EQ(heard, 10u);
  EXPECT_TRUE(committer_.WaitDurable());
  EXPECT_TRUE(committer_.IsPublished());
}

class CommitterOnDisk : public testing::Test {
 protected:
  static std::unique_ptr<storage::Kv> Open(const base::Log& log) {
    storage::RocksDbOptions options;
    options.directory = testing::TempDir() + "committer-" + std::to_string(::getpid());
    std::filesystem::remove_all(options.directory);
    return *storage::OpenRocksDbKv(options, log);
  }

  base::Log silence_{base::LogLevel::kNone};
  std::unique_ptr<storage::Kv> kv_ = Open(silence_);
  base::SystemClock clock_;
  Committer committer_{kv_.get(), &clock_, &silence_, {}, /*first_number=*/1, /*time_floor_millis=*/0};
};

class Noting final : public DurabilityWaiter {
 public:
  void Done(const Status& durable) override {
    if (durable) by = std::this_thread::get_id();
  }
  std::thread::id by;
};

// Handing over to the commit thread and back costs a lone writer more than the sync.
TEST_F(CommitterOnDisk, WhoWouldOnlyWaitSyncsForAllOfItsChain) {
  Noting first, second;
  WaiterChain chain;
  chain.Add(&first);
  chain.Add(&second);
  committer_.WhenDurable(&chain, Committer::Where::kHere);
  EXPECT_TRUE(chain.empty());
  EXPECT_EQ(first.by, std::this_thread::get_id());
  EXPECT_EQ(second.by, std::this_thread::get_id());
  EXPECT_EQ(committer_.stats().groups, 1u);
  EXPECT_EQ(committer_.stats().queue, 0u);
}

// Whoever syncs, only one does at a time, and those who came meanwhile are not forgotten.
TEST_F(CommitterOnDisk, SyncsOfBothKindsAnswerEverybody) {
  class Counting final : public DurabilityWaiter {
   public:
    void Done(const Status& durable) override { answered.fetch_add(durable ? 1 : 0); }
    std::atomic<int> answered{0};
  };
  constexpr int kRounds = 100;
  std::atomic<int> answered{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, here = i % 2 == 0] {
      for (int round = 0; round < kRounds; ++round) {
        EXPECT_TRUE(Commit(&committer_).Write(storage::Wait::kMayBlock));
        if (here) {
          Counting waiter;
          WaiterChain chain;
          chain.Add(&waiter);
          committer_.WhenDurable(&chain, Committer::Where::kHere);
          while (waiter.answered == 0) std::this_thread::yield();
          ++answered;
        } else {
          answered += committer_.WaitDurable() ? 1 : 0;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answered, 4 * kRounds);
  EXPECT_TRUE(committer_.IsPublished());
}

}  // namespace
}  // namespace holdfast::engine
