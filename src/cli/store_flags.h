// Where a command's data is and which models describe it: the flags that all such commands share, and what
// they open.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "holdfast/database.h"
#include "holdfast/model.h"
#include "holdfast/store.h"

namespace CLI {
class App;
}  // namespace CLI

namespace holdfast::cli {

struct StoreFlags {
  std::string data;
  std::string endpoint;
  std::string region;
  std::string profile;
  std::string key_file;  // of the store, and of encrypted attributes

  // Otherwise the store is ./holdfast-data.
  bool given() const { return !data.empty() || !endpoint.empty(); }
};
void AddStoreFlags(CLI::App* app, StoreFlags* flags);

// A store and what it stands on.
struct OpenedStore {
  std::unique_ptr<Database> database;  // null: it is a remote one
  std::unique_ptr<Store> store;
  std::string cursor_key;  // the same every time, so that cursors outlive a process
};
// Whether there is one already; of an endpoint it is taken for granted.
bool HasStore(const StoreFlags& flags);
enum class IfMissing : unsigned char { kFail, kCreate };
Result<OpenedStore> OpenStore(const StoreFlags& flags, IfMissing if_missing);

// The key that signs the cursors of a store in this directory, made on first use. Requires: the store is
// open.
Result<std::string> CursorKeyIn(const std::string& directory);

struct ModelFlags {
  std::vector<std::string> models;  // files, directories or names of shipped ones; empty: all shipped ones
  std::string stage = "dev";
  std::vector<std::string> options;  // tenant_scope=true
};
// `models` is left to the caller: some commands name them in their arguments.
void AddStageFlags(CLI::App* app, ModelFlags* flags);
void AddModelFlags(CLI::App* app, ModelFlags* flags);
// The directory of the shipped models: $HOLDFAST_MODELS, or what lies beside the program.
Result<std::string> ShippedModels();
Result<std::vector<ModelPtr>> LoadModels(const ModelFlags& flags);
Result<ModelPtr> ModelNamed(const std::vector<ModelPtr>& models, const std::string& name);

// Everything that a command on an application's data needs.
struct DataFlags {
  StoreFlags store;
  ModelFlags models;
  std::string embedder;
  std::string tenant;

  Caller caller() const { return tenant.empty() ? Caller::Administrator() : Caller::Tenant(tenant); }
};
void AddDataFlags(CLI::App* app, DataFlags* flags);
Result<std::unique_ptr<Application>> OpenApplication(const OpenedStore& store, ModelPtr model,
                                                     const DataFlags& flags);

}  // namespace holdfast::cli
