#include "engine/memory_plan.h"

#include <gtest/gtest.h>

namespace holdfast::engine {
namespace {

constexpr size_t kMiB = 1 << 20;

TEST(MemoryPlan, SharesFitTheBudgetWhateverItIs) {
  for (size_t budget : {128 * kMiB, 400 * kMiB, 2048 * kMiB, 65'536 * kMiB}) {
    MemoryPlan plan = PlanMemory(budget).value();
    MemoryUse fresh{.resident = 40 * kMiB};
    EXPECT_GE(plan.CacheFor(fresh), kCacheMin);
    EXPECT_LE(fresh.others() + plan.CacheFor(fresh) + plan.write_buffers_bytes() + plan.requests_bytes,
              budget);
    EXPECT_FALSE(plan.IsExceeded(fresh));
  }
  EXPECT_EQ(PlanMemory(127 * kMiB).error().code(), ErrorCode::kValidation);
}

// Vectors and sessions cannot be evicted; blocks can.
TEST(MemoryPlan, TheCacheMakesRoomForWhatGrows) {
  MemoryPlan plan = PlanMemory(1024 * kMiB).value();
  MemoryUse before{.resident = 600 * kMiB, .cache = 500 * kMiB, .write_buffers = 60 * kMiB};
  MemoryUse after = before;
  after.resident += 200 * kMiB;  // vectors
  EXPECT_EQ(plan.CacheFor(before) - plan.CacheFor(after), 200 * kMiB);
}

// What the cache gave back and the allocator still holds must not be counted as somebody's: the cache would
// shrink on and on.
TEST(MemoryPlan, WhatTheAllocatorHoldsFreeIsNobodys) {
  MemoryPlan plan = PlanMemory(1024 * kMiB).value();
  MemoryUse full{.resident = 900 * kMiB, .cache = 800 * kMiB};
  MemoryUse shrunk{.resident = 900 * kMiB, .free = 300 * kMiB, .cache = 500 * kMiB};
  EXPECT_EQ(plan.CacheFor(full), plan.CacheFor(shrunk));
}

TEST(MemoryPlan, OthersThatOutgrowTheBudgetLeaveTheLeastCacheAndAreTold) {
  MemoryPlan plan = PlanMemory(400 * kMiB).value();
  MemoryUse use{.resident = 395 * kMiB, .cache = kCacheMin};
  EXPECT_EQ(plan.CacheFor(use), kCacheMin);
  EXPECT_TRUE(plan.IsExceeded(use));
}

TEST(MemoryPlan, TheDefaultIsAQuarterOfTheMachine) {
  EXPECT_EQ(DefaultMemory(16'384 * kMiB), 4096 * kMiB);
  EXPECT_EQ(DefaultMemory(256 * kMiB), kMemoryMin);
}

}  // namespace
}  // namespace holdfast::engine
