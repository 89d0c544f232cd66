// One change of an entity as the feed keeps it, and the last of them of one table.
//
// Thread safety: whoever uses them has the hub's lock, but for what is constant from the start.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/store.h"
#include "model/model.h"
#include "wire/websocket.h"

namespace holdfast::wire {

struct FeedChange {
  // --- constant ---
  const model::Entity* entity = nullptr;
  TableChange::Kind kind = TableChange::Kind::kInsert;
  bool expired = false;
  Item key;                    // of the table
  Item fields;                 // as they are now; of a removed item as they were
  std::optional<Item> before;  // of a modified one
  uint64_t number = 0;         // in its table, without gaps
  uint64_t begin_bytes = 0;    // of all changes before it

  // --- made when first needed ---
  std::string json;  // the message from after its `id` on
  // Those that are on their way, by the id they begin with.
  std::vector<std::pair<std::string, std::weak_ptr<const std::string>>> frames;

  // About what it holds in memory.
  size_t bytes() const { return 512 + 2 * fields.flat().size() + (before ? before->flat().size() : 0); }
};

class FeedRing {
 public:
  FeedRing(size_t changes_max, size_t bytes_max) : changes_max_(changes_max), bytes_max_(bytes_max) {}

  void Add(std::shared_ptr<FeedChange> change) {
    change->number = next_++;
    change->begin_bytes = end_bytes_;
    end_bytes_ += change->bytes();
    changes_.push_back(std::move(change));
    while (changes_.size() > changes_max_ || end_bytes_ - changes_.front()->begin_bytes > bytes_max_) {
      changes_.pop_front();
      if (changes_.empty()) break;
    }
  }
  // What comes now does not follow what came before.
  void Break() {
    changes_.clear();
    ++next_;
  }
  uint64_t next() const { return next_; }
  // True when all changes from `number` on are there, be they none.
  bool Reaches(uint64_t number) const { return number >= next_ - changes_.size() && number <= next_; }
  // Requires: Reaches(number) and number < next().
  const std::shared_ptr<FeedChange>& At(uint64_t number) const {
    return changes_[static_cast<size_t>(number - (next_ - changes_.size()))];
  }
  // How much there is from `number` on. Requires: Reaches(number).
  uint64_t BytesFrom(uint64_t number) const {
    return number == next_ ? 0 : end_bytes_ - At(number)->begin_bytes;
  }

 private:
  const size_t changes_max_;
  const size_t bytes_max_;
  std::deque<std::shared_ptr<FeedChange>> changes_;
  uint64_t next_ = 1;
  uint64_t end_bytes_ = 0;
};

}  // namespace holdfast::wire
