#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>

#include "cli/alarms.h"
#include "cli/archive.h"
#include "cli/completion.h"
#include "cli/config.h"
#include "cli/demo.h"
#include "cli/entity_command.h"
#include "cli/jobs.h"
#include "cli/keys.h"
#include "cli/model_command.h"
#include "cli/number.h"
#include "cli/policy.h"
#include "cli/run.h"
#include "cli/search.h"
#include "cli/serve.h"
#include "cli/template_command.h"
#include "cli/token.h"
#include "cli/verify.h"
#include "cli/version.h"

namespace holdfast::cli {
namespace {

void AddServeOptions(CLI::App* serve, ServeConfig* config, bool* in_memory, std::string* config_file) {
  const std::map<std::string, Durability> durabilities{
      {"sync", Durability::kSync}, {"interval", Durability::kInterval}, {"none", Durability::kNone}};

  AddNumber(serve, "--port", &config->http.port, 0, 65'535, "Port to listen on; 0 takes any free one");
  serve->add_option("--address", config->http.address, "Address to listen on")->capture_default_str();
  serve->add_option("--data", config->store.directory, "Directory of the store, created when it is not there")
      ->capture_default_str();
  serve->add_flag("--in-memory", *in_memory, "Keep everything in memory: gone when the server stops");
  serve
      ->add_option(
          "--durability", config->store.durability,
          "What an acknowledged write survives. sync: a power cut; the answer follows a sync of the log, "
          "shared by all writes that arrive together. interval: a crash of the process; a power cut may take "
          "the last --sync-interval-ms. none: a clean shutdown only")
      ->transform(CLI::CheckedTransformer(durabilities, CLI::ignore_case))
      ->option_text("{sync,interval,none}=sync");  // the transformer's own text holds the enum's raw bytes
  AddNumber(serve, "--sync-interval-ms", &config->store.sync_interval_millis, 1, 3'600'000,
            "With --durability interval");
  serve
      ->add_option("--memory", config->memory_bytes,
                   "What the server may take: cache, write buffers, vectors, sessions, requests. 400M, 2G; "
                   "unless told a quarter of the machine's")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false))
      ->check(NumberFrom<uint64_t>(1, uint64_t{1} << 44))
      ->type_name("SIZE");
  serve
      ->add_option(
          "--archive", config->store.archive_directory,
          "Ship checkpoints and the log to this directory, on another disk, so that `holdfast restore` "
          "can bring back any second")
      ->type_name("DIR");
  AddNumber(serve, "--archive-days", &config->store.archive_days, 1, 3650,
            "For how long every second is kept there");
  AddNumber(serve, "--ttl-sweep-ms", &config->store.ttl_sweep_millis, 1, 86'400'000,
            "How often expired items are looked for");
  AddNumber(serve, "--transient-status-ms", &config->store.transient_status_millis, 0, 3'600'000,
            "How long tables stay CREATING, UPDATING or DELETING, as they do on AWS");
  serve->add_flag("--compact-at-start", config->compact_at_start, "Compact the store before listening");
  serve
      ->add_option("--models", config->models.flags.models,
                   "A model file, a directory of them, or none; may be given several times. The shipped ones "
                   "unless told")
      ->take_all()
      ->allow_extra_args(false);
  serve->add_option("--stage", config->models.flags.stage, "What {stage} is in names of tables")
      ->capture_default_str();
  serve
      ->add_option("--option,--model-option", config->models.flags.options,
                   "An option of the models: NAME=true")
      ->take_all()
      ->allow_extra_args(false);
  serve->add_flag("--apply", config->models.apply, "Make the tables that the models lack");
  serve->add_option("--key-file", config->store.key_file,
                    "Master keys, for encryption at rest and encrypted attributes (`holdfast init-key`)");
  serve->add_flag("--encrypt", config->store.encrypt,
                  "Encrypt every file of the store, from now on and for good; needs --key-file");
  serve->add_option("--embedder", config->models.embedder,
                    "What makes vectors of texts: demo, or the URL of a webhook");
  serve->add_flag("--demo", config->models.demo,
                  "Make the tables of the models and fill them with made-up data");
  serve
      ->add_option("--store", config->store_kind,
                   "embedded: this server has the data; dynamodb: it runs on the tables at --endpoint")
      ->check(CLI::IsMember({"embedded", "dynamodb"}))
      ->capture_default_str();
  serve->add_option("--endpoint", config->endpoint,
                    "With --store dynamodb; AWS's own of --region unless told");
  serve->add_option("--region", config->store.region, "Region in ARNs, and of --store dynamodb")
      ->capture_default_str();
  serve->add_option("--account", config->store.account, "Account in ARNs")->capture_default_str();

  serve
      ->add_option("--auth", config->auth,
                   "none: any well-formed signature passes; sigv4: signatures are verified")
      ->capture_default_str();
  serve->add_option("--credentials", config->credentials_file, "JSON file of access keys, for --auth sigv4");
  serve->add_option(
      "--policies", config->policies_file,
      "JSON file of policies, roles and principals, where they are not in the file of --credentials");
  AddTokenFlags(serve, &config->tokens);
  AddAgentFlags(serve, &config->agents);
  AddAlarmFlags(serve, &config->alarms);
  serve->add_flag("--insecure", config->insecure, "Listen beyond loopback without authentication or TLS");
  serve->add_option("--tls-cert", config->http.tls_certificate, "Certificate chain (PEM): serve HTTPS");
  serve->add_option("--tls-key", config->http.tls_key, "Its private key (PEM)");
  serve->add_flag(
      "--dev", config->dev,
      "For tests: set the clock, sweep, empty the store and return to states of it under /_holdfast/ "
      "(docs/testing.md); and --cors");
  serve->add_flag("--cors", config->protocol.cors, "Answer cross-origin requests of browsers");
  serve->add_option("--allow-host", config->protocol.hosts, "A name besides localhost under which to answer")
      ->take_all();

  AddNumber(serve, "--io-threads", &config->http.io_threads, 0, 1024, "Event loops; 0: one per core");
  AddNumber(serve, "--worker-threads", &config->worker_threads, 1, 1024, "Threads for what has to wait");
  AddNumber(serve, "--max-connections", &config->http.connections_max, 1, 1'000'000, "Connections at a time");
  AddNumber(serve, "--request-timeout", &config->http.request_seconds_max, 1, 86'400,
            "Seconds a client has to send a request");
  AddNumber(serve, "--idle-timeout", &config->http.idle_seconds_max, 1, 604'800,
            "Seconds until an idle connection is closed");
  AddNumber(serve, "--trip-choice-minutes", &config->trip_choice_minutes, 0, 525'600,
            "Cancel a booking whose options nobody chooses from for so long; 0: never");
  AddNumber(serve, "--drain-seconds", &config->drain_seconds, 0, 3600,
            "Seconds that requests have to finish at SIGTERM");
  AddNumber(serve, "--slow-request-ms", &config->protocol.slow_request_millis, -1, 3'600'000,
            "Log requests from this on; -1: none");
  // Nobody else is helped by it: not in --help.
  serve->add_option("--test-file-bytes", config->file_bytes)
      ->group("")
      ->check(CLI::Range(size_t{131'072}, size_t{1} << 30));
  serve->add_option("--log-level", config->log_level, "debug, info, warning, error or none")
      ->check(CLI::IsMember({"debug", "info", "warning", "error", "none"}))
      ->capture_default_str();
  serve->add_option("--config", *config_file, "YAML file of these settings: \"port: 9000\"");
  for (CLI::Option* option : serve->get_options()) {
    if (option->get_multi_option_policy() != CLI::MultiOptionPolicy::TakeAll)
      option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
}

void AddSearchOptions(CLI::App* search, SearchConfig* config) {
  search->add_option("--data", config->directory, "Directory of the store")->required();
  search->add_option("--key-file", config->key_file, "Its master keys, when it is encrypted");
  search->add_option("--table", config->table, "Name of the table")->required();
  search->add_option("--index", config->index, "Name of its vector index")->required();
  search->add_option("--vector", config->vector, "Search near this vector: '[0.1,0.2]'");
  search->add_option("--vector-file", config->vector_file, "Search near the vector in this file");
  search->add_option("--like", config->like,
                     "Search near the vector of the item with this key: '{\"id\":{\"S\":\"7\"}}'");
  AddNumber(search, "--top-k", &config->top_k, 1, 100, "How many to find");
  search->add_option("--where", config->where, "A SearchConditionExpression: 'tenant = :t'");
  search->add_option("--value", config->values, "A value it names: ':t={\"S\":\"x\"}'")
      ->take_all()
      ->allow_extra_args(false);
  AddNumber(search, "--threshold", &config->threshold, -1, 1,
            "Only what is at least so similar; for indexes of the distance function COSINE");
  search->add_flag("--json", config->json, "Print the answer as JSON");
}

std::vector<std::string> LongNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      if (name != "help") names.push_back(name);
    }
  }
  return names;
}

// The value of --config among the arguments, if any.
std::string ConfigFileIn(const std::vector<std::string>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--config" && i + 1 < arguments.size()) return arguments[i + 1];
    if (arguments[i].starts_with("--config=")) return arguments[i].substr(9);
  }
  const char* variable = std::getenv("HOLDFAST_CONFIG");
  return variable == nullptr ? "" : variable;
}

int Main(int argc, char** argv) {
  CLI::App app{"holdfast: the database for AI agents' state. It speaks the DynamoDB API."};
  app.set_version_flag("--version", "holdfast " + std::string(kVersion));
  app.require_subcommand(1);

  ServeConfig config;
  config.store.directory = "./holdfast-data";
  bool in_memory = false;
  std::string config_file;
  CLI::App* serve = app.add_subcommand("serve", "Serve the DynamoDB API over HTTP");
  serve->footer(
      "Every flag can also be set as HOLDFAST_<NAME> in the environment or in the --config file; flags win, "
      "then the environment.\nDynamoDB Local's flags (-inMemory, -port, -sharedDb, -dbPath, -cors, "
      "-delayTransientStatuses, -optimizeDbBeforeStartup) work too.");
  AddServeOptions(serve, &config, &in_memory, &config_file);

  VerifyConfig verify_config;
  CLI::App* verify =
      app.add_subcommand("verify", "Check a store: every index against its table, every record's form");
  verify->add_option("--data", verify_config.directory, "Directory of the store")->required();
  verify->add_option("--key-file", verify_config.key_file, "Its master keys, when it is encrypted");

  SearchConfig search_config;
  CLI::App* search = app.add_subcommand("search", "Search a vector index of a store that no server has open");
  AddSearchOptions(search, &search_config);

  Run run;  // of the commands below
  AddModelCommands(&app, &run);
  AddJobCommands(app.get_subcommand("model"), &run);
  AddEntityCommands(&app, &run);
  AddRunCommand(&app, &run);
  AddTemplateCommands(&app, &run);
  AddDemoCommand(&app, &run);
  AddKeyCommands(&app, &run);
  AddTokenCommand(&app, &run);
  AddAlarmsCommand(&app, &run);
  AddArchiveCommands(&app, &run);
  AddPolicyCommands(&app, &run);
  AddCompletionCommand(&app, &run);

  std::vector<std::string> arguments(argv + 1, argv + argc);
  arguments = TranslateDynamoDbLocalFlags(arguments);
  if (!arguments.empty() && arguments[0] == "serve") {
    // What comes later wins: file, environment, command line.
    std::vector<std::string> names = LongNames(*serve);
    std::vector<std::string> all{"serve"};
    std::string file = ConfigFileIn(arguments);
    if (!file.empty()) {
      auto flags = FlagsFromFile(file, names);
      if (!flags) {
        std::fprintf(stderr, "holdfast: %s\n", flags.error().message().c_str());
        return 2;
      }
      all.insert(all.end(), flags->begin(), flags->end());
    }
    std::vector<std::string> environment = FlagsFromEnvironment(names);
    // The models that are named replace those named elsewhere.
    auto names_models = [](const std::string& argument) { return argument.starts_with("--models"); };
    bool named = std::any_of(arguments.begin(), arguments.end(), names_models);
    if (named || std::any_of(environment.begin(), environment.end(), names_models))
      std::erase_if(all, names_models);
    if (named) std::erase_if(environment, names_models);
    all.insert(all.end(), environment.begin(), environment.end());
    all.insert(all.end(), arguments.begin() + 1, arguments.end());
    arguments = std::move(all);
  }
  bool json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants it
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& e) {
    if (json && e.get_exit_code() != 0) return Report(UsageError(e.what()), json);
    return app.exit(e) == 0 ? kDone : kUsage;
  }
  if (run) return run();
  if (serve->parsed()) {
    if (in_memory) config.store.directory.clear();
    return Serve(config);
  }
  return search->parsed() ? Search(search_config) : Verify(verify_config);
}

}  // namespace
}  // namespace holdfast::cli

// NOLINTNEXTLINE(bugprone-exception-escape): what gets here ends the program, and should.
int main(int argc, char** argv) {
  return holdfast::cli::Main(argc, argv);
}
