#include "cli/config.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstdlib>

namespace holdfast::cli {
namespace {

std::string VariableFor(const std::string& flag) {
  std::string name = "HOLDFAST_";
  for (char c : flag)
    name.push_back(c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c));
  return name;
}

std::string AsFlag(const std::string& name, const std::string& value) {
  return "--" + name + "=" + value;
}

}  // namespace

std::vector<std::string> TranslateDynamoDbLocalFlags(const std::vector<std::string>& arguments) {
  std::vector<std::string> translated;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    auto value = [&] { return i + 1 < arguments.size() ? arguments[++i] : std::string(); };
    if (argument == "-inMemory") {
      translated.emplace_back("--in-memory");
    } else if (argument == "-port") {
      translated.push_back(AsFlag("port", value()));
    } else if (argument == "-dbPath") {
      translated.push_back(AsFlag("data", value()));
    } else if (argument == "-cors") {
      value();  // its list of origins: we allow all or none
      translated.emplace_back("--cors");
    } else if (argument == "-delayTransientStatuses") {
      translated.emplace_back("--transient-status-ms=500");
    } else if (argument == "-optimizeDbBeforeStartup") {
      translated.emplace_back("--compact-at-start");
    } else if (argument == "-sharedDb" || argument == "-disableTelemetry") {
      // One store for all credentials and regions is the only way here, and there is no telemetry to disable.
    } else if (argument == "-help") {
      translated.emplace_back("--help");
    } else if (argument == "-version") {
      translated.emplace_back("--version");
    } else {
      translated.push_back(argument);
    }
  }
  return translated;
}

std::vector<std::string> FlagsFromEnvironment(const std::vector<std::string>& names) {
  std::vector<std::string> flags;
  for (const std::string& name : names) {
    const char* value = std::getenv(VariableFor(name).c_str());
    if (value != nullptr) flags.push_back(AsFlag(name, value));
  }
  return flags;
}

Result<std::vector<std::string>> FlagsFromFile(const std::string& path,
                                               const std::vector<std::string>& names) {
  auto bad = [&](const std::string& why) { return Error(ErrorCode::kValidation, path + ": " + why); };
  YAML::Node document;
  try {
    document = YAML::LoadFile(path);
  } catch (const YAML::Exception& e) {
    return bad(e.what());
  }
  if (!document.IsMap()) return bad("expected settings such as \"port: 8000\"");
  std::vector<std::string> flags;
  for (const auto& entry : document) {
    auto name = entry.first.as<std::string>();
    if (std::find(names.begin(), names.end(), name) == names.end() || name == "config") {
      return bad("there is no setting \"" + name + "\" (line " + std::to_string(entry.first.Mark().line + 1) +
                 ")");
    }
    if (entry.second.IsSequence()) {
      for (const auto& element : entry.second) {
        if (!element.IsScalar() && !(element.IsMap() && name == "issuers"))
          return bad("\"" + name + "\" is a list of values (line " + std::to_string(element.Mark().line + 1) +
                     ")");
        flags.push_back(AsFlag(name, element.IsScalar() ? element.as<std::string>() : YAML::Dump(element)));
      }
    } else if (entry.second.IsScalar()) {
      flags.push_back(AsFlag(name, entry.second.as<std::string>()));
    } else {
      return bad("\"" + name + "\" must be a value or a list (line " +
                 std::to_string(entry.second.Mark().line + 1) + ")");
    }
  }
  return flags;
}

bool IsLoopbackAddress(const std::string& address) {
  return address == "localhost" || address == "::1" || address.starts_with("127.");
}

Status CheckServeConfig(const ServeConfig& config) {
  auto bad = [](const std::string& why) { return Error(ErrorCode::kValidation, why); };
  if (config.auth != "none" && config.auth != "sigv4")
    return bad("--auth is none or sigv4, not " + config.auth);
  if (config.auth == "sigv4" && config.credentials_file.empty()) {
    return bad("--auth sigv4 needs --credentials FILE, a JSON file of access keys (docs/operations.md)");
  }
  if (config.auth == "none" && !config.credentials_file.empty()) {
    return bad("--credentials is used with --auth sigv4 only");
  }
  if (config.store_kind != "dynamodb" && !config.endpoint.empty()) {
    return bad("--endpoint is used with --store dynamodb only");
  }
  if (config.store_kind == "dynamodb" && config.store.encrypt) {
    return bad("--encrypt is for a store of this server's own, not with --store dynamodb");
  }
  if (config.dev &&
      (config.store_kind == "dynamodb" || config.auth != "none" || !IsLoopbackAddress(config.http.address))) {
    return bad(
        "--dev lets everybody who can reach the server empty its store: it goes with a loopback --address, "
        "--auth none and a store of the server's own");
  }
  if (!config.store.archive_directory.empty() && config.store_kind == "dynamodb")
    return bad("--archive is for a server's own store, not with --store dynamodb");
  if (!config.store.archive_directory.empty() && config.store.directory.empty())
    return bad("--archive cannot be used with --in-memory: there is no log that an archive could follow");
  HF_TRY([[maybe_unused]] auto issuers, TrustedIssuers(config.tokens));
  HF_TRY([[maybe_unused]] auto alarms,
         AlarmSettingsOf(config.alarms, {.tables = config.store_kind == "embedded",
                                         .archive = !config.store.archive_directory.empty()}));
  if (config.http.tls_certificate.empty() != config.http.tls_key.empty()) {
    return bad("--tls-cert and --tls-key go together");
  }
  if (!IsLoopbackAddress(config.http.address) && config.auth == "none" && !config.insecure) {
    return bad(
        "refusing to listen on " + config.http.address +
        " without authentication: anyone who can reach it could read and change everything. Use --auth sigv4 "
        "--credentials FILE, or --insecure if the network is yours alone");
  }
  return Ok{};
}

}  // namespace holdfast::cli
