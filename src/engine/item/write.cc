#include "engine/item/write.h"

#include <algorithm>
#include <thread>

#include "base/limits.h"
#include "engine/commit/commit.h"
#include "engine/index/vector_value.h"

namespace holdfast::engine {
namespace {

// A transaction that cannot have its keys by then reports the conflict; a single write on an I/O thread moves
// to a thread that may wait; others wait as long as it takes.
constexpr auto kTransactionPatience = std::chrono::milliseconds(10);
constexpr auto kInlinePatience = std::chrono::microseconds(50);
constexpr std::chrono::microseconds kVectorDelayMax = std::chrono::milliseconds(10);

KeyLocks::Deadline DeadlineFor(const WriteOptions& options) {
  auto now = std::chrono::steady_clock::now();
  if (options.wait == storage::Wait::kNever) return now + kInlinePatience;
  if (options.atomicity == Atomicity::kAll) return now + kTransactionPatience;
  return now + std::chrono::hours(1);
}

Error Gone() {
  return Error(ErrorCode::kResourceNotFound, "Requested resource not found");
}

// Holds the gates of several tables for reading, in order of table id.
class Gates {
 public:
  ~Gates() HF_NO_THREAD_SAFETY_ANALYSIS {
    for (Table* table : held_) table->gate.UnlockShared();
  }

  Status Enter(const std::vector<WriteAction>& actions, storage::Wait wait) HF_NO_THREAD_SAFETY_ANALYSIS {
    std::vector<Table*> tables;
    tables.reserve(actions.size());
    for (const WriteAction& action : actions) {
      if (tables.empty() || tables.back() != action.table) tables.push_back(action.table);
    }
    if (tables.size() > 1) {
      std::sort(tables.begin(), tables.end(),
                [](Table* a, Table* b) { return a->schema()->id < b->schema()->id; });
      tables.erase(std::unique(tables.begin(), tables.end()), tables.end());
    }
    for (Table* table : tables) {
      if (wait == storage::Wait::kNever) {
        if (!table->gate.TryLockShared()) return Error(ErrorCode::kWouldBlock, "the table is changing");
      } else {
        table->gate.LockShared();
      }
      held_.push_back(table);
      if (table->dropped) return Gone();
    }
    return Ok{};
  }

 private:
  std::vector<Table*> held_;
};

}  // namespace

// The state of one call.
class ItemWriter::Run {
 public:
  Run(ItemWriter* writer, const std::vector<WriteAction>& actions, const WriteOptions& options)
      : writer_(writer), actions_(actions), options_(options) {}

  Result<Written> Execute() {
    HF_CHECK_OK(writer_->committer_->CheckWritable());
    HF_CHECK_OK(gates_.Enter(actions_, options_.wait));
    HF_CHECK_OK(GiveWay());
    written_.outcomes.resize(actions_.size());
    written_.conflict = LockKeys();
    if (written_.conflict != KeyLocks::kAll) {
      if (options_.wait == storage::Wait::kNever)
        return Error(ErrorCode::kWouldBlock, "the item is being written");
      written_.all_applied = false;
      return std::move(written_);
    }
    if (options_.under_lock) HF_CHECK_OK(options_.under_lock(nullptr, nullptr));
    // After that: a transaction that was carried out before is not one to throttle.
    bool limited = options_.throttles && IsLimited();
    if (limited && !AdmitTables()) return std::move(written_);
    HF_CHECK_OK(Decide());
    if (!written_.all_applied) return std::move(written_);
    if (limited && !Admit()) return std::move(written_);
    HF_CHECK_OK(Commit());
    for (const auto& [guard, objection] : overruled_) guard->Overrule(objection);
    return std::move(written_);
  }

 private:
  // Who writes vectors faster than graphs grow is slowed down, so that searches need not scan more and more
  // of them one by one.
  Status GiveWay() const {
    size_t backlog = 0;
    for (const WriteAction& action : actions_) {
      if (action.table->has_vectors) backlog = std::max(backlog, action.table->active()->VectorBacklog());
    }
    if (backlog <= limits::kVectorBacklogFree) return Ok{};
    if (options_.wait == storage::Wait::kNever)
      return Error(ErrorCode::kWouldBlock, "vectors are being indexed");
    auto over = static_cast<int64_t>(backlog - limits::kVectorBacklogFree);
    std::this_thread::sleep_for(std::min(std::chrono::microseconds(over / 50), kVectorDelayMax));
    return Ok{};
  }

  bool IsLimited() const {
    return std::any_of(actions_.begin(), actions_.end(), [](const WriteAction& action) {
      return action.table->limited.load(std::memory_order_relaxed);
    });
  }

  void Throttle(size_t i, const IndexSchema* index) {
    WriteOutcome& outcome = written_.outcomes[i];
    outcome.throttled = Throttled{index};
    outcome.kind = Change::Kind::kNone;
    outcome.now_size = 0;
    if (options_.atomicity == Atomicity::kAll) written_.all_applied = false;
  }
  // Whether anything is left to do.
  bool AnyAdmitted() const {
    return written_.all_applied &&
           std::any_of(written_.outcomes.begin(), written_.outcomes.end(),
                       [](const WriteOutcome& outcome) { return !outcome.throttled; });
  }

  // Before any item is read: who writes to a table without capacity learns nothing of what it holds.
  bool AdmitTables() {
    Admission admission(writer_->clock_->NowMillis());
    for (size_t i = 0; i < actions_.size(); ++i) {
      if (admission.HasRoom(&actions_[i].table->consumption.writes)) continue;
      written_.outcomes[i].schema = actions_[i].table->schema();
      Throttle(i, nullptr);
    }
    return AnyAdmitted();
  }

  // Once it is known what each action costs, and which indexes it touches. An action takes nothing from an
  // index that it leaves as it is, however little there is.
  bool Admit() {
    Admission admission(writer_->clock_->NowMillis());
    std::unique_ptr<storage::Batch> scratch = writer_->kv_->NewBatch();
    for (size_t i = 0; i < actions_.size(); ++i) {
      if (written_.outcomes[i].throttled) continue;
      TokenBucket* bucket = &actions_[i].table->consumption.writes;
      if (!admission.HasRoom(bucket)) {
        Throttle(i, nullptr);
        continue;
      }
      AdmitIndexes(i, &admission, scratch.get());
      if (written_.outcomes[i].throttled) continue;
      const WriteOutcome& outcome = written_.outcomes[i];
      double factor = options_.atomicity == Atomicity::kAll ? 2 : 1;
      admission.Plan(bucket, factor * WriteUnits(std::max(outcome.old_billed, outcome.now_billed)));
    }
    return AnyAdmitted();
  }

  void AdmitIndexes(size_t i, Admission* admission, storage::Batch* scratch) {
    if (!Writes(i)) return;
    const ActiveSchema& active = *actives_[i];
    BeforeAndAfter images(written_.outcomes[i]);
    for (size_t k = 0; k < active.indexes.size(); ++k) {
      TokenBucket* bucket = &active.index_consumption[k]->writes;
      if (!bucket->limited()) continue;
      bool has_room = admission->HasRoom(bucket);
      if (has_room && actions_.size() == 1) continue;  // nobody comes after it
      MaintainerEffect effect = active.indexes[k]->Update(ChangeOf(i, images, Stamp{}), scratch);
      if (!effect.touched) continue;
      if (!has_room) return Throttle(i, &active.schema->indexes[k]);
      admission->Plan(bucket, effect.write_units);
    }
  }

  size_t LockKeys() {
    std::vector<ByteView> keys;
    keys.reserve(actions_.size() + 1);
    for (const WriteAction& action : actions_) keys.emplace_back(action.item_key);
    if (!options_.extra_lock.empty()) keys.emplace_back(options_.extra_lock);
    return writer_->locks_->Acquire(keys, DeadlineFor(options_), &locks_);
  }

  Status Decide() {
    actives_.reserve(actions_.size());
    for (size_t i = 0; i < actions_.size(); ++i) {
      bool same_table = i > 0 && actions_[i].table == actions_[i - 1].table;
      actives_.push_back(same_table ? actives_.back() : actions_[i].table->active());
      // Its last backup may have been begun: what came after would be answered, and lost.
      if (actives_.back()->schema->status == TableStatus::kDeleting) return Gone();
      if (written_.outcomes[i].throttled) continue;
      HF_CHECK_OK(DecideOne(actions_[i], &written_.outcomes[i]));
      // DynamoDB goes on past a failed condition, but a request that does not fit its item ends the
      // evaluation.
      if (written_.outcomes[i].error) break;
    }
    return Ok{};
  }

  // An action that does not fit its item ends the call, or cancels the transaction. One that takes too much
  // work for this thread is tried elsewhere (I-38).
  Status Refuse(const Error& error, WriteOutcome* outcome) {
    if (options_.atomicity == Atomicity::kEach || error.code() == ErrorCode::kWouldBlock) return error;
    outcome->error = error;
    written_.all_applied = false;
    return Ok{};
  }

  Status AskGuard(ItemGuard* guard, const Item& now) {
    std::optional<std::string> objection = guard->Objection(now);
    if (!objection) return Ok{};
    if (guard->refuses()) return Error(ErrorCode::kValidation, *std::move(objection));
    overruled_.emplace_back(guard, *std::move(objection));
    return Ok{};
  }

  Status DecideOne(const WriteAction& action, WriteOutcome* outcome) {
    outcome->schema = actives_.back()->schema;
    std::string stored;
    HF_TRY(bool found,
           writer_->kv_->Get(storage::Space::kItems, action.item_key, nullptr, options_.wait, &stored));
    std::optional<value::MapView> old;
    if (found) {
      StoredItem item = DecodeStored(stored);
      outcome->old_size = item.size;
      stored.erase(0, stored.size() - item.flat.size());
      outcome->old = Item::FromFlat(std::move(stored));
      outcome->old_billed = Billed(*actives_.back(), *outcome->old, outcome->old_size);
      old.emplace(*outcome->old);
    }
    Result<Change> change = action.mutation->Apply(old ? &*old : nullptr);
    if (!change) return Refuse(change.error(), outcome);
    outcome->kind = change->kind;
    if (change->kind == Change::Kind::kConditionFailed) written_.all_applied = false;
    if (change->kind != Change::Kind::kPut) return Ok{};
    outcome->now = std::move(change->item);
    if (action.table->guard != nullptr) {
      if (Status allowed = AskGuard(action.table->guard.get(), outcome->now); !allowed)
        return Refuse(allowed.error(), outcome);
    }
    outcome->now_size = value::ItemSize(value::MapView(outcome->now));
    HF_ASSERT(outcome->now_size <=
              limits::kItemSizeBytesMax);  // mutations refuse larger ones in their own words
    outcome->now_billed = Billed(*actives_.back(), outcome->now, outcome->now_size);
    // The same bytes again: nothing to write, nothing to tell anyone.
    if (outcome->old && *outcome->old == outcome->now) outcome->kind = Change::Kind::kNone;
    return Ok{};
  }

  Status Commit() {
    class Commit commit(writer_->committer_);
    storage::Batch* batch = commit.batch();
    WriteOptions::Extras extras;
    if (options_.under_lock) HF_CHECK_OK(options_.under_lock(&written_.outcomes, &extras));
    HF_TRY(Stamp stamp, commit.Begin());
    for (size_t i = 0; i < actions_.size(); ++i) AddToBatch(i, stamp, batch);
    for (const WriteOptions::Extra& extra : extras) batch->Put(extra.space, extra.key, extra.value);
    for (const WriteOptions::ExtraDelete& extra : options_.extra_deletes)
      batch->Delete(extra.space, extra.key);
    HF_CHECK_OK(commit.Write(options_.wait, [&] { TellMaintainers(stamp); }));
    uint64_t items = 0;
    for (size_t i = 0; i < actions_.size(); ++i) {
      Count(i);
      items += Writes(i);
    }
    writer_->written_items_.fetch_add(items, std::memory_order_relaxed);
    return Ok{};
  }

  // An outcome's item before and after, as maintainers see it.
  struct BeforeAndAfter {
    explicit BeforeAndAfter(const WriteOutcome& outcome) {
      if (outcome.old) old = {outcome.old_size, outcome.old->flat()};
      now = {outcome.now_size, outcome.now.flat()};
    }
    StoredItem old, now;
  };

  // Refers to `images`.
  ItemChange ChangeOf(size_t i, const BeforeAndAfter& images, const Stamp& stamp) const {
    const WriteOutcome& outcome = written_.outcomes[i];
    return {actives_[i]->schema.get(),
            actions_[i].item_key,
            outcome.old ? &images.old : nullptr,
            outcome.kind == Change::Kind::kPut ? &images.now : nullptr,
            stamp,
            options_.by_ttl,
            static_cast<uint32_t>(i)};
  }

  static size_t Billed(const ActiveSchema& active, const Item& item, size_t size) {
    return active.has_vectors() ? BilledSize(*active.schema, value::MapView(item), size) : size;
  }

  bool Writes(size_t i) const {
    const WriteOutcome& outcome = written_.outcomes[i];
    return outcome.kind == Change::Kind::kPut || (outcome.kind == Change::Kind::kDelete && outcome.old);
  }

  void TellMaintainers(const Stamp& stamp) {
    for (size_t i = 0; i < actions_.size(); ++i) {
      if (!actives_[i]->has_vectors() || !Writes(i)) continue;
      BeforeAndAfter images(written_.outcomes[i]);
      ItemChange change = ChangeOf(i, images, stamp);
      for (const auto& maintainer : actives_[i]->indexes) maintainer->Written(change);
    }
  }

  void AddToBatch(size_t i, const Stamp& stamp, storage::Batch* batch) {
    WriteOutcome& outcome = written_.outcomes[i];
    const ActiveSchema& active = *actives_[i];
    bool puts = outcome.kind == Change::Kind::kPut;
    effects_.emplace_back();
    outcome.index_units.assign(active.indexes.size(), -1);
    if (!Writes(i)) return;

    BeforeAndAfter images(outcome);
    ItemChange change = ChangeOf(i, images, stamp);
    if (puts) {
      batch->Put(storage::Space::kItems, actions_[i].item_key,
                 EncodeStored(images.now.size, images.now.flat));
    } else {
      batch->Delete(storage::Space::kItems, actions_[i].item_key);
    }
    bool logs = false;
    for (size_t k = 0; k < active.indexes.size(); ++k) {
      MaintainerEffect effect = active.indexes[k]->Update(change, batch);
      logs |= effect.logs;
      if (effect.touched) outcome.index_units[k] = effect.write_units;
      effects_.back().push_back(effect);
    }
    if (active.ttl != nullptr) active.ttl->Update(change, batch);
    Images logged = std::max(active.images, logs ? Images::kKey : Images::kNone);
    if (actions_[i].table->watches.load(std::memory_order_relaxed) > 0) logged = Images::kBoth;
    if (logged != Images::kNone) ChangeLog::Append(change, logged, batch);
  }

  void Count(size_t i) {
    const WriteOutcome& outcome = written_.outcomes[i];
    if (effects_[i].empty() && outcome.kind != Change::Kind::kPut && outcome.kind != Change::Kind::kDelete)
      return;
    bool puts = outcome.kind == Change::Kind::kPut;
    int64_t before = outcome.old ? 1 : 0;
    actions_[i].table->tally.Add(
        (puts ? 1 : 0) - before,
        static_cast<int64_t>(puts ? outcome.now_billed : 0) - static_cast<int64_t>(outcome.old_billed));
    for (size_t k = 0; k < effects_[i].size(); ++k) {
      actives_[i]->index_tallies[k]->Add(effects_[i][k].count_delta, effects_[i][k].bytes_delta);
    }
  }

  ItemWriter* const writer_;
  const std::vector<WriteAction>& actions_;
  const WriteOptions& options_;
  Gates gates_;           // let go last
  KeyLocks::Held locks_;  // then the keys
  std::vector<std::shared_ptr<const ActiveSchema>> actives_;
  std::vector<std::vector<MaintainerEffect>> effects_;
  std::vector<std::pair<ItemGuard*, std::string>> overruled_;
  Written written_;
};

Result<ItemWriter::Written> ItemWriter::Write(const std::vector<WriteAction>& actions,
                                              const WriteOptions& options) {
  return Run(this, actions, options).Execute();
}

}  // namespace holdfast::engine
