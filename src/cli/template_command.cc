#include "cli/template_command.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>

#include "cli/store_flags.h"
#include "model/cloudformation/plan.h"
#include "store/credentials.h"

namespace holdfast::cli {
namespace {

namespace cloudformation = model::cloudformation;

// --- from a template ---

struct ApplyConfig {
  StoreFlags store;
  std::string file;
  std::vector<std::string> parameters;
  std::string stack_name;
  std::string account = cloudformation::ReadOptions().account;
  bool tables_only = false;
  bool dry_run = false;
  bool json = false;
};

Result<std::string> ReadText(const std::string& file) {
  std::ifstream opened;
  if (file != "-") opened.open(file, std::ios::binary);
  if (file != "-" && !opened) return UsageError(file + " cannot be read");
  std::istream& from = file == "-" ? std::cin : opened;
  return std::string(std::istreambuf_iterator<char>(from), std::istreambuf_iterator<char>());
}

Result<cloudformation::ReadOptions> ReadOptionsOf(const ApplyConfig& config) {
  cloudformation::ReadOptions options;
  for (const std::string& parameter : config.parameters) {
    size_t equals = parameter.find('=');
    if (equals == std::string::npos || equals == 0)
      return UsageError("--parameter is like Stage=prod, not " + parameter);
    options.parameters[parameter.substr(0, equals)] = parameter.substr(equals + 1);
  }
  options.stack_name = config.stack_name;
  options.account = config.account;
  options.tables_only = config.tables_only;
  for (const std::string& region : {config.store.region, store::ProcessEnvironment("AWS_REGION"),
                                    store::ProcessEnvironment("AWS_DEFAULT_REGION")}) {
    if (config.store.endpoint.empty() || region.empty()) continue;
    options.region = region;
    break;
  }
  return options;
}

// What would become of it, in the words of what did.
std::vector<TableReport> Foretell(const std::vector<cloudformation::TablePlan>& plans) {
  std::vector<TableReport> reports;
  for (const cloudformation::TablePlan& plan : plans) {
    TableReport report{plan.table, plan.exists ? "to be updated" : "to be created", {}};
    if (plan.exists && plan.steps.empty()) report.status = "as it should be";
    for (const auto& step : plan.steps) report.details.push_back(step.what);
    reports.push_back(std::move(report));
  }
  return reports;
}

// A store of its own that goes with it: what would become of one that is not there yet.
class Scratch {
 public:
  static Result<std::unique_ptr<Scratch>> Open(StoreFlags flags) {
    auto scratch = std::make_unique<Scratch>();
    std::string name = (std::filesystem::temp_directory_path() / "holdfast-dry-run-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) return Error(ErrorCode::kIo, "cannot make the directory " + name);
    scratch->directory_ = flags.data = name;
    HF_TRY(scratch->store_, OpenStore(flags, IfMissing::kCreate));
    return scratch;
  }
  ~Scratch() {
    store_ = {};
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  Store* store() { return store_.store.get(); }

 private:
  std::string directory_;
  OpenedStore store_;
};

Result<int> Apply(const ApplyConfig& config) {
  HF_TRY(std::string text, ReadText(config.file));
  HF_TRY(cloudformation::ReadOptions options, ReadOptionsOf(config));
  HF_TRY(cloudformation::Template read, cloudformation::ReadTemplate(text, config.file, options));
  OpenedStore opened;
  std::unique_ptr<Scratch> scratch;
  if (config.dry_run && !HasStore(config.store)) {
    HF_TRY(scratch, Scratch::Open(config.store));
  } else {
    HF_TRY(opened, OpenStore(config.store, IfMissing::kCreate));
  }
  Store* store = scratch != nullptr ? scratch->store() : opened.store.get();
  HF_TRY(auto plans, cloudformation::PlanTables(store, read, config.file));
  std::vector<TableReport> reports = Foretell(plans);
  if (!config.dry_run) {
    HF_TRY(reports, cloudformation::Execute(store, plans));
    HF_TRY(read.outputs, cloudformation::OutputsOf(store, text, config.file, options, read));
  }
  if (config.json) {
    Node tables = Node::List();
    for (const TableReport& report : reports) tables.Add(NodeOf(report));
    Node skipped = Node::List();
    for (const auto& one : read.skipped) skipped.Add(Node::Map().Set("path", one.path).Set("why", one.why));
    Node outputs = Node::Map();
    for (const auto& output : read.outputs) outputs.Set(output.name, output.value);
    PrintJson(Node::Map().Set("tables", tables).Set("skipped", skipped).Set("outputs", outputs));
    return kDone;
  }
  for (const TableReport& report : reports) Print(report);
  for (const auto& one : read.skipped) Print("left out: " + one.path + " (" + one.why + ")");
  for (const auto& output : read.outputs) Print("output " + output.name + ": " + output.value);
  return kDone;
}

void AddApplyOptions(CLI::App* app, ApplyConfig* config) {
  AddStoreFlags(app, &config->store);
  app->add_option("--parameter", config->parameters, "A parameter of the template: NAME=VALUE")
      ->take_all()
      ->allow_extra_args(false);
  app->add_option("--stack-name", config->stack_name,
                  "What AWS::StackName is, and the first part of the names of tables that have none");
  app->add_option("--account", config->account, "What AWS::AccountId is, as `serve` is told")
      ->capture_default_str();
  app->add_flag("--tables-only", config->tables_only,
                "Leave out resources that are no tables, and list them");
  app->add_flag("--dry-run", config->dry_run, "Say what would be done, and do nothing");
}

// --- to a template ---

struct ExportConfig {
  StoreFlags store;
  std::vector<std::string> tables;
  std::string model;
  ModelFlags models;
  bool all = false;
  bool json = false;
};

Result<std::vector<std::string>> AllTables(Store* store) {
  std::vector<std::string> tables;
  ListTablesRequest request;
  do {
    HF_TRY(ListTablesResponse page, store->Run(request));
    tables.insert(tables.end(), page.table_names.begin(), page.table_names.end());
    request.exclusive_start_table_name = page.last_evaluated_table_name;
  } while (request.exclusive_start_table_name);
  return tables;
}

Result<int> Export(const ExportConfig& config) {
  int ways = (config.tables.empty() ? 0 : 1) + (config.model.empty() ? 0 : 1) + (config.all ? 1 : 0);
  if (ways != 1) return UsageError("name tables, or give --model or --all");
  std::vector<std::string> tables = config.tables;
  if (!config.model.empty()) {
    ModelFlags flags = config.models;
    flags.models = {config.model};
    HF_TRY(std::vector<ModelPtr> models, LoadModels(flags));
    std::set<std::string> seen;  // models may share some
    for (const ModelPtr& model : models) {
      for (const auto& table : model->tables) {
        if (seen.insert(table->name).second) tables.push_back(table->name);
      }
    }
  }
  HF_TRY(OpenedStore store, OpenStore(config.store, IfMissing::kFail));
  if (config.all) {
    HF_TRY(tables, AllTables(store.store.get()));
  }
  HF_TRY(std::string text, cloudformation::ExportTemplate(store.store.get(), tables));
  return PrintText(text, config.json);
}

}  // namespace

void AddTemplateCommands(CLI::App* app, Run* run) {
  {
    auto [apply, config] =
        AddCommand(app, "apply", "Make the tables of a CloudFormation or SAM template; again changes nothing",
                   run, &Apply);
    apply->add_option("template", config->file, "The template, in YAML or JSON; - is standard input")
        ->type_name("FILE")
        ->required();
    AddApplyOptions(apply, config);
    apply->footer("holdfast apply template.yaml --parameter Stage=prod --endpoint http://localhost:8000");
  }
  {
    CLI::App* table = app->add_subcommand("table", "Tables by their templates");
    table->require_subcommand(1);
    auto [create, config] = AddCommand(table, "create", "The same as `holdfast apply`", run, &Apply);
    create->add_option("--template", config->file, "The template")->type_name("FILE")->required();
    AddApplyOptions(create, config);
  }
  {
    auto [command, config] = AddCommand(app, "export-template",
                                        "Tables that are there, as a CloudFormation template", run, &Export);
    command->add_option("tables", config->tables, "Names of tables");
    command->add_option("--model", config->model,
                        "The tables of a model: its file, or the name of a shipped one");
    command->add_flag("--all", config->all, "All tables of the store");
    AddStoreFlags(command, &config->store);
    AddStageFlags(command, &config->models);
  }
}

}  // namespace holdfast::cli
