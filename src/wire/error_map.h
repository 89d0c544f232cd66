// Errors as AWS sends them: HTTP statuses, __type names and the spelling of "message". store/remote_error.h
// reads them back.
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
