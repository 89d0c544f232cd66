#include "cli/entity_command.h"

#include <algorithm>

#include "cli/arguments.h"
#include "cli/number.h"
#include "cli/store_flags.h"
#include "json/plain.h"
#include "model/from_text.h"
#include "model/model.h"
#include "model/refusal.h"

namespace holdfast::cli {
namespace {

struct PageFlags {
  PageRequest page;
  bool all = false;
};

void AddPageFlags(CLI::App* app, PageFlags* flags) {
  AddNumber(app, "--limit", &flags->page.limit, 1, 1000, "How many to a page");
  CLI::Option* cursor = app->add_option("--cursor", flags->page.cursor, "Where the page before ended");
  app->add_flag("--all", flags->all, "All pages")->excludes(cursor);
}

// --- answers ---

std::vector<Item> FieldsOf(const Answer& answer) {
  std::vector<Item> items;
  items.reserve(answer.records.size());
  for (const Record& record : answer.records) items.push_back(record.Fields());
  return items;
}

Node NodeOf(const Answer& answer) {
  Node items = Node::List();
  for (const Item& item : FieldsOf(answer)) items.Add(cli::NodeOf(item));
  Node node = Node::Map();
  if (answer.parts.empty()) node.Set("items", items);
  if (!answer.similarities.empty()) {
    Node similarities = Node::List();
    for (double similarity : answer.similarities) similarities.Add(similarity);
    node.Set("similarities", similarities);
  }
  if (!answer.parts.empty()) {
    Node parts = Node::Map();
    for (const auto& [name, part] : answer.parts) parts.Set(name, NodeOf(part));
    node.Set("parts", parts);
  }
  if (!answer.cursor.empty()) node.Set("cursor", answer.cursor);
  if (!answer.warnings.empty()) node.Set("warnings", cli::NodeOf(answer.warnings));
  return node;
}

void PrintTable(const Answer& answer) {
  std::vector<std::string> lead;
  if (!answer.similarities.empty()) {
    lead.emplace_back("similarity");
    for (double similarity : answer.similarities) lead.push_back(model::generate::NumberText(similarity));
  }
  std::vector<std::string> key;
  if (!answer.records.empty() && answer.records[0].entity() != nullptr)
    key = answer.records[0].entity()->KeyInputs();
  if (!answer.records.empty()) PrintRows(RowsOf(FieldsOf(answer), key, lead));
  Print(std::to_string(answer.records.size()) + " found");
  if (!answer.cursor.empty()) Print("more: --cursor " + answer.cursor);
}

int PrintAnswer(const Answer& answer, bool json) {
  if (json) {
    PrintJson(NodeOf(answer));
    return kDone;
  }
  PrintWarnings(answer.warnings);
  for (const auto& [name, part] : answer.parts) {
    Print("== " + name);
    PrintTable(part);
  }
  if (answer.parts.empty()) PrintTable(answer);
  return kDone;
}

int PrintRecord(const Record& record, const std::vector<ModelWarning>& warnings, bool json) {
  Item fields = record.Fields();
  PrintWarnings(warnings);
  if (json)
    PrintJson(cli::NodeOf(fields));
  else
    PrintFields(fields);
  return kDone;
}

// The page asked for, or all of them as one.
template <class Ask>
Result<Answer> Pages(const PageFlags& flags, const Ask& ask) {
  PageRequest page = flags.page;
  HF_TRY(Answer whole, ask(page));
  while (flags.all && !whole.cursor.empty()) {
    page.cursor = whole.cursor;
    HF_TRY(Answer next, ask(page));
    whole.records.insert(whole.records.end(), next.records.begin(), next.records.end());
    whole.similarities.insert(whole.similarities.end(), next.similarities.begin(), next.similarities.end());
    whole.warnings.insert(whole.warnings.end(), next.warnings.begin(), next.warnings.end());
    whole.cursor = next.cursor;
  }
  return whole;
}

// --- query ---

struct QueryConfig {
  DataFlags data;
  PageFlags page;
  std::string pattern;
  std::string params;
  bool explain = false;
  std::vector<std::string> rest;  // the parameters
  bool json = false;
};

Result<ModelPtr> ModelWithPattern(const std::vector<ModelPtr>& models, const std::string& id) {
  ModelPtr found;
  for (const ModelPtr& model : models) {
    if (model->FindPattern(id) == nullptr) continue;
    if (found)
      return UsageError("both " + found->file + " and " + model->file + " have a pattern " + id +
                        ": say which by --models");
    found = model;
  }
  if (!found)
    return model::Refuse("NotFound",
                         "no model has a pattern " + id + "; `holdfast model show MODEL` lists them");
  return found;
}

Result<int> Query(const QueryConfig& config) {
  HF_TRY(std::vector<ModelPtr> models, LoadModels(config.data.models));
  HF_TRY(ModelPtr model, ModelWithPattern(models, config.pattern));
  const model::Pattern& pattern = *model->FindPattern(config.pattern);
  HF_TRY(AttributeMap parameters, ReadParameters(config.rest, [&](std::string_view name) {
           return FindAttribute(pattern.params, name);
         }));
  if (!config.params.empty()) {
    Result<Item> more = json::ReadPlainItem(config.params);
    if (!more) return UsageError("--params: " + more.error().message());
    parameters.merge(more->ToMap());
  }
  HF_TRY(OpenedStore store, OpenStore(config.data.store, IfMissing::kFail));
  HF_TRY(auto application, OpenApplication(store, model, config.data));
  Item given(parameters);
  if (config.explain) {
    HF_TRY(std::vector<std::string> plan, application->Explain(config.data.caller(), pattern.id, given));
    if (config.json) PrintJson(Node::Map().Set("plan", Node::List(plan)));
    for (const std::string& line : config.json ? std::vector<std::string>() : plan) Print(line);
    return kDone;
  }
  HF_TRY(Answer answer, Pages(config.page, [&](const PageRequest& page) {
           return application->Ask(config.data.caller(), pattern.id, given, page);
         }));
  return PrintAnswer(answer, config.json);
}

// --- single entities ---

struct EntityConfig {
  DataFlags data;
  std::string model;
  std::string entity;
  std::vector<std::string> fields;
  std::string expect;
  bool replace = false;
  PageFlags page;
  bool json = false;
};

// An entity's application, and what the command line says of the entity.
struct Target {
  OpenedStore store;
  std::unique_ptr<Application> application;
  const model::Entity* entity = nullptr;
  Caller caller;
  AttributeMap fields;
  Expected expected;

  // Takes the attributes of the key out of the fields.
  Item TakeKey() {
    AttributeMap key;
    for (const std::string& name : entity->KeyInputs()) {
      if (auto field = fields.extract(name)) key.insert(std::move(field));
    }
    return Item(key);
  }
};

Result<const model::Entity*> EntityNamed(const model::Model& model, const std::string& name) {
  for (const auto& entity : model.entities) {
    if (entity->name == name || entity->id == name) return entity.get();
  }
  return model::Refuse("NotFound", "the model " + model.name + " has no entity " + name);
}

Result<Target> OpenTarget(const EntityConfig& config) {
  HF_TRY(std::vector<ModelPtr> models, LoadModels(config.data.models));
  HF_TRY(ModelPtr model, ModelNamed(models, config.model));
  Target target;
  HF_TRY(target.entity, EntityNamed(*model, config.entity));
  HF_TRY(target.fields,
         ReadFields(config.fields, [&](std::string_view name) { return target.entity->Find(name); }));
  if (!config.expect.empty())
    target.expected.version = model::FromText(target.entity->Find(target.entity->version), config.expect);
  target.caller = config.data.caller();
  HF_TRY(target.store, OpenStore(config.data.store, IfMissing::kFail));
  HF_TRY(target.application, OpenApplication(target.store, model, config.data));
  return target;
}

Result<int> Get(const EntityConfig& config) {
  HF_TRY(Target target, OpenTarget(config));
  HF_TRY(Record record, target.application->Get(target.caller, target.entity->name, Item(target.fields)));
  return PrintRecord(record, {}, config.json);
}

Result<int> Put(const EntityConfig& config) {
  if (!config.replace && !config.expect.empty()) return UsageError("--expect goes with --replace");
  HF_TRY(Target target, OpenTarget(config));
  Item fields(target.fields);
  HF_TRY(Written written,
         config.replace ? target.application->Put(target.caller, target.entity->name, fields, target.expected)
                        : target.application->Create(target.caller, target.entity->name, fields));
  return PrintRecord(written.record, written.warnings, config.json);
}

Result<int> Patch(const EntityConfig& config) {
  HF_TRY(Target target, OpenTarget(config));
  Item key = target.TakeKey();
  HF_TRY(Written written, target.application->Patch(target.caller, target.entity->name, key,
                                                    Item(target.fields), target.expected));
  return PrintRecord(written.record, written.warnings, config.json);
}

Result<int> Delete(const EntityConfig& config) {
  HF_TRY(Target target, OpenTarget(config));
  HF_CHECK_OK(
      target.application->Delete(target.caller, target.entity->name, Item(target.fields), target.expected));
  if (config.json)
    PrintJson(Node::Map().Set("deleted", true));
  else
    Print("deleted");
  return kDone;
}

Result<int> List(const EntityConfig& config) {
  HF_TRY(Target target, OpenTarget(config));
  HF_TRY(Answer answer, Pages(config.page, [&](const PageRequest& page) {
           return target.application->List(target.caller, target.entity->name, Item(target.fields), page);
         }));
  return PrintAnswer(answer, config.json);
}

std::pair<CLI::App*, EntityConfig*> AddEntityCommand(CLI::App* parent, const std::string& name,
                                                     const std::string& description, Run* run,
                                                     Result<int> (*command)(const EntityConfig&)) {
  auto [app, config] = AddCommand(parent, name, description, run, command);
  app->add_option("model", config->model, "Name of the model")->required();
  app->add_option("entity", config->entity, "Name or ID of the entity")->required();
  app->add_option("fields", config->fields,
                  "name=value, name:=json, @file.json or - (standard input) for a whole object");
  AddDataFlags(app, &config->data);
  return {app, config};
}

void AddExpect(CLI::App* app, EntityConfig* config) {
  app->add_option("--expect", config->expect, "Only if this is the stored version")->type_name("VERSION");
}

}  // namespace

void AddEntityCommands(CLI::App* app, Run* run) {
  auto [query, query_config] = AddCommand(app, "query", "Ask an access pattern by its ID", run, &Query);
  query->add_option("pattern", query_config->pattern, "ID of the pattern")->required();
  query->add_option("--params", query_config->params, "Parameters as a JSON object");
  query->add_flag("--explain", query_config->explain, "Show what would be asked of the store");
  AddPageFlags(query, &query_config->page);
  AddDataFlags(query, &query_config->data);
  query->footer("Parameters are given by their names: holdfast query PM-A-13 --status active");

  AddEntityCommand(app, "get", "One entity by its key", run, &Get);
  auto [put, put_config] = AddEntityCommand(app, "put", "Create an entity", run, &Put);
  put->add_flag("--replace", put_config->replace, "Replace it where it is there already");
  AddExpect(put, put_config);
  auto [patch, patch_config] = AddEntityCommand(
      app, "patch", "Change some attributes of an entity; name:=null removes one", run, &Patch);
  AddExpect(patch, patch_config);
  auto [remove, remove_config] = AddEntityCommand(app, "delete", "Delete an entity", run, &Delete);
  AddExpect(remove, remove_config);
  auto [list, list_config] =
      AddEntityCommand(app, "list", "Entities of one partition, of the table or of an index", run, &List);
  AddPageFlags(list, &list_config->page);
}

}  // namespace holdfast::cli
