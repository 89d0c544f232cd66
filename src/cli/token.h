// `holdfast token`: makes a bearer token with the key of the development issuer.
#pragma once

#include "cli/command.h"

namespace holdfast::cli {

void AddTokenCommand(CLI::App* app, Run* run);

}  // namespace holdfast::cli
