#include "model/generate/command_facts.h"

#include <algorithm>

namespace holdfast::model::generate {
namespace {

using Form = WriteStep::Form;

void AddOnce(const Entity* entity, std::vector<const Entity*>* all) {
  if (entity != nullptr && std::find(all->begin(), all->end(), entity) == all->end()) all->push_back(entity);
}

const Entity* EntityOf(const Command& command, const WriteStep& step) {
  if (step.entity != nullptr) return step.entity;
  const CommandRead* read = command.FindRead(step.read);
  return read == nullptr ? nullptr : read->entity;
}

const std::vector<WriteStep>& Inner(const Model& model, const WriteStep& step) {
  const CommandFunction* function = step.form == Form::kUse ? model.FindFunction(step.function) : nullptr;
  return function == nullptr ? step.steps : function->write;
}

void Collect(const Model& model, const Command& command, const std::vector<WriteStep>& steps,
             CommandFacts* facts) {
  for (const WriteStep& step : steps) {
    Collect(model, command, Inner(model, step), facts);
    facts->expects = facts->expects || step.expect.has_value();
    facts->creates = facts->creates || step.form == Form::kPut || step.form == Form::kSave;
    facts->changes = facts->changes || step.form == Form::kPatch || step.form == Form::kSave;
    if (step.form != Form::kCheck) AddOnce(EntityOf(command, step), &facts->written);
  }
}

// The entities of which the first thing written can be one. Gives whether something is surely written.
bool CollectFirst(const Model& model, const Command& command, const std::vector<WriteStep>& steps,
                  CommandFacts* facts) {
  for (const WriteStep& step : steps) {
    bool writes = step.form == Form::kPut || step.form == Form::kPatch || step.form == Form::kSave ||
                  (step.form == Form::kDelete && step.entity == nullptr);
    if (writes) AddOnce(EntityOf(command, step), &facts->result);
    bool creates = step.form == Form::kPut || step.form == Form::kSave;
    facts->creates_first = facts->creates_first || creates;
    if (step.form == Form::kCases) {
      writes = !step.steps.empty() && !step.steps.back().when;
      for (const WriteStep& one : step.steps)
        writes = CollectFirst(model, command, one.steps, facts) && writes;
    } else if (!writes) {
      writes = CollectFirst(model, command, Inner(model, step), facts) && step.form == Form::kUse;
    }
    if (writes && !step.when) return true;
  }
  return false;
}

// What a value of a command is, as far as the model says it.
class Types {
 public:
  Types(const Model& model, const Command& command, const SchemaWriter& writer)
      : command_(command), writer_(writer), facts_(FactsOf(model, command)) {}

  Node Written() const {
    if (facts_.result.size() == 1) return Of(facts_.result[0]);
    Node any = Node::List();
    for (const Entity* entity : facts_.result) any.Add(Of(entity));
    return any.empty() ? Node::Map().Set("type", "object").Set("additionalProperties", true)
                       : Node::Map().Set("anyOf", std::move(any));
  }

  Node Of(const Expression& expression) const {
    using Kind = Expression::Kind;
    switch (expression.kind) {
      case Kind::kLiteral: return Of(expression.literal);
      case Kind::kPath: return OfPath(expression.path);
      case Kind::kUuid: return Node::Map().Set("type", "string").Set("format", "uuid");
      case Kind::kUlid:
      case Kind::kTemplate: return Node::Map().Set("type", "string");
      case Kind::kAdd: return Node::Map().Set("type", "number");
      case Kind::kShift:
      case Kind::kFirst:
      case Kind::kAppend: return expression.parts.empty() ? Node::Map() : Of(expression.parts[0]);
      case Kind::kMap: {
        Node properties = Node::Map();
        for (const auto& [name, value] : expression.fields) properties.Set(name, Of(value));
        return Node::Map().Set("type", "object").Set("properties", std::move(properties));
      }
      case Kind::kMerge: return Node::Map().Set("type", "object").Set("additionalProperties", true);
      case Kind::kList:
        return Node::Map()
            .Set("type", "array")
            .Set("items", expression.parts.empty() ? Node::Map() : Of(expression.parts[0]));
      default: return Node::Map();
    }
  }

 private:
  Node Of(const Entity* entity) const { return writer_.Reference(EntityTypeName(*entity)); }

  static Node Of(const AttributeValue& literal) {
    using Type = AttributeValue::Type;
    switch (literal.type()) {
      case Type::kString: return Node::Map().Set("type", "string");
      case Type::kNumber: return Node::Map().Set("type", "number");
      case Type::kTrue:
      case Type::kFalse: return Node::Map().Set("type", "boolean");
      default: return Node::Map();
    }
  }

  Node OfPath(std::string_view path) const {
    size_t dot = path.find('.');
    std::string_view root = path.substr(0, dot);
    std::string_view rest = dot == std::string_view::npos ? "" : path.substr(dot + 1);
    if (root == "now") return Node::Map().Set("type", "string").Set("format", "date-time");
    if (root == "today") return Node::Map().Set("type", "string").Set("format", "date");
    if (root == "nowEpoch") return Node::Map().Set("type", "integer");
    if (root == "written") return rest.empty() ? Written() : Node::Map();
    if (root == "input") return OfAttribute(FindAttribute(command_.inputs, rest));
    for (const auto& [name, value] : command_.let) {
      if (name == root && rest.empty()) return Of(value);
    }
    const CommandRead* read = command_.FindRead(root);
    if (read == nullptr || read->entity == nullptr) return Node::Map();
    return rest.empty() ? Of(read->entity) : OfAttribute(read->entity->Find(rest));
  }

  Node OfAttribute(const Attribute* attribute) const {
    // Of what was read, a client cares for the type alone.
    if (attribute == nullptr) return Node::Map();
    Attribute plain = *attribute;
    plain.default_value.reset();
    plain.always.reset();
    if (plain.kind == Kind::kEncrypted) plain.kind = Kind::kBool;
    return writer_.Value(plain);
  }

  const Command& command_;
  const SchemaWriter& writer_;
  const CommandFacts facts_;
};

}  // namespace

CommandFacts FactsOf(const Model& model, const Command& command) {
  CommandFacts facts;
  Collect(model, command, command.writes, &facts);
  if (command.handler) return facts;
  CollectFirst(model, command, command.writes, &facts);
  if (!command.result || command.result->path == "written") return facts;
  facts.result.clear();
  const CommandRead* read = command.FindRead(command.result->path);
  if (read != nullptr && command.result->kind == Expression::Kind::kPath)
    facts.result.push_back(read->entity);
  return facts;
}

Node ResultSchema(const Model& model, const Command& command, const SchemaWriter& writer) {
  Types types(model, command, writer);
  return command.handler || !command.result ? types.Written() : types.Of(*command.result);
}

std::vector<std::string> RolesOf(const Model& model, const Command& command) {
  if (!command.roles && model.roles.empty()) return {};
  std::vector<std::string> roles{"admin"};
  for (const auto& role : model.roles) {
    if (MatchesAny(role->commands, command.name) && (!command.roles || Contains(*command.roles, role->name)))
      roles.push_back(role->name);
  }
  if (model.roles.empty()) roles.insert(roles.end(), command.roles->begin(), command.roles->end());
  return roles;
}

}  // namespace holdfast::model::generate
