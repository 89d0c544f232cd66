// A Result is no bool: only a condition may ask it.
#include "holdfast/result.h"

namespace holdfast {

Status Save();

bool Use() {
#ifdef MISUSE
  return Save();
#else
  return Save().has_value();
#endif
}

}  // namespace holdfast
