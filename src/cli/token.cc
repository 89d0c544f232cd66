#include "cli/token.h"

#include <filesystem>

#include "auth/issuer.h"
#include "base/clock.h"
#include "cli/number.h"
#include "cli/token_flags.h"
#include "model/instant.h"

namespace holdfast::cli {
namespace {

constexpr int64_t kDaySeconds = 24 * 3600;

struct TokenConfig {
  std::string data = "./holdfast-data";
  std::string issuer_key;
  auth::TokenClaims claims;
  int64_t ttl_seconds = 12 * 3600;
  bool json = false;
};

Result<int> MakeToken(const TokenConfig& config) {
  namespace fs = std::filesystem;
  std::string path = IssuerKeyPath(config.issuer_key, config.data);
  if (path.empty() || config.claims.subject.empty() || config.claims.role.empty())
    return UsageError("a token needs a key, a subject and a role");
  // A server may be started on this directory later.
  std::error_code failed;
  if (config.issuer_key.empty() && !fs::exists(config.data)) fs::create_directories(config.data, failed);
  HF_TRY(auth::Issuer issuer, auth::Issuer::LoadOrCreate(path));
  auth::TokenClaims claims = config.claims;
  claims.issued_at = base::SystemClock().NowSeconds();
  claims.expires_at = claims.issued_at + config.ttl_seconds;
  HF_TRY(std::string token, issuer.MakeToken(claims));
  if (!config.json) return PrintText(token, false);
  PrintJson(Node::Map()
                .Set("token", token)
                .Set("subject", claims.subject)
                .Set("role", claims.role)
                .Set("tenant", claims.tenant.empty() ? claims.subject : claims.tenant)
                .Set("expiresAt", model::FormatInstant(claims.expires_at * model::kSecondMillis)));
  return kDone;
}

}  // namespace

void AddTokenCommand(CLI::App* app, Run* run) {
  auto [token, config] =
      AddCommand(app, "token", "A bearer token for the REST interface, signed by the key beside the data",
                 run, &MakeToken);
  CLI::Option* data = token->add_option("--data", config->data, "Directory of the store")
                          ->type_name("DIR")
                          ->capture_default_str();
  token
      ->add_option(
          "--issuer-key", config->issuer_key,
          "Key file, made when it is not there; issuer.pem in the directory of the store unless told")
      ->type_name("FILE")
      ->excludes(data);
  token->add_option("--subject", config->claims.subject, "Whose token it is")->required();
  token->add_option("--role", config->claims.role, "What they may do: admin, user, …")->required();
  token->add_option("--tenant", config->claims.tenant,
                    "Whose data they work on; the subject's own unless told");
  token
      ->add_option("--agents", config->claims.agents,
                   "With --role worker, the agents whose sessions it may work on: a,b; all unless told")
      ->delimiter(',');
  const std::map<std::string, int64_t> units{{"s", 1}, {"m", 60}, {"h", 3600}, {"d", kDaySeconds}};
  token->add_option("--ttl", config->ttl_seconds, "How long it counts: 90s, 30m, 12h, 7d")
      ->transform(CLI::AsNumberWithUnit(units, CLI::AsNumberWithUnit::CASE_SENSITIVE, "TIME"))
      ->check(NumberFrom<int64_t>(1, 366 * kDaySeconds))
      ->default_str("12h");
}

}  // namespace holdfast::cli
