#include "model/memories.h"

#include <algorithm>
#include <optional>

#include "base/clock.h"
#include "base/thread.h"
#include "model/expression_builder.h"
#include "model/item_builder.h"
#include "model/refusal.h"

namespace holdfast::model {
namespace {

constexpr size_t kReadAtOnce = 256;
constexpr auto kKeepUpEvery = std::chrono::seconds(1);
constexpr int64_t kForgetAfterMicros = 600'000'000;
constexpr int64_t kFillAgainAfterMicros = 60'000'000;

}  // namespace

// One pattern's.
class Memories::Map {
 public:
  Map(const Model* model, const Step& step)
      : model_(*model),
        source_(model->FindPattern(step.memory_from)->cases[0].steps[0]),
        by_(step.memory_by) {}

  const std::string& table() const { return source_.table->name; }

  // --- the items ---

  std::vector<Record> Find(const std::string& value) {
    base::MutexLock lock(&mu_);
    std::vector<Record> found;
    auto at = keys_.find(value);
    if (at == keys_.end()) return found;
    for (const std::string& key : at->second) found.push_back(items_.at(key));
    return found;
  }

  // What stands there now, or nothing.
  void Apply(const Item& stored, bool deleted) {
    base::MutexLock lock(&mu_);
    if (filling_) meanwhile_.emplace_back(stored, deleted);
    ApplyLocked(stored, deleted);
  }

  // Those of `fill`, under the changes that came meanwhile.
  Status Fill(const Source& source) {
    {
      base::MutexLock lock(&mu_);
      filling_ = true;
      meanwhile_.clear();
    }
    std::vector<Item> all;
    Status filled = source([&](const Record& record) { all.push_back(record.stored()); });
    base::MutexLock lock(&mu_);
    filling_ = false;
    if (!filled) return filled;
    items_.clear();
    keys_.clear();
    for (const Item& item : all) ApplyLocked(item, /*deleted=*/false);
    for (const auto& [item, deleted] : meanwhile_) ApplyLocked(item, deleted);
    meanwhile_.clear();
    return Ok{};
  }

  void Forget() HF_REQUIRES(filling_mu) {
    watch.reset();
    filled_micros = 0;
    base::MutexLock lock(&mu_);
    items_.clear();
    keys_.clear();
  }

  // Takes in all that the log has.
  Status CatchUp() HF_REQUIRES(filling_mu) {
    while (true) {
      HF_TRY(std::vector<TableChange> changes, watch->Read(kReadAtOnce));
      for (const TableChange& change : changes)
        Apply(change.new_item ? *change.new_item : *change.old_item, !change.new_item);
      if (changes.size() < kReadAtOnce) return Ok{};
    }
  }

  bool Has(const Entity& entity) const {
    return std::find(source_.returns.begin(), source_.returns.end(), &entity) != source_.returns.end();
  }

  // One thread at a time fills or catches up; it may wait for the store. Comes before mu_.
  base::Mutex filling_mu;
  std::unique_ptr<TableWatch> watch HF_GUARDED_BY(filling_mu);
  int64_t filled_micros HF_GUARDED_BY(filling_mu) = 0;  // 0: it is not filled
  int64_t asked_micros HF_GUARDED_BY(filling_mu) = 0;

 private:
  void ApplyLocked(const Item& stored, bool deleted) HF_REQUIRES(mu_) {
    std::string key(KeyOf(*source_.table, stored).flat());
    if (auto before = items_.find(key); before != items_.end()) {
      auto among = keys_.find(ValueOf(before->second.stored()).value_or(""));
      if (among != keys_.end()) {
        std::erase(among->second, key);
        if (among->second.empty()) keys_.erase(among);
      }
      items_.erase(before);
    }
    if (deleted) return;
    const Entity* entity = model_.EntityOf(*source_.table, stored, source_.returns);
    std::optional<std::string> value = ValueOf(stored);
    if (entity == nullptr || !value) return;
    std::vector<std::string>& among = keys_[*value];
    among.insert(std::lower_bound(among.begin(), among.end(), key), key);
    items_.emplace(std::move(key), Record(entity, stored));
  }
  std::optional<std::string> ValueOf(const Item& stored) const {
    auto value = stored.Get(by_);
    return value ? std::optional(ReadableValue(*value)) : std::nullopt;
  }

  const Model& model_;
  const Step& source_;
  const std::string by_;

  base::Mutex mu_;
  std::map<std::string, Record> items_ HF_GUARDED_BY(mu_);                   // by key
  std::map<std::string, std::vector<std::string>> keys_ HF_GUARDED_BY(mu_);  // by value; none is empty
  bool filling_ HF_GUARDED_BY(mu_) = false;
  std::vector<std::pair<Item, bool>> meanwhile_ HF_GUARDED_BY(mu_);
};

Memories::Memories(Store* store, const Model* model) : store_(store) {
  for (const auto& pattern : model->patterns) {
    if (pattern->cases.empty() || pattern->cases[0].steps.empty()) continue;
    const Step& step = pattern->cases[0].steps[0];
    if (step.form == Step::Form::kMemory) maps_.emplace(pattern->id, std::make_unique<Map>(model, step));
  }
}

Memories::~Memories() {
  std::thread keeper;
  {
    base::MutexLock lock(&mu_);
    stop_ = true;
    stopped_.NotifyAll();
    keeper = std::move(keeper_);
  }
  if (keeper.joinable()) keeper.join();
}

Result<std::vector<Record>> Memories::Find(const Pattern& pattern, const AttributeValue& value,
                                           const Source& source) {
  Map* map = maps_.at(pattern.id).get();
  HF_CHECK_OK(Ready(map, source));
  return map->Find(ReadableValue(value));
}

Status Memories::Ready(Map* map, const Source& source) {
  base::MutexLock filling(&map->filling_mu);
  int64_t now = base::SteadyMicros();
  map->asked_micros = now;
  if (map->watch != nullptr) {
    if (map->CatchUp()) return Ok{};
    map->Forget();  // the table was made anew, say
  } else if (map->filled_micros != 0 && now - map->filled_micros < kFillAgainAfterMicros) {
    return Ok{};
  }
  if (store_->abilities().tells_changes_at_once) {
    auto watch = store_->Watch(map->table(), std::nullopt);
    if (!watch) return FromStore(watch.error());
    map->watch = *std::move(watch);
  }
  Status filled = map->Fill(source);
  if (filled && map->watch != nullptr) filled = map->CatchUp();
  if (!filled) {
    map->Forget();
    return filled;
  }
  map->filled_micros = now;
  if (map->watch == nullptr) return Ok{};
  base::MutexLock lock(&mu_);
  if (!stop_ && !keeper_.joinable()) keeper_ = std::thread([this] { KeepUp(); });
  return Ok{};
}

void Memories::KeepUp() {
  base::NameThread("model-memory");
  while (true) {
    {
      auto until = std::chrono::steady_clock::now() + kKeepUpEvery;
      base::MutexLock lock(&mu_);
      while (!stop_ && stopped_.WaitUntil(&mu_, until)) {
      }
      if (stop_) return;
    }
    for (auto& [id, map] : maps_) {
      base::RunContained(log_, "map of a memory pattern", [&map = map] {
        base::MutexLock filling(&map->filling_mu);
        if (map->watch == nullptr) return;
        bool unused = base::SteadyMicros() - map->asked_micros > kForgetAfterMicros;
        if (unused || !map->CatchUp()) map->Forget();
      });
    }
  }
}

void Memories::Note(const Entity& entity, const Item& stored, bool deleted) {
  if (maps_.empty() || store_->abilities().tells_changes_at_once) return;
  for (auto& [id, map] : maps_) {
    if (map->Has(entity)) map->Apply(stored, deleted);
  }
}

}  // namespace holdfast::model
