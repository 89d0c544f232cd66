#include "model/jobs.h"

#include <simdjson.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>

#include "auth/hmac.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mutex.h"
#include "base/random.h"
#include "base/thread.h"
#include "base/ulid.h"
#include "json/item_reader.h"
#include "json/writer.h"
#include "model/generate/describe.h"
#include "model/generate/diff.h"
#include "model/item_builder.h"
#include "model/seal.h"

namespace holdfast::model {
namespace {

using value::MapView;

constexpr int kAttemptsMax = 5;
constexpr size_t kNotesMax = 20;

// --- progress ---

struct Progress {
  std::string table;          // the one that is being read; empty: none yet
  std::optional<Item> after;  // its last key that is done; empty: from the beginning
  JobCounts counts;
};

constexpr std::pair<const char*, uint64_t JobCounts::*> kFigures[] = {
    {"read", &JobCounts::read},           {"changed", &JobCounts::changed},
    {"unchanged", &JobCounts::unchanged}, {"unknown", &JobCounts::unknown},
    {"conflicts", &JobCounts::conflicts}, {"faulty", &JobCounts::faulty}};

std::string IdentityOf(const Job& job, const Store& store) {
  return auth::Hex(
      auth::HmacSha256("holdfast job", job.name() + "\n" + store.name() + "\n" + job.identity()));
}

Status Save(const std::string& path, const std::string& identity, const Progress& progress) {
  AttributeMap counts;
  for (const auto& [name, figure] : kFigures) counts[name] = AttributeValue(progress.counts.*figure);
  Item document{{"identity", identity}, {"table", progress.table}, {"counts", AttributeValue::Map(counts)}};
  if (progress.after) document.Set("after", AttributeValue::Map(progress.after->ToMap()));
  std::string text;
  json::AppendItem(MapView(document), &text);
  return base::ReplaceFile(path, text + "\n", 0600);
}

// The progress of an earlier run, or none.
Result<Progress> Load(const std::string& path, const std::string& identity) {
  Progress progress;
  if (path.empty() || ::access(path.c_str(), F_OK) != 0) return progress;
  simdjson::dom::parser parser;
  simdjson::dom::element element;
  auto unusable = [&](const std::string& why) {
    return Error(ErrorCode::kValidation,
                 path + " " + why + ": name another --progress file, or delete this one to begin anew");
  };
  if (parser.load(path).get(element) != simdjson::SUCCESS) return unusable("is no progress of a job");
  Result<Item> item = json::ReadItem(element, json::Place::kField);
  if (!item || item->defect() != nullptr) return unusable("is no progress of a job");
  AttributeMap document = item->ToMap();
  if (document["identity"] != AttributeValue(identity))
    return unusable("is the progress of another job, or of another model or store");
  progress.table = document["table"].AsText();
  AttributeMap counts = document["counts"].AsMap();
  for (const auto& [name, figure] : kFigures)
    progress.counts.*figure = static_cast<uint64_t>(counts[name].AsInt64().value_or(0));
  if (document.contains("after")) progress.after = Item(document["after"].AsMap());
  return progress;
}

// --- running ---

std::string KeyText(const Item& stored, const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names)
    text +=
        (text.empty() ? "" : " ") + name + "=" + ReadableValue(stored.Get(name).value_or(AttributeValue()));
  return text;
}

class Runner {
 public:
  Runner(Store* store, Job& job, const JobOptions& options)
      : store_(store), job_(job), options_(options), identity_(IdentityOf(job, *store)) {}

  Result<JobReport> Run() {
    HF_TRY(progress_, Load(options_.progress_file, identity_));
    std::vector<std::string> tables = job_.tables();
    for (const std::string& table : tables) HF_CHECK_OK(Look(table));
    auto at = std::find(tables.begin(), tables.end(), progress_.table);
    if (at == tables.end()) at = tables.begin();
    for (; at != tables.end(); ++at) {
      if (progress_.table != *at) progress_ = {*at, std::nullopt, progress_.counts};
      bool more = true;
      while (more) {
        HF_TRY(more, Page());
        bool last = !more && at + 1 == tables.end();
        if (!more && !last) progress_ = {*(at + 1), std::nullopt, progress_.counts};
        if (!last && !options_.progress_file.empty())
          HF_CHECK_OK(Save(options_.progress_file, identity_, progress_));
        if (options_.show) options_.show(Report());
        if (!last && options_.stop && options_.stop()) return Report();
      }
    }
    if (!options_.progress_file.empty()) ::unlink(options_.progress_file.c_str());
    report_.finished = true;
    return Report();
  }

 private:
  JobReport Report() {
    report_.counts = progress_.counts;
    return report_;
  }

  Status Look(const std::string& table) {
    DescribeTableRequest request;
    request.table_name = table;
    auto described = store_->Run(request);
    if (!described) {
      if (described.error().code() != ErrorCode::kResourceNotFound) return described.error();
      return Error(ErrorCode::kResourceNotFound, store_->name() + " has no table " + table);
    }
    report_.expected += static_cast<uint64_t>(described->table.item_count);
    for (const KeySchemaElement& key : described->table.key_schema.value())
      key_names_[table].push_back(key.attribute_name);
    return Ok{};
  }

  // Returns whether there is more to read of the table.
  Result<bool> Page() {
    ScanRequest request;
    request.table_name = progress_.table;
    request.limit = options_.page_items;
    request.consistent_read = true;
    request.exclusive_start_key = progress_.after;
    HF_TRY(ScanResponse page, store_->Run(request));
    const std::vector<Item>& items = page.items.value();
    std::vector<std::optional<Result<Outcome>>> outcomes(items.size());
    std::atomic<size_t> next{0};
    auto work = [&] {
      for (size_t i = next++; i < items.size(); i = next++)
        outcomes[i] = base::CallContained(base::FallbackLog(), "job", [&]() -> Result<Outcome> {
          return job_.Step(progress_.table, items[i]);
        });
    };
    {
      // Several at a time, so that their writes share syncs and round trips.
      std::vector<std::jthread> helpers;
      for (int i = 1; i < options_.threads && static_cast<size_t>(i) < items.size(); ++i)
        helpers.emplace_back(work);
      work();
    }
    JobCounts counts = progress_.counts;
    for (size_t i = 0; i < items.size(); ++i) HF_CHECK_OK(Count(items[i], *outcomes[i], &counts));
    progress_.counts = counts;
    progress_.after = std::move(page.last_evaluated_key);
    return progress_.after.has_value();
  }

  Status Count(const Item& item, const Result<Outcome>& outcome, JobCounts* counts) {
    ++counts->read;
    auto note = [&](const std::string& what) {
      if (report_.notes.size() < kNotesMax)
        report_.notes.push_back(progress_.table + ": " + KeyText(item, key_names_[progress_.table]) + ": " +
                                what);
    };
    if (!outcome) {
      bool own =
          outcome.error().code() == ErrorCode::kRefused || outcome.error().code() == ErrorCode::kValidation;
      if (!own) return outcome.error();
      ++counts->faulty;
      note(outcome.error().message());
      return Ok{};
    }
    switch (*outcome) {
      case Outcome::kUnchanged: ++counts->unchanged; break;
      case Outcome::kChanged: ++counts->changed; break;
      case Outcome::kUnknown: ++counts->unknown; break;
      case Outcome::kConflict:
        ++counts->conflicts;
        note("in conflict");
        break;
    }
    return Ok{};
  }

  Store* const store_;
  Job& job_;
  const JobOptions& options_;
  const std::string identity_;
  std::map<std::string, std::vector<std::string>> key_names_;
  Progress progress_;
  JobReport report_;
};

// --- what the jobs share ---

// Everything of a model that decides what a job does.
std::string Text(const Model& model) {
  std::ifstream file(model.file, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  text += model.name + " " + std::to_string(model.version) + " " + model.stage;
  for (const auto& [name, value] : model.options) text += " " + name + (value ? "=true" : "=false");
  for (const auto& table : model.tables) text += " " + table->name;
  return text;
}

// How one try at an item ended.
enum class Try : uint8_t { kUnchanged, kChanged, kLost };

class ModelJob : public Job {
 public:
  ModelJob(Store* store, ModelPtr model)
      : store_(store), model_(std::move(model)), ulids_(&clock_, &random_) {}

  std::vector<std::string> tables() const override {
    std::vector<std::string> names;
    for (const auto& entity : model_->entities) {
      const std::string& name = entity->table->name;
      if (Concerns(*entity) && std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
    }
    return names;
  }

  Result<Outcome> Step(const std::string& table, const Item& stored) override {
    const Entity* entity = model_->EntityOf(*model_->TableNamed(table), stored);
    if (entity == nullptr) return WhenUnknown(table, stored);
    if (!Concerns(*entity)) return Outcome::kUnchanged;
    Item current = stored;
    for (int attempt = 1; attempt <= kAttemptsMax; ++attempt) {
      HF_TRY(Try tried, TryOnce(*entity, current));
      if (tried != Try::kLost) return tried == Try::kChanged ? Outcome::kChanged : Outcome::kUnchanged;
      std::this_thread::sleep_for(std::chrono::milliseconds(random_.Below(uint64_t{2} << attempt)));
      HF_TRY(std::optional<Item> fresh, Read(*entity->table, KeyOf(*entity->table, current)));
      if (!fresh || model_->EntityOf(*entity->table, *fresh) != entity)
        return Outcome::kUnchanged;  // somebody else's by now
      current = *std::move(fresh);
    }
    return Outcome::kConflict;
  }

 protected:
  virtual bool Concerns(const Entity& entity) const = 0;
  // Changes the item if it is still as given.
  virtual Result<Try> TryOnce(const Entity& entity, const Item& stored) = 0;
  virtual Outcome WhenUnknown(const std::string& /*table*/, const Item& /*stored*/) const {
    return Outcome::kUnknown;
  }

  Result<std::optional<Item>> Read(const Table& table, Item key) {
    GetItemRequest request;
    request.table_name = table.name;
    request.key = std::move(key);
    request.consistent_read = true;
    HF_TRY(GetItemResponse got, store_->Run(request));
    return std::move(got.item);
  }

  // Sets and removes attributes where they, and what they rely on, are still as read.
  Result<Try> Write(const Entity& entity, const Item& stored, const BuiltChange& change) {
    if (change.set.empty() && change.removed.empty()) return Try::kUnchanged;
    ExpressionBuilder builder;
    UpdateItemRequest request;
    request.table_name = entity.table->name;
    request.key = KeyOf(*entity.table, stored);
    request.update_expression = builder.Update(change.item, change.set, change.removed).Take();
    builder.Text("attribute_exists(").Name(entity.table->key[0].name).Text(")");
    std::set<std::string> fixed(change.relied_on.begin(), change.relied_on.end());
    fixed.insert(change.set.begin(), change.set.end());
    fixed.insert(change.removed.begin(), change.removed.end());
    for (const std::string& name : fixed) builder.AndUnchanged(name, stored);
    request.condition_expression = builder.Take();
    builder.Finish(&request);
    auto done = store_->Run(request);
    if (done) return Try::kChanged;
    if (done.error().code() == ErrorCode::kConditionalCheckFailed ||
        done.error().code() == ErrorCode::kTransactionConflict)
      return Try::kLost;
    return done.error();
  }

  Sources MakeSources() {
    Sources sources;
    sources.now_millis = clock_.NowMillis();
    sources.random = &random_;
    sources.ulids = &ulids_;
    return sources;
  }

  Store* const store_;
  const ModelPtr model_;
  base::SystemClock clock_;
  base::Random random_;
  base::UlidSource ulids_;
};

Result<const Entity*> Named(const Model& model, std::string_view name) {
  if (const Entity* entity = model.FindEntity(name)) return entity;
  return Error(ErrorCode::kValidation, "the model " + model.name + " has no entity " + std::string(name));
}

std::optional<std::string> SealedText(const Item& stored, const Attribute& attribute) {
  auto value = stored.Get(attribute.name);
  if (attribute.kind != Kind::kEncrypted || !value || value->type() != AttributeValue::Type::kString)
    return std::nullopt;
  return value->AsText();
}

// --- purge ---

class Purge final : public ModelJob {
 public:
  Purge(Store* store, ModelPtr model, const Entity* entity, std::string attribute)
      : ModelJob(store, std::move(model)), entity_(entity), attribute_(std::move(attribute)) {}

  std::string name() const override { return "purge"; }
  std::string identity() const override { return Text(*model_) + "\n" + entity_->name + "\n" + attribute_; }

 protected:
  bool Concerns(const Entity& entity) const override { return &entity == entity_; }
  Result<Try> TryOnce(const Entity& entity, const Item& stored) override {
    if (!stored.Has(attribute_)) return Try::kUnchanged;
    BuiltChange change;
    change.removed.push_back(attribute_);
    return Write(entity, stored, change);
  }

 private:
  const Entity* const entity_;
  const std::string attribute_;
};

// --- backfill ---

class Backfill final : public ModelJob {
 public:
  Backfill(Store* store, ModelPtr model, const Entity* only)
      : ModelJob(store, std::move(model)), only_(only) {}

  std::string name() const override { return "backfill"; }
  std::string identity() const override {
    return Text(*model_) + "\n" + (only_ == nullptr ? "" : only_->name);
  }

 protected:
  bool Concerns(const Entity& entity) const override { return only_ == nullptr || &entity == only_; }
  Result<Try> TryOnce(const Entity& entity, const Item& stored) override {
    HF_TRY(BuiltChange change, BuildBackfill(*model_, entity, stored, MakeSources()));
    HF_TRY(Try tried, Write(entity, stored, change));
    // What no job can mend is for people to see.
    std::vector<Violation> violations = Judge(*model_, entity, change.item).violations;
    if (tried != Try::kLost && !violations.empty()) return RefuseInput(violations);
    return tried;
  }

 private:
  const Entity* const only_;
};

// --- rewrap ---

class RewrapAll final : public ModelJob {
 public:
  RewrapAll(Store* store, ModelPtr model, std::shared_ptr<const MasterKeys> keys)
      : ModelJob(store, std::move(model)), keys_(std::move(keys)) {}

  std::string name() const override { return "rewrap"; }
  std::string identity() const override {
    return Text(*model_) + "\n" + keys_->id + " " + std::to_string(keys_->current);
  }

 protected:
  bool Concerns(const Entity& entity) const override {
    return std::any_of(entity.attributes.begin(), entity.attributes.end(),
                       [](const Attribute& attribute) { return attribute.kind == Kind::kEncrypted; });
  }
  Result<Try> TryOnce(const Entity& entity, const Item& stored) override {
    BuiltChange change;
    change.item = stored;
    for (const Attribute& attribute : entity.attributes) {
      std::optional<std::string> sealed = SealedText(stored, attribute);
      if (!sealed) continue;
      HF_TRY(std::string context, SealContext(entity, attribute, stored));
      HF_TRY(std::string wrapped, Rewrap(*keys_, *sealed, context));
      if (wrapped == *sealed) continue;
      change.item.Set(attribute.name, AttributeValue(std::move(wrapped)));
      change.set.push_back(attribute.name);
    }
    return Write(entity, stored, change);
  }

 private:
  const std::shared_ptr<const MasterKeys> keys_;
};

// --- migrate ---

// An entity that moves, and what it becomes.
bool Moves(const Entity& before, const Entity& after) {
  return before.table->name != after.table->name ||
         generate::PartsText(before.key) != generate::PartsText(after.key);
}

class Migrate final : public ModelJob {
 public:
  Migrate(Store* store, ModelPtr before, ModelPtr after, MigratePhase phase,
          std::shared_ptr<const MasterKeys> keys)
      : ModelJob(store, std::move(before)), after_(std::move(after)), phase_(phase), keys_(std::move(keys)) {}

  std::string name() const override { return "migrate"; }
  std::string identity() const override {
    return Text(*model_) + "\n" + Text(*after_) + "\n" + std::to_string(static_cast<int>(phase_));
  }

 protected:
  bool Concerns(const Entity& entity) const override {
    const Entity* becomes = after_->FindEntity(entity.name);
    return becomes != nullptr && Moves(entity, *becomes);
  }

  // What was moved before stands among the old ones when they share a table.
  Outcome WhenUnknown(const std::string& name, const Item& stored) const override {
    const Table* table = after_->TableNamed(name);
    bool moved = table != nullptr && after_->EntityOf(*table, stored) != nullptr;
    return moved ? Outcome::kUnchanged : Outcome::kUnknown;
  }

  Result<Try> TryOnce(const Entity& entity, const Item& stored) override {
    const Entity& becomes = *after_->FindEntity(entity.name);
    HF_TRY(Item moved, Moved(entity, becomes, stored));
    Item key = KeyOf(*becomes.table, moved);
    if (becomes.table->name == entity.table->name && key == KeyOf(*entity.table, stored))
      return Try::kUnchanged;
    HF_TRY(std::optional<Item> there, Read(*becomes.table, key));
    Newer newer = there ? Compare(becomes, *there, moved) : Newer::kMoved;
    bool writes = newer == Newer::kMoved;
    if (newer == Newer::kUnclear || (writes && phase_ == MigratePhase::kDeleteOld)) return Try::kLost;
    if (!writes && phase_ == MigratePhase::kCopy) return Try::kUnchanged;

    TransactWriteItemsRequest request;
    if (!writes) {
      TransactConditionCheck check;
      check.table_name = becomes.table->name;
      check.key = std::move(key);
      check.condition_expression = StillAs(becomes, *there, &check);
      request.transact_items.emplace_back().condition_check = std::move(check);
    } else {
      TransactPut put;
      put.table_name = becomes.table->name;
      put.item = std::move(moved);
      put.condition_expression = StillAs(becomes, there.value_or(Item()), &put);
      request.transact_items.emplace_back().put = std::move(put);
    }
    if (phase_ == MigratePhase::kCopy) {
      TransactConditionCheck check;
      check.table_name = entity.table->name;
      check.key = KeyOf(*entity.table, stored);
      check.condition_expression = StillAs(entity, stored, &check);
      request.transact_items.emplace_back().condition_check = std::move(check);
    } else {
      TransactDelete gone;
      gone.table_name = entity.table->name;
      gone.key = KeyOf(*entity.table, stored);
      gone.condition_expression = StillAs(entity, stored, &gone);
      request.transact_items.emplace_back().delete_action = std::move(gone);
    }
    auto done = store_->Run(request);
    if (done) return Try::kChanged;
    if (done.error().code() != ErrorCode::kTransactionCanceled || done.error().detail() == nullptr)
      return done.error();
    const auto& reasons = done.error().detail()->reasons;
    bool held = std::none_of(reasons.begin(), reasons.end(), [](const CancellationReason& reason) {
      return reason.code == "ConditionalCheckFailed";
    });
    Error refused = FromStore(done.error());
    if (held && RefusalName(refused) != "Conflict") return refused;
    return Try::kLost;
  }

 private:
  // The item as the newer model stores it.
  Result<Item> Moved(const Entity& entity, const Entity& becomes, const Item& stored) {
    Item attributes = stored;
    for (const auto& [name, text] : PartsOfKey(entity, stored)) {
      if (!stored.Has(name)) attributes.Set(name, AttributeValue(text));
    }
    MapView old(stored);
    for (uint32_t i = 0; i < old.size(); ++i) {
      std::string_view name = old.At(i).name;
      if (IsDerived(entity, name) && entity.Find(name) == nullptr) attributes.Remove(name);
    }
    HF_TRY(Item moved, BuildMoved(*after_, becomes, attributes, MakeSources()));
    for (const Attribute& attribute : entity.attributes) {
      std::optional<std::string> sealed = SealedText(stored, attribute);
      const Attribute* now = becomes.Find(attribute.name);
      if (!sealed || now == nullptr) continue;
      HF_TRY(std::string from, SealContext(entity, attribute, stored));
      HF_TRY(std::string to, SealContext(becomes, *now, moved));
      if (from == to) continue;
      HF_TRY(std::string plaintext, Unseal(*keys_, *sealed, from));
      HF_TRY(std::string again, Seal(*keys_, plaintext, to));
      moved.Set(attribute.name, AttributeValue(std::move(again)));
    }
    return moved;
  }

  // Of the item that stands under the new key and the one that should: which of them has all that the other
  // has.
  enum class Newer : uint8_t { kThere, kMoved, kUnclear };
  Newer Compare(const Entity& entity, const Item& there, const Item& moved) const {
    if (after_->EntityOf(*entity.table, there) != &entity) return Newer::kUnclear;
    Item left = there;
    Item right = moved;
    for (const Attribute& attribute : entity.attributes) {
      if (attribute.kind != Kind::kEncrypted || there.Has(attribute.name) != moved.Has(attribute.name))
        continue;
      left.Remove(attribute.name);  // sealed anew each time
      right.Remove(attribute.name);
    }
    if (left == right) return Newer::kThere;
    for (const Attribute& attribute : entity.attributes) {
      bool tells = attribute.name == entity.version ||
                   (attribute.always && attribute.always->source == Computed::Source::kNow);
      if (!tells) continue;
      auto at = [&](const Item& item) {
        auto value = MapView(item).Find(attribute.name);
        return value ? MillisOf(*value) : std::nullopt;
      };
      if (at(there) && at(moved) && at(there) != at(moved))
        return at(there) > at(moved) ? Newer::kThere : Newer::kMoved;
    }
    return Newer::kUnclear;
  }

  // That an item is as it was read: all that it has, and none of what its entity may have besides.
  template <class Action>
  static std::string StillAs(const Entity& entity, const Item& read, Action* action) {
    ExpressionBuilder builder;
    std::set<std::string> names{entity.table->key[0].name};
    MapView item(read);
    for (uint32_t i = 0; i < item.size(); ++i) names.emplace(item.At(i).name);
    for (const Attribute& attribute : entity.attributes) names.insert(attribute.name);
    for (const std::string& name : names) builder.AndUnchanged(name, read);
    std::string text = builder.Take();
    builder.Finish(action);
    return text;
  }

  const ModelPtr after_;
  const MigratePhase phase_;
  const std::shared_ptr<const MasterKeys> keys_;
};

Status CheckMigration(const Model& before, const Model& after, bool has_keys) {
  auto refuse = [](const std::string& why) { return Error(ErrorCode::kValidation, why); };
  std::string refused;
  for (const generate::Change& change : generate::CompareModels(before, after)) {
    bool value = change.effort == generate::Effort::kMigration &&
                 change.path.find(".attributes.") != std::string::npos;
    if (change.effort == generate::Effort::kRefused || value)
      refused += "\n  " + change.path + ": " + change.what + ": " + change.reason;
  }
  if (!refused.empty()) return refuse("there are changes that no migration can make:" + refused);
  bool moves = false;
  for (const auto& entity : before.entities) {
    const Entity* becomes = after.FindEntity(entity->name);
    if (becomes == nullptr || !Moves(*entity, *becomes)) continue;
    moves = true;
    if (entity->table->name == becomes->table->name &&
        generate::KeysText(entity->table->key) != generate::KeysText(becomes->table->key))
      return refuse("the key of the table " + entity->table->name +
                    " cannot change: give the new table another name");
    for (const Attribute& attribute : entity->attributes) {
      if (attribute.kind == Kind::kEncrypted && attribute.context.empty() && !has_keys)
        return refuse(entity->name + "." + attribute.name + " is sealed for its key: pass --key-file");
    }
  }
  if (!moves) return refuse("no entity has another key or table in " + after.file + ": nothing to migrate");
  return Ok{};
}

}  // namespace

Result<JobReport> RunJob(Store* store, Job& job, const JobOptions& options) {
  return Runner(store, job, options).Run();
}

Result<std::unique_ptr<Job>> MakePurge(Store* store, ModelPtr model, std::string_view entity_name,
                                       const std::string& attribute) {
  HF_TRY(const Entity* entity, Named(*model, entity_name));
  bool made = IsDerived(*entity, attribute) || attribute == entity->table->ttl;
  for (const Index& index : entity->table->indexes) {
    for (const auto* parts : {&index.hash, &index.range}) {
      for (const KeyAttribute& part : *parts) made = made || part.name == attribute;
    }
  }
  if (made || entity->Find(attribute) != nullptr)
    return Error(ErrorCode::kValidation, attribute + " is an attribute of " + entity->name +
                                             " in this model: take it out of the model first");
  return std::unique_ptr<Job>(std::make_unique<Purge>(store, std::move(model), entity, attribute));
}

Result<std::unique_ptr<Job>> MakeBackfill(Store* store, ModelPtr model, std::string_view entity_name) {
  const Entity* only = nullptr;
  if (!entity_name.empty()) {
    HF_TRY(only, Named(*model, entity_name));
  }
  return std::unique_ptr<Job>(std::make_unique<Backfill>(store, std::move(model), only));
}

Result<std::unique_ptr<Job>> MakeMigrate(Store* store, ModelPtr before, ModelPtr after, MigratePhase phase,
                                         std::shared_ptr<const MasterKeys> keys) {
  HF_CHECK_OK(CheckMigration(*before, *after, keys != nullptr));
  return std::unique_ptr<Job>(
      std::make_unique<Migrate>(store, std::move(before), std::move(after), phase, std::move(keys)));
}

Result<std::unique_ptr<Job>> MakeRewrap(Store* store, ModelPtr model,
                                        std::shared_ptr<const MasterKeys> keys) {
  auto job = std::make_unique<RewrapAll>(store, std::move(model), std::move(keys));
  if (job->tables().empty()) return Error(ErrorCode::kValidation, "the model has no encrypted attribute");
  return std::unique_ptr<Job>(std::move(job));
}

}  // namespace holdfast::model
