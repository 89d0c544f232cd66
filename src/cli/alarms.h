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

// Says what is not understood, and what a server without tables cannot watch.
Result<wire::AlarmSettings> AlarmSettingsOf(const AlarmFlags& flags, bool has_tables);

void AddAlarmsCommand(CLI::App* app, Run* run);

}  // namespace holdfast::cli
