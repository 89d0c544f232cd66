// Single entities: create, put, patch, delete, get.

#include <algorithm>
#include <chrono>
#include <thread>

#include "model/embed.h"
#include "model/instant.h"
#include "model/runtime.h"
#include "model/seal.h"

namespace holdfast::model {
namespace {

using value::MapView;
using value::Type;

const auto kOldItem = ReturnValuesOnConditionCheckFailure::kAllOld;

std::optional<std::string> TextOf(const Item& item, std::string_view name) {
  auto value = MapView(item).Find(name);
  if (!value || value->type() != Type::kString) return std::nullopt;
  return std::string(value->payload());
}

bool SameVersion(const AttributeValue& a, const AttributeValue& b) {
  if (a == b) return true;
  auto left = MillisOf(value::ValueView(FlatValue(a)));
  return a.type() == Type::kString && left && left == MillisOf(value::ValueView(FlatValue(b)));
}

}  // namespace

Error Runtime::AlreadyThere(const Entity& entity, const Item& item) {
  std::string id = IdOf(entity, Record(&entity, item).Fields());
  return Refuse("AlreadyExists", "there is a " + entity.name + " already: " + id,
                {{"entity", entity.name}, {"id", id}});
}

Error Runtime::VersionConflict(const Entity& entity, const Item& current) {
  AttributeMap details{{"entity", entity.name}};
  if (auto version = current.Get(entity.version)) details["current"] = *version;
  return Refuse("VersionConflict", entity.name + " has changed since it was read", std::move(details));
}

Status Runtime::CheckVersion(const Entity& entity, const Item& stored, const Expected& expected) {
  if (!expected.version) return Ok{};
  if (entity.version.empty()) return RefuseField("expectedVersion", entity.name + " has no version");
  auto current = stored.Get(entity.version);
  if (!current || !SameVersion(*current, *expected.version)) return VersionConflict(entity, stored);
  return Ok{};
}

Runtime::Runtime(Store* store, ModelPtr model, ApplicationOptions options)
    : store_(store),
      model_(std::move(model)),
      options_(std::move(options)),
      clock_(options_.now_millis),
      ulids_(&clock_, &random_),
      cursors_(options_.cursor_key),
      memories_(store, model_.get()) {}

Result<const Entity*> Runtime::EntityNamed(std::string_view name) const {
  const Entity* entity = model_->FindEntity(name);
  if (entity != nullptr) return entity;
  return Refuse("NotFound", "the model " + model_->name + " has no entity " + std::string(name));
}

Sources Runtime::MakeSources() {
  Sources sources;
  sources.now_millis = clock_.NowMillis();
  sources.random = &random_;
  sources.ulids = &ulids_;
  if (options_.master_keys) {
    sources.seal = [this](std::string_view plaintext, std::string_view context) {
      return Seal(*options_.master_keys, plaintext, context);
    };
  }
  sources.embed = [this](const Attribute& attribute, std::string_view text) -> Result<std::vector<float>> {
    HF_TRY(std::shared_ptr<Embedder> embedder, EmbedderFor(attribute));
    return embedder->Embed(text, attribute.dimensions);
  };
  return sources;
}

Result<std::shared_ptr<Embedder>> Runtime::EmbedderFor(const Attribute& attribute) {
  const std::string& via = options_.embedder.empty() ? attribute.embed_via : options_.embedder;
  base::MutexLock lock(&embedders_mu_);
  std::shared_ptr<Embedder>& embedder = embedders_[via];
  if (embedder == nullptr) {
    HF_TRY(embedder, MakeEmbedder(via));
  }
  return embedder;
}

Result<AttributeValue> Runtime::Reveal(const Record& record, std::string_view name, std::string_view role) {
  const Attribute* attribute = record.entity() == nullptr ? nullptr : record.entity()->Find(name);
  if (attribute == nullptr || attribute->kind != Kind::kEncrypted)
    return RefuseField(std::string(name), "is no encrypted attribute");
  if (attribute->revealed_to.empty() || role != attribute->revealed_to)
    return Refuse("Forbidden",
                  std::string(name) + " is revealed to the role " + attribute->revealed_to + " only");
  auto sealed = TextOf(record.stored(), name);
  if (!sealed) return AttributeValue();
  if (!options_.master_keys) return Refuse("NotConfigured", "no master key is configured: pass --key-file");
  HF_TRY(std::string context, SealContext(*record.entity(), *attribute, record.stored()));
  HF_TRY(std::string plaintext, Unseal(*options_.master_keys, *sealed, context));
  return AttributeValue(std::move(plaintext));
}

Status Runtime::MayWrite(const Caller& caller, const Entity& entity, bool changes) const {
  if (entity.append_only && changes)
    return Refuse("Forbidden", entity.name + " is append-only: it is neither changed nor deleted");
  if (entity.command_only && !caller.administrator)
    return Refuse("Forbidden", entity.name + " is written by commands only");
  if (!model::MayWrite(*model_, caller, entity))
    return Refuse("Forbidden", "the role " + caller.role + " may not write " + entity.name);
  return Ok{};
}

Result<Item> Runtime::WithTenant(const Caller& caller, const Entity& entity, const Item& fields) const {
  if (caller.tenant.empty() || model_->tenant.empty() || entity.Find(model_->tenant) == nullptr)
    return fields;
  auto given = TextOf(fields, model_->tenant);
  if (given && model_->TenantOf(*given) != caller.tenant) return NotFound(entity, IdOf(entity, fields));
  if (!model_->FillsTenant()) return fields;
  Item with = fields;
  with.Set(model_->tenant, caller.tenant);
  return with;
}

bool Runtime::IsExpired(const Table& table, const Item& stored) const {
  if (table.ttl.empty()) return false;
  auto value = MapView(stored).Find(table.ttl);
  int64_t seconds = 0;
  if (!value || value->type() != Type::kNumber || !value->number().ToInt64(&seconds)) return false;
  return seconds <= clock_.NowSeconds();
}

bool Runtime::IsVisible(const Caller& caller, const Entity& entity, const Item& stored) const {
  if (caller.tenant.empty() || model_->tenant.empty()) return true;
  const Attribute* attribute = entity.Find(model_->tenant);
  bool in_key = attribute != nullptr && !attribute->stored;  // where more may stand under the same name
  auto owner = TextOf(in_key ? Record(&entity, stored).Fields() : stored, model_->tenant);
  return !owner || model_->TenantOf(*owner) == caller.tenant;
}

Result<Item> Runtime::ParentKey(const Parent& parent, const Item& item) const {
  Item known;
  for (const auto& [theirs, own] : parent.bind) {
    if (auto value = item.Get(own)) known.Set(theirs, *value);
  }
  HF_TRY(std::vector<Item> keys, KeysOf(*model_->FindEntity(parent.entity), known));
  return std::move(keys[0]);
}

Status Runtime::CheckOwner(const Caller& caller, const Entity& entity, const Item& known) {
  if (caller.tenant.empty() || model_->tenant.empty() || entity.parents.empty()) return Ok{};
  std::vector<std::string> inputs = entity.KeyInputs();
  if (std::find(inputs.begin(), inputs.end(), model_->tenant) != inputs.end())
    return Ok{};  // the key itself says whose
  const Parent& parent = entity.parents[0];
  const Entity& parent_entity = *model_->FindEntity(parent.entity);
  if (parent_entity.Find(model_->tenant) == nullptr) return Ok{};
  Item with = known;
  with.Set(model_->tenant, caller.tenant);
  HF_TRY(Item key, ParentKey(parent, with));
  GetItemRequest request;
  request.table_name = parent_entity.table->name;
  request.key = std::move(key);
  auto got = store_->Run(request);
  if (!got) return FromStore(got.error());
  if (!got->item || IsExpired(*parent_entity.table, *got->item) ||
      !IsVisible(caller, parent_entity, *got->item))
    return NotFound(parent_entity, IdOf(entity, known));
  return Ok{};
}

Status Runtime::AddParentChecks(const Entity& entity, const Item& item, const std::vector<Item>& written,
                                std::vector<TransactWriteItem>* actions) const {
  for (const Parent& parent : entity.parents) {
    bool bound = std::all_of(parent.bind.begin(), parent.bind.end(), [&](const auto& bind) {
      auto value = item.Get(bind.second);
      return value && !value->is_null();
    });
    if (!bound) continue;
    const Entity& parent_entity = *model_->FindEntity(parent.entity);
    HF_TRY(Item key, ParentKey(parent, item));
    auto same = [&](const Item& other) { return other == key; };
    if (std::any_of(written.begin(), written.end(), same)) continue;
    bool asked = std::any_of(actions->begin(), actions->end(), [&](const TransactWriteItem& action) {
      return action.condition_check && action.condition_check->key == key &&
             action.condition_check->table_name == parent_entity.table->name;
    });
    if (asked) continue;
    TransactConditionCheck check;
    check.table_name = parent_entity.table->name;
    check.key = std::move(key);
    ExpressionBuilder builder;
    builder.Text("attribute_exists(").Path(parent_entity.table->key[0].name).Text(")");
    check.condition_expression = builder.Take();
    check.of_model = true;
    builder.Finish(&check);
    actions->emplace_back().condition_check = std::move(check);
  }
  return Ok{};
}

Result<Item> Runtime::Load(const Caller& caller, const Entity& entity, const Item& known, bool consistent,
                           std::optional<Item>* hidden) {
  HF_TRY(Item with, WithTenant(caller, entity, known));
  HF_TRY(std::vector<Item> keys, KeysOf(entity, with));
  for (Item& key : keys) {
    GetItemRequest request;
    request.table_name = entity.table->name;
    request.key = std::move(key);
    if (consistent) request.consistent_read = true;
    auto got = store_->Run(request);
    if (!got) return FromStore(got.error());
    if (!got->item) continue;
    if (IsExpired(*entity.table, *got->item)) break;
    Status visible = model_->EntityOf(*entity.table, *got->item, {&entity}) != nullptr &&
                             IsVisible(caller, entity, *got->item)
                         ? Status(Ok{})
                         : NotFound(entity, IdOf(entity, known));
    if (visible && !caller.tenant.empty())
      visible = CheckOwner(caller, entity, Record(&entity, *got->item).Fields());
    if (visible) return *std::move(got->item);
    if (hidden != nullptr) *hidden = *std::move(got->item);
    return visible.error();
  }
  return NotFound(entity, IdOf(entity, known));
}

Result<Record> Runtime::Get(const Caller& caller, const Entity& entity, const Item& key) {
  HF_CHECK_OK(MayRead(caller, entity));
  HF_TRY(Item stored, Load(caller, entity, key, /*consistent=*/true));
  return Record(&entity, std::move(stored));
}

// --- creating ---

// What else a new item's transaction must check: that its parents are there and that the same instant does
// not stand there in the other spelling.
Status Runtime::AddChecksOfNew(const Entity& entity, const Item& item, const std::vector<Item>& written,
                               std::vector<TransactWriteItem>* actions) const {
  std::vector<std::string> inputs = entity.KeyInputs();
  bool timed = std::any_of(inputs.begin(), inputs.end(), [&](const std::string& name) {
    return entity.Find(name)->kind == Kind::kInstant;
  });
  if (entity.parents.empty() && !timed) return Ok{};
  Item fields = Record(&entity, item).Fields();
  HF_CHECK_OK(AddParentChecks(entity, fields, written, actions));
  if (!timed) return Ok{};
  HF_TRY(std::vector<Item> keys, KeysOf(entity, fields));
  if (keys.size() < 2) return Ok{};
  TransactConditionCheck other;
  other.table_name = entity.table->name;
  other.key = std::move(keys[1]);
  RequireAbsent(*entity.table, &other);
  actions->emplace_back().condition_check = std::move(other);
  return Ok{};
}

// An action that wanted something absent found it; one that wanted a parent did not.
Error Runtime::WhyRefused(const TransactWriteItem& action) const {
  const auto& check = action.condition_check;
  const std::string& table_name = check ? check->table_name : action.put->table_name;
  const Item& item = check ? check->key : action.put->item;
  const Entity* entity = model_->EntityOf(*model_->TableNamed(table_name), item);
  bool wanted_absent = !check || check->condition_expression.starts_with("attribute_not_exists");
  if (entity == nullptr)
    return Refuse(wanted_absent ? "AlreadyExists" : "NotFound",
                  "an item of " + table_name + " stood in the way");
  if (wanted_absent) return AlreadyThere(*entity, item);
  return NotFound(*entity, IdOf(*entity, Record(entity, item).Fields()));
}

Error Runtime::CancelledBecause(const Error& error, const std::vector<TransactWriteItem>& actions) const {
  if (error.code() != ErrorCode::kTransactionCanceled || error.detail() == nullptr) return FromStore(error);
  const auto& reasons = error.detail()->reasons;
  for (size_t i = 0; i < reasons.size() && i < actions.size(); ++i) {
    if (reasons[i].code == "ConditionalCheckFailed") return WhyRefused(actions[i]);
  }
  return FromStore(error);
}

Status Runtime::WriteTransaction(TransactWriteItemsRequest request) {
  auto done = store_->Run(request);
  if (done) return Ok{};
  return CancelledBecause(done.error(), request.transact_items);
}

Status Runtime::WriteNew(const Entity& entity, const Item& item) {
  std::vector<TransactWriteItem> actions;
  HF_CHECK_OK(AddChecksOfNew(entity, item, {}, &actions));
  if (actions.empty()) {
    PutItemRequest put;
    put.table_name = entity.table->name;
    put.item = item;
    RequireAbsent(*entity.table, &put);
    auto done = store_->Run(put);
    if (done) return Ok{};
    if (done.error().code() != ErrorCode::kConditionalCheckFailed) return FromStore(done.error());
    return AlreadyThere(entity, item);
  }
  AddPut(entity, item, &actions);
  TransactWriteItemsRequest request;
  request.transact_items = std::move(actions);
  return WriteTransaction(std::move(request));
}

void Runtime::AddPut(const Entity& entity, const Item& item, std::vector<TransactWriteItem>* actions) const {
  TransactPut put;
  put.table_name = entity.table->name;
  put.item = item;
  RequireAbsent(*entity.table, &put);
  actions->emplace_back().put = std::move(put);
}

Status Runtime::Patiently(const std::function<Status()>& write) {
  for (int attempt = 1;; ++attempt) {
    Status done = write();
    if (done || RefusalName(done.error()) != "Conflict" || attempt == kAttemptsMax) return done;
    Pause(attempt);
  }
}

Result<Written> Runtime::Create(const Caller& caller, std::string_view name, const Item& fields,
                                Origin origin) {
  HF_TRY(const Entity* entity, EntityNamed(name));
  HF_CHECK_OK(MayWrite(caller, *entity, /*changes=*/false));
  HF_TRY(Item with, WithTenant(caller, *entity, fields));
  Sources sources = MakeSources();
  HF_TRY(BuiltItem built, BuildNew(*model_, *entity, with, origin, sources));
  HF_CHECK_OK(Patiently([&] { return WriteNew(*entity, built.item); }));
  NoteWrite(*entity, built.item, /*deleted=*/false);
  return Written{Record(entity, std::move(built.item)), std::move(built.warnings), /*created=*/true};
}

// --- changing ---

void Runtime::Pause(int attempt) {
  std::this_thread::sleep_for(std::chrono::milliseconds(random_.Below(uint64_t{4} << attempt) + 1));
}

Result<TransactUpdate> Runtime::ChangeAction(const Entity& entity, const Item& stored,
                                             const BuiltChange& change, const Expected& expected,
                                             std::set<std::string> fixed, const std::vector<Condition>& where,
                                             const ParamValues& params) const {
  ExpressionBuilder builder;
  std::string update = builder.Update(change.item, change.set, change.removed).Take();
  builder.Text("attribute_exists(").Path(entity.table->key[0].name).Text(")");
  // What the change rests on must still be so: the state, the version, what index keys are made of.
  fixed.insert(change.relied_on.begin(), change.relied_on.end());
  if (!change.from_state.empty()) {
    if (!entity.machine->field.empty()) fixed.insert(entity.machine->field);
    for (const State& state : entity.machine->states) {
      if (!state.when) continue;
      for (std::string& name : state.when->Attributes()) fixed.insert(std::move(name));
    }
  }
  const Attribute* version = entity.version.empty() ? nullptr : entity.Find(entity.version);
  if (version != nullptr && (version->kind == Kind::kNumber || expected.version))
    fixed.insert(entity.version);
  for (const std::string& name : fixed) builder.AndUnchanged(name, stored);
  for (const Condition& condition : where) {
    builder.And();
    HF_CHECK_OK(AppendCondition(condition, params, &builder));
  }
  TransactUpdate action;
  action.table_name = entity.table->name;
  action.key = KeyOf(*entity.table, stored);
  action.update_expression = std::move(update);
  action.condition_expression = builder.Take();
  builder.Finish(&action);
  action.return_values_on_condition_check_failure = kOldItem;
  return action;
}

bool Runtime::MovesParent(const Entity& entity, const BuiltChange& change) {
  return std::any_of(entity.parents.begin(), entity.parents.end(), [&](const Parent& parent) {
    return std::any_of(parent.bind.begin(), parent.bind.end(), [&](const auto& bind) {
      return std::find(change.set.begin(), change.set.end(), bind.second) != change.set.end();
    });
  });
}

Status Runtime::WriteChange(const Entity& entity, const Item& stored, const BuiltChange& change,
                            const Expected& expected, const std::vector<Condition>& where,
                            const ParamValues& params) {
  HF_TRY(TransactUpdate action, ChangeAction(entity, stored, change, expected, {}, where, params));
  std::vector<TransactWriteItem> actions;
  if (MovesParent(entity, change))
    HF_CHECK_OK(AddParentChecks(entity, Record(&entity, change.item).Fields(), {}, &actions));
  if (actions.empty()) {
    UpdateItemRequest request;
    request.table_name = std::move(action.table_name);
    request.key = std::move(action.key);
    request.update_expression = std::move(action.update_expression);
    request.condition_expression = std::move(action.condition_expression);
    request.expression_attribute_names = std::move(action.expression_attribute_names);
    request.expression_attribute_values = std::move(action.expression_attribute_values);
    request.return_values_on_condition_check_failure = kOldItem;
    auto done = store_->Run(request);
    if (!done) return done.error();
    return Ok{};
  }
  actions.emplace_back().update = std::move(action);
  TransactWriteItemsRequest request;
  request.transact_items = std::move(actions);
  auto done = store_->Run(request);
  if (done) return Ok{};
  if (done.error().code() == ErrorCode::kTransactionCanceled && done.error().detail() != nullptr) {
    const CancellationReason& last = done.error().detail()->reasons.back();
    if (last.code == "ConditionalCheckFailed") {
      auto detail = std::make_shared<ErrorDetail>();
      detail->item = last.item;
      return Error(ErrorCode::kConditionalCheckFailed, "the condition failed", std::move(detail));
    }
  }
  return CancelledBecause(done.error(), request.transact_items);
}

Result<Written> Runtime::PatchOnce(const Entity& entity, const Item& stored, const Item& changes,
                                   bool replace, const Expected& expected,
                                   const std::vector<Condition>& where, const ParamValues& params,
                                   bool* try_again) {
  HF_CHECK_OK(CheckVersion(entity, stored, expected));
  Sources sources = MakeSources();
  HF_TRY(BuiltChange change, BuildChange(*model_, entity, stored, changes, replace, sources));
  Record record(&entity, change.item);
  if (change.set.empty() && change.removed.empty()) {
    for (const Condition& condition : where) {
      if (!Holds(condition, stored.flat(), params, Absent::kFails)) return VersionConflict(entity, stored);
    }
    return Written{std::move(record), std::move(change.warnings)};
  }
  Status done = WriteChange(entity, stored, change, expected, where, params);
  if (done) {
    NoteWrite(entity, change.item, /*deleted=*/false);
    return Written{std::move(record), std::move(change.warnings)};
  }
  if (done.error().code() != ErrorCode::kConditionalCheckFailed) {
    Error refused = FromStore(done.error());
    *try_again = RefusalName(refused) == "Conflict";
    return refused;
  }
  // The item that stood in the way tells why.
  const ErrorDetail* detail = done.error().detail();
  if (detail == nullptr || !detail->item)
    return NotFound(entity, IdOf(entity, Record(&entity, stored).Fields()));
  const Item& current = *detail->item;
  if (!change.from_state.empty() && StateOf(*entity.machine, current) != change.from_state)
    return RefuseMove(*entity.machine, IdOf(entity, stored), StateOf(*entity.machine, current),
                      change.to_state);
  for (const Condition& condition : where) {
    if (!Holds(condition, current.flat(), params, Absent::kFails)) return VersionConflict(entity, current);
  }
  if (expected.version) return VersionConflict(entity, current);
  *try_again = true;
  return Refuse("Conflict", entity.name + " is being changed by others");
}

Result<Written> Runtime::Patch(const Caller& caller, const Entity& entity, const Item& key,
                               const Item& changes, bool replace, const Expected& expected,
                               const std::vector<Condition>& where, const ParamValues& params) {
  HF_CHECK_OK(MayWrite(caller, entity, /*changes=*/true));
  if (auto tenant = TextOf(changes, model_->tenant);
      tenant && !caller.tenant.empty() && model_->TenantOf(*tenant) != caller.tenant)
    return NotFound(entity, IdOf(entity, key));
  for (int attempt = 1;; ++attempt) {
    HF_TRY(Item stored, Load(caller, entity, key, /*consistent=*/true));
    bool try_again = false;
    Result<Written> done = PatchOnce(entity, stored, changes, replace, expected, where, params, &try_again);
    if (done || !try_again || attempt == kAttemptsMax) return done;
    Pause(attempt);
  }
}

Result<Written> Runtime::Put(const Caller& caller, std::string_view name, const Item& fields,
                             const Expected& expected) {
  HF_TRY(const Entity* entity, EntityNamed(name));
  static const ParamValues kNone = [](std::string_view) { return std::nullopt; };
  if (!expected.version) {
    Result<Written> created = Create(caller, name, fields, Origin::kCaller);
    if (created || entity->append_only) return created;
    // A state in which nothing begins may be the one that the item is in.
    bool begins_wrong = RefusalName(created.error()) == "IllegalTransition";
    if (!begins_wrong && RefusalName(created.error()) != "AlreadyExists") return created;
    if (begins_wrong) {
      auto stored = Get(caller, *entity, fields);
      if (!stored) return created;
    }
  }
  HF_TRY(Item with, WithTenant(caller, *entity, fields));
  return Patch(caller, *entity, with, fields, /*replace=*/true, expected, {}, kNone);
}

Status Runtime::Delete(const Caller& caller, const Entity& entity, const Item& key, const Expected& expected,
                       bool idempotent) {
  HF_CHECK_OK(MayWrite(caller, entity, /*changes=*/true));
  Result<Item> stored = Load(caller, entity, key, /*consistent=*/true);
  if (!stored) {
    if (idempotent && RefusalName(stored.error()) == "NotFound") return Ok{};
    return stored.error();
  }
  DeleteItemRequest request;
  request.table_name = entity.table->name;
  request.key = KeyOf(*entity.table, *stored);
  ExpressionBuilder builder;
  builder.Text("attribute_exists(").Path(entity.table->key[0].name).Text(")");
  HF_CHECK_OK(CheckVersion(entity, *stored, expected));
  if (expected.version) builder.AndUnchanged(entity.version, *stored);
  request.condition_expression = builder.Take();
  builder.Finish(&request);
  request.return_values_on_condition_check_failure = kOldItem;
  auto done = store_->Run(request);
  if (done) {
    NoteWrite(entity, *stored, /*deleted=*/true);
    return Ok{};
  }
  if (done.error().code() != ErrorCode::kConditionalCheckFailed) return FromStore(done.error());
  if (done.error().detail() != nullptr && done.error().detail()->item)
    return VersionConflict(entity, *done.error().detail()->item);
  return idempotent ? OkStatus() : Status(NotFound(entity, IdOf(entity, key)));
}

}  // namespace holdfast::model
