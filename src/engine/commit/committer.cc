#include "engine/commit/committer.h"

#include <semaphore>

#include "base/check.h"
#include "base/limits.h"
#include "base/thread.h"

namespace holdfast::engine {
namespace {

Error ReadOnlyError() {
  return Error(
      ErrorCode::kReadOnly,
      "the store is read-only: a sync of its log failed, so nothing written since can be promised; restart "
      "it once the disk is sound");
}

}  // namespace

Committer::Committer(storage::Kv* kv, const base::Clock* clock, const base::Log* log,
                     CommitterOptions options, uint64_t first_number, int64_t time_floor_millis)
    : kv_(kv),
      clock_(clock),
      log_(log),
      options_(options),
      waits_for_sync_(kv->capabilities().durable && options.durability == Durability::kSync),
      next_number_(first_number),
      last_time_millis_(time_floor_millis),
      in_flight_first_(first_number),
      begun_(first_number - 1),
      published_number_(first_number - 1) {
  auto published = std::make_shared<Published>();
  if (waits_for_sync_) published->snapshot = kv_->TakeSnapshot();
  published->number = published->newest = first_number - 1;
  published_ = std::move(published);
  bool syncs = kv_->capabilities().durable && options_.durability != Durability::kNone;
  if (syncs) thread_ = std::thread([this] { Run(); });
}

Committer::~Committer() {
  if (thread_.joinable()) {
    {
      base::MutexLock lock(&queue_mu_);
      stop_ = true;
      queue_filled_.NotifyOne();
    }
    thread_.join();
  } else if (Status synced = kv_->Sync(); !synced) {
    HF_LOG(*log_, kError, "the last sync failed", {"error", synced.error().ToString()});
  }
}

Stamp Committer::Begin() {
  int64_t now = clock_->NowMillis();
  base::MutexLock lock(&number_mu_);
  last_time_millis_ = std::max(last_time_millis_, now);
  in_flight_.push_back(true);
  begun_.store(next_number_, std::memory_order_release);  // before the write can be seen by anyone
  return {next_number_++, last_time_millis_};
}

void Committer::End(const Stamp& stamp) {
  uint64_t safe = 0;
  {
    base::MutexLock lock(&number_mu_);
    in_flight_[stamp.number - in_flight_first_] = false;
    while (!in_flight_.empty() && !in_flight_.front()) {
      in_flight_.pop_front();
      ++in_flight_first_;
    }
    safe = LowestInFlight() - 1;
  }
  if (!waits_for_sync_) Publish({.snapshot = nullptr, .number = safe, .newest = safe, .in_flight = {}});
}

int64_t Committer::last_time_millis() const {
  base::MutexLock lock(&number_mu_);
  return last_time_millis_;
}

uint64_t Committer::LowestInFlight() const {
  return in_flight_.empty() ? next_number_ : in_flight_first_;
}

Published Committer::Ended() const {
  base::MutexLock lock(&number_mu_);
  Published ended{
      .snapshot = nullptr, .number = LowestInFlight() - 1, .newest = next_number_ - 1, .in_flight = {}};
  for (size_t i = 0; i < in_flight_.size(); ++i) {
    if (in_flight_[i]) ended.in_flight.push_back(in_flight_first_ + i);
  }
  return ended;
}

bool Committer::IsPublished() const {
  return !waits_for_sync_ ||
         begun_.load(std::memory_order_acquire) == published_number_.load(std::memory_order_acquire);
}

Status Committer::CheckSound() const {
  if (failed_.load(std::memory_order_acquire)) return ReadOnlyError();
  return Ok{};
}

Status Committer::CheckWritable() const {
  HF_CHECK_OK(CheckSound());
  if (queue_size_.load(std::memory_order_relaxed) >= limits::kCommitQueueMax) {
    return Error(ErrorCode::kThrottling, "Too many writes are waiting for the disk; try again");
  }
  return Ok{};
}

void Committer::WhenDurable(DurabilityWaiter* waiter) {
  WaiterChain one;
  one.Add(waiter);
  WhenDurable(&one, Where::kCommitThread);
}

void Committer::WhenDurable(WaiterChain* waiters, Where where) {
  WaiterChain added = std::exchange(*waiters, {});
  if (added.empty()) return;
  if (!waits_for_sync_) {
    Answer(added.head_, Ok{});
    return;
  }
  queue_size_.fetch_add(added.size_, std::memory_order_relaxed);
  {
    base::MutexLock lock(&queue_mu_);
    bool idle = queue_.empty() && !syncing_;
    if (where == Where::kCommitThread || !idle) {
      if (queue_.empty()) {
        queue_ = added;
        queue_filled_.NotifyOne();
      } else {
        queue_.tail_->next_ = added.head_;
        queue_.tail_ = added.tail_;
      }
      return;
    }
    syncing_ = true;
  }
  SyncOnce(added.head_);
  base::MutexLock lock(&queue_mu_);
  syncing_ = false;
  if (!queue_.empty()) queue_filled_.NotifyOne();
}

uint64_t Committer::Answer(DurabilityWaiter* first, const Status& durable) {
  uint64_t answered = 0;
  for (DurabilityWaiter* waiter = first; waiter != nullptr; ++answered) {
    DurabilityWaiter* next = waiter->next_;
    // An answer that throws is lost; those behind it must not be.
    base::RunContained(base::FallbackLog(), "answer to a write", [&] { waiter->Done(durable); });
    waiter = next;
  }
  return answered;
}

Status Committer::WaitDurable() {
  class Blocking final : public DurabilityWaiter {
   public:
    void Done(const Status& durable) override {
      result = durable;
      done.release();
    }
    Status result = Ok{};
    std::binary_semaphore done{0};
  };
  Blocking waiter;
  WhenDurable(&waiter);
  waiter.done.acquire();
  return waiter.result;
}

std::shared_ptr<const Published> Committer::published() const {
  base::MutexLock lock(&published_mu_);
  return published_;
}

void Committer::OnPublish(std::function<void(uint64_t)> listener) {
  listener_ = std::move(listener);
}

CommitStats Committer::stats() const {
  return {groups_.load(), answers_.load(), sync_micros_.load(), queue_size_.load()};
}

void Committer::Publish(Published state) {
  uint64_t number = state.number;
  auto next = std::make_shared<Published>(std::move(state));
  std::shared_ptr<const Published>
      previous;  // let go outside the lock: releasing a snapshot takes RocksDB's mutex
  {
    base::MutexLock lock(&published_mu_);
    next->number = std::max(number, published_->number);
    published_number_.store(next->number, std::memory_order_release);
    previous = std::exchange(published_, std::move(next));
  }
  if (listener_) base::RunContained(*log_, "publication of commits", [&] { listener_(number); });
}

void Committer::Run() {
  base::NameThread("commit");
  auto interval = std::chrono::milliseconds(options_.sync_interval_millis);
  bool stopping = false;
  while (!stopping) {
    DurabilityWaiter* waiters = nullptr;
    {
      base::MutexLock lock(&queue_mu_);
      if (waits_for_sync_) {
        while ((queue_.empty() && !stop_) || syncing_) queue_filled_.Wait(&queue_mu_);
      } else {
        auto deadline = std::chrono::steady_clock::now() + interval;
        while (!stop_ && queue_filled_.WaitUntil(&queue_mu_, deadline)) {
        }
      }
      waiters = std::exchange(queue_, {}).head_;
      stopping = stop_;
      syncing_ = true;
    }
    SyncOnce(waiters);
    base::MutexLock lock(&queue_mu_);
    syncing_ = false;
  }
}

// The order of the steps is the whole point: see I-1 to I-4.
void Committer::SyncOnce(DurabilityWaiter* waiters) {
  Published ended = Ended();
  Status synced = ReadOnlyError();
  if (!failed_.load(std::memory_order_acquire)) {
    if (waits_for_sync_) ended.snapshot = kv_->TakeSnapshot();
    int64_t started = base::SteadyMicros();
    synced = kv_->Sync();
    sync_micros_.fetch_add(static_cast<uint64_t>(base::SteadyMicros() - started), std::memory_order_relaxed);
    groups_.fetch_add(1, std::memory_order_relaxed);
    if (!synced) {
      HF_LOG(*log_, kError, "sync failed; the store is read-only now", {"error", synced.error().ToString()});
      failed_.store(true, std::memory_order_release);
      synced = ReadOnlyError();
    } else if (waits_for_sync_) {
      Publish(std::move(ended));
    }
  }
  uint64_t answered = Answer(waiters, synced);
  queue_size_.fetch_sub(answered, std::memory_order_relaxed);
  answers_.fetch_add(answered, std::memory_order_relaxed);
}

}  // namespace holdfast::engine
