#include "cli/policy.h"

namespace holdfast::cli {
namespace {

struct PolicyCheckConfig {
  std::string file;
  std::string principal, role, tenant;
  std::string action, resource;
  std::string region = "us-east-1", account = "123456789012";
  std::vector<std::string> keys, attributes;
  bool json = false;
};

constexpr int kDenied = 1;

class Given final : public auth::FactSource {
 public:
  explicit Given(const PolicyCheckConfig& config) : config_(config) {}
  void Gather(auth::Facts* facts) const override {
    (*facts)[auth::Fact::kLeadingKeys].values = config_.keys;
    (*facts)[auth::Fact::kAttributes].values = config_.attributes;
  }

 private:
  const PolicyCheckConfig& config_;
};

Result<auth::Action> ActionNamed(std::string_view name) {
  constexpr std::string_view kService = "dynamodb:";
  if (name.starts_with(kService)) name.remove_prefix(kService.size());
  size_t number = auth::FindAction(name);
  if (number == auth::kActionCount) return UsageError("there is no action dynamodb:" + std::string(name));
  return static_cast<auth::Action>(number);
}

Result<int> CheckPolicy(const PolicyCheckConfig& config) {
  HF_TRY(auto permissions, auth::Permissions::Load(config.file, {config.region, config.account}));
  HF_TRY(auth::Action action, ActionNamed(config.action));
  std::string resource = config.resource;
  if (resource != "*" && !resource.starts_with("arn:"))
    resource = "arn:aws:dynamodb:" + config.region + ":" + config.account + ":table/" + resource;
  auth::PrincipalPtr bearer;
  const auth::Principal* principal = permissions->Named(config.principal);
  if (!config.role.empty()) {
    std::string tenant = config.tenant.empty() ? config.principal : config.tenant;
    bearer = permissions->Of({.subject = config.principal, .role = config.role, .tenant = tenant});
    principal = bearer.get();
  }
  auth::Decision decision{auth::Decision::Kind::kAllowed,
                          "the file lists neither the principal nor the role"};
  Given given(config);
  if (principal != nullptr) decision = principal->Decide(action, resource, &given);
  std::string answer = decision.allowed() ? "allowed" : "denied";
  std::string by = decision.place.empty() ? "no statement allows it" : decision.place;
  if (config.json) {
    PrintJson(Node::Map()
                  .Set("decision", answer)
                  .Set("by", by)
                  .Set("action", "dynamodb:" + std::string(auth::NameOf(action)))
                  .Set("resource", resource));
  } else {
    Print(answer + ": " + by);
  }
  return decision.allowed() ? static_cast<int>(kDone) : kDenied;
}

}  // namespace

Result<std::unique_ptr<auth::Permissions>> LoadPermissions(const ServeConfig& config) {
  auth::ArnPlace place{config.store.region, config.store.account};
  if (config.credentials_file.empty() && config.policies_file.empty())
    return auth::Permissions::Parse("{}", "", place);
  if (config.policies_file.empty()) return auth::Permissions::Load(config.credentials_file, place);
  if (!config.credentials_file.empty() && config.credentials_file != config.policies_file) {
    HF_TRY(auto other, auth::Permissions::Load(config.credentials_file, place));
    if (!other->empty())
      return Error(ErrorCode::kValidation, "both " + config.credentials_file + " and " +
                                               config.policies_file +
                                               " list roles or principals: only one file may");
  }
  return auth::Permissions::Load(config.policies_file, place);
}

void AddPolicyCommands(CLI::App* app, Run* run) {
  CLI::App* policy = app->add_subcommand("policy", "Policies: who may do what");
  policy->require_subcommand(1);
  auto [check, config] = AddCommand(
      policy, "check",
      "Whether a file of policies allows something, and which statement decides; exit 0: allowed, 1: denied",
      run, &CheckPolicy);
  check->add_option("--file", config->file, "The file of --credentials or --policies")->required();
  check->add_option("--principal", config->principal, "Whose access key it is, or the subject of the token")
      ->required();
  check->add_option("--role", config->role, "The role of the token");
  check->add_option("--tenant", config->tenant, "The tenant of the token; the subject unless told");
  check->add_option("--action", config->action, "dynamodb:PutItem")->required();
  check
      ->add_option("--resource", config->resource,
                   "An ARN, *, or what stands behind its table/: Log, Log/index/byDay")
      ->required();
  check->add_option("--key", config->keys, "A dynamodb:LeadingKeys of the request")
      ->take_all()
      ->allow_extra_args(false);
  check->add_option("--attribute", config->attributes, "A dynamodb:Attributes of the request")
      ->take_all()
      ->allow_extra_args(false);
  check->add_option("--region", config->region, "Region in ARNs")->capture_default_str();
  check->add_option("--account", config->account, "Account in ARNs")->capture_default_str();
}

}  // namespace holdfast::cli
