#include "engine/ttl/housekeeper.h"

#include <algorithm>

#include "base/limits.h"
#include "base/thread.h"
#include "engine/backup/backups.h"
#include "engine/backup/recovery.h"
#include "engine/commit/commit.h"
#include "engine/engine.h"
#include "engine/ttl/expiry.h"

namespace holdfast::engine {
namespace {

constexpr size_t kSweepStep = 64;  // items removed by one write
constexpr size_t kSweepRoundMax =
    4096;  // items a table may lose in one round, so that every table gets its turn
constexpr auto kFiguresInterval = std::chrono::seconds(10);

// Deletes the item if it is still expired: its expiry may have been moved since the entry was read.
class ExpireMutation final : public ItemMutation {
 public:
  ExpireMutation(std::string attribute, int64_t now_seconds)
      : attribute_(std::move(attribute)), now_seconds_(now_seconds) {}

  Result<Change> Apply(const value::MapView* old) const override {
    if (old == nullptr) return Change{};
    auto expiry = ExpirySeconds(*old, attribute_);
    if (!expiry || !IsExpired(*expiry, now_seconds_)) return Change{};
    return Change{Change::Kind::kDelete, {}};
  }

 private:
  const std::string attribute_;
  const int64_t now_seconds_;
};

}  // namespace

Housekeeper::Housekeeper(Engine* engine, bool manual) : engine_(engine) {
  if (!manual) thread_ = std::thread([this] { Run(); });
}

Housekeeper::~Housekeeper() {
  Stop();
}

bool Housekeeper::stopping() const {
  base::MutexLock lock(&mu_);
  return stop_;
}

void Housekeeper::Stop() {
  {
    base::MutexLock lock(&mu_);
    stop_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
  RunTasks(/*all=*/true);
}

void Housekeeper::After(int64_t delay_millis, std::function<void()> task) {
  base::MutexLock lock(&mu_);
  tasks_.emplace(std::chrono::steady_clock::now() + std::chrono::milliseconds(delay_millis), std::move(task));
  changed_.NotifyAll();
}

void Housekeeper::RunTasks(bool all) {
  while (true) {
    std::function<void()> task;
    {
      base::MutexLock lock(&mu_);
      if (tasks_.empty() || (!all && tasks_.begin()->first > std::chrono::steady_clock::now())) return;
      task = std::move(tasks_.begin()->second);
      tasks_.erase(tasks_.begin());
    }
    base::RunContained(engine_->log(), "housekeeper task", task);
  }
}

void Housekeeper::Run() {
  base::NameThread("housekeeper");
  auto interval = std::chrono::milliseconds(engine_->options().ttl_sweep_millis);
  TimePoint next_round = std::chrono::steady_clock::now() + interval;
  while (true) {
    {
      base::MutexLock lock(&mu_);
      TimePoint wake = tasks_.empty() ? next_round : std::min(next_round, tasks_.begin()->first);
      if (!stop_ && wake > std::chrono::steady_clock::now()) changed_.WaitUntil(&mu_, wake);
      if (stop_) return;
    }
    RunTasks(/*all=*/false);
    if (std::chrono::steady_clock::now() < next_round) continue;
    Status done = base::CallContained(engine_->log(), "housekeeping", [&]() -> Status { return RunOnce(); });
    if (!done) {
      HF_LOG(engine_->log(), kWarning, "housekeeping failed", {"error", done.error().ToString()});
    }
    next_round = std::chrono::steady_clock::now() + interval;
  }
}

Status Housekeeper::RunOnce(uint64_t* expired) {
  base::MutexLock lock(&run_mu_);
  int64_t now_seconds = engine_->clock().NowSeconds();
  for (const TablePtr& table : engine_->catalog().All()) {
    if (stopping()) return Ok{};
    HF_CHECK_OK(SweepTable(table, now_seconds, expired));
  }
  HF_CHECK_OK(SweepTokens(now_seconds));
  HF_CHECK_OK(engine_->AgeStreams());
  if (stopping()) return Ok{};
  HF_CHECK_OK(engine_->recovery().Maintain());
  HF_CHECK_OK(engine_->backups().Maintain());
  HF_CHECK_OK(engine_->change_log().Trim());
  if (std::chrono::steady_clock::now() - figures_saved_ >= kFiguresInterval) {
    HF_CHECK_OK(SaveFigures());
    figures_saved_ = std::chrono::steady_clock::now();
  }
  // Nobody waits for these writes, but readers shall see that what has expired is gone.
  if (engine_->committer().IsPublished()) return Ok{};
  return engine_->committer().WaitDurable();
}

Status Housekeeper::SweepTable(const TablePtr& table, int64_t now_seconds, uint64_t* expired) {
  SchemaPtr schema = table->schema();
  if (schema->ttl_status != TimeToLiveStatus::kEnabled) return Ok{};
  ExpireMutation expire(schema->ttl_attribute, now_seconds);
  for (size_t swept = 0; swept < kSweepRoundMax && !stopping();) {
    std::vector<WriteAction> actions;
    WriteOptions options{.by_ttl = true};
    // What is too old to be acted on keeps its entry: it may be given a later expiry, and verify counts it.
    int64_t oldest = std::max<int64_t>(0, now_seconds - limits::kTtlAgeSecondsMax);
    auto it = engine_->kv().Iterate(storage::Space::kTtl, ExpiryRange(schema->id, oldest, now_seconds),
                                    nullptr, storage::Wait::kMayBlock);
    for (it->SeekToFirst(); it->Valid() && actions.size() < kSweepStep; it->Next()) {
      ExpiryEntry entry = ReadExpiryKey(it->key());
      actions.push_back({table.get(), entry.item_key, &expire});
      // An entry that no longer stands for its item goes in any case.
      options.extra_deletes.push_back({storage::Space::kTtl, std::string(it->key())});
    }
    HF_CHECK_OK(it->status());
    if (actions.empty()) break;
    Result<ItemWriter::Written> written = engine_->writer().Write(actions, options);
    if (!written) {
      if (written.error().code() == ErrorCode::kResourceNotFound) return Ok{};  // the table was dropped
      return written.error();
    }
    for (const WriteOutcome& outcome : written->outcomes) {
      if (outcome.kind != Change::Kind::kDelete) continue;
      expired_items_.fetch_add(1);
      if (expired != nullptr) ++*expired;
      table->requests.expired_items.fetch_add(1, std::memory_order_relaxed);
    }
    swept += actions.size();
  }
  return Ok{};
}

Status Housekeeper::SweepTokens(int64_t now_seconds) {
  Commit commit(&engine_->committer(), Commit::Kind::kUpkeep);
  storage::Batch* batch = commit.batch();
  auto it = engine_->kv().Iterate(storage::Space::kTtl, ExpiryRange(kTokenTable, 0, now_seconds), nullptr,
                                  storage::Wait::kMayBlock);
  size_t swept = 0;
  for (it->SeekToFirst(); it->Valid() && swept < kSweepRoundMax; it->Next(), ++swept) {
    batch->Delete(storage::Space::kTtl, it->key());
    batch->Delete(storage::Space::kCatalog, TokenRecordKey(ReadExpiryKey(it->key()).item_key.substr(4)));
  }
  HF_CHECK_OK(it->status());
  if (batch->empty()) return Ok{};
  return commit.Write(storage::Wait::kMayBlock);
}

Status Housekeeper::SaveFigures() {
  base::MutexLock ddl(&engine_->ddl_mu_);
  Commit commit(&engine_->committer(), Commit::Kind::kUpkeep);
  HF_CHECK_OK(engine_->SaveMeta(commit.batch()));
  engine_->SaveTallies(/*clean=*/false, commit.batch());
  return commit.Write(storage::Wait::kMayBlock);
}

}  // namespace holdfast::engine
