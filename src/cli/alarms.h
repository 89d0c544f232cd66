// Alarms: the flags of a server that set them, and the command that shows those of a server.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "holdfast/result.h"
#include "wire/server_alarms.h"

namespace holdfast::cli {

struct AlarmFlags {
  std::vector<std::string> alarms;  // NAME=THRESHOLD, NAME=THRESHOLD/WINDOW or NAME=off
  std::vector<std::string> plans;   // TABLE=READS/WRITES
  int64_t interval_millis = 5000;
};
void AddAlarmFlags(CLI::App* app, AlarmFlags* flags);

// What there is to watch besides requests.
struct ServerHas {
  bool tables = false;
  bool archive = false;
};
// Says what is not understood, and what such a server cannot watch.
Result<wire::AlarmSettings> AlarmSettingsOf(const AlarmFlags& flags, const ServerHas& has);

void AddAlarmsCommand(CLI::App* app, Run* run);

}  // namespace holdfast::cli
