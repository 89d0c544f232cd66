#include "cli/config.h"

#include <algorithm>
#include <cstdlib>

#include "json/writer.h"
#include "model/yaml_node.h"

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

// The node as a flag has it: YAML again, every text of it quoted.
std::string InOneLine(const model::YamlNode& node) {
  std::string text;
  auto separate = [&](size_t i) { text.append(i == 0 ? "" : ", "); };
  if (node.IsMap()) {
    text.push_back('{');
    for (size_t i = 0; i < node.entries().size(); ++i) {
      separate(i);
      text += InOneLine(node.entries()[i].first) + ": " + InOneLine(node.entries()[i].second);
    }
    return text + "}";
  }
  if (node.IsSequence()) {
    text.push_back('[');
    for (size_t i = 0; i < node.elements().size(); ++i) {
      separate(i);
      text += InOneLine(node.elements()[i]);
    }
    return text + "]";
  }
  json::AppendString(node.Scalar(), &text);
  return text;
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
  HF_TRY(model::YamlNode document, model::ReadYamlFile(path));
  auto bad = [&](const model::YamlNode& at, const std::string& why) {
    return ValidationError(path + ":" + std::to_string(at.line()) + ": " + why);
  };
  if (!document.IsMap()) return bad(document, "expected settings such as \"port: 8000\"");
  std::vector<std::string> flags;
  for (const auto& [key, value] : document.entries()) {
    const std::string& name = key.Scalar();
    if (std::find(names.begin(), names.end(), name) == names.end() || name == "config")
      return bad(key, "there is no setting \"" + name + "\"");
    if (value.IsSequence()) {
      for (const model::YamlNode& element : value.elements()) {
        if (!element.IsScalar() && !(element.IsMap() && name == "issuers"))
          return bad(element, "\"" + name + "\" is a list of values");
        flags.push_back(AsFlag(name, element.IsScalar() ? element.Scalar() : InOneLine(element)));
      }
    } else if (value.IsScalar()) {
      flags.push_back(AsFlag(name, value.Scalar()));
    } else {
      return bad(value, "\"" + name + "\" must be a value or a list");
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
  if (!IsLoopbackAddress(config.http.address) && config.http.tls_certificate.empty() && !config.insecure) {
    return bad("refusing to listen on " + config.http.address +
               " with plain HTTP: anyone on the way could read items and tokens. Use --tls-cert FILE "
               "--tls-key FILE, or "
               "--insecure if the network is yours alone or a proxy speaks TLS for this server");
  }
  return Ok{};
}

}  // namespace holdfast::cli
