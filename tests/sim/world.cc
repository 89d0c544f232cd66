#include "world.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>

namespace holdfast::sim {

void World::After(int64_t millis, std::function<void()> task) {
  later_.emplace(now_ + millis, std::move(task));
}

void World::Ripen() {
  while (!later_.empty() && later_.begin()->first <= now_) {
    ready_.push_back(std::move(later_.begin()->second));
    later_.erase(later_.begin());
  }
}

int64_t World::NextTime() const {
  int64_t next = later_.empty() ? std::numeric_limits<int64_t>::max() : later_.begin()->first;
  for (const SimLoop* loop : loops_) {
    if (!loop->timed_.empty()) next = std::min(next, loop->timed_.begin()->first - loop->skew_);
  }
  return next;
}

void World::Step() {
  Ripen();
  SimLoop* loops[8];
  size_t count = 0;
  for (SimLoop* loop : loops_) {
    if (loop->ready()) loops[count++] = loop;
  }
  const size_t choices = ready_.size() + count;
  // A machine that is busy does things late.
  bool late = faulty_ && choices > 0 && Below(4096) == 0;
  if (choices == 0 || late) {
    int64_t next = NextTime();
    if (next == std::numeric_limits<int64_t>::max() && choices == 0) {
      std::fprintf(stderr, "the world stands still\n");
      std::abort();
    }
    if (late) next = now_ + Between(1, 200);
    now_ = std::max(now_, next);
    return;
  }
  size_t chosen = choices == 1 ? 0 : Below(choices);
  if (chosen < count) return loops[chosen]->RunOne();
  std::function<void()>& slot = ready_[chosen - count];
  std::function<void()> task = std::move(slot);
  slot = std::move(ready_.back());
  ready_.pop_back();
  task();
}

void World::RunUntil(const std::function<bool()>& holds) {
  while (!holds()) Step();
}

void World::Note(const std::string& what) {
  constexpr size_t kRemembered = 120;
  static const bool trace = std::getenv("SIM_TRACE") != nullptr;
  std::string step = std::to_string(now_ % 10'000'000) + " " + what;
  for (char c : step) digest_ = (digest_ ^ static_cast<uint8_t>(c)) * 1099511628211U;
  if (trace) std::fprintf(stderr, "%s\n", step.c_str());
  steps_.push_back(std::move(step));
  if (steps_.size() > kRemembered) steps_.pop_front();
}

void World::Violated(const std::string& promise, const std::string& what) {
  if (failed()) return;
  violation_ = promise + ": " + what;
  Note("VIOLATED " + violation_);
}

std::string World::LastSteps() const {
  std::string text;
  for (const std::string& step : steps_) text.append("  ").append(step).append("\n");
  return text;
}

SimLoop::SimLoop(World* world, int64_t skew) : world_(world), skew_(skew) {
  world_->loops_.push_back(this);
}
SimLoop::~SimLoop() {
  std::erase(world_->loops_, this);
}

void SimLoop::RunOne() {
  bool due = !timed_.empty() && timed_.begin()->first <= NowMillis();
  if (due && (posted_.empty() || world_->Below(2) == 0)) {
    std::function<void()> task = std::move(timed_.begin()->second);
    timed_.erase(timed_.begin());
    return task();
  }
  std::function<void()> task = std::move(posted_.front());
  posted_.pop_front();
  task();
}

void SimLoop::RunUntil(const std::function<bool()>& holds) {
  world_->RunUntil(holds);
  for (size_t left = posted_.size(); left > 0; --left) {
    std::function<void()> task = std::move(posted_.front());
    posted_.pop_front();
    task();
  }
}

}  // namespace holdfast::sim
