// The name of one request, by which its answer, the log and the client's report find each other.
#pragma once

#include <string>

namespace holdfast::wire {

// 52 characters of 0-9A-Z, unlike any other.
std::string NewRequestId();

}  // namespace holdfast::wire
