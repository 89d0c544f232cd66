#include <algorithm>

#include "model/generate/command_facts.h"
#include "model/generate/describe.h"
#include "model/generate/generate.h"
#include "model/generate/shape.h"
#include "model/generate/text.h"

namespace holdfast::model::generate {
namespace {

// A cell of a table cannot hold a bar or a new line.
std::string Cell(std::string_view text) {
  return Replace(Replace(text, "|", "\\|"), "\n", " ");
}

std::string Code(std::string_view text) {
  return text.empty() ? "" : Cat("`", Cell(text), "`");
}

std::string Row(const std::vector<std::string>& cells) {
  return Cat("| ", Join(cells, " | "), " |");
}

void AddHead(const std::vector<std::string>& names, Lines* lines) {
  lines->Add(Row(names));
  lines->Add(Row(std::vector<std::string>(names.size(), "---")));
}

// --- tables and keys ---

void AddTable(const Table& table, Lines* lines) {
  lines->Add().Add(Cat("### ", table.name)).Add();
  AddHead({"", "Partition key", "Sort key", ""}, lines);
  std::vector<KeyAttribute> sort(table.key.begin() + 1, table.key.end());
  std::vector<std::string> notes;
  if (!table.type_attribute.empty()) notes.push_back(Cat("type in ", Code(table.type_attribute)));
  if (!table.ttl.empty()) notes.push_back(Cat("expires by ", Code(table.ttl)));
  lines->Add(Row({"table", KeysText({table.key[0]}, Code), KeysText(sort, Code), Join(notes, ", ")}));
  for (const Index& index : table.indexes) {
    lines->Add(Row({Code(index.name), KeysText(index.hash, Code), KeysText(index.range, Code),
                    Cat("projects ", index.projection,
                        index.scopes.empty() ? "" : ", per tenant for " + Code(index.scopes))}));
  }
  for (const VectorIndex& index : table.vector_indexes) {
    lines->Add(Row({Code(index.name), Code(index.attribute), "",
                    Cat("vectors of ", std::to_string(index.dimensions), ", ", index.distance,
                        index.filters.empty() ? "" : ", filters " + KeysText(index.filters, Code))}));
  }
}

void AddKeyTable(const Model& model, Lines* lines) {
  lines->Add().Add("## Keys").Add();
  AddHead({"Entity", "Table", "Partition key", "Sort key", "Indexes"}, lines);
  for (const auto& entity : model.entities) {
    std::vector<std::string> indexes;
    for (const IndexKey& key : entity->indexes)
      indexes.push_back(Cat(Code(key.index->name), ": ", PartsText(key.parts, Code)));
    lines->Add(Row({entity->name, entity->table->name, TemplatesText(entity->key[0].templates, Code),
                    entity->key.size() > 1 ? TemplatesText(entity->key[1].templates, Code) : "",
                    Join(indexes, "; ")}));
  }
}

// --- entities ---

void AddAttributes(const std::vector<Attribute>& attributes, const std::string& prefix, Lines* lines) {
  for (const Attribute& attribute : attributes) {
    lines->Add(Row({Code(prefix + attribute.name), TypeText(attribute), attribute.required ? "yes" : "",
                    Cell(Join(Remarks(attribute), "; "))}));
    AddAttributes(attribute.fields, prefix + attribute.name + ".", lines);
    if (attribute.items) AddAttributes(attribute.items->fields, prefix + attribute.name + "[].", lines);
  }
}

void AddRecord(const std::string& name, const std::string& id, const std::vector<Attribute>& attributes,
               const std::vector<Check>& checks, const std::vector<std::string>& notes, Lines* lines) {
  lines->Add().Add(Cat("### ", name, id.empty() ? "" : Cat(" (", id, ")"))).Add();
  for (const std::string& note : notes) lines->Add(note).Add();
  AddHead({"Attribute", "Type", "Required", ""}, lines);
  AddAttributes(attributes, "", lines);
  if (!checks.empty()) lines->Add();
  for (const Check& check : checks)
    lines->Add(Cat("- ", check.only_warns ? "warns unless " : "", Code(check.condition.text)));
}

std::vector<std::string> Notes(const Entity& entity) {
  std::vector<std::string> notes;
  if (!entity.title.empty()) notes.push_back(entity.title + ".");
  if (entity.append_only) notes.emplace_back("Append only: no change, no deletion.");
  if (entity.command_only) notes.emplace_back("Written by commands only.");
  if (!entity.version.empty())
    notes.push_back(Cat("Guarded against lost updates by ", Code(entity.version), "."));
  for (const Parent& parent : entity.parents) {
    std::vector<std::string> binds;
    for (const auto& [theirs, own] : parent.bind) binds.push_back(Cat(theirs, " = ", own));
    notes.push_back(Cat("Needs its ", parent.entity, " (", Join(binds, ", "), ")."));
  }
  return notes;
}

// --- patterns ---

std::string OperationText(const Step& step) {
  static constexpr std::string_view kNames[] = {"GetItem",
                                                "Query",
                                                "BatchGetItem",
                                                "Scan",
                                                "SearchVectors",
                                                "PutItem",
                                                "PutItem of each",
                                                "UpdateItem",
                                                "DeleteItem",
                                                "Query, DeleteItem of each",
                                                "TransactWriteItems",
                                                "in memory",
                                                "in C++"};
  std::string index = step.index == nullptr ? "" : step.index->name;
  if (step.search && step.search->index != nullptr) index = step.search->index->name;
  return Cat(kNames[static_cast<size_t>(step.form)], index.empty() ? "" : " on " + Code(index));
}

std::string SortText(const Step& step) {
  using Op = SortCondition::Op;
  static constexpr std::string_view kSigns[] = {"",    " = ",  " begins with ", " between ",
                                                " < ", " <= ", " > ",           " >= "};
  if (step.sort.op == Op::kNone) return "";
  std::string text =
      Cat(Code(step.sort_key.name), kSigns[static_cast<size_t>(step.sort.op)], Code(step.sort.low.ToText()));
  return step.sort.op == Op::kBetween ? Cat(text, " and ", Code(step.sort.high.ToText())) : text;
}

std::string KeyConditionText(const Step& step) {
  std::vector<std::string> parts;
  for (const auto& [key, pattern] : step.partition)
    parts.push_back(Cat(Code(key.name), " = ", Code(pattern.ToText())));
  if (std::string sort = SortText(step); !sort.empty()) parts.push_back(sort);
  bool by_key = step.form == Step::Form::kGet || step.form == Step::Form::kBatchGet ||
                step.form == Step::Form::kUpdate || step.form == Step::Form::kDelete;
  if (by_key && !step.returns.empty()) parts.push_back(PartsText(step.returns[0]->key, Code));
  if (step.search) {
    for (const auto& [attribute, pattern] : step.search->match) {
      parts.push_back(Cat(Code(attribute), " = ", Code(pattern.ToText())));
    }
  }
  for (const std::string& id : step.through) parts.push_back("through " + Code(id));
  for (const Condition& condition : step.filter) parts.push_back(Cat("filter ", Code(condition.text)));
  for (const Condition& condition : step.keep) parts.push_back(Cat("keep ", Code(condition.text)));
  if (step.descending) parts.emplace_back("highest first");
  return Join(parts, ", ");
}

std::string EntitiesText(const Step& step) {
  std::vector<std::string> names;
  auto add = [&](const Entity* entity) {
    if (std::find(names.begin(), names.end(), entity->name) == names.end()) names.push_back(entity->name);
  };
  for (const Entity* entity : step.returns) add(entity);
  for (const PatternWrite& write : step.writes) add(write.entity);
  return Join(names, ", ");
}

std::string WhenText(const Case& one) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : one.when) parts.push_back(Cat(name, " = ", value));
  for (const std::string& name : one.given) parts.push_back(name + " given");
  return parts.empty() ? "" : Cat(" (", Join(parts, ", "), ")");
}

void AddPattern(const Pattern& pattern, Lines* lines) {
  std::vector<std::string> params;
  for (const Attribute& param : pattern.params) {
    params.push_back(Cat(Code(param.name), " ", KindName(param.kind), param.required ? "" : "?"));
  }
  std::string title = Cell(pattern.title);
  std::string id = Code(pattern.id);
  std::string with = Join(params, ", ");
  for (const Case& one : pattern.cases) {
    for (const Step& step : one.steps) {
      lines->Add(Row({id, title + WhenText(one), OperationText(step), KeyConditionText(step),
                      EntitiesText(step), with}));
      id = title = with = "";
    }
    if (one.bundle.empty()) continue;
    std::vector<std::string> bundled;
    for (const auto& [name, other] : one.bundle) bundled.push_back(Cat(name, ": ", Code(other)));
    lines->Add(Row({id, title + WhenText(one), "several patterns", Join(bundled, ", "), "", with}));
    id = title = with = "";
  }
}

// --- commands ---

void AddCommand(const Model& model, const Command& command, Lines* lines) {
  std::vector<std::string> inputs;
  for (const Attribute& input : command.inputs)
    inputs.push_back(Cat(Code(input.name), " ", KindName(input.kind), input.required ? "" : "?"));
  std::vector<std::string> refusals;
  for (const Refusal& refusal : command.refusals) refusals.push_back(refusal.name);
  std::string written =
      JoinAll(FactsOf(model, command).written, ", ", [](const Entity* e) { return e->name; });
  lines->Add(Row({Code(command.name), Cell(Cat(command.id, command.id.empty() ? "" : " ", command.title)),
                  Join(inputs, ", "), written, Join(refusals, ", ")}));
}

// --- machines ---

// Mermaid takes no spaces and dashes in the names of states.
std::string StateName(std::string_view state) {
  std::string name;
  for (char c : state) name.push_back(std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_');
  return name;
}

void AddMachine(const Machine& machine, Lines* lines) {
  lines->Add().Add(Cat("### ", machine.name)).Add();
  lines->Add(machine.field.empty()
                 ? Cat("The derived state of ", machine.entity->name, ".")
                 : Cat("The attribute ", Code(machine.field), " of ", machine.entity->name, "."));
  lines->Add();
  AddHead({"State", "", "May change to"}, lines);
  for (const State& state : machine.states) {
    bool initial =
        std::find(machine.initial.begin(), machine.initial.end(), state.name) != machine.initial.end();
    const auto& next = machine.From(state.name);
    lines->Add(Row({state.name,
                    Cat(initial ? "initial" : "",
                        state.when ? Cat(initial ? ", " : "", "when ", Code(state.when->text)) : ""),
                    next.empty() ? "(final)" : Join(next, ", ")}));
  }
  lines->Add().Add("```mermaid").Add("stateDiagram-v2");
  for (const std::string& state : machine.initial) lines->Add(Cat("  [*] --> ", StateName(state)));
  for (const State& state : machine.states) {
    for (const std::string& to : machine.From(state.name))
      lines->Add(Cat("  ", StateName(state.name), " --> ", StateName(to)));
    if (machine.From(state.name).empty()) lines->Add(Cat("  ", StateName(state.name), " --> [*]"));
  }
  lines->Add("```");
}

}  // namespace

std::string ModelPage(const Model& model) {
  Lines lines;
  lines.Add(Cat("# ", model.title.empty() ? model.name : model.title)).Add().Add(Notice(model));
  lines.Add().Add("## Tables");
  for (const auto& table : model.tables) AddTable(*table, &lines);
  AddKeyTable(model, &lines);
  lines.Add().Add("## Entities");
  for (const auto& entity : model.entities) {
    AddRecord(entity->name, entity->id, entity->attributes, entity->checks, Notes(*entity), &lines);
  }
  if (!model.schemas.empty()) lines.Add().Add("## Embedded schemas");
  for (const auto& schema : model.schemas)
    AddRecord(schema->name, schema->id, schema->fields, schema->checks, {}, &lines);
  if (!model.patterns.empty()) {
    lines.Add().Add("## Access patterns").Add();
    AddHead({"ID", "Pattern", "Operation", "Key condition", "Entities", "Parameters"}, &lines);
    for (const auto& pattern : model.patterns) AddPattern(*pattern, &lines);
  }
  if (!model.commands.empty()) {
    lines.Add().Add("## Commands").Add();
    AddHead({"Command", "", "Input", "Writes", "Refusals"}, &lines);
    for (const auto& command : model.commands) AddCommand(model, *command, &lines);
  }
  if (!model.machines.empty()) lines.Add().Add("## State machines");
  for (const auto& machine : model.machines) AddMachine(*machine, &lines);
  return lines.Take();
}

}  // namespace holdfast::model::generate
