#include "model/transaction.h"

#include <algorithm>

#include "base/limits.h"

namespace holdfast::model {

namespace {
const ParamValues kNoParams = [](std::string_view) { return std::nullopt; };
}  // namespace

using value::Type;

Transaction::Slot* Transaction::SlotOf(const Entity& entity, const Item& key) {
  auto at = std::find_if(slots_.begin(), slots_.end(), [&](const auto& slot) {
    return slot->entity->table == entity.table && slot->key == key;
  });
  return at == slots_.end() ? nullptr : at->get();
}

Transaction::Slot& Transaction::NewSlot(Slot::Kind kind, const Entity& entity, Item key) {
  auto slot = std::make_unique<Slot>();
  slot->kind = kind;
  slot->entity = &entity;
  slot->key = std::move(key);
  slots_.push_back(std::move(slot));
  return *slots_.back();
}

Error Transaction::Twice(const Entity& entity, const Item& key) const {
  return Refuse("ValidationError", "one transaction writes " + entity.name + " " +
                                       IdOf(entity, Record(&entity, key).Fields()) + " twice");
}

void Transaction::Expect(const Entity& entity, const Item& stored, const std::set<std::string>& attributes) {
  Item key = KeyOf(*entity.table, stored);
  Slot* slot = SlotOf(entity, key);
  if (slot == nullptr) slot = &NewSlot(Slot::Kind::kExpect, entity, std::move(key));
  slot->stored = stored;
  slot->unchanged.insert(attributes.begin(), attributes.end());
}

void Transaction::ExpectNone(const Entity& entity, const Item& key) {
  if (SlotOf(entity, key) == nullptr) NewSlot(Slot::Kind::kExpectNone, entity, key);
}

void Transaction::ExpectHidden(const Entity& entity, const Item& stored) {
  Item key = KeyOf(*entity.table, stored);
  if (SlotOf(entity, key) != nullptr) return;
  Slot& slot = NewSlot(Slot::Kind::kExpect, entity, std::move(key));
  slot.stored = stored;
  slot.hidden = true;
  for (const std::string* name : {&runtime_.model_->tenant, &entity.table->type_attribute}) {
    if (!name->empty() && stored.Has(*name)) slot.unchanged.insert(*name);
  }
}

Result<Record> Transaction::Put(const Entity& entity, const Item& fields, Origin origin, bool bumps) {
  HF_TRY(Item with, runtime_.WithTenant(caller_, entity, fields));
  HF_TRY(BuiltItem built, BuildNew(*runtime_.model_, entity, with, origin, sources_));
  warnings_.insert(warnings_.end(), built.warnings.begin(), built.warnings.end());
  Item key = KeyOf(*entity.table, built.item);
  Slot* slot = SlotOf(entity, key);
  if (slot != nullptr && slot->kind != Slot::Kind::kExpectNone && slot->kind != Slot::Kind::kExpect)
    return Twice(entity, key);
  // Trying again would find it there again: another tenant's keeps its place.
  if (slot != nullptr && slot->hidden)
    return NotFound(entity, IdOf(entity, Record(&entity, built.item).Fields()));
  if (slot != nullptr && slot->kind == Slot::Kind::kExpect) return runtime_.AlreadyThere(entity, built.item);
  if (slot == nullptr)
    slot = &NewSlot(Slot::Kind::kPut, entity, std::move(key));
  else
    slot->kind = Slot::Kind::kPut, slot->expected_none = true;
  slot->record = std::make_unique<Record>(&entity, std::move(built.item));
  slot->bumps = bumps;
  return *slot->record;
}

Status Transaction::Change(const Entity& entity, const Item& stored, const Item& changes,
                           const ChangeRules& rules) {
  Item key = KeyOf(*entity.table, stored);
  Slot* slot = SlotOf(entity, key);
  if (slot == nullptr) slot = &NewSlot(Slot::Kind::kExpect, entity, std::move(key));
  if (slot->kind != Slot::Kind::kExpect && slot->kind != Slot::Kind::kChange) return Twice(entity, slot->key);
  if (slot->kind == Slot::Kind::kExpect) {
    slot->kind = Slot::Kind::kChange;
    slot->stored = stored;
    slot->changes = changes;
    slot->rules = rules;
    return Ok{};
  }
  AttributeMap merged = slot->changes.ToMap();
  for (auto& [name, value] : changes.ToMap()) merged[name] = value;
  slot->changes = Item(merged);
  if (rules.expected.version) slot->rules.expected = rules.expected;
  slot->rules.any_state = slot->rules.any_state || rules.any_state;
  if (!rules.states.empty()) slot->rules.states = rules.states;
  return Ok{};
}

Status Transaction::Delete(const Entity& entity, const Item& stored, const Expected& expected) {
  HF_CHECK_OK(runtime_.CheckVersion(entity, stored, expected));
  Item key = KeyOf(*entity.table, stored);
  Slot* slot = SlotOf(entity, key);
  if (slot == nullptr) slot = &NewSlot(Slot::Kind::kExpect, entity, std::move(key));
  if (slot->kind != Slot::Kind::kExpect) return Twice(entity, slot->key);
  slot->kind = Slot::Kind::kDelete;
  slot->stored = stored;
  if (expected.version) slot->unchanged.insert(entity.version);
  return Ok{};
}

bool Transaction::empty() const {
  return extra_.empty() && std::none_of(slots_.begin(), slots_.end(),
                                        [](const auto& slot) { return slot->kind >= Slot::Kind::kPut; });
}

const Record* Transaction::Find(const Entity& entity, const Item& key) const {
  for (const auto& slot : slots_) {
    if (slot->entity->table == entity.table && slot->key == key) return slot->record.get();
  }
  return nullptr;
}

Status Transaction::ExpectState(const Entity& entity, const Item& stored,
                                const std::vector<std::string>& states) {
  return CheckState(SlotOf(entity, KeyOf(*entity.table, stored)), states);
}

Status Transaction::CheckState(Slot* slot, const std::vector<std::string>& states) {
  if (states.empty()) return Ok{};
  const Machine& machine = *slot->entity->machine;
  std::string state = StateOf(machine, slot->stored);
  if (std::find(states.begin(), states.end(), state) == states.end()) {
    auto to = slot->changes.Get(machine.field);
    return RefuseMove(machine, IdOf(*slot->entity, Record(slot->entity, slot->stored).Fields()), state,
                      to && to->type() == Type::kString ? to->AsText() : states[0]);
  }
  if (!machine.field.empty()) slot->unchanged.insert(machine.field);
  return Ok{};
}

// --- building ---

Status Transaction::BuildChanged(Slot* slot) {
  const Entity& entity = *slot->entity;
  HF_CHECK_OK(runtime_.CheckVersion(entity, slot->stored, slot->rules.expected));
  HF_CHECK_OK(CheckState(slot, slot->rules.states));
  HF_TRY(slot->change, BuildChange(*runtime_.model_, entity, slot->stored, slot->changes, slot->rules.replace,
                                   sources_, slot->rules.any_state));
  warnings_.insert(warnings_.end(), slot->change.warnings.begin(), slot->change.warnings.end());
  slot->record = std::make_unique<Record>(&entity, slot->change.item);
  return Ok{};
}

Record Transaction::RecordAt(size_t slot) const {
  const Slot& one = *slots_[slot];
  return one.record ? *one.record : Record(one.entity, one.stored);
}

Status Transaction::Build(size_t* failed) {
  for (size_t i = 0; i < slots_.size(); ++i) {
    Slot* slot = slots_[i].get();
    if (failed != nullptr) *failed = i;
    if (slot->kind == Slot::Kind::kChange) HF_CHECK_OK(BuildChanged(slot));
    if (slot->kind == Slot::Kind::kDelete)
      slot->record = std::make_unique<Record>(slot->entity, slot->stored);
  }
  return Ok{};
}

void Transaction::AddCheck(const Slot& slot, bool exists) {
  const Table& table = *slot.entity->table;
  TransactConditionCheck check;
  check.table_name = table.name;
  check.key = slot.key;
  if (!exists) {
    runtime_.RequireAbsent(table, &check);
  } else {
    ExpressionBuilder builder;
    builder.Text("attribute_exists(").Path(table.key[0].name).Text(")");
    for (const std::string& name : slot.unchanged) builder.AndUnchanged(name, slot.stored);
    check.condition_expression = builder.Take();
    builder.Finish(&check);
  }
  actions_.emplace_back().condition_check = std::move(check);
}

Status Transaction::AddAction(const Slot& slot) {
  const Entity& entity = *slot.entity;
  const Table& table = *entity.table;
  Means means = Means::kRead;
  switch (slot.kind) {
    case Slot::Kind::kExpect: AddCheck(slot, /*exists=*/true); break;
    case Slot::Kind::kExpectNone: AddCheck(slot, /*exists=*/false); break;
    case Slot::Kind::kPut:
      runtime_.AddPut(entity, slot.record->stored(), &actions_);
      if (!slot.expected_none) means = Means::kNew;
      break;
    case Slot::Kind::kChange: {
      if (slot.change.set.empty() && slot.change.removed.empty()) {
        if (slot.unchanged.empty() && !slot.rules.expected.version) return Ok{};
        AddCheck(slot, /*exists=*/true);
        break;
      }
      HF_TRY(TransactUpdate update,
             runtime_.ChangeAction(entity, slot.stored, slot.change, slot.rules.expected, slot.unchanged, {},
                                   kNoParams));
      actions_.emplace_back().update = std::move(update);
      break;
    }
    case Slot::Kind::kDelete: {
      TransactDelete remove;
      remove.table_name = table.name;
      remove.key = slot.key;
      ExpressionBuilder builder;
      builder.Text("attribute_exists(").Path(table.key[0].name).Text(")");
      for (const std::string& name : slot.unchanged) builder.AndUnchanged(name, slot.stored);
      remove.condition_expression = builder.Take();
      builder.Finish(&remove);
      actions_.emplace_back().delete_action = std::move(remove);
      break;
    }
  }
  meanings_.emplace_back(means, &slot);
  return Ok{};
}

Status Transaction::Commit(Failure* failure) {
  std::vector<Item> written;
  for (const auto& slot : slots_) written.push_back(slot->key);
  for (const auto& slot : slots_) HF_CHECK_OK(AddAction(*slot));
  // Children check that their parents are there, unless the transaction sees to those itself.
  for (const auto& slot : slots_) {
    if (slot->kind == Slot::Kind::kPut) {
      HF_CHECK_OK(runtime_.AddChecksOfNew(*slot->entity, slot->record->stored(), written, &actions_));
    } else if (slot->kind == Slot::Kind::kChange && runtime_.MovesParent(*slot->entity, slot->change)) {
      HF_CHECK_OK(runtime_.AddParentChecks(*slot->entity, slot->record->Fields(), written, &actions_));
    }
    while (meanings_.size() < actions_.size()) meanings_.emplace_back(Means::kParent, slot.get());
  }
  for (TransactWriteItem& action : extra_) {
    actions_.push_back(std::move(action));
    meanings_.emplace_back(Means::kExtra, nullptr);
  }
  if (actions_.empty()) return Ok{};
  if (actions_.size() > limits::kTransactionActionsMax)
    return Refuse("TransactionTooLarge",
                  "it would write " + std::to_string(actions_.size()) + " items at once; 100 are the most");

  TransactWriteItemsRequest request;
  request.transact_items = std::move(actions_);
  auto done = runtime_.store_->Run(request);
  if (done) {
    for (const auto& slot : slots_) {
      if (slot->record == nullptr) continue;
      runtime_.NoteWrite(*slot->entity, slot->record->stored(), slot->kind == Slot::Kind::kDelete);
    }
    return Ok{};
  }
  const Error& error = done.error();
  if (error.code() == ErrorCode::kTransactionConflict || error.code() == ErrorCode::kTransactionInProgress)
    failure->try_again = true;
  if (error.code() != ErrorCode::kTransactionCanceled || error.detail() == nullptr) return FromStore(error);
  const auto& reasons = error.detail()->reasons;
  for (size_t i = 0; i < reasons.size() && i < meanings_.size(); ++i) {
    if (reasons[i].code != "ConditionalCheckFailed") continue;
    auto [means, slot] = meanings_[i];
    for (size_t at = 0; at < slots_.size(); ++at) {
      if (slots_[at].get() == slot) failure->slot = at;
    }
    switch (means) {
      case Means::kExtra: failure->extra = true; return FromStore(error);
      case Means::kNew:
        failure->taken = true;
        failure->bumps = slot->bumps;
        return runtime_.AlreadyThere(*slot->entity, slot->record->stored());
      case Means::kParent: return runtime_.WhyRefused(request.transact_items[i]);
      case Means::kRead:
        failure->try_again = true;
        return Refuse("Conflict", slot->entity->name + " is being changed by others");
    }
  }
  Error refused = FromStore(error);
  failure->try_again = RefusalName(refused) == "Conflict";
  return refused;
}

}  // namespace holdfast::model
