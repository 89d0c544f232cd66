// `holdfast demo chat`: a server with an agent at work, and a link to talk to it in the page.
#pragma once

#include "cli/command.h"

namespace holdfast::cli {

void AddDemoChatCommand(CLI::App* demo, Run* run);

}  // namespace holdfast::cli
