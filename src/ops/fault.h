// Whose fault an error is: what errors are counted by, for tables and for the alarms of a server.
#pragma once

#include "holdfast/result.h"

namespace holdfast::ops {

enum class Fault : uint8_t { kNobody, kUser, kServer };

// A condition that fails, a conflict or a lack of capacity is nobody's mistake.
Fault FaultOf(const Error& error);

}  // namespace holdfast::ops
