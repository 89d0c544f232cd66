#include "store/embedded_store.h"

#include <cinttypes>
#include <cstdio>

#include "base/mutex.h"
#include "ops/operations.h"

namespace holdfast::store {
namespace {

// The calls whose completions have not returned.
class Pending {
 public:
  ~Pending() {
    base::MutexLock lock(&mu_);
    while (count_ > 0) none_.Wait(&mu_);
  }
  void Add() {
    base::MutexLock lock(&mu_);
    ++count_;
  }
  void Remove() {
    base::MutexLock lock(&mu_);
    if (--count_ == 0) none_.NotifyAll();
  }

 private:
  base::Mutex mu_;
  base::CondVar none_;
  size_t count_ HF_GUARDED_BY(mu_) = 0;
};

// An answer on its way through the committer; owns itself.
template <class Response>
class Delivery final : public engine::DurabilityWaiter {
 public:
  Delivery(Result<Response> answer, Completion<Response> done, Pending* pending)
      : answer_(std::move(answer)), done_(std::move(done)), pending_(pending) {
    pending_->Add();
  }

  void Done(const Status& durable) override {
    if (!durable) answer_ = durable.error();
    done_(std::move(answer_));
    Pending* pending = pending_;
    delete this;
    pending->Remove();
  }

 private:
  Result<Response> answer_;
  Completion<Response> done_;
  Pending* const pending_;
};

// A position as text: which table, and after which record of its log; in hexadecimal.
std::string PositionText(engine::ObjectId table, const engine::ChangePosition& position) {
  char text[40];
  std::snprintf(text, sizeof text, "%08" PRIx32 "-%016" PRIx64 "-%08" PRIx32, table, position.commit_number,
                position.ordinal);
  return text;
}

Result<engine::ChangePosition> ReadPosition(engine::ObjectId table, const std::string& text) {
  engine::ChangePosition position;
  uint32_t of_table = 0;
  if (std::sscanf(text.c_str(), "%8" SCNx32 "-%16" SCNx64 "-%8" SCNx32, &of_table, &position.commit_number,
                  &position.ordinal) != 3 ||
      PositionText(of_table, position) != text) {
    return ValidationError("'" + text + "' is no position of a watch");
  }
  if (of_table == table) return position;
  return Error(ErrorCode::kTrimmedDataAccess, "the position is of another table, or of one that was deleted");
}

class EmbeddedWatch final : public TableWatch {
 public:
  EmbeddedWatch(engine::TablePtr table, std::unique_ptr<engine::Watch> watch)
      : table_(std::move(table)), id_(table_->schema()->id), watch_(std::move(watch)) {}

  bool Wait(std::chrono::steady_clock::time_point deadline) override { return watch_->Wait(deadline); }

  Result<std::vector<TableChange>> Read(size_t limit) override {
    {
      base::ReaderLock gate(&table_->gate);
      if (table_->dropped) return Error(ErrorCode::kResourceNotFound, "the table is gone");
    }
    HF_TRY(std::vector<engine::ChangeRecord> records, watch_->Read(limit));
    std::vector<TableChange> changes;
    changes.reserve(records.size());
    for (engine::ChangeRecord& record : records) {
      changes.push_back({KindOf(record), record.by_ttl, std::move(record.old), std::move(record.now),
                         PositionText(id_, {record.commit_number, record.ordinal})});
    }
    return changes;
  }

  std::string position() const override { return PositionText(id_, watch_->position()); }

 private:
  static TableChange::Kind KindOf(const engine::ChangeRecord& record) {
    switch (record.kind) {
      case engine::ChangeRecord::Kind::kInsert: return TableChange::Kind::kInsert;
      case engine::ChangeRecord::Kind::kRemove: return TableChange::Kind::kRemove;
      default: return TableChange::Kind::kModify;
    }
  }

  const engine::TablePtr table_;
  const engine::ObjectId id_;
  const std::unique_ptr<engine::Watch> watch_;
};

class Embedded final : public Store {
 public:
  explicit Embedded(engine::Engine* engine) : engine_(engine) {}

#define HF_OPERATION(name)                                                               \
  void Execute(const name##Request& request, Completion<name##Response> done) override { \
    Perform(request, std::move(done));                                                   \
  }
  HF_STORE_OPERATIONS(HF_OPERATION)
#undef HF_OPERATION

  Result<std::unique_ptr<TableWatch>> Watch(const std::string& name,
                                            const std::optional<std::string>& from) override {
    engine::TablePtr table = engine_->catalog().Find(name);
    if (table == nullptr) return Error(ErrorCode::kResourceNotFound, "there is no table " + name);
    std::optional<engine::ChangePosition> position;
    if (from) {
      HF_TRY(position, ReadPosition(table->schema()->id, *from));
    }
    HF_TRY(std::unique_ptr<engine::Watch> watch, engine_->change_log().Open(table, position));
    return std::make_unique<EmbeddedWatch>(std::move(table), std::move(watch));
  }

  void BeginTogether() override {
    together_.store = this;
  }
  void EndTogether(bool nothing_else) override {
    using Where = engine::Committer::Where;
    together_.store = nullptr;
    engine_->committer().WhenDurable(&together_.waiters, nothing_else ? Where::kHere : Where::kCommitThread);
  }

  StoreAbilities abilities() const override {
    return {};
  }
  std::string name() const override {
    const std::string& directory = engine_->options().directory;
    return directory.empty() ? "the store in memory" : "the store in " + directory;
  }

 private:
  template <class Request, class Response>
  void Perform(const Request& request, Completion<Response> done) {
    ops::Context context{engine_};
    Result<Response> answer = ops::Execute(context, request, {});
    if (!context.await_durability || engine_->committer().IsPublished()) return done(std::move(answer));
    auto* delivery = new Delivery<Response>(std::move(answer), std::move(done), &pending_);
    if (together_.store == this)
      together_.waiters.Add(delivery);
    else
      engine_->committer().WhenDurable(delivery);
  }

  // What this thread has written since BeginTogether.
  struct Held {
    Embedded* store = nullptr;
    engine::WaiterChain waiters;
  };
  static thread_local Held together_;

  engine::Engine* const engine_;
  Pending pending_;
};

thread_local Embedded::Held Embedded::together_;

}  // namespace

std::unique_ptr<Store> EmbeddedStore(engine::Engine* engine) {
  return std::make_unique<Embedded>(engine);
}

}  // namespace holdfast::store

namespace holdfast {

std::unique_ptr<Store> EmbeddedStore(Database* database) {
  return store::EmbeddedStore(database->GetEngine());
}

}  // namespace holdfast
