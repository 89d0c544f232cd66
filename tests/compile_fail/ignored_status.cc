// A failure that nobody looks at must not compile.
#include "holdfast/result.h"

namespace holdfast {

Status Save();
Result<int> Count();

int Use() {
  if (!Save()) return 1;
#ifdef MISUSE
  Save();
#endif
  return Count().value_or(0);
}

}  // namespace holdfast
