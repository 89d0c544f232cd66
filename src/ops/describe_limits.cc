#include "ops/operations.h"

namespace holdfast::ops {

Result<DescribeLimitsResponse> Perform(Context&, const DescribeLimitsRequest&) {
  return DescribeLimitsResponse{};
}

}  // namespace holdfast::ops
