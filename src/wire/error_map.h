// Errors as AWS sends them: the one place that knows HTTP statuses, __type names and the spelling of
// "message".
#pragma once

#include <string>

#include "holdfast/result.h"

namespace holdfast::wire {

struct ErrorAnswer {
  int status;
  std::string body;
};

ErrorAnswer RenderError(const Error& error);

}  // namespace holdfast::wire
