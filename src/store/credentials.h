// Where a remote store is and who asks: RemoteOptions, completed from where AWS's own tools look.
//
// What the options say comes first, then the environment, then the profile in the two files. A profile that
// the options name beats keys in the environment, as --profile does with AWS's tools.
#pragma once

#include <functional>
#include <string>

#include "holdfast/result.h"
#include "holdfast/store.h"

namespace holdfast::store {

// The value of an environment variable, empty when it is not set.
using Environment = std::function<std::string(const char* name)>;
std::string ProcessEnvironment(const char* name);

// Fills in what `options` leaves empty; the endpoint stays empty when it is AWS's own. Fails, saying what to
// do, when the keys or the region are nowhere to be found or a profile that was asked for is not there.
Result<RemoteOptions> Complete(RemoteOptions options, const Environment& environment);

}  // namespace holdfast::store
