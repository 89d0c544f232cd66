// Neither must a value that may be an error and is dropped.
#include "holdfast/result.h"

namespace holdfast {

Result<int> Count();

void Use() {
#ifdef MISUSE
  Count();
#else
  static_cast<void>(Count().has_value());
#endif
}

}  // namespace holdfast
