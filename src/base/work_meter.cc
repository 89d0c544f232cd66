#include "base/work_meter.h"

namespace holdfast::base {

Error WorkMeter::Exhausted() const {
  if (bound_ == Bound::kInline) return Error(ErrorCode::kWouldBlock, "the request takes much work");
  return ValidationError(
      "The request is too much work: its expressions would look at more than 1 GB. Ask for fewer items, or "
      "for "
      "less of each");
}

}  // namespace holdfast::base
