#include "model/run.h"

#include <algorithm>

#include "base/limits.h"
#include "model/instant.h"

namespace holdfast::model {
namespace {

constexpr int64_t kBumpsMax = 100;

using value::MapView;
using value::Type;
using value::ValueView;

}  // namespace

// --- who may ---

Status Runtime::MayRun(const Caller& caller, const Command& command) const {
  if (model::MayRun(*model_, caller, command)) return Ok{};
  return Refuse("Forbidden", "the role " + caller.role + " may not run " + command.name);
}

Status Runtime::MayRead(const Caller& caller, const Entity& entity) const {
  if (model::MayRead(*model_, caller, entity)) return Ok{};
  return Refuse("Forbidden", "the role " + caller.role + " may not read " + entity.name);
}

// --- commands ---

Result<CommandAnswer> Runtime::Run(Application* application, const Caller& caller, std::string_view name,
                                   const Item& input, const RunOptions& options) {
  const Command* command = model_->FindCommand(name);
  if (command == nullptr)
    return Refuse("NotFound", "the model " + model_->name + " has no command " + std::string(name));
  HF_CHECK_OK(MayRun(caller, *command));
  return Running(this, application, caller, *command).Run(input, options);
}

Result<CommandAnswer> Running::Run(const Item& given, const RunOptions& options) {
  // The caller's tenant, where the command asks for one.
  Item with = given;
  const std::string& tenant = runtime_.model_->tenant;
  if (!caller_.tenant.empty() && FindAttribute(command_.inputs, tenant) != nullptr) {
    auto named = given.Get(tenant);
    if (named && !named->is_null() && runtime_.model_->TenantOf(ReadableValue(*named)) != caller_.tenant)
      return Refuse("NotFound", "there is nothing of " + ReadableValue(*named));
    if (runtime_.model_->FillsTenant()) with.Set(tenant, caller_.tenant);
  }
  Sources sources = runtime_.MakeSources();
  HF_TRY(BuiltItem input, BuildInput(*runtime_.model_, command_.inputs, with, sources));
  input_ = std::move(input.item);
  warnings_ = std::move(input.warnings);
  std::optional<IdempotencyRecord> record;
  if (!options.idempotency_key.empty()) {
    HF_TRY(record, IdempotencyRecord::Make(runtime_.model_->name, caller_, options, command_.name, with,
                                           runtime_.clock_.NowSeconds()));
    if (command_.handler) return RunClaimed(*record);
    HF_TRY(std::optional<CommandAnswer> before, record->Find(runtime_.store_));
    if (before) return *std::move(before);
  }
  if (command_.handler) return RunHandler({});
  for (int attempt = 1;; ++attempt) {
    Transaction::Failure failure;
    Result<CommandAnswer> answer = Attempt(record, &failure);
    if (answer) return answer;
    if (failure.extra) {
      // The same key was used while this ran: what it was answered is the answer.
      HF_TRY(std::optional<CommandAnswer> before, record->Find(runtime_.store_));
      if (before) return *std::move(before);
    } else if (failure.taken && failure.bumps && bump_millis_ < kBumpsMax) {
      ++bump_millis_;
      --attempt;
      continue;
    } else if (!failure.try_again) {
      return answer;
    }
    if (attempt == kAttemptsMax)
      return Refuse("Conflict", "others are changing what " + command_.name + " needs");
    runtime_.Pause(attempt);
  }
}

// C++ writes as it likes, in no transaction that a record could be part of: the key is claimed before.
Result<CommandAnswer> Running::RunClaimed(const IdempotencyRecord& record) {
  constexpr int kLooksMax = 8;
  for (int look = 1;; ++look) {
    Result<std::optional<CommandAnswer>> before = record.Find(runtime_.store_);
    if (!before && RefusalName(before.error()) != "Conflict") return std::move(before).error();
    if (before && *before) return **std::move(before);
    HF_TRY(std::unique_ptr<IdempotencyClaim> claim,
           IdempotencyClaim::Take(runtime_.store_, &runtime_.clock_, &record));
    if (claim != nullptr) {
      HF_TRY(CommandAnswer answer, RunHandler(record.Id()));
      HF_CHECK_OK(claim->Finish(answer));
      return answer;
    }
    if (look == kLooksMax && !before) return std::move(before).error();
    if (look == kLooksMax) return Refuse("Conflict", "many use this Idempotency-Key at once: try again");
    runtime_.Pause(look);
  }
}

Result<CommandAnswer> Running::RunHandler(const std::string& request_id) {
  const auto& library = runtime_.options_.commands;
  std::string name = runtime_.model_->name + "." + command_.name;
  if (library == nullptr || library->handlers.count(name) == 0)
    return Refuse("NotConfigured", command_.name + " is written in C++, which this program does not hold");
  const std::map<std::string, Item> nothing_read;
  CommandContext context{application_,         caller_,   command_.name, input_, nothing_read,
                         runtime_.NowMillis(), request_id};
  HF_TRY(CommandAnswer answer, library->handlers.find(name)->second(context));
  answer.warnings.insert(answer.warnings.begin(), warnings_.begin(), warnings_.end());
  return answer;
}

Result<CommandAnswer> Running::Attempt(const std::optional<IdempotencyRecord>& record,
                                       Transaction::Failure* failure) {
  sources_ = runtime_.MakeSources();
  found_.clear();
  first_.reset();
  transaction_.emplace(&runtime_, caller_, &sources_);
  Scope scope(&sources_);
  scope.Set("input", input_);
  scope.Set("caller", Item{{"tenant", caller_.tenant}, {"subject", caller_.subject}, {"role", caller_.role}});
  std::string now = FlatValue(TimeValue(Kind::kInstant, sources_.now_millis));
  std::string epoch = FlatValue(TimeValue(Kind::kEpoch, sources_.now_millis));
  std::string today = FlatValue(TimeValue(Kind::kDate, sources_.now_millis));
  scope.Set("now", ValueView(now));
  scope.Set("nowEpoch", ValueView(epoch));
  scope.Set("today", ValueView(today));

  HF_CHECK_OK(ReadAll(&scope));
  HF_CHECK_OK(Compute(&scope));
  HF_CHECK_OK(SetLet(command_.let, &scope));
  HF_CHECK_OK(CheckRefusals(&scope));
  CommandAnswer answer;
  bool unchanged = command_.unchanged_when && scope.Holds(*command_.unchanged_when);
  if (!unchanged) {
    HF_CHECK_OK(Write(command_.writes, &scope));
    HF_CHECK_OK(transaction_->Build(nullptr));
  }
  answer.changed = !unchanged && !transaction_->empty();
  answer.created = first_ && first_->created;
  HF_TRY(answer.result, ResultOf(&scope));
  answer.warnings = warnings_;
  for (const ModelWarning& warning : transaction_->warnings()) answer.warnings.push_back(warning);
  if (record) transaction_->Add(record->Keep(answer));
  if (answer.changed || record) HF_CHECK_OK(transaction_->Commit(failure));
  if (answer.changed) HF_CHECK_OK(Tell(&scope, &answer));
  return answer;
}

// --- reading ---

Status Running::ReadAll(Scope* scope) {
  for (const CommandRead& read : command_.reads) {
    Found found{&read, std::nullopt, std::nullopt};
    if (!scope->Holds(read.when)) {
      scope->Set(read.name, std::optional<ValueView>());
      found_.emplace(read.name, std::move(found));
      continue;
    }
    HF_TRY(Item key, scope->Evaluate(read.key));
    std::optional<Item> hidden;
    Result<Item> stored = runtime_.Load(caller_, *read.entity, key, /*consistent=*/true, &hidden);
    bool relied_on = read.looked_at && !read.loose;
    if (stored) {
      scope->Set(read.name, Record(read.entity, *stored).Fields());
      if (relied_on) transaction_->Expect(*read.entity, *stored, read.relied_on);
      found.stored = *std::move(stored);
    } else if (read.optional && RefusalName(stored.error()) == "NotFound") {
      scope->Set(read.name, std::optional<ValueView>());
      HF_TRY(Item with, runtime_.WithTenant(caller_, *read.entity, key));
      HF_TRY(std::vector<Item> keys, KeysOf(*read.entity, with));
      if (hidden)
        transaction_->ExpectHidden(*read.entity, *hidden);
      else if (relied_on)
        transaction_->ExpectNone(*read.entity, keys[0]);
      found.absent_key = std::move(keys[0]);
    } else {
      return stored.error();
    }
    found_.emplace(read.name, std::move(found));
  }
  return Ok{};
}

Status Running::SetLet(const Fields& let, Scope* scope) {
  for (const auto& [name, value] : let) {
    HF_TRY(std::optional<ValueView> made, scope->Evaluate(value));
    scope->Set(name, made);
  }
  return Ok{};
}

Status Running::Compute(Scope* scope) {
  if (command_.compute.empty()) return Ok{};
  const auto& library = runtime_.options_.commands;
  if (library == nullptr || library->functions.count(command_.compute) == 0)
    return Refuse("NotConfigured", command_.name + " needs " + command_.compute +
                                       ", which is written in C++ and not part of this program");
  std::map<std::string, Item> reads;
  for (const auto& [name, found] : found_) {
    if (found.stored) reads.emplace(name, Record(found.read->entity, *found.stored).Fields());
  }
  CommandContext context{application_, caller_, command_.name, input_, reads, sources_.now_millis};
  HF_TRY(Item computed, library->functions.find(command_.compute)->second(context));
  scope->Set("computed", computed);
  return Ok{};
}

Status Running::CheckRefusals(Scope* scope) {
  for (const Refusal& refusal : command_.refusals) {
    if (!scope->Holds(refusal.when) || (refusal.unless && scope->Holds(*refusal.unless))) continue;
    HF_TRY(Item details, scope->Evaluate(refusal.details));
    if (refusal.retry_after) {
      HF_TRY(std::optional<ValueView> seconds, scope->Evaluate(*refusal.retry_after));
      if (seconds) details.Set("retry_after", value::ToAttributeValue(*seconds));
    }
    HF_TRY(std::optional<ValueView> message, scope->Evaluate(refusal.message));
    std::string text = message ? ReadableValue(value::ToAttributeValue(*message))
                               : command_.name + " is refused: " + refusal.name;
    return Refuse(refusal.name, refusal.http_status, std::move(text), details.ToMap());
  }
  return Ok{};
}

// --- writing ---

Status Running::Write(const std::vector<WriteStep>& steps, Scope* scope) {
  for (const WriteStep& step : steps) HF_CHECK_OK(WriteOne(step, scope));
  return Ok{};
}

Status Running::WriteOne(const WriteStep& step, Scope* scope) {
  if (!scope->Holds(step.when)) return Ok{};
  switch (step.form) {
    case WriteStep::Form::kPut: {
      HF_TRY(Item fields, FieldsOf(step, *step.entity, /*exists=*/false, scope));
      return WritePut(step, *step.entity, fields, scope);
    }
    case WriteStep::Form::kPatch: {
      const Found& found = found_.find(step.read)->second;
      if (found.stored) return WriteChange(step, found, scope);
      const Entity& entity = *found.read->entity;
      Item known = Record(&entity, found.absent_key.value_or(Item())).Fields();
      return NotFound(entity, IdOf(entity, known));
    }
    case WriteStep::Form::kSave: return WriteSave(step, scope);
    case WriteStep::Form::kDelete: return WriteDelete(step, scope);
    case WriteStep::Form::kCheck: {
      if (step.entity != nullptr) {
        HF_TRY(Item key, scope->Evaluate(step.key));
        HF_TRY(Item stored, runtime_.Load(caller_, *step.entity, key, /*consistent=*/true));
        transaction_->Expect(*step.entity, stored, {});
        return Ok{};
      }
      const Found& found = found_.find(step.read)->second;
      if (!found.stored) return Ok{};
      transaction_->Expect(*found.read->entity, *found.stored, found.read->relied_on);
      return transaction_->ExpectState(*found.read->entity, *found.stored, step.expect_state);
    }
    case WriteStep::Form::kUse: return WriteFunction(step, scope);
    case WriteStep::Form::kCases:
      for (const WriteStep& one : step.steps) {
        if (scope->Holds(one.when)) return Write(one.steps, scope);
      }
      return Ok{};
    case WriteStep::Form::kForEach: {
      HF_TRY(std::optional<ValueView> list, scope->Evaluate(*step.list));
      if (!list || list->type() != Type::kList) return Ok{};
      size_t mark = scope->Mark();
      for (uint32_t i = 0; i < list->entries().size(); ++i) {
        scope->Set(step.as, list->element(i));
        HF_CHECK_OK(Write(step.steps, scope));
        scope->Leave(mark);
      }
      return Ok{};
    }
  }
  return Ok{};
}

Result<Item> Running::FieldsOf(const WriteStep& step, const Entity& entity, bool exists, Scope* scope) {
  HF_TRY(Item set, scope->Evaluate(step.set, /*nulls=*/exists));
  if (!step.from) return set;
  HF_TRY(std::optional<ValueView> from, scope->Evaluate(*step.from));
  if (!from || from->type() != Type::kMap) return set;
  std::vector<std::string> key = entity.KeyInputs();
  AttributeMap fields;
  MapView map = from->map();
  for (uint32_t i = 0; i < map.size(); ++i) {
    std::string name(map.At(i).name);
    const Attribute* attribute = entity.Find(name);
    bool in_key = std::find(key.begin(), key.end(), name) != key.end();
    bool null = map.At(i).value.type() == Type::kNull;
    if (attribute == nullptr || attribute->always || (exists && in_key) || (null && !exists)) continue;
    fields[name] = value::ToAttributeValue(map.At(i).value);
  }
  for (auto& [name, value] : set.ToMap()) fields[name] = value;
  return Item(fields);
}

Result<Expected> Running::ExpectedOf(const WriteStep& step, Scope* scope) {
  Expected expected;
  if (!step.expect) return expected;
  HF_TRY(std::optional<ValueView> version, scope->Evaluate(*step.expect));
  if (version) expected.version = value::ToAttributeValue(*version);
  return expected;
}

void Running::NoteFirst(const Entity& entity, const Item& key, bool created) {
  if (!first_) first_ = First{&entity, key, created};
}

Status Running::WritePut(const WriteStep& step, const Entity& entity, const Item& fields, Scope* scope) {
  Item bumped = fields;
  if (!step.bump.empty() && bump_millis_ > 0) {
    auto instant = MapView(fields).Find(step.bump);
    int64_t from = instant ? MillisOf(*instant).value_or(sources_.now_millis) : sources_.now_millis;
    bumped.Set(step.bump, TimeValue(Kind::kInstant, from + bump_millis_));
  }
  HF_TRY(Record record, transaction_->Put(entity, bumped, Origin::kCaller, !step.bump.empty()));
  NoteFirst(entity, KeyOf(*entity.table, record.stored()), /*created=*/true);
  if (!step.as.empty()) scope->Set(step.as, record.Fields());
  return Ok{};
}

Status Running::WriteChange(const WriteStep& step, const Found& found, Scope* scope) {
  const Entity& entity = *found.read->entity;
  HF_TRY(Item changes, FieldsOf(step, entity, /*exists=*/true, scope));
  Transaction::ChangeRules rules;
  HF_TRY(rules.expected, ExpectedOf(step, scope));
  rules.states = step.expect_state;
  rules.any_state = step.any_state;
  NoteFirst(entity, KeyOf(*entity.table, *found.stored), /*created=*/false);
  return transaction_->Change(entity, *found.stored, changes, rules);
}

Status Running::WriteSave(const WriteStep& step, Scope* scope) {
  const Found& found = found_.find(step.read)->second;
  if (found.stored) return WriteChange(step, found, scope);
  const Entity& entity = *found.read->entity;
  HF_TRY(Expected expected, ExpectedOf(step, scope));
  if (expected.version) return Runtime::VersionConflict(entity, Item());
  HF_TRY(Item fields, FieldsOf(step, entity, /*exists=*/false, scope));
  HF_TRY(Item fresh, scope->Evaluate(step.fresh));
  HF_TRY(Item key, scope->Evaluate(found.read->key));
  AttributeMap all = key.ToMap();
  for (const Item* more : {&fields, &fresh}) {
    for (auto& [name, value] : more->ToMap()) all[name] = value;
  }
  return WritePut(step, entity, Item(all), scope);
}

Status Running::WriteDelete(const WriteStep& step, Scope* scope) {
  if (step.entity != nullptr) {
    HF_TRY(Item key, scope->Evaluate(step.key));
    Result<Item> stored = runtime_.Load(caller_, *step.entity, key, /*consistent=*/true);
    if (stored) return transaction_->Delete(*step.entity, *stored, {});
    return RefusalName(stored.error()) == "NotFound" ? OkStatus() : Status(stored.error());
  }
  const Found& found = found_.find(step.read)->second;
  if (!found.stored) return Ok{};
  HF_TRY(Expected expected, ExpectedOf(step, scope));
  NoteFirst(*found.read->entity, KeyOf(*found.read->entity->table, *found.stored), /*created=*/false);
  return transaction_->Delete(*found.read->entity, *found.stored, expected);
}

Status Running::WriteFunction(const WriteStep& step, Scope* scope) {
  HF_TRY(Item with, scope->Evaluate(step.set));
  const CommandFunction& function = *runtime_.model_->FindFunction(step.function);
  size_t mark = scope->Mark();
  scope->Set("with", with);
  HF_CHECK_OK(SetLet(function.let, scope));
  HF_CHECK_OK(Write(function.write, scope));
  scope->Leave(mark);
  return Ok{};
}

// --- answering ---

Result<Item> Running::ResultOf(Scope* scope) {
  Item written;
  if (first_) {
    if (const Record* record = transaction_->Find(*first_->entity, first_->key)) written = record->Fields();
  }
  scope->Set("written", written);
  if (command_.result) {
    HF_TRY(std::optional<ValueView> result, scope->Evaluate(*command_.result));
    return result ? ItemOf(*result) : Item();
  }
  if (first_) return written;
  // Nothing was written: what would have been changed is as it was.
  const Found* found = FirstToChange(command_.writes);
  return found == nullptr ? Item() : Record(found->read->entity, *found->stored).Fields();
}

const Running::Found* Running::FirstToChange(const std::vector<WriteStep>& steps) const {
  for (const WriteStep& step : steps) {
    auto at = found_.find(step.read);
    bool changes = step.form == WriteStep::Form::kPatch || step.form == WriteStep::Form::kSave;
    if (changes && at != found_.end() && at->second.stored) return &at->second;
    bool used = step.form == WriteStep::Form::kUse;
    const Found* within =
        FirstToChange(used ? runtime_.model_->FindFunction(step.function)->write : step.steps);
    if (within != nullptr) return within;
  }
  return nullptr;
}

Status Running::Tell(Scope* scope, CommandAnswer* answer) {
  for (const Emission& emission : command_.emits) {
    if (!scope->Holds(emission.when)) continue;
    Emitted emitted{emission.name, {}, {}};
    if (emission.to) {
      HF_TRY(std::optional<ValueView> to, scope->Evaluate(*emission.to));
      if (!to || to->type() != Type::kString) continue;
      emitted.to = to->payload();
    }
    HF_TRY(emitted.body, scope->Evaluate(emission.body));
    answer->emitted.push_back(std::move(emitted));
  }
  return Ok{};
}

// --- several entities at once ---

namespace {

// Tells which entry of a transaction was refused.
Error AtEntry(const Error& error, size_t index) {
  if (error.code() != ErrorCode::kRefused) return AtEntry(FromStore(error), index);
  const auto& refusal = error.detail()->refusal;
  AttributeMap details = refusal.details;
  details["index"] = index;
  return Refuse(refusal.name, refusal.http_status, error.message(), std::move(details));
}

}  // namespace

Status Runtime::MayEnter(const Caller& caller, const Entry& entry) const {
  HF_TRY(const Entity* entity, EntityNamed(entry.entity));
  if (entry.kind == Entry::Kind::kCheck) return MayRead(caller, *entity);
  return MayWrite(caller, *entity, /*changes=*/entry.kind != Entry::Kind::kPut || entry.expected.version);
}

// Adds one entry to the transaction. What is stored now decides.
Status Runtime::AddEntry(const Caller& caller, const Entry& entry, Transaction* transaction) {
  static const ParamValues kNoParams = [](std::string_view) { return std::nullopt; };
  constexpr size_t kConditionBytesMax = 1024;
  HF_TRY(const Entity* entity, EntityNamed(entry.entity));
  if (entry.kind == Entry::Kind::kPut && !entry.expected.version) {
    HF_TRY(Record record, transaction->Put(*entity, entry.fields, Origin::kCaller));
    return Ok{};
  }
  const Item& known = entry.kind == Entry::Kind::kPut ? entry.fields : entry.key;
  std::vector<std::string> key_inputs = entity->KeyInputs();
  for (const auto& [name, value] : entry.key.ToMap()) {
    if (std::find(key_inputs.begin(), key_inputs.end(), name) == key_inputs.end())
      return RefuseField("key." + name, "is no part of the key of " + entity->name);
  }
  HF_TRY(Item stored, Load(caller, *entity, known, /*consistent=*/true));
  HF_CHECK_OK(CheckVersion(*entity, stored, entry.expected));
  std::set<std::string> unchanged;
  if (entry.expected.version) unchanged.insert(entity->version);
  if (!entry.that.empty()) {
    if (entry.that.size() > kConditionBytesMax) return RefuseField("that", "is too long");
    auto condition = ParseCondition(entry.that);
    if (!condition) return RefuseField("that", condition.error().message(), entry.that);
    for (std::string& name : condition->Attributes()) {
      const Attribute* attribute = entity->Find(name);
      if (attribute == nullptr) return RefuseField("that", name + " is no attribute of " + entity->name);
      if (attribute->stored) unchanged.insert(std::move(name));
    }
    Item fields = Record(entity, stored).Fields();
    if (!Holds(*condition, fields.flat(), kNoParams, Absent::kFails))
      return Refuse("Conflict", "it is not so that " + entry.that, {{"entity", entity->name}});
  }
  transaction->Expect(*entity, stored, unchanged);
  switch (entry.kind) {
    case Entry::Kind::kPut: {
      Transaction::ChangeRules rules;
      rules.expected = entry.expected;
      rules.replace = true;
      return transaction->Change(*entity, stored, entry.fields, rules);
    }
    case Entry::Kind::kPatch: return transaction->Change(*entity, stored, entry.fields, {entry.expected, {}});
    case Entry::Kind::kDelete: return transaction->Delete(*entity, stored, entry.expected);
    case Entry::Kind::kCheck: return Ok{};
  }
  return Ok{};
}

Result<std::vector<Written>> Runtime::Transact(const Caller& caller, const std::vector<Entry>& entries,
                                               const RunOptions& options) {
  if (entries.empty()) return RefuseField("entries", "is empty");
  if (entries.size() > limits::kTransactionActionsMax)
    return Refuse("TransactionTooLarge", "100 entries are the most");
  for (size_t i = 0; i < entries.size(); ++i) {
    Status may = MayEnter(caller, entries[i]);
    if (!may) return AtEntry(may.error(), i);
  }
  std::optional<IdempotencyRecord> record;
  auto answered = [&](const CommandAnswer& before) {
    std::vector<Written> written;
    for (size_t i = 0; i < entries.size(); ++i) {
      auto item = value::MapView(before.result).Find(std::to_string(i));
      Record then(model_->FindEntity(entries[i].entity), item ? ItemOf(*item) : Item());
      written.push_back({std::move(then), {}, /*created=*/false, /*replayed=*/true});
    }
    return written;
  };
  if (!options.idempotency_key.empty()) {
    Item all;
    for (size_t i = 0; i < entries.size(); ++i) {
      const Entry& entry = entries[i];
      all.Set(std::to_string(i),
              AttributeValue::Map({{"kind", static_cast<int64_t>(entry.kind)},
                                   {"entity", entry.entity},
                                   {"key", AttributeValue::Map(entry.key.ToMap())},
                                   {"fields", AttributeValue::Map(entry.fields.ToMap())},
                                   {"version", entry.expected.version.value_or(AttributeValue())},
                                   {"that", entry.that}}));
    }
    HF_TRY(record,
           IdempotencyRecord::Make(model_->name, caller, options, "transact", all, clock_.NowSeconds()));
    HF_TRY(std::optional<CommandAnswer> before, record->Find(store_));
    if (before) return answered(*before);
  }
  for (int attempt = 1;; ++attempt) {
    Sources sources = MakeSources();
    Transaction transaction(this, caller, &sources);
    for (size_t i = 0; i < entries.size(); ++i) {
      Status added = AddEntry(caller, entries[i], &transaction);
      if (!added) return AtEntry(added.error(), i);
      if (transaction.size() != i + 1)
        return AtEntry(RefuseField("entries", "two entries are about one item"), i);
    }
    size_t failed = 0;
    Status built = transaction.Build(&failed);
    if (!built) return AtEntry(built.error(), failed);
    std::vector<Written> written;
    CommandAnswer answer;
    for (size_t i = 0; i < entries.size(); ++i) {
      written.push_back({transaction.RecordAt(i), {}});
      if (record)
        answer.result.Set(std::to_string(i), AttributeValue::Map(written.back().record.stored().ToMap()));
    }
    if (record) transaction.Add(record->Keep(answer));
    Transaction::Failure failure;
    Status done = transaction.Commit(&failure);
    if (done) {
      if (!written.empty()) written[0].warnings = transaction.warnings();
      return written;
    }
    if (failure.extra) {
      HF_TRY(std::optional<CommandAnswer> before, record->Find(store_));
      if (before) return answered(*before);
    } else if (!failure.try_again) {
      return AtEntry(done.error(), failure.slot);
    }
    if (attempt == kAttemptsMax) return AtEntry(done.error(), failure.slot);
    Pause(attempt);
  }
}

}  // namespace holdfast::model
