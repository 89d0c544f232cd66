#include "cli/policy.h"

#include <algorithm>

namespace holdfast::cli {
namespace {

struct PolicyCheckConfig {
  std::string file;
  std::string principal, role, tenant;
  std::string action, resource;
  std::string region = "us-east-1", account = "123456789012";
  std::vector<std::string> keys, attributes;
  std::string select, return_values, return_consumed_capacity, enclosing_operation;
  bool json = false;
};

constexpr int kDenied = 1;

// What a request of this action says to policies, where the server would find it in the request. Every
// request for items has keys and attributes: those that are not given could be any, as where the server
// cannot tell.
class Given final : public auth::FactSource {
 public:
  Given(const PolicyCheckConfig& config, auth::Action action) : config_(config), action_(action) {}

  void Gather(auth::Facts* facts) const override {
    using auth::ActionOf;
    using auth::Fact;
    constexpr auth::Action kOfItems[] = {
        ActionOf("PutItem"),    ActionOf("GetItem"),      ActionOf("UpdateItem"),
        ActionOf("DeleteItem"), ActionOf("BatchGetItem"), ActionOf("BatchWriteItem"),
        ActionOf("Query"),      ActionOf("Scan"),         ActionOf("ConditionCheckItem")};
    facts->told = action_ != ActionOf("SearchVectors");
    if (!facts->told) return;
    bool feed = config_.resource.ends_with("/stream/feed");
    bool of_items =
        feed || std::find(std::begin(kOfItems), std::end(kOfItems), action_) != std::end(kOfItems);
    auth::FactValues& keys = (*facts)[Fact::kLeadingKeys];
    keys.values = config_.keys;
    keys.all = keys.unknown = of_items && keys.values.empty() && action_ != ActionOf("Scan");
    auth::FactValues& attributes = (*facts)[Fact::kAttributes];
    attributes.values = config_.attributes;
    attributes.all = (of_items && attributes.values.empty()) || config_.return_values.starts_with("ALL_");
    auto tell = [&](Fact fact, const std::string& value) {
      if (!value.empty()) (*facts)[fact].values = {value};
    };
    tell(Fact::kSelect, config_.select);
    tell(Fact::kReturnValues, config_.return_values);
    tell(Fact::kReturnConsumedCapacity, config_.return_consumed_capacity);
    tell(Fact::kEnclosingOperation, config_.enclosing_operation);
  }

 private:
  const PolicyCheckConfig& config_;
  const auth::Action action_;
};

// In any letter case, as in policies.
Result<auth::Action> ActionNamed(std::string_view given) {
  auto lower = [](std::string_view text) {
    std::string small(text);
    for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return small;
  };
  constexpr std::string_view kService = "dynamodb:";
  std::string name = lower(given);
  if (name.starts_with(kService)) name.erase(0, kService.size());
  for (size_t i = 0; i < auth::kActionCount; ++i) {
    if (lower(auth::kActions[i]) == name) return static_cast<auth::Action>(i);
  }
  return UsageError("there is no action " + std::string(given.find(':') == given.npos ? kService : "") +
                    std::string(given));
}

// How the server would decide for an access key of the principal or, with a role, for a token.
Result<auth::Decision> DecisionOf(const PolicyCheckConfig& config, const auth::Permissions& permissions,
                                  auth::Action action, const std::string& resource) {
  Given given(config, action);
  if (!config.role.empty()) {
    std::string tenant = config.tenant.empty() ? config.principal : config.tenant;
    auto bearer = permissions.Of({.subject = config.principal, .role = config.role, .tenant = tenant});
    if (bearer) return bearer->Decide(action, resource, &given);
    return auth::Decision{auth::Decision::Kind::kAllowed, "the file lists neither the subject nor the role"};
  }
  if (const auth::Principal* principal = permissions.Named(config.principal))
    return principal->Decide(action, resource, &given);
  if (!permissions.lists_principals())
    return auth::Decision{auth::Decision::Kind::kAllowed, "the file lists no principals"};
  return UsageError(config.file + " does not list the principal " + config.principal +
                    ": with an access key of theirs the server does not start. For a token, say its --role");
}

Result<int> CheckPolicy(const PolicyCheckConfig& config) {
  HF_TRY(auto permissions, auth::Permissions::Load(config.file, {config.region, config.account}));
  HF_TRY(auth::Action action, ActionNamed(config.action));
  std::string resource = config.resource;
  if (resource != "*" && !resource.starts_with("arn:"))
    resource = "arn:aws:dynamodb:" + config.region + ":" + config.account + ":table/" + resource;
  HF_TRY(auth::Decision decision, DecisionOf(config, *permissions, action, resource));
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

Result<std::unique_ptr<auth::Permissions>> LoadPermissions(const ServeConfig& config, const base::Log& log) {
  auth::ArnPlace place{config.store.region, config.store.account};
  if (config.credentials_file.empty() && config.policies_file.empty())
    return auth::Permissions::Parse("{}", "", place);
  bool apart = !config.policies_file.empty();
  if (apart && !config.credentials_file.empty() && config.credentials_file != config.policies_file) {
    HF_TRY(auto other, auth::Permissions::Load(config.credentials_file, place));
    if (!other->empty())
      return Error(ErrorCode::kValidation, "both " + config.credentials_file + " and " +
                                               config.policies_file +
                                               " list roles or principals: only one file may");
  }
  HF_TRY(auto permissions,
         auth::Permissions::Load(apart ? config.policies_file : config.credentials_file, place));
  if (config.protocol.credentials) {
    HF_CHECK_OK(permissions->CheckKeys(*config.protocol.credentials));
  } else if (permissions->lists_principals() && config.store_kind == "embedded") {
    HF_LOG(log, kWarning,
           "principals are held on /v1 alone: without --auth sigv4 everybody may everything on POST /",
           {"policies", config.policies_file});
  }
  return permissions;
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
  check->add_option("--key", config->keys, "A dynamodb:LeadingKeys of the request; any unless told")
      ->take_all()
      ->allow_extra_args(false);
  check
      ->add_option("--attribute", config->attributes, "A dynamodb:Attributes of the request; all unless told")
      ->take_all()
      ->allow_extra_args(false);
  check->add_option("--select", config->select, "Its dynamodb:Select: COUNT");
  check->add_option("--return-values", config->return_values, "Its dynamodb:ReturnValues: ALL_OLD");
  check->add_option("--return-consumed-capacity", config->return_consumed_capacity,
                    "Its dynamodb:ReturnConsumedCapacity: TOTAL");
  check->add_option("--enclosing-operation", config->enclosing_operation,
                    "Its dynamodb:EnclosingOperation: TransactWriteItems");
  check->add_option("--region", config->region, "Region in ARNs")->capture_default_str();
  check->add_option("--account", config->account, "Account in ARNs")->capture_default_str();
}

}  // namespace holdfast::cli
