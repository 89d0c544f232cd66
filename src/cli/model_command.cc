#include "cli/model_command.h"

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

#include "cli/number.h"
#include "cli/show.h"
#include "cli/store_flags.h"
#include "cli/version.h"
#include "model/generate/cost.h"
#include "model/generate/diff.h"
#include "model/generate/generate.h"
#include "model/generate/openapi.h"
#include "model/generate/reference_page.h"
#include "model/item_builder.h"

namespace holdfast::cli {
namespace {

namespace generate = model::generate;

Result<ModelPtr> LoadOne(const std::string& file, ModelFlags flags) {
  flags.models = {file};
  HF_TRY(std::vector<ModelPtr> models, LoadModels(flags));
  if (models.size() != 1)
    return UsageError("name one model; in " + file + " there are " + std::to_string(models.size()));
  return models[0];
}

// --- tables ---

bool IsSound(const TableReport& report) {
  return report.status != "missing" && report.status != "drifted";
}

struct ApplyConfig {
  DataFlags data;
  bool no_defaults = false;
  bool json = false;
};

Result<int> Apply(const ApplyConfig& config) {
  HF_TRY(std::vector<ModelPtr> models, LoadModels(config.data.models));
  HF_TRY(OpenedStore store, OpenStore(config.data.store, IfMissing::kCreate));
  Node tables = Node::List();
  size_t defaults = 0;
  bool sound = true;
  for (const ModelPtr& model : models) {
    HF_TRY(auto application, OpenApplication(store, model, config.data));
    HF_TRY(std::vector<TableReport> reports, application->Apply());
    bool usable = true;
    for (const TableReport& report : reports) {
      usable = usable && IsSound(report);
      tables.Add(NodeOf(report));
      if (!config.json) Print(report);
    }
    sound = sound && usable;
    if (!usable || config.no_defaults) continue;
    HF_TRY(size_t written, application->WriteDefaults());
    defaults += written;
  }
  if (config.json) PrintJson(Node::Map().Set("tables", tables).Set("defaults", defaults));
  if (!config.json && defaults > 0) cli::Print("wrote " + std::to_string(defaults) + " default items");
  return sound ? kDone : kConflict;
}

// --- check ---

struct CheckConfig {
  DataFlags data;
  bool all_items = false;
  bool json = false;
};

// Items of one table that no model knows.
struct Unknown {
  size_t looked_at = 0;
  size_t count = 0;
  std::vector<std::string> keys;  // the first of them
};

Result<Unknown> FindUnknown(Store* store, const std::vector<ModelPtr>& models, const model::Table& table,
                            bool all) {
  constexpr size_t kSample = 1000;
  constexpr size_t kKeysShown = 10;
  Unknown found;
  ScanRequest scan;
  scan.table_name = table.name;
  if (!all) scan.limit = kSample;
  do {
    HF_TRY(ScanResponse page, store->Run(scan));
    for (const Item& item : page.items.value_or(std::vector<Item>())) {
      ++found.looked_at;
      bool known = std::any_of(models.begin(), models.end(), [&](const ModelPtr& model) {
        const model::Table* own = model->TableNamed(table.name);
        return own != nullptr && model->EntityOf(*own, item) != nullptr;
      });
      if (known || ++found.count > kKeysShown) continue;
      found.keys.push_back(cli::NodeOf(model::KeyOf(table, item)).Spell(Node::Style::kJson));
    }
    scan.exclusive_start_key = page.last_evaluated_key;
  } while (scan.exclusive_start_key && (all || found.looked_at < kSample));
  return found;
}

// Compares the tables of a store with the models. Gives whether nothing differs.
Result<bool> CheckStore(const CheckConfig& config, const std::vector<ModelPtr>& models, Node* answer) {
  HF_TRY(OpenedStore store, OpenStore(config.data.store, IfMissing::kFail));
  std::map<std::string, const model::Table*> live;
  Node tables = Node::List();
  bool sound = true;
  for (const ModelPtr& model : models) {
    HF_TRY(auto application, OpenApplication(store, model, config.data));
    HF_TRY(std::vector<TableReport> reports, application->Compare());
    for (const TableReport& report : reports) {
      sound = sound && IsSound(report);
      // The model need not name it: commands keep their idempotency keys in a table of their own, whose items
      // are of no entity.
      const model::Table* table = model->TableNamed(report.table);
      if (report.status != "missing" && table != nullptr) live[report.table] = table;
      tables.Add(NodeOf(report));
      if (!config.json) Print(report);
    }
  }
  Node unknown = Node::List();
  for (const auto& [name, table] : live) {
    HF_TRY(Unknown found, FindUnknown(store.store.get(), models, *table, config.all_items));
    if (found.count == 0) continue;
    sound = false;
    Node keys = Node::List();
    for (const std::string& key : found.keys) keys.Add(Node::Raw(key));
    unknown.Add(Node::Map()
                    .Set("table", name)
                    .Set("lookedAt", found.looked_at)
                    .Set("count", found.count)
                    .Set("keys", keys));
    if (config.json) continue;
    cli::Print(name + ": " + std::to_string(found.count) + " of " + std::to_string(found.looked_at) +
               " items are of no known entity");
    for (const std::string& key : found.keys) cli::Print("  " + key);
  }
  answer->Set("tables", tables).Set("unknown", unknown);
  return sound;
}

Result<int> Check(const CheckConfig& config) {
  std::vector<ModelPtr> models;
  std::vector<std::string> problems;
  ModelFlags flags = config.data.models;
  std::vector<std::string> files = flags.models.empty() ? std::vector<std::string>{""} : flags.models;
  for (const std::string& file : files) {
    flags.models = file.empty() ? std::vector<std::string>() : std::vector<std::string>{file};
    auto loaded = LoadModels(flags);
    if (loaded) {
      models.insert(models.end(), loaded->begin(), loaded->end());
      continue;
    }
    if (loaded.error().code() != ErrorCode::kValidation) return loaded.error();
    std::istringstream lines(loaded.error().message());
    for (std::string line; std::getline(lines, line);) problems.push_back(line);
  }
  Node answer = Node::Map().Set("problems", Node::List(problems));
  Node sound = Node::List();
  for (const ModelPtr& model : models) {
    sound.Add(Node::Map().Set("file", model->file).Set("model", model->name).Set("version", model->version));
    if (!config.json)
      cli::Print(model->file + ": " + std::to_string(model->entities.size()) + " entities, " +
                 std::to_string(model->patterns.size()) + " patterns, " +
                 std::to_string(model->machines.size()) + " state machines: sound");
  }
  answer.Set("sound", sound);
  if (!config.json) {
    for (const std::string& problem : problems) cli::Print(problem);
  }
  int code = problems.empty() ? kDone : kInvalid;
  if (code == kDone && config.data.store.given()) {
    HF_TRY(bool same, CheckStore(config, models, &answer));
    code = same ? kDone : kConflict;
  }
  if (config.json) PrintJson(answer);
  return code;
}

// --- what is made from a file ---

struct FileConfig {
  std::string file;
  ModelFlags flags;
  std::string language;
  bool repositories = false;
  std::string name;
  bool json = false;
};

Result<int> Docs(const FileConfig& config) {
  HF_TRY(ModelPtr model, LoadOne(config.file, config.flags));
  return PrintText(generate::ModelPage(*model), config.json);
}

Result<int> Template(const FileConfig& config) {
  HF_TRY(ModelPtr model, LoadOne(config.file, config.flags));
  return PrintText(generate::CloudFormationTemplate(*model), config.json);
}

Result<int> Schema(const FileConfig& config) {
  HF_TRY(ModelPtr model, LoadOne(config.file, config.flags));
  cli::Print(generate::EntityJsonSchema(*model));
  return kDone;
}

Result<int> Types(const FileConfig& config) {
  HF_TRY(ModelPtr model, LoadOne(config.file, config.flags));
  if (config.language == "cpp") {
    if (config.repositories) return UsageError("repositories are made for ts and python");
    return PrintText(generate::CppTypes(*model), config.json);
  }
  bool python = config.language == "python";
  if (config.repositories)
    return PrintText(python ? generate::PythonRepositories(*model) : generate::TypeScriptRepositories(*model),
                     config.json);
  return PrintText(python ? generate::PythonTypes(*model) : generate::TypeScriptTypes(*model), config.json);
}

Result<int> Show(const FileConfig& config) {
  HF_TRY(ModelPtr model, LoadOne(config.file, config.flags));
  HF_TRY(Node node, Describe(*model, config.name));
  if (config.json)
    PrintJson(node);
  else
    cli::Print(node.ToYaml());
  return kDone;
}

struct OpenApiConfig {
  ModelFlags flags;
  bool html = false;
  bool json = false;  // it is JSON anyway
};

Result<int> OpenApi(const OpenApiConfig& config) {
  HF_TRY(std::vector<ModelPtr> models, LoadModels(config.flags));
  std::vector<const model::Model*> all;
  for (const ModelPtr& model : models) all.push_back(model.get());
  if (config.html) return PrintText(generate::ReferencePage(all, std::string(kVersion)), config.json);
  cli::Print(generate::OpenApiOf(all, std::string(kVersion)));
  return kDone;
}

struct DiffConfig {
  ModelFlags flags;
  std::string before;
  std::string after;
  bool json = false;
};

Result<int> Diff(const DiffConfig& config) {
  HF_TRY(ModelPtr before, LoadOne(config.before, config.flags));
  HF_TRY(ModelPtr after, LoadOne(config.after, config.flags));
  auto changes = generate::CompareModels(*before, *after);
  cli::Print(config.json ? generate::DiffJson(changes) : generate::DiffText(changes));
  return kDone;
}

// --- cost ---

struct CostConfig {
  StoreFlags store;
  ModelFlags models;
  std::optional<double> storage_gb;
  std::optional<double> index_storage_gb;
  std::optional<double> pitr_gb;
  generate::Usage usage;  // what cannot be measured
  bool json = false;
};

// How large the tables of the models are, as the store says.
Result<generate::Usage> Measure(const CostConfig& config) {
  constexpr double kGigabyte = 1 << 30;
  HF_TRY(std::vector<ModelPtr> models, LoadModels(config.models));
  HF_TRY(OpenedStore store, OpenStore(config.store, IfMissing::kFail));
  generate::Usage usage;
  std::map<std::string, const model::Table*> tables;  // models may share some
  for (const ModelPtr& model : models) {
    for (const auto& table : model->tables) tables[table->name] = table.get();
  }
  for (const auto& [name, table] : tables) {
    auto described = store.store->Run(DescribeTableRequest{.table_name = name});
    if (!described && described.error().code() == ErrorCode::kResourceNotFound) continue;
    if (!described) return described.error();
    double size = static_cast<double>(described->table.table_size_bytes) / kGigabyte;
    usage.storage_gb += size;
    if (table->point_in_time_recovery) usage.pitr_gb += size;
    for (const auto& index :
         described->table.global_secondary_indexes.value_or(std::vector<GlobalSecondaryIndexDescription>()))
      usage.index_storage_gb += static_cast<double>(index.index_size_bytes) / kGigabyte;
  }
  return usage;
}

Result<int> Cost(const CostConfig& config) {
  generate::Usage measured;
  if (config.store.given()) {
    HF_TRY(measured, Measure(config));
  }
  generate::Usage usage = config.usage;
  usage.storage_gb = config.storage_gb.value_or(measured.storage_gb);
  usage.index_storage_gb = config.index_storage_gb.value_or(measured.index_storage_gb);
  usage.pitr_gb = config.pitr_gb.value_or(measured.pitr_gb);
  generate::Estimate estimate = generate::EstimateCost(usage);
  if (estimate.items.empty() && !config.store.given())
    return UsageError("give what is used (--storage-gb, --writes, …), or --data or --endpoint to measure it");
  cli::Print(config.json ? generate::CostJson(estimate) : generate::CostTable(estimate));
  return kDone;
}

// --- flags ---

void AddFiles(CLI::App* app, ModelFlags* flags, const std::string& description) {
  app->add_option("models", flags->models, description)->type_name("FILE");
  AddStageFlags(app, flags);
}

// A command that reads one model and prints something made from it.
std::pair<CLI::App*, FileConfig*> AddFileCommand(CLI::App* model, const std::string& name,
                                                 const std::string& description, Run* run,
                                                 Result<int> (*command)(const FileConfig&)) {
  auto [app, config] = AddCommand(model, name, description, run, command);
  app->add_option("model", config->file, "A model file, or the name of a shipped one")
      ->type_name("FILE")
      ->required();
  AddStageFlags(app, &config->flags);
  return {app, config};
}

constexpr double kUsageMax = 1e12;

void AddCost(CLI::App* model, Run* run) {
  auto [app, config] = AddCommand(
      model, "cost", "What a month on DynamoDB on demand would cost; sizes can be measured", run, &Cost);
  AddStoreFlags(app, &config->store);
  AddModelFlags(app, &config->models);
  generate::Usage* usage = &config->usage;
  AddNumber(app, "--storage-gb", &config->storage_gb, 0, kUsageMax, "Gigabytes in tables");
  AddNumber(app, "--writes", &usage->writes, 0, kUsageMax, "Write request units in the month");
  AddNumber(app, "--reads", &usage->reads, 0, kUsageMax, "Read request units in the month");
  AddNumber(app, "--index-storage-gb", &config->index_storage_gb, 0, kUsageMax, "Gigabytes in indexes");
  AddNumber(app, "--index-writes", &usage->index_writes, 0, kUsageMax, "Write request units of indexes");
  AddNumber(app, "--index-reads", &usage->index_reads, 0, kUsageMax, "Read request units of indexes");
  AddNumber(app, "--pitr-gb", &config->pitr_gb, 0, kUsageMax, "Gigabytes under point-in-time recovery");
  AddNumber(app, "--backup-gb", &usage->backup_gb, 0, kUsageMax, "Gigabytes in backups on demand");
  AddNumber(app, "--backup-price", &usage->backup_price, 0, kUsageMax,
            "USD for a gigabyte of backup in a month");
}

}  // namespace

CLI::App* AddModelCommands(CLI::App* app, Run* run) {
  CLI::App* model = app->add_subcommand("model", "Check models, make their tables, generate from them");
  model->require_subcommand(1);
  {
    auto [check, config] = AddCommand(
        model, "check", "Check model files and, with --data or --endpoint, the tables and items there", run,
        &Check);
    AddFiles(check, &config->data.models,
             "Model files, or names of shipped ones; all shipped ones unless told");
    AddStoreFlags(check, &config->data.store);
    check->add_flag("--items", config->all_items, "Look at all items; otherwise at a thousand of each table");
  }
  {
    auto [apply, config] = AddCommand(
        model, "apply", "Make the tables that models describe; again changes nothing", run, &Apply);
    AddFiles(apply, &config->data.models,
             "Model files, or names of shipped ones; all shipped ones unless told");
    AddStoreFlags(apply, &config->data.store);
    apply->add_flag("--no-defaults", config->no_defaults,
                    "Leave out the items that the models name as defaults");
  }
  {
    auto [diff, config] =
        AddCommand(model, "diff", "What a changed model asks of the data that is there", run, &Diff);
    diff->add_option("old", config->before, "The model before")->type_name("FILE")->required();
    diff->add_option("new", config->after, "The model after")->type_name("FILE")->required();
    AddStageFlags(diff, &config->flags);
  }
  {
    auto [show, config] = AddFileCommand(model, "show", "What a model has, or one thing of it", run, &Show);
    show->add_option("name", config->name, "An entity, a pattern, a command or a state machine");
  }
  {
    auto [types, config] =
        AddFileCommand(model, "types", "Types of the entities for a language", run, &Types);
    types->add_option("--language", config->language, "ts, python or cpp")
        ->check(CLI::IsMember({"ts", "python", "cpp"}))
        ->required();
    types->add_flag("--repositories", config->repositories,
                    "With classes that find, create and update entities over the plain SDK");
  }
  AddFileCommand(model, "docs", "A page about a model, in Markdown", run, &Docs);
  AddFileCommand(model, "template", "The tables as a CloudFormation template", run, &Template);
  AddFileCommand(model, "schema", "JSON Schema of the entities", run, &Schema);
  {
    auto [openapi, config] =
        AddCommand(model, "openapi", "The OpenAPI document of a server that has these models", run, &OpenApi);
    AddFiles(openapi, &config->flags, "Model files, or names of shipped ones; all shipped ones unless told");
    openapi->add_flag("--html", config->html, "The page at /docs instead");
  }
  AddCost(model, run);
  return model;
}

}  // namespace holdfast::cli
