#include "cli/show.h"

#include <algorithm>

#include "cli/output.h"
#include "model/command.h"
#include "model/generate/command_facts.h"
#include "model/generate/describe.h"
#include "model/refusal.h"

namespace holdfast::cli {
namespace {

using model::generate::ComputedText;
using model::generate::KeysText;
using model::generate::PartsText;

// "S!", "N {…}": the type of an attribute in a few words.
std::string TypeText(const model::Attribute& attribute) {
  std::string text(KindName(attribute.kind));
  if (attribute.kind == model::Kind::kVector) text += "(" + std::to_string(attribute.dimensions) + ")";
  text += attribute.required ? "!" : "?";
  if (attribute.always) return text + " always " + ComputedText(*attribute.always);
  if (attribute.default_from) text += " = " + ComputedText(*attribute.default_from);
  if (attribute.default_value) text += " = " + Node(*attribute.default_value).Spell(Node::Style::kJson);
  for (const std::string& choice : attribute.choices)
    text += (&choice == &attribute.choices.front() ? " {" : "|") + choice;
  if (!attribute.choices.empty()) text += attribute.open_choices ? "|…}" : "}";
  return text;
}

Node AttributesNode(const std::vector<model::Attribute>& attributes) {
  Node node = Node::Map();
  for (const model::Attribute& attribute : attributes) node.Set(attribute.name, TypeText(attribute));
  return node;
}

Node MachineNode(const model::Machine& machine) {
  Node moves = Node::Map();
  for (const model::State& state : machine.states)
    moves.Set(state.name, Node::List(machine.From(state.name)));
  Node node = Node::Map().Set("machine", machine.name).Set("entity", machine.entity->name);
  if (!machine.field.empty()) node.Set("field", machine.field);
  return node.Set("initial", Node::List(machine.initial)).Set("moves", moves);
}

Node EntityNode(const model::Entity& entity) {
  Node node = Node::Map().Set("entity", entity.name);
  if (!entity.id.empty()) node.Set("id", entity.id);
  if (!entity.title.empty()) node.Set("title", entity.title);
  node.Set("table", entity.table->name).Set("key", PartsText(entity.key));
  Node indexes = Node::Map();
  for (const model::IndexKey& index : entity.indexes) indexes.Set(index.index->name, PartsText(index.parts));
  if (!indexes.empty()) node.Set("indexes", indexes);
  if (!entity.version.empty()) node.Set("version", entity.version);
  if (entity.append_only) node.Set("append_only", true);
  if (entity.command_only) node.Set("command_only", true);
  if (entity.machine != nullptr) node.Set("machine", entity.machine->name);
  return node.Set("attributes", AttributesNode(entity.attributes));
}

Node PatternNode(const model::Pattern& pattern) {
  std::vector<std::string> seen;
  for (const model::Case& one : pattern.cases) {
    for (const model::Step& step : one.steps) {
      for (const model::Entity* entity : step.returns) {
        if (std::find(seen.begin(), seen.end(), entity->name) == seen.end()) seen.push_back(entity->name);
      }
    }
  }
  return Node::Map()
      .Set("pattern", pattern.id)
      .Set("title", pattern.title)
      .Set("writes", pattern.writes())
      .Set("entities", Node::List(seen))
      .Set("params", AttributesNode(pattern.params));
}

Node CommandNode(const model::Model& model, const model::Command& command) {
  Node node = Node::Map().Set("command", command.name);
  if (!command.id.empty()) node.Set("id", command.id);
  node.Set("title", command.title);
  std::vector<std::string> roles = model::generate::RolesOf(model, command);
  if (!roles.empty()) node.Set("roles", Node::List(roles));
  Node reads = Node::Map();
  for (const model::CommandRead& read : command.reads)
    reads.Set(read.name, read.entity->name + (read.optional ? "?" : ""));
  std::vector<std::string> written;
  for (const model::Entity* entity : model::generate::FactsOf(model, command).written)
    written.push_back(entity->name);
  std::vector<std::string> refusals;
  for (const model::Refusal& refusal : command.refusals) refusals.push_back(refusal.name);
  return node.Set("input", AttributesNode(command.inputs))
      .Set("reads", reads)
      .Set("writes", Node::List(written))
      .Set("refusals", Node::List(refusals));
}

Node ModelNode(const model::Model& model) {
  Node tables = Node::Map();
  for (const auto& table : model.tables) tables.Set(table->name, KeysText(table->key));
  Node entities = Node::Map();
  for (const auto& entity : model.entities) entities.Set(entity->name, PartsText(entity->key));
  Node patterns = Node::Map();
  for (const auto& pattern : model.patterns) patterns.Set(pattern->id, pattern->title);
  Node commands = Node::Map();
  for (const auto& command : model.commands) commands.Set(command->name, command->title);
  Node machines = Node::Map();
  for (const auto& machine : model.machines) machines.Set(machine->name, machine->entity->name);
  return Node::Map()
      .Set("model", model.name)
      .Set("version", model.version)
      .Set("title", model.title)
      .Set("tables", tables)
      .Set("entities", entities)
      .Set("patterns", patterns)
      .Set("commands", commands)
      .Set("machines", machines);
}

}  // namespace

Result<Node> Describe(const model::Model& model, const std::string& name) {
  if (name.empty()) return ModelNode(model);
  for (const auto& entity : model.entities) {
    if (entity->name == name || entity->id == name) return EntityNode(*entity);
  }
  if (const model::Pattern* pattern = model.FindPattern(name)) return PatternNode(*pattern);
  for (const auto& command : model.commands) {
    if (command->name == name || command->id == name) return CommandNode(model, *command);
  }
  for (const auto& machine : model.machines) {
    if (machine->name == name) return MachineNode(*machine);
  }
  return model::Refuse("NotFound",
                       "the model " + model.name + " has no entity, pattern, command or machine " + name);
}

}  // namespace holdfast::cli
