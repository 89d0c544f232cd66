#include "engine/commit/committer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

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
  Stamp first = committer_.Begin(), second = committer_.Begin(), third = committer_.Begin();
  EXPECT_EQ(first.number, 10u);
  EXPECT_EQ(third.number, 12u);
  committer_.End(second);
  EXPECT_EQ(published(), 9u);
  committer_.End(first);
  EXPECT_EQ(published(), 11u);
  committer_.End(third);
  EXPECT_EQ(published(), 12u);
  EXPECT_EQ(committer_.begun_number(), 12u);
  EXPECT_EQ(committer_.last_time_millis(), third.time_millis);
}

// The clock may be set back while the store runs, or between two runs of it.
TEST_F(CommitterInMemory, TimesNeverGoBack) {
  Stamp first = committer_.Begin();
  EXPECT_EQ(first.time_millis, 2000) << "the floor the last run left";
  clock_.Set(5000);
  Stamp second = committer_.Begin();
  clock_.Set(3000);
  Stamp third = committer_.Begin();
  EXPECT_EQ(second.time_millis, 5000);
  EXPECT_EQ(third.time_millis, 5000);
  for (const Stamp& stamp : {first, second, third}) committer_.End(stamp);
}

TEST_F(CommitterInMemory, AnswersAtOnceAndTellsItsListener) {
  uint64_t heard = 0;
  committer_.OnPublish([&](uint64_t number) { heard = number; });
  committer_.End(committer_.Begin());
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
        committer_.End(committer_.Begin());
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
