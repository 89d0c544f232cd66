#include "engine/item/key_locks.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>

namespace holdfast::engine {
namespace {

const KeyLocks::Deadline kAtOnce = KeyLocks::Deadline::min();

KeyLocks::Deadline Soon() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(60);
}

TEST(KeyLocks, AKeyIsHeldByOneUntilItLetsGo) {
  KeyLocks locks;
  KeyLocks::Held first, second;
  EXPECT_EQ(locks.Acquire({"a"}, kAtOnce, &first), KeyLocks::kAll);
  EXPECT_EQ(locks.Acquire({"a"}, kAtOnce, &second), 0u);
  first.Release();
  EXPECT_EQ(locks.Acquire({"a"}, kAtOnce, &second), KeyLocks::kAll)
      << "a failed attempt leaves nothing behind";
}

// A transaction that cannot have one of its keys must not keep the others from anybody.
TEST(KeyLocks, AllKeysOrNone) {
  KeyLocks locks;
  KeyLocks::Held first, second, third;
  ASSERT_EQ(locks.Acquire({"b"}, kAtOnce, &first), KeyLocks::kAll);
  EXPECT_EQ(locks.Acquire({"a", "b", "c"}, kAtOnce, &second), 1u) << "the position of the key that was held";
  EXPECT_EQ(locks.Acquire({"a", "c"}, kAtOnce, &third), KeyLocks::kAll);
}

TEST(KeyLocks, OneKeyMayBeNamedTwice) {
  KeyLocks locks;
  KeyLocks::Held held, other;
  EXPECT_EQ(locks.Acquire({"a", "b", "a"}, kAtOnce, &held), KeyLocks::kAll);
  held.Release();
  EXPECT_EQ(locks.Acquire({"b", "a"}, kAtOnce, &other), KeyLocks::kAll);
}

TEST(KeyLocks, WhoeverWaitsIsWokenByTheRelease) {
  KeyLocks locks;
  KeyLocks::Held held;
  ASSERT_EQ(locks.Acquire({"a"}, kAtOnce, &held), KeyLocks::kAll);
  std::thread waiter([&] {
    KeyLocks::Held mine;
    EXPECT_EQ(locks.Acquire({"a"}, Soon(), &mine), KeyLocks::kAll);
  });
  held.Release();
  waiter.join();
}

// Sets of keys in every order: nobody waits in a circle, and no two ever hold one key.
TEST(KeyLocks, CrowdsNeitherDeadlockNorOverlap) {
  KeyLocks locks;
  const std::string names[] = {"a", "b", "c", "d", "e"};
  std::array<int, 5> owners{};  // guarded by the locks: the sanitizers see a missing one
  std::vector<std::thread> crowd;
  for (unsigned seed = 0; seed < 4; ++seed) {
    crowd.emplace_back([&, seed] {
      std::mt19937 random(seed);
      for (int i = 0; i < 2000; ++i) {
        std::vector<size_t> chosen = {random() % 5, random() % 5, random() % 5};
        std::vector<ByteView> keys;
        for (size_t k : chosen) keys.emplace_back(names[k]);
        KeyLocks::Held held;
        ASSERT_EQ(locks.Acquire(keys, Soon(), &held), KeyLocks::kAll);
        for (size_t k : chosen) owners[k] = static_cast<int>(seed);
        for (size_t k : chosen) EXPECT_EQ(owners[k], static_cast<int>(seed));
      }
    });
  }
  for (std::thread& thread : crowd) thread.join();
}

}  // namespace
}  // namespace holdfast::engine
