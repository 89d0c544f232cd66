#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace holdfast::base {

void AssertFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "holdfast: assertion failed: %s (%s:%d)\n", condition, file, line);
  std::fflush(stderr);
  std::abort();
}

}  // namespace holdfast::base
