#include "cli/demo_chat.h"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "auth/issuer.h"
#include "cli/number.h"
#include "cli/serve.h"

namespace holdfast::cli {
namespace {

struct ChatConfig {
  int port = 8000;
  std::string data;
  double follow_up_seconds = kEchoMillis / 1000.0;
};

// Where a server that keeps nothing has the key of its tokens. Gone with it.
class Scratch {
 public:
  Scratch() {
    std::error_code failed;
    std::string pattern = (std::filesystem::temp_directory_path(failed) / "holdfast-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~Scratch() {
    std::error_code failed;
    if (!path_.empty()) std::filesystem::remove_all(path_, failed);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

int DemoChat(const ChatConfig& chat) {
  ServeConfig config;
  config.http.port = chat.port;
  config.store.directory = chat.data;
  config.models.flags.models = {"none"};
  config.log_level = "warning";
  config.agents.echo_millis = static_cast<int64_t>(chat.follow_up_seconds * 1000);
  config.link = {"ann", "user", "/chat"};
  std::optional<Scratch> scratch;
  if (chat.data.empty()) {
    scratch.emplace();
    if (scratch->path().empty())
      return Report(UsageError("there is no place for temporary files: name a directory with --data"), false);
    config.tokens.issuer_key = (scratch->path() / auth::kIssuerKeyFile).string();
  }
  return Serve(config);
}

}  // namespace

void AddDemoChatCommand(CLI::App* demo, Run* run) {
  auto config = std::make_shared<ChatConfig>();
  CLI::App* chat = demo->add_subcommand(
      "chat", "Talk to an agent in the page: it answers, and asks after you when you fall silent");
  AddNumber(chat, "--port", &config->port, 0, 65'535, "Port to listen on; 0 takes any free one");
  chat->add_option("--data", config->data, "Directory of the store; in memory unless told")->type_name("DIR");
  AddNumber(chat, "--follow-up", &config->follow_up_seconds, 0.1, 86'400.0,
            "Seconds of silence until the agent asks");
  chat->callback([config, run] { *run = [config] { return DemoChat(*config); }; });
}

}  // namespace holdfast::cli
