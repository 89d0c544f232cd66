#include "model/model.h"

#include <algorithm>

#include "model/command.h"
#include "value/flat.h"

namespace holdfast::model {
namespace {

template <class T>
const T* FindIn(const std::vector<std::unique_ptr<T>>& all, std::string_view name, std::string T::*member) {
  for (const auto& one : all) {
    if ((*one).*member == name) return one.get();
  }
  return nullptr;
}

// The text of a key attribute, or nothing when it is no text.
std::optional<std::string_view> KeyText(const Item& item, const std::string& name) {
  auto value = value::MapView(item).Find(name);
  if (!value || value->type() != value::Type::kString) return std::nullopt;
  return value->payload();
}

bool HasKeysOf(const Entity& entity, const Item& item) {
  return std::all_of(entity.key.begin(), entity.key.end(), [&](const KeyPart& part) {
    auto text = KeyText(item, part.attribute.name);
    if (!text) return part.attribute.type != 'S';
    return std::any_of(part.templates.begin(), part.templates.end(),
                       [&](const Template& pattern) { return Fits(pattern, *text); });
  });
}

}  // namespace

Model::Model() = default;
Model::~Model() = default;

const CommandRead* Command::FindRead(std::string_view wanted) const {
  auto at =
      std::find_if(reads.begin(), reads.end(), [&](const CommandRead& read) { return read.name == wanted; });
  return at == reads.end() ? nullptr : &*at;
}

std::string_view StoredType(Kind kind) {
  switch (kind) {
    case Kind::kNumber:
    case Kind::kEpoch: return "N";
    case Kind::kBool: return "BOOL";
    case Kind::kBinary: return "B";
    case Kind::kMap: return "M";
    case Kind::kList:
    case Kind::kVector: return "L";
    case Kind::kStringSet: return "SS";
    case Kind::kNumberSet: return "NS";
    case Kind::kAny: return {};
    default: return "S";
  }
}

const Attribute* FindAttribute(const std::vector<Attribute>& attributes, std::string_view name) {
  auto at = std::lower_bound(attributes.begin(), attributes.end(), name,
                             [](const Attribute& a, std::string_view n) { return a.name < n; });
  return at != attributes.end() && at->name == name ? &*at : nullptr;
}

const Index* Table::FindIndex(std::string_view name) const {
  auto at =
      std::find_if(indexes.begin(), indexes.end(), [&](const Index& index) { return index.name == name; });
  return at == indexes.end() ? nullptr : &*at;
}

std::vector<std::string> Entity::KeyInputs() const {
  std::vector<std::string> names;
  for (const KeyPart& part : key) {
    for (const Template& pattern : part.templates) {
      for (std::string& name : pattern.Names()) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
      }
    }
  }
  return names;
}

bool Machine::Allows(std::string_view from, std::string_view to) const {
  const auto& allowed = From(from);
  return std::find(allowed.begin(), allowed.end(), to) != allowed.end();
}

const std::vector<std::string>& Machine::From(std::string_view state) const {
  static const std::vector<std::string> none;
  auto at = moves.find(std::string(state));
  return at == moves.end() ? none : at->second;
}

bool Pattern::writes() const {
  return std::any_of(cases.begin(), cases.end(), [](const Case& one) {
    return std::any_of(one.steps.begin(), one.steps.end(), [](const Step& step) {
      return step.form >= Step::Form::kPut && step.form <= Step::Form::kTransact;
    });
  });
}

std::string_view Model::TenantOf(std::string_view value) const {
  return tenant_until.empty() ? value : value.substr(0, value.find(tenant_until));
}
const Table* Model::FindTable(std::string_view id) const {
  return FindIn(tables, id, &Table::id);
}
const Table* Model::TableNamed(std::string_view table_name) const {
  return FindIn(tables, table_name, &Table::name);
}
const Schema* Model::FindSchema(std::string_view schema) const {
  return FindIn(schemas, schema, &Schema::name);
}
const Entity* Model::FindEntity(std::string_view entity) const {
  const Entity* found = FindIn(entities, entity, &Entity::name);
  return found != nullptr || entity.empty() ? found : FindIn(entities, entity, &Entity::id);
}
const Pattern* Model::FindPattern(std::string_view id) const {
  return FindIn(patterns, id, &Pattern::id);
}
const Command* Model::FindCommand(std::string_view name) const {
  return FindIn(commands, name, &Command::name);
}
const CommandFunction* Model::FindFunction(std::string_view name) const {
  return FindIn(functions, name, &CommandFunction::name);
}
const Role* Model::FindRole(std::string_view name) const {
  return FindIn(roles, name, &Role::name);
}

const Entity* Model::EntityOf(const Table& table, const Item& item) const {
  std::vector<const Entity*> all;
  for (const auto& entity : entities) {
    if (entity->table == &table) all.push_back(entity.get());
  }
  return EntityOf(table, item, all);
}

const Entity* Model::EntityOf(const Table& table, const Item& item,
                              const std::vector<const Entity*>& wanted) const {
  std::optional<std::string_view> type;
  if (!table.type_attribute.empty()) type = KeyText(item, table.type_attribute);
  for (const Entity* entity : wanted) {
    if (type ? entity->type == *type : HasKeysOf(*entity, item)) return entity;
  }
  return nullptr;
}

}  // namespace holdfast::model
