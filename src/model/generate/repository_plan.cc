#include "model/generate/repository_plan.h"

#include <algorithm>

namespace holdfast::model::generate {
namespace {

Node ComputedFacts(const Computed& computed) {
  static constexpr std::string_view kFunctions[] = {"now()", "uuid()", "ulid()"};
  bool function = computed.source != Computed::Source::kAttribute;
  Node facts = Node::Map().Set(
      "from", function ? std::string(kFunctions[static_cast<size_t>(computed.source)]) : computed.attribute);
  if (computed.shift_seconds != 0) facts.Set("shift", computed.shift_seconds);
  return facts;
}

Node FieldFacts(const Attribute& field);

Node FieldsFacts(const std::vector<Attribute>& fields) {
  Node facts = Node::Map();
  for (const Attribute& field : fields) facts.Set(field.name, FieldFacts(field));
  return facts;
}

Node FieldFacts(const Attribute& field) {
  Node facts = Node::Map().Set("kind", KindName(field.kind));
  if (field.required) facts.Set("required", true);
  if (!field.choices.empty() && !field.open_choices) facts.Set("choices", Node::List(field.choices));
  if (field.default_value) facts.Set("default", Node(*field.default_value));
  if (field.default_from) facts.Set("made", ComputedFacts(*field.default_from));
  if (field.always) facts.Set("always", ComputedFacts(*field.always));
  if (!field.stored) facts.Set("keyOnly", true);
  if (field.items) facts.Set("items", FieldFacts(*field.items));
  if (!field.fields.empty()) facts.Set("fields", FieldsFacts(field.fields));
  if (!field.schema.empty()) facts.Set("schema", field.schema);
  if (!field.schema_by.empty()) facts.Set("schemaBy", field.schema_by);
  if (!field.schema_field.empty()) facts.Set("schemaField", field.schema_field);
  return facts;
}

Node PartsFacts(const std::vector<KeyPart>& parts) {
  Node facts = Node::List();
  for (const KeyPart& part : parts) {
    Node templates = Node::List();
    for (const Template& one : part.templates) templates.Add(one.ToText());
    facts.Add(Node::Map()
                  .Set("name", part.attribute.name)
                  .Set("type", std::string(1, part.attribute.type))
                  .Set("templates", std::move(templates)));
  }
  return facts;
}

Node EntityFacts(const Entity& entity, const std::vector<std::string>& fixed) {
  Node facts = Node::Map().Set("entity", entity.name).Set("table", entity.table->name);
  if (!entity.table->type_attribute.empty()) {
    facts.Set("type", Node::Map().Set("attribute", entity.table->type_attribute).Set("value", entity.type));
  }
  if (!entity.table->ttl.empty()) facts.Set("ttl", entity.table->ttl);
  facts.Set("key", PartsFacts(entity.key));
  Node indexes = Node::List();
  for (const IndexKey& index : entity.indexes) indexes.Add(PartsFacts(index.parts));
  facts.Set("indexes", std::move(indexes));
  facts.Set("fields", FieldsFacts(entity.attributes));
  facts.Set("fixed", Node::List(fixed));
  if (!entity.version.empty()) facts.Set("version", entity.version);
  if (entity.machine != nullptr && !entity.machine->field.empty()) {
    Node moves = Node::Map();
    for (const auto& [from, to] : entity.machine->moves) moves.Set(from, Node::List(to));
    facts.Set("machine", Node::Map()
                             .Set("field", entity.machine->field)
                             .Set("initial", Node::List(entity.machine->initial))
                             .Set("moves", std::move(moves)));
  }
  return facts;
}

// userId = {userId}
bool IsByItsName(const Condition& condition) {
  return condition.op == Condition::Op::kEqual && condition.left.kind == Operand::Kind::kPath &&
         condition.right.size() == 1 && condition.right[0].kind == Operand::Kind::kParam &&
         condition.right[0].path == condition.left.path;
}

// A finder out of `step`, when that is a query whose key holds the entity's state.
std::optional<StateFinder> FinderOf(const Model& model, const Entity& entity, const Step& step) {
  using Op = SortCondition::Op;
  bool fits = step.form == Step::Form::kQuery && step.keep.empty() &&
              std::all_of(step.filter.begin(), step.filter.end(), IsByItsName) &&
              std::find(step.returns.begin(), step.returns.end(), &entity) != step.returns.end() &&
              (step.sort.op == Op::kNone || step.sort.op == Op::kEqual || step.sort.op == Op::kBeginsWith);
  if (!fits) return std::nullopt;
  StateFinder finder;
  const std::string& field = entity.machine->field;
  std::vector<std::string> names;
  // Where the type is asked for, the entity is the answer.
  auto text = [&](const Template& one) {
    for (const std::string& name : one.Names()) {
      if (name != entity.table->type_attribute && !Contains(names, name)) names.push_back(name);
    }
    return Replace(one.ToText(), Cat("{", entity.table->type_attribute, "}"), entity.type);
  };
  Node partition = Node::Map();
  for (const auto& [key, one] : step.partition) partition.Set(key.name, text(one));
  finder.query.Set("partition", std::move(partition));
  if (step.index != nullptr) finder.query.Set("index", step.index->name);
  if (step.sort.op != Op::kNone) {
    finder.query.Set("sort", Node::Map()
                                 .Set("name", step.sort_key.name)
                                 .Set(step.sort.op == Op::kEqual ? "equals" : "begins", text(step.sort.low)));
  }
  if (step.descending) finder.query.Set("descending", true);
  std::vector<std::string> only;
  for (const Condition& condition : step.filter) only.push_back(condition.left.path);
  // Items of several tenants share an index; a finder gives those of one.
  if (!model.tenant.empty() && entity.Find(model.tenant) != nullptr && !Contains(names, model.tenant) &&
      !Contains(only, model.tenant)) {
    only.push_back(model.tenant);
  }
  if (!only.empty()) finder.query.Set("only", Node::List(only));
  if (!Contains(names, field)) return std::nullopt;
  names.insert(names.end(), only.begin(), only.end());
  if (!std::all_of(names.begin(), names.end(),
                   [&](const std::string& name) { return entity.Find(name) != nullptr; })) {
    return std::nullopt;
  }
  finder.params = {field};
  for (const std::string& name : names) {
    if (!Contains(finder.params, name)) finder.params.push_back(name);
  }
  return finder;
}

std::optional<StateFinder> FindFinder(const Model& model, const Entity& entity) {
  if (entity.machine == nullptr || entity.machine->field.empty()) return std::nullopt;
  std::optional<StateFinder> best;
  for (const auto& pattern : model.patterns) {
    for (const Case& one : pattern->cases) {
      if (one.steps.size() != 1) continue;
      auto found = FinderOf(model, entity, one.steps[0]);
      if (!found || (best && best->params.size() <= found->params.size())) continue;
      found->pattern = pattern.get();
      best = std::move(found);
    }
  }
  return best;
}

}  // namespace

RepositoryPlan PlanRepository(const Model& model, const Entity& entity) {
  RepositoryPlan plan{&entity, entity.KeyInputs()};
  for (const Attribute& attribute : entity.attributes) {
    bool is_version = attribute.name == entity.version;
    if (attribute.always) plan.computed.push_back(attribute.name);
    if (!attribute.always && attribute.required &&
        (attribute.default_value || attribute.default_from || is_version)) {
      plan.defaulted.push_back(attribute.name);
    }
    if (attribute.always || attribute.immutable || is_version || Contains(plan.key, attribute.name)) {
      plan.fixed.push_back(attribute.name);
    }
  }
  // A derived state is decided by conditions that a single conditional write cannot ask.
  bool derived = entity.machine != nullptr && entity.machine->field.empty();
  plan.creates = !entity.command_only && !derived;
  plan.updates = plan.creates && !entity.append_only;
  plan.by_state = FindFinder(model, entity);
  plan.facts = EntityFacts(entity, plan.fixed);
  return plan;
}

Node SchemaFacts(const Model& model) {
  Node facts = Node::Map();
  for (const auto& schema : model.schemas) facts.Set(schema->name, FieldsFacts(schema->fields));
  return facts;
}

}  // namespace holdfast::model::generate
