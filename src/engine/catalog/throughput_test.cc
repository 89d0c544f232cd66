// The bucket by itself, at times that the test sets.
#include "engine/catalog/throughput.h"

#include <gtest/gtest.h>

namespace holdfast::engine {
namespace {

constexpr int64_t kNow = 1'800'000'000'000;

TEST(TokenBucket, WithoutARateItKeepsNoAccount) {
  TokenBucket bucket;
  EXPECT_FALSE(bucket.limited());
  bucket.Charge(1e9);
  bucket.SetRate(2, kNow);
  EXPECT_TRUE(bucket.limited());
  EXPECT_DOUBLE_EQ(bucket.Balance(kNow), 600) << "what was used without a limit is nobody's debt";
}

TEST(TokenBucket, DB_T_03_KeepsFiveMinutesOfWhatIsNotUsed) {
  TokenBucket bucket;
  bucket.SetRate(10, kNow);
  EXPECT_DOUBLE_EQ(bucket.Balance(kNow), 3000);
  bucket.Charge(2995);
  EXPECT_DOUBLE_EQ(bucket.Balance(kNow), 5);
  EXPECT_DOUBLE_EQ(bucket.Balance(kNow + 500), 10);
  EXPECT_DOUBLE_EQ(bucket.Balance(kNow + 100'500), 1010);
  EXPECT_DOUBLE_EQ(bucket.Balance(kNow + 1'000'000'000), 3000) << "and no more";
}

TEST(TokenBucket, DB_T_03_ADebtIsPaidAtTheRate) {
  TokenBucket bucket;
  bucket.SetRate(1, kNow);
  EXPECT_DOUBLE_EQ(bucket.Balance(kNow), 300);
  bucket.Charge(390);
  EXPECT_DOUBLE_EQ(bucket.Balance(kNow), -90);
  EXPECT_LE(bucket.Balance(kNow + 90'000), 0);
  EXPECT_GT(bucket.Balance(kNow + 90'001), 0);
}

TEST(TokenBucket, AnotherRateCountsAtOnceAndForgetsNothing) {
  TokenBucket bucket;
  bucket.SetRate(1, kNow);
  EXPECT_DOUBLE_EQ(bucket.Balance(kNow), 300);
  bucket.Charge(400);
  bucket.SetRate(1000, kNow);
  EXPECT_DOUBLE_EQ(bucket.Balance(kNow), -100);
  EXPECT_DOUBLE_EQ(bucket.Balance(kNow + 1000), 900);
  bucket.SetRate(1, kNow + 1000);
  EXPECT_DOUBLE_EQ(bucket.Balance(kNow + 1000), 300) << "what a smaller bucket cannot hold is gone";
}

// Otherwise whoever is throttled would be let in by a switch to and fro.
TEST(TokenBucket, NoChangeOfTheRatePaysOut) {
  TokenBucket bucket;
  bucket.SetRate(1, kNow);
  bucket.Charge(300);
  bucket.SetRate(20, kNow + 60'000);
  EXPECT_DOUBLE_EQ(bucket.Balance(kNow + 60'000), 60) << "a minute at the rate that was";
  bucket.Charge(60);
  bucket.SetRate(0, kNow + 60'000);
  bucket.Charge(1e9);
  bucket.SetRate(1, kNow + 62'000);
  EXPECT_DOUBLE_EQ(bucket.Balance(kNow + 62'000), 40) << "and so without a limit";
}

// A table that was on demand for a while begins as one that owes nothing.
TEST(TokenBucket, AWhileWithoutALimitForgivesDebts) {
  TokenBucket bucket;
  bucket.SetRate(2, kNow);
  bucket.Charge(1000);
  bucket.SetRate(0, kNow);
  bucket.SetRate(2, kNow + 1000);
  EXPECT_DOUBLE_EQ(bucket.Balance(kNow + 1000), 2) << "a second's worth";
}

TEST(TokenBucket, IsFullAgainWhenRefilled) {
  TokenBucket bucket;
  bucket.Refill();
  bucket.SetRate(1, kNow);
  bucket.Charge(400);
  bucket.Refill();
  EXPECT_DOUBLE_EQ(bucket.Balance(kNow), 300);
}

// An operator sets the clock back an hour: nobody waits for an hour.
TEST(TokenBucket, AClockThatIsSetBackNeitherGivesNorTakes) {
  TokenBucket bucket;
  bucket.SetRate(1, kNow);
  bucket.Balance(kNow);
  bucket.Charge(301);
  EXPECT_DOUBLE_EQ(bucket.Balance(kNow - 3'600'000), -1);
  EXPECT_DOUBLE_EQ(bucket.Balance(kNow - 3'600'000 + 2000), 1);
}

// Threads read the clock and then come here, in any order.
TEST(TokenBucket, NoMomentCountsTwice) {
  TokenBucket bucket;
  bucket.SetRate(10, kNow);
  bucket.Balance(kNow);
  bucket.Charge(3000);
  for (int i = 0; i < 10; ++i) {
    EXPECT_DOUBLE_EQ(bucket.Balance(kNow + 500), 5);
    EXPECT_DOUBLE_EQ(bucket.Balance(kNow + 100), 5);
  }
  EXPECT_DOUBLE_EQ(bucket.Balance(kNow + 600), 6);
}

TEST(Admission, EachFindsWhatThoseBeforeItLeave) {
  TokenBucket bucket, free;
  bucket.SetRate(1, kNow);
  bucket.Balance(kNow);
  bucket.Charge(297.5);
  Admission admission(kNow);
  int admitted = 0;
  for (; admission.HasRoom(&bucket) && admitted < 10; ++admitted) admission.Plan(&bucket, 1);
  EXPECT_EQ(admitted, 3);
  EXPECT_TRUE(admission.HasRoom(&free));
  EXPECT_DOUBLE_EQ(bucket.Balance(kNow), 2.5) << "to plan is not to take";
}

}  // namespace
}  // namespace holdfast::engine
