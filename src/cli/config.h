// The settings of `holdfast serve`: flags, HOLDFAST_* variables and a YAML file, in that order of precedence.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/alarms.h"
#include "cli/serve_agents.h"
#include "cli/serve_models.h"
#include "cli/token_flags.h"
#include "engine/memory_plan.h"
#include "holdfast/options.h"
#include "holdfast/result.h"
#include "wire/dynamodb_protocol.h"
#include "wire/http_server.h"

namespace holdfast::cli {

// Who the page is opened as, by a link that is printed at the start, and where.
struct PageLink {
  std::string subject;
  std::string role;
  std::string place = "/";
};

struct ServeConfig {
  Options store;
  wire::HttpServerOptions http;
  wire::ProtocolOptions protocol;
  std::optional<uint64_t> memory_bytes;  // of all; unless told a quarter of the machine's
  engine::MemoryPlan memory;             // made from it
  int worker_threads = 4;
  bool compact_at_start = false;
  // For tests: the size of write buffers and table files, so that a small store has as many as a large one.
  // 0: the memory plan's write buffers, and the storage's own tables.
  size_t file_bytes = 0;
  bool insecure = false;
  bool dev = false;  // /_holdfast/: clock, sweep, reset, snapshots
  std::string auth = "none";
  std::string credentials_file;
  std::string policies_file;  // empty: what the credentials file says
  std::string log_level = "info";
  int64_t drain_seconds = 10;
  int64_t trip_choice_minutes = 0;
  ModelsConfig models;
  TokenFlags tokens;
  AgentFlags agents;
  AlarmFlags alarms;
  std::optional<PageLink> link;
  std::string store_kind = "embedded";  // or "dynamodb": the tables are at `endpoint`
  std::string endpoint;
};

// DynamoDB Local's single-dash flags, rewritten as ours: -inMemory, -port, -sharedDb, ….
std::vector<std::string> TranslateDynamoDbLocalFlags(const std::vector<std::string>& arguments);

// Settings from the environment (HOLDFAST_PORT=9000) and from a YAML file (port: 9000), as flags to be put
// before those of the command line. `names` are the long flags that exist, without dashes.
std::vector<std::string> FlagsFromEnvironment(const std::vector<std::string>& names);
Result<std::vector<std::string>> FlagsFromFile(const std::string& path,
                                               const std::vector<std::string>& names);

bool IsLoopbackAddress(const std::string& address);

// What cannot be served as asked, said in a way that tells what to do.
Status CheckServeConfig(const ServeConfig& config);

}  // namespace holdfast::cli
