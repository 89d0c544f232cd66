// What the actors of a run did and were told: the checker compares it with the rows.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/policy.h"
#include "agent/runtime.h"

namespace holdfast::sim {

// A commit as a worker asked for it, by its token.
struct AskedCommit {
  agent::CommitRequest request;
  int64_t from = 0;  // the checkpoint that it went on from
  bool succeeded = false;
  std::vector<int64_t> messages;  // as it was answered
  std::string refused;            // Fenced, Rejected: that nothing was written
};

struct SessionHistory {
  std::map<std::string, int64_t> said;  // ids of events that were acknowledged, and their numbers
  std::map<std::string, AskedCommit> commits;
  std::set<std::string> timers_dropped;  // "*" is all: what was asked of CancelTimers
  // What each device showed: numbers, their messages' ids; "" is one that was skipped.
  std::map<std::string, std::vector<std::pair<int64_t, std::string>>> shown;
};

struct History {
  agent::Policy policy;  // cap and cooldown, which stay
  std::map<std::string, SessionHistory> sessions;
};

}  // namespace holdfast::sim
