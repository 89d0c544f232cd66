#include "cli/token_flags.h"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <map>
#include <optional>

#include "auth/issuer.h"
#include "base/clock.h"
#include "cli/output.h"
#include "model/yaml_node.h"
#include "store/credentials.h"
#include "store/http_client.h"

namespace holdfast::cli {
namespace {

std::map<std::string, std::string*> NamesIn(auth::ClaimNames* claims) {
  return {{"subject", &claims->subject},
          {"role", &claims->role},
          {"tenant", &claims->tenant},
          {"audience", &claims->audience},
          {"agents", &claims->agents}};
}

// A text or a list of them; nothing for anything else.
std::optional<std::vector<std::string>> TextsOf(const model::YamlNode& node) {
  if (node.IsScalar()) return std::vector<std::string>{node.Scalar()};
  std::vector<std::string> texts;
  for (const model::YamlNode& element : node.elements()) {
    if (!element.IsScalar()) return std::nullopt;
    texts.push_back(element.Scalar());
  }
  if (!node.IsSequence()) return std::nullopt;
  return texts;
}

Status ReadMember(const std::string& name, const model::YamlNode& value, auth::TrustedIssuer* issuer) {
  std::map<std::string, std::string*> texts{{"issuer", &issuer->name}, {"jwks", &issuer->key_set}};
  std::map<std::string, std::vector<std::string>*> lists{{"audience", &issuer->audiences},
                                                         {"roles", &issuer->roles}};
  if (texts.contains(name)) {
    if (!value.IsScalar()) return ValidationError("issuers: " + name + " is a text");
    *texts[name] = value.Scalar();
  } else if (lists.contains(name)) {
    auto given = TextsOf(value);
    if (!given) return ValidationError("issuers: " + name + " is a text or a list of texts");
    *lists[name] = *std::move(given);
  } else if (name == "claims") {
    for (const auto& [claim, text] : value.entries()) {
      auto names = NamesIn(&issuer->claims);
      if (!names.contains(claim.Scalar()) || text.Scalar().empty())
        return ValidationError("issuers: claims are subject, role, tenant, audience and agents, not \"" +
                               claim.Scalar() + "\"");
      *names[claim.Scalar()] = text.Scalar();
    }
    if (!value.IsMap()) return ValidationError("issuers: claims is a map");
  } else {
    return ValidationError("issuers: there is no setting \"" + name +
                           "\"; there are issuer, jwks, audience, claims and roles");
  }
  return Ok{};
}

Result<auth::TrustedIssuer> ReadIssuer(const std::string& text) {
  auth::TrustedIssuer issuer;
  auto read = model::ReadYaml(text, "issuers");
  if (!read || !read->IsMap())
    return ValidationError("issuers: expected {issuer: …, jwks: …, audience: …}, not " + text);
  for (const auto& [name, value] : read->entries()) HF_CHECK_OK(ReadMember(name.Scalar(), value, &issuer));
  if (issuer.name.empty() || issuer.key_set.empty() || issuer.audiences.empty())
    return ValidationError("issuers: each needs issuer, jwks and audience; " +
                           (issuer.name.empty() ? "one has no issuer" : issuer.name + " lacks one"));
  return issuer;
}

}  // namespace

void AddTokenFlags(CLI::App* app, TokenFlags* flags) {
  app->add_option(
         "--issuer-key", flags->issuer_key,
         "Key whose tokens (`holdfast token`) are accepted: a file, or none; issuer.pem beside the data "
         "unless told")
      ->type_name("FILE");
  app->add_option("--jwks", flags->key_set,
                  "Public keys of an issuer of bearer tokens (JWKS): a file or a URL");
  app->add_option("--issuer", flags->issuer, "What its tokens must have as iss");
  app->add_option("--audience", flags->audience, "What they must have as aud");
  for (const auto& [name, claim] : NamesIn(&flags->claims)) {
    app->add_option("--claim-" + name, *claim, "Claim that has the " + name + "; dots lead into maps")
        ->capture_default_str();
  }
  app->add_option("--issuers", flags->issuers,
                  "A further issuer: {issuer: …, jwks: …, audience: …}; in the config file a list of them")
      ->take_all()
      ->allow_extra_args(false);
}

Result<std::vector<auth::TrustedIssuer>> TrustedIssuers(const TokenFlags& flags) {
  std::vector<auth::TrustedIssuer> issuers;
  int given = !flags.key_set.empty() + !flags.issuer.empty() + !flags.audience.empty();
  if (given != 0 && given != 3) return ValidationError("--jwks, --issuer and --audience go together");
  auth::ClaimNames named = flags.claims, usual;
  for (const auto& [name, claim] : NamesIn(&named)) {
    if (claim->empty()) return ValidationError("--claim-" + name + " needs the name of a claim");
    if (given == 0 && *claim != *NamesIn(&usual)[name])
      return ValidationError("--claim-" + name + " is used with --jwks only");
  }
  if (given == 3) issuers.push_back({flags.issuer, {flags.audience}, flags.key_set, flags.claims});
  for (const std::string& text : flags.issuers) {
    HF_TRY(auth::TrustedIssuer issuer, ReadIssuer(text));
    issuers.push_back(std::move(issuer));
  }
  return issuers;
}

std::string IssuerKeyPath(const std::string& given, const std::string& directory) {
  if (!given.empty()) return given == "none" ? "" : given;
  return directory.empty() ? "" : (std::filesystem::path(directory) / auth::kIssuerKeyFile).string();
}

Result<AdminToken> MakeAdminToken(const AdminTokenFrom& from) {
  constexpr int64_t kSeconds = 300;
  if (!from.given.empty()) return AdminToken{from.given, {}};
  if (std::string token = store::ProcessEnvironment("HOLDFAST_TOKEN"); !token.empty())
    return AdminToken{token, {}};
  std::string path = IssuerKeyPath({}, from.data);
  std::error_code failed;
  bool is_store = std::filesystem::exists(std::filesystem::path(from.data) / "FORMAT", failed);
  Result<auth::Issuer> issuer = is_store ? auth::Issuer::LoadOrCreate(path) : auth::Issuer::Load(path);
  if (!issuer) {
    return UsageError(
        "a server is asked with the token of an administrator: give one by --token or HOLDFAST_TOKEN, or "
        "name the directory of its store by --data, where the key is that signs one (" +
        issuer.error().message() + ")");
  }
  int64_t now = base::SystemClock().NowSeconds();
  HF_TRY(std::string token, issuer->MakeToken({from.subject, "admin", {}, now, now + kSeconds}));
  return AdminToken{std::move(token), " (the token was signed by " + path +
                                          ": if that is not in the directory of this server's store, "
                                          "name that by --data, or give a token by --token)"};
}

Result<std::unique_ptr<auth::TokenVerifier>> OpenTokens(const TokenFlags& flags, const std::string& directory,
                                                        bool make_key, const base::Log& log) {
  auth::VerifierOptions options;
  HF_TRY(options.issuers, TrustedIssuers(flags));
  options.issuer_key = IssuerKeyPath(flags.issuer_key, directory);
  if (make_key && !options.issuer_key.empty())
    HF_CHECK_OK(auth::Issuer::LoadOrCreate(options.issuer_key).transform([](const auto&) { return Ok{}; }));
  for (const auth::TrustedIssuer& issuer : options.issuers) {
    if (issuer.key_set.starts_with("http://")) {
      HF_LOG(log, kWarning, "keys of a token issuer come unencrypted: who sits between can make tokens",
             {"issuer", issuer.name}, {"url", issuer.key_set});
    }
  }
  options.fetch = &store::FetchText;
  options.log = &log;
  return auth::TokenVerifier::Make(std::move(options), base::SystemClock().NowSeconds());
}

}  // namespace holdfast::cli
