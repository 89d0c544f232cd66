#include "wire/worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>

namespace holdfast::wire {
namespace {

// Four writers that waited for an item, each for up to an hour, were enough to stall every read that needed
// the disk.
TEST(WorkerPool, LongWorkLeavesAThreadForShortWork) {
  std::promise<void> release;
  std::shared_future<void> released = release.get_future().share();
  std::atomic<int> done{0};
  WorkerPool pool(4, 100);
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(pool.Submit(WorkerPool::Lane::kLong, [&, released] {
      released.wait();
      ++done;
    }));
  }
  for (int i = 0; i < 20; ++i) {
    auto ran = std::make_shared<std::promise<void>>();
    ASSERT_TRUE(pool.Submit([ran] { ran->set_value(); }));
    ran->get_future().wait();
  }
  EXPECT_EQ(done, 0);
  release.set_value();
  pool.Stop();
  EXPECT_EQ(done, 8);
}

TEST(WorkerPool, AThreadAloneDoesAllThereIsInOrder) {
  std::string order;
  std::promise<void> begin;
  WorkerPool pool(1, 100);
  ASSERT_TRUE(pool.Submit([&] { begin.get_future().wait(); }));
  for (int i = 0; i < 6; ++i) {
    auto lane = i % 3 == 0 ? WorkerPool::Lane::kLong : WorkerPool::Lane::kShort;
    ASSERT_TRUE(pool.Submit(lane, [&order, i] { order += std::to_string(i); }));
  }
  begin.set_value();
  pool.Stop();
  EXPECT_EQ(order, "012345");
}

TEST(WorkerPool, BothLanesShareOneBound) {
  std::promise<void> began, release;
  WorkerPool pool(1, 2);
  ASSERT_TRUE(pool.Submit([&] {
    began.set_value();
    release.get_future().wait();
  }));
  began.get_future().wait();
  EXPECT_TRUE(pool.Submit(WorkerPool::Lane::kLong, [] {}));
  EXPECT_TRUE(pool.Submit([] {}));
  EXPECT_FALSE(pool.Submit(WorkerPool::Lane::kLong, [] {}));
  EXPECT_FALSE(pool.Submit([] {}));
  release.set_value();
}

}  // namespace
}  // namespace holdfast::wire
