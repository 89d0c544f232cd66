// `holdfast serve`: puts the server together, runs it until told to stop, and takes it apart in order.
#pragma once

#include "cli/config.h"

namespace holdfast::cli {

// Returns the exit code.
int Serve(const ServeConfig& config);

}  // namespace holdfast::cli
