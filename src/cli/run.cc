#include "cli/run.h"

#include <algorithm>

#include "cli/arguments.h"
#include "cli/store_flags.h"
#include "model/command.h"
#include "model/refusal.h"

namespace holdfast::cli {
namespace {

struct RunConfig {
  DataFlags data;
  std::string model;
  std::string command;
  std::vector<std::string> fields;
  std::string input;
  RunOptions options;
  std::string role;
  std::string subject;
  bool json = false;
};

Result<const model::Command*> CommandNamed(const model::Model& model, const std::string& name) {
  for (const auto& command : model.commands) {
    bool named = command->name == name || (!command->id.empty() && command->id == name);
    if (named && !command->internal) return command.get();
  }
  return model::Refuse("NotFound", "the model " + model.name + " has no command " + name +
                                       "; `holdfast model show " + model.name + "` lists them");
}

// On whose behalf: as a token with this role and tenant would be.
Result<Caller> CallerOf(const RunConfig& config, const model::Model& model) {
  Caller caller = config.data.caller();
  caller.subject = config.subject.empty() ? config.data.tenant : config.subject;
  if (config.role.empty() || config.role == "admin") return caller;
  caller.role = config.role;
  caller.administrator = false;
  if (model.roles.empty()) return caller;
  const model::Role* role = model.FindRole(config.role);
  if (role == nullptr) return UsageError("the model " + model.name + " has no role " + config.role);
  if (role->own_tenant && caller.tenant.empty() && !model.tenant.empty())
    return UsageError("the role " + role->name + " acts for a tenant: say which by --tenant");
  return caller;
}

Node NodeOf(const CommandAnswer& answer) {
  Node node = Node::Map().Set("result", cli::NodeOf(answer.result)).Set("created", answer.created);
  node.Set("changed", answer.changed);
  if (answer.replayed) node.Set("replayed", true);
  if (!answer.warnings.empty()) node.Set("warnings", cli::NodeOf(answer.warnings));
  Node emitted = Node::List();
  for (const Emitted& one : answer.emitted) {
    Node message = Node::Map().Set("name", one.name);
    if (!one.to.empty()) message.Set("to", one.to);
    emitted.Add(message.Set("body", cli::NodeOf(one.body)));
  }
  if (!emitted.empty()) node.Set("emitted", emitted);
  return node;
}

Result<int> RunCommand(const RunConfig& config) {
  HF_TRY(std::vector<ModelPtr> models, LoadModels(config.data.models));
  HF_TRY(ModelPtr model, ModelNamed(models, config.model));
  HF_TRY(const model::Command* command, CommandNamed(*model, config.command));
  HF_TRY(Caller caller, CallerOf(config, *model));
  std::vector<std::string> words = config.fields;
  if (!config.input.empty()) words.insert(words.begin(), config.input);
  HF_TRY(AttributeMap input,
         ReadFields(words, [&](std::string_view name) { return FindAttribute(command->inputs, name); }));
  HF_TRY(OpenedStore store, OpenStore(config.data.store, IfMissing::kFail));
  HF_TRY(auto application, OpenApplication(store, model, config.data));
  HF_TRY(CommandAnswer answer, application->Run(caller, command->name, Item(input), config.options));
  if (config.json) {
    PrintJson(NodeOf(answer));
    return kDone;
  }
  PrintWarnings(answer.warnings);
  PrintFields(answer.result);
  for (const Emitted& one : answer.emitted)
    Print("emitted " + one.name + ": " + cli::NodeOf(one.body).Spell(Node::Style::kJson));
  return kDone;
}

// --- completion ---

struct CompleteConfig {
  DataFlags data;
  std::vector<std::string> rest;  // of the command line, after `run`
  bool json = false;
};

// name=, or with its choices name=a, name=b
void AddWords(const model::Attribute& input, std::vector<std::string>* words) {
  if (input.choices.empty()) words->push_back(input.name + "=");
  for (const std::string& choice : input.choices) words->push_back(input.name + "=" + choice);
}

Result<int> Complete(const CompleteConfig& config) {
  HF_TRY(std::vector<ModelPtr> models, LoadModels(config.data.models));
  std::vector<std::string> given;
  std::copy_if(config.rest.begin(), config.rest.end(), std::back_inserter(given),
               [](const std::string& word) { return !word.starts_with('-'); });
  std::vector<std::string> words;
  if (given.empty()) {
    for (const ModelPtr& model : models) words.push_back(model->name);
  } else {
    HF_TRY(ModelPtr model, ModelNamed(models, given[0]));
    if (given.size() == 1) {
      for (const auto& command : model->commands) {
        if (!command->internal) words.push_back(command->name);
      }
    } else {
      HF_TRY(const model::Command* command, CommandNamed(*model, given[1]));
      for (const model::Attribute& input : command->inputs) AddWords(input, &words);
    }
  }
  if (config.json) PrintJson(Node::List(words));
  for (const std::string& word : config.json ? std::vector<std::string>() : words) Print(word);
  return kDone;
}

}  // namespace

void AddRunCommand(CLI::App* app, Run* run) {
  auto [command, config] = AddCommand(app, "run", "Run a command of a model", run, &RunCommand);
  command->add_option("model", config->model, "Name of the model")->required();
  command->add_option("command", config->command, "Name or ID of the command")->required();
  command->add_option("fields", config->fields,
                      "The input: name=value, name:=json; for all of it its JSON, @file.json or - (standard "
                      "input)");
  command->add_option("--input", config->input, "The input as JSON, @file.json or -; fields come on top")
      ->type_name("JSON");
  command->add_option("--idempotency-key", config->options.idempotency_key,
                      "With the same key and input again: the first answer, and nothing is written");
  AddDataFlags(command, &config->data);
  command->add_option("--role", config->role, "Act in this role of the model; otherwise as an administrator");
  command->add_option("--subject", config->subject, "Who acts, for records; the tenant unless told");
  command->footer("holdfast run pm project.create name=\"Lantern Quay\" source=jira …");

  auto [complete, complete_config] = AddCommand(app, kCompleteRun, "", run, &Complete);
  complete->group("");  // not for people
  AddDataFlags(complete, &complete_config->data);
}

}  // namespace holdfast::cli
