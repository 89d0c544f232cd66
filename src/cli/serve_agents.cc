#include "cli/serve_agents.h"

#include <CLI/CLI.hpp>

#include <cstdlib>

#include "apps/echo_agent.h"
#include "base/file.h"
#include "cli/number.h"
#include "model/instant.h"

namespace holdfast::cli {
namespace {

constexpr size_t kSecretBytesMax = 4096;

Result<model::AllowedHost> ReadHost(const std::string& text) {
  model::AllowedHost host;
  size_t equals = text.find('=');
  host.name = CLI::detail::to_lower(text.substr(0, equals));
  if (equals != std::string::npos) host.private_addresses = CLI::detail::split(text.substr(equals + 1), ',');
  bool empty = host.name.empty() || (equals != std::string::npos && host.private_addresses.empty());
  for (const std::string& address : host.private_addresses) empty = empty || address.empty();
  if (empty) return ValidationError("--webhook-host is HOST or HOST=ADDRESS,ADDRESS, not " + text);
  return host;
}

// The switch of those who run the server: it wins over what is stored.
Result<bool> AutonomyEnabled() {
  const char* given = std::getenv("AUTONOMY_ENABLED");
  std::string value = given == nullptr ? "" : CLI::detail::to_lower(given);
  if (value.empty() || value == "true" || value == "1") return true;
  if (value == "false" || value == "0") return false;
  return ValidationError("AUTONOMY_ENABLED is true or false, not " + value);
}

}  // namespace

void AddAgentFlags(CLI::App* app, AgentFlags* flags) {
  const std::map<std::string, bool> switches{{"on", true}, {"off", false}};
  app->add_option("--agents", flags->on, "Run the agent runtime: sessions, workers, timers")
      ->transform(CLI::CheckedTransformer(switches, CLI::ignore_case))
      ->option_text("{on,off}=on");
  app->add_option("--webhook-host", flags->webhook_hosts,
                  "A host that agents' webhooks may call; HOST=ADDRESS,ADDRESS lets it have these private "
                  "addresses. None unless told")
      ->take_all()
      ->allow_extra_args(false);
  app->add_option("--webhook-secret-file", flags->webhook_secret_file,
                  "File whose text signs the bodies of webhooks (HMAC-SHA-256)");
  AddNumber(app, "--agent-retention-days", &flags->retention_days, 0, 36'500,
            "Remove what sessions have done with after so many days; 0: never");
}

Result<agent::RuntimeOptions> RuntimeOptionsOf(const AgentFlags& flags, bool shared) {
  agent::RuntimeOptions options;
  options.shared = shared;
  HF_TRY(options.autonomy_enabled, AutonomyEnabled());
  for (const std::string& text : flags.webhook_hosts) {
    HF_TRY(model::AllowedHost host, ReadHost(text));
    options.webhook_hosts.push_back(std::move(host));
  }
  if (!flags.webhook_secret_file.empty()) {
    HF_TRY(options.webhook_secret, base::ReadPrivateFile(flags.webhook_secret_file, kSecretBytesMax));
    while (options.webhook_secret.ends_with('\n')) options.webhook_secret.pop_back();
    if (options.webhook_secret.empty())
      return ValidationError("the file " + flags.webhook_secret_file + " holds no secret");
  }
  options.retention_millis = flags.retention_days * model::kDayMillis;
  return options;
}

void AgentRuntime::Resume() {
  DescribeTableRequest request;
  request.table_name = options_.table;
  auto table = store_->Run(request);
  if (!table && table.error().code() == ErrorCode::kResourceNotFound) return;
  Status started = table
                       ? Get().transform([this](agent::Runtime* runtime) { return resumed_ = runtime, Ok{}; })
                       : Status(table.error());
  if (!started)
    HF_LOG(*log_, kWarning, "the agent runtime does not run yet", {"why", started.error().message()});
}

Result<agent::Runtime*> AgentRuntime::Get() {
  base::MutexLock lock(&mu_);
  if (runtime_ == nullptr) {
    HF_TRY(runtime_, agent::Runtime::Open(store_, options_, log_));
    if (echo_millis_) apps::AttachAgent(runtime_.get(), apps::kEchoAgent, apps::EchoAgent(*echo_millis_));
  }
  return runtime_.get();
}

std::string AgentRuntime::Metrics() {
  base::MutexLock lock(&mu_);
  return runtime_ == nullptr ? "" : runtime_->Metrics();
}

std::vector<std::string> AgentRuntime::Loading() const {
  const agent::Runtime* resumed = resumed_.load();
  if (resumed == nullptr || resumed->IsLoaded()) return {};
  return {"timers of agents' sessions"};
}

void AgentRuntime::Stop() {
  resumed_ = nullptr;
  base::MutexLock lock(&mu_);
  runtime_.reset();
}

}  // namespace holdfast::cli
