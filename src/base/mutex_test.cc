#include "base/mutex.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace holdfast::base {
namespace {

// Whether readers are kept out, which is asked until they are, or for ten seconds.
bool ComesToKeepReadersOut(SharedMutex* mutex) {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (std::chrono::steady_clock::now() < deadline) {
    if (!mutex->TryLockShared()) return true;
    mutex->UnlockShared();
    std::this_thread::yield();
  }
  return false;
}

// Writes to a busy table overlap without end: with a lock that prefers readers UpdateTable waits as long as
// they do.
TEST(SharedMutexTest, AWriterThatWaitsComesBeforeReadersThatComeLater) {
  SharedMutex mutex(SharedMutex::First::kWriter);
  Mutex order_mutex;
  std::string order;
  auto note = [&](char who) {
    MutexLock lock(&order_mutex);
    order.push_back(who);
  };
  mutex.LockShared();
  std::thread writer([&] {
    WriterLock lock(&mutex);
    note('w');
  });
  bool waits = ComesToKeepReadersOut(&mutex);
  EXPECT_TRUE(waits) << "readers are still let in, and so would be others after them";
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      ReaderLock lock(&mutex);
      note('r');
    });
  }
  note('0');
  mutex.UnlockShared();
  writer.join();
  for (std::thread& reader : readers) reader.join();
  if (waits) {
    EXPECT_EQ(order, "0wrrrr");
  }
}

// Of the other kind, which many writers use: readers do not wait for one that waits itself.
TEST(SharedMutexTest, ReadersMayComeFirst) {
  SharedMutex mutex;
  mutex.LockShared();
  std::thread writer([&] { WriterLock lock(&mutex); });
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(mutex.TryLockShared());
    mutex.UnlockShared();
  }
  mutex.UnlockShared();
  writer.join();
}

}  // namespace
}  // namespace holdfast::base
