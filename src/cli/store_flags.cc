#include "cli/store_flags.h"

#include <openssl/rand.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "apps/apps.h"
#include "auth/hmac.h"
#include "base/file.h"
#include "cli/config.h"
#include "cli/output.h"
#include "holdfast/master_keys.h"
#include "model/model.h"
#include "model/refusal.h"
#include "store/credentials.h"

namespace holdfast::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDefaultData = "./holdfast-data";
constexpr size_t kCursorKeyBytes = 32;

std::string HostOf(const std::string& url) {
  size_t begin = url.find("://");
  std::string host = begin == std::string::npos ? url : url.substr(begin + 3);
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find_first_of(":/"));
}

// With keys and region; an endpoint on this machine takes any keys.
Result<RemoteOptions> CompleteRemote(RemoteOptions options) {
  auto complete = store::Complete(options, store::ProcessEnvironment);
  if (!complete && options.profile.empty() && IsLoopbackAddress(HostOf(options.endpoint))) {
    options.access_key = options.secret_key = "holdfast";
    complete = store::Complete(options, store::ProcessEnvironment);
  }
  if (!complete) return UsageError(complete.error().message());
  complete->profile = options.profile;
  return complete;
}

Result<OpenedStore> OpenRemote(const StoreFlags& flags) {
  RemoteOptions options;
  options.endpoint = flags.endpoint;
  options.region = flags.region;
  options.profile = flags.profile;
  HF_TRY(options, CompleteRemote(std::move(options)));
  OpenedStore opened;
  HF_TRY(opened.store, OpenRemoteStore(options));
  opened.cursor_key = auth::HmacSha256(options.secret_key, "holdfast cursor key");
  return opened;
}

Result<OpenedStore> OpenEmbedded(const std::string& directory, const std::string& key_file,
                                 IfMissing if_missing) {
  Options options;
  options.directory = directory;
  options.key_file = key_file;
  options.create_if_missing = if_missing == IfMissing::kCreate;
  if (!options.create_if_missing && !fs::exists(directory))
    return Error(ErrorCode::kResourceNotFound, "there is no store in " + directory +
                                                   "; `holdfast model apply --data " + directory +
                                                   "` makes one, and --data or --endpoint names another");
  OpenedStore opened;
  auto database = Database::Open(options);
  if (!database && database.error().code() == ErrorCode::kLocked)
    return Error(ErrorCode::kLocked, database.error().message() +
                                         ". If a server has it open, ask the server: --endpoint "
                                         "http://127.0.0.1:8000");
  HF_TRY(opened.database, std::move(database));
  opened.store = EmbeddedStore(opened.database.get());
  HF_TRY(opened.cursor_key, CursorKeyIn(directory));
  return opened;
}

Result<std::vector<std::string>> ModelFilesIn(const fs::path& directory) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  }
  if (files.empty()) return UsageError("there are no model files (*.yaml) in " + directory.string());
  std::sort(files.begin(), files.end());
  return files;
}

// A file, the files of a directory, or a shipped model by its name.
Result<std::vector<std::string>> ModelFiles(const std::string& given) {
  if (fs::is_directory(given)) return ModelFilesIn(given);
  if (fs::exists(given)) return std::vector<std::string>{given};
  if (given.find('/') == std::string::npos) {
    HF_TRY(std::string shipped, ShippedModels());
    std::string file = (fs::path(shipped) / (given + ".yaml")).string();
    if (fs::exists(file)) return std::vector<std::string>{file};
  }
  return UsageError("there is no model " + given + ": neither a file, a directory nor a shipped model");
}

}  // namespace

void AddStoreFlags(CLI::App* app, StoreFlags* flags) {
  CLI::Option* data = app->add_option("--data", flags->data, "Directory of the store, opened in this process")
                          ->type_name("DIR")
                          ->default_str(kDefaultData);
  CLI::Option* endpoint = app->add_option("--endpoint,--endpoint-url", flags->endpoint,
                                          "URL of a running holdfast, or of any DynamoDB")
                              ->type_name("URL")
                              ->excludes(data);
  app->add_option("--region", flags->region, "Region of the endpoint")->needs(endpoint);
  app->add_option("--profile", flags->profile, "Profile that has the credentials, as for AWS's own tools")
      ->needs(endpoint);
  app->add_option("--key-file", flags->key_file,
                  "Master keys, of an encrypted store and of encrypted attributes (`holdfast init-key`)");
}

Result<OpenedStore> OpenStore(const StoreFlags& flags, IfMissing if_missing) {
  if (!flags.endpoint.empty()) return OpenRemote(flags);
  return OpenEmbedded(flags.data.empty() ? kDefaultData : flags.data, flags.key_file, if_missing);
}

bool HasStore(const StoreFlags& flags) {
  if (!flags.endpoint.empty()) return true;
  std::error_code ignored;
  return !fs::is_empty(flags.data.empty() ? kDefaultData : flags.data, ignored) && !ignored;
}

Result<std::string> CursorKeyIn(const std::string& directory) {
  std::string path = (fs::path(directory) / "cursor.key").string();
  std::ifstream file(path, std::ios::binary);
  std::string key((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (key.size() == kCursorKeyBytes) return key;
  key.resize(kCursorKeyBytes);
  if (RAND_bytes(reinterpret_cast<unsigned char*>(key.data()), kCursorKeyBytes) != 1)
    return Error(ErrorCode::kInternal, "the system gives no random bytes");
  HF_CHECK_OK(base::ReplaceFile(path, key, 0600));
  return key;
}

void AddStageFlags(CLI::App* app, ModelFlags* flags) {
  app->add_option("--stage", flags->stage, "Stands for {stage} in the names of tables")
      ->capture_default_str();
  app->add_option("--option", flags->options, "An option of the model: tenant_scope=true")
      ->take_all()
      ->allow_extra_args(false);
}

void AddModelFlags(CLI::App* app, ModelFlags* flags) {
  app->add_option("--models", flags->models,
                  "A model: its file, a directory of them, or the name of a shipped one; all shipped ones "
                  "unless told")
      ->take_all()
      ->allow_extra_args(false);
  AddStageFlags(app, flags);
}

Result<std::string> ShippedModels() {
  std::string variable = store::ProcessEnvironment("HOLDFAST_MODELS");
  if (!variable.empty()) return variable;
  std::error_code ignored;
  fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const fs::path& directory : {program / "../share/holdfast/models", program / "models"}) {
    if (fs::is_directory(directory)) return directory.lexically_normal().string();
  }
  return UsageError(
      "the shipped models are not beside the program: name models by --models, or their directory "
      "by HOLDFAST_MODELS");
}

Result<std::vector<ModelPtr>> LoadModels(const ModelFlags& flags) {
  ModelOptions options;
  options.stage = flags.stage;
  for (const std::string& option : flags.options) {
    size_t equals = option.find('=');
    std::string value = equals == std::string::npos ? "" : option.substr(equals + 1);
    if (value != "true" && value != "false")
      return UsageError("--option is like tenant_scope=true, not " + option);
    options.options[option.substr(0, equals)] = value == "true";
  }
  std::vector<std::string> given = flags.models;
  if (given.empty()) {
    HF_TRY(std::string shipped, ShippedModels());
    given.push_back(std::move(shipped));
  }
  std::vector<ModelPtr> models;
  for (const std::string& one : given) {
    HF_TRY(std::vector<std::string> files, ModelFiles(one));
    for (const std::string& file : files) {
      HF_TRY(ModelPtr model, LoadModel(file, options));
      models.push_back(std::move(model));
    }
  }
  return models;
}

Result<ModelPtr> ModelNamed(const std::vector<ModelPtr>& models, const std::string& name) {
  for (const ModelPtr& model : models) {
    if (model->name == name) return model;
  }
  return model::Refuse("NotFound", "there is no model " + name + " among those given by --models");
}

void AddDataFlags(CLI::App* app, DataFlags* flags) {
  AddStoreFlags(app, &flags->store);
  AddModelFlags(app, &flags->models);
  app->add_option("--embedder", flags->embedder,
                  "What makes vectors of texts: demo, or the URL of a webhook");
  app->add_option("--as,--tenant", flags->tenant, "Act as this tenant; otherwise as an administrator")
      ->type_name("TENANT");
}

Result<std::unique_ptr<Application>> OpenApplication(const OpenedStore& store, ModelPtr model,
                                                     const DataFlags& flags) {
  ApplicationOptions options;
  options.cursor_key = store.cursor_key;
  options.embedder = flags.embedder;
  options.commands = apps::ShippedCommands({});
  if (!flags.store.key_file.empty()) {
    HF_TRY(MasterKeys keys, MasterKeys::Load(flags.store.key_file));
    options.master_keys = std::make_shared<const MasterKeys>(std::move(keys));
  }
  return Application::Open(store.store.get(), std::move(model), std::move(options));
}

}  // namespace holdfast::cli
