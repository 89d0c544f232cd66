// Agentic PM Workbench.

#include "apps/apps.h"

namespace holdfast::apps {
namespace {

// PM-C-19: the settings an agent starts with, where there are none yet.
Result<CommandAnswer> SeedDefaults(const CommandContext& context) {
  HF_TRY(size_t written, context.application.WriteDefaults());
  CommandAnswer answer;
  answer.changed = written > 0;
  answer.result = Item{{"written", written}};
  return answer;
}

}  // namespace

void AddPmCommands(CommandLibrary* library) {
  library->handlers["pm.agentConfig.seedDefaults"] = SeedDefaults;
}

}  // namespace holdfast::apps
