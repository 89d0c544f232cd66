// Who may object to what a table is to hold. The engine is schemaless and asks; what an item should look like
// is known above it (model/guard.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "holdfast/value.h"

namespace holdfast::engine {

// Thread-safe: asked by every writer at once, also on I/O threads, with the item's key locked.
class ItemGuard {
 public:
  explicit ItemGuard(bool refuses) : refuses_(refuses) {}
  virtual ~ItemGuard() = default;

  // What is wrong with an item that is about to be written, or nothing. Pure: a write may be run again.
  virtual std::optional<std::string> Objection(const Item& now) const = 0;

  // Whether an objection stops the write; otherwise it is counted once the item is written.
  bool refuses() const { return refuses_; }
  void Overrule(std::string_view objection) {
    warnings_.fetch_add(1, std::memory_order_relaxed);
    Overruled(objection);
  }
  uint64_t warnings() const { return warnings_.load(std::memory_order_relaxed); }

 protected:
  virtual void Overruled(std::string_view objection) = 0;

 private:
  const bool refuses_;
  std::atomic<uint64_t> warnings_{0};
};

// By name of the table.
using ItemGuards = std::map<std::string, std::shared_ptr<ItemGuard>, std::less<>>;

}  // namespace holdfast::engine
