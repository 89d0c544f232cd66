// A world in which everything that happens is chosen by one seed: time, the order of things, what is lost.
//
// There is one thread. Whatever is to happen is a task: of the world itself (an actor's next move, a request
// that reaches the store) or of a node's loop. One is chosen at random among those whose time has come; when
// there is none, the clock moves on to the next.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agent/loop.h"
#include "base/random.h"

namespace holdfast::sim {

class SimLoop;

class World {
 public:
  explicit World(uint64_t seed) : random_(seed) {}

  int64_t now() const { return now_; }
  uint64_t Below(uint64_t bound) { return random_.Below(bound); }
  // In [low, high].
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(Below(static_cast<uint64_t>(high - low + 1)));
  }
  // So often in a thousand.
  bool Chance(uint64_t permille) { return Below(1000) < permille; }
  uint64_t Seed() { return random_.Next() | 1; }

  void After(int64_t millis, std::function<void()> task);
  // Does one thing, or lets time pass.
  void Step();
  void RunUntil(const std::function<bool()>& holds);

  // Things go wrong: lost requests, dying nodes, workers that fail.
  bool faulty() const { return faulty_; }
  void EndFaults() { faulty_ = false; }

  // --- what happened ---
  void Note(const std::string& what);
  // Of two runs of one seed they are equal.
  uint64_t digest() const { return digest_; }
  // The first one counts.
  void Violated(const std::string& promise, const std::string& what);
  bool failed() const { return !violation_.empty(); }
  const std::string& violation() const { return violation_; }
  std::string LastSteps() const;

  // What was written, in the order in which it was: 0 is never.
  void Wrote(const std::string& key) { written_.emplace(key, written_.size() + 1); }
  uint64_t OrderOf(const std::string& key) const {
    auto found = written_.find(key);
    return found == written_.end() ? 0 : found->second;
  }

 private:
  friend class SimLoop;
  // Moves what is due among what may happen next.
  void Ripen();
  int64_t NextTime() const;

  base::Random random_;
  std::vector<SimLoop*> loops_;  // before the tasks, which may be the last to hold one
  int64_t now_ = 1'780'000'000'000;
  bool faulty_ = true;
  std::multimap<int64_t, std::function<void()>> later_;
  std::vector<std::function<void()>> ready_;

  uint64_t digest_ = 14695981039346656037U;
  std::deque<std::string> steps_;
  std::string violation_;
  std::map<std::string, uint64_t> written_;
};

// A node's thread and clock.
class SimLoop final : public agent::Loop {
 public:
  SimLoop(World* world, int64_t skew);
  ~SimLoop() override;

  void Post(std::function<void()> task) override { posted_.push_back(std::move(task)); }
  void At(int64_t millis, std::function<void()> task) override { timed_.emplace(millis, std::move(task)); }
  int64_t NowMillis() const override { return world_->now() + skew_; }
  // Pumps the world. What was posted before the end is done before this returns.
  void RunUntil(const std::function<bool()>& holds) override;

  int64_t skew() const { return skew_; }
  void Jump(int64_t millis) { skew_ += millis; }

 private:
  friend class World;
  bool ready() const { return !posted_.empty() || (!timed_.empty() && timed_.begin()->first <= NowMillis()); }
  void RunOne();

  World* const world_;
  int64_t skew_;
  std::deque<std::function<void()>> posted_;
  std::multimap<int64_t, std::function<void()>> timed_;
};

}  // namespace holdfast::sim
