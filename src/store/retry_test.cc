#include "store/retry.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "holdfast/ops/common.h"

namespace holdfast::store {
namespace {

// Clients that were turned away together must neither come back together nor wait beyond the bound.
TEST(Retry, PausesAreAnywhereBelowADoublingBound) {
  base::Random random(7);
  for (auto [tries, bound] : {std::pair(1, 25), std::pair(2, 50), std::pair(4, 200), std::pair(50, 5000)}) {
    int64_t lowest = bound, highest = 0;
    for (int i = 0; i < 2000; ++i) {
      int64_t pause = PauseMillis(tries, 25, 5000, &random);
      lowest = std::min(lowest, pause);
      highest = std::max(highest, pause);
    }
    EXPECT_LE(highest, bound);
    EXPECT_GE(highest, bound * 9 / 10);
    EXPECT_LE(lowest, bound / 10);
  }
  EXPECT_EQ(PauseMillis(3, 0, 5000, &random), 0);
}

TEST(Retry, OnlyWhatMayPassIsTriedAgain) {
  for (ErrorCode code :
       {ErrorCode::kThrottling, ErrorCode::kProvisionedThroughputExceeded, ErrorCode::kTransactionConflict,
        ErrorCode::kTransactionInProgress, ErrorCode::kInternal, ErrorCode::kIo}) {
    EXPECT_TRUE(MayPass(Error(code, ""))) << ErrorName(code);
  }
  for (ErrorCode code :
       {ErrorCode::kValidation, ErrorCode::kConditionalCheckFailed, ErrorCode::kResourceNotFound,
        ErrorCode::kAccessDenied, ErrorCode::kTransactionCanceled}) {
    EXPECT_FALSE(MayPass(Error(code, ""))) << ErrorName(code);
  }
}

// A transaction that another writer got in the way of may pass; one whose condition failed says so for good.
TEST(Retry, ACancelledTransactionIsTriedAgainWhenNothingButConflictsCancelledIt) {
  auto may_pass = [](std::vector<std::string> codes) {
    auto detail = std::make_shared<ErrorDetail>();
    for (std::string& code : codes) detail->reasons.push_back({.code = std::move(code)});
    return MayPass(Error(ErrorCode::kTransactionCanceled, "", std::move(detail)));
  };
  EXPECT_TRUE(may_pass({"None", "TransactionConflict"}));
  EXPECT_TRUE(may_pass({"ThrottlingError", "ProvisionedThroughputExceeded"}));
  EXPECT_FALSE(may_pass({"TransactionConflict", "ConditionalCheckFailed"}));
  EXPECT_FALSE(may_pass({"None", "None"}));
}

}  // namespace
}  // namespace holdfast::store
