// The agent runtime of a server: its flags, and when it starts.
//
// It starts with the server where its table is there already, so that timers go on; elsewhere with the first
// request for it, so that who never asks for agents has no table of theirs.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/runtime.h"
#include "base/log.h"
#include "base/mutex.h"
#include "holdfast/result.h"
#include "holdfast/store.h"

namespace CLI {
class App;
}  // namespace CLI

namespace holdfast::cli {

struct AgentFlags {
  bool on = true;
  std::vector<std::string> webhook_hosts;  // HOST or HOST=ADDRESS,ADDRESS
  std::string webhook_secret_file;
  int64_t retention_days = 0;
  std::optional<int64_t> echo_millis;  // the agent `echo` is at work, and follows up after so long
};
inline constexpr int64_t kEchoMillis = 10'000;
void AddAgentFlags(CLI::App* app, AgentFlags* flags);

// With what the environment says (AUTONOMY_ENABLED). `shared`: other programs may use the same tables.
Result<agent::RuntimeOptions> RuntimeOptionsOf(const AgentFlags& flags, bool shared);

// Thread-safe.
class AgentRuntime {
 public:
  // `store` and `log` must outlive it.
  AgentRuntime(Store* store, agent::RuntimeOptions options, std::optional<int64_t> echo_millis,
               const base::Log* log)
      : store_(store), log_(log), options_(std::move(options)), echo_millis_(echo_millis) {}

  // Starts it when there is something to go on with. What stands in the way is a warning in the log: the next
  // request tries again.
  void Resume();
  // Starts it when it was not yet. May block.
  Result<agent::Runtime*> Get();
  // Empty while there is none.
  std::string Metrics();
  // Of what Resume() started: what it has not read yet, in words. Never waits.
  std::vector<std::string> Loading() const;
  // Drops what is unfinished. Requires: nobody uses it any more.
  void Stop();

 private:
  Store* const store_;
  const base::Log* const log_;
  const agent::RuntimeOptions options_;
  const std::optional<int64_t> echo_millis_;

  std::atomic<agent::Runtime*> resumed_{nullptr};
  base::Mutex mu_;
  std::unique_ptr<agent::Runtime> runtime_ HF_GUARDED_BY(mu_);
};

}  // namespace holdfast::cli
