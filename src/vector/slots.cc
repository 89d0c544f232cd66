#include "vector/slots.h"

#include <sys/mman.h>

#include <cstring>

#include "base/check.h"

namespace holdfast::vector {
namespace {

constexpr size_t kLargePage = size_t{2} << 20;

size_t RoundUp(size_t bytes) {
  return (bytes + kLargePage - 1) / kLargePage * kLargePage;
}

// Zeroed memory that costs nothing until it is touched, aligned to large pages. Null when there is none.
enum class Pages : uint8_t { kSmall, kLarge };
char* Map(size_t bytes, Pages pages) {
  size_t size = RoundUp(bytes);
  void* at = ::mmap(nullptr, size + kLargePage, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  auto begin = reinterpret_cast<uintptr_t>(at);
  uintptr_t aligned = RoundUp(begin);
  if (aligned > begin) ::munmap(at, aligned - begin);
  size_t behind = begin + kLargePage - aligned;
  if (behind > 0) ::munmap(reinterpret_cast<void*>(aligned + size), behind);
  // A search jumps about: fewer, larger pages mean fewer misses of the page tables. Not for what would fill
  // the last one in part only.
  if (pages == Pages::kLarge) {
    ::madvise(reinterpret_cast<void*>(aligned), bytes / kLargePage * kLargePage, MADV_HUGEPAGE);
  }
  return reinterpret_cast<char*>(aligned);
}

void Unmap(char* at, size_t bytes) {
  if (at != nullptr) ::munmap(at, RoundUp(bytes));
}

}  // namespace

SlotInfo* SlotInfo::Make(std::string_view key, const std::vector<uint32_t>& filters) {
  size_t bytes = sizeof(SlotInfo) + filters.size() * sizeof(uint32_t) + key.size();
  auto* info = static_cast<SlotInfo*>(::operator new(bytes));
  info->key_size = static_cast<uint32_t>(key.size());
  info->filter_count = static_cast<uint32_t>(filters.size());
  auto* after = reinterpret_cast<char*>(info + 1);
  if (!filters.empty()) std::memcpy(after, filters.data(), filters.size() * sizeof(uint32_t));
  if (!key.empty()) std::memcpy(after + filters.size() * sizeof(uint32_t), key.data(), key.size());
  return info;
}

void SlotInfo::Destroy(SlotInfo* info) {
  ::operator delete(info);
}

Slots::Slots(size_t dimensions, size_t m)
    : dimensions_(dimensions), m_(m), row_bytes_(sizeof(SlotRow) + CodeBytes(dimensions)) {
  char* tables = Map(3 * kChunksMax * sizeof(std::atomic<char*>), Pages::kSmall);
  HF_ASSERT(tables != nullptr);
  rows_ = reinterpret_cast<Table>(tables);
  floats_ = rows_ + kChunksMax;
  links_ = floats_ + kChunksMax;
}

Slots::~Slots() {
  for (Slot slot = 0; slot < size(); ++slot) {
    delete[] row(slot).upper.load();
    if (row(slot).info != nullptr) SlotInfo::Destroy(row(slot).info);
  }
  for (uint32_t chunk = 0; chunk < chunks_; ++chunk) Unmap(rows_[chunk], ChunkBytes());
  Unmap(reinterpret_cast<char*>(rows_), 3 * kChunksMax * sizeof(std::atomic<char*>));
}

bool Slots::AddChunk() {
  uint32_t chunk = chunks_;
  if (chunk == kChunksMax) return false;
  // An index of a few vectors shall stay small.
  Pages pages = chunk == 0 ? Pages::kSmall : Pages::kLarge;
  char* rows = Map(ChunkBytes(), pages);
  if (rows == nullptr) return false;
  char* links = rows + kChunkSlots * row_bytes_;
  rows_[chunk].store(rows, std::memory_order_release);
  links_[chunk].store(links, std::memory_order_release);
  floats_[chunk].store(links + kChunkSlots * link_bytes(), std::memory_order_release);
  chunks_ = chunk + 1;
  return true;
}

Slot Slots::Allocate() {
  Slot slot = kNoSlot;
  if (!free_.empty()) {
    slot = free_.back();
    free_.pop_back();
  } else {
    slot = size_.load(std::memory_order_relaxed);
    if (slot >> kChunkBits >= chunks_ && !AddChunk()) return kNoSlot;
    size_.store(slot + 1, std::memory_order_release);
  }
  SlotRow& fresh = row(slot);
  fresh.born.store(kNever, std::memory_order_relaxed);
  fresh.died.store(kNever, std::memory_order_relaxed);
  return slot;
}

bool Slots::Extend(Slot count) {
  while (static_cast<size_t>(chunks_) * kChunkSlots < count) {
    if (!AddChunk()) return false;
  }
  size_ = count;
  return true;
}

void Slots::FreeAllBut(const std::vector<bool>& used) {
  for (Slot slot = 0; slot < size(); ++slot) {
    if (!used[slot]) Free(slot);
  }
}

void Slots::Free(Slot slot) {
  SlotRow& freed = row(slot);
  freed.born.store(kNever, std::memory_order_relaxed);
  freed.linked.store(0, std::memory_order_relaxed);
  links(slot)[0].store(0, std::memory_order_relaxed);
  if (Links* upper = freed.upper.exchange(nullptr)) {
    upper_bytes_ -= freed.level * (1 + m_) * sizeof(Links);
    delete[] upper;
  }
  freed.level = 0;
  if (freed.info != nullptr) SlotInfo::Destroy(freed.info);
  freed.info = nullptr;
  free_.push_back(slot);
}

void Slots::SetLevel(Slot slot, uint32_t level) {
  SlotRow& filled = row(slot);
  filled.level = level;
  if (level == 0) return;
  filled.upper.store(new Links[level * (1 + m_)](), std::memory_order_release);
  upper_bytes_ += level * (1 + m_) * sizeof(Links);
}

size_t Slots::memory_bytes() const {
  size_t slot_bytes = row_bytes_ + dimensions_ * sizeof(float) + link_bytes();
  return size() * slot_bytes + upper_bytes_;
}

}  // namespace holdfast::vector
