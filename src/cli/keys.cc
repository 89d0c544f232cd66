#include "cli/keys.h"

#include "cli/number.h"
#include "holdfast/master_keys.h"

namespace holdfast::cli {
namespace {

struct KeysConfig {
  std::string file;
  int version = 0;
  bool json = false;
};

// Never the keys themselves.
Result<int> PrintKeys(Result<MasterKeys> keys, bool json) {
  if (!keys) return keys.error();
  Node versions = Node::List();
  Rows rows{{"version", "state"}};
  for (size_t i = 0; i < keys->versions.size(); ++i) {
    int version = static_cast<int>(i) + 1;
    std::string state = version == keys->current     ? "current"
                        : keys->versions[i].disabled ? "disabled"
                                                     : "opens only";
    versions.Add(Node::Map().Set("version", version).Set("state", state));
    rows.push_back({std::to_string(version), state});
  }
  if (json) {
    PrintJson(Node::Map().Set("id", keys->id).Set("current", keys->current).Set("versions", versions));
  } else {
    Print("master key " + keys->id);
    PrintRows(rows);
  }
  return kDone;
}

Result<int> Create(const KeysConfig& config) {
  return PrintKeys(MasterKeys::Create(config.file), config.json);
}
Result<int> Rotate(const KeysConfig& config) {
  return PrintKeys(MasterKeys::Rotate(config.file), config.json);
}
Result<int> Disable(const KeysConfig& config) {
  return PrintKeys(MasterKeys::Disable(config.file, config.version), config.json);
}
Result<int> Show(const KeysConfig& config) {
  return PrintKeys(MasterKeys::Load(config.file), config.json);
}

}  // namespace

void AddKeyCommands(CLI::App* app, Run* run) {
  CLI::App* keys =
      app->add_subcommand("keys", "Master keys, for encryption at rest and encrypted attributes");
  keys->require_subcommand(1);
  auto add_to = [&](CLI::App* parent, const char* name, const char* description,
                    Result<int> (*command)(const KeysConfig&)) {
    auto [added, config] = AddCommand(parent, name, description, run, command);
    added->add_option("file", config->file, "File of the keys, for its owner alone")->required();
    return std::pair(added, config);
  };
  auto add = [&](const char* name, const char* description, Result<int> (*command)(const KeysConfig&)) {
    return add_to(keys, name, description, command);
  };
  add_to(app, "init-key", "Make a file with one random master key, for `serve --key-file`", &Create);
  add_to(app, "rotate-key",
         "Add a version to a master key; a running server takes it up and rewrites its files", &Rotate);
  add("create", "Make a file with one random key", &Create);
  add("rotate", "Add a random version, which seals from then on", &Rotate);
  add("show", "Versions and their state, not the keys", &Show);
  auto [disable, config] =
      add("disable", "Let a version open nothing any more; rewrite and rewrap before", &Disable);
  AddNumber(disable, "version", &config->version, 1, 1'000'000, "The version")->required();
}

}  // namespace holdfast::cli
