#include "engine/commit/committer.h"

#include <gtest/gtest.h>

#include "storage/memory/memory_kv.h"

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

}  // namespace
}  // namespace holdfast::engine
