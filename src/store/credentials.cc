#include "store/credentials.h"

#include <cstdlib>
#include <fstream>
#include <map>

namespace holdfast::store {
namespace {

using Section = std::map<std::string, std::string, std::less<>>;

std::string Trimmed(std::string_view text) {
  size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\r") + 1 - first));
}

// The settings in the section [name] of an INI file; empty when there is no such file or section. Indented
// lines belong to the nested setting above them, none of which concerns us.
Section ReadSection(const std::string& path, const std::string& name, bool* found) {
  Section section;
  std::ifstream file(path);
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#' || line[0] == ';' || line[0] == ' ' || line[0] == '\t') continue;
    if (line[0] == '[') {
      inside = Trimmed(std::string_view(line).substr(1, line.find(']') - 1)) == name;
      *found = *found || inside;
      continue;
    }
    size_t equals = line.find('=');
    if (!inside || equals == std::string::npos) continue;
    section[Trimmed(line.substr(0, equals))] = Trimmed(line.substr(equals + 1));
  }
  return section;
}

struct Profile {
  std::string name;
  std::string credentials_file;
  std::string config_file;
  bool found = false;
  Section settings;

  std::string Get(std::string_view key) const {
    auto at = settings.find(key);
    return at == settings.end() ? "" : at->second;
  }
};

Profile ReadProfile(const std::string& name, const Environment& environment) {
  auto file_of = [&](const char* variable, const char* usual) {
    std::string path = environment(variable);
    return path.empty() ? environment("HOME") + usual : path;
  };
  Profile profile{.name = name,
                  .credentials_file = file_of("AWS_SHARED_CREDENTIALS_FILE", "/.aws/credentials"),
                  .config_file = file_of("AWS_CONFIG_FILE", "/.aws/config")};
  profile.settings = ReadSection(profile.credentials_file, name, &profile.found);
  profile.settings.merge(
      ReadSection(profile.config_file, name == "default" ? name : "profile " + name, &profile.found));
  return profile;
}

Error NoCredentials(const Profile& profile) {
  for (std::string_view way : {"role_arn", "sso_session", "sso_start_url", "credential_process"}) {
    if (profile.Get(way).empty()) continue;
    return ValidationError("the profile " + profile.name + " gets its keys by " + std::string(way) +
                           ", which holdfast does not do; `aws configure export-credentials --format env` "
                           "gives them as environment variables");
  }
  return ValidationError(
      "no credentials for the store: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a profile that "
      "is "
      "in " +
      profile.credentials_file + " (an endpoint that does not check them takes any)");
}

}  // namespace

std::string ProcessEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Result<RemoteOptions> Complete(RemoteOptions options, const Environment& environment) {
  bool profile_is_given = !options.profile.empty();
  auto fill = [](std::string* field, std::string value) {
    if (field->empty()) *field = std::move(value);
  };
  fill(&options.profile, environment("AWS_PROFILE"));
  bool profile_is_named = !options.profile.empty();
  fill(&options.profile, "default");
  Profile profile = ReadProfile(options.profile, environment);
  if (profile_is_named && !profile.found) {
    return ValidationError("there is no profile " + options.profile + " in " + profile.credentials_file +
                           " or " + profile.config_file);
  }

  for (const char* variable : {"AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL"}) {
    fill(&options.endpoint, environment(variable));
  }
  fill(&options.endpoint, profile.Get("endpoint_url"));
  for (const char* variable : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    fill(&options.region, environment(variable));
  }
  fill(&options.region, profile.Get("region"));
  // Where the address says it all, the region is only a part of the signature.
  if (!options.endpoint.empty()) fill(&options.region, "us-east-1");
  if (options.region.empty()) {
    return ValidationError(
        "no region for the store: set AWS_REGION, or AWS_ENDPOINT_URL_DYNAMODB for an "
        "endpoint that is not AWS's own");
  }

  // A key, its secret and its token come from one place.
  if (options.access_key.empty() && !profile_is_given) {
    options.access_key = environment("AWS_ACCESS_KEY_ID");
    options.secret_key = environment("AWS_SECRET_ACCESS_KEY");
    options.session_token = environment("AWS_SESSION_TOKEN");
  }
  if (options.access_key.empty()) {
    options.access_key = profile.Get("aws_access_key_id");
    options.secret_key = profile.Get("aws_secret_access_key");
    options.session_token = profile.Get("aws_session_token");
  }
  if (options.access_key.empty() || options.secret_key.empty()) return NoCredentials(profile);
  return options;
}

}  // namespace holdfast::store
