#include "engine/memory_plan.h"

#include <algorithm>
#include <string>

namespace holdfast::engine {
namespace {

// Larger ones would not fill: the log is cut at 32 MiB, so that a start after a crash stays short.
constexpr size_t kWriteBufferMax = 16 << 20;
// Half of it is for requests that are being received (wire/http_server.h), of which the largest has a body of
// 16 MiB.
constexpr size_t kRequestsMin = 48 << 20;
constexpr size_t kRequestsMax = 512 << 20;

}  // namespace

size_t MemoryUse::others() const {
  return resident - std::min(resident, free + cache + write_buffers);
}

size_t MemoryPlan::CacheFor(const MemoryUse& use) const {
  size_t taken = use.others() + write_buffers_bytes() + requests_bytes;
  return taken + kCacheMin >= budget ? kCacheMin : budget - taken;
}

bool MemoryPlan::IsExceeded(const MemoryUse& use) const {
  // Requests are among the others while they are here, so their share is not counted beside them.
  return use.others() + write_buffers_bytes() + kCacheMin > budget;
}

Result<MemoryPlan> PlanMemory(size_t budget) {
  if (budget < kMemoryMin) {
    return Error(ErrorCode::kValidation, "--memory must be 128M at least (bytes, or with K, M, G), not " +
                                             std::to_string(budget) + " bytes");
  }
  MemoryPlan plan{.budget = budget};
  plan.write_buffer_bytes = std::min(kWriteBufferMax, budget / 32);
  plan.requests_bytes = std::clamp(budget / 8, kRequestsMin, kRequestsMax);
  return plan;
}

size_t DefaultMemory(size_t machine_bytes) {
  return std::max(kMemoryMin, machine_bytes / 4);
}

}  // namespace holdfast::engine
