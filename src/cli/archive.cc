#include "cli/archive.h"

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <future>

#include "base/clock.h"
#include "base/log.h"
#include "cli/token_flags.h"
#include "engine/engine.h"
#include "engine/restore.h"
#include "json/plain.h"
#include "model/instant.h"
#include "storage/encryption/vault.h"
#include "store/http_client.h"

namespace holdfast::cli {
namespace {

namespace fs = std::filesystem;

struct BackupConfig {
  std::string data = "./holdfast-data";
  std::string endpoint;
  std::string token;
  std::string to;
  std::string key_file;
  bool json = false;
};

struct RestoreConfig {
  std::string from;
  std::string data;
  std::string at;
  std::string key_file;
  bool json = false;
};

struct StatusConfig {
  std::string from;
  std::string key_file;
  bool deep = false;
  bool json = false;
};

std::string Absolute(const std::string& path) {
  std::string text = fs::absolute(path).lexically_normal().string();
  if (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

void AddKeyFile(CLI::App* command, std::string* key_file, const std::string& what) {
  command->add_option("--key-file", *key_file, what)->type_name("FILE");
}

// --- backup ---

Result<uint64_t> AskServer(const BackupConfig& config, const std::string& to) {
  HF_TRY(AdminToken token, MakeAdminToken({config.token, config.data, "holdfast backup"}));
  std::string url = config.endpoint;
  while (url.ends_with('/')) url.pop_back();
  Node body = Node::Map().Set("to", to);
  store::HttpRequest request{url + "/_holdfast/backup",
                             {"Content-Type: application/json", "Authorization: Bearer " + token.text},
                             std::make_shared<const std::string>(body.Spell(Node::Style::kJson))};
  store::HttpClientOptions options;
  options.request_timeout_millis = 24 * 3'600'000;
  store::HttpClient client(options);
  std::promise<Result<store::HttpAnswer>> answered;
  client.Send([&] { return request; },
              [&](Result<store::HttpAnswer> answer) { answered.set_value(std::move(answer)); });
  HF_TRY(store::HttpAnswer answer, answered.get_future().get());
  auto read = json::ReadPlainItem(answer.body);
  if (answer.status == 200 && read) {
    if (auto bytes = read->Get("bytes")) return static_cast<uint64_t>(bytes->AsInt64().value_or(0));
  }
  std::string why = "HTTP " + std::to_string(answer.status);
  if (read && read->Get("message")) why = read->Get("message")->AsText();
  if (answer.status == 401) why += token.hint;
  return Error(answer.status < 500 ? ErrorCode::kValidation : ErrorCode::kIo, config.endpoint + ": " + why);
}

Result<uint64_t> BackUpHere(const BackupConfig& config, const std::string& to, const base::Log& log) {
  engine::EngineOptions options;
  options.options.directory = config.data;
  options.options.key_file = config.key_file;
  options.options.create_if_missing = false;
  options.log = &log;
  options.manual_housekeeping = true;
  auto engine = engine::Engine::Open(options);
  if (!engine && engine.error().code() == ErrorCode::kLocked)
    return Error(ErrorCode::kLocked, engine.error().message() +
                                         ". If a server has it open, ask the server: --endpoint "
                                         "http://127.0.0.1:8000");
  if (!engine) return engine.error();
  return (*engine)->BackUp(to);
}

Result<int> Backup(const BackupConfig& config) {
  base::Log log(base::LogLevel::kWarning);
  std::string to = Absolute(config.to);
  HF_TRY(uint64_t bytes, config.endpoint.empty() ? BackUpHere(config, to, log) : AskServer(config, to));
  if (config.json)
    PrintJson(Node::Map().Set("to", to).Set("bytes", static_cast<int64_t>(bytes)));
  else
    Print("backed up to " + to + ", " + std::to_string(bytes) + " bytes");
  return kDone;
}

// --- restore ---

Result<int64_t> SecondOf(const std::string& at) {
  if (at.empty()) return storage::kNewest;
  int64_t second = 0;
  auto [end, failed] = std::from_chars(at.data(), at.data() + at.size(), second);
  if (failed == std::errc{} && end == at.data() + at.size() && second >= 0 && second < 253'402'300'800)
    return second;
  if (auto millis = model::ParseInstant(at)) return *millis / 1000;
  return UsageError("--at is like 2026-11-18T10:00:00Z, or seconds since 1970, not " + at);
}

Result<int> Restore(const RestoreConfig& config) {
  base::Log log(base::LogLevel::kWarning);
  engine::RestoreOptions options;
  options.from = Absolute(config.from);
  options.directory = config.data;
  options.key_file = config.key_file;
  HF_TRY(options.at_second, SecondOf(config.at));
  options.tell = [](const std::string& what) { std::fprintf(stderr, "%s\n", what.c_str()); };
  int64_t begun = base::SteadyMicros();
  HF_TRY(storage::Restored restored, engine::RestoreStore(options, log));
  double seconds = static_cast<double>(base::SteadyMicros() - begun) / 1e6;
  std::string as_of = model::FormatInstant(restored.as_of_millis);
  if (config.json) {
    PrintJson(Node::Map()
                  .Set("data", config.data)
                  .Set("asOf", as_of)
                  .Set("files", static_cast<int64_t>(restored.files))
                  .Set("records", static_cast<int64_t>(restored.records)));
    return kDone;
  }
  char took[32];
  std::snprintf(took, sizeof took, "%.1f s", seconds);
  Print("restored to " + config.data + " as of " + as_of + " in " + took + " (" +
        std::to_string(restored.files) + " files, " + std::to_string(restored.records) +
        " records of the log)");
  return kDone;
}

// --- archive status ---

Result<int> ShowStatus(const StatusConfig& config) {
  HF_TRY(auto keys, storage::LoadKeys(config.key_file));
  storage::Archive archive(storage::ReadingFileSystem(nullptr, keys), Absolute(config.from));
  HF_TRY(storage::ArchiveSurvey survey,
         storage::SurveyArchive(archive, config.deep ? storage::Depth::kBytes : storage::Depth::kSize));
  if (config.json) {
    Node covered = Node::List(), faults = Node::List();
    for (const storage::Coverage& one : survey.covered)
      covered.Add(Node::Map()
                      .Set("from", storage::SecondText(one.from_millis))
                      .Set("to", storage::SecondText(one.to_millis)));
    for (const std::string& fault : survey.faults) faults.Add(fault);
    PrintJson(Node::Map()
                  .Set("store", survey.identity)
                  .Set("checkpoints", static_cast<int64_t>(survey.checkpoints.size()))
                  .Set("covered", std::move(covered))
                  .Set("faults", std::move(faults)));
  } else {
    Print("of store " + survey.identity + ", " + std::to_string(survey.checkpoints.size()) + " checkpoints");
    Print(survey.covered.empty() ? "covers nothing yet" : "covers " + storage::CoverageText(survey.covered));
    for (const std::string& fault : survey.faults) Print("fault: " + fault);
  }
  return survey.faults.empty() ? kDone : kInvalid;
}

}  // namespace

void AddArchiveCommands(CLI::App* app, Run* run) {
  auto [backup, backup_config] =
      AddCommand(app, "backup", "Copy a whole store, while it is in use or not", run, &Backup);
  backup->add_option("--to", backup_config->to, "The copy: a directory that does not exist yet")
      ->type_name("DIR")
      ->required();
  backup->add_option("--data", backup_config->data, "Directory of the store, opened in this process")
      ->type_name("DIR")
      ->capture_default_str();
  backup
      ->add_option("--endpoint", backup_config->endpoint,
                   "URL of the server that has the store open; --to is a path of its machine")
      ->type_name("URL");
  backup->add_option("--token", backup_config->token,
                     "Of an administrator, for --endpoint; made with the key in --data unless told");
  AddKeyFile(backup, &backup_config->key_file, "Master keys of the store, when it is encrypted");

  auto [restore, restore_config] =
      AddCommand(app, "restore", "Make a store anew from a backup or an archive", run, &Restore);
  restore->add_option("--from", restore_config->from, "The backup or archive")->type_name("DIR")->required();
  restore->add_option("--data", restore_config->data, "Directory of the new store: new or empty")
      ->type_name("DIR")
      ->required();
  restore
      ->add_option(
          "--at", restore_config->at,
          "As it was at the end of this second: 2026-11-18T10:00:00Z, or seconds since 1970. The newest "
          "state unless told")
      ->type_name("SECOND");
  AddKeyFile(restore, &restore_config->key_file,
             "Master keys of the archive, when it is encrypted; the new store is encrypted with them");

  CLI::App* archive = app->add_subcommand("archive", "Archives that `serve --archive` writes");
  archive->require_subcommand(1);
  auto [status, status_config] = AddCommand(
      archive, "status", "What an archive covers, and what in it is missing or damaged", run, &ShowStatus);
  status->add_option("--from", status_config->from, "The archive")->type_name("DIR")->required();
  status->add_flag("--deep", status_config->deep,
                   "Read every file, not only look that it is there and whole in size");
  AddKeyFile(status, &status_config->key_file, "Its master keys, when it is encrypted");
}

}  // namespace holdfast::cli
