#include "model/generate/catalogue.h"

#include <algorithm>

#include "model/command.h"

namespace holdfast::model::generate {
namespace {

Node AttributesOf(const std::vector<Attribute>& attributes);

Node AttributeOf(const Attribute& attribute) {
  Node node = Node::Map()
                  .Set("name", attribute.name)
                  .Set("kind", KindName(attribute.kind))
                  .Set("required", attribute.required);
  if (!attribute.description.empty()) node.Set("description", attribute.description);
  if (!attribute.choices.empty()) node.Set("choices", Node::List(attribute.choices));
  if (attribute.open_choices) node.Set("openChoices", true);
  if (attribute.min) node.Set("min", *attribute.min);
  if (attribute.max) node.Set("max", *attribute.max);
  if (!attribute.pattern.empty()) node.Set("pattern", attribute.pattern);
  if (attribute.default_value) node.Set("default", Node(*attribute.default_value));
  if (attribute.default_from) node.Set("made", true);
  if (attribute.always) node.Set("readOnly", true);
  if (attribute.immutable) node.Set("immutable", true);
  if (!attribute.schema.empty()) node.Set("schema", attribute.schema);
  if (attribute.dimensions > 0) node.Set("dimensions", attribute.dimensions);
  if (attribute.has_fields) node.Set("fields", AttributesOf(attribute.fields));
  return node;
}

Node AttributesOf(const std::vector<Attribute>& attributes) {
  Node list = Node::List();
  for (const Attribute& attribute : attributes) list.Add(AttributeOf(attribute));
  return list;
}

Node MachineOf(const Machine& machine) {
  Node moves = Node::Map();
  for (const auto& [from, to] : machine.moves) moves.Set(from, Node::List(to));
  return Node::Map()
      .Set("field", machine.field)
      .Set("initial", Node::List(machine.initial))
      .Set("moves", std::move(moves));
}

Node EntityOf(const Entity& entity) {
  Node node = Node::Map()
                  .Set("name", entity.name)
                  .Set("id", entity.id)
                  .Set("title", entity.title)
                  .Set("key", Node::List(entity.KeyInputs()))
                  .Set("attributes", AttributesOf(entity.attributes))
                  .Set("appendOnly", entity.append_only)
                  .Set("commandOnly", entity.command_only);
  if (!entity.version.empty()) node.Set("version", entity.version);
  if (entity.machine != nullptr && !entity.machine->field.empty())
    node.Set("machine", MachineOf(*entity.machine));
  return node;
}

// Whether a caller sees it in the catalogue. The application checks again what it is asked for.
bool Shows(const Model& model, const Caller& caller, const Entity& entity) {
  return MayRead(model, caller, entity) || MayWrite(model, caller, entity);
}
bool Shows(const Model& model, const Caller& caller, const Pattern& pattern) {
  return std::all_of(pattern.cases.begin(), pattern.cases.end(), [&](const Case& one) {
    return std::all_of(one.steps.begin(), one.steps.end(), [&](const Step& step) {
      return std::all_of(step.returns.begin(), step.returns.end(),
                         [&](const Entity* entity) { return MayRead(model, caller, *entity); });
    });
  });
}
bool Shows(const Model& model, const Caller& caller, const Command& command) {
  return !command.internal && MayRun(model, caller, command);
}

}  // namespace

Node Catalogue(const Model& model, const Caller& caller) {
  Node entities = Node::List();
  for (const auto& entity : model.entities) {
    if (Shows(model, caller, *entity)) entities.Add(EntityOf(*entity));
  }
  Node patterns = Node::List();
  for (const auto& pattern : model.patterns) {
    if (!Shows(model, caller, *pattern)) continue;
    patterns.Add(Node::Map()
                     .Set("id", pattern->id)
                     .Set("title", pattern->title)
                     .Set("params", AttributesOf(pattern->params))
                     .Set("writes", pattern->writes()));
  }
  Node commands = Node::List();
  for (const auto& command : model.commands) {
    if (!Shows(model, caller, *command)) continue;
    Node node = Node::Map()
                    .Set("name", command->name)
                    .Set("id", command->id)
                    .Set("title", command->title)
                    .Set("inputs", AttributesOf(command->inputs));
    if (command->roles) node.Set("roles", Node::List(*command->roles));
    commands.Add(std::move(node));
  }
  return Node::Map()
      .Set("name", model.name)
      .Set("title", model.title)
      .Set("version", model.version)
      .Set("entities", std::move(entities))
      .Set("patterns", std::move(patterns))
      .Set("commands", std::move(commands));
}

}  // namespace holdfast::model::generate
