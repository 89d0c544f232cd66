#include "cli/memory_keeper.h"

#include <algorithm>
#include <chrono>

#include "base/machine.h"
#include "base/thread.h"

// Of tcmalloc, which the program is linked with but sanitizer builds are not (docs/adr/0023).
extern "C" {
int MallocExtension_GetNumericProperty(const char* property, size_t* value) __attribute__((weak));
void MallocExtension_ReleaseToSystem(size_t bytes) __attribute__((weak));
}

namespace holdfast::cli {
namespace {

constexpr std::chrono::seconds kInterval{1};
// Pages are given back in pieces, since nobody can allocate new ones meanwhile.
constexpr size_t kReleasePiece = 8 << 20;

size_t AllocatorProperty(const char* name) {
  size_t value = 0;
  if (MallocExtension_GetNumericProperty != nullptr) MallocExtension_GetNumericProperty(name, &value);
  return value;
}

// Free pages, and free pieces of pages that threads and sizes have in stock.
size_t AllocatorFreeBytes() {
  return AllocatorProperty("tcmalloc.pageheap_free_bytes") +
         AllocatorProperty("tcmalloc.central_cache_free_bytes") +
         AllocatorProperty("tcmalloc.transfer_cache_free_bytes") +
         AllocatorProperty("tcmalloc.thread_cache_free_bytes");
}

void ReleaseToSystem(size_t bytes) {
  if (MallocExtension_ReleaseToSystem == nullptr) return;
  bytes = std::min(bytes, AllocatorProperty("tcmalloc.pageheap_free_bytes"));
  for (size_t released = 0; released < bytes; released += kReleasePiece)
    MallocExtension_ReleaseToSystem(kReleasePiece);
}

void AppendGauge(std::string_view name, std::string_view help, size_t value, std::string* out) {
  out->append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ");
  out->append(name).append(" gauge\n").append(name).append(" ").append(std::to_string(value)).append("\n");
}

}  // namespace

MemoryKeeper::MemoryKeeper(const engine::MemoryPlan& plan, storage::KvReader* kv, const base::Log& log)
    : plan_(plan), kv_(kv), log_(log), thread_([this] { Run(); }) {}

MemoryKeeper::~MemoryKeeper() {
  {
    base::MutexLock lock(&mu_);
    stopping_ = true;
    wake_.NotifyAll();
  }
  thread_.join();
}

std::string MemoryKeeper::Metrics() const {
  engine::MemoryUse use = Measure();
  std::string text;
  AppendGauge("holdfast_memory_budget_bytes", "What --memory says.", plan_.budget, &text);
  AppendGauge("holdfast_memory_resident_bytes", "What the process takes.", use.resident, &text);
  AppendGauge("holdfast_memory_free_bytes", "Of it, what the allocator holds and nobody uses.", use.free,
              &text);
  AppendGauge("holdfast_memory_others_bytes",
              "Of it, what is neither cache nor write buffers: vectors, sessions, requests, the program.",
              use.others(), &text);
  AppendGauge("holdfast_memory_cache_limit_bytes", "What the block cache may take at the moment.",
              limit_.load(), &text);
  AppendGauge("holdfast_memory_exceeded", "1 while the others alone are beyond the budget.",
              plan_.IsExceeded(use) ? 1 : 0, &text);
  return text;
}

engine::MemoryUse MemoryKeeper::Measure() const {
  engine::MemoryUse use;
  use.resident = base::ResidentBytes();
  use.free = AllocatorFreeBytes();
  if (kv_ == nullptr) return use;
  storage::MemoryStats kept = kv_->memory();
  use.cache = kept.cache_bytes;
  use.write_buffers = kept.write_buffer_bytes;
  return use;
}

void MemoryKeeper::Run() {
  base::NameThread("memory");
  auto next = std::chrono::steady_clock::now();
  while (true) {
    base::RunContained(log_, "memory keeper", [this] { Look(); });
    next += kInterval;
    base::MutexLock lock(&mu_);
    while (!stopping_ && wake_.WaitUntil(&mu_, next)) {
    }
    if (stopping_) return;
  }
}

void MemoryKeeper::Look() {
  engine::MemoryUse use = Measure();
  size_t limit = plan_.CacheFor(use);
  // Small changes are let be: the figures are never quite still.
  size_t now = limit_.load();
  if (std::max(limit, now) - std::min(limit, now) > plan_.budget / 64) {
    if (kv_ != nullptr) kv_->LimitCache(limit);
    limit_.store(limit);
  }
  if (use.resident > plan_.budget) ReleaseToSystem(use.resident - plan_.budget);
  bool exceeded = plan_.IsExceeded(use);
  if (exceeded && !was_exceeded_) {
    HF_LOG(log_, kWarning,
           "vectors, sessions and the like take more than --memory leaves them; give the server more, or it "
           "may be ended by the system",
           {"budget", plan_.budget}, {"others", use.others()}, {"resident", use.resident});
  }
  was_exceeded_ = exceeded;
}

}  // namespace holdfast::cli
