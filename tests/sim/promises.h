// Holds what is stored at the end of a run, and what its actors were told, against what the runtime promises.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent/stored.h"
#include "history.h"
#include "world.h"

namespace holdfast::sim {

// All rows of a session.
struct SessionRows {
  agent::Head head;
  std::map<int64_t, agent::Event> events;
  std::map<std::string, int64_t> names;  // D#
  std::map<int64_t, agent::Checkpoint> checkpoints;
  std::map<int64_t, agent::Message> messages;
  std::map<std::string, agent::EffectRow> effects;  // by key
  std::vector<int64_t> released;                    // messages that were held
  std::vector<agent::TimerRow> timers;
  int64_t cursor = 0;  // of the device that is furthest
};

// Reads rows past the simulated faults.
class Rows {
 public:
  Rows(Store* engine, std::string table) : engine_(engine), table_(std::move(table)) {}
  SessionRows Session(const std::string& session) const;
  agent::Head Head(const std::string& session) const;
  bool Has(const std::string& pk, const std::string& sk) const;

 private:
  std::optional<Item> Get(const std::string& pk, std::string_view sk) const;

  Store* const engine_;
  const std::string table_;
};

// The first promise that does not hold, or nothing.
void CheckPromises(const Rows& rows, const History& history, World* world);

}  // namespace holdfast::sim
