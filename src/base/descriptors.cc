#include "base/descriptors.h"

#include <sys/resource.h>

#include <algorithm>

#include "base/check.h"

namespace holdfast::base {
namespace {

// "Unlimited" is also a number; more than this nobody has.
constexpr rlim_t kMostDescriptors = 1 << 20;

}  // namespace

size_t DescriptorLimit() {
  rlimit limit{};
  HF_ASSERT(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  return static_cast<size_t>(std::min(limit.rlim_cur, kMostDescriptors));
}

size_t RaiseDescriptorLimit() {
  rlimit limit{};
  HF_ASSERT(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  rlim_t wanted = std::min(limit.rlim_max, kMostDescriptors);
  if (limit.rlim_cur < wanted) {
    limit.rlim_cur = wanted;
    // The kernel may allow less than it says; then what there was stays in force.
    static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
  }
  return DescriptorLimit();
}

}  // namespace holdfast::base
